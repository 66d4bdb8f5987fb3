//! Random sequences over three to five connections at once, in lockstep with Valkey: after each step everything that has
//! arrived on every connection is compared, and the data at the end and after each reload.
//!
//! Both servers see one clock that the test moves ([`larder_testkit::Clock`]). Connections wait in blocking commands,
//! transactions, pauses and behind scripts that hang while others kill them, take their rights away or close them. A sequence
//! that shows a difference is minimised and printed; those that did once are in `found`, and are tested each time.
//!
//! `make fuzz TARGET=interleaved` runs more: see `SECONDS`, `SEED` and `THREADS` there.

mod connection;
mod generate;
#[path = "../lockstep/minimise.rs"]
mod minimise;
mod rules;
mod runner;
mod side;
mod step;

use larder_testkit::{Kind, seed};
use runner::{Difference, Interleaved};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use step::{Step, from_text, to_text};

/// Sequences of a run that every change is tested with, for each number of threads.
const SEQUENCES: u64 = 50;
/// The same with a build that checks itself.
const CHECKED_SEQUENCES: u64 = 20;

/// Differences after which a run stops.
const DIFFERENCES_MAX: usize = 40;

/// How long a difference must last while a sequence is made shorter.
const SHORT_PATIENCE: Duration = Duration::from_millis(150);

/// Both servers, and the directory of what they write: in memory if there is such a file system, as each reply waits for a sync.
fn interleaved(program: &Path, name: &str, threads: &str) -> (Interleaved, PathBuf) {
    let shared = Path::new("/dev/shm");
    let parent = if shared.is_dir() { shared.to_owned() } else { std::env::temp_dir() };
    let dir = parent.join(format!("larder-interleaved-{}-{name}", std::process::id()));
    (Interleaved::start(&dir, program, threads), dir)
}

/// A difference as a file of `found`, and what tells it from others.
fn report(servers: &mut Interleaved, seed: u64, steps: &[Step], difference: &Difference) -> (String, String) {
    let long = std::mem::replace(&mut servers.patience, SHORT_PATIENCE);
    let first = servers.run(steps);
    let short = match &first {
        Some(found) => {
            let end = Instant::now() + Duration::from_secs(20);
            let steps = steps[..steps.len().min(found.at + 1)].to_vec();
            minimise::minimise(steps, |steps| {
                let difference = if Instant::now() < end { servers.run(steps) } else { None };
                let is_unusable = difference.as_ref().is_some_and(|found| servers.is_unusable(found));
                if is_unusable {
                    servers.restart();
                }
                difference.is_some() && !is_unusable
            })
        }
        None => steps.to_vec(),
    };
    servers.patience = long;
    let (found, how) = match servers.run(&short) {
        Some(found) => (found, "each time"),
        None if first.is_some() => (difference.clone(), "now and then"),
        None => (difference.clone(), "once"),
    };
    let Difference { at, what } = found;
    let what = what.replace('\n', "\n#     ");
    let text = format!("# SEED={seed}, {how}, after step {}:\n#     {what}\n{}", at + 1, to_text(&short));
    let kind = what.chars().filter(|c| !c.is_ascii_digit()).take(120).collect();
    (kind, text)
}

/// Runs sequences for as long as `continues` says; returns what differed.
fn fuzz(servers: &mut Interleaved, first: u64, mut continues: impl FnMut(u64) -> bool) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut kinds = HashSet::new();
    let mut seed = first;
    let start = Instant::now();
    let mut spent = Duration::ZERO;
    let mut steps_done = 0;
    while continues(seed - first) && found.len() < DIFFERENCES_MAX {
        let steps = generate::sequence(seed);
        let (begun, done) = (Instant::now(), servers.steps);
        let difference = servers.run(&steps);
        spent += begun.elapsed();
        steps_done += servers.steps - done;
        if let Some(difference) = difference {
            println!("SEED={seed} differs after step {}: {}", difference.at + 1, difference.what);
            if servers.is_unusable(&difference) {
                let (at, what) = (difference.at + 1, difference.what.replace('\n', "\n#     "));
                found.push(format!(
                    "# SEED={seed}, step {at}: {what}\n{}",
                    to_text(&steps[..steps.len().min(at)])
                ));
                println!("{}", found[found.len() - 1]);
                servers.restart();
                seed += 1;
                continue;
            }
            let (kind, text) = report(servers, seed, &steps, &difference);
            if kinds.insert(kind) {
                println!("{text}");
                found.push(text);
            }
        }
        seed += 1;
    }
    println!(
        "{steps_done} steps in {} sequences, seeds from {first} on; {:.0} steps/s, {:.0} s in all",
        seed - first,
        steps_done as f64 / spent.as_secs_f64().max(0.001),
        start.elapsed().as_secs_f64()
    );
    found
}

fn assert_none(found: &[String], dir: &Path) {
    let _ = std::fs::remove_dir_all(dir);
    assert!(found.is_empty(), "{} sequences differ:\n{}", found.len(), found.join("\n"));
}

#[test]
fn sequences_agree() {
    for threads in ["1", "2"] {
        let (mut servers, dir) = interleaved(&Kind::Larder.program(), &format!("short-{threads}"), threads);
        let found = fuzz(&mut servers, seed(1_000_000), |done| done < SEQUENCES);
        assert_none(&found, &dir);
    }
}

/// The same with a build for development, which checks its effects and what its threads do while they hold shards.
#[test]
fn sequences_agree_with_a_build_that_checks_itself() {
    let program = Path::new(env!("CARGO_BIN_EXE_larder-server"));
    let (mut servers, dir) = interleaved(program, "checked", "4");
    let found = fuzz(&mut servers, seed(2_000_003), |done| done < CHECKED_SEQUENCES);
    assert_none(&found, &dir);
}

/// `FUZZ_SECONDS` seconds of it, with as many worker threads as `THREADS` says.
#[test]
#[ignore = "as long as FUZZ_SECONDS says"]
fn sequences_agree_for_long() {
    let end = Instant::now() + larder_testkit::fuzz::time().unwrap_or(Duration::from_secs(60));
    let threads = std::env::var("THREADS").unwrap_or_else(|_| "1".to_owned());
    let (mut servers, dir) = interleaved(&Kind::Larder.program(), "long", &threads);
    let found = fuzz(&mut servers, seed(1), |_| Instant::now() < end);
    assert_none(&found, &dir);
}

/// The sequence in the file `SEQUENCE`, or what differed once, again and again for `FUZZ_SECONDS`, with as many worker threads as
/// `THREADS` says: for a difference that shows now and then.
#[test]
#[ignore = "as long as FUZZ_SECONDS says"]
fn sequences_agree_each_time() {
    let files = std::env::var_os("SEQUENCE").map_or_else(files_of_what_was_found, |file| vec![file.into()]);
    let sequences: Vec<Vec<Step>> = files.iter().map(|file| steps_in(file)).collect();
    let end = Instant::now() + larder_testkit::fuzz::time().unwrap_or(Duration::from_secs(60));
    let threads = std::env::var("THREADS").unwrap_or_else(|_| "1".to_owned());
    let (mut servers, dir) = interleaved(&Kind::Larder.program(), "repeated", &threads);
    let mut found = Vec::new();
    let mut runs = 0;
    while Instant::now() < end && found.len() < DIFFERENCES_MAX {
        let at = runs % sequences.len();
        runs += 1;
        if let Some(difference) = servers.run(&sequences[at]) {
            found.push(format!(
                "run {runs}, {}, differs after step {}: {}",
                files[at].display(),
                difference.at + 1,
                difference.what
            ));
            if servers.is_unusable(&difference) {
                servers.restart();
            }
        }
    }
    println!("{runs} runs");
    assert_none(&found, &dir);
}

fn files_of_what_was_found() -> Vec<PathBuf> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/interleaved/found");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("the folder is there").flatten().map(|file| file.path()).collect();
    files.sort();
    assert!(!files.is_empty(), "there are files");
    files
}

fn steps_in(file: &Path) -> Vec<Step> {
    let steps = from_text(&std::fs::read_to_string(file).expect("a file of text"));
    assert!(!steps.is_empty(), "{} has steps", file.display());
    steps
}

/// What differed once.
#[test]
fn what_was_found_agrees() {
    let files = files_of_what_was_found();
    let mut differences = Vec::new();
    for threads in ["1", "2"] {
        let (mut servers, dir) = interleaved(&Kind::Larder.program(), &format!("found-{threads}"), threads);
        for file in &files {
            if let Some(Difference { at, what }) = servers.run(&steps_in(file)) {
                let name = file.display();
                differences
                    .push(format!("{name} differs after step {} with {threads} threads: {what}", at + 1));
            }
        }
        let _ = std::fs::remove_dir_all(dir);
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
