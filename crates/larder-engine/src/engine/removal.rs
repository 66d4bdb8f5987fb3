//! Keys that go without a command that deletes them: because their time is over, or because memory is needed.
//!
//! The thread that finds one takes it out of its table. Everything else is the same for all of them and stands here: those who watch, read or
//! wait for the key are told, an event is sent, and the log gets a deletion.

use crate::aof::log::Ends;
use crate::delivery::invalidations::Invalidations;
use crate::delivery::publish::Speaker;
use crate::delivery::unblock::{deliver, each_refused_reader, reply_of};
use crate::engine::Engine;
use crate::engine::notify::class;
use crate::keyspace::key::Key;
use crate::keyspace::shard::ShardData;
use crate::ledger::assert_shard_is_held;
use std::sync::atomic::Ordering::Relaxed;

/// Why a key is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Its time is over.
    Expired,
    /// Memory was needed.
    Evicted,
}

/// A key that has been taken out of its table.
pub(crate) struct Removal<'k> {
    pub cause: Cause,
    pub db: usize,
    pub key: Key<'k>,
    /// The worker that removes it, if one does.
    pub speaker: Option<Speaker<'k>>,
}

impl Engine {
    /// Tells everybody concerned of a key that a command has found overdue. The command logs [`Engine::removal_command`] with its own
    /// effects, and serves those who wait for the key. The shard of the key is held.
    pub(crate) fn removed(
        &self,
        data: &mut ShardData,
        removal: &Removal<'_>,
        invalidations: &mut Invalidations,
    ) {
        let Removal { cause, db, key, speaker } = removal;
        assert_shard_is_held(key.shard());
        data.changed(&self.trackers, *db, key, 0, invalidations);
        let (class, event) = match cause {
            Cause::Expired => (class::EXPIRED, "expired"),
            Cause::Evicted => (class::EVICTED, "evicted"),
        };
        self.notify(*speaker, class, event, *db, key.bytes);
    }

    /// The same for a key that goes beside any command, at `now_ms`.
    pub(crate) fn removed_by_itself(
        &self,
        data: &mut ShardData,
        removal: &Removal<'_>,
        now_ms: u64,
        invalidations: &mut Invalidations,
    ) {
        self.removed(data, removal, invalidations);
        let Removal { cause, db, key, .. } = removal;
        let mut ends = Ends::NO_EFFECT;
        if self.append_log.wants_effects() {
            let words = [self.removal_command(*cause), key.bytes];
            ends = self.append_log.append_one(*db, &words, self.log_second(now_ms));
        }
        each_refused_reader(&data.waiting, (*db, key.bytes), None, |waiter, error| {
            let reply = reply_of(&self.errors, waiter, Vec::new(), Err(error));
            deliver(&self.mailboxes, waiter, reply, ends);
        });
    }

    /// The command that the log deletes such a key with.
    pub(crate) fn removal_command(&self, cause: Cause) -> &'static [u8] {
        let is_lazy = match cause {
            Cause::Expired => self.expires_lazily(),
            Cause::Evicted => self.config.hot.lazyfree_lazy_eviction.load(Relaxed),
        };
        if is_lazy { b"UNLINK" } else { b"DEL" }
    }
}
