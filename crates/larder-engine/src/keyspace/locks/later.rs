//! What a thread that serves many clients does when somebody keeps a shard for longer than a moment: it puts the command aside, serves its
//! other clients, and tries again. So a long command holds up those who want its keys, and no others.
//!
//! A shard that a command was put aside for is *awaited*: the next command that wants it is put aside at once. After each command its
//! thread looks whether what is awaited has been let go; if so, all workers try again what they have put aside. Threads that let go of a
//! shard otherwise do not look, and one that looks may just miss somebody: so workers also try again by themselves every few ms.
//!
//! The turn of the scripts, the end of an applier's batch, and that of a script that lends its shards, are awaited in the same way.

use super::awaited::{BATCH, LENDING, TURN, Unlocked};
use super::{
    ALL, Batch, Busy, Held, Numbered, SOON, ScriptTurn, ShardGuard, Shards, in_order, is_unlent, note, spin,
};
use crate::ledger::{self, NoShards};
use parking_lot::{Mutex, MutexGuard};

impl From<Busy> for Unlocked {
    fn from(Busy: Busy) -> Self {
        Unlocked::Busy
    }
}

impl Shards {
    /// Locks a shard for certain keys, of which the caller looks whether they are reserved; gives up when a script keeps it for long, and if the caller
    /// `puts_aside`, when anybody does.
    #[inline]
    pub(crate) fn lock_one_or_later(&self, at: usize, puts_aside: bool) -> Result<ShardGuard<'_>, Unlocked> {
        match self.lock_lent_now(at) {
            Some(data) => Ok(data),
            None if puts_aside => self.lock_shortly(at),
            None => Ok(self.try_lock_lent(at)?),
        }
    }

    /// The same for the shards in `wanted`, which need be neither sorted nor unique.
    pub(crate) fn lock_many_or_later(
        &self,
        wanted: Vec<usize>,
        puts_aside: bool,
    ) -> Result<Held<'_>, Unlocked> {
        self.lock_in_order_or_later(&in_order(wanted), puts_aside)
    }

    /// The same for shards in ascending order, each once.
    pub(crate) fn lock_in_order_or_later(
        &self,
        wanted: &[usize],
        puts_aside: bool,
    ) -> Result<Held<'_>, Unlocked> {
        match *wanted {
            [] => Ok(Held::None),
            [at] => Ok(Held::One(at, self.lock_one_or_later(at, puts_aside)?)),
            _ if puts_aside => Ok(Held::many(self.lock_shortly_in_order(wanted)?)),
            _ => Ok(Held::many(self.try_lock_in_order(wanted)?)),
        }
    }

    /// Locks all shards, of which none is lent; gives up in the same way.
    pub(crate) fn lock_all_or_later(&self, puts_aside: bool) -> Result<Held<'_>, Unlocked> {
        if !puts_aside {
            return Ok(self.try_lock_all(NoShards::of_command())?);
        }
        loop {
            ledger::waits();
            let batch = Batch { _guard: self.shortly(&self.batch, BATCH)? };
            let guards = self.lock_shortly_in_order(&ALL)?;
            if guards.iter().all(|(_, data)| is_unlent(data)) {
                return Ok(Held::all(guards, Some(batch)));
            }
            drop((guards, batch));
            self.wait_for_reserved(puts_aside)?;
        }
    }

    /// Takes the turn of the scripts; gives up as when a shard is locked.
    pub(crate) fn take_turn_or_later(&self, puts_aside: bool) -> Result<ScriptTurn<'_>, Unlocked> {
        if !puts_aside {
            return Ok(self.try_take_turn(NoShards::of_command())?);
        }
        ledger::waits();
        Ok(ScriptTurn::of(self.shortly(&self.turn, TURN)?))
    }

    /// Whether a script waits for the turn, or was put aside for it.
    pub(crate) fn is_turn_awaited(&self) -> bool {
        self.awaited.has(TURN)
    }

    /// Whether something that commands were put aside for has been let go since this was last asked.
    #[inline]
    pub(crate) fn has_let_go(&self) -> bool {
        !self.awaited.is_empty()
            && self.awaited.forget(|at| match at {
                TURN => !self.turn.is_locked(),
                BATCH => !self.batch.is_locked(),
                LENDING => !self.lending.is_locked(),
                at => !self.list[at].0.is_locked(),
            })
    }

    /// In ascending order (L1). Who waits for one of those that are held so far waits a moment only.
    fn lock_shortly_in_order(&self, wanted: &[usize]) -> Result<Vec<Numbered<'_>>, Unlocked> {
        let mut guards = Vec::with_capacity(wanted.len());
        for &at in wanted {
            ledger::ascends(at);
            guards.push((at, self.lock_one_or_later(at, true)?));
        }
        Ok(guards)
    }

    #[cold]
    fn lock_shortly(&self, at: usize) -> Result<ShardGuard<'_>, Unlocked> {
        Ok(note(at, self.shortly(&self.list[at].0, at)?))
    }

    /// Locks what is awaited under a number, if it becomes free soon and nobody was put aside for it before.
    fn shortly<'t, T>(&self, mutex: &'t Mutex<T>, at: usize) -> Result<MutexGuard<'t, T>, Unlocked> {
        if let Some(guard) = mutex.try_lock() {
            return Ok(guard);
        }
        let wait = || spin(mutex).or_else(|| self.waits.note(|| mutex.try_lock_for(SOON)));
        let waited = if self.awaited.has(at) { None } else { wait() };
        if let Some(guard) = waited {
            return Ok(guard);
        }
        self.awaited.add(at);
        // Who let go of it before it was awaited did not look.
        match mutex.try_lock() {
            Some(guard) => Ok(guard),
            None if self.is_busy() => Err(Unlocked::Busy),
            None => Err(Unlocked::Later),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_put_aside_and_tried_when_it_is_free() {
        let shards = Shards::default();
        assert!(!shards.has_let_go());
        let (kept, told) = (std::sync::Barrier::new(2), std::sync::Barrier::new(2));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let guard = shards.lock_now(7);
                kept.wait();
                told.wait();
                drop(guard);
                told.wait();
            });
            kept.wait();
            assert_eq!(shards.lock_one_or_later(7, true).err(), Some(Unlocked::Later));
            assert_eq!(shards.lock_many_or_later(vec![9, 7, 3], true).err(), Some(Unlocked::Later));
            assert_eq!(shards.lock_all_or_later(true).err(), Some(Unlocked::Later));
            assert!(shards.lock_many_or_later(vec![9, 3], true).is_ok_and(|held| held.holds(9)));
            assert!(!shards.has_let_go(), "it is kept");
            told.wait();
            told.wait();
        });
        assert!(shards.has_let_go());
        assert!(!shards.has_let_go(), "it is told once");
        assert!(shards.lock_one_or_later(7, true).is_ok());
        assert!(shards.lock_all_or_later(true).is_ok_and(|held| held.is_all()));
    }

    #[test]
    fn the_turn_is_awaited_too() {
        let shards = Shards::default();
        let turn = shards.take_turn_or_later(true).expect("nobody has it");
        std::thread::scope(|scope| {
            scope.spawn(|| assert_eq!(shards.take_turn_or_later(true).err(), Some(Unlocked::Later)));
        });
        drop(turn);
        assert!(shards.has_let_go());
    }

    #[test]
    fn a_script_that_runs_for_long_is_named() {
        let shards = Shards::default();
        shards.set_busy(true);
        let guard = shards.lock_now(1);
        std::thread::scope(|scope| {
            scope.spawn(|| assert_eq!(shards.lock_one_or_later(1, true).err(), Some(Unlocked::Busy)));
        });
        drop(guard);
    }
}
