//! What sets cost: nanoseconds per operation and bytes per member, beside `std`.
//!
//! `cargo bench -p larder-collections --bench set [NAME...]` runs the full sizes; under `cargo test` the same code runs
//! small, so that it cannot rot.

use larder_collections::int_set::IntSet;
use larder_collections::set::{Set, SetLimits};
use std::collections::{BTreeSet, HashSet};
use std::hint::black_box;
use std::time::Duration;

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
    run("strings", strings);
    run("stall", stall);
}

/// Nanoseconds per operation of one run.
fn time<T>(count: usize, f: impl FnOnce() -> T) -> (T, f64) {
    let start = cpu_time();
    let result = black_box(f());
    (result, (cpu_time() - start).as_nanos() as f64 / count as f64)
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

/// A set of strings: bytes and nanoseconds, and those of `HashSet`.
fn strings(scale: usize) {
    println!(
        "strings of 16 bytes   | bytes  insert  contains   miss  sample  iterate     pop | HashSet insert, contains"
    );
    let (limits, count) = (SetLimits::default(), 2_000_000 / scale);
    let member = |n: u64| format!("m{:015}", n * 7919 % 1_000_000_007);
    let mut rng = fastrand::Rng::with_seed(1);
    let mut set = Set::new();
    let ((), insert) = time(count, || {
        (0..count as u64).for_each(|n| assert!(set.insert(member(n).as_bytes(), &limits)));
    });
    let bytes = set.memory_bytes(0) as f64 / set.len() as f64;
    let mut probe = |from: u64| {
        time(count, || {
            (0..count).filter(|_| set.contains(member(from + rng.u64(..count as u64)).as_bytes())).count()
        })
    };
    let ((found, hit), (none, miss)) = (probe(0), probe(1 << 32));
    assert!(found == count && none < count / 100);
    let (_, sample) = time(count, || (0..count).filter(|_| set.sample(&mut rng).is_some()).count());
    let (_, iterate) = time(count, || set.iter().map(|element| element.text_len()).sum::<usize>());
    let (_, pop) = time(count, || (0..count).filter(|_| set.pop(&mut rng, |_| ()).is_some()).count());
    assert!(set.is_empty());
    let (table, table_insert) = time(count, || (0..count as u64).map(member).collect::<HashSet<String>>());
    let (_, table_hit) =
        time(count, || (0..count).filter(|_| table.contains(&member(rng.u64(..count as u64)))).count());
    println!(
        "{count:<21} | {bytes:5.2} {insert:7.0} {hit:9.0} {miss:6.0} {sample:7.0} {iterate:8.1} {pop:7.0} | \
         {table_insert:.0}, {table_hit:.0}"
    );
}

/// How long single inserts take while a set grows from nothing: a histogram in powers of four, and the slowest.
fn stall(scale: usize) {
    let count = 5_000_000 / scale;
    println!("inserts by time       | <1us  <4us  <16us  <64us  <256us  <1ms  more | slowest");
    for name in ["integers", "strings", "std HashSet"] {
        let (limits, mut rng) = (SetLimits::default(), fastrand::Rng::with_seed(2));
        let (mut set, mut table) = (Set::new(), HashSet::new());
        let (mut counts, mut worst) = ([0u32; 7], Duration::ZERO);
        for _ in 0..count {
            let value = rng.i64(..);
            let text = if name == "integers" { value.to_string() } else { format!("m{value:016x}") };
            let start = cpu_time();
            if name == "std HashSet" {
                table.insert(text);
            } else {
                set.insert(text.as_bytes(), &limits);
            }
            let took = cpu_time() - start;
            let step = (took.as_micros().max(1).ilog2() as usize + 2) / 2;
            counts[if took.as_nanos() < 1000 { 0 } else { step.min(6) }] += 1;
            worst = worst.max(took);
        }
        let [a, b, c, d, e, f, g] = counts;
        println!("{name:<21} | {a}  {b}  {c}  {d}  {e}  {f}  {g} | {worst:?}");
    }
}

/// CPU time of this thread: the machine may be busy with other things.
fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live timespec, and the clock exists on every supported system.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    assert_eq!(result, 0, "the thread has a CPU clock");
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
