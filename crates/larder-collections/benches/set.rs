//! What sets cost: nanoseconds per operation and bytes per member, beside `std`.
//!
//! `cargo bench -p larder-collections --bench set [NAME...]` runs the full sizes; under `cargo test` the same code runs
//! small, so that it cannot rot.

use larder_collections::int_set::IntSet;
use std::collections::{BTreeSet, HashSet};
use std::hint::black_box;
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let full = arguments.iter().any(|a| a == "--bench");
    let names: Vec<&String> = arguments.iter().filter(|a| !a.starts_with('-')).collect();
    let scale = if full { 1 } else { 200 };
    let run = |name: &str, part: fn(usize)| {
        if names.is_empty() || names.iter().any(|n| *n == name) {
            part(scale);
        }
    };
    run("integers", integers);
    run("stall", stall);
}

/// Nanoseconds per operation of one run.
fn time<T>(count: usize, f: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let result = black_box(f());
    (result, start.elapsed().as_nanos() as f64 / count as f64)
}

fn shuffled(values: &[i64]) -> Vec<i64> {
    let mut values = values.to_vec();
    fastrand::Rng::with_seed(9).shuffle(&mut values);
    values
}

/// A set of integers by kind of value: bytes and nanoseconds, and those of `BTreeSet` and `HashSet`.
fn integers(scale: usize) {
    println!(
        "integers              | bytes  insert  contains   miss  select  iterate  remove | BTreeSet insert, contains; HashSet"
    );
    for name in ["below 10^9", "64 bits", "ascending", "shuffled sequence"] {
        let mut rng = fastrand::Rng::with_seed(1);
        let count = 2_000_000 / scale;
        let sequence: Vec<i64> = (0..count as i64).collect();
        let values = match name {
            "below 10^9" => (0..count).map(|_| rng.i64(0..1_000_000_000)).collect(),
            "64 bits" => (0..count).map(|_| rng.i64(..)).collect(),
            "ascending" => sequence,
            _ => shuffled(&sequence),
        };
        let probes = shuffled(&values);
        let (mut set, insert) = time(count, || values.iter().copied().collect::<IntSet>());
        let bytes = set.memory_bytes(0) as f64 / set.len() as f64;
        let (_, hit) = time(count, || probes.iter().filter(|&&v| set.contains(v)).count());
        let (_, miss) = time(count, || probes.iter().filter(|&&v| set.contains(v ^ 0x55)).count());
        let (_, select) = time(count, || {
            (0..count).map(|_| set.select(rng.u64(..set.len())).unwrap_or(0)).fold(0, i64::wrapping_add)
        });
        let (_, iterate) = time(count, || set.iter().fold(0, i64::wrapping_add));
        let (_, remove) = time(count, || probes.iter().filter(|&&v| set.remove(v)).count());
        assert!(set.is_empty());
        let (tree, tree_insert) = time(count, || values.iter().copied().collect::<BTreeSet<i64>>());
        let (_, tree_hit) = time(count, || probes.iter().filter(|&&v| tree.contains(&v)).count());
        let (table, table_insert) = time(count, || values.iter().copied().collect::<HashSet<i64>>());
        let (_, table_hit) = time(count, || probes.iter().filter(|&&v| table.contains(&v)).count());
        println!(
            "{name:<21} | {bytes:5.2} {insert:7.0} {hit:9.0} {miss:6.0} {select:7.0} {iterate:8.1} {remove:7.0} | \
             {tree_insert:.0}, {tree_hit:.0}; {table_insert:.0}, {table_hit:.0}"
        );
    }
}

/// The slowest single insert while a set grows.
fn stall(scale: usize) {
    let count = 5_000_000 / scale;
    let mut rng = fastrand::Rng::with_seed(2);
    let (mut set, mut worst) = (IntSet::new(), Duration::ZERO);
    for _ in 0..count {
        let value = rng.i64(..);
        let start = Instant::now();
        set.insert(value);
        worst = worst.max(start.elapsed());
    }
    println!("worst insert of {count} integers: {worst:?}");
}
