//! Moves blocks out of sparse slabs, as much at a time as its owner allows.
//!
//! Collections walk over their blocks with a [`Mover`]. It counts the effort, and remembers the place where a walk has
//! stopped as a path: the number of a part, the number of a part of that part, and so on. The next walk of the same
//! collection continues there. If the collection has changed meanwhile, the walk misses some blocks or looks at them twice,
//! which does no harm.
//!
//! Tested at the foot of this file, and by the collections on top.

use super::{LARGE_MIN, alloc, alloc_growing, free, free_growing, sparse};
use std::ptr::NonNull;

/// Effort of a step of a walk, of a look at a block, and of a move: about nanoseconds.
const STEP: usize = 10;
const LOOK: usize = 150;
const MOVE: usize = 300;
/// Bytes that are copied for one unit of effort.
const BYTES: usize = 4;

/// What was done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Blocks that were moved.
    pub blocks: u64,
    /// Blocks that were looked at and left where they are.
    pub left: u64,
    /// Keys of which a block was moved.
    pub keys: u64,
    /// Keys of which no block was moved.
    pub keys_left: u64,
}

/// See the module's comment.
#[derive(Debug, Default)]
pub struct Mover {
    moved: Moved,
    effort: usize,
    /// Where the last walk has stopped.
    path: Vec<u32>,
    /// How many loops over parts are under way.
    level: usize,
    has_stopped: bool,
    moves_all: bool,
}

impl Mover {
    /// A mover that may do nothing yet, at the start of a walk.
    pub fn new() -> Mover {
        Mover::default()
    }

    /// The same that moves blocks of every slab, for tests.
    pub fn of_all() -> Mover {
        Mover { moves_all: true, ..Mover::default() }
    }

    /// Whether blocks of every slab are moved.
    pub fn move_all(&mut self, on: bool) {
        self.moves_all = on;
    }

    /// Allows this much effort, in about nanoseconds, instead of what is left.
    pub fn allow(&mut self, effort: usize) {
        self.effort = effort;
        self.has_stopped = false;
    }

    /// Forgets the place where the last walk has stopped.
    pub fn restart(&mut self) {
        self.path.clear();
    }

    /// What was done so far.
    pub fn moved(&self) -> Moved {
        self.moved
    }

    /// Whether no effort is left.
    #[inline]
    pub fn is_spent(&self) -> bool {
        self.effort == 0
    }

    /// Whether the walk has stopped before its end.
    #[inline]
    pub fn has_stopped(&self) -> bool {
        self.has_stopped
    }

    /// Whether a walk begins with this part, and does not continue inside of it.
    #[inline]
    pub fn is_at_start(&self) -> bool {
        self.path.len() <= self.level
    }

    /// Calls `f` with the numbers of `len` parts, from the one where the last walk has stopped on, as long as there is effort left.
    pub fn each(&mut self, len: usize, mut f: impl FnMut(&mut Mover, usize)) {
        let level = self.level;
        let start = self.path.get(level).map_or(0, |&at| at as usize);
        self.level += 1;
        for at in start..len {
            if !self.is_spent() {
                self.spend(STEP);
                f(self, at);
            } else {
                self.has_stopped = true;
            }
            if self.has_stopped {
                self.path.resize(self.path.len().max(level + 1), 0);
                self.path[level] = at as u32;
                break;
            }
            self.path.truncate(level);
        }
        if !self.has_stopped {
            self.path.truncate(level);
        }
        self.level = level;
    }

    /// Counts a key, whose blocks `walk` moves, when the walk has come to its end.
    pub fn key(&mut self, walk: impl FnOnce(&mut Mover)) {
        let before = self.moved.blocks;
        walk(self);
        if self.moved.blocks > before {
            self.moved.keys += 1;
        } else if !self.has_stopped {
            self.moved.keys_left += 1;
        }
    }

    /// Moves a block of [`alloc`] if its slab is sparse, and changes the pointer to it; returns whether it has moved.
    ///
    /// # Safety
    /// `ptr` is a block of `alloc(size)`, and the only pointer to it.
    pub unsafe fn move_block<T>(&mut self, ptr: &mut NonNull<T>, size: usize) -> bool {
        let moves = self.decide(|| sparse::is_sparse(ptr.cast(), size), size);
        if moves {
            // SAFETY: the caller; nothing points to the old block afterwards.
            unsafe { free(replace(ptr, alloc(size), size), size) };
        }
        moves
    }

    /// The same for a block of [`alloc_growing`].
    ///
    /// # Safety
    /// As for [`move_block`](Self::move_block).
    pub unsafe fn move_growing<T>(&mut self, ptr: &mut NonNull<T>, size: usize) -> bool {
        let moves = self.decide(|| sparse::is_growing_sparse(ptr.cast(), size), size);
        if moves {
            // SAFETY: as above.
            unsafe { free_growing(replace(ptr, alloc_growing(size), size), size) };
        }
        moves
    }

    /// Whether memory of the global allocator, of about `size` bytes from `ptr` on, should move. The caller moves it then.
    pub fn wants(&mut self, ptr: *const u8, size: usize) -> bool {
        self.decide(|| sparse::is_foreign_sparse(ptr), size)
    }

    /// The same for the items of a vector.
    pub fn wants_vec<T>(&mut self, vec: &Vec<T>) -> bool {
        vec.capacity() > 0 && self.wants(vec.as_ptr().cast(), vec.capacity() * size_of::<T>())
    }

    fn decide(&mut self, is_sparse: impl FnOnce() -> bool, size: usize) -> bool {
        self.spend(LOOK);
        let moves = size <= LARGE_MIN && (self.moves_all || is_sparse());
        if moves {
            self.moved.blocks += 1;
            self.spend(MOVE + size / BYTES);
        } else {
            self.moved.left += 1;
        }
        moves
    }

    #[inline]
    fn spend(&mut self, effort: usize) {
        self.effort = self.effort.saturating_sub(effort);
    }
}

/// Copies a block to a new one, to which the pointer points then; returns the old one.
///
/// # Safety
/// Both have `size` bytes, and nobody else knows the new one.
unsafe fn replace<T>(ptr: &mut NonNull<T>, new: NonNull<u8>, size: usize) -> NonNull<u8> {
    let old = ptr.cast();
    // SAFETY: passed on to the caller.
    unsafe { new.copy_from_nonoverlapping(old, size) };
    *ptr = new.cast();
    old
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Visits parts of parts, with a stop after each few of them.
    #[test]
    fn a_walk_continues_where_it_has_stopped() {
        let widths = [3, 0, 5, 1];
        for effort in [STEP, 2 * STEP, 3 * STEP, 7 * STEP, 100 * STEP] {
            let (mut mover, mut seen, mut rounds) = (Mover::new(), Vec::new(), 0);
            loop {
                mover.allow(effort + STEP);
                mover.each(widths.len(), |mover, outer| {
                    mover.each(widths[outer], |_, inner| seen.push((outer, inner)));
                });
                rounds += 1;
                if !mover.has_stopped() {
                    break;
                }
                assert!(rounds < 100, "{mover:?}");
            }
            let all: Vec<_> =
                (0..4).flat_map(|outer| (0..widths[outer]).map(move |inner| (outer, inner))).collect();
            assert_eq!(seen, all, "effort {effort}");
            assert!(mover.path.is_empty() && mover.level == 0);
        }
    }

    /// Blocks of one size, of which one in ten stays: moving those gives slabs back, and what is in them stays.
    #[test]
    fn moving_blocks_empties_their_slabs() {
        const SIZE: usize = 1856;
        let class = slab_bytes_of(SIZE);
        let mut blocks: Vec<NonNull<u8>> = (0..4000).map(|_| alloc(SIZE)).collect();
        for (i, ptr) in blocks.iter().enumerate() {
            // SAFETY: `SIZE` bytes were just allocated.
            unsafe { ptr.as_ptr().write_bytes(i as u8, SIZE) };
        }
        let mut kept = Vec::new();
        for (i, ptr) in blocks.drain(..).enumerate() {
            if i % 10 == 0 {
                kept.push((ptr, i as u8));
            } else {
                // SAFETY: live, and freed once.
                unsafe { free(ptr, SIZE) };
            }
        }
        let before = slab_bytes_of(SIZE);
        let mut mover = Mover::new();
        for (ptr, _) in &mut kept {
            // SAFETY: live, and known here only.
            unsafe { mover.move_block(ptr, SIZE) };
        }
        let after = slab_bytes_of(SIZE);
        assert!(before - class > 7 << 20 && after - class < 1 << 20, "{class} {before} {after}");
        let moved = mover.moved();
        assert!(moved.blocks > 300 && moved.blocks + moved.left == 400, "{moved:?}");
        for (ptr, byte) in kept {
            // SAFETY: live, wholly written, and freed once.
            unsafe {
                assert!(std::slice::from_raw_parts(ptr.as_ptr(), SIZE).iter().all(|&b| b == byte));
                // A dense slab is left alone.
                free(ptr, SIZE);
            }
        }
    }

    /// Bytes of the slabs of a size, without a spare one.
    fn slab_bytes_of(size: usize) -> usize {
        let (index, size) = super::super::slab_class(size).unwrap();
        let class = super::super::lock(index);
        (class.slabs - usize::from(class.spare != 0)) * super::super::slab_bytes(size)
    }
}
