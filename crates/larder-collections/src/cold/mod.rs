//! Values that nobody has used for a while, compressed.
//!
//! A cold value is another form of a value that has an image: a string of up to 1 MB, or a collection of up to 64 KB. It is read by
//! decompressing a copy, and changed by putting the value back into the form in which it is used. Nobody above the table of
//! the keyspace sees it, but those who ask for the form in which a value is kept.
//!
//! ```text
//!  | dictionary 1 | kind of the image, encoding 1 | shape u16, of a shaped hash | elements, of a collection | frame of the rest |
//!  elements: see `varint`
//! ```
//! The frame says how long the rest of the image is (see [`larder_packed::dictionary`]). Short ones live in the record of
//! their key. A cold value counts its dictionary, and its shape, as a record does: see `numbered`.
//!
//! Cost: 7 to 10 bytes besides the blocks of the frame; to read 1 to 2 us and a copy; clone O(1), of one in a record O(bytes).
//!
//! Tested in `raw/cold_tests.rs`, and by the engine's fuzzers, which compress values between any two commands.

pub(crate) mod forced;
pub mod parts;
pub(crate) mod registry;
#[cfg(test)]
pub(crate) mod testing;

pub use forced::force;
pub use registry::{Dictionary, DictionaryRef, add, stats, sweep};

use crate::hash::HashEncoding;
use crate::list::ListEncoding;
use crate::numbered::Counted;
use crate::raw::FrameBytes;
use crate::set::SetEncoding;
use crate::shapes::ShapeRef;
use crate::sorted_set::SortedSetEncoding;
use crate::varint::number;
use larder_packed::dictionary::raw_len;

pub(crate) const DICTIONARY_AT: usize = 0;
pub(crate) const KIND_AT: usize = 1;
pub(crate) const HEAD_BYTES: usize = 2;
/// Bits of the kind; above them is the encoding, as a number of its type's.
pub(crate) const KIND: u8 = 0x1F;
pub(crate) const ENCODING_SHIFT: u32 = 5;
/// The shortest image that is compressed.
pub const IMAGE_MIN: usize = 64;
/// The most entries of a hash, a set or a sorted set with an image that no record could hold: a reader builds its table or its
/// index again while it holds a shard.
pub(crate) const IMAGE_ENTRIES_MAX: u64 = 1024;

/// Bytes that a cold value may be longer than its image if it need not shrink.
const ROOM_FORCED: usize = 64;

/// The type of a cold value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColdType {
    /// A string.
    String,
    /// A hash.
    Hash,
    /// A list.
    List,
    /// A sorted set.
    SortedSet,
    /// A set.
    Set,
}

/// The encoding of a cold value, as its type names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColdEncoding {
    /// The encoding of a string.
    String,
    /// The encoding of a hash.
    Hash(HashEncoding),
    /// The encoding of a list.
    List(ListEncoding),
    /// The encoding of a sorted set.
    SortedSet(SortedSetEncoding),
    /// The encoding of a set.
    Set(SetEncoding),
}

/// Why a value is not compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// It has no image, or one that is too short or too long.
    NoImage,
    /// It does not shrink by an eighth.
    Incompressible,
}

/// Memory of the parts of a value that are compressed one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ColdParts {
    /// Compressed parts.
    pub count: u64,
    /// Bytes of the plain parts, without spare room.
    pub plain_bytes: u64,
    /// Bytes of heap.
    pub heap_bytes: u64,
}

impl ColdParts {
    pub(crate) fn add(&mut self, plain_bytes: usize, heap_bytes: usize) {
        self.count += 1;
        self.plain_bytes += plain_bytes as u64;
        self.heap_bytes += heap_bytes as u64;
    }
}

/// See the module's comment.
#[derive(Clone)]
pub struct Cold {
    pub(crate) dictionary: Counted<Dictionary>,
    pub(crate) shape: Option<ShapeRef>,
    pub(crate) bytes: FrameBytes,
}

impl Cold {
    /// All bytes: what a record holds.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get()
    }

    /// The number of the dictionary.
    pub fn dictionary_number(&self) -> u8 {
        self.bytes()[DICTIONARY_AT]
    }

    /// The encoding that the value has for clients.
    pub fn encoding(&self) -> ColdEncoding {
        let number = self.bytes()[KIND_AT] >> ENCODING_SHIFT;
        match (self.of_type(), number) {
            (ColdType::String, _) => ColdEncoding::String,
            (ColdType::Hash, 0) => ColdEncoding::Hash(HashEncoding::Listpack),
            (ColdType::Hash, _) => ColdEncoding::Hash(HashEncoding::Hashtable),
            (ColdType::List, 0) => ColdEncoding::List(ListEncoding::Listpack),
            (ColdType::List, _) => ColdEncoding::List(ListEncoding::Quicklist),
            (ColdType::SortedSet, 0) => ColdEncoding::SortedSet(SortedSetEncoding::Listpack),
            (ColdType::SortedSet, _) => ColdEncoding::SortedSet(SortedSetEncoding::Skiplist),
            (ColdType::Set, 0) => ColdEncoding::Set(SetEncoding::Listpack),
            (ColdType::Set, 1) => ColdEncoding::Set(SetEncoding::Intset),
            (ColdType::Set, _) => ColdEncoding::Set(SetEncoding::Hashtable),
        }
    }

    /// Bytes of the value's image.
    pub fn raw_bytes(&self) -> usize {
        let (shape, _, frame) = self.parts();
        raw_len(frame).expect("a cold value holds a frame") + shape.len()
    }

    /// Elements of a collection; 0 for a string.
    pub fn elements(&self) -> u64 {
        self.parts().1
    }

    /// The number of the shape, if it has one, the number of elements, and the frame.
    pub(crate) fn parts(&self) -> (&[u8], u64, &[u8]) {
        let shape_bytes = if self.shape.is_some() { size_of::<u16>() } else { 0 };
        let (shape, rest) = self.bytes()[HEAD_BYTES..].split_at(shape_bytes);
        match self.of_type() {
            ColdType::String => (shape, 0, rest),
            _ => {
                let (elements, at) = number(rest, 0);
                (shape, elements, &rest[at..])
            }
        }
    }

    /// Bytes that it is kept in, without those of an allocation.
    pub fn packed_bytes(&self) -> usize {
        self.bytes().len()
    }

    /// Bytes of heap.
    pub fn heap_bytes(&self) -> usize {
        self.bytes.heap_bytes()
    }
}

/// The least length of an image of this length, and the most bytes of the cold value.
pub(crate) fn limits(len: usize) -> (usize, usize) {
    if forced::is_forced() {
        return (0, len + ROOM_FORCED);
    }
    (IMAGE_MIN, len / 8 * 7)
}
