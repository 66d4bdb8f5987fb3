//! kill -9 while persistence is switched: clients write, random commands switch the log, its policy and snapshots, and the
//! server is killed at a random moment. It always starts from its own files, and what was acknowledged while the log was kept
//! for certain is there.

use larder_testkit::{Client, Server, Value, full_run, seed};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

const WRITERS: usize = 3;

/// What switches persistence; each may be refused.
const EVENTS: &[&str] = &[
    "CONFIG SET appendonly yes",
    "CONFIG SET appendonly no",
    "CONFIG SET appendfsync always",
    "CONFIG SET appendfsync everysec",
    "BGSAVE",
    "BGSAVE CANCEL",
    "BGREWRITEAOF",
    "SAVE",
    "DEBUG RELOAD",
    "DEBUG LOADAOF",
    "CONFIG SET save ",
];

/// What one round knows of its server.
#[derive(Default)]
struct Round {
    /// Numbers that each writer has had acknowledged.
    acknowledged: [AtomicU64; WRITERS],
    /// Of these, this many the next start must find.
    kept: Mutex<[u64; WRITERS]>,
}

impl Round {
    fn acknowledged(&self) -> [u64; WRITERS] {
        self.acknowledged.each_ref().map(|count| count.load(SeqCst))
    }

    /// These are in the log for certain.
    fn keep(&self, acknowledged: [u64; WRITERS]) {
        *self.kept.lock().expect("nobody panics with it") = acknowledged;
    }
}

/// Adds numbers in order to a list until the connection breaks.
fn write(mut client: Client, writer: usize, from: u64, round: &Round) {
    for number in from.. {
        let words = ["RPUSH".to_owned(), format!("list:{writer}"), number.to_string()];
        loop {
            client.send(&words);
            match client.read() {
                // While DEBUG RELOAD loads.
                Ok(Value::Error(text)) if text.starts_with("LOADING") => {}
                Ok(reply) if !reply.is_error() => break,
                _ => return,
            }
        }
        round.acknowledged[writer].store(number + 1, SeqCst);
    }
}

fn has_base(client: &mut Client) -> bool {
    let info = client.ask("INFO persistence").text();
    ["aof_enabled:1", "aof_rewrite_in_progress:0", "aof_rewrite_scheduled:0", "aof_last_bgrewrite_status:ok"]
        .iter()
        .all(|sign| info.contains(sign))
}

/// Runs random events until the time is over. `log_stays`: the log is not switched off, nor read or replaced by other files.
fn switch(client: &mut Client, rng: &mut fastrand::Rng, log_stays: bool, end: Instant) -> Vec<&'static str> {
    let mut done = Vec::new();
    while Instant::now() < end {
        let event = EVENTS[rng.usize(..EVENTS.len())];
        if log_stays && event == "CONFIG SET appendonly no" {
            continue;
        }
        // DEBUG LOADAOF reads the files, which are older than the data when the log is not kept.
        if event == "DEBUG LOADAOF" && !has_base(client) {
            continue;
        }
        done.push(event);
        client.cmd(&event.split(' ').collect::<Vec<_>>());
        thread::sleep(Duration::from_micros(rng.u64(..20_000)));
    }
    done
}

/// The numbers of a list, which must be 0, 1, 2..; returns how many there are.
fn length(client: &mut Client, writer: usize, note: &str) -> u64 {
    let reply = client.ask(&format!("LRANGE list:{writer} 0 -1"));
    for (at, item) in reply.items().iter().enumerate() {
        assert_eq!(item.text(), at.to_string(), "{note}");
    }
    reply.items().len() as u64
}

/// One life of the server, from its start to its death; the log is what the next start reads if it is on then.
fn live(server: &mut Server, rng: &mut fastrand::Rng, note: &str) {
    // The log stays on in every other round: what is acknowledged then is there afterwards.
    let log_stays = rng.bool();
    let args = |log: bool| {
        let log = if log { "yes" } else { "no" };
        ["--threads", "2", "--enable-debug-command", "yes", "--appendfsync", "always", "--appendonly", log]
    };
    let mut client = server.client();
    if log_stays {
        assert_eq!(client.ask("CONFIG SET appendonly yes"), crate::ok(), "{note}");
        while !has_base(&mut client) {}
    }
    let round = Round::default();
    let mut lengths = [0; WRITERS];
    for (writer, len) in lengths.iter_mut().enumerate() {
        *len = length(&mut client, writer, note);
        round.acknowledged[writer].store(*len, SeqCst);
    }
    let life = Duration::from_micros(rng.u64(20_000..250_000));
    let (mut log_is_on, mut always) = (true, true);
    let done = thread::scope(|scope| {
        for (writer, &from) in lengths.iter().enumerate() {
            let (client, round) = (server.client(), &round);
            scope.spawn(move || write(client, writer, from, round));
        }
        let done = switch(&mut client, rng, log_stays, Instant::now() + life);
        if !log_stays {
            log_is_on = has_base(&mut client);
        }
        let policy = done.iter().rev().find(|event| event.starts_with("CONFIG SET appendfsync"));
        always = policy.is_none_or(|event| event.ends_with("always"));
        if log_is_on {
            let acknowledged = round.acknowledged();
            // With another policy only this promises anything.
            assert!(always || client.ask("WAITAOF 1 0 60000").items()[0].int() == 1, "{note}");
            round.keep(acknowledged);
        }
        // From here on nobody switches anything off; more is acknowledged until the server dies.
        thread::sleep(Duration::from_micros(rng.u64(..5_000)));
        if log_is_on && always {
            round.keep(round.acknowledged());
        }
        server.kill();
        done
    });
    if log_is_on && always {
        round.keep(round.acknowledged());
    }
    let note = format!("{note} log stays: {log_stays}, on: {log_is_on}, {done:?}");
    assert!(server.start_again(&args(log_is_on)), "{note}\n{}", server.log());
    let mut client = server.client();
    let kept = *round.kept.lock().expect("nobody panics with it");
    for (writer, &kept) in kept.iter().enumerate() {
        let found = length(&mut client, writer, &note);
        assert!(found >= kept, "{note}: list {writer} has {found} of {kept}");
    }
}

#[test]
fn a_server_whose_persistence_is_switched_can_be_killed_at_any_time() {
    let seed = seed(7);
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut server = Server::larder(&["--threads", "2", "--appendonly", "yes", "--appendfsync", "always"]);
    for number in 0..if full_run() { 400 } else { 20 } {
        live(&mut server, &mut rng, &format!("SEED={seed} round {number}"));
    }
}

/// A policy that changes between a command and the writing of the log: the reply leaves when somebody
/// has written what it tells of.
#[test]
fn no_change_of_the_sync_policy_lets_a_reply_leave_early() {
    let args = ["--threads", "2", "--appendonly", "yes", "--appendfsync", "always"];
    let mut server = Server::larder(&args);
    let mut rng = fastrand::Rng::with_seed(seed(9));
    for number in 0..if full_run() { 1000 } else { 100 } {
        let mut client = server.client();
        let round = Round::default();
        let lengths: [u64; WRITERS] = std::array::from_fn(|writer| length(&mut client, writer, "before"));
        round.acknowledged.iter().zip(lengths).for_each(|(count, len)| count.store(len, SeqCst));
        let end = Instant::now() + Duration::from_micros(rng.u64(5_000..40_000));
        thread::scope(|scope| {
            for (writer, &from) in lengths.iter().enumerate() {
                let (client, round) = (server.client(), &round);
                scope.spawn(move || write(client, writer, from, round));
            }
            while Instant::now() < end {
                for policy in ["everysec", "always"] {
                    client.cmd(&["CONFIG", "SET", "appendfsync", policy]);
                }
            }
            server.kill();
        });
        assert!(server.start_again(&args), "round {number}: {}", server.log());
        let mut client = server.client();
        for (writer, kept) in round.acknowledged().into_iter().enumerate() {
            let found = length(&mut client, writer, "after");
            assert!(found >= kept, "round {number}: list {writer} has {found} of {kept}");
        }
    }
}
