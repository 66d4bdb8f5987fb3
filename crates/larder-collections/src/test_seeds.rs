//! Which seeds a model test runs.

/// `SEED=` one, else a quick number, or the full one with LARDER_TEST_FULL.
pub(crate) fn seeds(quick: u64, full: u64) -> std::ops::Range<u64> {
    match std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()) {
        Some(seed) => seed..seed + 1,
        None => 0..if std::env::var_os("LARDER_TEST_FULL").is_some() { full } else { quick },
    }
}
