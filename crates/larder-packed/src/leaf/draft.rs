//! Encoding leaves: entries laid open, and the narrowest form that holds them.

use std::cell::Cell;
use std::ops::Range;

use super::{Form, HEADER, LEN_MAX, Leaf, PREFIX_LEN_MAX};
use crate::buffer::Buffer;
use crate::short::{self, WINDOW};

/// Entries laid open: what a leaf is decoded to and encoded from.
#[derive(Default)]
pub struct Draft {
    keys: Vec<u64>,
    tags: Vec<u8>,
    /// Where each member ends in `bytes`.
    ends: Vec<usize>,
    bytes: Vec<u8>,
}

thread_local! {
    static SPARE: Cell<Draft> = Cell::default();
}

/// A draft that held more than this is not kept for the next use.
const SPARE_BYTES_MAX: usize = 1 << 16;

impl Draft {
    /// Lends an empty draft, the same memory each time.
    pub fn with<R>(f: impl FnOnce(&mut Draft) -> R) -> R {
        let mut draft = SPARE.take();
        draft.clear();
        let result = f(&mut draft);
        if draft.bytes.capacity() <= SPARE_BYTES_MAX {
            SPARE.set(draft);
        }
        result
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// True if there is no entry.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Forgets all entries.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.tags.clear();
        self.ends.clear();
        self.bytes.clear();
    }

    /// Appends an entry, which is not less than the last.
    #[inline]
    pub fn push(&mut self, key: u64, tag: u8, member: &[u8]) {
        self.keys.push(key);
        self.tags.push(tag);
        short::extend(&mut self.bytes, member);
        self.ends.push(self.bytes.len());
    }

    /// Appends entries of a leaf.
    pub fn load(&mut self, leaf: &Leaf, range: Range<usize>) {
        let form = leaf.form();
        let body: &[u8] = &leaf.0;
        let prefix = form.prefix(body);
        let mut start = form.heap_at() + form.offset(body, range.start);
        self.tags.extend_from_slice(&leaf.tags()[range.clone()]);
        for i in range {
            self.keys.push(form.key(body, i));
            self.bytes.extend_from_slice(prefix);
            let end = start + form.len_of(body, i);
            self.bytes.extend_from_slice(&body[start..end]);
            self.ends.push(self.bytes.len());
            start = end;
        }
    }

    /// The member of entry `i`.
    pub fn member(&self, i: usize) -> &[u8] {
        &self.bytes[self.start(i)..self.ends[i]]
    }

    /// The key of entry `i`.
    pub fn key(&self, i: usize) -> u64 {
        self.keys[i]
    }

    /// Gives entry `i` another key that does not change its place.
    pub fn set_key(&mut self, i: usize, key: u64) {
        self.keys[i] = key;
    }

    /// A leaf of the entries of `range`.
    pub fn encode(&self, range: Range<usize>) -> Leaf {
        assert!(range.len() <= LEN_MAX, "I4");
        let form = self.form_of(range.clone());
        let mut leaf = Leaf(Buffer::of(&[], form.end()));
        let body = &mut leaf.0.make_mut()[..form.end()];
        form.write(body);
        body[HEADER..form.deltas_at()].copy_from_slice(&self.tags[range.clone()]);
        // Whole words are written, of which what comes next covers what is too much: all deltas, all lengths, the prefix, the members.
        let mut at = form.deltas_at();
        for &key in &self.keys[range.clone()] {
            put_word(body, at, form.delta_of(key).expect("the form fits all keys"), form.sw);
            at += form.sw;
        }
        if form.lw > 0 {
            let mut at = form.lengths_at();
            for member in self.places(range.clone()) {
                put_word(body, at, (member.len() - form.prefix_len) as u64, form.lw);
                at += form.lw;
            }
        }
        if form.n > 0 {
            let prefix = &self.member(range.start)[..form.prefix_len];
            body[form.prefix_at()..form.heap_at()].copy_from_slice(prefix);
        }
        let mut at = form.heap_at();
        for member in self.places(range) {
            let len = member.len() - form.prefix_len;
            short::copy_from(&mut body[at..], &self.bytes, member.start + form.prefix_len, len);
            at += len;
        }
        leaf
    }

    /// The place in `range` that halves its bytes, at least one entry from each end. The range has two entries or more.
    pub fn middle(&self, range: Range<usize>) -> usize {
        let weight = |i: usize| self.ends[i] + i * 8;
        let from = self.start(range.start) + range.start * 8;
        let half = from + (weight(range.end - 1) - from) / 2;
        let at = range.start + range.clone().take_while(|&i| weight(i) < half).count();
        at.clamp(range.start + 1, range.end - 1)
    }

    /// Where the members of these entries lie in `bytes`.
    #[inline]
    fn places(&self, range: Range<usize>) -> impl ExactSizeIterator<Item = Range<usize>> {
        let mut start = self.start(range.start);
        self.ends[range].iter().map(move |&end| std::mem::replace(&mut start, end)..end)
    }

    #[inline]
    fn start(&self, i: usize) -> usize {
        i.checked_sub(1).map_or(0, |before| self.ends[before])
    }

    /// The narrowest form for the entries of `range`.
    pub(super) fn form_of(&self, range: Range<usize>) -> Form {
        let n = range.len();
        let prefix_len = if n < 2 { 0 } else { self.common_prefix(range.clone()) };
        let keys = self.keys[range.clone()].iter().copied();
        Form::narrowest(keys, self.places(range).map(|place| place.len()), prefix_len)
    }

    fn common_prefix(&self, range: Range<usize>) -> usize {
        let mut places = self.places(range);
        let Some(first) = places.next() else { return 0 };
        let mut len = first.len().min(PREFIX_LEN_MAX);
        let head = self.window(first.start);
        for member in places {
            len = len.min(member.len());
            if let (Some(head), Some(window), 0..=WINDOW) = (head, self.window(member.start), len) {
                len = len.min((head ^ window).trailing_zeros() as usize / 8);
                continue;
            }
            let (first, member) = (&self.bytes[first.start..][..len], &self.bytes[member]);
            if !member.starts_with(first) {
                len = first.iter().zip(member).take_while(|(a, b)| a == b).count();
            }
        }
        len
    }

    /// The bytes from here on, the first one lowest, if there are as many.
    #[inline]
    fn window(&self, at: usize) -> Option<u128> {
        self.bytes[at..].first_chunk::<WINDOW>().map(|bytes| u128::from_le_bytes(*bytes))
    }
}

/// Writes the low bytes of a value, and others after them where there is room.
#[inline]
pub(super) fn put_word(body: &mut [u8], at: usize, value: u64, width: usize) {
    let bytes = value.to_le_bytes();
    match body.get_mut(at..at + 8) {
        Some(to) => to.copy_from_slice(&bytes),
        None => body[at..at + width].copy_from_slice(&bytes[..width]),
    }
}

/// Base, shift and width of ascending keys, with room on both sides.
fn score_form(mut keys: impl DoubleEndedIterator<Item = u64> + Clone) -> (u64, u32, usize) {
    let Some(least) = keys.next() else { return (0, 0, 0) };
    let most = keys.clone().next_back().unwrap_or(least);
    if least == most {
        return (least, 0, 0);
    }
    let shift = keys.fold(0, |bits, key| bits | (key - least)).trailing_zeros();
    let range = (most - least) >> shift;
    let sw = (64 - range.leading_zeros()).div_ceil(8) as usize;
    if sw == 8 {
        return (0, 0, 8);
    }
    let room = (1 << (8 * sw)) - 1 - range;
    let below = (room / 2).min(least >> shift);
    (least - (below << shift), shift, sw)
}

impl Form {
    /// The narrowest form for entries with these keys, which ascend, and members of these lengths, which begin with the same `prefix_len` bytes.
    pub(super) fn narrowest(
        keys: impl DoubleEndedIterator<Item = u64> + Clone,
        lens: impl ExactSizeIterator<Item = usize>,
        prefix_len: usize,
    ) -> Form {
        let (base, shift, sw) = score_form(keys);
        let n = lens.len();
        let (mut least, mut most, mut heap_len) = (usize::MAX, 0, 0);
        for len in lens.map(|len| len - prefix_len) {
            (least, most, heap_len) = (least.min(len), most.max(len), heap_len + len);
        }
        let lw = match most {
            _ if least >= most => 0,
            ..=0xFF => 1,
            0x100..=0xFFFF => 2,
            _ => 4,
        };
        let fixed = if lw == 0 { most } else { 0 };
        Form { base, fixed, heap_len, n, prefix_len, sw, shift, lw }
    }

    /// The delta of a key, if it fits this form.
    #[inline]
    pub(super) fn delta_of(&self, key: u64) -> Option<u64> {
        let distance = key.checked_sub(self.base)?;
        let delta = distance >> self.shift;
        let fits = delta << self.shift == distance && (self.sw == 8 || delta >> (8 * self.sw) == 0);
        fits.then_some(delta)
    }

    /// Whether a suffix of this length fits this form.
    #[inline]
    pub(super) fn fits_len(&self, len: usize) -> bool {
        match self.lw {
            0 => len == self.fixed,
            lw => len >> (8 * lw) == 0,
        }
    }

    #[inline]
    pub(super) fn write_delta(&self, body: &mut [u8], i: usize, delta: u64) {
        let at = self.deltas_at() + i * self.sw;
        body[at..at + self.sw].copy_from_slice(&delta.to_le_bytes()[..self.sw]);
    }

    #[inline]
    pub(super) fn write_len(&self, body: &mut [u8], i: usize, len: usize) {
        let at = self.lengths_at() + i * self.lw;
        body[at..at + self.lw].copy_from_slice(&len.to_le_bytes()[..self.lw]);
    }
}
