//! A run of bytes behind one thin pointer, shared by count and copied on write: what packed leaves and index segments
//! are written in, so that all code above this file is safe.
//!
//! Why not `Arc<[u8]>`: that is two words wide where it is kept, cannot be given away as one thin pointer, and knows
//! nothing of the heap's size classes. Why not [`SharedBytes`](crate::bytes::SharedBytes): it keeps a length beside the
//! capacity, which every layout here knows better itself.
//!
//! Cost: 8 bytes a buffer. Clone and drop O(1); the first change of a shared buffer copies it; allocation zeroes what it
//! does not copy.
//!
//! ```text
//!  0      4      8                               size
//!  +------+------+--------------------------------+
//!  | rc 4 | size | body, always initialised       |    size = heap::class_size(size)
//!  +------+------+--------------------------------+
//! ```
//!
//! Invariants: I1 the allocation is `size` bytes and `size` is a heap class; I2 all bytes of the body are initialised;
//! I3 only the holder of the single reference writes.
//!
//! Tested at the foot of this file, and by the leaves and the sorted set on top.

use crate::heap::{self, Mover};
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering, fence};

/// Bytes before the body.
pub const HEADER: usize = size_of::<Header>();
const _: () = assert!(HEADER == 8 && size_of::<Option<Buffer>>() == 8);

#[repr(C)]
struct Header {
    rc: AtomicU32,
    size: u32,
}

/// See the module's comment. Dereferences to the body.
#[repr(transparent)]
pub struct Buffer(NonNull<Header>);

// SAFETY: the count is atomic and the body changes only through the single reference (I3).
unsafe impl Send for Buffer {}
// SAFETY: as for `Send`; a shared reference only reads.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// A buffer whose body has at least `len` bytes: `from`, cut off if it is longer, and then zeros.
    ///
    /// Panics if it would be 4 GB or more.
    pub fn of(from: &[u8], len: usize) -> Buffer {
        let size = heap::class_size(len + HEADER);
        let header = Header {
            rc: AtomicU32::new(1),
            size: u32::try_from(size).expect("a buffer is smaller than 4 GB"),
        };
        let ptr = heap::alloc(size).cast::<Header>();
        let kept = from.len().min(size - HEADER);
        // SAFETY: the allocation has `size >= HEADER` bytes, is aligned to 8 and ours alone, so `from` cannot overlap it;
        // `kept` fits after the header, and the rest of the body is zeroed (I2).
        unsafe {
            ptr.write(header);
            let body = ptr.cast::<u8>().add(HEADER);
            body.copy_from_nonoverlapping(NonNull::from(from).cast(), kept);
            body.add(kept).write_bytes(0, size - HEADER - kept);
        }
        Buffer(ptr)
    }

    /// The body of a buffer that would be allocated for `len` bytes.
    pub fn body_len(len: usize) -> usize {
        heap::class_size(len + HEADER) - HEADER
    }

    /// The body, to be changed. Copies the buffer first if it is shared.
    #[inline]
    pub fn make_mut(&mut self) -> &mut [u8] {
        if !self.is_unique() {
            *self = Buffer::of(self, self.len());
        }
        // SAFETY: this is the only reference (I3), the body is initialised (I1, I2), and the borrow of `self` covers it.
        unsafe { std::slice::from_raw_parts_mut(self.0.cast::<u8>().add(HEADER).as_ptr(), self.len()) }
    }

    /// Moves the buffer if it lies in a sparse slab and is not shared.
    pub fn move_block(&mut self, mover: &mut Mover) {
        let size = self.heap_bytes();
        if self.is_unique() {
            // SAFETY: this is the only reference, and the allocation has this many bytes (I1).
            unsafe { mover.move_block(&mut self.0, size) };
        }
    }

    /// Bytes that the heap gave.
    pub fn heap_bytes(&self) -> usize {
        self.header().size as usize
    }

    /// True if nobody else holds this buffer.
    #[inline]
    pub fn is_unique(&self) -> bool {
        self.header().rc.load(Ordering::Acquire) == 1
    }

    /// Where the buffer lies, to compare.
    pub fn address(&self) -> usize {
        self.0.as_ptr() as usize
    }

    /// Asks the processor to load the first `lines` lines of 64 bytes.
    #[inline]
    pub fn prefetch(&self, lines: usize) {
        self.prefetch_at(0, lines);
    }

    /// Asks the processor to load `lines` lines of 64 bytes from byte `at` on.
    #[inline]
    pub fn prefetch_at(&self, at: usize, lines: usize) {
        #[cfg(target_arch = "x86_64")]
        for line in 0..lines {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let address = self.0.as_ptr().cast::<i8>().wrapping_add(at + line * 64);
            // SAFETY: a prefetch has no effect that a program could see, whatever the address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(address) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (at, lines);
    }

    /// Gives the pointer away; [`Buffer::from_raw`] takes it back.
    pub fn into_raw(self) -> NonNull<u8> {
        let ptr = self.0.cast();
        std::mem::forget(self);
        ptr
    }

    /// Takes back what [`Buffer::into_raw`] gave.
    ///
    /// # Safety
    /// `ptr` came from `into_raw`, which was not yet undone.
    pub unsafe fn from_raw(ptr: NonNull<u8>) -> Buffer {
        Buffer(ptr.cast())
    }

    #[inline]
    fn header(&self) -> &Header {
        // SAFETY: the pointer is to a live header as long as this reference is counted; `size` is never written again.
        unsafe { self.0.as_ref() }
    }
}

impl Deref for Buffer {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        let len = self.header().size as usize - HEADER;
        // SAFETY: the body is initialised (I1, I2), lives as long as this reference, and is not written while shared (I3).
        unsafe { std::slice::from_raw_parts(self.0.cast::<u8>().add(HEADER).as_ptr(), len) }
    }
}

impl Clone for Buffer {
    #[inline]
    fn clone(&self) -> Self {
        let old = self.header().rc.fetch_add(1, Ordering::Relaxed);
        assert!(old < u32::MAX / 2, "too many references to one buffer");
        Buffer(self.0)
    }
}

impl Drop for Buffer {
    #[inline]
    fn drop(&mut self) {
        if !self.is_unique() {
            if self.header().rc.fetch_sub(1, Ordering::Release) != 1 {
                return;
            }
            fence(Ordering::Acquire);
        }
        let size = self.heap_bytes();
        // SAFETY: this was the last reference, and `size` is the class that the buffer was allocated with (I1).
        unsafe { heap::free(self.0.cast(), size) };
    }
}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Buffer({} bytes)", self.heap_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_buffer_is_copied_by_its_writer() {
        let mut a = Buffer::of(b"hello", 100);
        assert!(
            a.len() >= 100 && a.heap_bytes() == heap::class_size(108) && a.len() == Buffer::body_len(100)
        );
        assert_eq!((&a[..5], &a[5..]), (&b"hello"[..], &vec![0; a.len() - 5][..]));
        let b = a.clone();
        assert!(!a.is_unique());
        a.make_mut()[0] = b'j';
        assert_eq!((&a[..5], &b[..5]), (&b"jello"[..], &b"hello"[..]));
        assert!(a.is_unique() && b.is_unique() && a.address() != b.address());
        assert_eq!(&Buffer::of(&[7; 500], 3)[..3], &[7; 3]);
    }

    #[test]
    fn a_buffer_survives_the_round_trip() {
        let a = Buffer::of(b"x", 2000);
        let b = a.clone();
        // SAFETY: the pointer comes from `into_raw` just here.
        let a = unsafe { Buffer::from_raw(a.into_raw()) };
        drop(b);
        assert!(a.is_unique() && a[0] == b'x');
    }

    #[test]
    fn threads_share_buffers() {
        let a = Buffer::of(&[1; 64], 64);
        std::thread::scope(|scope| {
            for i in 0..4 {
                let mut mine = a.clone();
                scope.spawn(move || {
                    for _ in 0..1000 {
                        let copy = mine.clone();
                        mine.make_mut()[i] = 2;
                        drop(copy);
                    }
                });
            }
        });
        assert!(a.is_unique() && a[..64] == [1; 64]);
    }
}
