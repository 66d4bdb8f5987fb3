//! A segment of the index: pairs of (fragment of a member's hash, leaf id), in order of the fragments.
//!
//! ```text
//!  body of a Buffer, little endian
//!  0     4       5       6    8
//!  +-----+-------+-------+----+-----------------------------+- - - -+
//!  | n 4 | depth | known | iw | n x (fragment 2, leaf id iw)| free  |    iw 2, 3, 4: as wide as the ids need
//!  +-----+-------+-------+----+-----------------------------+- - - -+
//! ```
//!
//! A fragment is the 16 bits of the hash after the `depth` bits that the whole segment shares. A split turns its top bit
//! into a bit of depth and shifts: `known` counts the bits from the top that are still true, the others are zero.

use larder_packed::buffer::Buffer;
use larder_packed::heap::Mover;

const HEADER: usize = 8;
/// Entries by which a full segment grows.
const GROWTH: usize = 16;

/// See the module's comment.
#[derive(Clone, Debug)]
pub(super) struct Segment(Buffer);

/// An entry: a fragment of a hash and the leaf where the member lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pair {
    pub fragment: u16,
    pub id: u32,
}

impl Segment {
    /// A segment of these pairs, which are in order.
    pub(super) fn of(depth: u32, known: u32, pairs: &[Pair]) -> Segment {
        let iw = pairs.iter().map(|pair| id_width(pair.id)).max().unwrap_or(2);
        let mut segment = Segment(Buffer::of(&[], HEADER + pairs.len() * (2 + iw)));
        let body = segment.0.make_mut();
        body[..4].copy_from_slice(&(pairs.len() as u32).to_le_bytes());
        (body[4], body[5], body[6]) = (depth as u8, known as u8, iw as u8);
        for (pair, to) in pairs.iter().zip(body[HEADER..].chunks_exact_mut(2 + iw)) {
            pair.write(to);
        }
        segment
    }

    /// Moves the segment if it lies in a sparse slab and is not shared.
    pub(super) fn move_block(&mut self, mover: &mut Mover) {
        self.0.move_block(mover);
    }

    /// Number of entries.
    #[inline]
    pub(super) fn len(&self) -> usize {
        u32::from_le_bytes([self.0[0], self.0[1], self.0[2], self.0[3]]) as usize
    }

    /// Bits of the hash that all members of the segment share.
    #[inline]
    pub(super) fn depth(&self) -> u32 {
        u32::from(self.0[4])
    }

    /// True bits of a fragment.
    #[inline]
    pub(super) fn known(&self) -> u32 {
        u32::from(self.0[5])
    }

    #[inline]
    fn iw(&self) -> usize {
        usize::from(self.0[6])
    }

    /// The fragment of a hash, as this segment keeps it.
    #[inline]
    pub(super) fn fragment_of(&self, hash: u64) -> u16 {
        let fragment = (hash << self.depth() >> 48) as u16;
        fragment & ((0xFFFF_0000_u32 >> self.known()) as u16)
    }

    #[inline]
    fn fragment(&self, i: usize) -> u16 {
        let at = HEADER + i * (2 + self.iw());
        u16::from_le_bytes([self.0[at], self.0[at + 1]])
    }

    #[inline]
    pub(super) fn pair(&self, i: usize) -> Pair {
        Pair { fragment: self.fragment(i), id: self.id(i) }
    }

    #[inline]
    fn id(&self, i: usize) -> u32 {
        let iw = self.iw();
        let end = HEADER + (i + 1) * (2 + iw);
        // The 4 bytes that end with the id; there are 4 as the fragment lies before.
        let bytes = self.0[end - 4..end].first_chunk().expect("four bytes");
        u32::from_le_bytes(*bytes) >> (32 - 8 * iw)
    }

    /// The first entry whose fragment is not below this one: a guess by proportion, then a walk.
    #[inline]
    pub(super) fn first(&self, fragment: u16) -> usize {
        let (n, width) = (self.len(), 2 + self.iw());
        let entries = &self.0[HEADER..HEADER + n * width];
        let at =
            |i: usize| u16::from_le_bytes(*entries[i * width..].first_chunk().expect("an entry's fragment"));
        let mut i = (usize::from(fragment) * n) >> 16;
        while i > 0 && at(i - 1) >= fragment {
            i -= 1;
        }
        while i < n && at(i) < fragment {
            i += 1;
        }
        i
    }

    /// Entries of one fragment, from [`Segment::first`] on.
    #[inline]
    pub(super) fn entries(&self, fragment: u16) -> impl Iterator<Item = (usize, u32)> {
        let first = self.first(fragment);
        (first..self.len()).take_while(move |&i| self.fragment(i) == fragment).map(|i| (i, self.id(i)))
    }

    /// The leaf ids of the first `count` entries whose fragments are not below this one, and of those that share the fragment of the last;
    /// and the fragment after it, if there is one.
    pub(super) fn ids_from(&self, fragment: u16, count: usize) -> (Vec<u32>, Option<u16>) {
        let first = self.first(fragment);
        let mut end = first.saturating_add(count).min(self.len());
        while end > first && end < self.len() && self.fragment(end) == self.fragment(end - 1) {
            end += 1;
        }
        let next = (end < self.len()).then(|| self.fragment(end));
        ((first..end).map(|i| self.id(i)).collect(), next)
    }

    /// All entries in order.
    pub(super) fn pairs(&self) -> impl Iterator<Item = Pair> {
        (0..self.len()).map(|i| self.pair(i))
    }

    /// Inserts an entry.
    pub(super) fn insert(&mut self, pair: Pair) {
        let (n, iw) = (self.len(), self.iw());
        if id_width(pair.id) > iw {
            return self.widen(pair);
        }
        if HEADER + (n + 1) * (2 + iw) > self.0.len() {
            self.0 = Buffer::of(&self.0, HEADER + (n + GROWTH.min(n + 1)) * (2 + iw));
        }
        let at = HEADER + self.first(pair.fragment) * (2 + iw);
        let body = self.0.make_mut();
        body.copy_within(at..HEADER + n * (2 + iw), at + 2 + iw);
        pair.write(&mut body[at..at + 2 + iw]);
        body[..4].copy_from_slice(&(n as u32 + 1).to_le_bytes());
    }

    /// Removes entry `at`.
    pub(super) fn remove(&mut self, at: usize) {
        let (n, width) = (self.len(), 2 + self.iw());
        let end = HEADER + n * width;
        let body = self.0.make_mut();
        body.copy_within(HEADER + (at + 1) * width..end, HEADER + at * width);
        body[..4].copy_from_slice(&(n as u32 - 1).to_le_bytes());
        if end + end / 8 + 64 < self.0.len() {
            self.0 = Buffer::of(&self.0[..end], end);
        }
    }

    /// Gives entry `at` another id.
    pub(super) fn set_id(&mut self, at: usize, id: u32) {
        let (iw, fragment) = (self.iw(), self.fragment(at));
        if id_width(id) <= iw {
            let start = HEADER + at * (2 + iw);
            return Pair { fragment, id }.write(&mut self.0.make_mut()[start..start + 2 + iw]);
        }
        self.remove(at);
        self.insert(Pair { fragment, id });
    }

    /// The two halves by the next bit of the hash.
    pub(super) fn split(&self) -> (Segment, Segment) {
        let middle = self.first(0x8000);
        let shifted: Vec<Pair> =
            self.pairs().map(|pair| Pair { fragment: pair.fragment << 1, id: pair.id }).collect();
        let half = |pairs| Segment::of(self.depth() + 1, self.known() - 1, pairs);
        (half(&shifted[..middle]), half(&shifted[middle..]))
    }

    /// The segment of both halves: the reverse of [`Segment::split`].
    pub(super) fn join(left: &Segment, right: &Segment) -> Segment {
        let known = left.known().min(right.known());
        let mask = (0xFFFF_0000_u32 >> known) as u16;
        let halve =
            |top: u16| move |pair: Pair| Pair { fragment: (pair.fragment & mask) >> 1 | top, id: pair.id };
        let pairs: Vec<Pair> = left.pairs().map(halve(0)).chain(right.pairs().map(halve(0x8000))).collect();
        Segment::of(left.depth() - 1, (known + 1).min(16), &pairs)
    }

    /// Asks the processor to load the header.
    #[inline]
    pub(super) fn prefetch(&self) {
        self.0.prefetch(1);
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.0.heap_bytes()
    }

    pub(super) fn check_invariants(&self) {
        assert!(HEADER + self.len() * (2 + self.iw()) <= self.0.len());
        assert!((0..self.len()).map(|i| self.fragment(i)).is_sorted());
        let mask = (0xFFFF_0000_u32 >> self.known()) as u16;
        assert!(self.pairs().all(|pair| pair.fragment & !mask == 0), "unknown bits are zero");
    }

    /// Inserts an entry whose id is wider than those before.
    fn widen(&mut self, pair: Pair) {
        let at = self.first(pair.fragment);
        let mut pairs: Vec<Pair> = self.pairs().collect();
        pairs.insert(at, pair);
        *self = Segment::of(self.depth(), self.known(), &pairs);
    }
}

impl Pair {
    /// Writes the entry into as many bytes as it takes.
    #[inline]
    fn write(self, to: &mut [u8]) {
        let (fragment, id) = to.split_at_mut(2);
        fragment.copy_from_slice(&self.fragment.to_le_bytes());
        id.copy_from_slice(&self.id.to_le_bytes()[..id.len()]);
    }
}

#[inline]
fn id_width(id: u32) -> usize {
    match id {
        ..=0xFFFF => 2,
        0x1_0000..=0xFF_FFFF => 3,
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_like_a_sorted_vector() {
        for seed in 0..60 {
            let mut rng = fastrand::Rng::with_seed(seed);
            let mut segment = Segment::of(3, 16, &[]);
            let mut model: Vec<Pair> = Vec::new();
            for _ in 0..rng.usize(1..600) {
                let fragment = if seed % 3 == 0 { rng.u16(..4) << 14 } else { rng.u16(..) };
                let id = if rng.usize(..300) == 0 { rng.u32(..1 << 25) } else { rng.u32(..1000) };
                if rng.usize(..3) == 0 && !model.is_empty() {
                    let at = rng.usize(..model.len());
                    segment.remove(at);
                    model.remove(at);
                } else if rng.usize(..9) == 0 && !model.is_empty() {
                    let at = rng.usize(..model.len());
                    segment.set_id(at, id);
                    model = segment.pairs().collect();
                } else {
                    segment.insert(Pair { fragment, id });
                    let at = model.partition_point(|pair| pair.fragment < fragment);
                    model.insert(at, Pair { fragment, id });
                }
                segment.check_invariants();
                assert!(segment.pairs().eq(model.iter().copied()));
                assert!(segment.entries(fragment).all(|(i, id)| model[i] == Pair { fragment, id }));
            }
            let (left, right) = segment.split();
            assert_eq!((left.len() + right.len(), left.known(), left.depth()), (model.len(), 15, 4));
            let whole = Segment::join(&left, &right);
            assert_eq!((whole.known(), whole.depth(), whole.len()), (16, 3, model.len()));
            let same = |a: Pair, b: &Pair| a.fragment == b.fragment & 0xFFFE | a.fragment & 1 && a.id == b.id;
            assert!(whole.pairs().zip(&model).all(|(a, b)| same(a, b)));
        }
    }
}
