//! What the log is to note of a command.

use crate::command::spec::Scope;
use crate::context::Context;
use crate::keyspace::locks::assert_a_shard_is_held;
use larder_resp::Args;

impl Context<'_> {
    /// Whether handlers need to say what their effects are.
    #[inline]
    pub(crate) fn logs(&self) -> bool {
        self.worker.effects.wanted()
    }

    /// Notes a command that has the effect of this one, in its place. May be called more than once, for several commands.
    pub(crate) fn propagate_instead(&mut self, words: &[&[u8]]) {
        let effects = &mut self.worker.effects;
        if effects.wanted() {
            effects.replace();
            effects.push(self.db, words.iter().copied());
        }
    }

    /// The command has no effect worth noting, whatever it changed.
    pub(crate) fn propagate_nothing(&mut self) {
        self.worker.effects.replace();
    }

    /// Notes something that happened beside what the command does.
    pub(crate) fn propagate_also(&mut self, words: &[&[u8]]) {
        let effects = &mut self.worker.effects;
        if effects.wanted() {
            effects.push(self.db, words.iter().copied());
        }
    }

    /// Sends replicas a command that changes nothing that files keep.
    pub(crate) fn propagate_to_replicas(&mut self, args: Args<'_>) {
        self.worker.effects.push_for_stream(self.db, args.iter());
    }

    /// Notes the command as it was given.
    #[inline]
    pub(crate) fn propagate_as_given(&mut self, args: Args<'_>) {
        let effects = &mut self.worker.effects;
        if effects.as_given() {
            effects.push_given(self.db, args);
        }
    }

    /// Runs a part of a command that holds shards of its own, and logs what it has done before they are let go.
    pub(crate) fn append_effects_after(&mut self, part: impl FnOnce(&mut Self)) {
        part(self);
        if !self.worker.effects.is_empty() {
            self.append_effects();
        }
    }

    /// Puts what was done into the log, while the locks are held.
    pub(crate) fn append_effects(&mut self) {
        if self.found.command.scope != Scope::None {
            assert_a_shard_is_held("logs what a command has done");
        }
        let second = self.engine.log_second(self.now_ms());
        let log = &self.engine.append_log;
        let ends = match self.worker.unit.as_mut().filter(|unit| !unit.is_passed_on) {
            Some(unit) => {
                unit.is_passed_on = true;
                log.append_applied(&self.worker.effects, second, &unit.bytes, self.session.db)
            }
            None => log.append(&self.worker.effects, second),
        };
        self.worker.effects.clear();
        self.worker.log_end = ends.file;
        self.worker.stream_end = ends.stream;
        self.session.log_end = ends.file;
        self.session.stream_end = ends.stream;
    }
}
