//! Nodes of trees move out of sparse slabs as their blocks do.
//!
//! A node is moved by a clone that takes its place: what hangs below is counted up and down again, and vectors in it get
//! memory of their own. Nodes that are shared stay, with all that is below them.

use larder_packed::heap::Mover;
use std::sync::Arc;

/// Moves a node that is not shared if it lies in a sparse slab. None if it is shared.
pub(crate) fn move_arc<'a, T: Clone>(arc: &'a mut Arc<T>, mover: &mut Mover) -> Option<&'a mut T> {
    Arc::get_mut(arc)?;
    if mover.is_at_start() && mover.wants(Arc::as_ptr(arc).cast(), size_of::<T>()) {
        *arc = Arc::new(T::clone(arc));
    }
    Arc::get_mut(arc)
}

/// The same for an array.
pub(crate) fn move_array<'a, T: Clone>(arc: &'a mut Arc<[T]>, mover: &mut Mover) -> Option<&'a mut [T]> {
    Arc::get_mut(arc)?;
    if mover.is_at_start() && mover.wants(Arc::as_ptr(arc).cast(), size_of_val(&**arc)) {
        *arc = arc.iter().cloned().collect();
    }
    Arc::get_mut(arc)
}

/// Moves the items of a vector if they lie in a sparse slab.
pub(crate) fn move_vec<T>(vec: &mut Vec<T>, mover: &mut Mover) {
    if mover.wants_vec(vec) {
        let mut moved = Vec::with_capacity(vec.capacity());
        moved.append(vec);
        *vec = moved;
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::cell::RefCell;

    /// Effort of a call of [`move_some`]: so little that walks over all but small collections stop and continue.
    const EFFORT: usize = 3000;

    thread_local! {
        static MOVER: RefCell<Mover> = RefCell::new(Mover::of_all());
    }

    /// Has model tests move some blocks, whatever their slabs are, between two operations.
    pub(crate) fn move_some<R>(f: impl FnOnce(&mut Mover) -> R) -> R {
        MOVER.with_borrow_mut(|mover| {
            mover.allow(EFFORT);
            f(mover)
        })
    }

    #[test]
    fn nodes_that_are_shared_stay() {
        let mut mover = Mover::of_all();
        mover.allow(usize::MAX);
        let mut node = Arc::new(vec![1, 2, 3]);
        let before = Arc::as_ptr(&node);
        let copy = Arc::clone(&node);
        assert!(move_arc(&mut node, &mut mover).is_none() && Arc::ptr_eq(&node, &copy));
        drop(copy);
        assert_eq!(move_arc(&mut node, &mut mover).map(|items| items.len()), Some(3));
        assert!(Arc::as_ptr(&node) != before && mover.moved().blocks == 1);
        let mut items = Vec::with_capacity(10);
        items.extend([1, 2]);
        let before = items.as_ptr();
        move_vec(&mut items, &mut mover);
        assert!(items.as_ptr() != before && items == [1, 2] && items.capacity() == 10);
    }
}
