//! The entries of a segment as bytes that follow each other, to be compressed: without tags, which are a hash's and do not shrink.
//!
//! ```text
//!  | depth u8 | entries u16 | length u8 | bytes | length u8 | bytes | ..     a length of 255 is followed by the true one, u16
//! ```

use super::super::Segment;
use super::super::page::{LONG, footprint_of};
use super::{Layout, Rows};

impl<L: Layout> Rows<L> {
    /// Appends the entries of a segment in which none keeps a string out of line, and of which there are less than 2^16.
    pub(super) fn pack_into(&self, out: &mut Vec<u8>) {
        debug_assert!(!self.may_have_outs());
        out.push(self.depth() as u8);
        out.extend_from_slice(
            &u16::try_from(self.page().live()).expect("the segment is not overgrown").to_le_bytes(),
        );
        for row in self.rows() {
            match row.bytes.len() {
                len if len < usize::from(LONG) => out.push(len as u8),
                len => {
                    out.push(LONG);
                    out.extend_from_slice(&(len as u16).to_le_bytes());
                }
            }
            out.extend_from_slice(row.bytes);
        }
    }

    /// The segment of such entries, in their order and without holes, with the tag of each one's key. Panics on other bytes.
    pub(super) fn of_packed(packed: &[u8], tag: fn(&[u8]) -> u8) -> Self {
        let (&[depth, a, b], entries) = packed.split_first_chunk().expect("bytes are kept as they were made");
        let count = usize::from(u16::from_le_bytes([a, b]));
        let bytes = texts(entries).map(|entry| footprint_of(entry.len())).sum();
        let mut segment = Segment::with_room(count, bytes);
        let entries = texts(entries).map(|entry| {
            // SAFETY: W1: the entry was copied from a segment of this layout, and holds no pointer.
            let key = unsafe { L::key(entry) };
            (tag(key), entry.len(), entry)
        });
        segment.append_all(entries, |to, entry| to.copy_from_slice(entry));
        segment.set_depth(u32::from(depth));
        Rows::of(segment)
    }
}

/// The entries one after the other.
fn texts(mut rest: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (&short, mut after) = rest.split_first()?;
        let mut len = usize::from(short);
        if short == LONG {
            let (long, behind) = after.split_first_chunk().expect("bytes are kept as they were made");
            (len, after) = (usize::from(u16::from_le_bytes(*long)), behind);
        }
        let (entry, others) = after.split_at(len);
        rest = others;
        Some(entry)
    })
}
