//! A sorted set as one pointer, for a keyspace that stores nothing else.
//!
//! Safe twin: `SortedSet` itself. Tested at the foot of this file.

use std::ptr::NonNull;
use std::sync::Arc;

use larder_packed::leaf::Leaf;

use super::tree::Tree;
use super::{Form, SortedSet};
use crate::key_table::KeyHash;

impl<H: KeyHash> SortedSet<H> {
    /// Gives the set away as a pointer and whether it is a tree. [`SortedSet::from_thin`] takes it back; until then the
    /// pointer owns the set.
    pub fn into_thin(self) -> (bool, NonNull<u8>) {
        match self.form {
            Form::Packed(leaf) => (false, leaf.into_raw()),
            Form::Tree(tree) => {
                let ptr = Arc::into_raw(tree).cast_mut().cast();
                (true, NonNull::new(ptr).expect("an Arc is not at address zero"))
            }
        }
    }

    /// Takes back what [`SortedSet::into_thin`] gave.
    ///
    /// # Safety
    /// Both values came from one call of `into_thin` of a set of the same type, which was not undone since. To look at the
    /// set and leave it where it is, wrap the result in `ManuallyDrop`.
    pub unsafe fn from_thin(is_tree: bool, ptr: NonNull<u8>) -> Self {
        if is_tree {
            // SAFETY: the caller promises that `ptr` came from `Arc::into_raw` of an `Arc<Tree>` in `into_thin`.
            Self::of(Form::Tree(unsafe { Arc::from_raw(ptr.cast::<Tree>().as_ptr()) }))
        } else {
            // SAFETY: the caller promises that `ptr` came from `Leaf::into_raw` in `into_thin`.
            Self::of(Form::Packed(unsafe { Leaf::from_raw(ptr) }))
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::sorted_set::{Limits, SortedSet};

    #[test]
    fn sorted_sets_survive_the_round_trip() {
        let mut set: SortedSet = SortedSet::new();
        for i in 0..2000 {
            set.add(format!("member {i}").as_bytes(), f64::from(i), &Limits::default());
            if i % 100 != 0 {
                continue;
            }
            let (is_tree, ptr) = set.clone().into_thin();
            // SAFETY: both come from the `into_thin` just above, once.
            let back: SortedSet = unsafe { SortedSet::from_thin(is_tree, ptr) };
            assert_eq!((back.len(), back.score(b"member 0")), (i as u64 + 1, Some(0.0)));
        }
    }
}
