//! A run: the entries of a small hash or set one after the other, without tags.
//!
//! A counted segment of three short fields spends 50 bytes on its header and tags, and an allocator's step besides. A run
//! spends a byte on the count and one on the length of each entry, or one for all while they are equally long, and lies in
//! the record of its key while it is short.
//!
//! ```text
//!  +----------+-----+-------+-------+
//!  | n + 0x80 | len | entry | entry | ..     entries as the layout writes them, in the order of their insertion
//!  +----------+-----+-------+-------+
//!  +-----+-----+-------+-----+-------+
//!  | n   | len | entry | len | entry | ..
//!  +-----+-----+-------+-----+-------+
//! ```
//! Find and remove walk from the start: O(entries), at most [`RUN_ENTRIES_MAX`] and [`RUN_BYTES_MAX`]. Insert O(1) but for
//! a copy when the buffer is full or shared, or for the first entry of another length, O(bytes). Clone O(1), and O(bytes) of
//! a run that is seen in place.
//!
//! Invariants:
//! - N1: `n` entries of the layout follow and nothing else, none of them with a pointer or an expiry, none longer than
//!   [`RUN_ENTRY_MAX`].
//!
//! Tested by `rows/tests.rs`, and by the tables of `larder-collections`.

use super::super::page::Slot;
use super::super::raw::InRecord;
use super::Rows;
use super::layout::{Layout, Row};
use crate::heap::Mover;
use crate::small_bytes::{ROOM, SmallBytes};
use std::marker::PhantomData;
use std::ptr::NonNull;

/// The longest entry of a run.
pub const RUN_ENTRY_MAX: usize = 250;
/// The most entries of a run.
pub const RUN_ENTRIES_MAX: usize = 32;
/// The most bytes of a run.
pub const RUN_BYTES_MAX: usize = 576;

/// Bytes of the count.
const COUNT: usize = 1;
/// Bit of the count: all entries have the length that follows.
const EQUAL: u8 = 0x80;
/// Bytes before the entries of such a run.
const EQUAL_HEAD: usize = 2;
/// The bytes of a run without entries.
const EMPTY: &[u8] = &[EQUAL, 0];

const _: () = assert!(RUN_ENTRIES_MAX < EQUAL as usize);

/// Entries of a layout in the order of their insertion. See the module's comment.
pub struct Run<L: Layout> {
    bytes: SmallBytes,
    layout: PhantomData<fn() -> L>,
}

impl<L: Layout> Run<L> {
    /// A run without entries; allocates nothing.
    #[inline]
    pub fn new() -> Self {
        Run::of(SmallBytes::of_static(EMPTY))
    }

    /// A run without entries and with room for `bytes` bytes of them with their lengths.
    pub fn with_room(bytes: usize) -> Self {
        Run::of(SmallBytes::copy_of(EMPTY, bytes))
    }

    /// A run of the entries of a segment, in their order; None if a run does not take them.
    pub fn of_rows(rows: &Rows<L>) -> Option<Self> {
        let (len, bytes) = (rows.page().live(), rows.page().used_bytes() + rows.page().live());
        if len > RUN_ENTRIES_MAX || EQUAL_HEAD + bytes > RUN_BYTES_MAX || rows.page().is_marked() {
            return None;
        }
        let mut run = Run::with_room(bytes);
        for row in rows.rows() {
            if row.entry_bytes() > RUN_ENTRY_MAX || row.expire_at_ms().is_some() {
                return None;
            }
            run.push(row.bytes.len(), |entry| entry.copy_from_slice(row.bytes));
        }
        Some(run)
    }

    /// The run of the bytes of a record.
    ///
    /// # Safety
    /// [`bytes`](Self::bytes) of a run of this layout gave the bytes. The run is not used when their borrow has ended, unless
    /// it was made [its own](Self::make_own). A clone is independent.
    #[inline]
    pub unsafe fn in_record(bytes: InRecord<'_>) -> Self {
        // SAFETY: passed on to the caller.
        Run::of(unsafe { SmallBytes::in_record(bytes) })
    }

    /// Whether the run is still that of bytes in a record that it may change.
    #[inline]
    pub fn is_in_place(&self) -> bool {
        self.bytes.is_in_place()
    }

    /// Copies bytes that lie in a record.
    #[inline]
    pub fn make_own(&mut self) {
        self.bytes.make_own(0);
    }

    /// Moves the bytes if they lie in a sparse slab and are not shared.
    pub fn move_block(&mut self, mover: &mut Mover) {
        self.bytes.move_block(mover);
    }

    fn of(bytes: SmallBytes) -> Self {
        Run { bytes, layout: PhantomData }
    }

    /// All bytes: what a record holds.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get()
    }

    /// Number of entries.
    #[inline]
    pub fn len(&self) -> usize {
        usize::from(self.bytes()[0] & !EQUAL)
    }

    /// Whether there is no entry.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the run may take an entry: it is short, without an expiry, and there is room for it, in the place of one of
    /// `old` bytes if it replaces one.
    #[inline]
    pub fn takes(&self, new: L::New<'_>, old: Option<usize>) -> bool {
        let len = L::entry_bytes(new);
        let entries = self.len() + usize::from(old.is_none());
        // As if each entry had a length of its own.
        let bytes = self.bytes().len() + entries + len - old.unwrap_or(0);
        Run::<L>::may_hold(new, len) && entries <= RUN_ENTRIES_MAX && bytes <= RUN_BYTES_MAX
    }

    /// Whether an entry of `len` bytes may be in a run.
    #[inline]
    fn may_hold(new: L::New<'_>, len: usize) -> bool {
        len <= RUN_ENTRY_MAX && L::new_expiry(new).is_none() && L::new_out_bytes(new) == 0
    }

    /// The entry of a key.
    #[inline]
    pub fn find(&self, key: &[u8]) -> Option<Row<'_, L>> {
        let (head, entries) = self.bytes().split_at_checked(EQUAL_HEAD)?;
        let len = usize::from(head[1]);
        if head[0] & EQUAL == 0 || len == 0 {
            // SAFETY: N1.
            return self.rows().find(|row| unsafe { L::has_key(row.bytes, key) });
        }
        for (index, entry) in entries.chunks_exact(len).enumerate() {
            // SAFETY: N1.
            if unsafe { L::has_key(entry, key) } {
                let slot = Slot::of_run(index, EQUAL_HEAD + index * len, len);
                // SAFETY: N1.
                return Some(unsafe { Row::new(entry, slot) });
            }
        }
        None
    }

    /// The entry of a number.
    pub fn row(&self, index: usize) -> Option<Row<'_, L>> {
        self.rows().nth(index)
    }

    /// All entries in their order.
    #[inline]
    pub fn rows(&self) -> RunIter<'_, L> {
        let bytes = self.bytes();
        let (left, equal, at) = match bytes[0] & EQUAL {
            0 => (bytes[0], None, COUNT),
            _ => (bytes[0] & !EQUAL, Some(bytes[1]), EQUAL_HEAD),
        };
        RunIter { bytes, at, index: 0, left, equal, layout: PhantomData }
    }

    /// Adds an entry whose key is not there, and which the run [takes](Self::takes).
    pub fn insert(&mut self, new: L::New<'_>) {
        self.push(L::entry_bytes(new), |entry| {
            let has_outs = L::write(entry, new);
            assert!(!has_outs, "N1: the caller has asked whether the run takes it");
        });
    }

    fn push(&mut self, len: usize, write: impl FnOnce(&mut [u8])) {
        if !self.is_empty() && self.is_equal() && usize::from(self.bytes()[1]) != len {
            self.spell_out();
        }
        let (used, is_first, is_equal) = (self.bytes().len(), self.is_empty(), self.is_equal());
        let own_length = usize::from(!is_equal);
        let body = self.bytes.make_mut(own_length + len);
        if is_first {
            body[1] = len as u8;
        }
        if !is_equal {
            body[used] = len as u8;
        }
        write(&mut body[used + own_length..][..len]);
        body[0] += 1;
        self.bytes.set_len(used + own_length + len);
    }

    /// Puts another entry of the same key, which the run [takes](Self::takes), in the place of one.
    pub fn replace(&mut self, slot: Slot, new: L::New<'_>) {
        let (old, len) = (slot.len(), L::entry_bytes(new));
        let mut start = slot.start();
        if old != len && self.is_equal() {
            self.spell_out();
            start = self.row(slot.index()).expect("the entry is there").slot.start();
        }
        if old != len {
            self.bytes.splice(start - 1, 1, 1)[0] = len as u8;
        }
        let has_outs = L::write(self.bytes.splice(start, old, len), new);
        assert!(!has_outs, "N1: the caller has asked whether the run takes it");
    }

    /// Removes an entry; the others keep their order.
    pub fn remove(&mut self, slot: Slot) {
        let length = usize::from(!self.is_equal());
        self.bytes.splice(slot.start() - length, length + slot.len(), 0);
        self.bytes.make_mut(0)[0] -= 1;
        if self.is_empty() && !self.is_equal() {
            self.bytes = SmallBytes::of_static(EMPTY);
        }
    }

    #[inline]
    fn is_equal(&self) -> bool {
        self.bytes()[0] & EQUAL != 0
    }

    /// Gives each entry a length of its own.
    fn spell_out(&mut self) {
        let bytes = self.bytes();
        let len = bytes[1];
        let mut all = Vec::with_capacity(bytes.len() + self.len());
        all.push(bytes[0] & !EQUAL);
        for row in self.rows() {
            all.push(len);
            all.extend_from_slice(row.bytes);
        }
        self.bytes = SmallBytes::copy_of(&all, ROOM);
    }

    /// Bytes of heap: none of a run that is seen in place.
    pub fn heap_bytes(&self) -> usize {
        self.bytes.heap_bytes()
    }

    /// Asks the processor to load the first bytes.
    #[inline]
    pub fn prefetch(&self) {
        self.bytes.prefetch();
    }

    /// Gives the run away as a pointer, in the memory that it needs. [`Run::from_raw`] takes it back.
    pub fn into_raw(self) -> NonNull<u8> {
        self.bytes.into_raw()
    }

    /// Takes back what [`Run::into_raw`] gave.
    ///
    /// # Safety
    /// `raw` came from `into_raw` of the same layout, and each pointer is taken back once.
    pub unsafe fn from_raw(raw: NonNull<u8>) -> Self {
        // SAFETY: passed on to the caller.
        Run::of(unsafe { SmallBytes::from_raw(raw) })
    }

    /// Panics unless the invariants hold.
    pub fn check_invariants(&self) {
        let rows: Vec<_> = self.rows().collect();
        assert_eq!(rows.len(), self.len(), "N1: the count");
        assert!(rows.len() <= RUN_ENTRIES_MAX && self.bytes().len() <= RUN_BYTES_MAX, "N1: the limits");
        let start = if self.is_equal() { EQUAL_HEAD } else { COUNT };
        let end = rows.last().map_or(start, |row| row.slot.start() + row.slot.len());
        assert_eq!(end, self.bytes().len(), "N1: the end");
        for row in rows {
            let has_outs = L::outs(row.bytes).into_iter().any(|at| at.is_some());
            assert!(!has_outs && L::expiry(row.bytes).is_none() && row.slot.len() <= RUN_ENTRY_MAX, "N1");
        }
    }
}

impl<L: Layout> Clone for Run<L> {
    #[inline]
    fn clone(&self) -> Self {
        Run::of(self.bytes.clone())
    }
}

impl<L: Layout> Default for Run<L> {
    fn default() -> Self {
        Run::new()
    }
}

/// Iterator over the entries of a run.
pub struct RunIter<'a, L> {
    bytes: &'a [u8],
    at: usize,
    index: usize,
    left: u8,
    /// The length of all entries, if it is the same.
    equal: Option<u8>,
    layout: PhantomData<L>,
}

impl<L> Clone for RunIter<'_, L> {
    fn clone(&self) -> Self {
        RunIter { layout: PhantomData, ..*self }
    }
}

impl<'a, L: Layout> Iterator for RunIter<'a, L> {
    type Item = Row<'a, L>;

    #[inline]
    fn next(&mut self) -> Option<Row<'a, L>> {
        self.left = self.left.checked_sub(1)?;
        let (start, len) = match self.equal {
            Some(len) => (self.at, usize::from(len)),
            None => (self.at + 1, usize::from(self.bytes[self.at])),
        };
        let entry = &self.bytes[start..start + len];
        let slot = Slot::of_run(self.index, start, len);
        self.at = start + len;
        self.index += 1;
        // SAFETY: N1.
        Some(unsafe { Row::new(entry, slot) })
    }
}
