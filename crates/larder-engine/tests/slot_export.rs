//! The source's side of a migration of slots: whatever is done while slots are read, what is handed out makes their keys on another server what
//! they are here.

mod support;

use fastrand::Rng;
use larder_cluster::key_slot;
use larder_engine::{MayWait, SlotExport, hash_by_slot, spawn_background};
use larder_resp::{Limits, Parsed, Parser};
use support::{Client, engine};

/// Keys of a slot: it is read in a dozen pieces or so.
const FILL: usize = 2500;
/// Those that most commands are about.
const BUSY: usize = 30;
const DATABASES: usize = 2;

/// Executes what was handed out; nothing of it may fail.
fn execute(target: &mut Client, bytes: &mut Vec<u8>) {
    let limits = Limits { bulk_bytes_max: u64::MAX >> 1, authenticated: true };
    let (mut at, mut parser) = (0, Parser::new());
    while let Ok(Parsed::Command { args, consumed }) = parser.next(&bytes[at..], &limits) {
        let words: Vec<&[u8]> = args.iter().collect();
        let reply = target.run(&words);
        let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_ne!(reply.first(), Some(&b'-'), "{}: {}", shown(&bytes[at..at + consumed]), shown(&reply));
        at += consumed;
    }
    assert_eq!(at, bytes.len(), "whole commands are handed out");
    bytes.clear();
}

/// A command on keys of one slot, or a transaction of some.
fn disturb(source: &mut Client, rng: &mut Rng, tag: &str) {
    source.ask(&format!("SELECT {}", rng.usize(..DATABASES)));
    let count = if rng.u8(..6) == 0 { rng.usize(1..4) } else { 0 };
    if count > 0 {
        source.ask("MULTI");
    }
    for _ in 0..count.max(1) {
        let mut name = |kind: &str| match rng.u8(..5) {
            0 => format!("{{{tag}}}{kind}{}", rng.usize(..FILL)),
            _ => format!("{{{tag}}}{kind}{}", rng.usize(..BUSY)),
        };
        let [n, m, l, k, s, t] = ["n", "n", "l", "l", "s", "s"].map(&mut name);
        let (x, db) = (rng.u32(..), rng.usize(..DATABASES));
        source.ask(&match rng.u8(..18) {
            0 | 1 => format!("INCR {n}"),
            2 | 3 => format!("RENAME {n} {m}"),
            4 => format!("COPY {n} {m} REPLACE"),
            5 => format!("COPY {n} {m} DB {db} REPLACE"),
            6 => format!("MOVE {n} {db}"),
            7 => format!("MSET {n} {x} {m} {x} {n}x 5"),
            8 => format!("UNLINK {n} {m} {l}"),
            9 => format!("PEXPIREAT {n} 9999999999{:03}", x % 1000),
            10 => format!("RPUSH {l} {x} {} {}", x / 2, x / 3),
            11 | 12 => format!("LMOVE {l} {k} LEFT RIGHT"),
            13 => format!("SADD {s} {} {}", x % 50, x % 51),
            14 => format!("SMOVE {s} {t} {}", x % 50),
            15 => format!("SUNIONSTORE {s} {s} {t}"),
            16 => format!("RENAMENX {l} {k}"),
            _ => format!("APPEND {n} {}", x % 10),
        });
    }
    if count > 0 {
        source.ask("EXEC");
    }
}

/// Everything in the keys of a slot.
fn contents(client: &mut Client, tag: &str) -> Vec<String> {
    let mut all = Vec::new();
    for db in 0..DATABASES {
        client.ask(&format!("SELECT {db}"));
        let keys = client.ask(&format!("KEYS {{{tag}}}*"));
        for key in keys.split(' ').filter(|word| word.starts_with('{')) {
            let value = match client.ask(&format!("TYPE {key}")).as_str() {
                "+string" => client.ask(&format!("GET {key}")),
                "+list" => client.ask(&format!("LRANGE {key} 0 -1")),
                "+set" => {
                    let members = client.ask(&format!("SMEMBERS {key}"));
                    let mut members: Vec<&str> = members.split(' ').collect();
                    members.sort_unstable();
                    members.join(" ")
                }
                other => panic!("{key} is of the type {other}"),
            };
            let deadline = client.ask(&format!("PEXPIRETIME {key}"));
            all.push(format!("{db} {key} {deadline} {value}"));
        }
    }
    all.sort_unstable();
    all
}

fn export(seed: u64, may_wait: &MayWait) {
    let mut rng = Rng::with_seed(seed);
    let [here, there] = [engine(), engine()];
    let (mut source, mut target) = (Client::new(&here, 0), Client::new(&there, 0));
    let tags = ["a", "b", "c"];
    for tag in tags {
        for at in 0..FILL {
            source.ask(&format!("SELECT {}", at % DATABASES));
            source.ask(&format!("SET {{{tag}}}n{at} {at}"));
        }
    }
    // The last one stays.
    let moving = &tags[..2];
    let mut slots = SlotExport::begin(&here).expect("it is a primary");
    let mut bytes = Vec::new();
    let busy = |source: &mut Client, rng: &mut Rng, most: usize| {
        for _ in 0..rng.usize(..most) {
            let tag = tags[rng.usize(..tags.len())];
            disturb(source, rng, tag);
        }
    };
    for tag in moving {
        let mut pieces = 1;
        while slots.read_some(key_slot(tag.as_bytes()), may_wait, &mut bytes) {
            pieces += 1;
            busy(&mut source, &mut rng, 20);
            slots.read_changes(may_wait, &mut bytes).expect("nothing was flushed");
            busy(&mut source, &mut rng, 20);
            if rng.bool() {
                execute(&mut target, &mut bytes);
            }
        }
        assert!(pieces > 3, "{pieces}");
        busy(&mut source, &mut rng, 20);
        slots.read_changes(may_wait, &mut bytes).expect("nothing was flushed");
    }
    for _ in 0..5 {
        busy(&mut source, &mut rng, 50);
        slots.read_changes(may_wait, &mut bytes).expect("nothing was flushed");
        execute(&mut target, &mut bytes);
    }
    for tag in moving {
        assert_eq!(contents(&mut target, tag), contents(&mut source, tag));
    }
    assert_eq!(contents(&mut target, tags[2]), Vec::<String>::new());
}

#[test]
fn what_is_handed_out_makes_the_keys_what_they_are() {
    assert!(hash_by_slot(), "nothing has been hashed");
    let run = |may_wait: &MayWait| {
        for seed in larder_testkit::seeds(8, 200) {
            export(seed, may_wait);
        }
    };
    spawn_background("test", run).expect("a thread").join().expect("it has not panicked");
}
