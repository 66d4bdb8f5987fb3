//! The sorted set beside an ordered set with a hash map: nanoseconds per operation and bytes per member.
//!
//! `cargo bench -p larder-collections --bench sorted_set -- 2000000` runs all cases with that many members, each in a
//! process of its own so that resident memory is its own; `-- 2000000 random` runs one case. Without arguments it is quick
//! enough for `cargo test`.
//!
//! Members have 16 bytes. Times are CPU times of the thread and include making the member's name.

use fastrand::Rng;
use larder_collections::sorted_set::{Bound, Limits, Order, SortedSet};
use std::collections::{BTreeSet, HashMap};
use std::hint::black_box;
use std::ops::ControlFlow;
use std::process::Command;
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const CASES: [&str; 10] =
    ["random", "integers", "sequential", "equal", "many100", "many500", "clone", "worst", "churn", "model"];
const QUICK: u64 = 5_000;
const LIMITS: Limits = Limits { entries: 128, member_len: 64 };

type Set = SortedSet;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let n = args.first().and_then(|n| n.parse().ok()).unwrap_or(QUICK);
    let mut rng = Rng::with_seed(7);
    match args.get(1).map(String::as_str) {
        None => CASES.iter().for_each(|case| run_alone(n, case)),
        Some("random") => run("random doubles", n, 1, |_| rng.f64() * 1e6),
        Some("integers") => run("integers below 10^6", n, 1, |_| rng.u32(..1_000_000).into()),
        Some("sequential") => run("sequential", n, 1, |i| i as f64),
        Some("equal") => run("equal scores", n, 1, |_| 1.0),
        Some("many100") => run("sets of 100", n, 100, |_| rng.f64()),
        Some("many500") => run("sets of 500", n, 500, |_| rng.f64()),
        Some("clone") => clones(n),
        Some("worst") => worst_insert(n),
        Some("churn") => churn(n),
        Some("model") => model(n),
        Some(other) => panic!("{other} is none of {CASES:?}"),
    }
}

/// Runs one case in a process of its own.
fn run_alone(n: u64, case: &str) {
    let this = std::env::current_exe().expect("a running program has a path");
    let status = Command::new(this).args([&n.to_string(), case]).status();
    assert!(status.expect("this program can be started").success(), "case {case} failed");
}

fn name(i: u64) -> [u8; 16] {
    let mut name = *b"m000000000000000";
    let (mut i, mut at) = (i, 15);
    while i > 0 {
        name[at] = b'0' + (i % 10) as u8;
        (i, at) = (i / 10, at - 1);
    }
    name
}

/// CPU time of this thread: the machine may be busy with other things.
fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live timespec, and the clock exists on every supported system.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    assert_eq!(result, 0, "the thread has a CPU clock");
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn rss() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    status.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}

fn time(what: &str, count: u64, mut f: impl FnMut(u64)) {
    let start = cpu_time();
    (0..count).for_each(&mut f);
    print!("  {what} {:.0}", (cpu_time() - start).as_nanos() as f64 / count.max(1) as f64);
}

/// One case: `n` members in sets of `each` (all in one if that is 1), the operations in turn.
fn run(what: &str, n: u64, each: u64, mut score: impl FnMut(u64) -> f64) {
    let sets = if each == 1 { 1 } else { (n / each).max(1) };
    let before = rss();
    let mut all: Vec<Set> = (0..sets).map(|_| Set::new()).collect();
    let mut rng = Rng::with_seed(1);
    let scores: Vec<f64> = (0..n).map(&mut score).collect();
    let held = rss();
    let at = |i: u64| (i % sets) as usize;
    let ops = n.min(1_000_000);
    print!("{what}:");
    time("new", n, |i| {
        all[at(i)].add(&name(i), scores[i as usize], &LIMITS);
    });
    let each = (rss() - held) as f64 / n as f64;
    let exact = all.iter().map(|set| set.memory_bytes(0)).sum::<u64>() as f64 / n as f64;
    time("score", ops, |_| {
        let i = rng.u64(..n);
        black_box(all[at(i)].score(&name(i)));
    });
    time("rank", ops, |_| {
        let i = rng.u64(..n);
        black_box(all[at(i)].rank(&name(i)));
    });
    let visit = |set: &Set, from: u64| {
        let mut sum = 0;
        let _ = set.visit(from..from + 100, Order::Ascending, |score, member| {
            sum += member.len() + score as usize;
            ControlFlow::<()>::Continue(())
        });
        black_box(sum);
    };
    time("range100", ops / 10, |_| {
        let set = &all[rng.usize(..all.len())];
        visit(set, rng.u64(..set.len().saturating_sub(100).max(1)));
    });
    time("byscore100", ops / 10, |_| {
        let i = rng.usize(..n as usize);
        let set = &all[at(i as u64)];
        visit(set, set.entries_before(&Bound::BeforeScore(scores[i])));
    });
    time("update", ops, |_| {
        let (i, other) = (rng.u64(..n), rng.usize(..n as usize));
        all[at(i)].add(&name(i), scores[other], &LIMITS);
    });
    time("incr", ops, |_| {
        let i = rng.u64(..n);
        all[at(i)].update(&name(i), &LIMITS, |old| Some(old.unwrap_or(0.0) + 1.0));
    });
    time("popmin", ops / 4, |i| {
        all[at(i)].remove_ranks(0, 1, |_, member| {
            black_box(member.len());
        });
    });
    time("remove", ops / 4, |_| {
        let i = rng.u64(..n);
        all[at(i)].remove(&name(i));
    });
    println!("  | {each:.1} B a member resident, {exact:.1} exact");
    black_box(before);
}

/// What a clone costs, and the writes after it.
fn clones(n: u64) {
    let (mut set, mut rng) = (Set::new(), Rng::with_seed(3));
    for i in 0..n {
        set.add(&name(i), rng.f64(), &LIMITS);
    }
    let mut kept = Vec::new();
    print!("clones of {n}:");
    time("clone", 1, |_| kept.push(set.clone()));
    let mut update = |_| {
        set.add(&name(rng.u64(..n)), rng.f64(), &LIMITS);
    };
    time("first write", 1, &mut update);
    time("next 10", 10, &mut update);
    time("next 100", 100, &mut update);
    time("next 10,000", 10_000, &mut update);
    time("next 100,000", 100_000, &mut update);
    let memory = kept[0].memory_bytes(0);
    time("drop", 1, |_| kept.clear());
    println!("  ns | {memory} bytes");
}

/// Grows a set and shows how long single insertions took.
fn worst_insert(n: u64) {
    let (mut set, mut rng) = (Set::new(), Rng::with_seed(3));
    let mut buckets = [0_u64; 40];
    let mut worst = Duration::ZERO;
    for i in 0..n {
        let (member, score) = (name(i), rng.f64());
        let start = cpu_time();
        set.add(&member, score, &LIMITS);
        let took = (cpu_time() - start);
        buckets[took.as_nanos().max(1).ilog2() as usize] += 1;
        worst = worst.max(took);
    }
    print!("insertions 0 to {n}: worst {worst:?};");
    for (power, &count) in buckets.iter().enumerate().filter(|(_, count)| **count > 0) {
        print!("  <{}ns: {count}", 2_u64 << power);
    }
    println!();
}

/// Inserts and removes at constant size: what that does to memory.
fn churn(n: u64) {
    let (mut set, mut rng) = (Set::new(), Rng::with_seed(3));
    let before = rss();
    for i in 0..n {
        set.add(&name(i), rng.f64(), &LIMITS);
    }
    let fresh = rss() - before;
    let mut live: Vec<u64> = (0..n).collect();
    let start = cpu_time();
    let changes = n * 5;
    for next in n..n + changes {
        let at = rng.usize(..live.len());
        set.remove(&name(live[at]));
        live[at] = next;
        set.add(&name(next), rng.f64(), &LIMITS);
    }
    let each = (cpu_time() - start).as_nanos() as f64 / (2 * changes) as f64;
    let after = rss() - before - live.len() as u64 * 8;
    println!(
        "churn of {n}, {changes} pairs: {each:.0} ns a change, resident {:.2} of fresh, exact {:.1} B a member",
        after as f64 / fresh.max(1) as f64,
        set.memory_bytes(0) as f64 / n as f64
    );
}

/// What the standard library offers, for comparison.
fn model(n: u64) {
    let mut rng = Rng::with_seed(7);
    let before = rss();
    let (mut order, mut scores) = (BTreeSet::new(), HashMap::new());
    print!("BTreeSet and HashMap:");
    time("new", n, |i| {
        let (member, score) = (name(i).to_vec(), (rng.f64() * 1e6).to_bits());
        order.insert((score, member.clone()));
        scores.insert(member, score);
    });
    let each = (rss() - before) as f64 / n as f64;
    time("score", n.min(1_000_000), |_| {
        black_box(scores.get(&name(rng.u64(..n))[..]));
    });
    println!("  | {each:.1} B a member resident");
}
