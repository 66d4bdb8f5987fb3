//! The packed table as a hash of 16-byte fields and values: nanoseconds per operation, bytes per field, stalls, clones.
//!
//! `cargo bench -p larder-collections --bench table -- 2000000` runs all cases with that many fields, each in a process of
//! its own; `-- 2000000 sizes` runs one. Without arguments it is quick enough for `cargo test`.

use fastrand::Rng;
use larder_collections::hash::{FieldExpiry, Hash, HashLimits};
use std::hint::black_box;
use std::process::Command;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const CASES: [&str; 5] = ["times", "clone", "worst", "churn", "expiry"];
const QUICK_FIELDS: u64 = 20_000;
const LIMITS: HashLimits = HashLimits { count_max: 512, bytes_max: 64 };
/// Stalls are counted by powers of two of microseconds up to this one.
const BUCKETS: usize = 12;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let fields = args.first().and_then(|n| n.parse().ok()).unwrap_or(QUICK_FIELDS);
    match args.get(1).map(String::as_str) {
        None => CASES.iter().for_each(|case| run_alone(fields, case)),
        Some("times") => times(fields),
        Some("clone") => clones(fields),
        Some("worst") => worst_insert(fields),
        Some("churn") => churn(fields),
        Some("expiry") => expiry(fields),
        Some("sizes") => sizes(fields),
        Some(other) => panic!("{other} is none of {CASES:?}"),
    }
}

/// Runs one case in a process of its own.
fn run_alone(fields: u64, case: &str) {
    let this = std::env::current_exe().expect("a running program has a path");
    let status = Command::new(this).args([&fields.to_string(), case]).status();
    assert!(status.expect("this program can be started").success(), "case {case} failed");
}

fn filled(fields: u64) -> Hash {
    let mut hash = Hash::new();
    for n in 0..fields {
        set(&mut hash, n, n);
    }
    hash
}

fn set(hash: &mut Hash, field: u64, value: u64) -> bool {
    hash.set(&text(b'f', field), &text(b'v', value), FieldExpiry::Clear, LIMITS, 0)
}

fn times(fields: u64) {
    let before = rss_bytes();
    let start = Clock::start();
    let mut hash = filled(fields);
    print_ns("insert", start, fields);
    let rss = rss_bytes().saturating_sub(before) as f64;
    let own = hash.memory_bytes() as f64 / fields as f64;
    let each = rss / fields as f64;
    println!("  {:28}{:9.1} MB, {each:.1} B/field, own count {own:.1}", "resident", rss / 1e6);
    let mut rng = Rng::with_seed(1);
    let mut time = |name: &str, operation: &mut dyn FnMut(u64) -> usize| {
        let start = Clock::start();
        for _ in 0..fields {
            black_box(operation(rng.u64(..fields)));
        }
        print_ns(name, start, fields);
    };
    time("key only", &mut |n| usize::from(black_box(text(b'f', n))[15]));
    time("get, hit", &mut |n| hash.get(&text(b'f', n), 0).map_or(0, <[u8]>::len));
    time("get, miss", &mut |n| hash.get(&text(b'f', n + fields), 0).map_or(0, <[u8]>::len));
    time("update, same length", &mut |n| usize::from(set(&mut hash, n, n + 1)));
    let lengths = [b"another length".as_slice(), b"and one more length"];
    time("update, other length", &mut |n| {
        let value = lengths[n as usize % 2];
        usize::from(hash.set(&text(b'f', n), value, FieldExpiry::Clear, LIMITS, 0))
    });
    let mut draws = Rng::with_seed(2);
    time("random field", &mut |_| hash.random(0, &mut draws).map_or(0, |f| f.name.len()));
    let start = Clock::start();
    black_box(hash.iter(0).map(|field| field.value.len()).sum::<usize>());
    print_ns("walk over all", start, fields);
    let start = Clock::start();
    for n in 0..fields {
        assert!(hash.remove(&text(b'f', n), 0));
    }
    print_ns("remove", start, fields);
}

fn clones(fields: u64) {
    let mut hash = filled(fields);
    let mut rng = Rng::with_seed(1);
    let start = Clock::start();
    let kept = hash.clone();
    print_ns("clone", start, 1);
    let mut from = 0;
    for to in [1, 1_000, 100_000] {
        let start = Clock::start();
        for _ in from..to {
            let n = rng.u64(..fields);
            set(&mut hash, n, n + 1);
        }
        print_ns(&format!("writes {from} to {to} after"), start, to - from);
        from = to;
    }
    assert_eq!(kept.len(), hash.len());
}

/// How long single inserts take, the clock included.
fn worst_insert(fields: u64) {
    let mut hash = Hash::new();
    let (mut buckets, mut worst) = ([0_u64; BUCKETS], 0);
    for n in 0..fields {
        let start = Clock::start();
        set(&mut hash, n, n);
        let took = start.elapsed_ns();
        worst = worst.max(took);
        buckets[((took / 1_000 + 1).ilog2() as usize).min(BUCKETS - 1)] += 1;
    }
    println!("  worst of {fields} inserts: {} us", worst / 1_000);
    for (power, count) in buckets.iter().enumerate().filter(|(_, count)| **count > 0) {
        println!("  {:>10} us and more: {count}", (1_u64 << power) - 1);
    }
}

/// Five times as many fields go and come as there are.
fn churn(fields: u64) {
    let before = rss_bytes();
    let mut hash = filled(fields);
    let fresh = rss_bytes().saturating_sub(before);
    let start = Clock::start();
    for n in 0..5 * fields {
        hash.remove(&text(b'f', n), 0);
        set(&mut hash, n + fields, n);
    }
    print_ns("remove and insert", start, 5 * fields);
    let after = rss_bytes().saturating_sub(before);
    let ratio = after as f64 / fresh as f64;
    println!("  resident {:.1} MB fresh, {:.1} after: {ratio:.2}", fresh as f64 / 1e6, after as f64 / 1e6);
}

fn expiry(fields: u64) {
    let mut hash = Hash::new();
    let before = rss_bytes();
    let start = Clock::start();
    for n in 0..fields {
        let at = FieldExpiry::At(1_000_000 + n % 1_000);
        hash.set(&text(b'f', n), &text(b'v', n), at, LIMITS, 0);
    }
    print_ns("insert with expiry", start, fields);
    println!("  {:28}{:9.1} MB", "resident", rss_bytes().saturating_sub(before) as f64 / 1e6);
    let start = Clock::start();
    let taken = hash.take_due(1_000_100, usize::MAX, |_| ());
    print_ns("take out a tenth", start, taken as u64);
    let start = Clock::start();
    assert_eq!(hash.take_due(1_000_100, usize::MAX, |_| ()), 0);
    print_ns("look and find nothing", start, 1);
}

/// Memory at many sizes: bytes per field each time their number has grown by an eighth.
fn sizes(fields: u64) {
    let before = rss_bytes();
    let mut hash = Hash::new();
    let mut next = 50_000;
    for n in 0..fields {
        set(&mut hash, n, n);
        if n + 1 == next {
            let each = |bytes: usize| bytes as f64 / next as f64;
            let (rss, own) = (each(rss_bytes() - before), each(hash.memory_bytes()));
            println!("  {next:9} fields: resident {rss:.1} B/field, own count {own:.1}");
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
fn text(first: u8, n: u64) -> [u8; 16] {
    let mut text = *b" 000000000000000";
    text[0] = first;
    let (mut n, mut at) = (n, 16);
    while n > 0 {
        at -= 1;
        text[at] = b'0' + (n % 10) as u8;
        n /= 10;
    }
    text
}

fn rss_bytes() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok());
    pages.unwrap_or(0) * 4096
}
