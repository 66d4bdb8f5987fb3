//! Fields that are looked at without being used: for those who copy a hash, or want to know something about it.
//!
//! A value that is compressed stays so, and does not count as read.

use crate::table::{FieldValue, Look, Row};
use std::borrow::Cow;

/// A field that is looked at.
#[derive(Clone)]
pub struct Peek<'a>(Place<'a>);

#[derive(Clone)]
enum Place<'a> {
    Row(Look<'a, FieldValue>),
    /// A field of a hash with a shape.
    Shaped(&'a [u8], &'a [u8]),
}

impl<'a> Peek<'a> {
    pub(super) fn of(row: Row<'a, FieldValue>) -> Self {
        Self::look(Look::Plain(row))
    }

    pub(super) fn look(look: Look<'a, FieldValue>) -> Self {
        Peek(Place::Row(look))
    }

    /// A field of a hash with a shape.
    pub(super) fn shaped(name: &'a [u8], value: &'a [u8]) -> Self {
        Peek(Place::Shaped(name, value))
    }

    /// Its name.
    pub fn name(&self) -> &[u8] {
        match &self.0 {
            Place::Row(look) => look.row().key(),
            Place::Shaped(name, _) => name,
        }
    }

    /// Its value; of a compressed one a copy.
    pub fn value(&self) -> Cow<'_, [u8]> {
        match &self.0 {
            Place::Row(look) => look.row().peek_value(),
            Place::Shaped(_, value) => Cow::Borrowed(value),
        }
    }

    /// Bytes of the value. O(1).
    pub fn value_len(&self) -> usize {
        match &self.0 {
            Place::Row(look) => look.row().value_len(),
            Place::Shaped(_, value) => value.len(),
        }
    }

    /// When it expires, in milliseconds.
    pub fn expire_at_ms(&self) -> Option<u64> {
        match &self.0 {
            Place::Row(look) => look.row().expire_at_ms(),
            Place::Shaped(..) => None,
        }
    }

    pub(super) fn is_live(&self, now_ms: u64) -> bool {
        self.expire_at_ms().is_none_or(|at| at > now_ms)
    }
}
