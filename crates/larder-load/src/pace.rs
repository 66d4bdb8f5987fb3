//! How many keys are asked for at once: what a server has to keep for us grows with them and with their values.

/// Keys at first and at most.
const FIRST: usize = 16;
const MAX: usize = 500;
/// Bytes of payloads at once, below which more keys are asked for the next time, and above which fewer.
const FEW_BYTES: usize = 1 << 20;
const MANY_BYTES: usize = 8 << 20;

/// The number of keys that are asked for at once.
pub struct Pace(usize);

impl Default for Pace {
    fn default() -> Self {
        Pace(FIRST)
    }
}

impl Pace {
    /// Calls `ask` with all items in turn, as many at once as may be; it returns how many bytes their payloads were.
    ///
    /// # Errors
    /// That of `ask`, which is not called again then.
    pub fn each<T, E>(
        &mut self,
        items: &[T],
        mut ask: impl FnMut(&[T]) -> Result<usize, E>,
    ) -> Result<(), E> {
        let mut rest = items;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(self.0.min(rest.len()));
            match ask(now)? {
                0..FEW_BYTES => self.0 = MAX.min(2 * self.0),
                FEW_BYTES..MANY_BYTES => {}
                _ => self.0 = 1.max(self.0 / 4),
            }
            rest = later;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_small_ones_and_few_large_ones_are_asked_for_at_once() {
        let items: Vec<usize> = (0..5000).collect();
        let (mut pace, mut seen, mut counts) = (Pace::default(), Vec::new(), Vec::new());
        let each_bytes = |item: usize| if item < 2500 { 10 } else { MANY_BYTES };
        let asked = pace.each(&items, |some| {
            seen.extend_from_slice(some);
            counts.push(some.len());
            Ok::<_, ()>(some.iter().map(|&item| each_bytes(item)).sum())
        });
        assert!(asked.is_ok() && seen == items);
        assert_eq!(counts[..7], [16, 32, 64, 128, 256, 500, 500]);
        assert_eq!((counts.iter().max(), counts.last()), (Some(&MAX), Some(&1)));
        let mut calls = 0;
        let failed = pace.each(&items, |_| {
            calls += 1;
            Err("it is over")
        });
        assert_eq!((failed, calls), (Err("it is over"), 1));
    }
}
