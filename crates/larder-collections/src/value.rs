//! Any value that a key can hold, as one kind byte and one raw pointer in the keyspace's table.
//!
//! Short strings are not here: the table keeps them inside its segments. Values are given away as pointers and taken back in
//! `raw.rs`, the one module of the crate with `unsafe`.

use crate::cold::Cold;
use crate::hash::Hash;
use crate::list::List;
use crate::set::Set;
use crate::sorted_set::SortedSet;
use crate::stream::Stream;
use larder_packed::bytes::SharedBytes;

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
    /// Any of these, compressed: only the keyspace keeps it.
    Cold(Cold),
}

impl Value {
    /// The value in the form in which it is used.
    pub fn into_used(self) -> Value {
        if let Value::Cold(cold) = self { cold.thaw() } else { self }
    }

    /// Bytes of heap behind the pointer, estimated from `samples` blocks of a big value; 0 looks at all of them.
    pub fn memory_bytes(&self, samples: u64) -> u64 {
        match self {
            Value::String(bytes) => bytes.heap_bytes() as u64,
            Value::Hash(hash) => hash.memory_bytes() as u64,
            Value::List(list) => list.memory_bytes(samples),
            Value::SortedSet(set) => set.memory_bytes(samples),
            Value::Set(set) => set.memory_bytes(samples),
            Value::Stream(stream) => stream.memory_bytes(samples),
            Value::Cold(cold) => cold.heap_bytes() as u64,
        }
    }

    /// Whether the value is a hash or a set that may be compressed in parts.
    pub fn has_cold_parts(&self) -> bool {
        match self {
            Value::Hash(hash) => hash.has_cold_parts(),
            Value::Set(set) => set.has_cold_parts(),
            _ => false,
        }
    }

    /// Asks the processor to load what lookups of members, or fields, with these hashes read in a large collection.
    pub fn prefetch_members(&self, hashes: &[u64]) {
        match self {
            Value::Hash(hash) => hash.prefetch_all(hashes),
            Value::Set(set) => set.prefetch_all(hashes),
            Value::SortedSet(set) => set.prefetch_all(hashes),
            Value::String(_) | Value::List(_) | Value::Stream(_) | Value::Cold(_) => {}
        }
    }

    /// The number of elements of a collection; a string has none, and a cold value is not looked into. O(1).
    pub fn elements(&self) -> u64 {
        match self {
            Value::String(_) => 0,
            Value::Cold(cold) => cold.elements(),
            Value::Hash(hash) => hash.len() as u64,
            Value::List(list) => list.len(),
            Value::SortedSet(set) => set.len(),
            Value::Set(set) => set.len(),
            Value::Stream(stream) => stream.len(),
        }
    }

    /// Allocations that a drop would free, roughly: large ones are freed in the background.
    pub fn free_effort(&self) -> usize {
        match self {
            Value::String(_) | Value::Cold(_) => 1,
            Value::Hash(hash) => hash.node_count(),
            Value::List(list) => list.node_count() as usize,
            Value::SortedSet(set) => set.node_count() as usize,
            Value::Set(set) => set.node_count() as usize,
            Value::Stream(stream) => stream.node_count() as usize,
        }
    }
}
