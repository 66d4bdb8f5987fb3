//! Slots that change hands by an atomic migration while clients read and write: how long that takes, and what the clients feel.
//!
//! Servers that know no atomic migration are left out.

use super::cluster::{Group, PRIMARIES, SLOTS_EACH, VALUE, key, wait};
use super::idle::percentile;
use crate::context::Context;
use crate::data::SEED;
use crate::figure::{Target, median};
use crate::loader::Loader;
use fastrand::Rng;
use larder_cluster::key_slot;
use larder_testkit::{Client, Value};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// The timeout of the nodes, in ms: long enough that none is taken for failed while it has no processor.
const NODE_TIMEOUT_MS: &str = "15000";
const KEYS: usize = 1_000_000;
/// Slots that move, from the first node to the second and back.
const SLOTS: u16 = 4096;
/// Clients that each wait for every reply.
const CLIENTS: u64 = 2;
/// How long clients are timed while nothing moves.
const CALM: Duration = Duration::from_secs(3);
/// The name of the peer that has atomic migrations too.
const VALKEY: &str = "valkey";
/// Of its time, and of the latency without a migration.
const TIME_MOST: f64 = 0.33;
const LATENCY_MOST: f64 = 2.0;

/// Moves slots there and back.
pub fn run(context: &mut Context) -> io::Result<()> {
    let group = Group::start(context, NODE_TIMEOUT_MS)?;
    if group.node(0).ask("CLUSTER GETSLOTMIGRATIONS").is_err() {
        return Ok(());
    }
    let keys = context.scaled(KEYS, 5000);
    fill(&group, keys)?;
    let still = CALM.mul_f64(context.options.scale.clamp(0.05, 1.0));
    let (mut took, mut calm, mut moving) = (Vec::new(), Vec::new(), Vec::new());
    let rounds = context.rounds(4);
    for round in 0..rounds {
        context.progress("moves", round, rounds);
        calm.extend(beside(&group, keys, || {
            thread::sleep(still);
            Ok(())
        })?);
        let (from, to) = if round % 2 == 0 { (0, 1) } else { (1, 0) };
        moving.extend(beside(&group, keys, || {
            took.push(migrate(&group, from, to)?);
            Ok(())
        })?);
    }
    for latencies in [&mut calm, &mut moving] {
        latencies.sort_by(f64::total_cmp);
    }
    let row = format!("{SLOTS} slots moved, {keys} keys in all");
    context.figure(row, "ms", median(took), Target::OfPeer(TIME_MOST, VALKEY));
    for (name, share) in [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)] {
        let row = format!("{name} of GET and SET, nothing moves");
        context.figure(row.clone(), "us", percentile(&calm, share), Target::None);
        let target = if name == "p99" { Target::OfRow(LATENCY_MOST, row) } else { Target::None };
        context.figure(
            format!("{name} of GET and SET, slots move"),
            "us",
            percentile(&moving, share),
            target,
        );
    }
    Ok(())
}

/// Whose slots they are at the beginning.
fn shard_of(key: &str) -> usize {
    usize::from(key_slot(key.as_bytes())) / SLOTS_EACH
}

fn fill(group: &Group, keys: usize) -> io::Result<()> {
    let ports = (0..PRIMARIES).map(|at| group.node(at).port());
    let mut loaders = ports.map(Loader::connect).collect::<io::Result<Vec<_>>>()?;
    for number in 0..keys {
        let key = key(number);
        loaders[shard_of(&key)].send(&[b"SET", key.as_bytes(), VALUE.as_bytes()])?;
    }
    loaders.into_iter().try_for_each(Loader::finish)
}

/// Moves the first slots and waits until the source says that it is done. In ms.
fn migrate(group: &Group, from: usize, to: usize) -> io::Result<f64> {
    let target = group.node(to).ask("CLUSTER MYID")?;
    let begun = Instant::now();
    group.node(from).ask(&format!("CLUSTER MIGRATESLOTS SLOTSRANGE 0 {} NODE {target}", SLOTS - 1))?;
    let mut client = group.node(from).client();
    wait("the slots are the target's", || {
        let jobs = client.ask("CLUSTER GETSLOTMIGRATIONS");
        let newest = jobs.items().first().map_or(&[][..], Value::items);
        let state = newest.iter().position(|item| item.text() == "state").and_then(|at| newest.get(at + 1));
        match state.map(Value::text).as_deref() {
            Some("success") => Ok(true),
            Some(state @ ("failed" | "cancelled")) => {
                Err(io::Error::other(format!("a migration has {state}")))
            }
            _ => Ok(false),
        }
    })?;
    Ok(begun.elapsed().as_secs_f64() * 1e3)
}

/// Latencies of clients, in us, while something is done.
fn beside(group: &Group, keys: usize, work: impl FnOnce() -> io::Result<()>) -> io::Result<Vec<f64>> {
    let ends = AtomicBool::new(false);
    thread::scope(|scope| {
        let asking: Vec<_> = (0..CLIENTS)
            .map(|client| {
                scope.spawn({
                    let ends = &ends;
                    move || ask(group, keys, SEED + client, ends)
                })
            })
            .collect();
        let worked = work();
        ends.store(true, Relaxed);
        let mut all = Vec::new();
        for client in asking {
            all.extend(client.join().map_err(|_| io::Error::other("a client has panicked"))??);
        }
        worked.map(|()| all)
    })
}

/// Reads and writes keys in turn, wherever they are, until told to end.
fn ask(group: &Group, keys: usize, seed: u64, ends: &AtomicBool) -> io::Result<Vec<f64>> {
    let mut clients: Vec<Client> = (0..PRIMARIES).map(|at| group.node(at).client()).collect();
    let ports: Vec<u16> = (0..PRIMARIES).map(|at| group.node(at).port()).collect();
    // Where a slot was found last; as it was at the beginning until then.
    let mut known = vec![None; 16_384];
    let (mut rng, mut latencies) = (Rng::with_seed(seed), Vec::new());
    while !ends.load(Relaxed) {
        let key = key(rng.usize(..keys));
        let words: &[&str] = if latencies.len() % 2 == 0 { &["GET", &key] } else { &["SET", &key, VALUE] };
        let slot = usize::from(key_slot(key.as_bytes()));
        let mut at = known[slot].unwrap_or_else(|| shard_of(&key));
        let begun = Instant::now();
        let mut reply = clients[at].try_cmd(words)?;
        while let Value::Error(text) = &reply {
            let port = text.strip_prefix("MOVED ").and_then(|rest| rest.rsplit(':').next()?.parse().ok());
            let other = port.and_then(|port: u16| ports.iter().position(|&other| other == port));
            at = other.ok_or_else(|| io::Error::other(text.clone()))?;
            known[slot] = Some(at);
            reply = clients[at].try_cmd(words)?;
        }
        latencies.push(begun.elapsed().as_secs_f64() * 1e6);
    }
    Ok(latencies)
}
