//! A hash whose field names are those of a [shape](crate::shapes): the shape's number and the values.
//!
//! ```text
//!  +--------+------------+-----------------------+
//!  | id u16 | len 0..250 | values, back to back  |      all values are `len` bytes long, and none is absent
//!  +--------+------------+-----------------------+
//!  | id u16 | 255        | n lengths | values    |      a length each; 254: the field was removed
//!  +--------+------------+-----------------------+
//! ```
//! A value is found by the place of its name in the shape and the sum of the lengths before it, which the processor adds up 16
//! at a time. Changing a length moves the values after it.
//!
//! Invariants:
//! - V1: the shape's number is the one in the bytes, and this, or the record that it borrows from, owns a count of it.
//! - V2: lengths are those of the values, no value is longer than [`VALUE_MAX`], all bytes are at most [`BYTES_MAX`].
//!
//! Fields keep the order in which they came: a field that comes back after it was removed belongs at the end, so the owner
//! gives the hash its own names then.

use crate::shapes::{Shape, ShapeRef};
use larder_packed::heap::Mover;
use larder_packed::small_bytes::SmallBytes;

/// The longest value.
pub(super) const VALUE_MAX: usize = 250;
/// The most bytes of the shape's number, lengths and values.
pub(super) const BYTES_MAX: usize = 2048;
const MODE_AT: usize = 2;
const HEAD: usize = 3;
const ABSENT: u8 = 254;
const LENGTHS: u8 = 255;

/// See the module's comment.
#[derive(Clone)]
pub(crate) struct Shaped {
    shape: ShapeRef,
    bytes: SmallBytes,
}

impl Shaped {
    /// Whether these values may be those of a shape.
    pub(super) fn takes<'a>(values: impl Iterator<Item = &'a [u8]>) -> bool {
        let (mut sum, mut len_max) = (HEAD, 0);
        for value in values {
            sum += 1 + value.len();
            len_max = len_max.max(value.len());
        }
        len_max <= VALUE_MAX && sum <= BYTES_MAX
    }

    /// A hash of a shape with these values, one for each name, which [may be](Self::takes) those of one.
    pub(super) fn of<'a>(shape: ShapeRef, values: impl Iterator<Item = &'a [u8]> + Clone) -> Shaped {
        let (mut sum, mut len_min, mut len_max) = (0, usize::MAX, 0);
        for value in values.clone() {
            sum += value.len();
            len_min = len_min.min(value.len());
            len_max = len_max.max(value.len());
        }
        let lengths = if len_min == len_max { 0 } else { shape.len() };
        let mode = if lengths == 0 { len_max as u8 } else { LENGTHS };
        let [low, high] = shape.id().to_le_bytes();
        let mut bytes = SmallBytes::copy_of(&[low, high, mode], lengths + sum);
        let body = bytes.make_mut(lengths + sum);
        let mut at = HEAD + lengths;
        for (index, value) in values.enumerate() {
            if lengths > 0 {
                body[HEAD + index] = value.len() as u8;
            }
            body[at..at + value.len()].copy_from_slice(value);
            at += value.len();
        }
        bytes.set_len(at);
        Shaped { shape, bytes }
    }

    pub(crate) fn of_parts(shape: ShapeRef, bytes: SmallBytes) -> Shaped {
        Shaped { shape, bytes }
    }

    pub(crate) fn into_parts(self) -> (ShapeRef, SmallBytes) {
        (self.shape, self.bytes)
    }

    /// Moves the bytes if they lie in a sparse slab and are not shared.
    pub(crate) fn move_block(&mut self, mover: &mut Mover) {
        self.bytes.move_block(mover);
    }

    /// Whether the bytes still lie in a record.
    #[inline]
    pub(crate) fn is_in_place(&self) -> bool {
        self.bytes.is_in_place()
    }

    /// The same with bytes and a count of its own.
    pub(crate) fn into_own(mut self) -> Shaped {
        self.bytes.make_own(0);
        Shaped { shape: self.shape.into_counted(), ..self }
    }

    /// The number of the shape of such bytes.
    #[inline]
    pub(crate) fn shape_of(bytes: &[u8]) -> u16 {
        u16::from_le_bytes([bytes[0], bytes[1]])
    }

    /// The shape.
    #[inline]
    pub(super) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The shape, counted.
    pub(crate) fn counted_shape(&self) -> ShapeRef {
        self.shape.clone()
    }

    /// All bytes: what a record holds.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get()
    }

    /// Number of fields.
    #[inline]
    pub(super) fn len(&self) -> usize {
        let bytes = self.bytes();
        match bytes[MODE_AT] {
            LENGTHS => self.lengths().iter().filter(|&&len| len != ABSENT).count(),
            _ => self.shape.len(),
        }
    }

    /// The value of a field.
    #[inline]
    pub(super) fn get(&self, name: &[u8]) -> Option<&[u8]> {
        self.value(self.shape.position(name)?)
    }

    /// The value at a position of the shape; None if the field was removed.
    #[inline]
    pub(super) fn value(&self, at: usize) -> Option<&[u8]> {
        let (start, len) = self.place(at)?;
        Some(&self.bytes()[start..start + len])
    }

    /// All fields in their order.
    #[inline]
    pub(super) fn iter(&self) -> Fields<'_> {
        let bytes = self.bytes();
        let start = if bytes[MODE_AT] == LENGTHS { HEAD + self.shape.len() } else { HEAD };
        Fields { shape: &self.shape, bytes, at: 0, start }
    }

    /// Sets the value at a position; false, and nothing is done, if the field was removed, or the value does not fit.
    pub(super) fn set(&mut self, at: usize, value: &[u8]) -> bool {
        let Some((start, old)) = self.place(at) else { return false };
        if old == value.len() {
            self.bytes.splice(start, old, old).copy_from_slice(value);
            return true;
        }
        let used = self.bytes().len();
        let lengths = if self.bytes()[MODE_AT] == LENGTHS { 0 } else { self.shape.len() };
        if value.len() > VALUE_MAX || used + lengths + value.len() > BYTES_MAX + old {
            return false;
        }
        let start = start + self.spell_out();
        self.bytes.splice(start, old, value.len()).copy_from_slice(value);
        self.bytes.splice(HEAD + at, 1, 1)[0] = value.len() as u8;
        true
    }

    /// Removes the field at a position, which is there.
    pub(super) fn remove(&mut self, at: usize) {
        let Some((start, old)) = self.place(at) else { return };
        let start = start + self.spell_out();
        self.bytes.splice(start, old, 0);
        self.bytes.splice(HEAD + at, 1, 1)[0] = ABSENT;
    }

    /// Whether so many fields were removed that names of its own cost the hash less.
    pub(super) fn is_sparse(&self) -> bool {
        self.len() * 2 <= self.shape.len()
    }

    /// Notes once that all values are equally long, if they are.
    pub(super) fn tidy(&mut self) {
        if self.bytes()[MODE_AT] != LENGTHS {
            return;
        }
        let lengths = self.lengths();
        let first = lengths[0];
        if first != ABSENT && lengths.iter().all(|&len| len == first) {
            let count = lengths.len();
            self.bytes.splice(HEAD, count, 0);
            self.bytes.splice(MODE_AT, 1, 1)[0] = first;
        }
    }

    /// Bytes of heap beside those of the shape.
    pub(super) fn heap_bytes(&self) -> usize {
        self.bytes.heap_bytes()
    }

    pub(super) fn prefetch(&self) {
        self.bytes.prefetch();
    }

    /// Panics unless the invariants hold.
    pub(super) fn check_invariants(&self) {
        let bytes = self.bytes();
        assert_eq!(Shaped::shape_of(bytes), self.shape.id(), "V1");
        let sum: usize = self.iter().map(|(_, value)| value.len()).sum();
        let lengths = if bytes[MODE_AT] == LENGTHS { self.shape.len() } else { 0 };
        assert_eq!(HEAD + lengths + sum, bytes.len(), "V2: the end");
        assert!(bytes.len() <= BYTES_MAX && self.iter().all(|(_, value)| value.len() <= VALUE_MAX), "V2");
        assert!(self.iter().all(|(name, value)| self.get(name) == Some(value)), "a field is found");
    }

    #[inline]
    fn lengths(&self) -> &[u8] {
        &self.bytes()[HEAD..HEAD + self.shape.len()]
    }

    /// Where the value at a position lies, and its length.
    #[inline]
    fn place(&self, at: usize) -> Option<(usize, usize)> {
        let mode = self.bytes()[MODE_AT];
        if mode != LENGTHS {
            let len = usize::from(mode);
            return Some((HEAD + at * len, len));
        }
        let lengths = self.lengths();
        let len = lengths[at];
        if len == ABSENT {
            return None;
        }
        let before: u32 =
            lengths[..at].iter().map(|&len| if len == ABSENT { 0 } else { u32::from(len) }).sum();
        Some((HEAD + lengths.len() + before as usize, usize::from(len)))
    }

    /// Gives each value a length of its own; returns by how much the values have moved.
    fn spell_out(&mut self) -> usize {
        let mode = self.bytes()[MODE_AT];
        if mode == LENGTHS {
            return 0;
        }
        let count = self.shape.len();
        self.bytes.splice(HEAD, 0, count).fill(mode);
        self.bytes.splice(MODE_AT, 1, 1)[0] = LENGTHS;
        count
    }
}

/// Iterator over names and values.
#[derive(Clone)]
pub(super) struct Fields<'a> {
    shape: &'a Shape,
    bytes: &'a [u8],
    at: usize,
    start: usize,
}

impl<'a> Iterator for Fields<'a> {
    type Item = (&'a [u8], &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        while self.at < self.shape.len() {
            let at = self.at;
            self.at += 1;
            let len = match self.bytes[MODE_AT] {
                LENGTHS => self.bytes[HEAD + at],
                len => len,
            };
            if len != ABSENT {
                let start = self.start;
                self.start += usize::from(len);
                return Some((self.shape.name(at), &self.bytes[start..self.start]));
            }
        }
        None
    }
}
