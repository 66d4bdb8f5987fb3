//! What the list costs: nanoseconds per operation and bytes per element, beside `VecDeque<Vec<u8>>`.
//!
//! `cargo bench -p larder-collections --bench list [NAME...]` runs the full sizes; under `cargo test` the same code runs
//! small, so that it cannot rot. With `LOAD=DIR` the workload `load` reads RESP files of RPUSH commands from there,
//! and `ONLY=list_json:zstd` picks one file and one codec, so that the RSS it prints is from a fresh process.

use std::collections::VecDeque;
use std::hint::black_box;
use std::ops::ControlFlow;
use std::time::Duration;

use larder_collections::list::{Codec, Element, Fill, List, ListOptions};
use larder_packed::codec::compress_zstd;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const FILLS: [i32; 11] = [-5, -4, -3, -2, -1, 1, 16, 128, 1024, 4096, 16384];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let full = arguments.iter().any(|a| a == "--bench");
    let names: Vec<&String> = arguments.iter().filter(|a| !a.starts_with('-')).collect();
    let scale = if full { 1 } else { 200 };
    let run = |name: &str, part: fn(u64)| {
        if names.is_empty() || names.iter().any(|n| *n == name) {
            part(scale);
        }
    };
    run("ends", ends);
    run("rotate", rotate);
    run("heap", heap);
    run("index", index);
    run("clone", clone);
    run("deque", deque);
    run("scratch", compressed_reads);
    run("codecs", codecs);
    run("load", load);
}

fn text_len(element: Element<'_>) -> usize {
    element.text_len()
}

/// Nanoseconds per operation, the best of three runs.
fn time(count: u64, mut f: impl FnMut()) -> f64 {
    let mut once = || {
        let start = cpu_time();
        f();
        (cpu_time() - start).as_nanos() as f64 / count as f64
    };
    (0..3).map(|_| once()).fold(f64::MAX, f64::min)
}

fn with_fill(fill: i32) -> ListOptions {
    ListOptions { fill: Fill::new(fill), ..ListOptions::default() }
}

fn ends(scale: u64) {
    println!("push and pop at the ends, ns/op, and bytes/element of the full list");
    println!(
        "{:>6} {:>6} | {:>7} {:>7} {:>7} {:>7} | {:>8}",
        "bytes", "fill", "RPUSH", "LPUSH", "RPOP", "LPOP", "memory"
    );
    for len in [40, 1024] {
        let value = vec![b'x'; len];
        let count = (40_000_000 / len as u64 / scale).max(1000);
        for fill in FILLS {
            let options = with_fill(fill);
            let fills = |front: bool| {
                let mut list = List::new();
                for _ in 0..count {
                    if front { list.push_front(&value, &options) } else { list.push_back(&value, &options) }
                }
                list
            };
            let back = time(count, || drop(black_box(fills(false))));
            let front = time(count, || drop(black_box(fills(true))));
            let bytes = fills(false).memory_bytes(0) as f64 / count as f64;
            let rpop = pops(count, || fills(false), |list| list.pop_back_with(&options, text_len));
            let lpop = pops(count, || fills(true), |list| list.pop_front_with(&options, text_len));
            println!("{len:>6} {fill:>6} | {back:>7.1} {front:>7.1} {rpop:>7.1} {lpop:>7.1} | {bytes:>8.2}");
        }
    }
}

fn pops(count: u64, make: impl Fn() -> List, mut pop: impl FnMut(&mut List) -> Option<usize>) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..3 {
        let mut list = make();
        let start = cpu_time();
        while pop(&mut list).is_some() {}
        best = best.min((cpu_time() - start).as_nanos() as f64 / count as f64);
    }
    best
}

fn rotate(scale: u64) {
    println!("RPOPLPUSH on one list, ns/op, by length (40 bytes, fill 32767)");
    let (options, value) = (with_fill(32767), [b'x'; 40]);
    for len in [1, 10, 100, 1000, 10_000, 100_000] {
        let mut list = List::new();
        (0..len).for_each(|_| list.push_back(&value, &options));
        let count = 2_000_000 / scale;
        let ns = time(count, || {
            for _ in 0..count {
                let popped = list.pop_back(&options).expect("the list keeps its length");
                popped.as_element().with_bytes(|bytes| list.push_front(bytes, &options));
            }
        });
        println!("{len:>8} {ns:>7.1}");
    }
}

fn heap(scale: u64) {
    let count = 1000 / scale.min(10);
    for size in [2000, 8224] {
        let ns = time(count * 20, || {
            for _ in 0..20 {
                let blocks: Vec<_> = (0..count).map(|_| larder_packed::heap::alloc(size)).collect();
                // SAFETY: each block was allocated with this size just above and is freed once.
                blocks.into_iter().for_each(|block| unsafe { larder_packed::heap::free(block, size) });
            }
        });
        println!("heap: alloc and free of {size} bytes, {count} at a time: {ns:.1} ns");
    }
}

fn index(scale: u64) {
    let count = 10_000_000 / scale;
    let options = with_fill(-2);
    let (mut words, mut numbers) = (List::new(), List::new());
    for i in 0..count {
        words.push_back(format!("{:0width$}x", i, width = (i % 17) as usize).as_bytes(), &options);
        numbers.push_back(i.to_string().as_bytes(), &options);
    }
    println!("index in a list of {count}, ns");
    for (name, list) in [("words", &words), ("ints", &numbers)] {
        let at = |index: u64| {
            time(100_000, || {
                for i in 0..100_000 {
                    black_box(list.with_element(black_box(index + i % 3), text_len));
                }
            })
        };
        let mut rng = fastrand::Rng::with_seed(1);
        let random = time(100_000, || {
            for _ in 0..100_000 {
                black_box(list.with_element(rng.u64(..count), text_len));
            }
        });
        let (first, middle) = (at(0), at(count / 2));
        println!("{name:>8}: first {first:.1}, middle {middle:.1}, random {random:.1}");
    }
    let walk = time(count, || {
        let mut sum = 0;
        let _ = words.for_each_range(0, u64::MAX, |e| {
            sum += e.text_len();
            ControlFlow::<()>::Continue(())
        });
        black_box(sum);
    });
    println!("    walk over all words: {walk:.1} per element");
}

fn clone(scale: u64) {
    let count = 10_000_000 / scale;
    let options = with_fill(-2);
    let mut list = List::new();
    (0..count).for_each(|i| list.push_back(i.to_string().as_bytes(), &options));
    let start = cpu_time();
    let mut copy = list.clone();
    let cloned = cpu_time() - start;
    copy.push_back(b"x", &options);
    copy.set(count / 2, b"y", &options);
    println!("clone of {count}: {cloned:?}; first push and set after it: {:?}", cpu_time() - start - cloned);
}

fn deque(scale: u64) {
    let (count, value) = (1_000_000 / scale, vec![b'x'; 40]);
    let push = time(count, || {
        let mut deque = VecDeque::new();
        (0..count).for_each(|_| deque.push_back(value.clone()));
        drop(black_box(deque));
    });
    println!("VecDeque<Vec<u8>>: push_back {push:.1} ns/op (40 bytes), {} bytes/element", 24 + 48);
}

fn compressed_reads(scale: u64) {
    println!("LINDEX in the middle of 8 KB blocks of words, ns, by codec");
    for codec in [Codec::Lzf, Codec::Lz4, Codec::Zstd] {
        let options = ListOptions { compress_depth: 1, codec, ..ListOptions::default() };
        let mut list = List::new();
        let count = 1_000_000 / scale;
        (0..count).for_each(|i| list.push_back(format!("word {}", i * 7919 % 10_007).as_bytes(), &options));
        compress_all(&mut list, &options);
        let ns = time(1000, || {
            for i in 0..1000 {
                black_box(list.with_element(count / 2 + i, text_len));
            }
        });
        println!(
            "{:>6}: {ns:.0}, {:.2} bytes/element",
            codec.name(),
            list.memory_bytes(0) as f64 / count as f64
        );
    }
}

fn compress_all(list: &mut List, options: &ListOptions) {
    while list.wants_compression(options) {
        for job in list.compression_work(options, 64) {
            list.apply(job.run(), options);
        }
    }
}

/// Ratio and speed of codecs and levels on the loaded data, in units of one and more blocks.
fn codecs(_scale: u64) {
    let Some(dir) = std::env::var_os("LOAD") else {
        return;
    };
    println!("compression of list data: unit, ratio, ns/KB to compress, ns/KB to decompress");
    for name in ["list_json", "list_words"] {
        let Ok(bytes) = std::fs::read(std::path::Path::new(&dir).join(format!("{name}.resp"))) else {
            continue;
        };
        let (mut values, mut at, mut raw) = (Vec::new(), 0, 0);
        while at < bytes.len() && raw < 6_000_000 {
            let command = read_command(&bytes, &mut at);
            raw += command[2..].iter().map(|v| v.len()).sum::<usize>();
            values.extend(command.into_iter().skip(2));
        }
        for unit in [8 << 10, 16 << 10, 32 << 10, 64 << 10] {
            let mut images = vec![Vec::new()];
            for value in &values {
                let last = images.last_mut().expect("never empty");
                if last.len() + value.len() <= unit {
                    last.extend_from_slice(value);
                } else {
                    images.push(value.to_vec());
                }
            }
            codec_row(
                name,
                unit,
                "lzf",
                &images,
                |src, out| Codec::Lzf.compress(src, out, usize::MAX / 2),
                Codec::Lzf,
            );
            codec_row(
                name,
                unit,
                "lz4",
                &images,
                |src, out| Codec::Lz4.compress(src, out, usize::MAX / 2),
                Codec::Lz4,
            );
            for level in [1, 3, 4, 6, 9] {
                let label = format!("zstd {level}");
                let pack = |src: &[u8], out: &mut Vec<u8>| compress_zstd(src, out, usize::MAX / 2, level);
                codec_row(name, unit, &label, &images, pack, Codec::Zstd);
            }
        }
    }
}

fn codec_row(
    name: &str,
    unit: usize,
    label: &str,
    images: &[Vec<u8>],
    pack: impl Fn(&[u8], &mut Vec<u8>) -> bool,
    codec: Codec,
) {
    let total: usize = images.iter().map(Vec::len).sum();
    let start = cpu_time();
    let packed: Vec<Vec<u8>> = images
        .iter()
        .map(|image| {
            let mut out = Vec::new();
            assert!(pack(image, &mut out));
            out
        })
        .collect();
    let packing = cpu_time() - start;
    let mut scratch = vec![0; unit];
    let start = cpu_time();
    for (image, packed) in images.iter().zip(&packed) {
        codec.decompress(packed, &mut scratch[..image.len()]).expect("it was just compressed");
    }
    let unpacking = cpu_time() - start;
    let ratio = total as f64 / packed.iter().map(Vec::len).sum::<usize>() as f64;
    let per_kb = |time: Duration| time.as_nanos() as f64 * 1024.0 / total as f64;
    println!(
        "{name:>11} {:>3} KB {label:>7}: {ratio:.2} {:>6.0} {:>6.0}",
        unit >> 10,
        per_kb(packing),
        per_kb(unpacking)
    );
}

fn load(_scale: u64) {
    let Some(dir) = std::env::var_os("LOAD") else {
        return;
    };
    println!(
        "memory of loaded lists, MB (10^6 bytes): raw, heap, RSS growth; by codec: heap, RSS, s to compress"
    );
    // RSS growth is only true for the first in a process: `ONLY=json:zstd` picks one.
    let only = std::env::var("ONLY").unwrap_or_default();
    for name in ["list_ints", "list_words", "list_json", "list_40b", "list_1k"] {
        let path = std::path::Path::new(&dir).join(format!("{name}.resp"));
        for mode in ["plain", "lzf", "lz4", "zstd"] {
            let options = ListOptions {
                compress_depth: u32::from(mode != "plain"),
                codec: Codec::from_name(mode).unwrap_or_default(),
                ..ListOptions::default()
            };
            if format!("{name}:{mode}").contains(&only)
                && let Ok(bytes) = std::fs::read(&path)
            {
                load_one(name, &bytes, options);
            }
        }
    }
}

fn load_one(name: &str, bytes: &[u8], options: ListOptions) {
    let before = resident_bytes();
    let mut lists: Vec<(Vec<u8>, List)> = Vec::new();
    let (mut at, mut raw, mut count) = (0, 0, 0u64);
    let mut spent = Duration::ZERO;
    while at < bytes.len() {
        let values = read_command(bytes, &mut at);
        if lists.last().is_none_or(|(key, _)| key != values[1]) {
            lists.push((values[1].to_vec(), List::new()));
        }
        let list = &mut lists.last_mut().expect("just pushed").1;
        let start = cpu_time();
        for value in &values[2..] {
            list.push_back(value, &options);
            raw += value.len();
            count += 1;
        }
        spent += cpu_time() - start;
        compress_all(list, &options);
    }
    let start = cpu_time();
    lists.iter_mut().for_each(|(_, list)| compress_all(list, &options));
    let heap: u64 = lists.iter().map(|(_, list)| list.memory_bytes(0)).sum();
    let grown = resident_bytes().saturating_sub(before);
    let mode = if options.compress_depth == 0 { "plain" } else { options.codec.name() };
    println!(
        "{name:>11} {mode:>6}: raw {:.1} heap {:.2} rss {:.2} free in slabs {:.2} push {:.1} ns ({:.2?})",
        raw as f64 / 1e6,
        heap as f64 / 1e6,
        grown as f64 / 1e6,
        larder_packed::heap::stats().free_bytes as f64 / 1e6,
        spent.as_nanos() as f64 / count as f64,
        cpu_time() - start,
    );
}

fn read_command<'a>(bytes: &'a [u8], at: &mut usize) -> Vec<&'a [u8]> {
    let count = read_number(bytes, at);
    let mut values = Vec::with_capacity(count);
    for _ in 0..count {
        let len = read_number(bytes, at);
        values.push(&bytes[*at..*at + len]);
        *at += len + 2;
    }
    values
}

fn read_number(bytes: &[u8], at: &mut usize) -> usize {
    let end = bytes[*at..].iter().position(|&b| b == b'\r').expect("a line ends") + *at;
    let digits = std::str::from_utf8(&bytes[*at + 1..end]).expect("digits");
    *at = end + 2;
    digits.parse().expect("a number")
}

/// CPU time of this thread: the machine may be busy with other things.
fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live timespec, and the clock exists on every supported system.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    assert_eq!(result, 0, "the thread has a CPU clock");
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn resident_bytes() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or(0) * 4096
}
