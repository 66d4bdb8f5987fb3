//! How often a worker asks for events before it sleeps: spinning for a while, as locks do.
//!
//! Falling asleep and being woken costs a few microseconds of processor time; asking the kernel again costs a fifth of
//! one. So a worker that is usually woken soon asks some more times first, and one that asks in vain stops it: an
//! idle server sleeps at once.

use std::time::Duration;

/// Most questions before sleeping: about as dear as one sleep.
const SPINS_MAX: u32 = 20;
/// A sleep shorter than this was not worth it.
const SHORT: Duration = Duration::from_micros(30);

/// Decides between asking again and sleeping.
#[derive(Debug, Default)]
pub struct Spin {
    /// Questions asked since the last event.
    spins: u32,
    /// Questions that may be asked before sleeping.
    budget: u32,
}

impl Spin {
    /// Whether to ask without waiting.
    pub fn should_spin(&self) -> bool {
        self.spins < self.budget
    }

    /// Learns from one wait: whether it was only a question, whether it found anything, and how long it took.
    pub fn learn(&mut self, has_spun: bool, found: bool, took: Duration) {
        if found {
            self.spins = 0;
            if !has_spun && took < SHORT {
                self.budget = (2 * self.budget + 1).min(SPINS_MAX);
            }
        } else if has_spun {
            self.spins += 1;
            if self.spins == self.budget {
                self.budget /= 2;
                self.spins = self.budget;
            }
        }
        if found && has_spun {
            self.budget = (self.budget + 1).min(SPINS_MAX);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MICRO: Duration = Duration::from_micros(1);

    #[test]
    fn short_sleeps_raise_the_budget_and_vain_questions_lower_it() {
        let mut spin = Spin::default();
        assert!(!spin.should_spin());
        for _ in 0..10 {
            spin.learn(false, true, MICRO);
        }
        assert!(spin.should_spin());
        let mut spins = 0;
        while spin.should_spin() {
            spin.learn(true, false, MICRO);
            spins += 1;
        }
        assert!((1..=SPINS_MAX).contains(&spins));
        for _ in 0..10 {
            spin.learn(false, true, Duration::from_millis(5));
            while spin.should_spin() {
                spin.learn(true, false, MICRO);
            }
        }
        assert_eq!(spin.budget, 0);
    }
}
