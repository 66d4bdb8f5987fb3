//! A segment in a directory, plain or compressed.
//!
//! Eight bytes: the pointer of [`Rows`], or that of a [`Cold`] one plus 1. A segment is compressed when nobody has used it for some walks of the
//! thread that compresses, and none of its entries keeps a string out of line. `crate::cold` says how readers see it; changes make it plain
//! before.

use super::{Layout, Need, Rows};
use crate::cold::{Cold, Plain, Verdict};
use crate::dictionary::{Compressor, Dictionary};
use crate::heap::{self, Mover};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;

/// Bit of the pointer: the segment is compressed.
const COLD: usize = 1;
/// Segments with less content are not compressed, nor those with more: equal hashes can make them larger than segments should be.
const CONTENT_MIN: usize = 512;
const CONTENT_MAX: usize = 8 << 10;
/// Bytes by which a forced frame may be longer than the segment.
const ROOM_FORCED: usize = 128;

/// See the module's comment. Clones share what it leads to.
pub struct LeafRows<L: Layout>(NonNull<u8>, PhantomData<Rows<L>>);

// SAFETY: both forms may be sent and shared.
unsafe impl<L: Layout> Send for LeafRows<L> {}
// SAFETY: as for `Send`.
unsafe impl<L: Layout> Sync for LeafRows<L> {}

// SAFETY: `Rows` is a transparent wrapper of the pointer, and may be sent and shared.
unsafe impl<L: Layout> Plain for Rows<L> {
    type Maker = fn(&[u8]) -> u8;

    fn of_frame(dictionary: &Dictionary, frame: &[u8], tag: Self::Maker) -> Self {
        let mut packed = Vec::new();
        dictionary.decompress(frame, &mut packed).expect("the frame was made here");
        Rows::of_packed(&packed, tag)
    }

    fn into_raw(self) -> NonNull<u8> {
        Rows::into_raw(self)
    }

    unsafe fn from_raw(raw: NonNull<u8>) -> Self {
        // SAFETY: passed on.
        unsafe { Rows::from_raw(raw) }
    }
}

/// A segment that is looked at: of a compressed one a copy that goes afterwards.
pub enum Looked<'a, L: Layout> {
    /// It is plain.
    Plain(&'a Rows<L>),
    /// A copy.
    Copy(Rows<L>),
}

impl<L: Layout> Deref for Looked<'_, L> {
    type Target = Rows<L>;

    fn deref(&self) -> &Rows<L> {
        match self {
            Looked::Plain(rows) => rows,
            Looked::Copy(rows) => rows,
        }
    }
}

/// What a walk finds out about a compressed segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColdBytes {
    /// Bytes that were compressed.
    pub raw: usize,
    /// Bytes of heap.
    pub heap: usize,
}

impl<L: Layout> LeafRows<L> {
    /// A plain segment.
    pub fn new(rows: Rows<L>) -> Self {
        LeafRows(rows.into_raw(), PhantomData)
    }

    /// The segment, which is used by that; of a compressed one the copy, which stays.
    #[inline]
    pub fn rows(&self) -> &Rows<L> {
        match self.plain() {
            Some(rows) => {
                rows.note_use();
                rows
            }
            None => self.copy(),
        }
    }

    /// The segment, for somebody who copies or counts: this is no use of it, and leaves no copy.
    pub fn look(&self) -> Looked<'_, L> {
        match self.plain() {
            Some(rows) => Looked::Plain(rows),
            None => Looked::Copy(self.cold().copy().cloned().unwrap_or_else(|| self.cold().thaw())),
        }
    }

    /// The segment, for somebody who reads all of the table: this is a use of it, but leaves no copy.
    pub fn read(&self) -> Looked<'_, L> {
        match self.plain() {
            Some(rows) => rows.note_use(),
            None => self.cold().note_use(),
        }
        self.look()
    }

    /// The segment if it is plain: no use.
    #[inline]
    pub fn plain(&self) -> Option<&Rows<L>> {
        // SAFETY: without the bit this is the pointer of `Rows`, which are a transparent wrapper of it and live as long as `self`.
        (!self.is_cold()).then(|| unsafe { &*(&raw const self.0).cast::<Rows<L>>() })
    }

    /// The segment for changes. Panics if it is compressed: [`thaw`](Self::thaw) it before.
    #[inline]
    pub fn rows_mut(&mut self) -> &mut Rows<L> {
        assert!(!self.is_cold(), "a segment is made plain before it is changed");
        // SAFETY: as in `plain`, and `self` is exclusive.
        unsafe { &mut *(&raw mut self.0).cast::<Rows<L>>() }
    }

    /// Whether it is compressed.
    #[inline]
    pub fn is_cold(&self) -> bool {
        self.0.addr().get() & COLD != 0
    }

    /// Bytes of a compressed segment; None if it is plain.
    pub fn cold_bytes(&self) -> Option<ColdBytes> {
        self.is_cold().then(|| ColdBytes { raw: self.cold().raw_bytes(), heap: self.cold().heap_bytes() })
    }

    /// Bytes of heap of the form that it has, without a copy.
    pub fn heap_bytes(&self) -> usize {
        self.plain().map_or_else(|| self.cold().heap_bytes(), Rows::heap_bytes)
    }

    /// Makes a compressed segment plain.
    pub fn thaw(&mut self) {
        if let Looked::Copy(rows) = self.look() {
            *self = LeafRows::new(rows);
        }
    }

    /// The same segment compressed; None if it is, may not be, or does not shrink by an eighth and need not (`is_forced`). `tag` is that of a
    /// key's hash.
    pub fn compressed(
        &self,
        dictionary: &Arc<Dictionary>,
        compressor: &mut Compressor,
        tag: fn(&[u8]) -> u8,
        is_forced: bool,
    ) -> Option<LeafRows<L>> {
        let before = self.compressible()?.page().capacity_bytes();
        let max = if is_forced { before * 2 + ROOM_FORCED } else { before - before / 8 };
        let cold = Cold::<Rows<L>>::of(&self.packed(), dictionary, compressor, tag, max)?;
        Some(LeafRows::of_cold(cold))
    }

    /// The bytes that are compressed; none of a compressed segment.
    pub fn packed(&self) -> Vec<u8> {
        let mut packed = Vec::new();
        if let Some(rows) = self.compressible() {
            rows.pack_into(&mut packed);
        }
        packed
    }

    /// The segment if it is plain and may be compressed: no use.
    pub fn compressible(&self) -> Option<&Rows<L>> {
        let may_be = |rows: &&Rows<L>| {
            !rows.may_have_outs() && (CONTENT_MIN..=CONTENT_MAX).contains(&rows.page().content_bytes())
        };
        self.plain().filter(may_be)
    }

    /// Counts a walk; what the segment needs. With `all`, every plain one is to be compressed that may shrink, and none becomes plain.
    pub fn walk(&self, all: bool) -> Option<Need> {
        if let Some(rows) = self.plain() {
            let may_shrink = self.compressible().is_some() && !rows.is_shared();
            let is_due = rows.count_walk() || all;
            return (may_shrink && is_due && !rows.stays()).then_some(Need::Compress);
        }
        match self.cold().walk() {
            Verdict::Keep => None,
            Verdict::Thaw if !all => Some(Need::Thaw),
            Verdict::Clear | Verdict::Thaw => Some(Need::Clear),
        }
    }

    /// Notes that a plain segment does not shrink: it is not tried again until it changes.
    pub fn set_stays(&self) {
        if let Some(rows) = self.plain() {
            rows.set_stays();
        }
    }

    /// Frees the copy of a compressed segment, unless somebody shares that.
    pub fn clear(&mut self) {
        if self.is_cold() {
            self.cold().clear();
        }
    }

    /// Whether both are one allocation.
    pub fn is_same(&self, other: &Self) -> bool {
        self.0 == other.0
    }

    /// Moves the segment and its out-of-line strings, those that lie in sparse slabs and are not shared.
    pub fn move_blocks(&mut self, mover: &mut Mover) {
        if !self.is_cold() {
            return self.rows_mut().move_blocks(mover);
        }
        let mut cold = self.cold();
        if cold.move_block(mover) {
            // The pointer that is good now takes the place of the other.
            self.0 = tagged(ManuallyDrop::into_inner(cold));
        }
    }

    fn of_cold(cold: Cold<Rows<L>>) -> Self {
        LeafRows(tagged(cold), PhantomData)
    }

    #[cold]
    fn copy(&self) -> &Rows<L> {
        let rows: *const Rows<L> = self.cold().plain();
        // SAFETY: the copy belongs to the allocation, and goes only when somebody has `self` exclusively.
        unsafe { &*rows }
    }

    /// The compressed segment, as this knows it: a copy of the reference, of which one is used at a time.
    fn cold(&self) -> ManuallyDrop<Cold<Rows<L>>> {
        // SAFETY: all callers know by the bit that it is one; this copy of the reference is not dropped.
        ManuallyDrop::new(unsafe { Cold::from_raw(self.untagged()) })
    }

    fn untagged(&self) -> NonNull<u8> {
        let ptr = self.0.as_ptr().map_addr(|addr| addr & !COLD);
        NonNull::new(ptr).expect("nothing lies at address zero")
    }
}

/// The pointer of a compressed segment, as it is kept.
fn tagged<L: Layout>(cold: Cold<Rows<L>>) -> NonNull<u8> {
    cold.into_raw().map_addr(|addr| addr | COLD)
}

impl<L: Layout> Clone for LeafRows<L> {
    fn clone(&self) -> Self {
        match self.plain() {
            Some(rows) => LeafRows::new(rows.clone()),
            None => LeafRows::of_cold(Cold::clone(&self.cold())),
        }
    }
}

impl<L: Layout> Drop for LeafRows<L> {
    fn drop(&mut self) {
        // SAFETY: the reference that `self` has been made of, once.
        unsafe {
            match self.is_cold() {
                true => drop(Cold::<Rows<L>>::from_raw(self.untagged())),
                false => drop(Rows::<L>::from_raw(self.0)),
            }
        }
    }
}

const _: () = assert!(size_of::<Option<LeafRows<super::Member>>>() == 8);
const _: () = assert!(heap::ALIGN > COLD);
