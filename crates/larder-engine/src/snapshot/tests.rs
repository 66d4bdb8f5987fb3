//! Snapshots while threads write.

use super::{Content, Record};
use crate::engine::Engine;
use crate::keyspace::key::SHARDS;
use crate::keyspace::locks::{Held, ScriptTurn, ShardGuard};
use crate::ledger::NoShards;
use larder_collections::key_table::{Captured, OwnedValue};
use larder_collections::value::Value;
use larder_rdb::{Version, dump};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

#[path = "../../tests/support/mod.rs"]
mod support;

use support::Client;

/// What every key looks like from outside: its value as a payload, and its expiry.
type Contents = BTreeMap<(usize, Vec<u8>), (Vec<u8>, Option<u64>)>;

fn payload(value: &Value) -> Vec<u8> {
    match value {
        // The order of a table is that of its segments, which a clone shares.
        Value::String(bytes) => bytes.to_vec(),
        Value::List(list) => {
            let mut bytes = Vec::new();
            let _ = list.for_each_range::<()>(0, list.len(), |element| {
                bytes.extend_from_slice(format!("{element:?},").as_bytes());
                ControlFlow::Continue(())
            });
            bytes
        }
        value => dump::of_value(value, Version::V80, false),
    }
}

fn of_shards(held: &mut Held<'_>) -> Contents {
    let mut contents = Contents::new();
    for (_, shard) in held.each_mut() {
        for (db, table) in shard.tables().iter().enumerate() {
            for entry in table.iter() {
                let captured = Captured::of(&entry);
                let value = match &captured.value {
                    OwnedValue::Inline { bytes, .. } => bytes.to_vec(),
                    OwnedValue::Out(value) => payload(value),
                };
                contents.insert((db, entry.key().to_vec()), (value, captured.expire_at_ms));
            }
        }
    }
    contents
}

fn turn(engine: &Engine) -> ScriptTurn<'_> {
    engine.try_take_turn(NoShards::outside_commands()).expect("no script runs")
}

fn shards(engine: &Engine) -> impl Iterator<Item = ShardGuard<'_>> {
    (0..SHARDS)
        .map(|shard| engine.shards.try_lock_one(shard, NoShards::outside_commands()).expect("no script runs"))
}

fn of_snapshot(snapshot: &super::Snapshot, mut between: impl FnMut()) -> Contents {
    let mut contents = Contents::new();
    for database in snapshot.databases() {
        let mut keys = 0;
        let done = snapshot.for_each(database.index, |record: Record<'_>| {
            between();
            keys += 1;
            let value = match record.content {
                Content::String(bytes) => bytes.to_vec(),
                Content::Value(value) => payload(value),
            };
            let twin = contents.insert((database.index, record.key.to_vec()), (value, record.expire_at_ms));
            if twin.is_none() { Ok(()) } else { Err(record.key.to_vec()) }
        });
        assert_eq!(done, Ok(()), "a key came twice");
        assert_eq!(keys, database.keys);
    }
    contents
}

/// One random command that writes.
fn command(rng: &mut fastrand::Rng, keys: u64) -> String {
    let (kind, at) = (rng.usize(..12), rng.u64(..keys));
    let n = rng.u32(..1000);
    match kind {
        0 => format!("SET s{at} {n}"),
        1 => format!("SET s{at} {} PX {}", "v".repeat(rng.usize(..300)), rng.u32(1..200_000)),
        2 => format!("APPEND s{at} {n}"),
        3 => format!("RPUSH l{at} {n} {n}x"),
        4 => format!("LPOP l{at}"),
        5 => format!("HSET h{at} f{} {n}", n % 60),
        6 => format!("SADD t{at} {n} m{n}"),
        7 => format!("SPOP t{at}"),
        8 => format!("ZADD z{at} {n} m{}", n % 70),
        9 => format!("DEL {}{at}", ["s", "l", "h", "t", "z"][rng.usize(..5)]),
        10 => format!("RENAME s{at} s{}", rng.u64(..keys)),
        _ => format!("PEXPIRE l{at} {}", rng.u32(1..100_000)),
    }
}

fn write_until(mut thread: Client, seed: u64, keys: u64, stop: &AtomicBool) {
    let mut rng = fastrand::Rng::with_seed(seed);
    while !stop.load(Ordering::Relaxed) {
        thread.ask(&command(&mut rng, keys));
        if rng.u32(..5000) == 0 {
            thread.ask(["FLUSHDB", "SWAPDB 0 1", "SELECT 1", "SELECT 0"][rng.usize(..4)]);
        }
    }
}

#[test]
fn a_snapshot_is_the_keyspace_at_its_start() {
    let seed = larder_testkit::seed(17);
    let rounds = if larder_testkit::full_run() { 300 } else { 12 };
    for (threads, keys) in [(1, 2000), (2, 50), (4, 20_000)] {
        let engine = support::engine();
        let mut first = Client::new(&engine, 0);
        let mut rng = fastrand::Rng::with_seed(seed);
        (0..keys).for_each(|_| drop(first.ask(&command(&mut rng, keys))));
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            for index in 1..=threads {
                let (client, stop) = (Client::new(&engine, index), &stop);
                scope.spawn(move || write_until(client, seed + index as u64, keys, stop));
            }
            for _ in 0..rounds {
                let mut expected = Contents::new();
                let snapshot = engine.snapshot_with(&turn(&engine), |held| expected = of_shards(held));
                let snapshot = snapshot.expect("there is no other one");
                assert!(engine.snapshot(&turn(&engine), || ()).is_none());
                // Writers come in between, some hundred times: each time may be a turn of everybody else on a busy machine.
                let mut records = 0;
                let got = of_snapshot(&snapshot, || {
                    records += 1;
                    if records % (keys / 20).max(1) == 0 {
                        thread::yield_now();
                    }
                });
                let same = got == expected;
                if !same {
                    stop.store(true, Ordering::Relaxed);
                }
                assert!(same, "SEED={seed}: {} keys of {}", got.len(), expected.len());
            }
            stop.store(true, Ordering::Relaxed);
        });
        assert!(shards(&engine).all(|mut shard| shard.take_departed().is_empty()));
    }
}

#[test]
fn a_snapshot_that_is_given_up_leaves_nothing_behind() {
    let engine = support::engine();
    let mut thread = Client::new(&engine, 0);
    (0..1000).for_each(|i| drop(thread.ask(&format!("SET {i} {i}"))));
    let snapshot = engine.snapshot(&turn(&engine), || ()).expect("there is no other one");
    thread.ask("SET 5 changed");
    thread.ask("FLUSHALL");
    drop(snapshot);
    assert!(shards(&engine).all(|mut shard| shard.all_tables_mut().all(|t| t.capture_label().is_none())));
    assert!(engine.snapshot(&turn(&engine), || ()).expect("the other one is gone").databases().is_empty());
}
