//! How the engine scales with threads, without sockets: GET, SET, LPUSH and RPOP over a shared keyspace.
//!
//! `cargo bench -p larder-engine --bench scaling [-- KEYS OPERATIONS]`. Prints nanoseconds per operation for one thread,
//! operations per second for one and two threads, and the ratio. Small sizes by default, so that it also runs as a test.

#[path = "../tests/support/mod.rs"]
mod support;

use larder_resp::{Args, OwnedArgs};
use std::sync::Barrier;
use std::time::{Duration, Instant};
use support::{Client, engine};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Prepared commands, so that the bench times the engine and not the making of requests.
fn commands(verb: &str, prefix: &str, keys: u64, count: u64, seed: u64) -> Vec<OwnedArgs> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let make = |_| {
        let key = format!("{prefix}:{:012}", rng.u64(..keys));
        let words: Vec<&[u8]> = match verb {
            "GET" | "RPOP" => vec![verb.as_bytes(), key.as_bytes()],
            _ => vec![verb.as_bytes(), key.as_bytes(), b"value-00000000000000"],
        };
        words.into_iter().collect()
    };
    (0..count).map(make).collect()
}

/// Runs each client's commands on a thread of its own; returns the time until all have finished.
fn run(clients: &mut [Client], work: &[Vec<OwnedArgs>], rounds: u64) -> Duration {
    let barrier = Barrier::new(clients.len() + 1);
    std::thread::scope(|scope| {
        for (client, commands) in clients.iter_mut().zip(work) {
            let barrier = &barrier;
            scope.spawn(move || {
                barrier.wait();
                let mut out = Vec::new();
                for _ in 0..rounds {
                    for batch in commands.chunks(16) {
                        client.worker.tick();
                        out.clear();
                        for args in batch {
                            let args: Args<'_> = args.as_args();
                            client.worker.execute(&mut client.session, &args, &mut out);
                        }
                    }
                }
                barrier.wait();
            });
        }
        barrier.wait();
        let start = Instant::now();
        barrier.wait();
        start.elapsed()
    })
}

fn main() {
    let args: Vec<u64> = std::env::args().skip(1).filter_map(|arg| arg.parse().ok()).collect();
    let (keys, operations) = (args.first().copied().unwrap_or(1000), args.get(1).copied().unwrap_or(1000));
    let engine = engine();
    let mut clients: Vec<Client> = (0..2).map(|index| Client::new(&engine, index)).collect();
    for i in 0..keys {
        clients[0].ask(&format!("SET s:{i:012} value-00000000000000"));
        clients[0].ask(&format!("RPUSH l:{i:012} value-00000000000000"));
    }
    println!(
        "{:8} {:>10} {:>14} {:>14} {:>7}",
        "command", "ns/op", "1 thread op/s", "2 threads op/s", "ratio"
    );
    for (verb, prefix) in [("GET", "s"), ("SET", "s"), ("LPUSH", "l"), ("RPOP", "l")] {
        let work: Vec<_> = (0..2).map(|seed| commands(verb, prefix, keys, operations, seed)).collect();
        run(&mut clients[..1], &work[..1], 1);
        // Alternating, and the best of three, as neighbours on the machine disturb single runs.
        let (mut one, mut two) = (Duration::MAX, Duration::MAX);
        for _ in 0..3 {
            one = one.min(run(&mut clients[..1], &work[..1], 1));
            two = two.min(run(&mut clients, &work, 1));
        }
        let rate = |threads: u64, time: Duration| (threads * operations) as f64 / time.as_secs_f64();
        println!(
            "{verb:8} {:>10.1} {:>14.0} {:>14.0} {:>7.2}",
            one.as_nanos() as f64 / operations as f64,
            rate(1, one),
            rate(2, two),
            rate(2, two) / rate(1, one)
        );
    }
}
