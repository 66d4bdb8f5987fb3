//! The slots of a node: for each child a key, a count and the child itself, in columns or in rows.
//!
//! ```text
//!   Columns   keys     [K; n], or none       Rows         [key | count | child] x n
//!             counts   [C; n]                CountedRows  [key | child with its count] x n
//!             children [T; n]
//! ```
//!
//! Columns waste nothing on alignment: a slot of a leaf of integers has 18 bytes, where a row has 24. Rows are one vector, which
//! saves 48 bytes a node: that counts where most trees have one block.

use crate::relocation::move_vec;
use larder_packed::heap::Mover;
use std::fmt::Debug;
use std::ops::Range;

/// The slots in columns; `K` is a vector, or `()` in a tree without keys.
pub(crate) type Columns<K, C, T> = (K, Vec<C>, Vec<T>);

/// The slots in rows.
pub(crate) type Rows<K, C, T> = Vec<(K, C, T)>;

/// The slots in rows, for children that store their own counts.
#[derive(Clone)]
pub(crate) struct CountedRows<K, T>(Vec<(K, T)>);

/// A child with room for its count, as the leaf last stored it.
pub(crate) trait KeepsCount: Clone {
    type Count: Copy;

    /// The count that was stored last.
    fn kept_count(&self) -> Self::Count;

    fn keep_count(&mut self, count: Self::Count);
}

/// The slots of a node. Positions must be inside.
pub(crate) trait Slots: Clone + Default {
    type Key: Copy + Ord + Default + Debug;
    type Count: Copy;
    type Child;

    fn len(&self) -> usize;

    fn key(&self, at: usize) -> Self::Key;

    fn set_key(&mut self, at: usize, key: Self::Key);

    /// The last slot whose key is not above `key`. The first one if there is none, since its key is not looked at.
    fn find(&self, key: Self::Key) -> usize;

    fn count(&self, at: usize) -> Self::Count;

    fn counts(&self, range: Range<usize>) -> impl Iterator<Item = Self::Count>;

    fn child(&self, at: usize) -> &Self::Child;

    /// The children in a range, with their keys.
    fn children(&self, range: Range<usize>) -> impl DoubleEndedIterator<Item = (Self::Key, &Self::Child)>;

    /// A child to be changed, after which its count is to be set.
    fn child_mut(&mut self, at: usize) -> &mut Self::Child;

    fn set_count(&mut self, at: usize, count: Self::Count);

    fn insert(&mut self, at: usize, key: Self::Key, count: Self::Count, child: Self::Child);

    fn remove(&mut self, at: usize) -> (Self::Key, Self::Count, Self::Child);

    /// Cuts off the slots from `at` on, and leaves no spare room.
    fn split_off(&mut self, at: usize) -> Self;

    fn append(&mut self, other: Self);

    /// Moves what lies in sparse slabs, without the children.
    fn move_slots(&mut self, mover: &mut Mover);

    /// Bytes of heap, without those of the children.
    fn heap_bytes(&self) -> usize;
}

/// Slots whose counts are apart from the children.
pub(crate) trait CountedApart: Slots {
    fn slot_mut(&mut self, at: usize) -> (&mut Self::Count, &mut Self::Child);
}

/// A column of keys, if there is one.
pub(crate) trait Keys: Clone + Default {
    type Key: Copy + Ord + Default + Debug;

    fn vec(&self) -> Option<&Vec<Self::Key>>;

    fn vec_mut(&mut self) -> Option<&mut Vec<Self::Key>>;
}

impl Keys for () {
    type Key = ();

    fn vec(&self) -> Option<&Vec<()>> {
        None
    }

    fn vec_mut(&mut self) -> Option<&mut Vec<()>> {
        None
    }
}

impl<K: Copy + Ord + Default + Debug> Keys for Vec<K> {
    type Key = K;

    fn vec(&self) -> Option<&Vec<K>> {
        Some(self)
    }

    fn vec_mut(&mut self) -> Option<&mut Vec<K>> {
        Some(self)
    }
}

impl<K: Keys, C: Copy, T: Clone> Slots for Columns<K, C, T> {
    type Key = K::Key;
    type Count = C;
    type Child = T;

    fn len(&self) -> usize {
        self.2.len()
    }

    fn key(&self, at: usize) -> K::Key {
        self.0.vec().map(|keys| keys[at]).unwrap_or_default()
    }

    fn set_key(&mut self, at: usize, key: K::Key) {
        if let Some(keys) = self.0.vec_mut() {
            keys[at] = key;
        }
    }

    fn find(&self, key: K::Key) -> usize {
        let others = self.0.vec().and_then(|keys| keys.get(1..));
        others.map_or(0, |others| others.partition_point(|other| *other <= key))
    }

    fn count(&self, at: usize) -> C {
        self.1[at]
    }

    fn counts(&self, range: Range<usize>) -> impl Iterator<Item = C> {
        self.1[range].iter().copied()
    }

    fn child(&self, at: usize) -> &T {
        &self.2[at]
    }

    fn children(&self, range: Range<usize>) -> impl DoubleEndedIterator<Item = (K::Key, &T)> {
        self.2[range.clone()].iter().zip(range).map(|(child, at)| (self.key(at), child))
    }

    fn child_mut(&mut self, at: usize) -> &mut T {
        &mut self.2[at]
    }

    fn set_count(&mut self, at: usize, count: C) {
        self.1[at] = count;
    }

    fn insert(&mut self, at: usize, key: K::Key, count: C, child: T) {
        if self.2.len() == self.2.capacity() {
            grow(self, 1);
        }
        if let Some(keys) = self.0.vec_mut() {
            keys.insert(at, key);
        }
        self.1.insert(at, count);
        self.2.insert(at, child);
    }

    fn remove(&mut self, at: usize) -> (K::Key, C, T) {
        let key = self.0.vec_mut().map(|keys| keys.remove(at)).unwrap_or_default();
        (key, self.1.remove(at), self.2.remove(at))
    }

    fn split_off(&mut self, at: usize) -> Self {
        let mut back = (K::default(), cut(&mut self.1, at), cut(&mut self.2, at));
        if let (Some(keys), Some(back)) = (self.0.vec_mut(), back.0.vec_mut()) {
            *back = cut(keys, at);
        }
        back
    }

    fn append(&mut self, mut other: Self) {
        grow(self, other.2.len());
        if let (Some(keys), Some(others)) = (self.0.vec_mut(), other.0.vec_mut()) {
            keys.append(others);
        }
        self.1.append(&mut other.1);
        self.2.append(&mut other.2);
    }

    fn move_slots(&mut self, mover: &mut Mover) {
        if let Some(keys) = self.0.vec_mut() {
            move_vec(keys, mover);
        }
        move_vec(&mut self.1, mover);
        move_vec(&mut self.2, mover);
    }

    fn heap_bytes(&self) -> usize {
        self.2.capacity() * (size_of::<K::Key>() + size_of::<C>() + size_of::<T>())
    }
}

impl<K: Keys, C: Copy, T: Clone> CountedApart for Columns<K, C, T> {
    fn slot_mut(&mut self, at: usize) -> (&mut C, &mut T) {
        (&mut self.1[at], &mut self.2[at])
    }
}

/// Makes room for more slots in steps of 16: twice the room would waste a quarter on average.
#[cold]
fn grow<K: Keys, C, T>(slots: &mut Columns<K, C, T>, more: usize) {
    let len = slots.2.len();
    let room = match len + more {
        small @ ..=16 => small.next_power_of_two().max(4),
        large => large.next_multiple_of(16),
    };
    if let Some(keys) = slots.0.vec_mut() {
        keys.reserve_exact(room - len);
    }
    slots.1.reserve_exact(room - len);
    slots.2.reserve_exact(room - len);
}

/// As [`Vec::split_off`], without spare room in either part.
fn cut<T>(vec: &mut Vec<T>, at: usize) -> Vec<T> {
    let back = vec.split_off(at);
    vec.shrink_to_fit();
    back
}

impl<K: Copy + Ord + Default + Debug, C: Copy, T: Clone> Slots for Rows<K, C, T> {
    type Key = K;
    type Count = C;
    type Child = T;

    fn len(&self) -> usize {
        self.len()
    }

    fn key(&self, at: usize) -> K {
        self[at].0
    }

    fn set_key(&mut self, at: usize, key: K) {
        self[at].0 = key;
    }

    fn find(&self, key: K) -> usize {
        self.get(1..).map_or(0, |others| others.partition_point(|row| row.0 <= key))
    }

    fn count(&self, at: usize) -> C {
        self[at].1
    }

    fn counts(&self, range: Range<usize>) -> impl Iterator<Item = C> {
        self[range].iter().map(|row| row.1)
    }

    fn child(&self, at: usize) -> &T {
        &self[at].2
    }

    fn children(&self, range: Range<usize>) -> impl DoubleEndedIterator<Item = (K, &T)> {
        self[range].iter().map(|(key, _, child)| (*key, child))
    }

    fn child_mut(&mut self, at: usize) -> &mut T {
        &mut self[at].2
    }

    fn set_count(&mut self, at: usize, count: C) {
        self[at].1 = count;
    }

    fn insert(&mut self, at: usize, key: K, count: C, child: T) {
        if self.len() == self.capacity() {
            self.reserve_exact(self.len() / 4 + 1);
        }
        self.insert(at, (key, count, child));
    }

    fn remove(&mut self, at: usize) -> (K, C, T) {
        self.remove(at)
    }

    fn split_off(&mut self, at: usize) -> Self {
        cut(self, at)
    }

    fn append(&mut self, other: Self) {
        self.extend(other);
    }

    fn move_slots(&mut self, mover: &mut Mover) {
        move_vec(self, mover);
    }

    fn heap_bytes(&self) -> usize {
        self.capacity() * size_of::<(K, C, T)>()
    }
}

impl<K: Copy + Ord + Default + Debug, C: Copy, T: Clone> CountedApart for Rows<K, C, T> {
    fn slot_mut(&mut self, at: usize) -> (&mut C, &mut T) {
        let (_, count, child) = &mut self[at];
        (count, child)
    }
}

impl<K, T> Default for CountedRows<K, T> {
    fn default() -> Self {
        CountedRows(Vec::new())
    }
}

impl<K: Copy + Ord + Default + Debug, T: KeepsCount> Slots for CountedRows<K, T> {
    type Key = K;
    type Count = T::Count;
    type Child = T;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn key(&self, at: usize) -> K {
        self.0[at].0
    }

    fn set_key(&mut self, at: usize, key: K) {
        self.0[at].0 = key;
    }

    fn find(&self, key: K) -> usize {
        self.0.get(1..).map_or(0, |others| others.partition_point(|row| row.0 <= key))
    }

    fn count(&self, at: usize) -> T::Count {
        self.0[at].1.kept_count()
    }

    fn counts(&self, range: Range<usize>) -> impl Iterator<Item = T::Count> {
        self.0[range].iter().map(|row| row.1.kept_count())
    }

    fn child(&self, at: usize) -> &T {
        &self.0[at].1
    }

    fn children(&self, range: Range<usize>) -> impl DoubleEndedIterator<Item = (K, &T)> {
        self.0[range].iter().map(|(key, child)| (*key, child))
    }

    fn child_mut(&mut self, at: usize) -> &mut T {
        &mut self.0[at].1
    }

    fn set_count(&mut self, at: usize, count: T::Count) {
        self.0[at].1.keep_count(count);
    }

    fn insert(&mut self, at: usize, key: K, count: T::Count, mut child: T) {
        if self.0.len() == self.0.capacity() {
            self.0.reserve_exact(self.0.len() / 4 + 1);
        }
        child.keep_count(count);
        self.0.insert(at, (key, child));
    }

    fn remove(&mut self, at: usize) -> (K, T::Count, T) {
        let (key, child) = self.0.remove(at);
        (key, child.kept_count(), child)
    }

    fn split_off(&mut self, at: usize) -> Self {
        CountedRows(cut(&mut self.0, at))
    }

    fn append(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    fn move_slots(&mut self, mover: &mut Mover) {
        move_vec(&mut self.0, mover);
    }

    fn heap_bytes(&self) -> usize {
        self.0.capacity() * size_of::<(K, T)>()
    }
}
