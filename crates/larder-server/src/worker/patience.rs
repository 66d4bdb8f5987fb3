//! How long a worker looks for events before it sleeps.
//!
//! Falling asleep and being woken costs a few microseconds of processor time; asking the kernel again costs a fifth of
//! one. So a worker that is usually woken soon asks some more times first, and one that waits in vain stops asking: an
//! idle server sleeps at once.

use std::time::Duration;

/// Most questions before sleeping: about as dear as one sleep.
const LOOKS_MAX: u32 = 20;
/// A sleep shorter than this was not worth it.
const SHORT: Duration = Duration::from_micros(30);

/// Decides between asking again and sleeping.
#[derive(Debug, Default)]
pub struct Patience {
    /// Questions asked since the last event.
    asked: u32,
    /// Questions that may be asked before sleeping.
    budget: u32,
}

impl Patience {
    /// Whether to ask without waiting.
    pub fn looks(&self) -> bool {
        self.asked < self.budget
    }

    /// Learns from one wait: whether it was only a look, whether it found anything, and how long it took.
    pub fn learn(&mut self, looked: bool, found: bool, took: Duration) {
        if found {
            self.asked = 0;
            if !looked && took < SHORT {
                self.budget = (2 * self.budget + 1).min(LOOKS_MAX);
            }
        } else if looked {
            self.asked += 1;
            if self.asked == self.budget {
                self.budget /= 2;
                self.asked = self.budget;
            }
        }
        if found && looked {
            self.budget = (self.budget + 1).min(LOOKS_MAX);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MICRO: Duration = Duration::from_micros(1);

    #[test]
    fn short_sleeps_teach_to_look_and_vain_looks_to_sleep() {
        let mut patience = Patience::default();
        assert!(!patience.looks());
        for _ in 0..10 {
            patience.learn(false, true, MICRO);
        }
        assert!(patience.looks());
        let mut looks = 0;
        while patience.looks() {
            patience.learn(true, false, MICRO);
            looks += 1;
        }
        assert!((1..=LOOKS_MAX).contains(&looks));
        for _ in 0..10 {
            patience.learn(false, true, Duration::from_millis(5));
            while patience.looks() {
                patience.learn(true, false, MICRO);
            }
        }
        assert_eq!(patience.budget, 0);
    }
}
