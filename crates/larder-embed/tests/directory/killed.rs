//! A program that is killed (SIGKILL): what a call had returned for is found again.
//!
//! The program is this test once more, as a child, with a directory in its environment.

use super::{Dir, ask, child_command, store_of_child};
use larder_embed::Store;
use larder_testkit::{full_run, seed};
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::thread;

const WRITERS: usize = 4;

/// Writes numbers to lists, one a thread, and says which have been written.
#[test]
fn child() {
    let Some(store) = store_of_child() else { return };
    let store = &store;
    let write = move |writer: usize| {
        let key = format!("list:{writer}");
        let from = store.llen(&key).expect("it is a list");
        for number in from.. {
            store.rpush(&key, &[number.to_string()]).expect("it is written");
            // One call for each line: others print as well.
            let line = format!("written {writer} {number}\n");
            std::io::stdout().lock().write_all(line.as_bytes()).expect("somebody reads");
        }
    };
    thread::scope(|scope| (0..WRITERS).for_each(|writer| drop(scope.spawn(move || write(writer)))));
}

/// Runs the child until it has written some more, and kills it. Returns how many numbers each of its threads has said to be written.
fn run(dir: &Dir, policy: &str, lines_wanted: usize) -> [u64; WRITERS] {
    let mut child =
        child_command("killed::child", &dir.0, policy).stdout(Stdio::piped()).spawn().expect("it starts");
    let (mut written, mut lines) = ([0; WRITERS], 0);
    let output = child.stdout.take().expect("it is a pipe");
    for line in BufReader::new(output).lines() {
        let line = line.expect("it is text");
        let mut words = line.rsplit(' ');
        let (number, writer, word) = (words.next(), words.next(), words.next());
        if word.is_none_or(|word| !word.ends_with("written")) {
            continue;
        }
        let number: u64 = number.and_then(|number| number.parse().ok()).expect("a number");
        let writer: usize = writer.and_then(|writer| writer.parse().ok()).expect("a number");
        written[writer] = number + 1;
        lines += 1;
        if lines == lines_wanted {
            child.kill().expect("it is there");
        }
    }
    assert!(lines >= lines_wanted, "it has ended by itself after {lines} lines");
    child.wait().expect("it has ended");
    written
}

/// Kills the program again and again; each of them goes on with what the one before has left.
fn kill(policy: &str, own_seed: u64) {
    let seed = seed(own_seed);
    let mut rng = fastrand::Rng::with_seed(seed);
    let dir = Dir::new();
    for round in 0..if full_run() { 100 } else { 4 } {
        let written = run(&dir, policy, rng.usize(1..400));
        let options = dir.logged().option("appendfsync", policy);
        let store = Store::open(&options).expect("the store opens");
        for (writer, &written) in written.iter().enumerate() {
            let numbers = store.lrange(format!("list:{writer}"), 0, -1).expect("it is a list");
            for (at, number) in numbers.iter().enumerate() {
                assert_eq!(*number, at.to_string().into_bytes(), "SEED={seed} round {round}");
            }
            let found = numbers.len() as u64;
            assert!(found >= written, "SEED={seed} round {round}: {found} of {written}");
        }
        if rng.bool() {
            ask(&store, "BGREWRITEAOF");
        }
    }
}

#[test]
fn with_always() {
    kill("always", 1);
}

#[test]
fn with_everysec() {
    kill("everysec", 2);
}

#[test]
fn with_no() {
    kill("no", 3);
}
