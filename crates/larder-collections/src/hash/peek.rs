//! Fields that are looked at without being used: for those who copy a hash, or want to know something about it.
//!
//! A value that is compressed stays so, and does not count as read.

use super::{Field, Form, Hash};
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

impl Hash {
    /// Looks at a field.
    pub fn peek(&self, name: &[u8], now_ms: u64) -> Option<Peek<'_>> {
        let place = match &self.form {
            Form::Table(table) => Place::Row(table.get(name)?),
            Form::Shaped { .. } => {
                let Field { name, value, .. } = self.field(name, now_ms)?;
                Place::Shaped(name, value)
            }
        };
        Some(Peek(place)).filter(|field| field.is_live(now_ms))
    }

    /// Looks at all fields that readers see, in the order of [`iter`](Self::iter).
    pub fn peeks(&self, now_ms: u64) -> impl Iterator<Item = Peek<'_>> + Clone {
        let (table, shaped) = match &self.form {
            Form::Table(table) => (Some(table), None),
            Form::Shaped { shaped, .. } => (None, Some(shaped)),
        };
        let rows = table.into_iter().flat_map(|table| table.iter().map(Place::Row));
        let values = shaped
            .into_iter()
            .flat_map(|shaped| shaped.iter().map(|(name, value)| Place::Shaped(name, value)));
        rows.chain(values).map(Peek).filter(move |field| field.is_live(now_ms))
    }
}
