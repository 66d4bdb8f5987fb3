//! Commands of several keys: what lookups of them read is on its way from memory while something else is done.

use super::Context;
use crate::keyspace::key::Key;
use crate::keyspace::known_hashes::COMMAND_MAX;
use crate::keyspace::shard::Table;
use larder_resp::Args;

impl Context<'_> {
    /// Calls `f` with each of the keys that are every `step`th of these arguments, and where it is, until `f` returns false: what lookups
    /// of the next ones read is loaded ahead, and they are hashed together.
    pub(crate) fn each_key(
        &mut self,
        args: Args<'_>,
        step: usize,
        mut f: impl FnMut(&mut Self, &Key<'_>, usize) -> bool,
    ) {
        let mut is_filled = false;
        for (number, at) in (0..args.len()).step_by(step).enumerate() {
            let name = args.at(at);
            let is_next = number.is_multiple_of(COMMAND_MAX) && args.len() > step;
            if is_next && (is_filled || !self.several.begins_with(name)) {
                self.several.forget();
                let next = args.from(at).iter().step_by(step).take(COMMAND_MAX);
                next.for_each(|name| self.several.add(&Key::of(name)));
                self.prefetch_several();
                is_filled = true;
            }
            let key = self.key(name);
            if !f(self, &key, at) {
                break;
            }
        }
        // The next command of a transaction or a script may have other keys where these have been.
        if is_filled {
            self.several.forget();
        }
    }

    /// Has the processor load what lookups of all keys of a command of several will read, at once and not one after the other.
    pub(crate) fn prefetch_several(&mut self) {
        if self.several.is_single() || !self.engine.is_beyond_cache() {
            return;
        }
        // First the segments; when they have arrived, the entries in them.
        let keys = self.found.command.keys.first();
        let second: fn(&Table, u64) = match keys {
            Some(keys) if keys.removes() => Table::prefetch_removal,
            Some(keys) if keys.inserts() => Table::prefetch_put,
            _ => Table::prefetch_entry,
        };
        for step in [Table::prefetch, second] {
            for hash in self.several.hashes() {
                let data = self.held.shard_mut(Key { bytes: b"", hash }.shard());
                if let Some(table) = data.and_then(|data| data.table(self.db)) {
                    step(table, hash);
                }
            }
        }
    }
}
