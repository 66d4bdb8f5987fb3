//! Changing a leaf: in place when the entry fits its form, else by encoding it again.

use std::ops::Range;

use super::{Draft, Form, HEADER, Leaf};
use crate::buffer::{self, Buffer};
use crate::heap;

/// A leaf moves to a smaller class if that has room for its content and for this part of it more.
const SHRINK_SPARE: usize = 24;

impl Leaf {
    /// A leaf with one entry.
    pub fn of(key: u64, tag: u8, member: &[u8]) -> Leaf {
        Draft::with(|draft| {
            draft.push(key, tag, member);
            draft.encode(0..1)
        })
    }

    /// Inserts an entry at its place, which [`Leaf::rank`] tells.
    pub fn insert(&mut self, at: usize, key: u64, tag: u8, member: &[u8]) {
        let form = self.form();
        // A single entry shows no prefix: the second one gives the leaf its form.
        let fits = form.n > 1
            && member.starts_with(form.prefix(&self.0))
            && form.fits_len(member.len() - form.prefix_len);
        match form.delta_of(key) {
            Some(delta) if fits => self.insert_in_place(&form, at, delta, tag, &member[form.prefix_len..]),
            _ => self.replace_by(|draft, old| {
                draft.load(old, 0..at);
                draft.push(key, tag, member);
                draft.load(old, at..form.n);
            }),
        }
    }

    /// Bytes that the leaf would take with one more entry, if that fits its form; 0 if it does not.
    pub fn insert_bytes(&self, key: u64, member: &[u8]) -> usize {
        let form = self.form();
        let fits = form.n > 1
            && form.delta_of(key).is_some()
            && member.starts_with(form.prefix(&self.0))
            && form.fits_len(member.len() - form.prefix_len);
        if !fits {
            return 0;
        }
        buffer::HEADER + form.end() + 1 + form.sw + form.lw + member.len() - form.prefix_len
    }

    /// Removes the entries of `range`.
    pub fn remove(&mut self, range: Range<usize>) {
        let form = self.form();
        let count = range.len();
        if count == 0 {
            return;
        }
        let (low, high) = (form.offset(&self.0, range.start), form.offset(&self.0, range.end));
        let old = [
            HEADER..HEADER + range.start,
            HEADER + range.end..form.deltas_at() + range.start * form.sw,
            form.deltas_at() + range.end * form.sw..form.lengths_at() + range.start * form.lw,
            form.lengths_at() + range.end * form.lw..form.heap_at() + low,
            form.heap_at() + high..form.end(),
        ];
        let new = Form { n: form.n - count, heap_len: form.heap_len - (high - low), ..form };
        let body = self.0.make_mut();
        let mut at = HEADER + range.start;
        for part in &old[1..] {
            body.copy_within(part.clone(), at);
            at += part.len();
        }
        new.write(body);
        self.shrink(&new);
    }

    /// Whether the leaf can take this key without being encoded again.
    #[inline]
    pub fn fits_key(&self, key: u64) -> bool {
        self.form().delta_of(key).is_some()
    }

    /// Gives entry `i` another key that does not change its place.
    pub fn set_key(&mut self, i: usize, key: u64) {
        let form = self.form();
        match form.delta_of(key) {
            Some(delta) => form.write_delta(self.0.make_mut(), i, delta),
            None => self.replace_by(|draft, old| {
                draft.load(old, 0..form.n);
                draft.set_key(i, key);
            }),
        }
    }

    /// Appends all entries of `right`, which come after those of this leaf.
    pub fn append(&mut self, right: &Leaf) {
        self.replace_by(|draft, old| {
            draft.load(old, 0..old.len());
            draft.load(right, 0..right.len());
        });
    }

    /// Divides the leaf so that no part takes more than `bytes_max` bytes, unless it has one entry. The first part stays;
    /// the others come back in order.
    pub fn divide(&mut self, bytes_max: usize) -> Vec<Leaf> {
        let mark = self.mark();
        let mut parts = Draft::with(|draft| {
            draft.load(self, 0..self.len());
            let mut parts = Vec::new();
            draft.divide(0..draft.len(), bytes_max, &mut parts);
            parts
        });
        *self = parts.remove(0);
        if mark {
            self.set_mark(true);
        }
        parts
    }

    /// Encodes the leaf again with what `fill` puts into the draft.
    fn replace_by(&mut self, fill: impl FnOnce(&mut Draft, &Leaf)) {
        let mark = self.mark();
        *self = Draft::with(|draft| {
            fill(draft, self);
            draft.encode(0..draft.len())
        });
        if mark {
            self.set_mark(true);
        }
    }

    fn insert_in_place(&mut self, form: &Form, at: usize, delta: u64, tag: u8, suffix: &[u8]) {
        let grown = 1 + form.sw + form.lw + suffix.len();
        let end = form.end();
        if end + grown > self.0.len() {
            self.0 = Buffer::of(&self.0[..end], end + grown);
        }
        let middle = form.heap_at() + form.offset(&self.0, at);
        let new = Form { n: form.n + 1, heap_len: form.heap_len + suffix.len(), ..*form };
        let body = self.0.make_mut();
        // From the end backwards, so that nothing is overwritten before it has moved. Each run moves by what is inserted before it: the
        // suffixes from `middle` on, the lengths from `at` on with the suffixes before `middle`, and so on with deltas and tags.
        body.copy_within(middle..end, middle + grown);
        let lengths = form.lengths_at() + at * form.lw;
        body.copy_within(lengths..middle, lengths + 1 + form.sw + form.lw);
        let deltas = form.deltas_at() + at * form.sw;
        body.copy_within(deltas..lengths, deltas + 1 + form.sw);
        body.copy_within(HEADER + at..deltas, HEADER + at + 1);
        new.write(body);
        body[HEADER + at] = tag;
        new.write_delta(body, at, delta);
        new.write_len(body, at, suffix.len());
        let start = middle + 1 + form.sw + form.lw;
        body[start..start + suffix.len()].copy_from_slice(suffix);
    }

    /// Moves to a smaller class if there is one with some room to spare.
    fn shrink(&mut self, form: &Form) {
        let content = buffer::HEADER + form.end();
        if content + content / SHRINK_SPARE < self.heap_bytes()
            && heap::class_size(content + content / SHRINK_SPARE) < self.heap_bytes()
        {
            self.0 = Buffer::of(&self.0[..form.end()], form.end());
        }
    }
}

impl Draft {
    fn divide(&self, range: Range<usize>, bytes_max: usize, parts: &mut Vec<Leaf>) {
        let fits = range.len() < 2 || self.form_of(range.clone()).end() + buffer::HEADER <= bytes_max;
        if !fits {
            let middle = self.middle(range.clone());
            self.divide(range.start..middle, bytes_max, parts);
            return self.divide(middle..range.end, bytes_max, parts);
        }
        parts.push(self.encode(range));
    }
}
