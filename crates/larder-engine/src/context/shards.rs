//! Shards that a command holds, or locks one after the other for a moment each: what walks the keyspace.

use super::Context;
use crate::command::keys;
use crate::context::postponed::Place;
use crate::error::CommandResult;
use crate::keyspace::key::SHARDS;
use crate::keyspace::locks::{Busy, ShardGuard, Shards};
use crate::keyspace::shard::ShardData;
use crate::ledger::NoShards;
use larder_resp::Args;

impl<'a> Context<'a> {
    /// Calls `f` with a shard: the one held, or locked for the call. A command that others wait for is given away if somebody keeps the shard for longer
    /// than a moment: it has changed nothing yet. The error is that, or that a script keeps it for too long.
    pub(crate) fn with_shard<R>(
        &mut self,
        at: usize,
        f: impl FnOnce(&mut ShardData) -> R,
    ) -> CommandResult<R> {
        self.with_shard_by(at, Shards::lock_soon, Shards::try_lock_one, f)
    }

    fn with_shard_by<R>(
        &mut self,
        at: usize,
        soon: impl FnOnce(&'a Shards, usize) -> Option<ShardGuard<'a>>,
        wait: impl FnOnce(&'a Shards, usize, NoShards<'_>) -> Result<ShardGuard<'a>, Busy>,
        f: impl FnOnce(&mut ShardData) -> R,
    ) -> CommandResult<R> {
        if let Some(data) = self.held.shard_mut(at) {
            return Ok(f(data));
        }
        let mut data = self.lock_by(at, soon, wait)?;
        Ok(f(&mut data))
    }

    /// Locks those shards of the command's keys that are free, also if keys of theirs are reserved, for a command that may not wait for
    /// a script that runs for too long and is no answer about the keys.
    #[cold]
    pub(crate) fn lock_what_is_free(&mut self, args: &Args<'_>) {
        let keys: Vec<usize> =
            keys::collect(self.found.command, *args).into_iter().map(|name| self.key(name).shard()).collect();
        self.held = self.engine.shards.lock_free_lent(keys);
    }

    /// Locks a shard for a command that holds none.
    pub(crate) fn lock_for_walk(&mut self, at: usize) -> CommandResult<ShardGuard<'a>> {
        self.lock_by(at, Shards::lock_soon, Shards::try_lock_one)
    }

    fn lock_by(
        &mut self,
        at: usize,
        soon: impl FnOnce(&'a Shards, usize) -> Option<ShardGuard<'a>>,
        wait: impl FnOnce(&'a Shards, usize, NoShards<'_>) -> Result<ShardGuard<'a>, Busy>,
    ) -> CommandResult<ShardGuard<'a>> {
        assert!(self.held.is_none(), "a command that walks the shards holds none of them, or all");
        let shards = &self.engine.shards;
        if self.place() == Place::Serving {
            return soon(shards, at).map_or_else(|| self.give_away(), Ok);
        }
        wait(shards, at, NoShards::of_command()).map_err(|Busy| self.busy_error())
    }

    /// Calls `f` with one shard after the other, each held or locked for the call.
    pub(crate) fn each_shard(&mut self, mut f: impl FnMut(&mut ShardData)) -> CommandResult {
        (0..SHARDS).try_for_each(|at| self.with_shard(at, &mut f))
    }

    /// The same for figures of all keys and their clients, which are about no single moment: also of shards that a script lends.
    pub(crate) fn each_lent_shard(&mut self, mut f: impl FnMut(&mut ShardData)) -> CommandResult {
        (0..SHARDS).try_for_each(|at| {
            let wait = |shards: &'a Shards, at, _: NoShards<'_>| shards.try_lock_lent(at);
            self.with_shard_by(at, Shards::lock_lent_soon, wait, &mut f)
        })
    }

    /// A shard of a command that holds all of them.
    pub(crate) fn shard_of_all(&mut self, at: usize) -> &mut ShardData {
        self.held.shard_mut(at).expect("the command holds all shards")
    }
}
