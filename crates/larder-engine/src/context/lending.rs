//! The shards of a script. At first it holds those of its keys, and locks further ones as it needs them. After a moment it lends them, so that it
//! holds up only those who want keys that it declares or has used: how these are reserved is in `keyspace/locks/lending.rs`.
//!
//! From then on it holds shards while it executes a command, and lets them go also in the middle of one that reads or makes much, as
//! commands by themselves do (`long.rs`): since the keys are reserved, nothing has to be looked at again afterwards. Before it ends it takes all of its
//! shards back: what it has done is logged, and clients that wait for its keys are served, in one piece.
//!
//! A script lends nothing if it is part of a transaction or debugged, if it has called a command that needs all shards, or if it
//! uses more than a million keys.
//!
//! A transaction does the same on a thread for long commands, if no script runs when it begins. It has the turn meanwhile, and gives it up as soon as a script
//! wants it: then it holds its shards to its end. So it does if it runs scripts or needs all shards, or if another transaction lends.

use super::Context;
use super::postponed::Place;
use crate::clients::queue::Queue;
use crate::command::keys;
use crate::command::spec::Found;
use crate::keyspace::hash::{hash, shard_of};
use crate::keyspace::locks::{Held, Lends};
use larder_resp::Args;
use std::mem::replace;
use std::time::Duration;

/// How long a script holds its shards before it lends them.
pub(crate) const HOLDS_FOR: Duration = Duration::from_millis(1);
/// Keys that room is kept for.
const KEYS_KEPT: usize = 4096;

impl Context<'_> {
    /// A script begins that declares these keys. It has the turn, and may lend its shards.
    pub(crate) fn begin_lending<'k>(&mut self, declared: impl Iterator<Item = &'k [u8]>) {
        self.worker.script_keys.clear();
        self.worker.script_keys.extend(declared.map(hash));
        self.lends = Lends::After(self.worker.clock.mono_ns() + HOLDS_FOR.as_nanos() as u64);
    }

    /// A transaction begins, which holds the shards of its keys: it may lend them, if it takes long and no script runs.
    pub(crate) fn begin_lending_of(&mut self, queue: &Queue) {
        if self.place() != Place::Long || self.turn.is_some() || self.held.is_all() {
            return;
        }
        self.turn = self.engine.shards.take_turn_now();
        if self.turn.is_some() {
            self.begin_lending(
                queue.commands.iter().flat_map(|(found, args)| keys::of(*found, args.as_args())),
            );
        }
    }

    /// Locks the shards of a command that a transaction is about to execute, if it lends them. If a script wants the turn it gets it, and the transaction holds
    /// its shards from now on.
    pub(crate) fn lock_for_queued(&mut self, found: Found, args: Args<'_>) {
        if !self.may_lend() {
            return;
        }
        if self.engine.shards.is_turn_awaited() {
            self.take_back();
            self.turn = None;
            self.engine.retry_put_aside();
        } else {
            self.lock_for_call(found, args, false);
        }
    }

    /// Whether the script that runs lends its shards, now or later.
    pub(crate) fn may_lend(&self) -> bool {
        matches!(self.lends, Lends::After(_) | Lends::Now(_))
    }

    /// Whether the script that runs will lend its shards when it has held them for long enough.
    pub(crate) fn is_about_to_lend(&self) -> bool {
        matches!(self.lends, Lends::After(_))
    }

    /// Locks the shards of a command that a script is about to call, as far as it does not hold them.
    pub(crate) fn lock_for_call(&mut self, found: Found, args: Args<'_>, needs_all: bool) {
        if needs_all {
            return self.hold_all();
        }
        let notes = self.is_about_to_lend();
        let noted = &mut self.worker.script_keys;
        match &mut self.lends {
            Lends::Now(lending) if !lending.is_full() => {
                noted.clear();
                each_hash(found, args, |hash| noted.push(hash));
                self.held = lending.lock(noted);
            }
            Lends::Now(_) => self.hold_all(),
            _ if self.held.is_all() && !notes => {}
            _ => {
                let mut missing = Vec::new();
                each_hash(found, args, |hash| {
                    if notes && noted.last() != Some(&hash) {
                        noted.push(hash);
                    }
                    if !self.held.holds(shard_of(hash)) {
                        missing.push(shard_of(hash));
                    }
                });
                self.hold(&missing);
            }
        }
    }

    /// Holds further shards from now on.
    fn hold(&mut self, missing: &[usize]) {
        if missing.is_empty() {
            return;
        }
        let (shards, turn) = (&self.engine.shards, self.turn.as_ref().expect("a script has the turn"));
        let mut held = shards.widen_to(replace(&mut self.held, Held::None), missing, turn);
        // Those who wait there to move elements elsewhere need the shards of elsewhere.
        if held.any(|data| data.waiting.has_movers()) {
            held = shards.widen(held, turn);
        }
        self.held = held;
        self.begin_check();
    }

    /// Holds all shards from now on.
    fn hold_all(&mut self) {
        let turn = self.turn.as_ref().expect("a script has the turn");
        self.held = match replace(&mut self.lends, Lends::Never) {
            Lends::Now(lending) => lending.take_back(true),
            _ => self.engine.shards.widen(replace(&mut self.held, Held::None), turn),
        };
        self.begin_check();
    }

    /// A command that the script has called is over: if the script lends its shards they are let go, and it does if it has held them for long enough.
    #[inline]
    pub(crate) fn end_call(&mut self) {
        match self.lends {
            Lends::Never | Lends::ByParts(_) => {}
            Lends::After(then_ns) if self.worker.clock.mono_ns() < then_ns => {}
            _ => self.lend(),
        }
    }

    /// Lets go of the shards of a script that may lend them.
    pub(crate) fn lend(&mut self) {
        match self.lends {
            Lends::Never | Lends::ByParts(_) => return,
            Lends::After(_) => {
                self.worker.effects.note_partial();
                let turn = self.turn.as_ref().expect("a script has the turn");
                let (held, noted) = (replace(&mut self.held, Held::None), &mut self.worker.script_keys);
                let lending = self.engine.shards.lend(held, noted.drain(..), turn);
                self.lends = Lends::Now(Box::new(lending));
            }
            Lends::Now(_) => replace(&mut self.held, Held::None).hand_over(),
        }
        self.engine.retry_put_aside();
    }

    /// Lets go of the shards of a script in the middle of a command, for as long as `work` takes.
    pub(super) fn lend_meanwhile<R>(&mut self, work: impl FnOnce() -> R) -> R {
        let wanted: Vec<usize> = self.held.each_mut().map(|(at, _)| at).collect();
        self.lend();
        let done = work();
        if let Lends::Now(lending) = &self.lends {
            self.held = lending.lock_again(&wanted);
        }
        done
    }

    /// A script is about to end: it holds all of its shards, and lends none any more.
    pub(crate) fn take_back(&mut self) {
        if let Lends::Now(lending) = replace(&mut self.lends, Lends::Never) {
            self.held = lending.take_back(false);
        }
        self.worker.script_keys.clear();
        self.worker.script_keys.shrink_to(KEYS_KEPT);
    }
}

/// Calls `each` with the hash of every key of a command.
#[inline]
fn each_hash(found: Found, args: Args<'_>, mut each: impl FnMut(u64)) {
    keys::each(found.command, args, |name| each(hash(name)));
}
