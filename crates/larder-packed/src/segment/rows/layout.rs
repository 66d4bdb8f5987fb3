//! What the entries of counted segments are made of.

use super::super::page::Slot;
use super::out::borrow_out;
use std::marker::PhantomData;

/// How an entry is written, and where the pointers to out-of-line strings lie in it: [`super::Member`] and
/// [`super::FieldValue`].
///
/// # Safety
/// - [`write`](Self::write) fills the whole entry. Every offset that [`outs`](Self::outs) then finds in it is that of
///   eight bytes which [`put_out`](super::out::put_out) has written, once; and `write` says `true` if there is one.
/// - `outs`, `key`, `has_key` and `expiry` read nothing but the entry and what its pointers lead to.
pub unsafe trait Layout: Copy + 'static {
    /// An entry on its way into a segment.
    type New<'a>: Copy;

    /// The key of a new entry.
    fn new_key<'a>(new: Self::New<'a>) -> &'a [u8];

    /// When a new entry expires, in milliseconds.
    fn new_expiry(_new: Self::New<'_>) -> Option<u64> {
        None
    }

    /// Bytes of the entry that [`write`](Self::write) makes.
    fn entry_bytes(new: Self::New<'_>) -> usize;

    /// Writes an entry of [`entry_bytes`](Self::entry_bytes); true if it holds a pointer.
    fn write(entry: &mut [u8], new: Self::New<'_>) -> bool;

    /// Bytes of heap of the strings that [`write`](Self::write) stores out of line.
    fn new_out_bytes(new: Self::New<'_>) -> usize;

    /// Offsets of the pointers in an entry.
    fn outs(entry: &[u8]) -> [Option<usize>; 2];

    /// When the entry expires, in milliseconds.
    fn expiry(_entry: &[u8]) -> Option<u64> {
        None
    }

    /// The key of an entry.
    ///
    /// # Safety
    /// The entry was written by this layout, and its strings live for `'a`.
    unsafe fn key(entry: &[u8]) -> &[u8];

    /// Whether that is the key of an entry.
    ///
    /// # Safety
    /// As for [`key`](Self::key).
    #[inline]
    unsafe fn has_key(entry: &[u8], key: &[u8]) -> bool {
        // SAFETY: passed on to the caller.
        is_same(unsafe { Self::key(entry) }, key)
    }
}

/// Whether two strings are the same: `==` that calls nothing for up to 16 bytes, and that looks at the last bytes first. Keys
/// of one collection are mostly as long as each other and begin alike.
#[inline]
pub(super) fn is_same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    if let (Some((first, last)), Some((other_first, other_last))) = (ends::<8>(a), ends::<8>(b)) {
        return last == other_last && first == other_first && (a.len() <= 16 || a == b);
    }
    if let (Some(ends), Some(others)) = (ends::<4>(a), ends::<4>(b)) {
        return ends == others;
    }
    a.iter().eq(b)
}

/// The first and the last bytes.
#[inline]
fn ends<const N: usize>(bytes: &[u8]) -> Option<(&[u8; N], &[u8; N])> {
    Some((bytes.first_chunk()?, bytes.last_chunk()?))
}

/// An entry of a counted segment, borrowed.
pub struct Row<'a, L> {
    pub(super) bytes: &'a [u8],
    pub(super) slot: Slot,
    layout: PhantomData<L>,
}

impl<L> Clone for Row<'_, L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<L> Copy for Row<'_, L> {}

impl<'a, L: Layout> Row<'a, L> {
    /// # Safety
    /// `bytes` is an entry of a live segment of `L`, which the lifetime keeps as it is.
    #[inline]
    pub(super) unsafe fn new(bytes: &'a [u8], slot: Slot) -> Self {
        Row { bytes, slot, layout: PhantomData }
    }

    /// The key: the member of a set, the field of a hash.
    #[inline]
    pub fn key(self) -> &'a [u8] {
        // SAFETY: a live entry of `L`, as `new` was promised.
        unsafe { L::key(self.bytes) }
    }

    /// When the entry expires, in milliseconds.
    #[inline]
    pub fn expire_at_ms(self) -> Option<u64> {
        L::expiry(self.bytes)
    }

    /// The entry's slot; good until its segment changes.
    #[inline]
    pub fn slot(self) -> Slot {
        self.slot
    }

    /// Bytes of the entry in its segment.
    pub fn entry_bytes(self) -> usize {
        self.bytes.len()
    }

    /// Bytes of heap of the entry's out-of-line strings.
    pub fn out_bytes(self) -> usize {
        let out = |at| {
            // SAFETY: a live entry of `L`, as `new` was promised.
            unsafe { borrow_out(self.bytes, at) }.heap_bytes()
        };
        L::outs(self.bytes).into_iter().flatten().map(out).sum()
    }
}
