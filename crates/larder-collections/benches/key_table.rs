//! The key table beside a hash map of boxed keys and values: nanoseconds per operation and bytes per key.
//!
//! `cargo bench -p larder-collections --bench key_table -- 5000000` runs all cases with that many keys, each in a
//! process of its own so that resident memory is its own; `-- 5000000 ttl` runs one case; a third argument is the
//! number of tables that share the keys, 256 by default. Without arguments it is quick enough for `cargo test`.
//!
//! Keys have 16 bytes, values 20. Every time includes making the key and hashing it, which the first line states.

use fastrand::Rng;
use foldhash::quality::FixedState;
use larder_collections::key_table::{Entry, ExpireChange, IntoRaw, KeyHash, KeyTable, NewValue, ValueRef};
use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher};
use std::hint::black_box;
use std::process::Command;
use std::ptr::NonNull;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const CASES: [&str; 5] = ["table", "ttl", "worst", "moves", "map"];
const QUICK_KEYS: u64 = 20_000;
/// A pipeline's length.
const AHEAD: usize = 16;
const NOW_MS: u64 = 1_800_000_000_000;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let keys = args.first().and_then(|n| n.parse().ok()).unwrap_or(QUICK_KEYS);
    let tables = args.get(2).and_then(|n| n.parse().ok()).unwrap_or(256);
    match args.get(1).map(String::as_str) {
        None => CASES.iter().for_each(|case| run_alone(keys, case, tables)),
        Some("table") => Bench::new(keys, Packed::new(tables)).run("table", false),
        Some("ttl") => Bench::new(keys, Packed::new(tables)).run("table, all with an expiry", true),
        Some("map") => Bench::new(keys, Boxed::new(tables)).run("HashMap of boxes", false),
        Some("worst") => worst_insert(keys, tables),
        Some("moves") => moves(),
        Some("sweep") => sizes(keys, tables),
        Some(other) => panic!("{other} is none of {CASES:?}"),
    }
}

/// Runs one case in a process of its own.
fn run_alone(keys: u64, case: &str, tables: usize) {
    let this = std::env::current_exe().expect("a running program has a path");
    let status = Command::new(this).args([&keys.to_string(), case, &tables.to_string()]).status();
    assert!(status.expect("this program can be started").success(), "case {case} failed");
}

/// What both sides can do.
trait Map {
    fn put(&mut self, hash: u64, key: &[u8], value: &[u8], expire: bool);
    fn get(&mut self, hash: u64, key: &[u8]) -> usize;
    fn prefetch(&mut self, hashes: impl Fn(usize) -> u64);
    fn remove(&mut self, hash: u64, key: &[u8]);
    fn visit_all(&self) -> usize;
    fn heap_bytes(&self) -> Option<usize>;
    fn expire_all(&mut self) -> usize;
}

/// No value of its own is ever put here.
#[derive(Clone)]
struct NoValue;

// SAFETY: a kind below 32 and a pointer that nobody follows.
unsafe impl IntoRaw for NoValue {
    const KINDS: u8 = 1;

    fn into_raw(self) -> (u8, NonNull<u8>) {
        (0, NonNull::dangling())
    }

    unsafe fn from_raw(_: u8, _: NonNull<u8>) -> Self {
        NoValue
    }
}

struct Hash;

impl KeyHash for Hash {
    fn hash(key: &[u8]) -> u64 {
        let mut hasher = FixedState::with_seed(42).build_hasher();
        hasher.write(key);
        hasher.finish()
    }
}

struct Packed {
    tables: Vec<KeyTable<NoValue, Hash>>,
}

impl Packed {
    fn new(tables: usize) -> Self {
        Packed { tables: (0..tables).map(|_| KeyTable::new()).collect() }
    }

    fn table(&mut self, hash: u64) -> &mut KeyTable<NoValue, Hash> {
        let shard = (hash >> 16 & 0xFF) as usize % self.tables.len();
        &mut self.tables[shard]
    }
}

impl Map for Packed {
    fn put(&mut self, hash: u64, key: &[u8], value: &[u8], expire: bool) {
        let expire = if expire { ExpireChange::At(NOW_MS + (hash >> 40)) } else { ExpireChange::Keep };
        self.table(hash).put(hash, key, NewValue::Inline { kind: 0, bytes: value }, expire, 7);
    }

    fn get(&mut self, hash: u64, key: &[u8]) -> usize {
        match self.table(hash).get_touch(hash, key, 9).map(Entry::value) {
            Some(ValueRef::Inline { bytes, .. }) => usize::from(bytes[0]),
            _ => 0,
        }
    }

    fn prefetch(&mut self, hashes: impl Fn(usize) -> u64) {
        (0..AHEAD).map(&hashes).for_each(|hash| _ = self.table(hash).prefetch(hash));
        (0..AHEAD).map(&hashes).for_each(|hash| _ = self.table(hash).prefetch_entry(hash));
    }

    fn remove(&mut self, hash: u64, key: &[u8]) {
        black_box(self.table(hash).remove(hash, key));
    }

    fn visit_all(&self) -> usize {
        self.tables.iter().flat_map(KeyTable::iter).map(|entry| entry.key().len()).sum()
    }

    fn heap_bytes(&self) -> Option<usize> {
        Some(self.tables.iter().map(KeyTable::memory_bytes).sum())
    }

    fn expire_all(&mut self) -> usize {
        self.tables.iter_mut().map(|t| t.take_expired(u64::MAX, usize::MAX, |_, _| {})).sum()
    }
}

type BoxMap = HashMap<Box<[u8]>, Box<[u8]>, FixedState>;

struct Boxed {
    maps: Vec<BoxMap>,
}

impl Boxed {
    fn new(maps: usize) -> Self {
        Boxed { maps: (0..maps).map(|_| HashMap::with_hasher(FixedState::with_seed(1))).collect() }
    }

    fn map(&mut self, hash: u64) -> &mut BoxMap {
        let shard = (hash >> 16 & 0xFF) as usize % self.maps.len();
        &mut self.maps[shard]
    }
}

impl Map for Boxed {
    fn put(&mut self, hash: u64, key: &[u8], value: &[u8], _: bool) {
        self.map(hash).insert(key.into(), value.into());
    }

    fn get(&mut self, hash: u64, key: &[u8]) -> usize {
        self.map(hash).get(key).map_or(0, |value| usize::from(value[0]))
    }

    fn prefetch(&mut self, _: impl Fn(usize) -> u64) {}

    fn remove(&mut self, hash: u64, key: &[u8]) {
        black_box(self.map(hash).remove(key));
    }

    fn visit_all(&self) -> usize {
        self.maps.iter().flat_map(HashMap::keys).map(|key| key.len()).sum()
    }

    fn heap_bytes(&self) -> Option<usize> {
        None
    }

    fn expire_all(&mut self) -> usize {
        0
    }
}

struct Bench<M> {
    keys: u64,
    map: M,
    rng: Rng,
}

impl<M: Map> Bench<M> {
    fn new(keys: u64, map: M) -> Self {
        Bench { keys, map, rng: Rng::with_seed(7) }
    }

    fn run(mut self, name: &str, expire: bool) {
        println!("{name}, {} keys", self.keys);
        self.time("key and hash alone", |_, _, key| {
            black_box(Hash::hash(key));
        });
        let before = rss_bytes();
        self.fill(expire);
        self.print_memory(before);
        self.time("get, hit", |map, hash, key| {
            black_box(map.get(hash, key));
        });
        self.time_ahead();
        self.time_missing();
        self.time("put, same length", |map, hash, key| map.put(hash, key, b"another twenty bytes", expire));
        self.print_walk();
        let mut lengths = Rng::with_seed(3);
        self.time("put, other length", |map, hash, key| {
            map.put(hash, key, &[3; 32][..lengths.usize(8..=32)], expire);
        });
        self.print_memory(before);
        self.churn(expire);
        self.print_memory(before);
        if expire {
            self.print_expiry();
        }
        self.time_removal();
        self.print_memory(before);
    }

    fn fill(&mut self, expire: bool) {
        let start = Clock::start();
        for n in 0..self.keys {
            let key = key(n);
            self.map.put(Hash::hash(&key), &key, b"a value of 20 bytes.", expire);
        }
        print_ns("put, new", start, self.keys);
    }

    /// Random keys that are there.
    fn time(&mut self, name: &str, mut operation: impl FnMut(&mut M, u64, &[u8])) {
        let start = Clock::start();
        for _ in 0..self.operations() {
            let key = key(self.rng.u64(..self.keys));
            operation(&mut self.map, Hash::hash(&key), &key);
        }
        print_ns(name, start, self.operations());
    }

    /// As a pipeline of 16 knows its keys before it looks them up.
    fn time_ahead(&mut self) {
        let start = Clock::start();
        for _ in 0..self.operations() / AHEAD as u64 {
            let keys: [_; AHEAD] = std::array::from_fn(|_| {
                let key = key(self.rng.u64(..self.keys));
                (Hash::hash(&key), key)
            });
            self.map.prefetch(|i| keys[i].0);
            for (hash, key) in &keys {
                black_box(self.map.get(*hash, key));
            }
        }
        print_ns("get, hit, 16 known ahead", start, self.operations());
    }

    fn time_missing(&mut self) {
        let start = Clock::start();
        for _ in 0..self.operations() {
            let key = key(self.keys + self.rng.u64(..self.keys));
            black_box(self.map.get(Hash::hash(&key), &key));
        }
        print_ns("get, miss", start, self.operations());
    }

    /// Enough to be measured, but for the quick run.
    fn operations(&self) -> u64 {
        if self.keys == QUICK_KEYS { self.keys } else { self.keys.max(2_000_000) }
    }

    /// One key out, one in, twice as often as there are keys.
    fn churn(&mut self, expire: bool) {
        let start = Clock::start();
        for n in 0..2 * self.keys {
            let old = key(n);
            self.map.remove(Hash::hash(&old), &old);
            let new = key(n + self.keys);
            self.map.put(Hash::hash(&new), &new, b"a value of 20 bytes.", expire);
        }
        print_ns("remove and put", start, 2 * self.keys);
        for n in 0..self.keys {
            let (key, old) = (key(n), key(n + 2 * self.keys));
            self.map.remove(Hash::hash(&old), &old);
            self.map.put(Hash::hash(&key), &key, b"a value of 20 bytes.", expire);
        }
    }

    fn time_removal(&mut self) {
        let start = Clock::start();
        for n in (0..self.keys).filter(|n| n % 4 != 0) {
            let key = key(n);
            self.map.remove(Hash::hash(&key), &key);
        }
        print_ns("remove three quarters", start, self.keys * 3 / 4);
    }

    fn print_walk(&self) {
        let start = Clock::start();
        black_box(self.map.visit_all());
        print_ns("visit all", start, self.keys);
    }

    fn print_expiry(&mut self) {
        let start = Clock::start();
        let taken = self.map.expire_all() as u64;
        print_ns("expire", start, taken);
    }

    fn print_memory(&self, before: usize) {
        let rss = rss_bytes().saturating_sub(before);
        let keys = self.keys as f64;
        print!("  {:28}{:9.1} B/key, {:.1} MB", "resident", rss as f64 / keys, rss as f64 / 1e6);
        match self.map.heap_bytes() {
            Some(bytes) => println!(" (the table's own count {:.1})", bytes as f64 / keys),
            None => println!(),
        }
    }
}

/// The longest time one insert takes, clock and all.
fn worst_insert(keys: u64, tables: usize) {
    let mut map = Packed::new(tables);
    let (mut worst, mut over) = (0, 0);
    for n in 0..keys {
        let key = key(n);
        let hash = Hash::hash(&key);
        let start = Clock::start();
        map.put(hash, &key, b"a value of 20 bytes.", false);
        let took = start.elapsed_ns();
        over += u64::from(took > 100_000);
        worst = worst.max(took);
    }
    println!("worst insert of {keys} into {tables} tables: {} us; {over} above 100 us", worst / 1_000);
}

/// A change of length at the head and at the end of a full segment: what it costs to move the records after it.
fn moves() {
    const ROUNDS: u32 = 20_000;
    let mut map = Packed::new(1);
    // One segment holds these; a few more would divide it.
    let keys: Vec<_> = (0..64).map(key).collect();
    for key in &keys {
        map.put(Hash::hash(key), key, b"a value of 20 bytes.", false);
    }
    for (place, key) in [("first", &keys[0]), ("last", &keys[keys.len() - 1])] {
        let hash = Hash::hash(key);
        let mut time = |values: [&[u8]; 2]| {
            let start = Clock::start();
            for round in 0..ROUNDS {
                map.put(hash, key, values[round as usize % 2], false);
            }
            start.elapsed_ns() / u64::from(ROUNDS)
        };
        let (same, other) =
            (time([b"a value of 20 bytes."; 2]), time([b"a value of 20 bytes.", b"one of 19 bytes ..."]));
        println!(
            "a value of the {place} of {} records: {same} ns, with another length {other} ns",
            keys.len()
        );
    }
}

/// Memory at many sizes: bytes per key each time the number of keys has grown by an eighth.
fn sizes(keys: u64, tables: usize) {
    let mut map = Packed::new(tables);
    let before = rss_bytes();
    let mut next = 10_000;
    for n in 0..keys {
        let key = key(n);
        map.put(Hash::hash(&key), &key, b"a value of 20 bytes.", false);
        if n + 1 == next {
            let (rss, own) = (rss_bytes() - before, map.heap_bytes().unwrap_or(0));
            println!(
                "{next:9} keys: resident {:.1} B/key, own count {:.1}",
                rss as f64 / next as f64,
                own as f64 / next as f64
            );
            next += next / 8;
        }
    }
}

/// Counts the time that this thread was on a processor: other work on the machine disturbs it least.
#[derive(Clone, Copy)]
struct Clock(u64);

impl Clock {
    fn start() -> Self {
        Clock(Clock::now_ns())
    }

    fn elapsed_ns(self) -> u64 {
        Clock::now_ns() - self.0
    }

    fn now_ns() -> u64 {
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the clock exists on Linux, and `now` is ours to be written.
        let failed = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut now) };
        assert_eq!(failed, 0);
        now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
    }
}

fn print_ns(name: &str, start: Clock, operations: u64) {
    println!("  {name:28}{:9.1} ns", start.elapsed_ns() as f64 / operations.max(1) as f64);
}

/// 16 bytes, cheap to make.
fn key(n: u64) -> [u8; 16] {
    let mut key = *b"k:00000000000000";
    let (mut n, mut at) = (n, 16);
    while n > 0 {
        at -= 1;
        key[at] = b'0' + (n % 10) as u8;
        n /= 10;
    }
    key
}

fn rss_bytes() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok());
    pages.unwrap_or(0) * 4096
}
