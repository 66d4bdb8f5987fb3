//! The size limit of values that live in the record of their key.

use larder_packed::segment::{EMBEDDED_MAX, Embedded};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

/// The most bytes of a value that moves into its record.
static LIMIT: AtomicUsize = AtomicUsize::new(EMBEDDED_MAX);

/// Sets how many bytes of a value its record may hold, [`EMBEDDED_MAX`] at most, for tests: with few bytes values move in and
/// out all the time.
pub fn limit_embedded(bytes: usize) {
    LIMIT.store(bytes.min(EMBEDDED_MAX), Relaxed);
}

/// The bytes of a value if they are few enough for its record.
#[inline]
pub(super) fn within_limit(bytes: Option<Embedded<'_>>) -> Option<Embedded<'_>> {
    bytes.filter(|bytes| bytes.bytes().len() <= LIMIT.load(Relaxed))
}

/// The most bytes of a value outside that moves into its record.
pub(super) fn return_max() -> usize {
    LIMIT.load(Relaxed) / 4 * 3
}
