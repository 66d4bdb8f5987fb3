//! A set as one pointer and a small number, for a keyspace that stores nothing else.
//!
//! Safe twin: [`Set`] itself. Tested at the foot of this file.

use super::{Parts, Set};
use crate::int_set::{IntSet, IntTree, Tree};
use crate::table::{Table, TableKind};
use larder_packed::int_block::IntBlock;
use std::ptr::NonNull;
use std::sync::Arc;

/// What the pointer of a set leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetKind {
    /// A block of integers.
    IntBlock,
    /// A tree of integers.
    IntTree,
    /// A table of strings.
    Table(TableKind),
    /// Integers and strings.
    Both,
}

impl Set {
    /// Gives the set away as a pointer and its kind. [`Set::from_thin`] takes it back; until then the pointer owns the
    /// set.
    pub fn into_thin(self) -> (SetKind, NonNull<u8>) {
        match self {
            Set::Ints(IntSet::Packed(block)) => (SetKind::IntBlock, block.into_raw()),
            Set::Ints(IntSet::Tree(tree)) => (SetKind::IntTree, arc_into_raw(tree.0)),
            Set::Strings(strings) => {
                let (kind, ptr) = strings.into_thin();
                (SetKind::Table(kind), ptr)
            }
            Set::Both(parts) => (SetKind::Both, arc_into_raw(parts)),
        }
    }

    /// Takes back what [`Set::into_thin`] gave.
    ///
    /// # Safety
    /// Both values came from one call of `into_thin`, which was not undone since. To look at the set and leave it where
    /// it is, wrap the result in `ManuallyDrop`.
    pub unsafe fn from_thin(kind: SetKind, ptr: NonNull<u8>) -> Set {
        // SAFETY: the caller promises that kind and pointer are those of one `into_thin`, where each kind stands for one
        // type of pointer.
        unsafe {
            match kind {
                SetKind::IntBlock => Set::Ints(IntSet::Packed(IntBlock::from_raw(ptr))),
                SetKind::IntTree => {
                    Set::Ints(IntSet::Tree(Tree(Arc::from_raw(ptr.cast::<IntTree>().as_ptr()))))
                }
                SetKind::Table(kind) => Set::Strings(Table::from_thin(kind, ptr)),
                SetKind::Both => Set::Both(Arc::from_raw(ptr.cast::<Parts>().as_ptr())),
            }
        }
    }
}

fn arc_into_raw<T>(arc: Arc<T>) -> NonNull<u8> {
    NonNull::new(Arc::into_raw(arc).cast_mut().cast()).expect("an Arc is not at address zero")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::set::SetLimits;

    #[test]
    fn sets_survive_the_round_trip() {
        let (limits, mut set, mut kinds) = (SetLimits::default(), Set::new(), Vec::new());
        for i in 0..2000 {
            let member = if i < 700 { i.to_string() } else { format!("m{i}") };
            set.insert(member.as_bytes(), &limits);
            let (kind, ptr) = set.clone().into_thin();
            // SAFETY: both come from the `into_thin` just above, once.
            let back = unsafe { Set::from_thin(kind, ptr) };
            assert!(back.len() == i + 1 && back.contains(member.as_bytes()));
            back.check_invariants();
            kinds.push(kind);
        }
        kinds.dedup();
        assert_eq!(kinds, [SetKind::IntBlock, SetKind::IntTree, SetKind::Both]);
    }
}
