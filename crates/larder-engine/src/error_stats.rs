//! How often each error code was answered, for INFO errorstats.

use parking_lot::Mutex;
use std::collections::BTreeMap;

/// More codes than this are a client's doing, and counted together.
const CODES_MAX: usize = 128;

/// Counts by error code.
#[derive(Default)]
pub(crate) struct ErrorStats(Mutex<BTreeMap<String, u64>>);

impl ErrorStats {
    pub(crate) fn count(&self, code: &str) {
        let mut counts = self.0.lock();
        match counts.get_mut(code) {
            Some(count) => *count += 1,
            None => {
                let code = if counts.len() < CODES_MAX { code } else { "OTHER" };
                *counts.entry(code.to_owned()).or_default() += 1;
            }
        }
    }

    pub(crate) fn snapshot(&self) -> Vec<(String, u64)> {
        self.0.lock().iter().map(|(code, count)| (code.clone(), *count)).collect()
    }

    pub(crate) fn reset(&self) {
        self.0.lock().clear();
    }
}
