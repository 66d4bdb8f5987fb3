//! The entry of a keyspace segment: a key, its access word, its expiry if any, and a small value or a pointer.
//!
//! ```text
//!  0       1        4          (10)    +1
//!  +-------+--------+----------+------+-------------+---------------------------+
//!  | flags | access | expiry   | klen | key         | value                     |
//!  | 1     | u24    | u48 or - | 1    | klen bytes  | rest of the entry, or ptr |
//!  +-------+--------+----------+------+-------------+---------------------------+
//!  flags: bits 0 to 4 kind | 0x20 the value is a pointer | 0x40 has an expiry | 0x80 the key is a pointer
//!  kinds without a pointer: 0 to 3 strings, from 4 on values of the caller's type, whose bytes lie in the record
//!  long key, its own block: | length u32 | bytes |
//! ```
//! A key of 16 bytes with a value of 20 takes 41 bytes, 47 with an expiry.
//!
//! The functions here know single records; [`super::records`] owns them.

use super::raw::{
    Borrowed, COLD_KIND, COLD_KIND_EMBEDDED, EMBEDDED_KINDS_MAX, EMBEDDED_MAX, Embedded, IntoRaw, KINDS_MAX,
};
use crate::heap::{self, Mover};
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::NonNull;
use std::slice;

/// The longest string that lives in its record.
pub const INLINE_MAX: usize = 128;
/// The highest kind of an inline string.
pub const INLINE_KIND_MAX: u8 = 3;
/// The longest key that lives in its record: its length is one byte.
pub const KEY_INLINE_MAX: usize = 255;
/// Expiries are cut to this, the year 10889.
pub const EXPIRY_MS_MAX: u64 = (1 << 48) - 1;

const KIND: u8 = 0x1F;
/// The first kind of an embedded value.
const EMBEDDED: u8 = INLINE_KIND_MAX + 1;
const OUT: u8 = 0x20;
const EXPIRES: u8 = 0x40;
const KEY_OUT: u8 = 0x80;

const ACCESS_AT: usize = 1;
const EXPIRY_AT: usize = 4;
const EXPIRY_BYTES: usize = 6;
const ACCESS_MAX: u32 = (1 << 24) - 1;
/// Bytes that a record needs for a key or a value that is stored outside.
pub const POINTER_BYTES: usize = size_of::<*mut u8>();
const LONG_KEY_HEADER: usize = 4;

/// The longest record.
pub(super) const RECORD_BYTES_MAX: usize = EXPIRY_AT + EXPIRY_BYTES + 1 + KEY_INLINE_MAX + EMBEDDED_MAX;

const _: () = assert!(KIND == KINDS_MAX - 1 && RECORD_BYTES_MAX <= super::ENTRY_BYTES_MAX);
const _: () = assert!(EMBEDDED + EMBEDDED_KINDS_MAX == KINDS_MAX && INLINE_MAX <= EMBEDDED_MAX);
const _: () = assert!(COLD_KIND == KIND && EMBEDDED + COLD_KIND_EMBEDDED == KIND);

/// A value on its way into a table.
pub enum NewValue<'a, V> {
    /// Up to [`INLINE_MAX`] bytes that will live in the record, and a kind up to [`INLINE_KIND_MAX`].
    Inline {
        /// What the bytes are, for the caller to choose.
        kind: u8,
        /// The value.
        bytes: &'a [u8],
    },
    /// A value of the caller's type.
    Out(V),
    /// The same as bytes that will live in the record.
    Embedded(Embedded<'a>),
}

/// The value of a record, borrowed.
pub enum ValueRef<'a, V> {
    /// The bytes lie in the record.
    Inline {
        /// The kind that the value was put with.
        kind: u8,
        /// The value.
        bytes: &'a [u8],
    },
    /// A value of the caller's type, wherever its bytes are.
    Out(Borrowed<'a, V>),
}

/// The value of a record that is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnedValue<V> {
    /// It was inline: a copy.
    Inline {
        /// The kind that the value was put with.
        kind: u8,
        /// The value.
        bytes: InlineBytes,
    },
    /// The value itself.
    Out(V),
}

/// What a new value has replaced. Inline bytes are gone: read them before.
#[derive(Debug, PartialEq, Eq)]
pub enum Old<V> {
    /// An inline value.
    Inline,
    /// A value that the caller may free where it likes.
    Out(V),
}

/// What `remove` gives back.
#[derive(Debug, PartialEq, Eq)]
pub struct Removed<V> {
    /// The value.
    pub value: OwnedValue<V>,
    /// The expiry, in milliseconds.
    pub expire_at_ms: Option<u64>,
    /// The access word.
    pub access: u32,
}

/// A copy of an inline value, without an allocation.
#[derive(Clone, Debug)]
pub struct InlineBytes {
    len: u8,
    bytes: [u8; INLINE_MAX],
}

impl InlineBytes {
    /// A copy of up to [`INLINE_MAX`] bytes; panics when there are more.
    pub fn copy_of(value: &[u8]) -> Self {
        let mut bytes = [0; INLINE_MAX];
        bytes[..value.len()].copy_from_slice(value);
        InlineBytes { len: value.len() as u8, bytes }
    }
}

impl Deref for InlineBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl PartialEq for InlineBytes {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for InlineBytes {}

impl<V> NewValue<'_, V> {
    pub(super) fn record_bytes(&self) -> usize {
        match self {
            NewValue::Inline { bytes, .. } => bytes.len(),
            NewValue::Embedded(embedded) => embedded.bytes().len(),
            NewValue::Out(_) => POINTER_BYTES,
        }
    }
}

/// A record of a table, borrowed.
pub struct Record<'a, V> {
    entry: &'a [u8],
    values: PhantomData<&'a V>,
}

impl<V> Clone for Record<'_, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<V> Copy for Record<'_, V> {}

impl<'a, V: IntoRaw> Record<'a, V> {
    /// # Safety
    /// `entry` is a live record of a segment of `V`.
    #[inline]
    pub(super) unsafe fn new(entry: &'a [u8]) -> Self {
        Record { entry, values: PhantomData }
    }

    /// The key.
    #[inline]
    pub fn key(self) -> &'a [u8] {
        let key = key_field(self.entry);
        if self.entry[0] & KEY_OUT == 0 {
            return key;
        }
        // SAFETY: the flag says that the field is the pointer to the record's own long key, which lives as long.
        unsafe { long_key(read_pointer(key)) }
    }

    /// The value as it is used.
    #[inline]
    pub fn value(self) -> ValueRef<'a, V> {
        if self.is_inline_string() {
            return self.inline_string();
        }
        if self.is_cold() {
            return self.thawed();
        }
        self.kept()
    }

    /// The value of a record that is cold, as it is used.
    #[cold]
    fn thawed(self) -> ValueRef<'a, V> {
        match self.kept() {
            ValueRef::Out(value) => ValueRef::Out(value.thawed()),
            inline => inline,
        }
    }

    /// The value in the form in which it is kept.
    #[inline]
    pub fn kept(self) -> ValueRef<'a, V> {
        match out_parts(self.entry) {
            // SAFETY: the record owns the value, and the borrow of the table keeps it as it is.
            Some((kind, ptr, _)) => ValueRef::Out(unsafe { Borrowed::new(kind, ptr) }),
            None => match embedded(self.entry) {
                // SAFETY: the record holds the bytes, and the borrow of the table keeps it as it is.
                Some(embedded) => ValueRef::Out(unsafe { Borrowed::of_embedded(embedded) }),
                None => self.inline_string(),
            },
        }
    }

    #[inline]
    fn inline_string(self) -> ValueRef<'a, V> {
        ValueRef::Inline { kind: self.entry[0] & KIND, bytes: &self.entry[value_at(self.entry)..] }
    }

    /// Whether the value lies in the record: it takes no memory besides.
    #[inline]
    pub fn is_inline(self) -> bool {
        self.entry[0] & OUT == 0
    }

    /// What the record holds of its value: marks, and a pointer or bytes. Equal ones are the same value as long as somebody
    /// has a clone of it.
    #[inline]
    pub fn held(self) -> (u8, &'a [u8]) {
        (self.entry[0] & (KIND | OUT), &self.entry[value_at(self.entry)..])
    }

    /// Whether the value is in a form that only keeps it.
    #[inline]
    pub fn is_cold(self) -> bool {
        self.entry[0] & KIND == KIND
    }

    /// Whether the value lies in the record and is rebuilt to be read.
    #[inline]
    pub fn is_rebuilt(self) -> bool {
        let kind = self.entry[0] & KIND;
        self.entry[0] & OUT == 0 && kind >= EMBEDDED && V::is_rebuilt(kind - EMBEDDED)
    }

    /// Whether the value is a string that lies in the record.
    #[inline]
    pub fn is_inline_string(self) -> bool {
        self.entry[0] & (OUT | KIND) < EMBEDDED
    }

    /// When the key expires, in milliseconds.
    #[inline]
    pub fn expire_at_ms(self) -> Option<u64> {
        expiry(self.entry)
    }

    /// The 24-bit access word.
    #[inline]
    pub fn access(self) -> u32 {
        access(self.entry)
    }

    /// Bytes of the record in its segment.
    pub fn record_bytes(self) -> usize {
        self.entry.len()
    }

    /// Bytes of the key's own block; 0 when the key lives in the record.
    pub fn long_key_bytes(self) -> usize {
        if self.entry[0] & KEY_OUT == 0 { 0 } else { long_key_heap_bytes(self.key()) }
    }
}

/// Bytes of the block that a record with this key keeps beside its segment; 0 for all but long keys.
pub fn long_key_heap_bytes(key: &[u8]) -> usize {
    if key.len() <= KEY_INLINE_MAX { 0 } else { heap::class_size(long_key_bytes(key)) }
}

/// Bytes of a record with this key and this many bytes of value, and those of the block that holds a long key.
pub fn record_bytes_of(key: &[u8], expires: bool, value_bytes: usize) -> (usize, usize) {
    (record_bytes(KeyField::stored_bytes(key), expires, value_bytes), long_key_heap_bytes(key))
}

/// A key as a record holds it.
#[derive(Clone, Copy)]
pub(super) enum KeyField<'a> {
    Inline(&'a [u8]),
    Out(NonNull<u8>),
}

impl<'a> KeyField<'a> {
    /// Long keys get their block here.
    pub(super) fn store(key: &'a [u8]) -> Self {
        if key.len() <= KEY_INLINE_MAX { KeyField::Inline(key) } else { KeyField::Out(store_long_key(key)) }
    }

    pub(super) fn of(entry: &'a [u8]) -> Self {
        let key = key_field(entry);
        if entry[0] & KEY_OUT == 0 { KeyField::Inline(key) } else { KeyField::Out(read_pointer(key)) }
    }

    /// Bytes of the field that [`store`](Self::store) would make.
    pub(super) fn stored_bytes(key: &[u8]) -> usize {
        if key.len() <= KEY_INLINE_MAX { key.len() } else { POINTER_BYTES }
    }

    pub(super) fn bytes(self) -> usize {
        match self {
            KeyField::Inline(key) => key.len(),
            KeyField::Out(_) => POINTER_BYTES,
        }
    }
}

/// Bytes of a record with this many bytes of key field and value.
pub(super) fn record_bytes(key_bytes: usize, expires: bool, value_bytes: usize) -> usize {
    EXPIRY_AT + if expires { EXPIRY_BYTES } else { 0 } + 1 + key_bytes + value_bytes
}

/// Writes a whole record into an entry of [`record_bytes`].
pub(super) fn write<V: IntoRaw>(
    entry: &mut [u8],
    key: KeyField<'_>,
    value: NewValue<'_, V>,
    expire_at_ms: Option<u64>,
    access: u32,
) {
    entry[0] = if expire_at_ms.is_some() { EXPIRES } else { 0 };
    let at = head_bytes(entry);
    entry[at] = key.bytes() as u8;
    let field = &mut entry[at + 1..][..key.bytes()];
    match key {
        KeyField::Inline(key) => field.copy_from_slice(key),
        KeyField::Out(ptr) => write_pointer(field, ptr),
    }
    if matches!(key, KeyField::Out(_)) {
        entry[0] |= KEY_OUT;
    }
    write_tail(entry, value, expire_at_ms, access);
}

/// Writes all but the key and the lengths, which stay.
pub(super) fn write_tail<V: IntoRaw>(
    entry: &mut [u8],
    value: NewValue<'_, V>,
    expire_at_ms: Option<u64>,
    access: u32,
) {
    set_access(entry, access);
    if let Some(ms) = expire_at_ms {
        set_expiry(entry, ms);
    }
    match value {
        NewValue::Out(value) => {
            let (kind, ptr) = value.into_raw();
            set_out(entry, kind, ptr);
        }
        NewValue::Inline { kind, bytes } => {
            assert!(
                kind <= INLINE_KIND_MAX && bytes.len() <= INLINE_MAX,
                "kind {kind}, {} bytes",
                bytes.len()
            );
            entry[0] = entry[0] & !(KIND | OUT) | kind;
            let at = value_at(entry);
            entry[at..].copy_from_slice(bytes);
        }
        NewValue::Embedded(embedded) => {
            V::adopt(embedded);
            entry[0] = entry[0] & !(KIND | OUT) | (EMBEDDED + embedded.kind());
            let at = value_at(entry);
            entry[at..].copy_from_slice(embedded.bytes());
        }
    }
}

/// Writes `old` into `entry`, which differs by the bytes of an expiry, or not at all.
pub(super) fn rewrite_expiry(entry: &mut [u8], old: &[u8], expire_at_ms: Option<u64>) {
    entry[..EXPIRY_AT].copy_from_slice(&old[..EXPIRY_AT]);
    entry[0] &= !EXPIRES;
    if let Some(ms) = expire_at_ms {
        entry[0] |= EXPIRES;
        set_expiry(entry, ms);
    }
    let at = head_bytes(entry);
    entry[at..].copy_from_slice(&old[head_bytes(old)..]);
}

/// Whether the record is that of `key`.
#[inline]
pub(super) fn has_key(entry: &[u8], key: &[u8]) -> bool {
    if entry[0] & KEY_OUT == 0 {
        return key_field(entry) == key;
    }
    // SAFETY: the flag says that the field is a pointer to a long key, which lives as long as the record.
    key.len() > KEY_INLINE_MAX && unsafe { long_key(read_pointer(key_field(entry))) } == key
}

/// Whether the key or the value is a block of its own.
#[inline]
pub(super) fn has_block(entry: &[u8]) -> bool {
    entry[0] & (OUT | KEY_OUT) != 0
}

/// Kind and pointer of a value that is not inline, and where the pointer lies.
#[inline]
pub(super) fn out_parts(entry: &[u8]) -> Option<(u8, NonNull<u8>, usize)> {
    if entry[0] & OUT == 0 {
        return None;
    }
    let at = value_at(entry);
    Some((entry[0] & KIND, read_pointer(&entry[at..]), at))
}

/// The value of a record that is embedded in it.
#[inline]
pub(super) fn embedded(entry: &[u8]) -> Option<Embedded<'_>> {
    let kind = entry[0] & KIND;
    if entry[0] & OUT != 0 || kind < EMBEDDED {
        return None;
    }
    // SAFETY: `write_tail` has written the pair, which a value of the table's type gave.
    Some(unsafe { Embedded::new(kind - EMBEDDED, &entry[value_at(entry)..]) })
}

/// Kind and bytes of a value that is embedded, to be changed.
#[inline]
pub(super) fn embedded_mut(entry: &mut [u8]) -> Option<(u8, &mut [u8])> {
    let kind = embedded(entry)?.kind();
    let at = value_at(entry);
    Some((kind, &mut entry[at..]))
}

/// Stores the kind and the pointer of a value of its own.
pub(super) fn set_out(entry: &mut [u8], kind: u8, ptr: NonNull<u8>) {
    set_out_at(entry, value_at(entry), kind, ptr);
}

/// The same for callers that know where the value starts.
#[inline]
pub(super) fn set_out_at(entry: &mut [u8], at: usize, kind: u8, ptr: NonNull<u8>) {
    assert!(kind < KINDS_MAX, "kind {kind}");
    debug_assert_eq!(at, value_at(entry));
    entry[0] = entry[0] & !KIND | OUT | kind;
    write_pointer(&mut entry[at..], ptr);
}

/// Makes the record a string of whatever its value's bytes are.
#[inline]
pub(super) fn set_inline(entry: &mut [u8]) {
    entry[0] &= !(KIND | OUT);
}

/// A copy of an inline string.
pub(super) fn inline_copy<V>(entry: &[u8]) -> OwnedValue<V> {
    OwnedValue::Inline { kind: entry[0] & KIND, bytes: InlineBytes::copy_of(&entry[value_at(entry)..]) }
}

#[inline]
pub(super) fn access(entry: &[u8]) -> u32 {
    u32::from_le_bytes([entry[ACCESS_AT], entry[ACCESS_AT + 1], entry[ACCESS_AT + 2], 0])
}

#[inline]
pub(super) fn set_access(entry: &mut [u8], access: u32) {
    debug_assert!(access <= ACCESS_MAX, "access {access}");
    entry[ACCESS_AT..EXPIRY_AT].copy_from_slice(&access.to_le_bytes()[..3]);
}

#[inline]
pub(super) fn expiry(entry: &[u8]) -> Option<u64> {
    if entry[0] & EXPIRES == 0 {
        return None;
    }
    let mut bytes = [0; 8];
    bytes[..EXPIRY_BYTES].copy_from_slice(&entry[EXPIRY_AT..][..EXPIRY_BYTES]);
    Some(u64::from_le_bytes(bytes))
}

pub(super) fn set_expiry(entry: &mut [u8], ms: u64) {
    let bytes = ms.min(EXPIRY_MS_MAX).to_le_bytes();
    entry[EXPIRY_AT..][..EXPIRY_BYTES].copy_from_slice(&bytes[..EXPIRY_BYTES]);
}

/// Where the value starts.
#[inline]
pub(super) fn value_at(entry: &[u8]) -> usize {
    let at = head_bytes(entry);
    at + 1 + usize::from(entry[at])
}

/// Frees a record's long key, if it has one.
///
/// # Safety
/// `entry` is a record that is not used again.
pub(super) unsafe fn free_long_key(entry: &[u8]) {
    if let KeyField::Out(ptr) = KeyField::of(entry) {
        // SAFETY: the record's own long key, stored by `store_long_key` with just this size.
        unsafe { heap::free(ptr, long_key_bytes(long_key(ptr))) };
    }
}

/// Moves a record's long key if it has one that lies in a sparse slab.
///
/// # Safety
/// `entry` is a live record, and nothing borrows its key.
pub(super) unsafe fn move_long_key(entry: &mut [u8], mover: &mut Mover) {
    let KeyField::Out(mut ptr) = KeyField::of(entry) else { return };
    // SAFETY: the record's own long key.
    let size = long_key_bytes(unsafe { long_key(ptr) });
    // SAFETY: `store_long_key` has stored it with just this size.
    if unsafe { mover.move_block(&mut ptr, size) } {
        let at = head_bytes(entry) + 1;
        write_pointer(&mut entry[at..], ptr);
    }
}

/// Bytes of a long key's block.
pub(super) fn long_key_bytes(key: &[u8]) -> usize {
    LONG_KEY_HEADER + key.len()
}

/// Bytes before the key's length.
#[inline]
fn head_bytes(entry: &[u8]) -> usize {
    if entry[0] & EXPIRES == 0 { EXPIRY_AT } else { EXPIRY_AT + EXPIRY_BYTES }
}

#[inline]
fn key_field(entry: &[u8]) -> &[u8] {
    let at = head_bytes(entry);
    &entry[at + 1..][..usize::from(entry[at])]
}

fn store_long_key(key: &[u8]) -> NonNull<u8> {
    let len = u32::try_from(key.len()).expect("keys are at most 512 MB");
    let ptr = heap::alloc(long_key_bytes(key));
    // SAFETY: the block is new, aligned to 8 and has room for the length and the key.
    unsafe {
        ptr.cast::<u32>().write(len);
        ptr.add(LONG_KEY_HEADER).copy_from_nonoverlapping(NonNull::from(key).cast(), key.len());
    }
    ptr
}

/// # Safety
/// `ptr` came from `store_long_key` and is freed after `'a` only.
unsafe fn long_key<'a>(ptr: NonNull<u8>) -> &'a [u8] {
    // SAFETY: as `store_long_key` has written it.
    unsafe { slice::from_raw_parts(ptr.add(LONG_KEY_HEADER).as_ptr(), ptr.cast::<u32>().read() as usize) }
}

#[inline]
fn read_pointer(field: &[u8]) -> NonNull<u8> {
    let field: &[u8; POINTER_BYTES] = field.first_chunk().expect("a pointer field holds a pointer");
    // SAFETY: this many readable bytes, and any bits are a raw pointer. Reading it as one keeps its provenance.
    let ptr = unsafe { field.as_ptr().cast::<*mut u8>().read_unaligned() };
    NonNull::new(ptr).expect("a pointer field is never null")
}

fn write_pointer(field: &mut [u8], ptr: NonNull<u8>) {
    let field: &mut [u8; POINTER_BYTES] = field.first_chunk_mut().expect("a pointer field holds a pointer");
    // SAFETY: this many writable bytes.
    unsafe { field.as_mut_ptr().cast::<*mut u8>().write_unaligned(ptr.as_ptr()) };
}
