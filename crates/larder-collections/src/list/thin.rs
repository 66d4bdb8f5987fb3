//! A list as one pointer, for a keyspace that stores nothing else.
//!
//! Safe twin: `List` itself. Tested at the foot of this file.

use std::ptr::NonNull;
use std::sync::Arc;

use larder_packed::block::Block;

use super::List;
use super::directory::{Directory, ListTree};

impl List {
    /// Gives the list away as a pointer and whether it is a tree. [`List::from_thin`] takes it back; until then the
    /// pointer owns the list.
    pub fn into_thin(self) -> (bool, NonNull<u8>) {
        match self {
            List::Packed(block) => (false, block.into_raw()),
            List::Tree(tree) => {
                let ptr = Arc::into_raw(tree.0).cast_mut().cast();
                (true, NonNull::new(ptr).expect("an Arc is not at address zero"))
            }
        }
    }

    /// Takes back what [`List::into_thin`] gave.
    ///
    /// # Safety
    /// Both values came from one call of `into_thin`, which was not undone since. To look at the list and leave it
    /// where it is, wrap the result in `ManuallyDrop`.
    pub unsafe fn from_thin(is_tree: bool, ptr: NonNull<u8>) -> List {
        if is_tree {
            // SAFETY: the caller promises that `ptr` came from `Arc::into_raw` of an `Arc<ListTree>` in `into_thin`.
            List::Tree(Directory(unsafe { Arc::from_raw(ptr.cast::<ListTree>().as_ptr()) }))
        } else {
            // SAFETY: the caller promises that `ptr` came from `Block::into_raw` in `into_thin`.
            List::Packed(unsafe { Block::from_raw(ptr) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::{Fill, ListOptions};

    #[test]
    fn lists_survive_the_round_trip() {
        let options = ListOptions { fill: Fill::new(4), ..ListOptions::default() };
        let mut list = List::new();
        for i in 0..40 {
            list.push_back(format!("e{i}").as_bytes(), &options);
            let (is_tree, ptr) = list.clone().into_thin();
            // SAFETY: both come from the `into_thin` just above, once.
            let back = unsafe { List::from_thin(is_tree, ptr) };
            assert_eq!(back.len(), i + 1);
            assert_eq!(back.back(), list.back());
        }
    }
}
