//! Commands of several keys: what lookups of them read is on its way from memory while something else is done.
//!
//! One of very many keys that is executed apart works on [`PART_MAX`] at a time: it reserves them, and holds their shards only meanwhile
//! (`keyspace/locks/lending.rs`). So it sees and changes all of them at one moment, and holds up those who want these keys, and nobody else.

use super::Context;
use crate::keyspace::key::Key;
use crate::keyspace::known_hashes::{COMMAND_MAX, Known, PART_MAX};
use crate::keyspace::locks::{Held, Lends};
use crate::keyspace::shard::Table;
use larder_resp::Args;
use std::mem::replace;

impl Context<'_> {
    /// Calls `f` with each of the keys that are every `step`th of these arguments, and where it is: what lookups of the next ones read is
    /// loaded ahead, and they are hashed together.
    pub(crate) fn each_key(
        &mut self,
        args: Args<'_>,
        step: usize,
        mut f: impl FnMut(&mut Self, &Key<'_>, usize),
    ) {
        self.all_keys(args, step, |context, key, at| {
            f(context, key, at);
            true
        });
    }

    /// Whether something holds for all of these keys. Those after the first for which it does not are not asked for.
    pub(crate) fn all_keys(
        &mut self,
        args: Args<'_>,
        step: usize,
        mut holds: impl FnMut(&mut Self, &Key<'_>, usize) -> bool,
    ) -> bool {
        let (mut is_filled, mut all) = (false, true);
        let known_max = if matches!(self.lends, Lends::ByParts(_)) { PART_MAX } else { COMMAND_MAX };
        for (number, at) in (0..args.len()).step_by(step).enumerate() {
            let name = args.at(at);
            let number = number % known_max;
            if number == 0 && args.len() > step && (is_filled || !self.several.begins_with(name)) {
                self.several.forget();
                let next = args.from(at).iter().step_by(step).take(known_max);
                next.for_each(|name| self.several.add(&Key::of(name)));
                self.lock_part();
                self.prefetch_several();
                is_filled = true;
            }
            let key = self.numbered_key(number, name);
            all = holds(self, &key, at);
            if !all {
                break;
            }
        }
        self.worker.absent = None;
        // The next command of a transaction or a script may have other keys where these have been.
        if is_filled {
            self.several.forget();
        }
        all
    }

    /// If the command goes by parts, the shards of its next keys take the place of those of the last ones.
    fn lock_part(&mut self) {
        if matches!(self.lends, Lends::ByParts(_)) {
            let hashes: Vec<u64> = self.several.hashes().collect();
            self.lock_next(&hashes);
        }
    }

    /// The same for a key that the command has found.
    pub(crate) fn lock_found(&mut self, key: &Key<'_>) {
        self.lock_next(&[key.hash]);
    }

    fn lock_next(&mut self, hashes: &[u64]) {
        let Lends::ByParts(lending) = &mut self.lends else { return };
        replace(&mut self.held, Held::None).hand_over();
        self.worker.effects.note_partial();
        if !lending.is_full() {
            self.held = lending.lock(hashes);
        } else if let Lends::ByParts(lending) = replace(&mut self.lends, Lends::Never) {
            self.held = lending.take_back(true);
        }
    }

    /// A command that went by parts is over: all of its shards are held if something is left to be done that needs them.
    #[inline]
    pub(crate) fn end_parts(&mut self, needs_shards: bool) {
        if matches!(self.lends, Lends::ByParts(_)) {
            self.end_last_part(needs_shards);
        }
    }

    #[cold]
    fn end_last_part(&mut self, needs_shards: bool) {
        if let Lends::ByParts(lending) = replace(&mut self.lends, Lends::Never) {
            replace(&mut self.held, Held::None).hand_over();
            if needs_shards {
                self.held = lending.take_back(false);
            }
        }
    }

    /// Has the processor load what lookups of all keys of a command of several will read, at once and not one after the other.
    #[inline]
    pub(crate) fn prefetch_several(&mut self) {
        if !self.several.is_single() && self.engine.is_beyond_cache() {
            self.prefetch_known();
        }
    }

    #[inline(never)]
    fn prefetch_known(&mut self) {
        let keys = self.found.command.keys.first();
        let (second, inserts): (fn(&Table, u64) -> bool, bool) = match keys {
            Some(keys) if keys.removes() => (Table::prefetch_removal, false),
            Some(keys) if keys.inserts() => (Table::prefetch_put, true),
            _ => (Table::prefetch_entry, false),
        };
        // First the segments; when they have arrived, the entries in them.
        let (db, held) = (self.db, &mut self.held);
        for known in self.several.all_mut() {
            known.place = known.place.or_else(|| held.place(known.shard()));
            load(held, known, db, |table| table.prefetch(known.hash));
        }
        for known in self.several.all_mut() {
            let may_be_there = load(held, known, db, |table| second(table, known.hash));
            known.is_absent = may_be_there == Some(false) && !inserts;
        }
    }

    /// A key of a command of several. Its shard is the one that is most likely asked for next.
    fn numbered_key<'k>(&mut self, number: usize, name: &'k [u8]) -> Key<'k> {
        let Some(known) = self.several.numbered(number, name) else { return self.key(name) };
        if let Some(place) = known.place {
            self.held.turn_to(place);
        }
        self.worker.absent = known.is_absent.then_some(known.hash);
        Key { bytes: name, hash: known.hash }
    }

    /// For a key that [`Context::each_key`] has just given, and that is to be read: whether it is known that it is not there. Then that
    /// counts as a lookup.
    pub(crate) fn is_known_miss(&mut self, key: &Key<'_>) -> bool {
        let is_absent = self.is_known_absent(key);
        if is_absent {
            self.missed(key);
        }
        is_absent
    }

    /// For a key that [`Context::each_key`] has just given: whether the search ahead has found that it is not there.
    #[inline]
    pub(crate) fn is_known_absent(&mut self, key: &Key<'_>) -> bool {
        let is_absent = self.worker.absent == Some(key.hash);
        debug_assert!(
            !is_absent || self.table(key).get(key.hash, key.bytes).is_none(),
            "nobody has put it since"
        );
        is_absent
    }
}

fn load<R>(held: &mut Held<'_>, known: &Known, db: usize, step: impl FnOnce(&Table) -> R) -> Option<R> {
    if let Some(place) = known.place {
        held.turn_to(place);
    }
    held.shard_mut(known.shard())?.table(db).map(step)
}
