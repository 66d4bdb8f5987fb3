//! How often each error code was answered, for INFO errorstats.

use crate::error::CommandError;
use parking_lot::Mutex;
use std::collections::BTreeMap;

/// As soon as there are this many codes, further ones that scripts make up are counted together.
const CODES_MAX: usize = 128;

/// What those are counted as.
const OVERFLOW: &str = "ERRORSTATS_OVERFLOW";

/// Counts by error code.
#[derive(Default)]
pub(crate) struct ErrorStats(Mutex<BTreeMap<String, u64>>);

impl ErrorStats {
    /// Counts an error, by its code.
    pub(crate) fn count(&self, error: &CommandError) {
        let code = error.code();
        let mut counts = self.0.lock();
        if let Some(count) = counts.get_mut(&code) {
            *count += 1;
            return;
        }
        let is_too_many = matches!(error, CommandError::Custom(_)) && counts.len() >= CODES_MAX;
        let code = if is_too_many { OVERFLOW.to_owned() } else { code };
        *counts.entry(code).or_default() += 1;
    }

    pub(crate) fn snapshot(&self) -> Vec<(String, u64)> {
        self.0.lock().iter().map(|(code, count)| (code.clone(), *count)).collect()
    }

    pub(crate) fn reset(&self) {
        self.0.lock().clear();
    }
}
