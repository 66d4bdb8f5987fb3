//! A script that runs for a while lends its shards: it reserves the keys that it works on, holds their shards only while it executes a
//! command, and takes all of them back before it ends. So it holds up those who want its keys, and no others.
//!
//! Who locks shards for certain keys (`lock_*_or_later`, but for all of them, and `try_lock_many_lent`) looks whether one of these is reserved, and if so lets go and
//! waits until the script has ended ([`Shards::wait_for_reserved`], [`Shards::wait_for_lender`]). For whoever locks a shard for more than that, a
//! shard with reserved keys is one that is held: all other methods see to that.
//!
//! A command of very many keys does the same with the shards of its keys, some keys at a time, if no script runs; and so does a transaction that takes long.
//!
//! One script at a time lends, since it has the turn. A key is reserved if the script declares it, or else when it is first used, under the lock of
//! its shard, and until the script has ended; the script waits for shards only while it holds none or lower ones. That is two-phase locking of keys by one owner: nobody
//! sees half of what the script does, and there is nobody it could wait for who waits for it.
//!
//! Which keys of a shard are reserved, the shard knows (`keyspace/reserved.rs`).

use super::awaited::{LENDING, Unlocked};
use super::{ALL, Busy, Held, MayWait, ScriptTurn, ShardGuard, Shards, in_order};
use crate::keyspace::hash::shard_of;
use crate::keyspace::key::SHARDS;
use crate::keyspace::reserved::Reserved;
use crate::keyspace::shard::ShardData;
use crate::ledger;
use parking_lot::MutexGuard;
use std::sync::atomic::Ordering::Relaxed;

/// Who uses more keys holds all shards: eight bytes and some more are needed for each.
const KEYS_MAX: usize = 1 << 20;

/// The shards that a script lends, until it [takes them back](Lending::take_back).
pub(crate) struct Lending<'e> {
    shards: &'e Shards,
    /// A bit for each shard with reserved keys, and each that was held before.
    of: [u64; SHARDS / 64],
    /// The key that was reserved last.
    last: u64,
    /// Reserved keys.
    keys: usize,
    /// Others wait for it.
    _guard: MutexGuard<'e, ()>,
}

/// Whether the script that runs lends its shards.
pub(crate) enum Lends<'a> {
    /// It does not, or no script runs.
    Never,
    /// It holds them until this time, in nanoseconds of the worker's clock. The keys that it uses are noted.
    After(u64),
    /// It does.
    Now(Box<Lending<'a>>),
    /// No script does, but a command of very many keys, which are worked on some at a time.
    ByParts(Box<Lending<'a>>),
}

impl Shards {
    /// Reserves the keys with these hashes, whose shards a script holds, and lets the shards go.
    pub(crate) fn lend<'e>(
        &'e self,
        mut held: Held<'e>,
        hashes: impl Iterator<Item = u64>,
        _turn: &ScriptTurn<'_>,
    ) -> Lending<'e> {
        // Those who wait for it do not keep it, so this is a matter of a moment.
        let guard = self.lending.lock();
        let mut lending = Lending { shards: self, of: [0; _], last: 0, keys: 0, _guard: guard };
        for (at, _) in held.each_mut() {
            lending.note(at);
        }
        for hash in hashes {
            let data = held.shard_mut(shard_of(hash)).expect("a script holds the shards of its keys");
            lending.reserve(data, hash);
        }
        held.hand_over();
        lending
    }

    /// Waits until the script that has reserved a key has ended. Nothing is held. A caller that `puts_aside` waits no longer than a moment.
    ///
    /// # Errors
    /// The script runs for too long, or the command is to be put aside.
    #[cold]
    pub(crate) fn wait_for_reserved(&self, puts_aside: bool) -> Result<(), Unlocked> {
        if !puts_aside {
            return Ok(self.wait_for_lender()?);
        }
        self.awaited.add(LENDING);
        // A script that ended before that did not look.
        match self.lending.try_lock() {
            Some(_) => Ok(()),
            None if self.is_busy() => Err(Unlocked::Busy),
            None => Err(Unlocked::Later),
        }
    }

    /// Waits until the script that lends shards has ended, holding none; gives up when it runs for too long.
    #[cold]
    pub(crate) fn wait_for_lender(&self) -> Result<(), Busy> {
        ledger::waits();
        self.waiting.fetch_add(1, Relaxed);
        let waited = self.wait(&self.lending).map(drop);
        self.waiting.fetch_sub(1, Relaxed);
        waited
    }

    /// About how many threads for long commands execute none of them: one runs a script, and others wait for its end.
    pub(crate) fn waiting_threads(&self) -> usize {
        usize::from(self.turn.is_locked()) + self.waiting.load(Relaxed)
    }

    /// Locks a shard that is not lent, however long that takes.
    pub(super) fn lock_unlent(&self, at: usize, MayWait(()): &MayWait) -> ShardGuard<'_> {
        loop {
            let data = self.lock_at(at);
            if data.reserved.is_empty() {
                return data;
            }
            drop(data);
            drop(self.lending.lock());
        }
    }

    /// Takes the turn, if nobody has it. It waits for nobody, so shards may be held.
    pub(crate) fn take_turn_now(&self) -> Option<ScriptTurn<'_>> {
        self.turn.try_lock().map(ScriptTurn::of)
    }

    /// Takes the turn, if nobody has it, and lends with it: no shards at first.
    pub(crate) fn lend_nothing(&self) -> Option<(ScriptTurn<'_>, Lending<'_>)> {
        ledger::waits();
        let turn = self.take_turn_now()?;
        let lending = self.lend(Held::None, std::iter::empty(), &turn);
        Some((turn, lending))
    }
}

impl<'e> Lending<'e> {
    /// Whether no further keys are to be reserved: all shards are to be taken back instead.
    pub(crate) fn is_full(&self) -> bool {
        self.keys >= KEYS_MAX
    }

    /// Locks the shards of the keys with these hashes for a command of the script, and reserves those that are not reserved yet. The script
    /// holds no shard.
    #[inline]
    pub(crate) fn lock(&mut self, hashes: &[u64]) -> Held<'e> {
        ledger::waits();
        match *hashes {
            [] => Held::None,
            [hash] => {
                let at = shard_of(hash);
                let mut data = self.shards.lock_at(at);
                self.reserve(&mut data, hash);
                Held::One(at, data)
            }
            _ => {
                let wanted = in_order(hashes.iter().map(|&hash| shard_of(hash)).collect());
                let mut held = self.lock_in_order(&wanted);
                for &hash in hashes {
                    self.reserve(held.shard_mut(shard_of(hash)).expect("it was locked"), hash);
                }
                held
            }
        }
    }

    /// Locks shards again, in ascending order, that were let go in the middle of a command.
    pub(crate) fn lock_again(&self, wanted: &[usize]) -> Held<'e> {
        ledger::waits();
        self.lock_in_order(wanted)
    }

    /// Locks all shards with reserved keys and those that were held at first, or `all` there are, which from then on are held and no more lent. All are locked too if somebody waits
    /// in one of them to move elements elsewhere. The script holds no shard.
    pub(crate) fn take_back(mut self, all: bool) -> Held<'e> {
        ledger::waits();
        let lent = self.lent();
        let mut held = self.lock_in_order(if all { &ALL } else { &lent });
        if !all && held.any(|data| data.waiting.has_movers()) {
            drop(held);
            held = self.lock_in_order(&ALL);
        }
        for at in lent {
            held.shard_mut(at).expect("it was locked").reserved = Reserved::default();
        }
        self.of = [0; _];
        held
    }

    fn lock_in_order(&self, wanted: &[usize]) -> Held<'e> {
        let lock = |&at: &usize| {
            ledger::ascends(at);
            (at, self.shards.lock_at(at))
        };
        let guards: Vec<_> = wanted.iter().map(lock).collect();
        if guards.len() == SHARDS { Held::all(guards, None) } else { Held::many(guards) }
    }

    #[inline]
    fn reserve(&mut self, data: &mut ShardData, hash: u64) {
        // Mostly it is the same key again and again.
        if self.last == hash && self.keys > 0 {
            return;
        }
        self.last = hash;
        if data.reserved.add(hash) {
            self.note(shard_of(hash));
            self.keys += 1;
        }
    }

    fn note(&mut self, at: usize) {
        self.of[at / 64] |= 1 << (at % 64);
    }

    /// The shards that are to be taken back, in ascending order.
    fn lent(&self) -> Vec<usize> {
        (0..SHARDS).filter(|at| self.of[at / 64] >> (at % 64) & 1 == 1).collect()
    }
}

impl Drop for Lending<'_> {
    /// A script that panics leaves nothing reserved.
    fn drop(&mut self) {
        for at in self.lent() {
            self.shards.lock_at(at).reserved = Reserved::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keyspace::hash::hash;
    use crate::keyspace::key::Key;
    use crate::keyspace::locks::spawn_background;
    use std::sync::{Arc, Barrier};
    use std::thread;

    const NAMES: [&[u8]; 3] = [b"a", b"b", b"c"];

    /// A script has used `NAMES`, and lends.
    fn lending<'e>(shards: &'e Shards, turn: &ScriptTurn<'_>) -> Lending<'e> {
        let hashes = NAMES.map(hash);
        let held =
            shards.lock_many_or_later(hashes.map(shard_of).to_vec(), false).expect("nobody holds them");
        shards.lend(held, hashes.into_iter(), turn)
    }

    #[test]
    fn a_lent_shard_is_free_for_certain_keys_and_held_for_all_others() {
        let shards = Shards::default();
        let turn = shards.try_take_turn(crate::ledger::NoShards::of_command()).expect("nobody has it");
        let mut lending = lending(&shards, &turn);
        assert_eq!(lending.keys, 3);
        let at = shard_of(hash(b"a"));
        let (shards, key) = (&shards, Key::of(b"a"));
        let others = move || {
            let mut held = shards.lock_many_or_later(vec![at], true).expect("it is free");
            let reserved = &held.shard_of(&key).reserved;
            assert!(reserved.has(key.hash) && !reserved.has(key.hash ^ 1 << 63));
            drop(held);
            assert!(shards.lock_now(at).is_none() && shards.lock_soon(at).is_none());
            assert!(shards.lock_lent_now(at).is_some());
            assert_eq!(shards.lock_all_or_later(true).err(), Some(Unlocked::Later));
            assert_eq!(shards.wait_for_reserved(true), Err(Unlocked::Later));
            assert!(!shards.has_let_go());
        };
        thread::scope(|scope| drop(scope.spawn(others)));
        let held = lending.lock(&NAMES.map(hash));
        assert!(NAMES.iter().all(|name| held.holds(Key::of(name).shard())));
        drop(held);
        let mut held = lending.take_back(false);
        assert!(NAMES.iter().all(|name| held.shard_of(&Key::of(name)).reserved.is_empty()));
        drop(held);
        assert!(shards.has_let_go() && shards.lock_all_or_later(true).is_ok_and(|held| held.is_all()));
        assert_eq!(shards.wait_for_reserved(true), Ok(()));
    }

    #[test]
    fn keys_are_reserved_when_they_are_used_and_all_shards_can_be_taken_back() {
        let shards = Shards::default();
        let turn = shards.try_take_turn(crate::ledger::NoShards::of_command()).expect("nobody has it");
        let mut lending = lending(&shards, &turn);
        let further: Vec<u64> = (0..1000).map(|n: u32| hash(&n.to_le_bytes())).collect();
        further.iter().for_each(|&hash| drop(lending.lock(&[hash, hash])));
        assert_eq!(lending.keys, 1003);
        let held = lending.take_back(true);
        assert!(held.is_all() && !held.any(|data| !data.reserved.is_empty()));
    }

    #[test]
    fn those_who_may_wait_do_until_the_script_has_ended() {
        let shards = Arc::new(Shards::default());
        let turn = shards.try_take_turn(crate::ledger::NoShards::of_command()).expect("nobody has it");
        let lending = lending(&shards, &turn);
        let (begun, waiting) = (Arc::new(Barrier::new(2)), Arc::clone(&shards));
        let begins = Arc::clone(&begun);
        let waiter = spawn_background("test", move |may_wait| {
            begins.wait();
            waiting.lock_one(shard_of(hash(b"b")), may_wait).reserved.is_empty()
        });
        begun.wait();
        drop(lending.take_back(false));
        assert!(waiter.expect("a thread starts").join().expect("it does not panic"));
    }

    #[test]
    fn a_script_that_takes_too_long_is_busy_and_one_that_panics_leaves_nothing() {
        let shards = Shards::default();
        let turn = shards.try_take_turn(crate::ledger::NoShards::of_command()).expect("nobody has it");
        let lending = lending(&shards, &turn);
        let at = shard_of(hash(b"c"));
        shards.set_busy(true);
        let gives_up = || {
            assert_eq!(shards.try_lock_one(at, crate::ledger::NoShards::of_command()).err(), Some(Busy));
            assert_eq!(shards.try_lock_all(crate::ledger::NoShards::of_command()).err(), Some(Busy));
            assert_eq!(shards.wait_for_reserved(false), Err(Unlocked::Busy));
            assert!(shards.try_lock_lent(at).is_ok());
            assert!(shards.try_lock_many_lent(vec![at, 0, 1]).is_ok());
        };
        thread::scope(|scope| drop(scope.spawn(gives_up)));
        shards.set_busy(false);
        drop(lending);
        assert!(
            shards
                .try_lock_all(crate::ledger::NoShards::of_command())
                .is_ok_and(|held| !held.any(|data| !data.reserved.is_empty()))
        );
    }
}
