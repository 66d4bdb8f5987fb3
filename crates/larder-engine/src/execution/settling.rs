//! What follows a command, or a part of one, before its shards are released.
//!
//! Rules:
//! - S1: clients that wait for a key are served by the thread that made the key ready, while it holds the shard of the key.
//! - S2: a reply to a waiting client is sent after the effects that it shows were appended to the log. The replies of a
//!   unit wait in `WorkerState::answers` until then, and carry the position at which the effects end.
//! - S3: shards are released by [`Context::release_shards`], which asserts in debug builds that S1 and S2 are kept.
//!
//! Tested by `larder-server/tests/serving`.

use crate::context::Context;
use crate::error::CommandResult;
use crate::execution::blocking;
use crate::keyspace::locks::Held;

impl Context<'_> {
    /// Completes what was done under the shards that are held: serves the clients that wait for keys which became ready,
    /// appends the effects to the log, and sends the replies to these clients.
    pub(crate) fn settle(&mut self) {
        if !self.ready.is_empty() {
            blocking::serve_ready(self);
        }
        if !self.worker.effects.is_empty() {
            self.append_effects();
        }
        if !self.worker.answers.is_empty() {
            self.send_answers();
        }
        self.end_check();
    }

    /// Calls `f` while a shard is held, whether it was before or is locked for the call. What `f` does is settled before the
    /// shard is released.
    ///
    /// # Errors
    /// Those of [`with_shard`](Self::with_shard).
    pub(crate) fn with_shard_held(&mut self, at: usize, f: impl FnOnce(&mut Self)) -> CommandResult {
        if self.held.shard_mut(at).is_some() {
            f(self);
            return Ok(());
        }
        let data = self.lock_for_walk(at)?;
        self.held = Held::One(at, data);
        self.begin_check();
        f(self);
        self.settle();
        self.release_shards();
        Ok(())
    }
}
