//! A table as one pointer and a small number, for a keyspace that stores nothing else.
//!
//! Safe twin: [`Table`] itself. Tested by `tests/` here.

use super::tree::Tree;
use super::{Shape, Table};
use crate::key_table::KeyHash;
use larder_packed::segment::{Layout, Rows};
use std::ptr::NonNull;
use std::sync::Arc;

/// What the pointer of a table leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableKind {
    /// One segment.
    Small,
    /// One segment; the owner's bit is set.
    SmallMarked,
    /// A tree.
    Tree,
}

impl<L: Layout, H: KeyHash> Table<L, H> {
    /// Gives the table away as a pointer and its kind. [`Table::from_thin`] takes it back; until then the pointer owns
    /// the table.
    pub fn into_thin(self) -> (TableKind, NonNull<u8>) {
        match self.shape {
            Shape::Small { rows, mark } => {
                (if mark { TableKind::SmallMarked } else { TableKind::Small }, rows.into_raw())
            }
            Shape::Tree(tree) => {
                let ptr = Arc::into_raw(tree).cast_mut().cast();
                (TableKind::Tree, NonNull::new(ptr).expect("an Arc is not at address zero"))
            }
        }
    }

    /// Takes back what [`Table::into_thin`] gave.
    ///
    /// # Safety
    /// Both values came from one call of `into_thin` of the same type, which was not undone since. To look at the table
    /// and leave it where it is, wrap the result in `ManuallyDrop`.
    pub unsafe fn from_thin(kind: TableKind, ptr: NonNull<u8>) -> Self {
        if kind == TableKind::Tree {
            // SAFETY: the caller promises that `ptr` came from `Arc::into_raw` of an `Arc<Tree<L>>` in `into_thin`.
            return Table::of(Shape::Tree(unsafe { Arc::from_raw(ptr.cast::<Tree<L>>().as_ptr()) }));
        }
        // SAFETY: the caller promises that `ptr` came from `Rows::into_raw` in `into_thin`.
        let rows = unsafe { Rows::from_raw(ptr) };
        Table::of(Shape::Small { rows, mark: kind == TableKind::SmallMarked })
    }
}
