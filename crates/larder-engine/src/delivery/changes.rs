//! A key has changed: who watches it, and who is to be told.

use crate::delivery::invalidations::Invalidations;
use crate::keyspace::key::Key;
use crate::keyspace::shard::ShardData;
use crate::tracking::Trackers;
use std::sync::atomic::Ordering::Relaxed;

impl ShardData {
    /// Whether anybody watches or has read a key of the shard, or is told of all changes: else [`changed`](Self::changed)
    /// does nothing.
    pub(crate) fn notes_changes(&self, trackers: &Trackers) -> bool {
        !self.watched.is_empty() || !self.read_keys.is_empty() || trackers.broadcasts()
    }

    /// A key of the shard has changed: marks those who watch it, and notes those who are to be told. `writer` is the
    /// client who did it, 0 for none.
    #[inline]
    pub(crate) fn changed(
        &mut self,
        trackers: &Trackers,
        db: usize,
        key: &Key<'_>,
        writer: u64,
        invalidations: &mut Invalidations,
    ) {
        if !self.watched.is_empty() {
            self.touch_watched(db, key);
        }
        if !self.read_keys.is_empty() {
            self.invalidate(trackers, key, writer, invalidations);
        }
        if trackers.broadcasts() {
            invalidations.broadcast(key.bytes, writer);
        }
    }

    #[cold]
    fn invalidate(
        &mut self,
        trackers: &Trackers,
        key: &Key<'_>,
        writer: u64,
        invalidations: &mut Invalidations,
    ) {
        let readers = self.read_keys.take(key);
        if !readers.is_empty() {
            trackers.keys.fetch_sub(1, Relaxed);
            invalidations.push(key.bytes, readers, writer);
        }
    }
}
