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
use crate::key_table::KeyHash;
use crate::varint::{number, put_number};
use larder_packed::segment::Layout;

/// The most entries of a table with an image: a reader makes a table of them while it holds a shard.
const ENTRIES_MAX: usize = 1024;

/// Entries that are texts.
pub trait Texts: Layout {
    /// Calls `f` with the texts of an entry.
    fn each(row: Row<'_, Self>, f: &mut impl FnMut(&[u8]));

    /// Reads an entry again from what gives one text after the other.
    fn read<'a>(next: &mut impl FnMut() -> &'a [u8]) -> Self::New<'a>;
}

impl Texts for Member {
    fn each(row: Row<'_, Self>, f: &mut impl FnMut(&[u8])) {
        f(row.key());
    }

    fn read<'a>(next: &mut impl FnMut() -> &'a [u8]) -> &'a [u8] {
        next()
    }
}

impl Texts for FieldValue {
    fn each(row: Row<'_, Self>, f: &mut impl FnMut(&[u8])) {
        f(row.key());
        f(row.value());
    }

    fn read<'a>(next: &mut impl FnMut() -> &'a [u8]) -> FieldValueNew<'a> {
        FieldValueNew { field: next(), value: next(), expire_at_ms: None }
    }
}

impl<L: Texts, H: KeyHash> Table<L, H> {
    /// Appends the image if it has at most `max` bytes and 1024 entries, none of which expires; else `out` has a part of it.
    pub(crate) fn image_into(&self, out: &mut Vec<u8>, max: usize) -> bool {
        // Half of a segment may be free.
        if self.len() > ENTRIES_MAX || self.expiring() > 0 || self.memory_bytes() > 3 * max {
            return false;
        }
        let start = out.len();
        let mut is_whole = true;
        out.push(u8::from(self.mark()));
        for row in self.iter() {
            L::each(row, &mut |text| {
                // No more is copied than the image may have.
                let left = max.saturating_sub(out.len() - start);
                put_number(out, text.len() as u64);
                out.extend_from_slice(text.get(..text.len().min(left)).unwrap_or_default());
                is_whole &= text.len() <= left;
            });
            if !is_whole {
                return false;
            }
        }
        out.len() - start <= max
    }

    /// The table of an image. Panics on other bytes.
    pub(crate) fn of_image(image: &[u8]) -> Self {
        let (&mark, mut rest) = image.split_first().expect("an image is kept as it was made");
        let mut all = Vec::new();
        while !rest.is_empty() {
            all.push(L::read(&mut || {
                let (len, start) = number(rest, 0);
                let (text, after) = rest[start..].split_at(len as usize);
                rest = after;
                text
            }));
        }
        let mut table = Table::of_entries((0..).zip(all.iter().copied()), |id| all[id as usize])
            .expect("keys of an image differ");
        if mark != 0 {
            table.set_mark();
        }
        table
    }
}
