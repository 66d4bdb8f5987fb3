//! Runs and segments: what a table is made of while it is small, and the way between the two.
//!
//! A run becomes a segment when it has no room for an entry. A segment becomes a run again when half of a run would hold it:
//! a table whose size swings around the limit is not copied at every step.

use super::{Place, RUN_BYTES_MAX, RUN_ENTRIES_MAX, Shape, Table};
use crate::key_table::KeyHash;
use larder_packed::segment::{Layout, Rows, Run};

impl<L: Layout, H: KeyHash> Table<L, H> {
    /// Makes a run a segment; does nothing to others. O(entries).
    pub(super) fn become_segment(&mut self) {
        if let Shape::Run { run, mark } = &self.shape {
            let rows = Rows::of_run(run, |key| Place::of(H::hash(key)).tag);
            self.shape = Shape::Small { rows, mark: *mark };
        }
    }

    /// Makes a segment that is small enough a run; says whether it did.
    pub(super) fn become_run_if_it_can(&mut self) -> bool {
        let Shape::Small { rows, mark } = &self.shape else { return false };
        let page = rows.page();
        if page.live() > RUN_ENTRIES_MAX / 2 || page.used_bytes() > RUN_BYTES_MAX / 2 {
            return false;
        }
        let Some(run) = Run::of_rows(rows) else { return false };
        self.shape = Shape::Run { run, mark: *mark };
        true
    }
}
