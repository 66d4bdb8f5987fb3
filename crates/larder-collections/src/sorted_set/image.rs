//! Sorted sets as the images of their leaves: how they travel between two Larders.
//!
//! A leaf travels as it lies in memory but for its tags (see `larder_packed::leaf`), a kilobyte of entries
//! with one copy. The reader hashes each member, for the tags and for the index, and looks at the order of
//! the entries: no search, no insert, no division of a leaf. What comes in may be hostile, and gives a set
//! that satisfies all invariants, or an error.
//!
//! The image of a whole set is what is compressed when nobody uses it:
//!
//! ```text
//!  | is large 1 | leaves | leaf, leaf .. | member with the score -0, .. |
//!  leaf, member: | length | bytes |    lengths and the number of leaves: see `varint`
//! ```

use super::index::{self, tag_of};
use super::limits::{Limits, MEMBER_LEN_MAX, PACKED_BYTES_MAX};
use super::score::{key_of, score_of};
use super::slab::Slab;
use super::stats::SortedSetEncoding;
use super::tree::{LEAF_BYTES_MAX, Tree};
use super::{Form, SortedSet};
use crate::cold::IMAGE_ENTRIES_MAX;
use crate::key_table::KeyHash;
use crate::varint::{number, put_number, put_text, texts};
use larder_packed::codec::Damaged;
use larder_packed::leaf::Leaf;
use std::marker::PhantomData;

impl<H: KeyHash> SortedSet<H> {
    /// Number of leaves.
    pub fn leaf_count(&self) -> usize {
        match &self.form {
            Form::Packed(_) => 1,
            Form::Tree(tree) => tree.leaves.len(),
        }
    }

    /// Calls `f` with the images of all leaves in order, until it fails. O(bytes).
    pub fn try_for_each_image<E>(&self, mut f: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let mut image = Vec::new();
        let mut show = |leaf: &Leaf| {
            image.clear();
            leaf.image_into(&mut image);
            f(&image)
        };
        match &self.form {
            Form::Packed(leaf) => show(leaf),
            Form::Tree(tree) => {
                let mut result = Ok(());
                tree.for_each_leaf(|_, leaf| {
                    if result.is_ok() {
                        result = show(leaf);
                    }
                });
                result
            }
        }
    }

    /// The members whose score is -0, in a set that remembers it.
    pub fn negative_zeros(&self) -> impl Iterator<Item = &[u8]> {
        let tree = match &self.form {
            Form::Packed(_) => None,
            Form::Tree(tree) => Some(tree),
        };
        tree.into_iter().flat_map(|tree| tree.zeros.iter())
    }
}

impl<H: KeyHash> SortedSet<H> {
    /// Appends the image of the set if it has at most `max` bytes and [`IMAGE_ENTRIES_MAX`] members; else `out` has a part of
    /// it.
    pub(crate) fn image_into(&self, out: &mut Vec<u8>, max: usize) -> bool {
        if self.len() > IMAGE_ENTRIES_MAX {
            return false;
        }
        let end = out.len() + max;
        out.push(u8::from(self.encoding() == SortedSetEncoding::Skiplist));
        put_number(out, self.leaf_count() as u64);
        let leaves = self.try_for_each_image(|leaf| put_text(out, leaf, end).then_some(()).ok_or(()));
        leaves.is_ok() && self.negative_zeros().all(|member| put_text(out, member, end))
    }

    /// The set of an image. Panics on other bytes.
    pub(crate) fn of_image(image: &[u8]) -> Self {
        const WHOLE: &str = "an image is kept as it was made";
        let (&is_large, rest) = image.split_first().expect(WHOLE);
        let (leaves, at) = number(rest, 0);
        let mut texts = texts(&rest[at..]);
        let mut reader = ImageReader::new();
        for image in texts.by_ref().take(leaves as usize) {
            reader.push(image).expect(WHOLE);
        }
        let zeros: Vec<Vec<u8>> = texts.map(<[u8]>::to_vec).collect();
        let entries = if is_large == 0 { u64::MAX } else { 0 };
        reader.finish(&Limits { entries, member_len: usize::MAX }, &zeros).expect(WHOLE)
    }
}

/// Makes a sorted set of images of leaves. O(n log n), of which the logarithm is for sorting hashes.
pub struct ImageReader<H> {
    leaves: Slab<Leaf>,
    /// Leaves in order.
    ids: Vec<u32>,
    /// Of all members, with their leaves.
    hashes: Vec<(u64, u32)>,
    longest: usize,
    hash: PhantomData<fn() -> H>,
}

impl<H: KeyHash> ImageReader<H> {
    /// A reader without leaves.
    #[expect(clippy::new_without_default, reason = "one leaf or more must follow")]
    pub fn new() -> Self {
        ImageReader {
            leaves: Slab::new(),
            ids: Vec::new(),
            hashes: Vec::new(),
            longest: 0,
            hash: PhantomData,
        }
    }

    /// Takes the next leaf.
    pub fn push(&mut self, image: &[u8]) -> Result<(), Damaged> {
        // Ids of a store in which nothing is removed are given in order; the leaf gets the next one below.
        let next = self.ids.len() as u32;
        let before = self.ids.last().map(|&id| {
            let leaf = self.leaves.get(id);
            (leaf.key(leaf.len() - 1), leaf.member(leaf.len() - 1).to_vec())
        });
        let mut last = before;
        let (hashes, longest) = (&mut self.hashes, &mut self.longest);
        let leaf = Leaf::from_image(image, PACKED_BYTES_MAX, |key, member| {
            let follows = match &last {
                Some((key_before, member_before)) => (*key_before, &member_before[..]) < (key, member),
                None => true,
            };
            let score = score_of(key);
            if !follows || score.is_nan() || key_of(score) != key || member.len() > MEMBER_LEN_MAX {
                return Err(Damaged);
            }
            let room = last.get_or_insert_default();
            room.0 = key;
            room.1.clear();
            room.1.extend_from_slice(member);
            *longest = member.len().max(*longest);
            let hash = H::hash(member);
            hashes.push((hash, next));
            Ok(tag_of(hash))
        })?;
        let id = self.leaves.insert(leaf);
        assert_eq!(id, next, "nothing was removed");
        self.ids.push(id);
        Ok(())
    }

    /// The set, whose members `zeros` have the score -0 if they have 0. Whether it counts as large is for `limits` to say, as it
    /// is when it is read from any file.
    pub fn finish(mut self, limits: &Limits, zeros: &[Vec<u8>]) -> Result<SortedSet<H>, Damaged> {
        self.hashes.sort_unstable();
        if self.ids.is_empty() || self.has_twins() {
            return Err(Damaged);
        }
        let is_large = self.hashes.len() as u64 > limits.entries || self.longest > limits.member_len;
        let mut set = if let &[id] = &self.ids[..] {
            let mut leaf = self.leaves.remove(id);
            leaf.set_mark(is_large);
            SortedSet::of(Form::Packed(leaf))
        } else {
            let fit = |leaf: &Leaf| leaf.heap_bytes() <= LEAF_BYTES_MAX || leaf.len() == 1;
            if !self.leaves.iter().all(fit) {
                return Err(Damaged);
            }
            let tree = Tree::of_leaves(self.leaves, &self.ids, self.hashes, is_large, H::hash);
            SortedSet::of(Form::Tree(tree.into()))
        };
        zeros.iter().for_each(|member| set.negate_zero(member));
        Ok(set)
    }

    /// Whether a member is there twice; the hashes are in order.
    fn has_twins(&self) -> bool {
        let alike = self.hashes.chunk_by(|a, b| a.0 == b.0).filter(|alike| alike.len() > 1);
        alike.into_iter().any(|alike| {
            let mut members = Vec::new();
            let mut ids: Vec<u32> = alike.iter().map(|pair| pair.1).collect();
            ids.dedup();
            for id in ids {
                let leaf = self.leaves.get(id);
                index::hashes_of(leaf, u64::BITS, alike[0].0, H::hash, |_, i| {
                    members.push(leaf.member(i).to_vec());
                });
            }
            members.sort_unstable();
            members.windows(2).any(|pair| pair[0] == pair[1])
        })
    }
}
