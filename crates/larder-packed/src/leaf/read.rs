//! Reading a leaf: keys, members, and finding both.

use std::cmp::Ordering;
use std::hint::select_unpredictable;
use std::ops::{ControlFlow, Range};

use super::{Form, HEADER, Leaf, Target};
use crate::segment::LANES;
use crate::segment::probe;
use crate::short;

/// A member in its two parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member<'a> {
    /// What all members of the leaf begin with.
    pub prefix: &'a [u8],
    /// The rest.
    pub suffix: &'a [u8],
}

impl Member<'_> {
    /// Length of the member in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.prefix.len() + self.suffix.len()
    }

    /// True if the member is the empty string.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The member's bytes.
    pub fn to_vec(&self) -> Vec<u8> {
        [self.prefix, self.suffix].concat()
    }

    /// Whether the member is `bytes`.
    #[inline]
    pub fn is(&self, bytes: &[u8]) -> bool {
        bytes.len() == self.len() && bytes.starts_with(self.prefix) && bytes.ends_with(self.suffix)
    }

    /// The member's order beside `bytes`.
    pub fn cmp_bytes(&self, bytes: &[u8]) -> Ordering {
        let shared = self.prefix.len().min(bytes.len());
        match self.prefix.cmp(&bytes[..shared]) {
            Ordering::Equal => self.suffix.cmp(&bytes[shared..]),
            other => other,
        }
    }

    /// Appends the member's bytes to `out`.
    #[inline]
    pub fn append_to(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.prefix);
        out.extend_from_slice(self.suffix);
    }
}

impl Leaf {
    /// The key of entry `i`, which must be below [`Leaf::len`].
    #[inline]
    pub fn key(&self, i: usize) -> u64 {
        self.form().key(&self.0, i)
    }

    /// The tag of entry `i`.
    #[inline]
    pub fn tag(&self, i: usize) -> u8 {
        self.0[HEADER + i]
    }

    /// All tags.
    #[inline]
    pub fn tags(&self) -> &[u8] {
        &self.0[HEADER..HEADER + self.len()]
    }

    /// The member of entry `i`. Sums up the lengths before it.
    pub fn member(&self, i: usize) -> Member<'_> {
        let form = self.form();
        let start = form.heap_at() + form.offset(&self.0, i);
        form.member_at(&self.0, start, form.len_of(&self.0, i))
    }

    /// The key and the member of an entry.
    pub fn entry(&self, i: usize) -> (u64, Member<'_>) {
        (self.key(i), self.member(i))
    }

    /// The entry with this member, whose tag is `tag`.
    #[inline]
    pub fn find(&self, tag: u8, member: &[u8]) -> Option<usize> {
        let form = self.form();
        if form.prefix_len > 0 && !member.starts_with(form.prefix(&self.0)) {
            return None;
        }
        let suffix = &member[form.prefix_len..];
        let mut found = None;
        let _ = form.matches(&self.0, tag, |i| {
            if form.len_of(&self.0, i) == suffix.len() {
                let start = form.heap_at() + form.offset(&self.0, i);
                if self.0[start..start + suffix.len()] == *suffix {
                    found = Some(i);
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        });
        found
    }

    /// Calls `f` with the entries whose tag is `tag`.
    pub fn for_each_tag(&self, tag: u8, mut f: impl FnMut(usize, Member<'_>)) {
        let form = self.form();
        let _ = form.matches(&self.0, tag, |i| {
            f(i, self.member(i));
            ControlFlow::Continue(())
        });
    }

    /// Number of entries before `target`.
    #[inline]
    pub fn rank(&self, target: &Target<'_>) -> usize {
        let form = self.form();
        let Some((first, exact)) = form.first_not_below(&self.0, target.key) else { return form.n };
        if !exact || (target.member.is_empty() && !target.past_equal) {
            return first;
        }
        form.rank_in_tie(&self.0, first, target)
    }

    /// Calls `f` with key and member of the entries of `range`, ascending. `scratch` is for putting members together.
    pub fn visit<B>(
        &self,
        range: Range<usize>,
        scratch: &mut Vec<u8>,
        mut f: impl FnMut(u64, &[u8]) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let form = self.form();
        let body: &[u8] = &self.0;
        form.start_scratch(body, scratch);
        let mut start = form.heap_at() + form.offset(body, range.start);
        for i in range {
            let len = form.len_of(body, i);
            f(form.key(body, i), form.whole(body, start, len, scratch))?;
            start += len;
        }
        ControlFlow::Continue(())
    }

    /// As [`Leaf::visit`], descending.
    pub fn visit_rev<B>(
        &self,
        range: Range<usize>,
        scratch: &mut Vec<u8>,
        mut f: impl FnMut(u64, &[u8]) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let form = self.form();
        let body: &[u8] = &self.0;
        form.start_scratch(body, scratch);
        let mut end = form.heap_at() + form.offset(body, range.end);
        for i in range.rev() {
            let len = form.len_of(body, i);
            end -= len;
            f(form.key(body, i), form.whole(body, end, len, scratch))?;
        }
        ControlFlow::Continue(())
    }
}

/// Most suffixes are not longer.
const USUAL_SUFFIX: usize = 48;

impl Form {
    /// The delta of entry `i`: the 8 bytes that end with it, shifted. There are 8 as the header lies before.
    #[inline]
    pub(super) fn delta(&self, body: &[u8], i: usize) -> u64 {
        let end = self.deltas_at() + (i + 1) * self.sw;
        let bytes = body[end - 8..end].first_chunk().expect("eight bytes");
        u64::from_le_bytes(*bytes).checked_shr(64 - 8 * self.sw as u32).unwrap_or(0)
    }

    #[inline]
    pub(super) fn key(&self, body: &[u8], i: usize) -> u64 {
        if self.sw == 0 {
            return self.base;
        }
        self.base + (self.delta(body, i) << self.shift)
    }

    /// The first entry whose key is not below `key`, and whether it may equal it; None if all are below.
    #[inline]
    fn first_not_below(&self, body: &[u8], key: u64) -> Option<(usize, bool)> {
        let Some(distance) = key.checked_sub(self.base) else { return Some((0, false)) };
        let delta = distance >> self.shift;
        let exact = delta << self.shift == distance;
        // Entries below the key have deltas up to `delta`, or below it when it is exact.
        let limit = if exact { delta } else { delta.checked_add(1)? };
        if self.n == 0 || (self.sw < 8 && limit >> (8 * self.sw) != 0) {
            return None;
        }
        let (mut low, mut size) = (0, self.n);
        while size > 1 {
            let half = size / 2;
            low = select_unpredictable(self.delta(body, low + half - 1) < limit, low + half, low);
            size -= half;
        }
        let at = low + usize::from(self.delta(body, low) < limit);
        (at < self.n).then_some((at, exact))
    }

    /// Entries before `target` when `first` is the first whose key is not below its key.
    fn rank_in_tie(&self, body: &[u8], first: usize, target: &Target<'_>) -> usize {
        // Most often nothing ties: look before searching.
        let ties = |i: usize| self.key(body, i) == target.key;
        let mut high = first;
        let mut step = 1;
        while high < self.n && ties(high) {
            high += step;
            step *= 2;
        }
        let (mut low, mut high) = (first, high.min(self.n));
        while low < high {
            let mid = low.midpoint(high);
            let start = self.heap_at() + self.offset(body, mid);
            let less = ties(mid)
                && match self.member_at(body, start, self.len_of(body, mid)).cmp_bytes(target.member) {
                    Ordering::Less => true,
                    Ordering::Equal => target.past_equal,
                    Ordering::Greater => false,
                };
            if less {
                low = mid + 1;
            } else {
                high = mid;
            }
        }
        low
    }

    /// Length of suffix `i`.
    #[inline(always)]
    pub(super) fn len_of(&self, body: &[u8], i: usize) -> usize {
        let at = self.lengths_at() + i * self.lw;
        match self.lw {
            0 => self.fixed,
            1 => usize::from(body[at]),
            2 => usize::from(u16::from_le_bytes([body[at], body[at + 1]])),
            _ => u32::from_le_bytes([body[at], body[at + 1], body[at + 2], body[at + 3]]) as usize,
        }
    }

    /// Bytes of the suffixes before `i`, which may be `n`.
    #[inline]
    pub(super) fn offset(&self, body: &[u8], i: usize) -> usize {
        match self.lw {
            0 => self.fixed * i,
            1 => sum(&body[self.lengths_at()..self.lengths_at() + i]),
            _ => (0..i).map(|i| self.len_of(body, i)).sum(),
        }
    }

    #[inline]
    pub(super) fn prefix<'a>(&self, body: &'a [u8]) -> &'a [u8] {
        &body[self.prefix_at()..self.heap_at()]
    }

    #[inline]
    fn member_at<'a>(&self, body: &'a [u8], start: usize, len: usize) -> Member<'a> {
        Member { prefix: self.prefix(body), suffix: &body[start..start + len] }
    }

    /// Calls `f` with the entries whose tag is `tag`.
    #[inline]
    fn matches(&self, body: &[u8], tag: u8, mut f: impl FnMut(usize) -> ControlFlow<()>) -> ControlFlow<()> {
        for first in (0..self.n).step_by(LANES) {
            let tags = &body[HEADER + first..];
            let mut hits = match tags.first_chunk() {
                Some(tags) => probe::matches(tags, tag),
                None => {
                    let mut last = [0; LANES];
                    last[..tags.len()].copy_from_slice(tags);
                    probe::matches(&last, tag)
                }
            };
            if self.n - first < LANES {
                hits &= (1 << (self.n - first)) - 1;
            }
            while hits != 0 {
                f(first + hits.trailing_zeros() as usize)?;
                hits &= hits - 1;
            }
        }
        ControlFlow::Continue(())
    }

    fn start_scratch(&self, body: &[u8], scratch: &mut Vec<u8>) {
        scratch.clear();
        if self.prefix_len > 0 {
            // Room for most members at once: to make more of it costs more than to visit one.
            scratch.reserve(self.prefix_len + USUAL_SUFFIX);
            scratch.extend_from_slice(self.prefix(body));
            scratch.resize(self.prefix_len + USUAL_SUFFIX, 0);
        }
    }

    /// The member whose suffix begins at `start`. Unless the prefix is empty it is put together in `scratch`, which begins with that.
    #[inline(always)]
    fn whole<'a>(&self, body: &'a [u8], start: usize, len: usize, scratch: &'a mut Vec<u8>) -> &'a [u8] {
        if self.prefix_len == 0 {
            return &body[start..start + len];
        }
        let end = self.prefix_len + len;
        if end > scratch.len() {
            scratch.resize(end, 0);
        }
        short::copy_from(&mut scratch[self.prefix_len..], body, start, len);
        &scratch[..end]
    }
}

/// The sum of lengths of one byte each.
#[inline]
fn sum(lengths: &[u8]) -> usize {
    let (whole, rest) = lengths.as_chunks::<LANES>();
    let whole: u32 = whole.iter().map(|lengths| probe::sum_through(lengths, LANES - 1).0).sum();
    whole as usize + rest.iter().map(|&len| usize::from(len)).sum::<usize>()
}
