//! A table as bytes that this process keeps in its place: what is compressed when nobody uses it.
//!
//! ```text
//!  | mark 1 | entry, entry .. |
//!  entry: | length | key |  of a set;  | length | field | length | value |  of a hash;  lengths: see `varint`
//! ```
//! Entries come in the order of a walk, so a small table keeps the order of insertion. Strings that lie out of line are
//! among the bytes of their entry.
//!
//! Cost: O(bytes) there, O(n log n) back: with decompression, about 0.12 us an entry.

use super::{FieldValue, FieldValueNew, Member, Row, Table};
use crate::cold::IMAGE_ENTRIES_MAX;
use crate::key_table::KeyHash;
use crate::varint::{put_text, texts};
use larder_packed::segment::Layout;

/// Entries that are texts.
pub trait Texts: Layout {
    /// Whether `f` says so of all texts of an entry.
    fn all(row: Row<'_, Self>, f: impl FnMut(&[u8]) -> bool) -> bool;

    /// Reads an entry again from its texts; None if there is no more.
    fn read<'a>(texts: &mut impl Iterator<Item = &'a [u8]>) -> Option<Self::New<'a>>;
}

impl Texts for Member {
    fn all(row: Row<'_, Self>, mut f: impl FnMut(&[u8]) -> bool) -> bool {
        f(row.key())
    }

    fn read<'a>(texts: &mut impl Iterator<Item = &'a [u8]>) -> Option<&'a [u8]> {
        texts.next()
    }
}

impl Texts for FieldValue {
    fn all(row: Row<'_, Self>, mut f: impl FnMut(&[u8]) -> bool) -> bool {
        f(row.key()) && f(&row.peek_value())
    }

    fn read<'a>(texts: &mut impl Iterator<Item = &'a [u8]>) -> Option<FieldValueNew<'a>> {
        Some(FieldValueNew { field: texts.next()?, value: texts.next()?, expire_at_ms: None })
    }
}

impl<L: Texts, H: KeyHash> Table<L, H> {
    /// Appends the image if it has at most `max` bytes and [`IMAGE_ENTRIES_MAX`] entries, none of which expires; else `out`
    /// has a part of it.
    pub(crate) fn image_into(&self, out: &mut Vec<u8>, max: usize) -> bool {
        // Half of a segment may be free.
        if self.len() as u64 > IMAGE_ENTRIES_MAX || self.expiring() > 0 || self.memory_bytes() > 3 * max {
            return false;
        }
        let end = out.len() + max;
        out.push(u8::from(self.mark()));
        self.looks().all(|look| L::all(look.row(), |text| put_text(out, text, end)))
    }

    /// The table of an image. Panics on other bytes.
    pub(crate) fn of_image(image: &[u8]) -> Self {
        let (&mark, entries) = image.split_first().expect("an image is kept as it was made");
        let mut texts = texts(entries);
        let all: Vec<L::New<'_>> = std::iter::from_fn(|| L::read(&mut texts)).collect();
        let mut table = Table::of_entries((0..).zip(all.iter().copied()), |id| all[id as usize])
            .expect("keys of an image differ");
        if mark != 0 {
            table.set_mark();
        }
        table
    }
}
