//! What the counted trees of lists, streams and integer sets cost in instructions, for a count that noise does not touch.
//!
//! `cargo bench -p larder-collections --bench trees --no-run` builds it; run the binary as
//! `valgrind --tool=callgrind BINARY --bench NAME`, where a name is one of [`CASES`], and compare `Collected`. Blocks are
//! small here, so that the trees are deep. Under `cargo test` every case runs small, so that it cannot rot.

use fastrand::Rng;
use larder_collections::int_set::IntSet;
use larder_collections::list::{Element, Fill, List, ListOptions};
use larder_collections::stream::{Entry, Group, Limits, Order, Pending, Stream, StreamId, Trim, TrimTo};
use std::hint::black_box;
use std::ops::ControlFlow;

/// A name, and what runs with a number of elements.
type Case = (&'static str, fn(u64));

const CASES: [Case; 19] = [
    ("list_push_pop", list_push_pop),
    ("list_index", list_index),
    ("list_insert_remove", list_insert_remove),
    ("list_split_join", list_split_join),
    ("list_walk", list_walk),
    ("list_shared", list_shared),
    ("stream_append", |n| drop(black_box(stream(2 * n)))),
    ("stream_read", stream_read),
    ("stream_delete", stream_delete),
    ("stream_trim", stream_trim),
    ("stream_pending", stream_pending),
    ("stream_shared", stream_shared),
    ("int_ascending", |n| drop(black_box(spaced(3 * n, 1)))),
    ("int_descending", |n| drop(black_box((0..2 * n as i64).rev().map(|i| i * 300).collect::<IntSet>()))),
    ("int_random", int_random),
    ("int_contains", int_contains),
    ("int_rank", int_rank),
    ("int_walk", int_walk),
    ("int_shared", int_shared),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let full = arguments.iter().any(|argument| argument == "--bench");
    let names: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let count = if full { 300_000 } else { 1500 };
    for (name, case) in CASES {
        if names.is_empty() || names.iter().any(|wanted| *wanted == name) {
            println!("{name}");
            case(count);
        }
    }
}

fn rng() -> Rng {
    Rng::with_seed(7)
}

fn options() -> ListOptions {
    ListOptions { fill: Fill::new(8), ..ListOptions::default() }
}

fn list(count: u64) -> List {
    let mut list = List::new();
    for i in 0..count {
        list.push_back(format!("element {i}").as_bytes(), &options());
    }
    list
}

fn look(element: Element<'_>) -> ControlFlow<()> {
    black_box(element.text_len());
    ControlFlow::Continue(())
}

fn list_push_pop(count: u64) {
    let mut list = list(count);
    for i in 0..count / 2 {
        list.push_front(format!("e {i}").as_bytes(), &options());
    }
    while list.pop_front(&options()).is_some() {
        list.pop_back(&options());
    }
}

fn list_index(count: u64) {
    let (list, mut rng) = (list(count), rng());
    for _ in 0..2 * count {
        list.with_element(rng.u64(..count), look);
    }
}

fn list_insert_remove(count: u64) {
    let (mut list, mut rng) = (list(count / 3), rng());
    for _ in 0..count {
        list.insert(rng.u64(..list.len()), b"inserted element", &options());
    }
    for _ in 0..count {
        list.remove_range(rng.u64(..list.len()), 1, &options());
    }
}

fn list_split_join(count: u64) {
    let (whole, mut rng) = (list(count), rng());
    for _ in 0..count / 100 {
        let mut part = whole.clone();
        part.remove_range(rng.u64(..count - count / 60), count / 60, &options());
        part.remove_range(rng.u64(..count / 2), count / 60, &options());
        black_box(part);
    }
}

fn list_walk(count: u64) {
    let (list, mut rng) = (list(count), rng());
    for _ in 0..20 {
        let _ = list.for_each_range(5, count, look);
        let _ = list.for_each_range_rev(5, count, look);
    }
    for _ in 0..count {
        let _ = list.for_each_range(rng.u64(..count), 20, look);
    }
}

/// Writes while clones are alive, so that nodes are copied.
fn list_shared(count: u64) {
    let (mut list, mut rng) = (list(count), rng());
    let mut kept = list.clone();
    for i in 0..count / 3 {
        list.set(rng.u64(..count), b"changed elem", &options());
        if i % 100 == 0 {
            kept = list.clone();
        }
    }
    black_box(kept);
}

fn id(number: u64) -> StreamId {
    StreamId::new(number / 3, number % 3)
}

fn stream(count: u64) -> Stream {
    let limits = Limits { node_bytes_max: 4096, node_entries_max: 8 };
    let mut stream = Stream::new();
    for i in 1..=count {
        stream.append(id(i), [(&b"f"[..], &b"value"[..])].into_iter(), &limits);
    }
    stream
}

fn shuffled(count: u64) -> Vec<u64> {
    let mut numbers: Vec<u64> = (1..=count).collect();
    rng().shuffle(&mut numbers);
    numbers
}

fn stream_read(count: u64) {
    let (stream, mut rng) = (stream(count), rng());
    let see = |entry: Entry<'_>| {
        black_box(entry.id);
        ControlFlow::<()>::Continue(())
    };
    for _ in 0..count {
        let from = rng.u64(1..count);
        stream.with_entry(id(from), see);
        stream.range(id(from), id(from + 30), Order::Ascending, see);
        stream.range(id(from), id(from + 30), Order::Descending, see);
    }
}

fn stream_delete(count: u64) {
    let mut stream = stream(count);
    for number in shuffled(count) {
        stream.delete(id(number));
    }
}

fn stream_trim(count: u64) {
    let mut stream = stream(count);
    for len in (0..count).rev() {
        stream.trim(&Trim { to: TrimTo::Len(len), approximate: false, limit: 0 });
    }
}

fn stream_pending(count: u64) {
    let mut group = Group::new(b"g", StreamId::ZERO, None);
    let consumer = group.create(b"c", 0).expect("it is new");
    let pending = |number: u64| Pending { id: id(number), consumer, time_ms: 1000 + number, count: 1 };
    (1..=count).for_each(|number| group.put(pending(number)));
    let numbers = shuffled(count);
    for &number in &numbers {
        black_box(group.pending(id(number)));
    }
    for &number in &numbers[..numbers.len() / 2] {
        group.acknowledge(id(number));
    }
    numbers.iter().for_each(|&number| group.put(pending(number)));
    for &number in &numbers {
        group.acknowledge(id(number));
    }
}

fn stream_shared(count: u64) {
    let (mut stream, mut rng) = (stream(count), rng());
    let mut kept = stream.clone();
    for i in 0..count / 2 {
        stream.delete(id(rng.u64(1..count)));
        if i % 100 == 0 {
            kept = stream.clone();
        }
    }
    black_box(kept);
}

/// Integers from 0 up, so far apart.
fn spaced(count: u64, step: i64) -> IntSet {
    (0..count as i64).map(|i| i * step).collect()
}

fn int_random(count: u64) {
    let (mut set, mut rng) = (IntSet::new(), rng());
    let values: Vec<i64> = (0..count).map(|_| rng.i64(0..1_000_000_000)).collect();
    for &value in &values {
        set.insert(value);
    }
    for &value in &values {
        set.remove(value);
    }
}

fn int_contains(count: u64) {
    let (set, mut rng) = (spaced(count, 1000), rng());
    for _ in 0..2 * count {
        black_box(set.contains(rng.i64(..count as i64 * 1000)));
    }
}

fn int_rank(count: u64) {
    let (set, mut rng) = (spaced(count, 1000), rng());
    for _ in 0..count {
        black_box(set.select(rng.u64(..count)));
        black_box(set.rank(rng.i64(..count as i64 * 1000)));
    }
}

fn int_walk(count: u64) {
    let (set, mut rng) = (spaced(count, 1000), rng());
    for _ in 0..10 {
        black_box(set.iter().sum::<i64>());
    }
    let mut seeker = set.seeker();
    for i in 0..count as i64 * 3 {
        black_box(seeker.contains(i * 333));
    }
    for _ in 0..count {
        black_box(set.iter_from(rng.i64(..count as i64 * 1000)).next());
    }
}

fn int_shared(count: u64) {
    let (mut set, mut rng) = (spaced(count, 1000), rng());
    let mut kept = set.clone();
    for i in 0..count / 3 {
        set.insert(rng.i64(..count as i64 * 1000));
        if i % 100 == 0 {
            kept = set.clone();
        }
    }
    black_box(kept);
}
