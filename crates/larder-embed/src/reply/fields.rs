//! Pairs of strings, as a hash has them.
//!
//! ```text
//!   bytes   $1 a $2 bc $1 d ..          one piece, as the engine has written it
//!   spans   (begin, end) of each string: name, value, name, value..
//! ```
//!
//! 16 bytes a string and two allocations, whatever the number of pairs; looking for a name is O(n).

use std::fmt;

/// The fields of a hash and their values, in the order of the hash.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Fields {
    bytes: Box<[u8]>,
    spans: Vec<(usize, usize)>,
}

impl Fields {
    /// Of spans of bytes, an even number of them.
    pub(crate) fn new(bytes: Box<[u8]>, spans: Vec<(usize, usize)>) -> Fields {
        debug_assert!(spans.len().is_multiple_of(2), "names and values come in pairs");
        Fields { bytes, spans }
    }

    /// The number of pairs.
    pub fn len(&self) -> usize {
        self.spans.len() / 2
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// All pairs.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], &[u8])> {
        let string = |(begin, end): (usize, usize)| &self.bytes[begin..end];
        self.spans.chunks_exact(2).map(move |pair| (string(pair[0]), string(pair[1])))
    }

    /// The value of a field: O(n).
    pub fn get(&self, name: impl AsRef<[u8]>) -> Option<&[u8]> {
        let name = name.as_ref();
        self.iter().find(|(found, _)| *found == name).map(|(_, value)| value)
    }
}

impl fmt::Debug for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
        f.debug_map().entries(self.iter().map(|(name, value)| (text(name), text(value)))).finish()
    }
}
