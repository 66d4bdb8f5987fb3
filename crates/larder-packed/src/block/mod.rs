//! The packed block: a sequence of byte strings or integers in one reference-counted allocation.
//!
//! What it is: the unit that lists are made of. A [`Block`] is one non-null pointer; cloning it counts up, writing to
//! a shared one copies it first. Why not Redis's listpack in memory: a listpack spends 2 bytes or more per element on
//! its entry header and back length, can only be found by walking, and moves everything for a push at the head. Here
//! lengths are apart from the data, as narrow as the block needs (none at all while all elements are equally long),
//! and both ends have room to grow.
//!
//! | kind | bytes per element | push, pop | get(i) |
//! |---|---|---|---|
//! | `Str`, width 0 | its data | amortised O(1) at both ends | O(1) |
//! | `Str`, width 1, 2, 4 | its data + width | amortised O(1) at both ends | sums at most n/2 lengths |
//! | `Int`, width 1, 2, 4, 8 (while smaller than as text) | width | amortised O(1) at both ends | O(1) |
//! | `Compressed` | its share of the payload | decompress first | decompress first |
//!
//! plus 32 bytes of header per block. A value of the old one's size is replaced in place; any other change in
//! the middle copies the block.
//!
//! ```text
//!  header, native byte order                              31 32                                              cap
//!  +----+------+-------+-------+-------+---+-----+-------+-----+-------+- - - -+-------- - -+------------+
//!  | rc | kind | width | flags | inner | n | cap | start | end | aux   | gap   | data ->    |  free      |  ...
//!  | 4  | 1    | 1     | 1     | 1     | 4 | 4   | 4     | 4   | 8     |       | start..end |            |
//!  +----+------+-------+-------+-------+---+-----+-------+-----+-------+- - - -+-------- - -+------------+
//!                                                   ... free | <- lengths, n * width | length gap, lgap * width | cap
//!
//!  Str:        aux = element length (low half, width 0 only) | lgap << 32; length of element i at cap - (lgap+i+1)*width
//!  Int:        aux = base; element i at start + i*width is (value - base), both wrapping
//!  Compressed: width = codec, inner = what the image is (see `packed`): a body of this kind and width, a
//!              listpack, or one element; start = bytes of the plain image, end = bytes of the payload at 32,
//!              aux = base or element length of the plain block
//! ```
//!
//! Elements are stored in *physical* order. A block that was opened by a push at the front has the flag REVERSED: its
//! physical order is its logical order backwards, so that growing at the head appends. `start` and `lgap` open gaps
//! when the physical first element is popped; they are used again by pushes there, or reclaimed by the next rebuild.
//!
//! Invariants:
//! - B1: 32 <= start <= end <= cap - (lgap + n) * width (lengths count for Str only), and cap is a heap class.
//! - B2: Str: the lengths sum up to end - start. Int: end - start = n * width.
//! - B3: Int: every base + offset is the element, by wrapping addition; width 8 has base 0.
//! - B4: only a block with rc = 1, reached through `&mut`, is written, except for the flags (atomic).
//! - B5: an element that is read back has exactly the bytes that were pushed.
//!
//! Tested by the model test in `tests.rs` beside this file and by the lists on top.

mod build;
mod check;
mod edit;
mod embed;
mod image;
mod packed;
mod push;
mod read;
#[cfg(test)]
mod tests;
mod width;

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering, fence};

use crate::heap::{self, Mover};

pub use build::Shape;
pub use packed::LzfImage;
pub use read::{Direction, Element, Iter, Needle};
pub use width::width_of;

/// Bytes before the body of a block.
pub const HEADER: usize = size_of::<Header>();
const _: () = assert!(HEADER == 32 && size_of::<Option<Block>>() == 8);

/// Elements above this cannot be stored: offsets are 32 bits wide.
pub const ELEMENT_LEN_MAX: usize = u32::MAX as usize - 4096;

/// Physical order is logical order backwards.
const REVERSED: u8 = 1;
/// Compression was tried and did not pay.
const INCOMPRESSIBLE: u8 = 2;

/// What a block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Byte strings.
    Str = 0,
    /// Canonical decimal integers, fixed width.
    Int = 1,
    /// Any of the others, compressed.
    Compressed = 2,
}

/// An end of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The last element's side.
    Back,
    /// The first element's side.
    Front,
}

/// How much a block may hold. The first element always fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Most bytes of data and lengths, by [`Block::size_bytes`].
    pub bytes: u32,
    /// Most elements.
    pub count: u32,
}

impl Limit {
    /// No limit but the format's own.
    pub const NONE: Limit = Limit { bytes: u32::MAX - 2048, count: (1 << 30) - 1 };
}

/// See the module's comment.
pub struct Block {
    ptr: NonNull<Header>,
}

#[repr(C)]
struct Header {
    rc: AtomicU32,
    kind: Kind,
    width: u8,
    flags: AtomicU8,
    inner: u8,
    n: u32,
    cap: u32,
    start: u32,
    end: u32,
    aux: u64,
}

// SAFETY: the count is atomic, and the rest of a shared block is never written (B4).
unsafe impl Send for Block {}
// SAFETY: as above; `&Block` only reads, apart from the atomic flags.
unsafe impl Sync for Block {}

impl Block {
    /// A block without elements and without room.
    pub fn empty() -> Block {
        Block::with_capacity(Kind::Str, 0, HEADER)
    }

    /// Elements in the block.
    #[inline]
    pub fn len(&self) -> usize {
        self.header().n as usize
    }

    /// True if there is no element.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.header().n == 0
    }

    /// What the block holds.
    #[inline]
    pub fn kind(&self) -> Kind {
        self.header().kind
    }

    /// True if the elements must be decompressed to be read.
    #[inline]
    pub fn is_compressed(&self) -> bool {
        self.kind() == Kind::Compressed
    }

    /// Bytes that fill limits count: data and lengths when plain, at least one per element.
    pub fn size_bytes(&self) -> usize {
        let h = self.header();
        let size = match h.kind {
            Kind::Compressed => h.start as usize,
            Kind::Int => h.data_len(),
            Kind::Str => h.data_len() + self.len() * h.width as usize,
        };
        size.max(self.len())
    }

    /// Bytes that the heap gave for this block.
    pub fn heap_bytes(&self) -> usize {
        self.header().cap as usize
    }

    /// Moves the block if it lies in a sparse slab and is not shared.
    pub fn move_block(&mut self, mover: &mut Mover) {
        let size = self.heap_bytes();
        if self.is_unique() {
            // SAFETY: this is the only reference, and the allocation has this many bytes (B1).
            unsafe { mover.move_block(&mut self.ptr, size) };
        }
    }

    /// True if both are the same allocation.
    pub fn ptr_eq(a: &Block, b: &Block) -> bool {
        a.ptr == b.ptr
    }

    /// True if nobody else holds this block.
    #[inline]
    pub fn is_unique(&self) -> bool {
        self.header().rc.load(Ordering::Acquire) == 1
    }

    /// True if compression was tried and did not pay. Any change of the content forgets it.
    pub fn is_incompressible(&self) -> bool {
        self.flag(INCOMPRESSIBLE)
    }

    /// Remembers that compression does not pay: a fact about the content, so a shared block may learn it too.
    pub fn set_incompressible(&self) {
        self.set_flag(INCOMPRESSIBLE, true);
    }

    /// Gives the pointer away; [`Block::from_raw`] takes it back.
    pub fn into_raw(self) -> NonNull<u8> {
        let ptr = self.ptr.cast();
        std::mem::forget(self);
        ptr
    }

    /// Takes back what [`Block::into_raw`] gave.
    ///
    /// # Safety
    /// `ptr` came from `into_raw`, which was not yet undone.
    pub unsafe fn from_raw(ptr: NonNull<u8>) -> Block {
        Block { ptr: ptr.cast() }
    }

    /// A block without elements, with `cap` bytes at least, header included.
    fn with_capacity(kind: Kind, width: u8, cap: usize) -> Block {
        let cap = heap::class_size(cap.max(HEADER));
        let header = Header {
            rc: AtomicU32::new(1),
            kind,
            width,
            flags: AtomicU8::new(0),
            inner: 0,
            n: 0,
            cap: u32::try_from(cap).expect("a block is smaller than 4 GB"),
            start: HEADER as u32,
            end: HEADER as u32,
            aux: 0,
        };
        let ptr = heap::alloc(cap).cast::<Header>();
        // SAFETY: the allocation has `cap >= HEADER` bytes, is aligned to 8, and is ours alone.
        unsafe { ptr.as_ptr().write(header) };
        Block { ptr }
    }

    #[inline]
    fn header(&self) -> &Header {
        // SAFETY: the pointer is to a live header as long as this reference is counted; nobody writes it meanwhile (B4).
        unsafe { self.ptr.as_ref() }
    }

    #[inline]
    fn header_mut(&mut self) -> &mut Header {
        debug_assert!(self.is_unique());
        // SAFETY: the pointer is live, and every writer made the block unique first (B4).
        unsafe { self.ptr.as_mut() }
    }

    fn flag(&self, bit: u8) -> bool {
        self.header().flags.load(Ordering::Relaxed) & bit != 0
    }

    fn set_flag(&self, bit: u8, on: bool) {
        if on {
            self.header().flags.fetch_or(bit, Ordering::Relaxed);
        } else {
            self.header().flags.fetch_and(!bit, Ordering::Relaxed);
        }
    }

    /// Forgets what was known about the content. To be called by every writer; cheap when nothing was known.
    #[inline]
    fn touch(&mut self) {
        if self.flag(INCOMPRESSIBLE) {
            self.set_flag(INCOMPRESSIBLE, false);
        }
    }

    #[inline]
    fn reversed(&self) -> bool {
        self.flag(REVERSED)
    }

    /// The bytes at `offset..offset + len`, which some push or rebuild wrote.
    #[inline]
    fn bytes(&self, offset: usize, len: usize) -> &[u8] {
        debug_assert!(offset >= HEADER && offset + len <= self.heap_bytes());
        // SAFETY: callers pass ranges inside data or lengths, which lie in the allocation (B1) and are initialised;
        // the slice borrows the block, so neither can it be freed nor written (B4).
        unsafe { std::slice::from_raw_parts(self.ptr.as_ptr().cast::<u8>().add(offset), len) }
    }

    /// Writes `src` at `offset`.
    #[inline]
    fn write(&mut self, offset: usize, src: &[u8]) {
        assert!(offset >= HEADER && offset + src.len() <= self.heap_bytes());
        debug_assert!(self.is_unique());
        // SAFETY: the range is inside the allocation's body (asserted), and the block is unique (B4), so `src`, which
        // borrows from elsewhere, cannot overlap.
        unsafe {
            let dst = self.ptr.as_ptr().cast::<u8>().add(offset);
            std::ptr::copy_nonoverlapping(src.as_ptr(), dst, src.len());
        }
    }

    /// Lets `f` fill `len` bytes at `offset`, which are zeroed first.
    fn fill<R>(&mut self, offset: usize, len: usize, f: impl FnOnce(&mut [u8]) -> R) -> R {
        assert!(offset >= HEADER && offset + len <= self.heap_bytes());
        debug_assert!(self.is_unique());
        // SAFETY: the range is inside the allocation's body (asserted), initialised by the zeroing, and the block is
        // unique and borrowed mutably, so the slice is the only way to these bytes.
        unsafe {
            let dst = self.ptr.as_ptr().cast::<u8>().add(offset);
            std::ptr::write_bytes(dst, 0, len);
            f(std::slice::from_raw_parts_mut(dst, len))
        }
    }

    /// Moves `len` bytes inside the block; the ranges may overlap.
    fn shift(&mut self, from: usize, to: usize, len: usize) {
        assert!(from.min(to) >= HEADER && from.max(to) + len <= self.heap_bytes());
        debug_assert!(self.is_unique());
        // SAFETY: both ranges are inside the allocation's body (asserted), and the block is unique (B4).
        unsafe {
            let base = self.ptr.as_ptr().cast::<u8>();
            std::ptr::copy(base.add(from), base.add(to), len);
        }
    }
}

impl Clone for Block {
    #[inline]
    fn clone(&self) -> Self {
        let old = self.header().rc.fetch_add(1, Ordering::Relaxed);
        assert!(old < u32::MAX / 2, "too many references to one block");
        Block { ptr: self.ptr }
    }
}

impl Drop for Block {
    #[inline]
    fn drop(&mut self) {
        if !self.is_unique() {
            if self.header().rc.fetch_sub(1, Ordering::Release) != 1 {
                return;
            }
            fence(Ordering::Acquire);
        }
        let cap = self.heap_bytes();
        // SAFETY: this was the last reference, and `cap` is the class that the block was allocated with (B1).
        unsafe { heap::free(self.ptr.cast(), cap) };
    }
}

impl std::fmt::Debug for Block {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Block({:?}, width {}, n {})", self.kind(), self.header().width, self.len())
    }
}

impl Header {
    #[inline]
    fn data_len(&self) -> usize {
        (self.end - self.start) as usize
    }

    /// Str, width 0: the length of every element.
    #[inline]
    fn elem_len(&self) -> usize {
        self.aux as u32 as usize
    }

    /// Str: how many length slots are free at the end of the allocation.
    #[inline]
    fn lgap(&self) -> usize {
        (self.aux >> 32) as usize
    }

    fn set_str_aux(&mut self, elem_len: usize, lgap: usize) {
        self.aux = elem_len as u64 | (lgap as u64) << 32;
    }
}
