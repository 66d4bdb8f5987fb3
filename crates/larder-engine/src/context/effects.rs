//! What the log is to note of a command.

use crate::command::spec::Scope;
use crate::context::Context;
#[cfg(debug_assertions)]
use crate::engine::unit_check::Checked;
use crate::keyspace::key::Key;
use crate::keyspace::locks::Held;
use crate::ledger::assert_a_shard_is_held;
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

    /// Notes that a key has got the value that commands make which add elements to it, in the place of the command: for one whose
    /// result depends on how another server keeps its values. `words_each` words are an element.
    pub(crate) fn propagate_elements(
        &mut self,
        key: &Key<'_>,
        command: &[u8],
        words: &[Vec<u8>],
        words_each: usize,
    ) {
        /// Elements of one command.
        const ELEMENTS_MAX: usize = 4096;
        if !self.logs() {
            return;
        }
        self.propagate_instead(&[b"DEL", key.bytes]);
        for part in words.chunks(ELEMENTS_MAX * words_each) {
            let words: Vec<&[u8]> =
                [command, key.bytes].into_iter().chain(part.iter().map(|word| &**word)).collect();
            self.propagate_also(&words);
        }
    }

    /// The command has no effect worth noting, whatever it changed.
    pub(crate) fn propagate_nothing(&mut self) {
        self.worker.effects.replace();
    }

    /// Notes something that happened beside what the command does.
    pub(crate) fn propagate_also(&mut self, words: &[&[u8]]) {
        self.worker.effects.push(self.db, words.iter().copied());
    }

    /// Notes that something was deleted because its time is over.
    pub(crate) fn propagate_expiry(&mut self, words: &[&[u8]]) {
        self.worker.effects.push_expiry(self.db, words.iter().copied());
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

    /// Releases all shards. What was done under them has been [settled](Self::settle).
    pub(crate) fn release_shards(&mut self) {
        debug_assert!(self.ready.is_empty(), "clients wait for what was done under the shards");
        debug_assert!(self.worker.effects.is_empty(), "effects are appended while the shards are held");
        debug_assert!(self.worker.answers.is_empty(), "replies are sent when the effects are in the log");
        self.held = Held::None;
    }

    /// Sends the replies to clients that were served. The effects that they show are in the log.
    pub(crate) fn send_answers(&mut self) {
        let ends = self.engine.append_log.ends();
        let (engine, worker) = (self.engine, &mut *self.worker);
        // Clients learn that a key has changed before they are served what it has.
        let (receivers, from, own) = (engine.receivers(), Some(worker.index), self.session.id());
        worker.invalidations.send_direct_to_others(receivers, from, own);
        worker.answers.send(&engine.mailboxes, ends);
        worker.invalidations.send_direct_to_served(receivers, from, own);
    }

    /// A unit begins, or has locked further shards: debug builds may check what it does.
    #[inline]
    pub(crate) fn begin_check(&mut self) {
        #[cfg(debug_assertions)]
        if let Some(check) = self.engine.unit_check.get() {
            check.begin(&mut self.held);
        }
    }

    /// A unit is over, and its effects are in the log.
    #[inline]
    pub(crate) fn end_check(&mut self) {
        #[cfg(debug_assertions)]
        if let Some(check) = self.engine.unit_check.get() {
            let has_all = self.worker.effects.are_whole() && !self.held.is_none();
            let wall_us = self.worker.clock.wall_us();
            check.end(&mut self.held, if has_all { Checked::At { wall_us } } else { Checked::No });
        }
    }

    /// Appends what was done to the log, while the locks are held.
    pub(crate) fn append_effects(&mut self) {
        #[cfg(debug_assertions)]
        if let Some(check) = self.engine.unit_check.get() {
            check.note(&self.worker.effects);
        }
        if cfg!(debug_assertions)
            && self.found.command.scope != Scope::None
            && self.worker.effects.has_changes()
        {
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
        self.worker.written = ends;
        self.session.written = ends;
    }
}
