//! The entry of a hash: a field, its value, and the field's expiry if it has one.
//!
//! ```text
//!  | klen 0..=127 | field | value |                                       both short, no expiry: 1 byte of overhead
//!  | 0x80 + marks | klen  | expiry u48 or - | field or pointer | value or pointer |
//!    marks: 1 the field is a pointer | 2 the value is | 4 there is an expiry
//! ```

use super::super::record::POINTER_BYTES;
use super::layout::{Layout, Row, is_same};
use super::out::{Need, OutText, borrow_out, out_string, peek_out, put_out};
use crate::bytes::SharedBytes;
use std::borrow::Cow;

/// The longest field that lives in its entry.
pub const FIELD_INLINE_MAX: usize = 127;
/// The longest value that lives in its entry.
pub const VALUE_INLINE_MAX: usize = 128;
/// The longest entry.
pub(super) const ENTRY_MAX: usize = 2 + EXPIRY_BYTES + FIELD_INLINE_MAX + VALUE_INLINE_MAX;

const MARKED: u8 = 0x80;
const FIELD_OUT: u8 = 1;
const VALUE_OUT: u8 = 2;
const EXPIRES: u8 = 4;
const EXPIRY_BYTES: usize = 6;
const EXPIRY_MS_MAX: u64 = (1 << 48) - 1;

/// Entries that are fields of a hash with their values.
#[derive(Clone, Copy)]
pub struct FieldValue;

/// A field on its way into a hash.
#[derive(Clone, Copy)]
pub struct FieldValueNew<'a> {
    /// The field.
    pub field: &'a [u8],
    /// Its value.
    pub value: &'a [u8],
    /// When the field expires, in milliseconds, cut to 48 bits.
    pub expire_at_ms: Option<u64>,
}

/// Where the parts of an entry are.
#[derive(Clone, Copy)]
struct Parts {
    marks: u8,
    field_at: usize,
    value_at: usize,
}

impl FieldValueNew<'_> {
    fn marks(self) -> u8 {
        let mark = |on: bool, mark| if on { mark } else { 0 };
        mark(self.field.len() > FIELD_INLINE_MAX, FIELD_OUT)
            | mark(self.value.len() > VALUE_INLINE_MAX, VALUE_OUT)
            | mark(self.expire_at_ms.is_some(), EXPIRES)
    }
}

// SAFETY: the marks say which parts are pointers, and exactly those were written by `put_out`.
unsafe impl Layout for FieldValue {
    type New<'a> = FieldValueNew<'a>;

    fn new_key<'a>(new: Self::New<'a>) -> &'a [u8] {
        new.field
    }

    fn new_expiry(new: FieldValueNew<'_>) -> Option<u64> {
        new.expire_at_ms.map(|ms| ms.min(EXPIRY_MS_MAX))
    }

    fn entry_bytes(new: FieldValueNew<'_>) -> usize {
        let marks = new.marks();
        let part = |len: usize, out: u8| if marks & out != 0 { POINTER_BYTES } else { len };
        head_bytes(marks) + part(new.field.len(), FIELD_OUT) + part(new.value.len(), VALUE_OUT)
    }

    fn write(entry: &mut [u8], new: FieldValueNew<'_>) -> bool {
        let marks = new.marks();
        let klen = if marks & FIELD_OUT != 0 { POINTER_BYTES } else { new.field.len() };
        let (head, rest) = entry.split_at_mut(head_bytes(marks));
        write_head(head, marks, klen as u8, new.expire_at_ms);
        let (field, value) = rest.split_at_mut(klen);
        for (part, bytes, out) in [(field, new.field, FIELD_OUT), (value, new.value, VALUE_OUT)] {
            match marks & out {
                0 => part.copy_from_slice(bytes),
                _ => put_out(part, bytes),
            }
        }
        marks & (FIELD_OUT | VALUE_OUT) != 0
    }

    #[inline]
    fn new_out_bytes(new: FieldValueNew<'_>) -> usize {
        let out =
            |part: &[u8], max| if part.len() > max { SharedBytes::heap_bytes_for(part.len()) } else { 0 };
        out(new.field, FIELD_INLINE_MAX) + out(new.value, VALUE_INLINE_MAX)
    }

    fn outs(entry: &[u8]) -> [Option<usize>; 2] {
        let parts = parts(entry);
        [
            (parts.marks & FIELD_OUT != 0).then_some(parts.field_at),
            (parts.marks & VALUE_OUT != 0).then_some(parts.value_at),
        ]
    }

    #[inline]
    fn expiry(entry: &[u8]) -> Option<u64> {
        if entry[0] < MARKED || entry[0] & EXPIRES == 0 {
            return None;
        }
        let mut bytes = [0; 8];
        bytes[..EXPIRY_BYTES].copy_from_slice(&entry[2..][..EXPIRY_BYTES]);
        Some(u64::from_le_bytes(bytes))
    }

    #[inline]
    unsafe fn key(entry: &[u8]) -> &[u8] {
        let parts = parts(entry);
        if parts.marks & FIELD_OUT == 0 {
            return &entry[parts.field_at..parts.value_at];
        }
        // SAFETY: the mark says that there is a pointer; the rest is the caller's promise.
        unsafe { out_string(entry, parts.field_at) }
    }

    #[inline]
    unsafe fn has_key(entry: &[u8], key: &[u8]) -> bool {
        let klen = usize::from(entry[0]);
        if klen < usize::from(MARKED) {
            return klen == key.len() && is_same(&entry[1..][..klen], key);
        }
        // SAFETY: passed on to the caller.
        is_same(unsafe { Self::key(entry) }, key)
    }
}

impl<'a> Row<'a, FieldValue> {
    /// All of it: [`key`](Self::key), [`value`](Self::value), [`expire_at_ms`](Self::expire_at_ms).
    #[inline]
    pub fn parts(self) -> (&'a [u8], &'a [u8], Option<u64>) {
        match self.bytes.split_first() {
            Some((&klen, rest)) if klen < MARKED => {
                let (field, value) = rest.split_at(usize::from(klen));
                (field, value, None)
            }
            _ => (self.key(), self.value(), self.expire_at_ms()),
        }
    }

    /// The value of the field.
    #[inline]
    pub fn value(self) -> &'a [u8] {
        let parts = parts(self.bytes);
        if parts.marks & VALUE_OUT == 0 {
            return &self.bytes[parts.value_at..];
        }
        // SAFETY: the mark says that there is a pointer, and a `Row` is a live entry.
        unsafe { out_string(self.bytes, parts.value_at) }
    }
}

/// What the thread that compresses asks of an entry.
impl<'a> Row<'a, FieldValue> {
    /// The value, of a compressed one a copy: it is not used by that.
    pub fn peek_value(self) -> Cow<'a, [u8]> {
        match FieldValue::outs(self.bytes)[1] {
            // SAFETY: there is a pointer, and a `Row` is a live entry.
            Some(at) => unsafe { peek_out(self.bytes, at) },
            None => Cow::Borrowed(self.value()),
        }
    }

    /// Bytes of the value, which is not used by that.
    pub fn value_len(self) -> usize {
        match FieldValue::outs(self.bytes)[1] {
            // SAFETY: there is a pointer, and a `Row` is a live entry.
            Some(at) => unsafe { borrow_out(self.bytes, at) }.raw_bytes(),
            None => self.value().len(),
        }
    }

    /// The value, if it lies out of line: it is not used by that.
    pub fn out_value(self) -> Option<OutText> {
        let at = FieldValue::outs(self.bytes)[1]?;
        // SAFETY: there is a pointer, and a `Row` is a live entry; the clone has a count of its own.
        Some((*unsafe { borrow_out(self.bytes, at) }).clone())
    }

    /// Counts a walk for a value that lies out of line: bytes of the value as it is, bytes of the string if it is compressed, and what it needs.
    pub fn walk_value(self, all: bool) -> Option<Walked> {
        let at = FieldValue::outs(self.bytes)[1]?;
        // SAFETY: there is a pointer, and a `Row` is a live entry.
        let text = unsafe { borrow_out(self.bytes, at) };
        Some(Walked {
            cold_raw_bytes: text.is_cold().then(|| text.raw_bytes()),
            heap_bytes: text.heap_bytes(),
            need: text.walk(all),
        })
    }
}

/// What a walk finds out about a value that lies out of line.
pub struct Walked {
    /// Bytes of the string, if it is compressed.
    pub cold_raw_bytes: Option<usize>,
    /// Bytes of heap.
    pub heap_bytes: usize,
    /// What it needs.
    pub need: Option<Need>,
}

/// Bytes of an entry like `old` with an expiry, or without.
pub(super) fn bytes_with_expiry(old: &[u8], expires: bool) -> usize {
    let parts = parts(old);
    let marks = marks_with_expiry(parts.marks, expires);
    head_bytes(marks) + old.len() - parts.field_at
}

/// Writes `old` into an entry of [`bytes_with_expiry`].
pub(super) fn rewrite_expiry(entry: &mut [u8], old: &[u8], expire_at_ms: Option<u64>) {
    let parts = parts(old);
    let marks = marks_with_expiry(parts.marks, expire_at_ms.is_some());
    let (head, rest) = entry.split_at_mut(head_bytes(marks));
    write_head(head, marks, (parts.value_at - parts.field_at) as u8, expire_at_ms);
    rest.copy_from_slice(&old[parts.field_at..]);
}

fn marks_with_expiry(marks: u8, expires: bool) -> u8 {
    marks & (FIELD_OUT | VALUE_OUT) | if expires { EXPIRES } else { 0 }
}

fn head_bytes(marks: u8) -> usize {
    match marks {
        0 => 1,
        _ if marks & EXPIRES != 0 => 2 + EXPIRY_BYTES,
        _ => 2,
    }
}

fn write_head(head: &mut [u8], marks: u8, klen: u8, expire_at_ms: Option<u64>) {
    match head {
        [only] => *only = klen,
        [first, second, expiry @ ..] => {
            (*first, *second) = (MARKED | marks, klen);
            let ms = expire_at_ms.unwrap_or(0).min(EXPIRY_MS_MAX).to_le_bytes();
            expiry.copy_from_slice(&ms[..expiry.len()]);
        }
        [] => unreachable!("an entry has a head"),
    }
}

#[inline]
fn parts(entry: &[u8]) -> Parts {
    let first = entry[0];
    if first < MARKED {
        return Parts { marks: 0, field_at: 1, value_at: 1 + usize::from(first) };
    }
    let marks = first & !MARKED;
    let field_at = head_bytes(marks);
    Parts { marks, field_at, value_at: field_at + usize::from(entry[1]) }
}
