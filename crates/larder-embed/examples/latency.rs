//! How long calls take: of a store in memory, and of a replica that follows a server if an address is given.
//!
//! `cargo run --release -p larder-embed --example latency [-- redis://127.0.0.1:6379]`. Writes 100,000 keys `latency:*` to that server.
//! Prints the median, the 99th percentile and the mean of each in nanoseconds. Each call is timed by itself; what reading the clock takes is
//! printed too, and not taken off.

use larder_embed::{Replica, Result, Store, Wait};
use std::hint::black_box;
use std::time::{Duration, Instant};

const KEYS: u64 = 100_000;
const CALLS: u64 = 500_000;
const FIELDS: u64 = 20;

/// Times calls with the numbers of keys.
fn time(what: &str, mut call: impl FnMut(u64)) {
    let mut rng = 1_u64;
    let mut next = || {
        rng = rng.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (rng >> 33) % KEYS
    };
    (0..CALLS / 10).for_each(|_| call(next()));
    let mut times = Vec::with_capacity(CALLS as usize);
    for _ in 0..CALLS {
        let key = next();
        let begun = Instant::now();
        call(key);
        times.push(begun.elapsed());
    }
    times.sort();
    let at = |share: f64| times[(share * (CALLS - 1) as f64) as usize].as_nanos();
    let mean = times.iter().sum::<Duration>().as_nanos() / u128::from(CALLS);
    println!("{what:34} p50 {:>6} ns   p99 {:>6} ns   mean {mean:>6} ns", at(0.5), at(0.99));
}

fn read(what: &str, store: &Store) {
    let key = |kind: &str, key: u64| format!("latency:{kind}:{key}");
    let keys = |kind: &str| (0..KEYS).map(|at| key(kind, at)).collect::<Vec<_>>();
    let (strings, hashes) = (keys("s"), keys("h"));
    time(&format!("{what}: GET"), |at| {
        drop(black_box(store.get(&strings[at as usize]).expect("it is read")));
    });
    time(&format!("{what}: HGETALL of {FIELDS} fields"), |at| {
        let fields = store.hgetall(&hashes[at as usize]).expect("it is read");
        for field in fields.iter() {
            black_box(field);
        }
    });
    time(&format!("{what}: HGET"), |at| {
        drop(black_box(store.hget(&hashes[at as usize], "field:7").expect("it is read")));
    });
    time(&format!("{what}: command([GET ..])"), |at| {
        drop(black_box(store.command(&["GET", &strings[at as usize]]).expect("it is read")));
    });
}

fn fields(key: u64) -> Vec<(String, String)> {
    (0..FIELDS).map(|field| (format!("field:{field}"), format!("value-{key}-{field}"))).collect()
}

fn main() -> Result<()> {
    time("the clock", |_| ());
    let store = Store::in_memory()?;
    for key in 0..KEYS {
        store.set(format!("latency:s:{key}"), format!("value-{key}"))?;
        store.hset(format!("latency:h:{key}"), &fields(key))?;
    }
    read("in memory", &store);
    time("in memory: SET", |at| store.set(format!("latency:s:{at}"), "value").expect("it is set"));
    drop(store);
    let Some(url) = std::env::args().nth(1) else { return Ok(()) };
    let replica = Replica::connect(&url)?;
    for key in 0..KEYS {
        let (name, value) = (format!("latency:s:{key}"), format!("value-{key}"));
        replica.write(&["SET", &name, &value], Wait::Primary)?;
        let pairs = fields(key).into_iter().flat_map(|(field, value)| [field, value]);
        let words: Vec<String> =
            ["HSET".to_owned(), format!("latency:h:{key}")].into_iter().chain(pairs).collect();
        replica.write(&words, Wait::Primary)?;
    }
    replica.write(&["SET", "latency:last", "v"], Wait::Own(Duration::from_secs(60)))?;
    read("replica", replica.data());
    let mut times: Vec<Duration> = Vec::new();
    for _ in 0..5000 {
        let begun = Instant::now();
        replica.write(&["SET", "latency:last", "v"], Wait::Own(Duration::from_secs(60)))?;
        times.push(begun.elapsed());
    }
    times.sort();
    println!("replica: write that is waited for     p50 {:?}   p99 {:?}", times[2500], times[4950]);
    Ok(())
}
