//! Moves blocks out of sparse slabs, so that the pages of those go back to the system.
//!
//! A thread looks once a second at how much memory that could free. Above the thresholds of `active-defrag-*` it walks over
//! the keyspace: it works for `active-defrag-cycle-us`, and pauses so that it takes its share of a core. While it works it
//! holds one shard at a time, for about [`HOLD_US`]. MEMORY PURGE has it walk at once.
//!
//! A walk that frees little is not repeated before there is clearly more to be freed: what is left then is in blocks that
//! others share, or in slabs that fit no better.

use super::pace::lock_patiently;
use crate::engine::Engine;
use crate::host::Fragmentation;
use crate::keyspace::key::SHARDS;
use crate::keyspace::locks::MayWait;
use crate::panic_on_demand::panic_if_armed;
use larder_packed::heap::{self, Mover};
use std::sync::Weak;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// How often it is looked whether a walk was asked for.
const PERIOD: Duration = Duration::from_millis(100);
/// The same while all blocks are moved all the time.
const PERIOD_FORCED: Duration = Duration::from_millis(1);
/// The shortest pause, and the most holds between two, for a clock that tests have stopped.
const PAUSE_MIN: Duration = Duration::from_micros(100);
const HOLDS_MAX: u32 = 500;
/// How often the fragmentation is looked at.
const LOOK_US: u64 = 1_000_000;
/// How long a shard is held, about.
const HOLD_US: u64 = 100;
/// Effort of a hold: what takes about [`HOLD_US`] is found by measuring.
const EFFORT_MIN: usize = 5_000;
const EFFORT_MAX: usize = 400_000;
/// Share of a core for a walk that was asked for.
const ASKED_PERCENT: u64 = 50;
/// Walks that follow each other when one was asked for.
const ASKED_WALKS: u32 = 3;
/// By how much more there must be to be freed after a walk before the next one.
const GROWTH_MIN: u64 = 2 << 20;

/// What the thread does until the engine is gone.
pub(super) fn run(engine: &Weak<Engine>, may_wait: &MayWait) {
    if let Some(engine) = engine.upgrade() {
        engine.host.prepare_to_move();
    }
    let mut defrag = Defrag::new();
    let mut pause = PERIOD;
    loop {
        std::thread::sleep(pause);
        panic_if_armed();
        let Some(engine) = engine.upgrade() else { return };
        pause = defrag.turn(&engine, may_wait);
    }
}

/// Where a walk is.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    shard: usize,
    db: usize,
    position: u32,
}

struct Defrag {
    mover: Mover,
    /// Where the present walk is, if there is one.
    place: Option<Place>,
    /// Whether the present walk was asked for, and how many are to follow it.
    asked: Option<u32>,
    /// Percent of a core that the present walk may take.
    percent: u64,
    effort: usize,
    next_look_us: u64,
    /// What there was to be freed before the present walk.
    before: u64,
    /// What was left after the last walk, if that has freed little.
    remainder: u64,
}

impl Defrag {
    fn new() -> Defrag {
        Defrag {
            mover: Mover::new(),
            place: None,
            asked: None,
            percent: 0,
            effort: EFFORT_MIN,
            next_look_us: 0,
            before: 0,
            remainder: 0,
        }
    }

    /// Works a little, if there is something to do; returns how long to pause.
    fn turn(&mut self, engine: &Engine, may_wait: &MayWait) -> Duration {
        let is_forced = engine.debug.moves_always.load(Relaxed);
        self.mover.move_all(is_forced);
        let now_us = engine.mono_us();
        if engine.gate.is_loading() {
            return PERIOD;
        }
        if engine.defrag.take_asked() {
            (self.percent, self.asked) = (ASKED_PERCENT, Some(ASKED_WALKS - 1));
            self.place.get_or_insert_default();
            engine.host.release_caches();
        } else if self.place.is_none() && is_forced {
            self.place = Some(Place::default());
        } else if self.place.is_none() && self.is_due(engine, now_us) {
            self.place = Some(Place::default());
            engine.host.release_caches();
        }
        let is_wanted = is_forced || self.asked.is_some() || engine.config.hot.activedefrag.load(Relaxed);
        if self.place.is_none() || !is_wanted {
            self.place = None;
            engine.defrag.end(now_us);
            return PERIOD;
        }
        engine.defrag.run(self.percent.max(1), now_us);
        let work_us = self.work(engine, may_wait);
        engine.defrag.note(self.mover.moved());
        if is_forced {
            return PERIOD_FORCED;
        }
        if self.place.is_none() {
            self.end(engine);
        }
        let percent = self.percent.clamp(1, 99);
        Duration::from_micros(work_us * (100 - percent) / percent).max(PAUSE_MIN)
    }

    /// Whether a walk should begin; sets its share of a core.
    fn is_due(&mut self, engine: &Engine, now_us: u64) -> bool {
        if now_us < self.next_look_us || !engine.config.hot.activedefrag.load(Relaxed) {
            return false;
        }
        self.next_look_us = now_us + LOOK_US;
        let found = engine.host.fragmentation();
        self.remainder = self.remainder.min(found.sparse);
        let percent = share(engine, found);
        (self.percent, self.before) = (percent.unwrap_or(0), found.sparse);
        percent.is_some() && found.sparse > self.remainder + self.remainder / 8 + GROWTH_MIN
    }

    /// Walks on for one cycle; returns how long that took, in microseconds.
    fn work(&mut self, engine: &Engine, may_wait: &MayWait) -> u64 {
        let begin_us = engine.mono_us();
        let cycle_us = engine.config.hot.active_defrag_cycle_us.load(Relaxed) as u64;
        for _ in 0..HOLDS_MAX {
            let is_over = engine.mono_us() - begin_us > cycle_us;
            let Some(place) = self.place.filter(|_| !is_over) else { break };
            self.place = self.hold(engine, place, may_wait);
        }
        engine.mono_us() - begin_us
    }

    /// Moves blocks of one table while its shard is held; returns where to continue.
    fn hold(&mut self, engine: &Engine, place: Place, may_wait: &MayWait) -> Option<Place> {
        let mut data = lock_patiently(&engine.shards, place.shard, may_wait);
        let begin_us = engine.mono_us();
        let Some(table) = data.tables_mut().get_mut(place.db) else {
            let next = Place { shard: place.shard + 1, ..Place::default() };
            return (next.shard < SHARDS).then_some(next);
        };
        self.mover.allow(self.effort);
        let next = table.move_blocks(place.position, &mut self.mover);
        let (took_us, is_whole) = (engine.mono_us() - begin_us, self.mover.is_spent());
        drop(data);
        if took_us > 2 * HOLD_US {
            self.effort = (self.effort / 2).max(EFFORT_MIN);
        } else if is_whole && took_us < HOLD_US {
            self.effort = (self.effort + self.effort / 4).min(EFFORT_MAX);
        }
        Some(match next {
            Some(position) => Place { position, ..place },
            None => {
                self.mover.restart();
                Place { db: place.db + 1, position: 0, ..place }
            }
        })
    }

    /// A walk has ended.
    fn end(&mut self, engine: &Engine) {
        heap::trim();
        engine.share_growth();
        if let Some(left) = self.asked {
            engine.host.purge();
            self.asked = left.checked_sub(1);
            self.place = self.asked.map(|_| Place::default());
            return;
        }
        let left = engine.host.fragmentation().sparse;
        self.remainder = if left > self.before / 4 * 3 { left } else { 0 };
        self.next_look_us = engine.mono_us() + LOOK_US;
    }
}

/// Percent of a core for this fragmentation; none below the thresholds.
fn share(engine: &Engine, found: Fragmentation) -> Option<u64> {
    let hot = &engine.config.hot;
    let percent = found.sparse * 100 / found.used.max(1);
    let lower = hot.active_defrag_threshold_lower.load(Relaxed) as u64;
    let upper = hot.active_defrag_threshold_upper.load(Relaxed) as u64;
    if percent < lower || found.sparse < hot.active_defrag_ignore_bytes.load(Relaxed) {
        return None;
    }
    let (min, max) =
        (hot.active_defrag_cycle_min.load(Relaxed) as u64, hot.active_defrag_cycle_max.load(Relaxed) as u64);
    Some(between((percent, lower, upper), (min, max)))
}

/// What lies between two values as a number lies between two bounds.
fn between((number, lower, upper): (u64, u64, u64), (min, max): (u64, u64)) -> u64 {
    if number >= upper || upper <= lower || max <= min {
        return max;
    }
    min + (max - min) * (number.saturating_sub(lower)) / (upper - lower)
}

#[cfg(test)]
mod tests {
    use super::between;

    #[test]
    fn the_share_grows_between_the_thresholds() {
        let share = |percent| between((percent, 10, 100), (1, 25));
        assert_eq!([10, 55, 99, 100, 500].map(share), [1, 13, 24, 25, 25]);
        assert_eq!(between((50, 100, 10), (1, 25)), 25);
        assert_eq!(between((50, 10, 100), (30, 25)), 25);
    }
}
