//! Deadlines of keys and of fields of hashes: the one place that says which of them are over.
//!
//! A deadline is over once the clock has passed it, so at the moment `now` those up to the millisecond before
//! are. Two are over at their very millisecond, as in Valkey: one that a command is about to set
//! (`Context::is_past`), and that of a field whose value is replaced (`commands/hash/set.rs`). Who judges is
//! handed this moment as a number; [`NOTHING_IS_DUE`] stands for none. That is what replayed commands judge
//! by, those of an append-only file and those that a replica applies: they have been executed before, and
//! what had expired by then is deleted by a command of its own in the same log. The clock of the reader must
//! not have a say in it.
//!
//! Tested by `tests/persistence/deadlines.rs`: every kind of command runs, and is replayed when the deadlines are over.

use larder_collections::key_table::Entry;
use larder_collections::value::Value;

/// The moment at which no deadline is over. (None is stored that is not above.)
pub(crate) const NOTHING_IS_DUE: u64 = 0;

/// The moment up to which deadlines are over when the wall clock says `now_ms`.
#[inline]
pub(crate) fn due_at(now_ms: u64) -> u64 {
    now_ms.saturating_sub(1)
}

/// Whether the deadline of an entry is over.
#[inline]
pub(crate) fn is_due(entry: &Entry<'_, Value>, due_ms: u64) -> bool {
    entry.expire_at_ms().is_some_and(|at| at <= due_ms)
}
