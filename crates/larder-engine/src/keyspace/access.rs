//! The access word of a key: when, or how often, it was used. 24 bits in its entry.
//!
//! ```text
//!  maxmemory-policy *-lfu   | minutes, low 16 bits | counter 8 |    Morris counter, one lost every lfu-decay-time minutes
//!  any other                | seconds, low 24 bits             |    wraps after 194 days
//! ```
//! Both are Redis's words, so that OBJECT, RESTORE and snapshots mean the same. When the policy changes between the two,
//! the words of untouched keys mean nothing for a while.

use crate::config::Hot;
use std::sync::atomic::Ordering::Relaxed;

/// The counter of a new key: it is not the first to go.
const COUNTER_NEW: u32 = 5;
/// The highest counter.
pub(crate) const COUNTER_MAX: u32 = 255;
const SECONDS: u32 = 0xff_ffff;
const MINUTES: u32 = 0xffff;

/// How access words are read and written, as configured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AccessRules {
    /// Words are counters.
    pub counts: bool,
    log_factor: u32,
    decay_minutes: u32,
}

/// How a key that is used now is marked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touch {
    rules: AccessRules,
    now_s: u64,
    /// Random, where counters need it: they are raised if it is below a bound.
    chance: f32,
    /// Leaves the word as it is.
    keeps: bool,
}

impl AccessRules {
    pub(crate) fn load(hot: &Hot) -> Self {
        AccessRules {
            counts: hot.maxmemory_policy.get().is_lfu(),
            log_factor: hot.lfu_log_factor.load(Relaxed) as u32,
            decay_minutes: hot.lfu_decay_time.load(Relaxed) as u32,
        }
    }

    /// The word of a key that is new at `now_s`.
    #[inline]
    pub(crate) fn fresh(&self, now_s: u64) -> u32 {
        if self.counts { self.with_counter(COUNTER_NEW, now_s) } else { now_s as u32 & SECONDS }
    }

    /// The word of a key with this counter.
    pub(crate) fn with_counter(&self, counter: u32, now_s: u64) -> u32 {
        ((now_s / 60) as u32 & MINUTES) << 8 | counter
    }

    /// The word of a key that was last used so long ago.
    pub(crate) fn with_idle(&self, idle_s: u64, now_s: u64) -> u32 {
        now_s.wrapping_sub(idle_s) as u32 & SECONDS
    }

    /// Seconds since the last use.
    #[inline]
    pub(crate) fn idle_s(&self, word: u32, now_s: u64) -> u32 {
        (now_s as u32).wrapping_sub(word) & SECONDS
    }

    /// Seconds since the last use, of words of both kinds; those of counters tell minutes.
    pub(crate) fn unused_s(&self, word: u32, now_s: u64) -> u32 {
        if !self.counts {
            return self.idle_s(word, now_s);
        }
        (((now_s / 60) as u32).wrapping_sub(word >> 8) & MINUTES) * 60
    }

    /// The counter, as it has decayed until now.
    #[inline]
    pub(crate) fn counter(&self, word: u32, now_s: u64) -> u32 {
        let counter = word & COUNTER_MAX;
        if self.decay_minutes == 0 {
            return counter;
        }
        let minutes = ((now_s / 60) as u32).wrapping_sub(word >> 8) & MINUTES;
        counter.saturating_sub(minutes / self.decay_minutes)
    }

    /// How keys are marked that are used at `now_s`; not at all if `keeps`.
    #[inline]
    pub(crate) fn touch(&self, now_s: u64, keeps: bool, rng: &mut fastrand::Rng) -> Touch {
        let chance = if self.counts { rng.f32() } else { 0.0 };
        Touch { rules: *self, now_s, chance, keeps }
    }

    /// What leaves every word as it is.
    pub(crate) fn keep(&self) -> Touch {
        Touch { rules: *self, now_s: 0, chance: 0.0, keeps: true }
    }
}

impl Touch {
    /// The time of the use; 0 if it does not count as one.
    pub(crate) fn now_s(&self) -> u64 {
        if self.keeps { 0 } else { self.now_s }
    }

    /// The word after a use of a key that had another.
    #[inline]
    pub(crate) fn after(&self, word: u32) -> u32 {
        if self.keeps {
            return word;
        }
        if !self.rules.counts {
            return self.now_s as u32 & SECONDS;
        }
        let counter = self.rules.counter(word, self.now_s);
        let bound = 1.0 / (counter.saturating_sub(COUNTER_NEW) as f32 * self.rules.log_factor as f32 + 1.0);
        let raised = u32::from(counter < COUNTER_MAX && self.chance < bound);
        self.rules.with_counter(counter + raised, self.now_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LFU: AccessRules = AccessRules { counts: true, log_factor: 10, decay_minutes: 1 };

    #[test]
    fn counters_rise_with_the_logarithm_of_uses_and_decay_by_the_minute() {
        let mut rng = fastrand::Rng::with_seed(7);
        let mut word = LFU.fresh(0);
        let mut marks = Vec::new();
        for uses in 1..=1_000_000 {
            word = LFU.touch(0, false, &mut rng).after(word);
            if [100, 1_000, 100_000, 1_000_000].contains(&uses) {
                marks.push(LFU.counter(word, 0));
            }
        }
        // What redis.conf tells of factor 10: 10, 18, 142, 255.
        assert!((8..=13).contains(&marks[0]) && (14..=24).contains(&marks[1]), "{marks:?}");
        assert!((130..=155).contains(&marks[2]) && marks[3] == 255, "{marks:?}");
        assert_eq!(LFU.counter(word, 60 * 5 + 1), 250);
        assert_eq!(LFU.counter(word, 60 * 1000), 0);
        assert_eq!(LFU.counter(LFU.with_counter(9, 65_535 * 60), 65_536 * 60), 8, "minutes wrap");
    }

    #[test]
    fn seconds_wrap_and_kept_words_stay() {
        let lru = AccessRules { counts: false, ..LFU };
        let mut rng = fastrand::Rng::with_seed(7);
        assert_eq!(lru.touch(0x0100_0005, false, &mut rng).after(77), 5);
        assert_eq!(lru.touch(9, true, &mut rng).after(77), 77);
        assert_eq!(lru.idle_s(0xff_fffe, 0x0100_0003), 5);
        assert_eq!(lru.idle_s(lru.with_idle(1000, 12), 12), 1000);
    }
}
