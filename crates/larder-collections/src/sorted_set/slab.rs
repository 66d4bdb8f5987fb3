//! A numbered store that copies on write: what gives leaves and index segments their ids.
//!
//! What it is: an array in chunks of 64 slots, each chunk shared by count. Why not a plain vector: the first write after a
//! clone would count up everything in it; here it counts up the chunks and what lies in one of them.
//!
//! Cost: 8 bytes a slot, 4 more while it is free, and 32 bytes a chunk; get O(1), two loads; insert amortised
//! O(1).
//!
//! Invariants: S1 `free` names exactly the empty slots; S2 every chunk but the first has 64 slots.
//!
//! Tested by the sorted set's model test.

use crate::relocation::move_array;
use larder_packed::heap::Mover;
use std::sync::Arc;

const CHUNK_BITS: u32 = 6;
const CHUNK: usize = 1 << CHUNK_BITS;
/// Slots of the first chunk at first.
const FIRST: usize = 4;

/// See the module's comment.
#[derive(Clone, Debug)]
pub(super) struct Slab<T> {
    chunks: Vec<Arc<[Option<T>]>>,
    free: Vec<u32>,
}

impl<T: Clone> Slab<T> {
    pub(super) fn new() -> Slab<T> {
        Slab { chunks: Vec::new(), free: Vec::new() }
    }

    /// Number of things in the store.
    pub(super) fn len(&self) -> usize {
        self.slots() - self.free.len()
    }

    /// What has this id.
    #[inline]
    pub(super) fn get(&self, id: u32) -> &T {
        let chunk = &self.chunks[(id >> CHUNK_BITS) as usize];
        chunk[id as usize % CHUNK].as_ref().expect("an id in use")
    }

    /// What has this id, to be changed.
    #[inline]
    pub(super) fn get_mut(&mut self, id: u32) -> &mut T {
        let chunk = Arc::make_mut(&mut self.chunks[(id >> CHUNK_BITS) as usize]);
        chunk[id as usize % CHUNK].as_mut().expect("an id in use")
    }

    /// Puts something in; its id comes back.
    pub(super) fn insert(&mut self, thing: T) -> u32 {
        if self.free.is_empty() {
            self.grow();
        }
        let id = self.free.pop().expect("it has just grown");
        Arc::make_mut(&mut self.chunks[(id >> CHUNK_BITS) as usize])[id as usize % CHUNK] = Some(thing);
        id
    }

    /// Takes something out; its id may be given again.
    pub(super) fn remove(&mut self, id: u32) -> T {
        let chunk = Arc::make_mut(&mut self.chunks[(id >> CHUNK_BITS) as usize]);
        let thing = chunk[id as usize % CHUNK].take().expect("an id in use");
        self.free.push(id);
        thing
    }

    /// Moves chunks that lie in sparse slabs and are not shared; `f` moves the things in those.
    pub(super) fn move_blocks(&mut self, mover: &mut Mover, mut f: impl FnMut(&mut T, &mut Mover)) {
        mover.each(self.chunks.len(), |mover, at| {
            let Some(chunk) = move_array(&mut self.chunks[at], mover) else { return };
            mover.each(chunk.len(), |mover, at| {
                if let Some(thing) = &mut chunk[at] {
                    f(thing, mover);
                }
            });
        });
    }

    /// All things.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().flat_map(|chunk| chunk.iter()).flatten()
    }

    /// Bytes of the store itself.
    pub(super) fn heap_bytes(&self) -> usize {
        self.chunks.capacity() * 16 + self.free.capacity() * 4 + self.slots() * 8 + self.chunks.len() * 16
    }

    fn slots(&self) -> usize {
        match &self.chunks[..] {
            [] => 0,
            [first, rest @ ..] => first.len() + rest.len() * CHUNK,
        }
    }

    /// Doubles the first chunk, or adds one.
    fn grow(&mut self) {
        let slots = self.slots();
        let new = match &mut self.chunks[..] {
            [first] if slots < CHUNK => {
                let old = std::mem::take(first);
                *first = old.iter().cloned().chain(std::iter::repeat_n(None, slots)).collect();
                slots
            }
            chunks => {
                let size = if chunks.is_empty() { FIRST } else { CHUNK };
                self.chunks.push(std::iter::repeat_n(None, size).collect());
                size
            }
        };
        self.free.extend((slots as u32..(slots + new) as u32).rev());
    }
}
