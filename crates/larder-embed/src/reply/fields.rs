//! The fields of a hash, without a copy of them: a clone of the hash, which shares its blocks.
//!
//! A clone costs one counted reference. While it is held, who changes the hash copies the blocks that it changes (a few kilobytes each), once; so
//! what is held stays as it was, and readers and writers do not wait for each other.

use larder_collections::hash::Hash;
use std::fmt;

/// The fields of a hash and their values, as they were at one moment: of a small hash in the order in which they came.
#[derive(Clone, Default)]
pub struct Fields {
    hash: Hash,
    /// Fields that expire up to here, in milliseconds, are over.
    due_ms: u64,
}

impl Fields {
    pub(crate) fn new(hash: Hash, due_ms: u64) -> Fields {
        Fields { hash, due_ms }
    }

    /// The number of fields. O(1), unless some are over.
    pub fn len(&self) -> usize {
        self.hash.live(self.due_ms)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All fields.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], &[u8])> {
        let fields = self.hash.iter(self.due_ms).map(|field| (field.name, field.value));
        Counted { fields, left: self.len() }
    }

    /// The value of a field. O(1).
    pub fn get(&self, name: impl AsRef<[u8]>) -> Option<&[u8]> {
        self.hash.get(name.as_ref(), self.due_ms)
    }
}

/// Equal are the same fields with the same values, in any order.
impl PartialEq for Fields {
    fn eq(&self, other: &Fields) -> bool {
        self.len() == other.len() && self.iter().all(|(name, value)| other.get(name) == Some(value))
    }
}

impl Eq for Fields {}

impl fmt::Debug for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
        f.debug_map().entries(self.iter().map(|(name, value)| (text(name), text(value)))).finish()
    }
}

/// An iterator of which it is known how many come.
struct Counted<I> {
    fields: I,
    left: usize,
}

impl<I: Iterator> Iterator for Counted<I> {
    type Item = I::Item;

    #[inline]
    fn next(&mut self) -> Option<I::Item> {
        let item = self.fields.next()?;
        self.left -= 1;
        Some(item)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }

    #[inline]
    fn fold<B, F: FnMut(B, I::Item) -> B>(self, init: B, f: F) -> B {
        self.fields.fold(init, f)
    }
}

impl<I: Iterator> ExactSizeIterator for Counted<I> {}

#[cfg(test)]
mod tests {
    use super::*;
    use larder_collections::hash::{FieldExpiry, HashLimits};

    fn hash(fields: &[(&str, &str, FieldExpiry)]) -> Hash {
        let mut hash = Hash::new();
        for (name, value, expiry) in fields {
            hash.set(name.as_bytes(), value.as_bytes(), *expiry, HashLimits::default(), 0);
        }
        hash
    }

    #[test]
    fn what_is_over_is_not_there() {
        let hash = hash(&[("a", "1", FieldExpiry::Clear), ("b", "2", FieldExpiry::At(50))]);
        let (before, after) = (Fields::new(hash.clone(), 49), Fields::new(hash, 50));
        assert_eq!((before.len(), before.iter().len(), before.iter().count()), (2, 2, 2));
        assert_eq!((after.len(), after.iter().len(), after.iter().count()), (1, 1, 1));
        assert_eq!((before.get("b"), after.get("b")), (Some(&b"2"[..]), None));
        assert!(before != after && Fields::default().is_empty());
    }

    #[test]
    fn the_order_does_not_matter() {
        let of = |fields: &[(&str, &str, FieldExpiry)]| Fields::new(hash(fields), 0);
        let (a, b) = (("a", "1", FieldExpiry::Clear), ("b", "2", FieldExpiry::Clear));
        assert_eq!(of(&[a, b]), of(&[b, a]));
        assert_ne!(of(&[a, b]), of(&[a, ("b", "3", FieldExpiry::Clear)]));
        assert_eq!(format!("{:?}", of(&[a])), r#"{"a": "1"}"#);
    }
}
