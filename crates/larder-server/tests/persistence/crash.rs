//! kill -9 under load: with the append-only file every write that was acknowledged is there, otherwise a prefix of each
//! client's.

use larder_testkit::{Client, Server, full_run, seed};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

const WRITERS: usize = 4;

/// Writes numbers in order to a list of its own until the connection breaks; counts those acknowledged.
fn write(mut client: Client, writer: usize, from: u64, acknowledged: &AtomicU64) {
    for number in from.. {
        client.send(&["RPUSH", &format!("list:{writer}"), &number.to_string()]);
        match client.read() {
            Ok(reply) if !reply.is_error() => acknowledged.store(number + 1, Ordering::SeqCst),
            _ => return,
        }
    }
}

/// The numbers of a list, which must be 0, 1, 2..; returns how many there are.
fn length(client: &mut Client, writer: usize, seed: u64) -> u64 {
    let reply = client.ask(&format!("LRANGE list:{writer} 0 -1"));
    for (at, item) in reply.items().iter().enumerate() {
        assert_eq!(item.text(), at.to_string(), "SEED={seed}");
    }
    reply.items().len() as u64
}

/// Crashes a server again and again. `keeps`: what was acknowledged must be there.
fn crash(args: &[&str], rounds: usize, keeps: bool, own_seed: u64) {
    let seed = seed(own_seed);
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut server = Server::larder(args);
    let mut lengths = [0; WRITERS];
    for round in 0..rounds {
        let acknowledged: Vec<_> = lengths.iter().map(|&len| Arc::new(AtomicU64::new(len))).collect();
        let start = Arc::new(Barrier::new(WRITERS + 1));
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (client, start) = (server.client(), Arc::clone(&start));
                let (from, count) = (lengths[writer], Arc::clone(&acknowledged[writer]));
                thread::spawn(move || {
                    start.wait();
                    write(client, writer, from, &count);
                })
            })
            .collect();
        start.wait();
        let until = acknowledged[0].load(Ordering::SeqCst) + rng.u64(1..300);
        if rng.bool() {
            let snapshot = if rng.bool() { "BGSAVE" } else { "BGREWRITEAOF" };
            server.client().ask(snapshot);
        }
        while acknowledged[0].load(Ordering::SeqCst) < until {
            thread::sleep(Duration::from_millis(1));
        }
        server.kill();
        writers.into_iter().for_each(|writer| writer.join().expect("the writer ends"));
        assert!(server.start_again(args), "SEED={seed} round {round}\n{}", server.log());
        let mut client = server.client();
        for writer in 0..WRITERS {
            lengths[writer] = length(&mut client, writer, seed);
            let acknowledged = acknowledged[writer].load(Ordering::SeqCst);
            assert!(
                !keeps || lengths[writer] >= acknowledged,
                "SEED={seed} round {round}: {} of {acknowledged}",
                lengths[writer]
            );
        }
    }
}

fn rounds() -> usize {
    if full_run() { 200 } else { 10 }
}

#[test]
fn always_keeps_what_was_acknowledged() {
    crash(&["--threads", "2", "--appendonly", "yes", "--appendfsync", "always"], rounds(), true, 1);
}

#[test]
fn everysec_keeps_what_was_acknowledged() {
    crash(&["--threads", "2", "--appendonly", "yes"], rounds(), true, 2);
}

#[test]
fn a_log_without_syncs_keeps_what_was_acknowledged() {
    crash(&["--threads", "4", "--appendonly", "yes", "--appendfsync", "no"], rounds(), true, 4);
}

#[test]
fn snapshots_keep_a_prefix() {
    crash(&["--threads", "4", "--save", "1 1"], rounds(), false, 3);
}

/// Hashes of a writer: fields by key.
type Hashes = BTreeMap<String, BTreeMap<String, String>>;

/// The change of a number: a small hash gets fields, in one of several orders, loses one, or goes.
fn change(writer: usize, number: u64) -> Vec<String> {
    let mut rng = fastrand::Rng::with_seed(number << 8 | writer as u64);
    let key = format!("hash:{writer}:{}", rng.u64(..150));
    let mut names = ["name", "mail", "city", "born", "role"].map(str::to_owned);
    match rng.u32(..10) {
        0 => vec!["DEL".to_owned(), key],
        1 => vec!["HDEL".to_owned(), key, rng.choice(names).expect("there are names")],
        2 => vec!["HSET".to_owned(), key, format!("own {}", rng.u32(..9)), "v".repeat(rng.usize(..200))],
        _ => {
            if rng.u32(..4) == 0 {
                rng.shuffle(&mut names);
            }
            let fields = names.into_iter().take(rng.usize(3..=5));
            let pairs = fields.flat_map(|name| [name, "v".repeat(rng.usize(..30))]);
            ["HSET".to_owned(), key].into_iter().chain(pairs).collect()
        }
    }
}

/// What a change does.
fn apply(hashes: &mut Hashes, change: &[String]) {
    match (change[0].as_str(), &change[2..]) {
        ("DEL", _) => drop(hashes.remove(&change[1])),
        ("HDEL", names) => {
            let Some(hash) = hashes.get_mut(&change[1]) else { return };
            hash.remove(&names[0]);
            if hash.is_empty() {
                hashes.remove(&change[1]);
            }
        }
        (_, pairs) => {
            let pairs = pairs.chunks(2).map(|pair| (pair[0].clone(), pair[1].clone()));
            hashes.entry(change[1].clone()).or_default().extend(pairs);
        }
    }
}

/// The hashes of a writer as the server has them.
fn hashes_of(client: &mut Client, writer: usize) -> Hashes {
    let keys = client.ask(&format!("KEYS hash:{writer}:*"));
    let fields = |client: &mut Client, key: &str| -> BTreeMap<String, String> {
        let reply = client.cmd(&["HGETALL", key]);
        reply.items().chunks(2).map(|pair| (pair[0].text(), pair[1].text())).collect()
    };
    keys.items().iter().map(|key| (key.text(), fields(client, &key.text()))).collect()
}

/// Hashes share their field names, and cease to, while they change and the log is rewritten.
#[test]
fn hashes_in_conversion_keep_what_was_acknowledged() {
    let args = ["--threads", "3", "--appendonly", "yes", "--appendfsync", "always"];
    let args = [&args[..], &["--enable-debug-command", "yes", "--auto-aof-rewrite-percentage", "0"]].concat();
    let seed = seed(5);
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut server = Server::larder(&args);
    let mut models = vec![(0, Hashes::new()); WRITERS];
    for round in 0..rounds() {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (mut client, from) = (server.client(), models[writer].0);
                thread::spawn(move || {
                    for number in from.. {
                        let change = change(writer, number);
                        client.send(&change.iter().map(String::as_str).collect::<Vec<_>>());
                        if client.read().is_err() {
                            return number;
                        }
                    }
                    unreachable!("the server is killed")
                })
            })
            .collect();
        let mut client = server.client();
        for _ in 0..rng.u32(2..12) {
            let line = match rng.u32(..4) {
                0 => "BGREWRITEAOF".to_owned(),
                1 => format!("DEBUG EMBEDDED-MAX {}", [0, 64, 512][rng.usize(..3)]),
                n => format!("CONFIG SET hash-shared-fields {}", if n == 2 { "yes" } else { "no" }),
            };
            client.ask(&line);
            // Time passes, in which there are many changes and steps of the conversion.
            (0..rng.u32(..300)).for_each(|_| drop(client.ask("PING")));
        }
        server.kill();
        let ends: Vec<u64> =
            writers.into_iter().map(|writer| writer.join().expect("the writer ends")).collect();
        assert!(server.start_again(&args), "SEED={seed} round {round}\n{}", server.log());
        let mut client = server.client();
        for (writer, (number, model)) in models.iter_mut().enumerate() {
            (*number..ends[writer]).for_each(|number| apply(model, &change(writer, number)));
            *number = ends[writer];
            let found = hashes_of(&mut client, writer);
            if found != *model {
                // The last change was not acknowledged, and may be there.
                apply(model, &change(writer, *number));
                *number += 1;
            }
            assert_eq!(found, *model, "SEED={seed} round {round}, change {number} of writer {writer}");
        }
    }
}
