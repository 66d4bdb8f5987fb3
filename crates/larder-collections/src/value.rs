//! Any value that a key can hold, as one kind byte and one thin pointer in the keyspace's table.
//!
//! Short strings are not here: the table keeps them inside its segments. This is the one module of the crate with
//! `unsafe`: it takes back the pointers that it gave away, by the kind byte that it gave with them.

use crate::hash::Hash;
use crate::list::List;
use crate::set::{Set, SetKind};
use crate::sorted_set::SortedSet;
use crate::stream::Stream;
use crate::table::TableKind;
use larder_packed::bytes::SharedBytes;
use larder_packed::segment::Thin;
use std::ptr::NonNull;

/// A value that lives outside the table.
#[derive(Clone)]
pub enum Value {
    /// A string too long to be kept inside the table; `raw` when it was edited in place, which OBJECT ENCODING shows.
    String(SharedBytes),
    /// A hash.
    Hash(Hash),
    /// A list.
    List(List),
    /// A sorted set.
    SortedSet(SortedSet),
    /// A set.
    Set(Set),
    /// A stream.
    Stream(Stream),
}

/// Kind bytes of values out of line; below 4 are the table's inline strings.
mod kind {
    pub const STRING: u8 = 4;
    pub const LIST_BLOCK: u8 = 5;
    pub const LIST_TREE: u8 = 6;
    pub const HASH: u8 = 8;
    pub const SORTED_SET_LEAF: u8 = 19;
    pub const SORTED_SET_TREE: u8 = 20;
    pub const SET_INT_BLOCK: u8 = 13;
    pub const SET_INT_TREE: u8 = 14;
    pub const SET_SMALL: u8 = 15;
    pub const SET_SMALL_MARKED: u8 = 16;
    pub const SET_TABLE: u8 = 17;
    pub const SET_BOTH: u8 = 18;
    pub const STREAM: u8 = 24;
}

// SAFETY: `from_thin` rebuilds exactly the variant that `into_thin` took apart, by its kind.
unsafe impl Thin for Value {
    fn into_thin(self) -> (u8, NonNull<u8>) {
        match self {
            Value::String(bytes) => (kind::STRING, bytes.into_raw()),
            Value::Hash(hash) => with_table_kind(kind::HASH, hash.into_thin()),
            Value::List(list) => match list.into_thin() {
                (false, ptr) => (kind::LIST_BLOCK, ptr),
                (true, ptr) => (kind::LIST_TREE, ptr),
            },
            Value::SortedSet(set) => match set.into_thin() {
                (false, ptr) => (kind::SORTED_SET_LEAF, ptr),
                (true, ptr) => (kind::SORTED_SET_TREE, ptr),
            },
            Value::Set(set) => {
                let (kind, ptr) = set.into_thin();
                (set_kind_byte(kind), ptr)
            }
            Value::Stream(stream) => (kind::STREAM, stream.into_thin()),
        }
    }

    unsafe fn from_thin(kind: u8, ptr: NonNull<u8>) -> Self {
        // SAFETY: the caller passes back what `into_thin` gave, once.
        unsafe {
            match kind {
                kind::STRING => Value::String(SharedBytes::from_raw(ptr)),
                kind::LIST_BLOCK => Value::List(List::from_thin(false, ptr)),
                kind::LIST_TREE => Value::List(List::from_thin(true, ptr)),
                kind::SORTED_SET_LEAF => Value::SortedSet(SortedSet::from_thin(false, ptr)),
                kind::SORTED_SET_TREE => Value::SortedSet(SortedSet::from_thin(true, ptr)),
                kind::STREAM => Value::Stream(Stream::from_thin(ptr)),
                kind::HASH..kind::SET_INT_BLOCK => {
                    let table = table_kind(kind, kind::HASH).expect("hashes are tables");
                    Value::Hash(Hash::from_thin(table, ptr))
                }
                _ => Value::Set(Set::from_thin(set_kind(kind), ptr)),
            }
        }
    }
}

/// The three kinds of tables, in the order in which a type's kind bytes number them.
const TABLE_KINDS: [TableKind; 3] = [TableKind::Small, TableKind::SmallMarked, TableKind::Tree];

/// The kind byte of a table, for a type whose kinds start at `first`.
fn with_table_kind(first: u8, (kind, ptr): (TableKind, NonNull<u8>)) -> (u8, NonNull<u8>) {
    (first + kind as u8, ptr)
}

/// The table that a kind byte stands for, if it is one of a type whose kinds start at `first`.
fn table_kind(kind: u8, first: u8) -> Option<TableKind> {
    TABLE_KINDS.get(usize::from(kind.checked_sub(first)?)).copied()
}

fn set_kind_byte(set: SetKind) -> u8 {
    match set {
        SetKind::IntBlock => kind::SET_INT_BLOCK,
        SetKind::IntTree => kind::SET_INT_TREE,
        SetKind::Table(TableKind::Small) => kind::SET_SMALL,
        SetKind::Table(TableKind::SmallMarked) => kind::SET_SMALL_MARKED,
        SetKind::Table(TableKind::Tree) => kind::SET_TABLE,
        SetKind::Both => kind::SET_BOTH,
    }
}

fn set_kind(byte: u8) -> SetKind {
    match byte {
        kind::SET_INT_BLOCK => SetKind::IntBlock,
        kind::SET_INT_TREE => SetKind::IntTree,
        kind::SET_SMALL => SetKind::Table(TableKind::Small),
        kind::SET_SMALL_MARKED => SetKind::Table(TableKind::SmallMarked),
        kind::SET_TABLE => SetKind::Table(TableKind::Tree),
        kind::SET_BOTH => SetKind::Both,
        _ => unreachable!("kind {byte} was never given out"),
    }
}

impl Value {
    /// Bytes of heap behind the pointer, estimated from `samples` blocks of a big value; 0 looks at all of them.
    pub fn memory_bytes(&self, samples: u64) -> u64 {
        match self {
            Value::String(bytes) => bytes.heap_bytes() as u64,
            Value::Hash(hash) => hash.memory_bytes() as u64,
            Value::List(list) => list.memory_bytes(samples),
            Value::SortedSet(set) => set.memory_bytes(samples),
            Value::Set(set) => set.memory_bytes(samples),
            Value::Stream(stream) => stream.memory_bytes(samples),
        }
    }

    /// Allocations that a drop would free, roughly: large ones are freed in the background.
    pub fn free_effort(&self) -> usize {
        match self {
            Value::String(_) => 1,
            Value::Hash(hash) => hash.node_count(),
            Value::List(list) => list.node_count() as usize,
            Value::SortedSet(set) => set.node_count() as usize,
            Value::Set(set) => set.node_count() as usize,
            Value::Stream(stream) => stream.node_count() as usize,
        }
    }
}
