//! The index of a large sorted set: from a member to the leaf where it lies.
//!
//! What it is: extendible hashing. A directory of 2^d entries, by the first d bits of the hash, names segments; a segment
//! keeps, for each member, 16 further bits of its hash and the id of its leaf. Why not a hash table of members, as Redis has
//! beside its skip list: the members are in the leaves already, and their hashes find the way; one that splits a
//! segment at a time never stalls. Why leaf ids and not scores: they are shorter, a lookup need not descend the tree, and
//! equal scores cannot make it long.
//!
//! | | cost |
//! |---|---|
//! | memory per member | 4 bytes and an eighth (5 above 65,536 leaves), 12 of directory per 256-512 members |
//! | find | O(1): directory, segment, then the leaf; one foreign leaf is looked at per about 100 finds |
//! | insert, remove | O(1), a move inside the segment |
//! | split of a segment | its pairs; every sixth time the hashes of its members are made again |
//!
//! Invariants:
//! - X1: every member has exactly one pair, in the segment of its hash, with its leaf's id and fragment.
//! - X2: a segment of depth s is named by 2^(d-s) neighbours in the directory; `count` is the number of all pairs.
//! - X3: pairs of equal fragment and id are interchangeable.
//!
//! Tested by `segment.rs` and by the sorted set's model test, hostile hashes among it.

mod segment;

use super::slab::Slab;
use larder_packed::heap::Mover;
use larder_packed::leaf::{Leaf, Member};
use segment::{Pair, Segment};
use std::ops::RangeInclusive;

/// Entries at which a segment splits.
const SEGMENT_MAX: usize = 512;
/// Most entries of a segment, in the mean, in an index made all at once.
const FIRST_FILL: usize = 256;
/// Two halves of fewer entries in all become one.
const JOIN_MAX: usize = SEGMENT_MAX / 4;
/// A segment is not split further if that leaves fewer known bits; they are made again first.
const KNOWN_MIN: u32 = 11;
/// Splits stop here: hashes that agree so far are alike on purpose.
const DEPTH_MAX: u32 = 32;

/// See the module's comment.
#[derive(Clone, Debug)]
pub(super) struct Index {
    directory: Vec<u32>,
    bits: u32,
    segments: Slab<Segment>,
    count: u64,
}

impl Index {
    /// An index of these members: hash and leaf of each.
    pub(super) fn of(mut hashes: Vec<(u64, u32)>) -> Index {
        hashes.sort_unstable();
        Index::of_sorted(&hashes)
    }

    /// As [`Index::of`], of members in order.
    pub(super) fn of_sorted(hashes: &[(u64, u32)]) -> Index {
        let bits = (hashes.len() / FIRST_FILL).max(1).ilog2().min(DEPTH_MAX);
        let mut index =
            Index { directory: Vec::new(), bits, segments: Slab::new(), count: hashes.len() as u64 };
        let mut pairs = Vec::new();
        let mut rest = hashes;
        for slot in 0..1 << bits {
            let own = rest.partition_point(|&(hash, _)| index.slot(hash) <= slot);
            pairs.clear();
            let fragment = |hash: u64| (hash << bits >> 48) as u16;
            pairs.extend(rest[..own].iter().map(|&(hash, id)| Pair { fragment: fragment(hash), id }));
            rest = &rest[own..];
            index.directory.push(index.segments.insert(Segment::of(bits, 16, &pairs)));
        }
        index
    }

    #[inline]
    fn slot(&self, hash: u64) -> usize {
        hash.checked_shr(64 - self.bits).unwrap_or(0) as usize
    }

    #[inline]
    fn segment(&self, hash: u64) -> &Segment {
        self.segments.get(self.directory[self.slot(hash)])
    }

    /// The leaf ids that a member of this hash may have.
    #[inline]
    pub(super) fn candidates(&self, hash: u64) -> impl Iterator<Item = u32> {
        let segment = self.segment(hash);
        segment.entries(segment.fragment_of(hash)).map(|(_, id)| id)
    }

    /// Asks the processor to load what a lookup of `hash` will touch.
    #[inline]
    pub(super) fn prefetch(&self, hash: u64) {
        self.segment(hash).prefetch();
    }

    /// Adds a pair for a member that is in its leaf already. `rehash` can hash what is in the leaves.
    pub(super) fn insert(&mut self, hash: u64, id: u32, rehash: &impl Rehash) {
        let mut slot = self.slot(hash);
        while self.must_split(self.segments.get(self.directory[slot])) {
            self.split(slot, (hash, id), rehash);
            slot = self.slot(hash);
        }
        let segment = self.segments.get_mut(self.directory[slot]);
        segment.insert(Pair { fragment: segment.fragment_of(hash), id });
        self.count += 1;
    }

    /// Removes the pair of a member.
    pub(super) fn remove(&mut self, hash: u64, id: u32) {
        let slot = self.slot(hash);
        let segment = self.segments.get_mut(self.directory[slot]);
        let at = position(segment, hash, id);
        segment.remove(at);
        self.count -= 1;
        if self.segments.get(self.directory[slot]).len() < JOIN_MAX / 2 {
            self.join(slot);
        }
    }

    /// The member has moved to another leaf.
    pub(super) fn replace(&mut self, hash: u64, old: u32, new: u32) {
        let slot = self.slot(hash);
        let segment = self.segments.get_mut(self.directory[slot]);
        let at = position(segment, hash, old);
        segment.set_id(at, new);
    }

    /// The leaves of the next members in the order of hashes, from `from` on: about `count` of them, as far as their segment goes.
    pub(super) fn leaves_from(&self, from: u64, count: usize) -> NextLeaves {
        let segment = self.segment(from);
        let depth = segment.depth();
        let prefix = from.checked_shr(64 - depth).unwrap_or(0);
        let (mut ids, end) = segment.ids_from(segment.fragment_of(from), count);
        ids.sort_unstable();
        ids.dedup();
        let end = match end {
            Some(fragment) => {
                prefix.checked_shl(64 - depth).unwrap_or(0) | u64::from(fragment) << (48 - depth)
            }
            None => end_of(prefix, depth),
        };
        NextLeaves { ids, end }
    }

    /// Moves segments that lie in sparse slabs and are not shared.
    pub(super) fn move_blocks(&mut self, mover: &mut Mover) {
        self.segments.move_blocks(mover, Segment::move_block);
    }

    pub(super) fn segment_count(&self) -> usize {
        self.segments.len()
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let segments: usize = self.segments.iter().map(Segment::heap_bytes).sum();
        self.directory.capacity() * 4 + self.segments.heap_bytes() + segments
    }

    /// Panics unless X1 and X2 hold; `hashes` are those of all members with their leaves.
    pub(super) fn check_invariants(&self, hashes: &mut dyn Iterator<Item = (u64, u32)>) {
        self.segments.iter().for_each(Segment::check_invariants);
        assert_eq!(self.directory.len(), 1 << self.bits);
        let pairs: usize = self.segments.iter().map(Segment::len).sum();
        assert_eq!(pairs as u64, self.count, "X2");
        let mut seen = 0;
        for (hash, id) in hashes {
            position(self.segment(hash), hash, id);
            seen += 1;
        }
        assert_eq!(seen, self.count, "X1");
        let spans: u64 = self.segments.iter().map(|segment| 1 << (self.bits - segment.depth())).sum();
        assert_eq!(spans, 1 << self.bits, "X2");
    }

    /// Whether a segment is full and may be divided. Hashes that agree in many bits more than this many members should are no
    /// reason to double the directory without end: such a segment grows instead.
    fn must_split(&self, segment: &Segment) -> bool {
        segment.len() >= SEGMENT_MAX
            && segment.depth() < DEPTH_MAX
            && 1 << segment.depth() <= self.count / (SEGMENT_MAX as u64 / 16)
    }

    fn split(&mut self, slot: usize, except: (u64, u32), rehash: &impl Rehash) {
        let id = self.directory[slot];
        let depth = self.segments.get(id).depth();
        if depth == self.bits {
            self.directory = self.directory.iter().flat_map(|&id| [id, id]).collect();
            self.bits += 1;
            return self.split(slot * 2, except, rehash);
        }
        if self.segments.get(id).known() < KNOWN_MIN {
            *self.segments.get_mut(id) = self.refreshed(slot, self.segments.get(id), except, rehash);
        }
        let (left, right) = self.segments.get(id).split();
        *self.segments.get_mut(id) = left;
        let right = self.segments.insert(right);
        let span = 1 << (self.bits - depth);
        let first = slot / span * span;
        self.directory[first + span / 2..first + span].fill(right);
    }

    /// Joins the segment with its other half, if both are small.
    fn join(&mut self, slot: usize) {
        let id = self.directory[slot];
        let depth = self.segments.get(id).depth();
        if depth == 0 {
            return;
        }
        let span = 1 << (self.bits - depth);
        let first = slot / (2 * span) * (2 * span);
        let (left, right) = (self.directory[first], self.directory[first + span]);
        let (a, b) = (self.segments.get(left), self.segments.get(right));
        if a.depth() != b.depth() || a.len() + b.len() > JOIN_MAX {
            return;
        }
        *self.segments.get_mut(left) = Segment::join(a, b);
        self.segments.remove(right);
        self.directory[first..first + 2 * span].fill(left);
    }

    /// The same segment with all bits of its fragments known again: made from the leaves that it names, without the one
    /// member that is about to be added.
    fn refreshed(&self, slot: usize, segment: &Segment, except: (u64, u32), rehash: &impl Rehash) -> Segment {
        let mut except = Some(except);
        let depth = segment.depth();
        let prefix = slot as u64 >> (self.bits - depth);
        let ids = leaf_ids(segment);
        let mut pairs = Vec::with_capacity(segment.len());
        rehash.hashes(&ids, depth, prefix, &mut |hash, id| {
            if except == Some((hash, id)) {
                except = None;
            } else {
                pairs.push(Pair { fragment: (hash << depth >> 48) as u16, id });
            }
        });
        pairs.sort_unstable();
        assert_eq!(pairs.len(), segment.len(), "X1");
        Segment::of(depth, 16, &pairs)
    }
}

/// Where the next members of a walk lie.
pub(super) struct NextLeaves {
    /// The leaves.
    pub ids: Vec<u32>,
    /// The first hash after those of the members, 0 after the last.
    pub end: u64,
}

/// The first hash after those that begin with the `bits` bits `prefix`; 0 after the last.
fn end_of(prefix: u64, bits: u32) -> u64 {
    prefix.wrapping_add(1).checked_shl(64 - bits).unwrap_or(0)
}

fn leaf_ids(segment: &Segment) -> Vec<u32> {
    let mut ids: Vec<u32> = segment.pairs().map(|pair| pair.id).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// Who can hash the members of leaves.
pub(super) trait Rehash {
    /// Calls `f` with hash and leaf of the members of these leaves whose hash begins with the `bits` bits `prefix`.
    fn hashes(&self, ids: &[u32], bits: u32, prefix: u64, f: &mut dyn FnMut(u64, u32));
}

/// Tag of a member in its leaf: the first bits of its hash. So all members of one segment share their tag, or its first
/// bits, and a search for them in a leaf need not hash the others.
#[inline]
pub(super) fn tag_of(hash: u64) -> u8 {
    (hash >> 56) as u8
}

/// Calls `f` with the hashes of the leaf's members that begin with the `bits` bits `prefix`.
pub(super) fn hashes_of(
    leaf: &Leaf,
    bits: u32,
    prefix: u64,
    hash: fn(&[u8]) -> u64,
    f: impl FnMut(u64, usize),
) {
    let first = prefix.checked_shl(64 - bits).unwrap_or(0);
    hashes_between(leaf, first..=end_of(prefix, bits).wrapping_sub(1), hash, f);
}

/// The same with those that lie in a range. Members whose tags do not are not hashed.
pub(super) fn hashes_between(
    leaf: &Leaf,
    range: RangeInclusive<u64>,
    hash: fn(&[u8]) -> u64,
    mut f: impl FnMut(u64, usize),
) {
    let mut scratch = Vec::new();
    let mut look = |i: usize, member: Member<'_>| {
        scratch.clear();
        member.append_to(&mut scratch);
        let hash = hash(&scratch);
        if range.contains(&hash) {
            f(hash, i);
        }
    };
    let tags = tag_of(*range.start())..=tag_of(*range.end());
    if tags.start() == tags.end() {
        return leaf.for_each_tag(*tags.start(), look);
    }
    for i in (0..leaf.len()).filter(|&i| tags.contains(&leaf.tag(i))) {
        look(i, leaf.member(i));
    }
}

fn position(segment: &Segment, hash: u64, id: u32) -> usize {
    let mut entries = segment.entries(segment.fragment_of(hash));
    entries.find(|entry| entry.1 == id).expect("X1: a member has its pair").0
}
