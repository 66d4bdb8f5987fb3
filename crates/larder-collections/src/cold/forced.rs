//! Whether values are compressed that do not shrink: for tests.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

static IS_FORCED: AtomicBool = AtomicBool::new(false);

/// Compresses values of any size from now on, whether they shrink or not, or ends that: for tests.
pub fn force(on: bool) {
    IS_FORCED.store(on, Relaxed);
}

pub(crate) fn is_forced() -> bool {
    IS_FORCED.load(Relaxed)
}
