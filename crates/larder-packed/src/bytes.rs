//! A byte string behind one thin pointer, shared by count and copied on write: the long string values.
//!
//! `Arc<Vec<u8>>` would cost two allocations and `Arc<[u8]>` two words in the keyspace entry; here the count, the
//! length and the bytes are one allocation behind 8 bytes.
//!
//! Cost: 24 bytes a string, plus the step of the allocator's class. Clone and drop O(1); reading O(1); the
//! first change of a shared string copies it; appending is amortised O(1) a byte up to 4 MB. Room grows by a
//! quarter, and by 1 MB at most: a longer string is copied once for each MB that is appended.
//!
//! ```text
//!  0      4       8        16       24                 24 + cap
//!  +------+-------+--------+--------+------------------+
//!  | rc 4 | age 1 | len 8  | cap 8  | bytes .. spare   |
//!  +------+-------+--------+--------+------------------+
//!  age: walks since the last use, of a string whose owner counts them | 0x80 the owner's flag
//! ```
//!
//! Invariants: I1 `len <= cap`; I2 the allocation is `24 + cap` bytes, a class of the heap; I3 the first
//! `len` bytes are initialised; I4 only the holder of the single reference writes.
//!
//! Tested at the foot of this file and by the string commands' tests.

use crate::age::Age;
use crate::heap::{self, Mover};
use std::mem::MaybeUninit;
use std::ops::{Deref, Range};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering, fence};

#[repr(C)]
struct Header {
    rc: AtomicU32,
    age: Age,
    len: usize,
    cap: usize,
}

const HEADER: usize = size_of::<Header>();
const _: () = assert!(HEADER == 24);

/// A shared byte string. Dereferences to its bytes.
#[repr(transparent)]
pub struct SharedBytes(NonNull<Header>);

// SAFETY: the count is atomic and the bytes change only through the single reference (I4).
unsafe impl Send for SharedBytes {}
// SAFETY: as for `Send`; a shared reference only reads.
unsafe impl Sync for SharedBytes {}

impl SharedBytes {
    /// A string of these bytes, with no room to spare beyond the allocator's class.
    pub fn new(bytes: &[u8]) -> Self {
        let mut new = Self::with_capacity(bytes.len());
        new.extend(bytes);
        new
    }

    /// An empty string with room for `cap` bytes.
    pub fn with_capacity(cap: usize) -> Self {
        Self::in_block(cap, heap::alloc)
    }

    /// These bytes, and zeros after them up to `len` bytes in all. Long runs of zeros cost little, see [`heap::alloc_zeroed`].
    pub fn padded(bytes: &[u8], len: usize) -> Self {
        if len <= bytes.len() {
            return Self::new(bytes);
        }
        let mut new = Self::in_block(len, heap::alloc_zeroed);
        new.extend(bytes);
        // SAFETY: this is the only reference, and all bytes have been zeros or more (I3).
        unsafe { new.0.as_mut().len = len };
        new
    }

    /// An empty string with room for `cap` bytes, in a block that `alloc` gives.
    fn in_block(cap: usize, alloc: fn(usize) -> NonNull<u8>) -> Self {
        let size =
            heap::class_size(cap.checked_add(HEADER).expect("a string is smaller than the address space"));
        let ptr = alloc(size).cast::<Header>();
        // SAFETY: the allocation is at least HEADER bytes, aligned to 8, and ours alone.
        unsafe {
            ptr.write(Header { rc: AtomicU32::new(1), age: Age::new(), len: 0, cap: size - HEADER });
        };
        SharedBytes(ptr)
    }

    /// Makes room for `len` bytes in all, in a string that is not shared.
    fn reserve(&mut self, len: usize) {
        let unique = self.header().rc.load(Ordering::Acquire) == 1;
        if unique && len <= self.header().cap {
            return;
        }
        let grown = if len > self.header().len {
            len.max(len.saturating_add(len / 4).min(len + (1 << 20)))
        } else {
            len
        };
        let mut copy = Self::with_capacity(grown);
        copy.extend(self);
        *self = copy;
    }

    /// Appends bytes.
    pub fn extend(&mut self, bytes: &[u8]) {
        let len = self.len();
        let end = len.checked_add(bytes.len()).expect("a string is smaller than the address space");
        self.reserve(end);
        // SAFETY: after `reserve` this is the only reference and `end <= cap`; source and target do not overlap, as
        // `bytes` cannot borrow from `self` while `self` is borrowed mutably.
        unsafe {
            self.data().add(len).copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len());
            self.0.as_mut().len = end;
        }
    }

    /// Lengthens the string with zeros to `len` bytes; does nothing when it is that long.
    pub fn pad(&mut self, len: usize) {
        let old = self.len();
        if len <= old {
            return;
        }
        if old == 0 && self.header().cap < len {
            *self = Self::padded(self, len);
            return;
        }
        self.reserve(len);
        // SAFETY: as in `extend`; the bytes from `old` to `len` lie within the capacity.
        unsafe {
            self.data().add(old).write_bytes(0, len - old);
            self.0.as_mut().len = len;
        }
    }

    /// Gives the string `len` bytes that `write` makes, in the memory that it has if that suffices and is not shared.
    /// When `write` panics the string is empty.
    ///
    /// # Safety
    /// `write` fills all of the slice that it gets.
    pub(crate) unsafe fn overwrite(&mut self, len: usize, write: impl FnOnce(&mut [MaybeUninit<u8>])) {
        if self.header().rc.load(Ordering::Acquire) != 1 || self.header().cap < len {
            *self = Self::with_capacity(len);
        }
        // SAFETY: this is the only reference (I4), and `len` bytes lie within the capacity; they become the string's when
        // they are initialised, by the caller's promise (I3).
        unsafe {
            self.0.as_mut().len = 0;
            write(std::slice::from_raw_parts_mut(self.data().as_ptr().cast(), len));
            self.0.as_mut().len = len;
        }
    }

    /// Cuts the string off at `len` bytes; does nothing when it is shorter. Keeps the room.
    pub fn truncate(&mut self, len: usize) {
        if len >= self.len() {
            return;
        }
        if self.header().rc.load(Ordering::Acquire) != 1 {
            *self = Self::new(&self[..len]);
            return;
        }
        // SAFETY: this is the only reference (I4), and fewer bytes than before stay initialised (I3).
        unsafe { self.0.as_mut().len = len };
    }

    /// Puts `new` in place of a range of the bytes. O(bytes after it).
    ///
    /// Panics if the range does not lie in the string.
    pub fn splice(&mut self, range: Range<usize>, new: &[u8]) {
        let (old_len, end) = (self.len(), range.start + new.len());
        assert!(range.start <= range.end && range.end <= old_len, "the range lies in the string");
        let new_len = old_len - range.len() + new.len();
        self.pad(new_len);
        let bytes = self.make_mut();
        bytes.copy_within(range.end..old_len, end);
        bytes[range.start..end].copy_from_slice(new);
        self.truncate(new_len);
    }

    /// The bytes, to change in place; copies them first when they are shared.
    pub fn make_mut(&mut self) -> &mut [u8] {
        self.reserve(self.len());
        let len = self.len();
        // SAFETY: this is the only reference, and `len` bytes are initialised (I3).
        unsafe { std::slice::from_raw_parts_mut(self.data().as_ptr(), len) }
    }

    /// Gives back the room to spare, if there is any beyond the allocator's class.
    pub fn shrink(&mut self) {
        if heap::class_size(HEADER + self.len()) < self.heap_bytes() {
            *self = SharedBytes::new(self);
        }
    }

    /// Moves the string if it lies in a sparse slab and is not shared; returns whether it has moved.
    pub fn move_block(&mut self, mover: &mut Mover) -> bool {
        let (is_own, size) = (self.header().rc.load(Ordering::Acquire) == 1, self.heap_bytes());
        // SAFETY: this is the only reference, and the allocation has this many bytes (I2).
        is_own && unsafe { mover.move_block(&mut self.0, size) }
    }

    /// Bytes of heap that the string takes.
    pub fn heap_bytes(&self) -> usize {
        HEADER + self.header().cap
    }

    /// Bytes of heap that a new string of this many bytes takes.
    pub fn heap_bytes_for(len: usize) -> usize {
        heap::class_size(HEADER + len)
    }

    /// Whether both are references to one string.
    pub fn ptr_eq(&self, other: &SharedBytes) -> bool {
        self.0 == other.0
    }

    /// The walks since the last use, for an owner who counts them.
    #[inline]
    pub(crate) fn age(&self) -> &Age {
        &self.header().age
    }

    /// Number of references.
    pub fn references(&self) -> u32 {
        self.header().rc.load(Ordering::Relaxed)
    }

    /// Gives up the reference as a raw pointer.
    pub fn into_raw(self) -> NonNull<u8> {
        let raw = self.0.cast();
        std::mem::forget(self);
        raw
    }

    /// Takes back what [`SharedBytes::into_raw`] gave up.
    ///
    /// # Safety
    /// `raw` came from `into_raw`, and each pointer is taken back once.
    pub unsafe fn from_raw(raw: NonNull<u8>) -> Self {
        SharedBytes(raw.cast())
    }

    fn header(&self) -> &Header {
        // SAFETY: the pointer is a live allocation with an initialised header for as long as `self` lives.
        unsafe { self.0.as_ref() }
    }

    fn data(&self) -> NonNull<u8> {
        // SAFETY: the allocation is at least HEADER bytes long.
        unsafe { self.0.cast::<u8>().add(HEADER) }
    }
}

impl Deref for SharedBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `len` bytes are initialised (I3), and nobody writes while a reference reads (I4).
        unsafe { std::slice::from_raw_parts(self.data().as_ptr(), self.header().len) }
    }
}

impl Clone for SharedBytes {
    fn clone(&self) -> Self {
        let before = self.header().rc.fetch_add(1, Ordering::Relaxed);
        assert!(before < u32::MAX / 2, "a string has too many references");
        SharedBytes(self.0)
    }
}

impl Drop for SharedBytes {
    fn drop(&mut self) {
        if self.header().rc.fetch_sub(1, Ordering::Release) == 1 {
            fence(Ordering::Acquire);
            let size = HEADER + self.header().cap;
            // SAFETY: this was the last reference, and `size` is what was allocated (I2).
            unsafe { heap::free(self.0.cast(), size) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_and_copies_on_write() {
        let mut a = SharedBytes::new(b"hello");
        let b = a.clone();
        assert_eq!((a.references(), &b[..]), (2, &b"hello"[..]));
        assert!(a.ptr_eq(&b));
        a.extend(b" world");
        assert_eq!((&a[..], &b[..]), (&b"hello world"[..], &b"hello"[..]));
        assert!(!a.ptr_eq(&b));
        a.make_mut()[0] = b'J';
        a.pad(13);
        assert_eq!(&a[..], b"Jello world\0\0");
        assert_eq!(b.references(), 1);
        // SAFETY: taken back once.
        let b = unsafe { SharedBytes::from_raw(b.into_raw()) };
        assert_eq!(&b[..], b"hello");
    }

    #[test]
    fn padded_with_zeros_in_memory_of_every_kind() {
        for len in [0, 5, 6, 100, 5000, 40_000, 100_000, 3_000_000] {
            // What was there before is not zero.
            drop(SharedBytes::new(&vec![9; len]));
            let mut bytes = SharedBytes::padded(b"hello", len);
            assert_eq!((bytes.len(), &bytes[..5]), (len.max(5), &b"hello"[..]));
            assert!(bytes[5..].iter().all(|&byte| byte == 0));
            bytes.pad(len + 1000);
            assert!(bytes[5..].iter().all(|&byte| byte == 0));
            let mut empty = SharedBytes::new(b"");
            empty.pad(len);
            assert!(empty.len() == len && empty.iter().all(|&byte| byte == 0));
        }
    }

    #[test]
    fn a_shared_string_is_copied_before_an_edit() {
        let a = SharedBytes::new(&[7; 1000]);
        let mut b = a.clone();
        b.make_mut().fill(8);
        assert!(a.iter().all(|&x| x == 7) && b.iter().all(|&x| x == 8));
    }

    #[test]
    fn splices_and_truncates() {
        let mut rng = fastrand::Rng::with_seed(5);
        let (mut bytes, mut model) = (SharedBytes::new(b""), Vec::new());
        for n in 0..2000_u32 {
            let start = rng.usize(..=model.len());
            let range = start..rng.usize(start..=model.len().min(start + 5));
            let new = vec![n as u8; rng.usize(..5)];
            let kept = (n % 3 == 0).then(|| (bytes.clone(), model.clone()));
            bytes.splice(range.clone(), &new);
            model.splice(range, new);
            if n % 50 == 0 {
                model.truncate(7);
                bytes.truncate(7);
            }
            if n % 8 == 0 {
                bytes.shrink();
            }
            assert_eq!(bytes[..], model[..]);
            assert!(kept.is_none_or(|(bytes, model)| bytes[..] == model[..]));
        }
    }

    #[test]
    fn appending_is_amortised() {
        let mut a = SharedBytes::new(b"");
        for i in 0..100_000u32 {
            a.extend(&i.to_le_bytes());
        }
        assert_eq!(a.len(), 400_000);
        assert_eq!(a[399_996..], 99_999u32.to_le_bytes());
    }
}
