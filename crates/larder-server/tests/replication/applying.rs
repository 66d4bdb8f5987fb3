//! What a replica has at any moment is the stream up to a unit's end, however many threads apply it, and whatever happens meanwhile.

use crate::faults::answer_handshake;
use crate::{
    StopAtEnd, follow, info, offset, start, wait_for_link, wait_for_same_data, wait_until, write_until,
};
use larder_testkit::{Client, Kind, Server, Value, seed};
use std::collections::BTreeMap;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::AtomicBool;
use std::thread::JoinHandle;

const DATABASES: usize = 3;
const UNITS: usize = 120_000;

/// What a command does to a key of a database.
struct Change {
    db: usize,
    key: String,
    verb: Verb,
}

enum Verb {
    Incr,
    Push(usize),
}

/// A stream of which the data after each unit is known.
struct Stream {
    bytes: Vec<u8>,
    /// Where a unit ends, and what it does.
    units: Vec<(usize, Vec<Change>)>,
}

impl Stream {
    /// Counters that are incremented and lists that grow, alone and in transactions.
    fn random(rng: &mut fastrand::Rng) -> Stream {
        let mut stream = Stream { bytes: Vec::new(), units: Vec::new() };
        let mut db = 0;
        for number in 0..UNITS {
            let mut changes = Vec::new();
            if number == 0 || rng.u16(..) < 300 {
                db = rng.usize(..DATABASES);
                stream.command(&["SELECT", &db.to_string()]);
            }
            let count = if rng.u8(..) == 0 { rng.usize(1..4) } else { 0 };
            if count > 0 {
                stream.command(&["MULTI"]);
            }
            for _ in 0..count.max(1) {
                if rng.u8(..) < 200 {
                    let key = format!("counter:{}", rng.u8(..));
                    stream.command(&["INCR", &key]);
                    changes.push(Change { db, key, verb: Verb::Incr });
                } else {
                    let key = format!("list:{}", rng.u8(..20));
                    stream.command(&["RPUSH", &key, &number.to_string()]);
                    changes.push(Change { db, key, verb: Verb::Push(number) });
                }
            }
            if count > 0 {
                stream.command(&["EXEC"]);
            }
            stream.units.push((stream.bytes.len(), changes));
            if rng.u16(..) < 20 {
                // None of these can be applied beside others.
                match rng.u8(..3) {
                    0 => stream.command(&["EVAL", "return redis.call('GET', KEYS[1])", "1", "counter:1"]),
                    1 => stream.command(&["SWAPDB", "1", "1"]),
                    _ => stream.command(&["PING"]),
                }
            }
        }
        stream
    }

    fn command(&mut self, words: &[&str]) {
        let _ = write!(self.bytes, "*{}\r\n", words.len());
        words.iter().for_each(|word| {
            let _ = write!(self.bytes, "${}\r\n{word}\r\n", word.len());
        });
    }

    /// The data after this many bytes, as the commands say it that read it: a counter, or the elements of a list.
    fn data_at(&self, offset: usize) -> BTreeMap<(usize, &str), Vec<usize>> {
        let mut data: BTreeMap<(usize, &str), Vec<usize>> = BTreeMap::new();
        for (_, changes) in self.units.iter().take_while(|(end, _)| *end <= offset) {
            for Change { db, key, verb } in changes {
                let value = data.entry((*db, key)).or_default();
                match (verb, &mut value[..]) {
                    (Verb::Incr, []) => value.push(1),
                    (Verb::Incr, [counter, ..]) => *counter += 1,
                    (Verb::Push(number), _) => value.push(*number),
                }
            }
        }
        data
    }

    /// Compares what a server has with what its offset says.
    fn check(&self, what: &str, client: &mut Client) {
        let offset = offset(client) as usize;
        assert!(offset > 0, "{what}: the server knows how far it is");
        let expected = self.data_at(offset);
        let numbers = |text: String| text.parse::<usize>().expect("a number");
        for ((db, key), value) in expected {
            client.ask(&format!("SELECT {db}"));
            let found: Vec<usize> = match key.starts_with("counter") {
                true => vec![numbers(client.ask(&format!("GET {key}")).text())],
                false => client
                    .ask(&format!("LRANGE {key} 0 -1"))
                    .items()
                    .iter()
                    .map(|item| numbers(item.text()))
                    .collect(),
            };
            assert!(found == value, "{what}: {key} in {db} at {offset}\n{found:?}\n{value:?}");
        }
    }
}

/// Has a server follow a primary that sends this stream.
fn feed(replica: &Server, bytes: Vec<u8>, mut rng: fastrand::Rng) -> JoinHandle<Option<TcpStream>> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    assert_eq!(replica.client().ask(&format!("REPLICAOF 127.0.0.1 {port}")).text(), "OK");
    let (mut link, _) = listener.accept().unwrap();
    assert!(answer_handshake(&mut link));
    let empty = b"REDIS0011\xff\0\0\0\0\0\0\0\0";
    let head = format!("+FULLRESYNC {} 0\r\n${}\r\n", "c".repeat(40), empty.len());
    link.write_all(head.as_bytes()).unwrap();
    link.write_all(empty).unwrap();
    std::thread::spawn(move || {
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rng.usize(1..300_000).min(rest.len()));
            link.write_all(piece).ok()?;
            rest = after;
        }
        Some(link)
    })
}

/// Nanoseconds that the threads of a server with this name have run.
fn run_ns(server: &Server, name: &str) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", server.pid())).expect("the server runs");
    let of_task = |path: std::path::PathBuf| -> Option<u64> {
        let comm = std::fs::read_to_string(path.join("comm")).ok()?;
        let times = std::fs::read_to_string(path.join("schedstat")).ok()?;
        comm.starts_with(name).then(|| times.split(' ').next()?.parse().ok())?
    };
    tasks.flatten().filter_map(|task| of_task(task.path())).sum()
}

fn check_event(threads: &str, seed: u64, args: &[&str], event: fn(&mut Server, &Stream, &str)) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let what = format!("SEED={seed}, {threads} threads");
    let mut replica = start(Kind::Larder, &[&["--threads", threads, "--save", ""], args].concat());
    let stream = Stream::random(&mut rng);
    let feeder = feed(&replica, stream.bytes.clone(), rng.fork());
    let from = rng.usize(stream.bytes.len() / 5..stream.bytes.len() / 2) as i64;
    let mut client = replica.client();
    wait_until("the stream is applied", || offset(&mut client) >= from);
    let ran = run_ns(&replica, "larder-apply");
    assert_eq!(ran > 500_000, threads != "1", "{what}: {ran} ns");
    event(&mut replica, &stream, &what);
    drop(feeder.join().expect("the feeder ends"));
}

fn ok() -> Value {
    Value::Simple("OK".to_owned())
}

#[test]
fn a_promoted_replica_has_a_prefix_of_the_stream() {
    let seed = seed(71);
    for (at, threads) in ["1", "2", "4"].into_iter().enumerate() {
        check_event(threads, seed + at as u64, &[], |replica, stream, what| {
            let mut client = replica.client();
            assert_eq!(client.ask("REPLICAOF NO ONE"), ok());
            stream.check(what, &mut client);
        });
    }
}

#[test]
fn a_snapshot_of_a_replica_has_a_prefix_of_the_stream() {
    const SAVES: &[&str] = &["--appendonly", "no"];
    let seed = seed(72);
    for (at, threads) in ["1", "4"].into_iter().enumerate() {
        check_event(threads, seed + at as u64, SAVES, |replica, stream, what| {
            assert_eq!(replica.client().ask("SAVE"), ok());
            replica.kill();
            assert!(replica.start_again(SAVES));
            stream.check(what, &mut replica.client());
        });
    }
}

#[test]
fn the_log_of_a_replica_has_a_prefix_of_the_stream() {
    const LOGS: &[&str] = &["--appendonly", "yes", "--save", ""];
    let seed = seed(73);
    for (at, threads) in ["1", "4"].into_iter().enumerate() {
        check_event(threads, seed + at as u64, LOGS, |replica, stream, what| {
            let mut client = replica.client();
            client.ask("BGREWRITEAOF");
            // While the first file is written the server does not end.
            wait_until("the server ends", || {
                client.send(&["SHUTDOWN"]);
                client.read().is_err()
            });
            replica.wait();
            assert!(replica.start_again(LOGS));
            stream.check(what, &mut replica.client());
        });
    }
}

#[test]
fn a_replica_of_a_replica_joins_between_two_units() {
    let seed = seed(74);
    for (at, threads) in ["1", "2", "4"].into_iter().enumerate() {
        check_event(threads, seed + at as u64, &[], |replica, stream, what| {
            let next = start(Kind::Larder, &["--threads", "4"]);
            let mut theirs = next.client();
            follow(&mut theirs, replica);
            wait_for_link(&mut theirs);
            let end = stream.bytes.len() as i64;
            wait_until("everything has come", || offset(&mut theirs) >= end);
            stream.check(what, &mut theirs);
            wait_for_same_data(what, replica, &next);
            assert_eq!(info(&mut replica.client(), "stats", "sync_full"), "1");
        });
    }
}

/// Data that a server loads again while its primary, or its clients, write: nothing is lost and nothing is done twice.
#[test]
fn reloads_keep_what_the_stream_brings() {
    let seed = seed(75);
    let with_log = ["--appendonly", "yes", "--enable-debug-command", "yes"];
    let (primary, replica) = (start(Kind::Larder, &with_log), start(Kind::Larder, &with_log));
    let (mut ours, mut theirs) = (primary.client(), replica.client());
    follow(&mut theirs, &primary);
    wait_for_link(&mut theirs);
    assert_eq!(ours.ask("DEBUG POPULATE 20000").text(), "OK");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _stop = StopAtEnd(&stop);
        for thread in 0..3 {
            let (mut client, stop) = (primary.client(), &stop);
            let mut rng = fastrand::Rng::with_seed(seed.wrapping_add(thread));
            scope.spawn(move || write_until(&mut client, &mut rng, DATABASES, stop));
        }
        for round in 0..6 {
            let (client, server) = if round < 4 { (&mut theirs, "replica") } else { (&mut ours, "primary") };
            let how = ["DEBUG RELOAD", "DEBUG LOADAOF"][round % 2];
            assert_eq!(client.ask(how).text(), "OK", "{how} on the {server}, seed {seed}");
            let before = offset(client);
            wait_until("the stream goes on", || offset(client) > before + 10_000);
        }
    });
    wait_for_same_data(&format!("seed {seed}"), &primary, &replica);
}
