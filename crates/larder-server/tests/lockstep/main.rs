//! Random sequences over the whole command table, in lockstep with Valkey: replies, and the data at the end.
//!
//! Both servers see one clock that the test moves ([`larder_testkit::Clock`]), so deadlines, idle times and ids of stream entries are the same.
//! A sequence has several connections in both protocols, transactions, scripts, blocking commands and time that passes. One that
//! shows a difference is minimised and printed; those that did once are in `found`, and are tested each time.
//!
//! `make fuzz TARGET=commands` runs more, with several worker threads and under AddressSanitizer: see `SECONDS` and `SEED`
//! there.

mod commands;
mod generate;
mod minimise;
mod replies;
mod rules;
mod runner;
mod side;
mod step;

use generate::{Sequences, Style};
use larder_testkit::{Kind, seed, syntax};
use rules::{Rule, rule_of};
use runner::{Difference, Lockstep, Pace};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use step::{Step, from_text, to_text};

/// Sequences of a run that every change is tested with.
const SEQUENCES: u64 = 1000;
/// The same of the longer ones.
const CHECKED_SEQUENCES: u64 = 20;
/// And of those over many keys.
const MANY_KEYS_SEQUENCES: u64 = 6;

/// Few commands, so that many sequences begin again, on connections that meet often.
const SHORT: Style = Style { len: 10..60, stretch: 3, advances: 50, unblocks: 5, variants: 0 };
/// Long runs should spend their time neither on beginnings nor on waiting for each reply, or for the clock.
const LONG: Style = Style { len: 100..2000, stretch: 30, advances: 10, unblocks: 20, variants: 0 };
/// A keyspace of so many keys that it does not fit the cache, so that what is read is loaded ahead.
const MANY_KEYS: Style = Style { len: 100..2000, stretch: 30, advances: 2, unblocks: 20, variants: 2000 };

/// Differences after which a run stops.
const DIFFERENCES_MAX: usize = 60;

fn lockstep(name: &str, threads: &str) -> (Lockstep, PathBuf) {
    lockstep_of(&Kind::Larder.program(), name, threads)
}

/// A build for development keeps a log, and checks after each unit that replaying its effects gives what it did.
fn lockstep_of(program: &Path, name: &str, threads: &str) -> (Lockstep, PathBuf) {
    let dir = std::env::temp_dir().join(format!("larder-lockstep-{}-{name}", std::process::id()));
    let options = ["--threads", threads, "--appendonly", "yes", "--appendfsync", "no"];
    (Lockstep::start(&dir, program, &options), dir)
}

/// A difference as a file of `found`, and what tells it from others: the command and its error.
fn report(
    lockstep: &mut Lockstep,
    seed: u64,
    steps: &[Step],
    difference: &Difference,
) -> ((String, String), String) {
    // What comes after it need not be left out one by one.
    let steps = &steps[..steps.len().min(difference.at + 1)];
    // What needs batches to differ is rare, and says so.
    let pace = if lockstep.run(steps, Pace::Single).is_some() { Pace::Single } else { Pace::Batches };
    // What may differ is left out of sequences, but for their beginning. Leaving words out could make it.
    let is_comparable = |step: &Step| match step {
        Step::Send { args, .. } => rule_of(args) != Rule::Never || steps.contains(step),
        Step::Unblock { .. } | Step::Advance { .. } => true,
    };
    let short = minimise::minimise(steps.to_vec(), |steps| {
        steps.iter().all(is_comparable) && lockstep.run(steps, pace).is_some()
    });
    let (found, how, short) = match lockstep.run(&short, pace) {
        Some(found) => (found, format!("{pace:?}"), short),
        // It depends on which thread is faster.
        None => (difference.clone(), "once".to_owned(), steps.to_vec()),
    };
    let name = short.iter().rev().find_map(|step| match step {
        Step::Send { args, .. } => Some(String::from_utf8_lossy(&args[0]).to_uppercase()),
        Step::Unblock { .. } | Step::Advance { .. } => None,
    });
    let Difference { at, what } = found;
    let text = format!("# SEED={seed}, {how}, after step {}:\n#     {what}\n{}", at + 1, to_text(&short));
    let kind: String = what.chars().filter(|c| !c.is_ascii_digit()).take(60).collect();
    ((name.unwrap_or_default(), kind), text)
}

/// Runs sequences for as long as `goes_on`; returns what differed.
fn fuzz(
    lockstep: &mut Lockstep,
    first: u64,
    style: &Style,
    pace: Pace,
    mut goes_on: impl FnMut(u64) -> bool,
) -> Vec<String> {
    let sequences = Sequences::of(syntax::commands(lockstep.oracle()), style);
    lockstep.fill(style.variants);
    let mut found: Vec<String> = Vec::new();
    let mut kinds = HashSet::new();
    let mut seed = first;
    while goes_on(seed - first) && found.len() < DIFFERENCES_MAX {
        let steps = sequences.sequence(seed);
        if let Some(difference) = lockstep.run(&steps, pace) {
            if difference.what.contains("does not answer") {
                let Difference { at, what } = &difference;
                panic!("SEED={seed}, after step {}: {what}\n{}", at + 1, to_text(&steps[..=*at]));
            }
            // Making it shorter may take long.
            println!("SEED={seed} differs after step {}: {}", difference.at + 1, difference.what);
            let (kind, text) = report(lockstep, seed, &steps, &difference);
            if kinds.insert(kind) {
                println!("{text}");
                found.push(text);
            }
        }
        seed += 1;
    }
    println!("{} commands in {} sequences, seeds from {first} on", lockstep.commands, seed - first);
    found
}

#[test]
fn sequences_agree() {
    let (mut lockstep, dir) = lockstep("short", "1");
    let found = fuzz(&mut lockstep, seed(1_000_000), &SHORT, Pace::Single, |done| done < SEQUENCES);
    let _ = std::fs::remove_dir_all(dir);
    assert!(found.is_empty(), "{} sequences differ:\n{}", found.len(), found.join("\n"));
}

/// The same with a build for development, which checks what its threads do while they hold shards, and with several of them.
#[test]
fn sequences_agree_with_a_build_that_checks_itself() {
    let program = Path::new(env!("CARGO_BIN_EXE_larder-server"));
    let (mut lockstep, dir) = lockstep_of(program, "checked", "4");
    let found = fuzz(&mut lockstep, seed(2_000_000), &LONG, Pace::Batches, |done| done < CHECKED_SEQUENCES);
    let _ = std::fs::remove_dir_all(dir);
    assert!(found.is_empty(), "{} sequences differ:\n{}", found.len(), found.join("\n"));
}

/// The same over many keys, with commands of many of them.
#[test]
fn sequences_over_many_keys_agree() {
    for threads in ["1", "2"] {
        let (mut lockstep, dir) = lockstep(&format!("many-{threads}"), threads);
        let first = seed(3_000_000);
        let found = fuzz(&mut lockstep, first, &MANY_KEYS, Pace::Batches, |done| done < MANY_KEYS_SEQUENCES);
        let _ = std::fs::remove_dir_all(dir);
        assert!(found.is_empty(), "{} sequences differ:\n{}", found.len(), found.join("\n"));
    }
}

/// `FUZZ_SECONDS` seconds of it, with as many worker threads as `THREADS` says.
#[test]
#[ignore = "as long as FUZZ_SECONDS says"]
fn sequences_agree_for_long() {
    for_long("long", 1, &LONG);
}

fn for_long(name: &str, first: u64, style: &Style) {
    let end = Instant::now() + larder_testkit::fuzz::time().unwrap_or(Duration::from_secs(60));
    let threads = std::env::var("THREADS").unwrap_or_else(|_| "1".to_owned());
    let (mut lockstep, dir) = lockstep(name, &threads);
    let found = fuzz(&mut lockstep, seed(first), style, Pace::Batches, |_| Instant::now() < end);
    let _ = std::fs::remove_dir_all(dir);
    assert!(found.is_empty(), "{} sequences differ:\n{}", found.len(), found.join("\n"));
}

/// And over many keys.
#[test]
#[ignore = "as long as FUZZ_SECONDS says"]
fn sequences_over_many_keys_agree_for_long() {
    for_long("long-many", 1, &MANY_KEYS);
}

/// What differed once.
#[test]
fn what_was_found_agrees() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/lockstep/found");
    let (mut lockstep, dir) = lockstep("found", "1");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("the folder is there").flatten().map(|f| f.path()).collect();
    files.sort();
    assert!(!files.is_empty(), "there are files");
    for file in files {
        let steps = from_text(&std::fs::read_to_string(&file).expect("a file of text"));
        assert!(!steps.is_empty(), "{} has steps", file.display());
        if let Some(Difference { at, what }) = lockstep.run(&steps, Pace::Single) {
            panic!("{} differs after step {}: {what}", file.display(), at + 1);
        }
    }
    let _ = std::fs::remove_dir_all(dir);
}
