//! Leaves as bytes: how a sorted set travels between two Larders, without a look at its entries.
//!
//! An image is the leaf's body up to its end, without the tags: those are of a hash that each server keys for itself.
//! The reader computes them again, and sees each entry as it does so.

use super::{Form, HEADER, Leaf};
use crate::buffer::Buffer;
use crate::codec::Damaged;

/// The owner's mark.
const FLAGS: u8 = 1;

impl Leaf {
    /// Appends the leaf's image.
    pub fn image_into(&self, out: &mut Vec<u8>) {
        let form = self.form();
        out.extend_from_slice(&self.0[..HEADER]);
        out.extend_from_slice(&self.0[form.deltas_at()..form.end()]);
    }

    /// The leaf of an image, which may be hostile: its form is checked, neither its keys nor the order of its entries. Calls
    /// `tag` with key and member of each entry, ascending in a true leaf, for its tag, until that refuses one. A leaf of two
    /// entries or more takes `bytes_max` of heap at most.
    ///
    /// O(bytes of the members).
    pub fn from_image(
        image: &[u8],
        bytes_max: usize,
        mut tag: impl FnMut(u64, &[u8]) -> Result<u8, Damaged>,
    ) -> Result<Leaf, Damaged> {
        if image.len() < HEADER || image[23] & !FLAGS != 0 {
            return Err(Damaged);
        }
        let form = Form::read(image);
        let lengths_fit = matches!(form.lw, 0 | 1 | 2 | 4) && (form.lw == 0 || form.fixed == 0);
        let scores_fit = form.sw < 8 && form.shift < 64 || form.sw == 8 && form.base == 0 && form.shift == 0;
        // The sum of the sections cannot overflow: their sizes have 16 and 32 bits.
        if !lengths_fit || !scores_fit || form.n == 0 || form.n + image.len() != form.end() {
            return Err(Damaged);
        }
        let mut leaf = Leaf(Buffer::of(&image[..HEADER], form.end()));
        if form.n > 1 && leaf.heap_bytes() > bytes_max {
            return Err(Damaged);
        }
        let body = leaf.0.make_mut();
        body[form.deltas_at()..form.end()].copy_from_slice(&image[HEADER..]);
        let lengths: usize = (0..form.n).map(|i| form.len_of(body, i)).sum();
        if lengths != form.heap_len {
            return Err(Damaged);
        }
        let mut member = form.prefix(body).to_vec();
        let mut start = form.heap_at();
        for i in 0..form.n {
            let end = start + form.len_of(body, i);
            member.truncate(form.prefix_len);
            member.extend_from_slice(&body[start..end]);
            start = end;
            body[HEADER + i] = tag(form.checked_key(body, i)?, &member)?;
        }
        Ok(leaf)
    }
}

impl Form {
    /// The key of entry `i`, if it is one of 64 bits.
    fn checked_key(&self, body: &[u8], i: usize) -> Result<u64, Damaged> {
        let delta = if self.sw == 0 { 0 } else { self.delta(body, i) };
        if delta.leading_zeros() < self.shift {
            return Err(Damaged);
        }
        self.base.checked_add(delta << self.shift).ok_or(Damaged)
    }
}
