//! Fields that are looked at without being used: for those who copy a hash, or want to know something about it.
//!
//! A value that is compressed stays so, and does not count as read.

use crate::table::{FieldValue, Row};
use std::borrow::Cow;

/// A field that is looked at.
#[derive(Clone, Copy)]
pub struct Peek<'a>(Place<'a>);

#[derive(Clone, Copy)]
enum Place<'a> {
    Row(Row<'a, FieldValue>),
    /// A field of a hash with a shape.
    Shaped(&'a [u8], &'a [u8]),
}

impl<'a> Peek<'a> {
    pub(super) fn of(row: Row<'a, FieldValue>) -> Self {
        Peek(Place::Row(row))
    }

    /// A field of a hash with a shape.
    pub(super) fn shaped(name: &'a [u8], value: &'a [u8]) -> Self {
        Peek(Place::Shaped(name, value))
    }

    /// Its name.
    pub fn name(&self) -> &'a [u8] {
        match self.0 {
            Place::Row(row) => row.key(),
            Place::Shaped(name, _) => name,
        }
    }

    /// Its value; of a compressed one a copy.
    pub fn value(&self) -> Cow<'a, [u8]> {
        match self.0 {
            Place::Row(row) => row.peek_value(),
            Place::Shaped(_, value) => Cow::Borrowed(value),
        }
    }

    /// Bytes of the value. O(1).
    pub fn value_len(&self) -> usize {
        match self.0 {
            Place::Row(row) => row.value_len(),
            Place::Shaped(_, value) => value.len(),
        }
    }

    /// When it expires, in milliseconds.
    pub fn expire_at_ms(&self) -> Option<u64> {
        match self.0 {
            Place::Row(row) => row.expire_at_ms(),
            Place::Shaped(..) => None,
        }
    }

    pub(super) fn is_live(&self, now_ms: u64) -> bool {
        self.expire_at_ms().is_none_or(|at| at > now_ms)
    }
}
