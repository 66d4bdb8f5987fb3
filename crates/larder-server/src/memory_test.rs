//! `--test-memory`: writes patterns into memory and reads them back.
//!
//! A fault of the machine's memory shows as data that changes by itself. The test finds faults that are there most of the time, in the
//! memory that the process gets; a test that runs without an operating system finds more.

use std::hint::black_box;

/// Times that all patterns are written and read.
const PASSES: u64 = 50;

const WORDS_PER_MB: usize = (1 << 20) / size_of::<u64>();

/// What is written into a word: from its index and a number that differs from pass to pass.
type Pattern = fn(usize, u64) -> u64;

const PATTERNS: [(&str, Pattern); 6] = [
    ("addresses", |at, _| at as u64),
    ("random numbers", |at, pass| mixed(at as u64 ^ pass << 48)),
    ("zeros", |_, _| 0),
    ("ones", |_, _| u64::MAX),
    (
        "a checkerboard",
        |at, _| if at.is_multiple_of(2) { 0xAAAA_AAAA_AAAA_AAAA } else { 0x5555_5555_5555_5555 },
    ),
    ("its inverse", |at, _| if at.is_multiple_of(2) { 0x5555_5555_5555_5555 } else { 0xAAAA_AAAA_AAAA_AAAA }),
];

/// Tests this many megabytes, and prints how it goes. Returns whether the memory passed.
///
/// # Errors
/// There is not that much memory.
pub fn run(megabytes: usize) -> Result<bool, std::collections::TryReserveError> {
    let mut memory: Vec<u64> = Vec::new();
    memory.try_reserve_exact(megabytes.saturating_mul(WORDS_PER_MB))?;
    memory.resize(megabytes * WORDS_PER_MB, 0);
    for pass in 1..=PASSES {
        println!("Pass {pass} of {PASSES}");
        for (name, pattern) in PATTERNS {
            if let Some(fault) = first_fault(&mut memory, pass, pattern) {
                println!("*** MEMORY ERROR DETECTED: {name}: {fault}");
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Writes a pattern, reads it back, and describes the first word that has changed.
fn first_fault(memory: &mut [u64], pass: u64, pattern: Pattern) -> Option<String> {
    memory.iter_mut().enumerate().for_each(|(at, word)| *word = pattern(at, pass));
    // What has been written must be read again, and not known.
    let memory = black_box(memory);
    let (at, word) = memory.iter().enumerate().find(|&(at, &word)| word != pattern(at, pass))?;
    Some(format!("word {at} is {word:#018x} and was {:#018x}", pattern(at, pass)))
}

/// A number in which every bit depends on every bit of another one.
fn mixed(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ number >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ number >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_memory_passes() {
        let mut memory = vec![1; 10_000];
        for (name, pattern) in PATTERNS {
            assert_eq!(first_fault(&mut memory, 3, pattern), None, "{name}");
        }
        assert!(run(1).unwrap() && run(0).unwrap());
        assert!(run(usize::MAX).is_err());
    }

    /// A pattern that is another one when it is read stands for memory that changes.
    #[test]
    fn a_changed_word_is_found() {
        use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
        static CALLS: AtomicUsize = AtomicUsize::new(0);
        let changes: Pattern = |at, _| u64::from(at == 7 && CALLS.fetch_add(1, Relaxed) > 0);
        let fault = first_fault(&mut vec![1; 100], 1, changes).unwrap();
        assert!(fault.starts_with("word 7 is 0x0000000000000000 and was"), "{fault}");
    }
}
