//! The slots of a node: for each child a key, a count and the child itself, in columns or in rows.
//!
//! ```text
//!   Columns   keys     [K; n], or none          Rows   [key | count | child] x n
//!             counts   [C; n]
//!             children [T; n]
//! ```
//!
//! Columns waste nothing on alignment: a slot of a leaf of integers has 18 bytes, where a row has 24. Rows are one vector, which
//! saves 48 bytes a node: that counts where most trees have one block.

use std::fmt::Debug;
use std::ops::Range;

/// The slots in columns; `K` is a vector, or `()` in a tree without keys.
pub(crate) type Columns<K, C, T> = (K, Vec<C>, Vec<T>);

/// The slots in rows.
pub(crate) type Rows<K, C, T> = Vec<(K, C, T)>;

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

    fn slot_mut(&mut self, at: usize) -> (&mut Self::Count, &mut Self::Child);

    fn insert(&mut self, at: usize, key: Self::Key, count: Self::Count, child: Self::Child);

    fn remove(&mut self, at: usize) -> (Self::Key, Self::Count, Self::Child);

    /// Cuts off the slots from `at` on, and leaves no spare room.
    fn split_off(&mut self, at: usize) -> Self;

    fn append(&mut self, other: Self);

    /// Bytes of heap, without those of the children.
    fn heap_bytes(&self) -> usize;
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

    fn slot_mut(&mut self, at: usize) -> (&mut C, &mut T) {
        (&mut self.1[at], &mut self.2[at])
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

    fn heap_bytes(&self) -> usize {
        self.2.capacity() * (size_of::<K::Key>() + size_of::<C>() + size_of::<T>())
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

    fn slot_mut(&mut self, at: usize) -> (&mut C, &mut T) {
        let (_, count, child) = &mut self[at];
        (count, child)
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

    fn heap_bytes(&self) -> usize {
        self.capacity() * size_of::<(K, C, T)>()
    }
}
