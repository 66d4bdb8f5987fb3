//! The leaf of a sorted set: entries of (score, member) in order, scores and members compressed, in one counted buffer.
//!
//! What it is: the unit that sorted sets are made of; a small set is one leaf and nothing else. Why not an array of
//! structs: neighbours in a sorted set have scores that are close and members that often begin alike, so a leaf
//! keeps one base and one prefix, and for each entry what differs. Scores come in as *keys*: unsigned integers that sort
//! as the scores do; members are any bytes; the *tag* of a member is 8 bits of its hash.
//!
//! | bytes per entry | |
//! |---|---|
//! | tag | 1 |
//! | score | 0 if all are equal, 1-2 for integers that are close, 4-7 for random doubles, at most 8 |
//! | length | 0 if all suffixes are equally long, else 1, 2 or 4 |
//! | member | what follows the prefix that all members share |
//!
//! plus 32 bytes a leaf, and the step of the heap's class. Find by key: a binary search among small integers. Find by
//! member: the tags, 16 at once. Insert and remove: four moves inside the leaf; a leaf is encoded again if a score or
//! member does not fit its form, O(bytes of the leaf).
//!
//! ```text
//!  body of a Buffer, little endian
//!  0      8       12     16  18     20   21      22   23      24
//!  +------+-------+------+---+------+----+-------+----+-------+
//!  | base | fixed | hlen | n | plen | sw | shift | lw | flags |     key = base + (delta << shift)
//!  | 8    | 4     | 4    | 2 | 2    | 1  | 1     | 1  | 1     |
//!  +------+-------+------+---+------+----+-------+----+-------+
//!  | tags    n x 1     of the hash of the member                |  in the same line as the header
//!  | deltas  n x sw    ascending                                |  sw 0..=8
//!  | lengths n x lw    of the suffixes; lw = 0: all are `fixed` |  lw 0, 1, 2, 4
//!  | prefix  plen      common to all members                    |
//!  | heap    hlen      suffixes, back to back, in order         |
//!  +------------------------------------------------------------+
//! ```
//!
//! The base leaves half of the room that `sw` bytes have below the least key, so that scores that fall do not force a
//! new form each time; those that rise have the other half.
//!
//! Invariants:
//! - I1: the sections fit the body; `hlen` is the sum of the suffix lengths.
//! - I2: deltas ascend; entries of equal keys ascend by member; no member is there twice.
//! - I3: `sw = 8` comes with `base = 0` and `shift = 0`.
//! - I4: a leaf holds at most [`LEN_MAX`] entries.
//!
//! Tested by `tests.rs` beside this file (against a sorted vector) and by the sorted set's model test.

mod draft;
mod edit;
mod embed;
mod image;
mod in_order;
mod read;
#[cfg(test)]
mod tests;

use crate::buffer::{self, Buffer};
use crate::heap::Mover;
use std::ptr::NonNull;

pub use draft::Draft;
pub use read::Member;

/// Bytes before the tags, within the body.
const HEADER: usize = 24;
/// Most entries of a leaf.
pub const LEN_MAX: usize = u16::MAX as usize;
/// Bytes that a leaf takes besides its entries.
pub const OVERHEAD_BYTES: usize = HEADER + buffer::HEADER;
/// Longest prefix.
const PREFIX_LEN_MAX: usize = u16::MAX as usize;

/// See the module's comment. Cloning counts up; writing to a shared leaf copies it.
#[derive(Clone, Debug)]
#[repr(transparent)]
pub struct Leaf(Buffer);

/// Where to stand in the order of entries: before all that are not less than (key, member), or after an equal one too.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The key of the score.
    pub key: u64,
    /// The member; empty stands before all of this key.
    pub member: &'a [u8],
    /// Whether an entry equal to (key, member) lies before this place.
    pub past_equal: bool,
}

/// The header of a leaf, decoded, with the places of its sections.
#[derive(Clone, Copy, Debug)]
struct Form {
    base: u64,
    fixed: usize,
    heap_len: usize,
    n: usize,
    prefix_len: usize,
    sw: usize,
    shift: u32,
    lw: usize,
}

impl Leaf {
    /// A leaf without entries.
    pub fn new() -> Leaf {
        Leaf(Buffer::of(&[], HEADER))
    }

    /// Number of entries.
    #[inline]
    pub fn len(&self) -> usize {
        usize::from(u16::from_le_bytes([self.0[16], self.0[17]]))
    }

    /// True if there is no entry.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Moves the leaf if it lies in a sparse slab and is not shared.
    pub fn move_block(&mut self, mover: &mut Mover) {
        self.0.move_block(mover);
    }

    /// Bytes that the heap gave for this leaf.
    pub fn heap_bytes(&self) -> usize {
        self.0.heap_bytes()
    }

    /// Bytes that header and entries take.
    pub fn content_bytes(&self) -> usize {
        buffer::HEADER + self.form().end()
    }

    /// A bit that the owner may use; it survives all changes of the leaf.
    pub fn mark(&self) -> bool {
        self.0[23] != 0
    }

    /// Sets the owner's bit.
    pub fn set_mark(&mut self, mark: bool) {
        self.0.make_mut()[23] = u8::from(mark);
    }

    /// Asks the processor to load the leaf's first 1 KB.
    #[inline]
    pub fn prefetch(&self) {
        self.0.prefetch(16);
    }

    /// Asks the processor to load the leaf's header and first tags.
    #[inline]
    pub fn prefetch_front(&self) {
        self.0.prefetch(2);
    }

    /// Where the leaf lies, to compare.
    pub fn address(&self) -> usize {
        self.0.address()
    }

    /// Gives the pointer away; [`Leaf::from_raw`] takes it back.
    pub fn into_raw(self) -> NonNull<u8> {
        self.0.into_raw()
    }

    /// Takes back what [`Leaf::into_raw`] gave.
    ///
    /// # Safety
    /// `ptr` came from `into_raw`, which was not yet undone.
    pub unsafe fn from_raw(ptr: NonNull<u8>) -> Leaf {
        // SAFETY: the caller promises a pointer of `Leaf::into_raw`, which is that of its buffer.
        Leaf(unsafe { Buffer::from_raw(ptr) })
    }

    #[inline]
    fn form(&self) -> Form {
        Form::read(&self.0)
    }

    /// Panics unless the invariants of the module's comment hold. O(bytes).
    pub fn check_invariants(&self) {
        let form = self.form();
        assert!(form.end() <= self.0.len(), "I1: sections fit");
        assert!(form.sw < 9 && [0, 1, 2, 4].contains(&form.lw) && form.shift < 64);
        let lengths: usize = (0..form.n).map(|i| form.len_of(&self.0, i)).sum();
        assert_eq!(lengths, form.heap_len, "I1: lengths");
        assert!(form.sw < 8 || (form.base == 0 && form.shift == 0), "I3");
        let entries: Vec<(u64, Vec<u8>)> =
            (0..form.n).map(|i| (self.key(i), self.member(i).to_vec())).collect();
        assert!(entries.windows(2).all(|pair| pair[0] < pair[1]), "I2: order");
        let mut members: Vec<&[u8]> = entries.iter().map(|e| &e.1[..]).collect();
        members.sort_unstable();
        assert!(members.windows(2).all(|pair| pair[0] != pair[1]), "I2: members");
    }
}

impl Default for Leaf {
    fn default() -> Self {
        Leaf::new()
    }
}

impl Form {
    #[inline]
    fn read(body: &[u8]) -> Form {
        let header: &[u8; HEADER] = body.first_chunk().expect("a leaf has a header");
        let word =
            |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        Form {
            base: u64::from_le_bytes(*header.first_chunk().expect("the header has 24 bytes")),
            fixed: word(8) as usize,
            heap_len: word(12) as usize,
            n: (word(16) & 0xFFFF) as usize,
            prefix_len: (word(16) >> 16) as usize,
            sw: usize::from(header[20]),
            shift: u32::from(header[21]),
            lw: usize::from(header[22]),
        }
    }

    /// Writes the header; the owner's mark stays.
    fn write(&self, body: &mut [u8]) {
        body[..8].copy_from_slice(&self.base.to_le_bytes());
        body[8..12].copy_from_slice(&(self.fixed as u32).to_le_bytes());
        body[12..16].copy_from_slice(&(self.heap_len as u32).to_le_bytes());
        body[16..18].copy_from_slice(&(self.n as u16).to_le_bytes());
        body[18..20].copy_from_slice(&(self.prefix_len as u16).to_le_bytes());
        body[20] = self.sw as u8;
        body[21] = self.shift as u8;
        body[22] = self.lw as u8;
    }

    #[inline]
    fn deltas_at(&self) -> usize {
        HEADER + self.n
    }

    #[inline]
    fn lengths_at(&self) -> usize {
        self.deltas_at() + self.n * self.sw
    }

    #[inline]
    fn prefix_at(&self) -> usize {
        self.lengths_at() + self.n * self.lw
    }

    #[inline]
    fn heap_at(&self) -> usize {
        self.prefix_at() + self.prefix_len
    }

    #[inline]
    fn end(&self) -> usize {
        self.heap_at() + self.heap_len
    }
}
