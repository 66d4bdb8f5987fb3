//! The seeds of tests that draw numbers. `SEED=` in the environment runs a test with one seed again, and the output of a test that fails
//! names its seed.

/// The seed that `SEED=` gives.
pub fn given() -> Option<u64> {
    let text = std::env::var("SEED").ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("SEED={text} is no number")))
}

/// The seed of a test, printed: the one that is given, or the test's own.
pub fn seed(own: u64) -> u64 {
    let seed = given().unwrap_or(own);
    println!("SEED={seed}");
    seed
}

/// The seeds of a model test, each printed when its turn comes: the one that is given, or this many from 0 on, `full` in the full run.
pub fn seeds(quick: u64, full: u64) -> impl Iterator<Item = u64> {
    let seeds = match given() {
        Some(seed) => seed..seed + 1,
        None => 0..if crate::full_run() { full } else { quick },
    };
    seeds.inspect(|seed| println!("SEED={seed}"))
}
