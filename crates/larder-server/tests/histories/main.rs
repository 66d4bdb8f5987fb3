//! Whole histories: clients work while servers crash, restart, join and change roles, and a checker compares everything that was
//! acknowledged with what is there in the end.
//!
//! Each file has one kind of history. A history has a seed, which decides what is done and in which order; the threads of the
//! servers and clients decide the rest, so a seed replays a history as far as they allow. `make test` runs a few histories of
//! each kind, and `make histories SECONDS=n` runs new ones for n seconds each.

mod bursts;
mod failover;
mod joining;
mod power;
mod queues;
#[path = "../common/random_writes.rs"]
mod random_writes;
mod scripts;
mod state;

use larder_testkit::{Client, Kind, Server, full_run, given_seed, wait_until};
use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How many times as many histories the full run has.
const FULL_FACTOR: u64 = 20;

/// Runs `history` with one seed after another: with the one that `SEED` gives, for `HISTORY_SECONDS` with new ones, or with
/// `quick` seeds from `own` on.
fn run_histories(own: u64, quick: u64, mut history: impl FnMut(u64)) {
    let time = std::env::var("HISTORY_SECONDS").ok().map(|text| {
        Duration::from_secs(text.parse().unwrap_or_else(|_| panic!("HISTORY_SECONDS={text} is no number")))
    });
    let end = time.map(|time| Instant::now() + time);
    let (first, count) = match (given_seed(), time) {
        (Some(seed), _) => (seed, 1),
        (None, Some(_)) => (now_ms(), u64::MAX),
        (None, None) => (own, if full_run() { quick * FULL_FACTOR } else { quick }),
    };
    let mut done = 0;
    while done < count && (done == 0 || end.is_none_or(|end| Instant::now() < end)) {
        let seed = first + done;
        println!("SEED={seed}");
        let named = NameSeed(seed);
        history(seed);
        std::mem::forget(named);
        done += 1;
    }
    println!("{done} histories");
    assert!(done > 0, "a history was run");
}

/// Prints the seed of a history that panics.
struct NameSeed(u64);

impl Drop for NameSeed {
    fn drop(&mut self) {
        eprintln!("SEED={} replays this history", self.0);
    }
}

/// Stops workers when it is dropped, also when a test fails.
struct StopAtEnd<'s>(&'s AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The time of day in milliseconds.
fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is right");
    u64::try_from(now.as_millis()).expect("it fits for ages")
}

/// Waits until the time of day is past a deadline.
fn wait_past(deadline_ms: u64) {
    wait_until("a deadline passes", || now_ms() > deadline_ms);
}

/// A field of INFO.
fn info(client: &mut Client, section: &str, name: &str) -> String {
    let text = client.ask(&format!("INFO {section}")).text();
    let field = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':').map(str::to_owned));
    field.unwrap_or_default()
}

/// A number of INFO.
fn info_number(client: &mut Client, section: &str, name: &str) -> i64 {
    info(client, section, name).parse().unwrap_or_else(|_| panic!("INFO {section} has the number {name}"))
}

/// Panics if a client has received no answer in time. Other errors come from servers that end.
fn must_not_hang(error: &std::io::Error, what: &str) {
    let is_silent = matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
    assert!(!is_silent, "no answer to {what}");
}

/// Makes a server a replica of another one. Retries while it loads data.
fn follow(replica: &mut Client, primary: &Server) {
    wait_until("REPLICAOF is executed", || {
        let reply = replica.ask(&format!("REPLICAOF 127.0.0.1 {}", primary.port())).text();
        assert!(reply.starts_with("OK") || reply.starts_with("LOADING"), "{reply}");
        reply.starts_with("OK")
    });
}

/// Waits until a replica is attached and has everything that its primary has sent.
fn wait_for_offset(what: &str, primary: &mut Client, replica: &mut Client) {
    wait_until(&format!("{what}: the link comes up"), || {
        info(replica, "replication", "master_link_status") == "up"
    });
    wait_until(&format!("{what}: the offsets meet"), || {
        let ours = info(primary, "replication", "master_repl_offset");
        ours == info(replica, "replication", "master_repl_offset")
    });
}

/// Starts a server whose snapshots for replicas begin at once.
fn start(kind: Kind, args: &[&str]) -> Server {
    Server::of(kind, &[REPLICATION, args].concat())
}

/// Options of replication: nothing waits longer than it must.
const REPLICATION: &[&str] = &["--repl-diskless-sync-delay", "0", "--repl-timeout", "20"];

/// The same for a server that is started again.
fn again(args: &[&str]) -> Vec<String> {
    let all = [REPLICATION, &["--enable-debug-command", "yes"], args].concat();
    all.into_iter().map(str::to_owned).collect()
}

/// Starts a server again in its directory.
fn start_again(server: &mut Server, args: &[&str]) {
    let args = again(args);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    assert!(server.start_again(&args), "the server does not start again:\n{}", server.log());
}
