//! Scanning with a cursor, without state on the server.
//!
//! Every element has a *position label*: the label of the first element, `origin`, plus its index. The list keeps
//! labels from ever decreasing while an element is in it:
//!
//! - pushes and pops at the front move `origin` along, so all others keep their labels; at the back nothing changes;
//! - an insert in the middle leaves `origin`, so the elements after it move up by one;
//! - a removal in the middle adds one to `origin`, so the elements before it move up, those after it stay.
//!
//! A cursor is the label from which to go on. An element that was not returned yet lies at or above it, and stays
//! there: **every element that is in the list from the start of a scan to its end is returned at least once**, while
//! others are pushed, popped, inserted and removed anywhere. Some elements may be returned twice after a removal or an
//! insert in the middle. Elements that join during the scan may be returned or not; one that leaves is not returned
//! after it left. An element that is replaced in place is returned with the value it has when its turn comes.
//!
//! A small list (one block that never became a directory) is returned whole by the first call, whatever the count. A
//! directory never turns back into a small list, so its labels live as long as the list does, through renames and
//! clones; not through a restart or a transfer, after which old cursors are refused.
//!
//! ```text
//!  cursor (0 starts and ends a scan), below 2^53 so that it survives a double:
//!  52                     12 11          0
//!  +------------------------+-------------+
//!  | label, modulo 2^41     | check, 1... |   check = a hash of the label and the list's salt, never 0
//!  +------------------------+-------------+
//! ```

use std::ops::ControlFlow;

use larder_packed::block::Element;

use super::List;
use super::directory::ListTree;

const LABEL_BITS: u32 = 41;
const CHECK_BITS: u32 = 12;

/// The cursor was not given out by a scan of this list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidCursor;

impl List {
    /// Calls `f` with about `count` elements from `cursor` on and returns the next cursor, 0 when the scan is complete.
    /// See the module's comment for what is promised.
    pub fn scan(
        &self,
        cursor: u64,
        count: usize,
        mut f: impl FnMut(Element<'_>),
    ) -> Result<u64, InvalidCursor> {
        let (start, count) = match self {
            List::Packed(_) if cursor != 0 => return Err(InvalidCursor),
            List::Packed(_) => (0, self.len()),
            List::Tree(tree) => (tree.0.index_of_cursor(cursor)?, count.max(1) as u64),
        };
        let _ = self.for_each_range(start, count, |element| {
            f(element);
            ControlFlow::<()>::Continue(())
        });
        match self {
            List::Tree(tree) if start + count < self.len() => Ok(tree.0.cursor_at(start + count)),
            _ => Ok(0),
        }
    }
}

impl ListTree {
    fn cursor_at(&self, index: u64) -> u64 {
        let label = self.origin.wrapping_add(index) & mask(LABEL_BITS);
        label << CHECK_BITS | self.check(label)
    }

    /// The index at which to go on: that of the label, the front if the label's element left at the front, the length
    /// if it left at the back.
    fn index_of_cursor(&self, cursor: u64) -> Result<u64, InvalidCursor> {
        if cursor == 0 {
            return Ok(0);
        }
        let label = cursor >> CHECK_BITS;
        if label > mask(LABEL_BITS) || cursor & mask(CHECK_BITS) != self.check(label) {
            return Err(InvalidCursor);
        }
        let ahead = label.wrapping_sub(self.origin) & mask(LABEL_BITS);
        let is_behind_origin = ahead > mask(LABEL_BITS) / 2;
        Ok(if is_behind_origin { 0 } else { ahead.min(self.len) })
    }

    fn check(&self, label: u64) -> u64 {
        let mixed = (label ^ u64::from(self.salt) << 20).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ mixed >> 29) % mask(CHECK_BITS) + 1
    }
}

const fn mask(bits: u32) -> u64 {
    (1 << bits) - 1
}
