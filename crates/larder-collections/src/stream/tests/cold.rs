//! Cold nodes: when nodes become cold and plain again, that readers do not notice, and what happens
//! to late results.

use crate::cold::{self, ColdParts, DictionaryRef};
use crate::numbered;
use crate::stream::{
    Limits, NodeDone, NodeJob, NodeJobs, Order, Reader, Stream, StreamId, Trim, TrimTo, UNUSED_WALKS,
};
use larder_packed::dictionary::{Compressor, Dictionary, RAW_MAX};
use std::ops::ControlFlow;

const LIMITS: Limits = Limits { node_bytes_max: 4096, node_entries_max: 20 };
const TEXT: &[u8] = b"level info service checkout message payment of order was accepted by the gateway";

fn dictionary(text: &[u8]) -> (DictionaryRef, Compressor) {
    let dictionary = Dictionary::of(text.into()).and_then(cold::add).expect("there is a number");
    let compressor = dictionary.compressor().expect("there is memory");
    (dictionary, compressor)
}

fn id(ms: u64) -> StreamId {
    StreamId::new(ms, ms % 3)
}

/// Entries 10, 20, ..., twenty in a node, the last of which is full, too.
fn filled(nodes: u64) -> Stream {
    let mut stream = Stream::new();
    (1..=20 * nodes).for_each(|at| add(&mut stream, 10 * at));
    stream
}

fn add(stream: &mut Stream, ms: u64) {
    let message = format!("payment {ms} of order {} was accepted by the gateway", ms % 7);
    let pairs = [(&b"level"[..], &b"info"[..]), (b"service", b"checkout"), (b"message", message.as_bytes())];
    stream.append(id(ms), pairs.into_iter(), &LIMITS);
}

fn jobs(stream: &Stream, all: bool) -> Vec<NodeJob> {
    let (mut found, mut from) = (NodeJobs::default(), Some(StreamId::ZERO));
    while let Some(at) = from {
        from = stream.cold_jobs(at, all, usize::MAX, &mut found);
    }
    assert_eq!(found.cold, stream.part_sums(0).cold);
    found.jobs
}

fn count(stream: &Stream) -> u64 {
    stream.check_invariants();
    stream.part_sums(0).cold.count
}

/// Compresses all nodes.
fn compress_all(stream: &mut Stream, (dictionary, compressor): &mut (DictionaryRef, Compressor)) {
    for job in jobs(stream, true) {
        assert!(stream.apply_cold(job.run(dictionary, compressor)));
    }
    assert_eq!(count(stream), stream.entry_node_count());
}

fn apply_all(stream: &mut Stream, jobs: &[NodeJob], with: &mut (DictionaryRef, Compressor)) -> usize {
    let done: Vec<NodeDone> = jobs.iter().map(|job| job.run(&with.0, &mut with.1)).collect();
    done.into_iter().map(|done| usize::from(stream.apply_cold(done))).sum()
}

type Seen = Vec<(StreamId, Vec<u8>)>;

/// What a reader gets of a range.
fn range(stream: &Stream, from: StreamId, to: StreamId, order: Order) -> Seen {
    let mut seen = Seen::new();
    stream.range::<()>(from, to, order, |entry| {
        entry.for_each(|field, value| seen.push((entry.id, [field.to_vec(), value.to_vec()].concat())));
        ControlFlow::Continue(())
    });
    seen
}

#[test]
fn a_node_becomes_cold_when_it_was_not_used_for_some_walks() {
    let (mut stream, mut with) = (filled(10), dictionary(TEXT));
    for _ in 1..UNUSED_WALKS {
        assert!(jobs(&stream, false).is_empty());
    }
    assert!(stream.contains(id(210)), "the second node is used");
    let due = jobs(&stream, false);
    assert_eq!(due.len(), 8, "all but the second and the last");
    assert_eq!(apply_all(&mut stream, &due, &mut with), 8);
    assert_eq!(count(&stream), 8);
    for _ in 2..UNUSED_WALKS {
        assert!(jobs(&stream, false).is_empty());
    }
    assert_eq!(jobs(&stream, false).len(), 1);
    assert_eq!(jobs(&stream, true).len(), 2, "the last one too");
}

#[test]
fn a_node_becomes_plain_when_it_is_read_twice() {
    let (mut stream, mut with) = (filled(3), dictionary(TEXT));
    compress_all(&mut stream, &mut with);
    assert!(stream.contains(id(10)));
    assert!(jobs(&stream, false).is_empty(), "it was read once");
    // Too late for a second read to count.
    for _ in 1..UNUSED_WALKS {
        assert!(jobs(&stream, false).is_empty());
    }
    assert!(stream.contains(id(10)));
    assert!(jobs(&stream, false).is_empty());
    assert!(stream.contains(id(20)) && count(&stream) == 3);
    assert!(jobs(&stream, true).is_empty(), "who wants all nodes cold leaves it");
    let due = jobs(&stream, false);
    assert!(due.len() == 1 && due[0].is_thaw() && due[0].sample().is_empty());
    assert!(stream.apply_cold(due[0].thaw().expect("it is to become plain")));
    assert_eq!(count(&stream), 2);
    assert_eq!(jobs(&stream, true).len(), 1);
}

#[test]
fn copies_and_counts_are_no_use() {
    let (mut stream, mut with) = (filled(3), dictionary(TEXT));
    compress_all(&mut stream, &mut with);
    for _ in 0..3 {
        stream.for_each_node(|base, node| node.check_invariants(base));
        assert_eq!((stream.len(), stream.last_entry_id()), (60, Some(id(600))));
        assert!(!stream.contains(id(205)) && !stream.contains(id(1)), "no cold node can have it");
        assert!(range(&stream, id(205), id(206), Order::Ascending).is_empty());
        assert!(stream.trim(&Trim { to: TrimTo::MinId(id(10)), approximate: false, limit: 0 }) == 0);
    }
    assert!(jobs(&stream, false).is_empty());
    assert_eq!(count(&stream), 3);
}

#[test]
fn readers_do_not_notice() {
    let (mut plain, mut with) = (filled(5), dictionary(TEXT));
    // The ends of nodes are deleted, and some between.
    for ms in [10, 20, 200, 210, 390, 400, 770, 1000] {
        assert!(plain.delete(id(ms)));
    }
    let mut cold = plain.clone();
    compress_all(&mut cold, &mut with);
    assert_eq!(plain.part_sums(0).cold, ColdParts::default(), "clones are apart");
    let ids: Vec<StreamId> = (0..105).flat_map(|at| [id(10 * at), id(10 * at + 1)]).collect();
    for &from in ids.iter().step_by(3) {
        for &to in ids.iter().step_by(5) {
            for order in [Order::Ascending, Order::Descending] {
                assert_eq!(range(&cold, from, to, order), range(&plain, from, to, order));
            }
        }
    }
    let (mut of_plain, mut of_cold, mut reader) = (plain.lookup(), cold.lookup(), Reader::default());
    for &id in &ids {
        let expected = plain.with_entry(id, |entry| (entry.id, entry.pairs()));
        assert_eq!(cold.with_entry(id, |entry| (entry.id, entry.pairs())), expected);
        assert_eq!(of_plain.with_entry(id, |entry| (entry.id, entry.pairs())), expected);
        assert_eq!(of_cold.with_entry(id, |entry| (entry.id, entry.pairs())), expected);
        assert_eq!(reader.with_entry(&cold, id, |entry| (entry.id, entry.pairs())), expected);
    }
    assert_eq!(
        (cold.len(), cold.first_id(), cold.last_entry_id()),
        (92, plain.first_id(), plain.last_entry_id())
    );
    let nodes = |stream: &Stream| {
        let mut all = Vec::new();
        stream.for_each_node(|base, node| all.push((base, node.as_bytes().to_vec())));
        all
    };
    assert_eq!(nodes(&cold), nodes(&plain));
    assert_eq!(count(&cold), 5);
    let of = cold.part_sums(0).cold;
    assert!(of.heap_bytes * 2 < of.plain_bytes && cold.memory_bytes(0) < plain.memory_bytes(0), "{of:?}");
}

#[test]
fn writers_leave_other_nodes_cold() {
    let (mut stream, mut with) = (filled(6), dictionary(TEXT));
    compress_all(&mut stream, &mut with);
    add(&mut stream, 1210);
    assert_eq!(count(&stream), 6, "the last one was full");
    assert!(stream.delete(id(30)) && !stream.delete(id(35)));
    assert_eq!(count(&stream), 5);
    compress_all(&mut stream, &mut with);
    add(&mut stream, 1220);
    assert_eq!(count(&stream), 6, "the last one was not full");
    let trim = |to, approximate| Trim { to, approximate, limit: 0 };
    assert_eq!(stream.trim(&trim(TrimTo::Len(100), true)), 19);
    assert_eq!((count(&stream), stream.first_id()), (5, id(210)));
    assert_eq!(stream.trim(&trim(TrimTo::MinId(id(420)), false)), 21);
    assert_eq!((count(&stream), stream.first_id()), (3, id(420)));
    // The mark of a deleted entry goes with the last id.
    assert!(stream.delete(id(1220)));
    compress_all(&mut stream, &mut with);
    stream.set_last_id(id(1210));
    assert_eq!((count(&stream), stream.last_entry_id()), (4, Some(id(1210))));
    add(&mut stream, 1215);
    assert_eq!(range(&stream, id(1210), StreamId::MAX, Order::Ascending).len(), 6);
}

#[test]
fn late_results_are_dropped() {
    let mut with = dictionary(TEXT);
    let changes: [fn(&mut Stream); 4] = [
        |stream| assert!(stream.delete(id(10))),
        |stream| assert_eq!(stream.trim(&Trim { to: TrimTo::Len(20), approximate: false, limit: 0 }), 20),
        |stream| (1..=20).for_each(|at| assert!(stream.delete(id(10 * at)))),
        |stream| {
            stream.trim(&Trim { to: TrimTo::Len(0), approximate: false, limit: 0 });
            *stream = filled(2);
        },
    ];
    for is_cold in [false, true] {
        for change in changes {
            let mut stream = filled(2);
            if is_cold {
                compress_all(&mut stream, &mut with);
                assert!(stream.contains(id(10)) && stream.contains(id(10)));
            }
            let jobs = jobs(&stream, !is_cold);
            assert_eq!(jobs.len(), if is_cold { 1 } else { 2 });
            let done = jobs[0].run(&with.0, &mut with.1);
            drop(jobs);
            change(&mut stream);
            let before = (count(&stream), range(&stream, StreamId::ZERO, StreamId::MAX, Order::Ascending));
            assert!(done.is_change() && !stream.apply_cold(done));
            let after = (count(&stream), range(&stream, StreamId::ZERO, StreamId::MAX, Order::Ascending));
            assert_eq!(after, before);
        }
    }
}

#[test]
fn what_does_not_shrink_is_tried_again_when_it_was_changed() {
    let (mut stream, mut with) = (Stream::new(), dictionary(TEXT));
    let mut rng = fastrand::Rng::with_seed(larder_testkit::seed(61));
    for ms in 1..=40 {
        let noise: Vec<u8> = std::iter::repeat_with(|| rng.u8(..)).take(100).collect();
        stream.append(id(ms), [(&b"noise"[..], &noise[..])].into_iter(), &LIMITS);
    }
    let due = jobs(&stream, true);
    assert_eq!((due.len(), apply_all(&mut stream, &due, &mut with)), (2, 0));
    assert!(stream.contains(id(1)) && jobs(&stream, true).is_empty(), "reading is no change");
    assert!(stream.delete(id(2)));
    assert_eq!(jobs(&stream, true).len(), 1);
    // A node is too large, and the other one is not.
    let mut stream = filled(1);
    let long = TEXT.repeat(RAW_MAX / TEXT.len() + 1);
    let unlimited = Limits { node_bytes_max: 0, node_entries_max: 20 };
    stream.append(id(1000), [(&b"long"[..], &long[..])].into_iter(), &unlimited);
    assert_eq!(jobs(&stream, true).len(), 1);
}

#[test]
fn jobs_come_in_portions() {
    let mut stream = Stream::new();
    let limits = Limits { node_bytes_max: 0, node_entries_max: 1 };
    for ms in 1..=3000 {
        stream.append(id(ms), [(&b"f"[..], &b"v"[..])].into_iter(), &limits);
    }
    let (mut calls, mut found, mut from) = (0, NodeJobs::default(), Some(StreamId::ZERO));
    while let Some(at) = from {
        from = stream.cold_jobs(at, true, usize::MAX, &mut found);
        calls += 1;
    }
    assert_eq!((calls, found.jobs.len()), (3, 3000), "a call looks at 1024 nodes");
    let (mut seen, mut from) = (0, Some(StreamId::ZERO));
    while let Some(at) = from {
        let mut found = NodeJobs::default();
        from = stream.cold_jobs(at, true, 1000, &mut found);
        let bytes: usize = found.jobs.iter().map(|job| job.sample().len()).sum();
        assert!((1..=1000).contains(&bytes), "{bytes}");
        seen += found.jobs.len();
    }
    assert_eq!(seen, 3000);
    let mut found = NodeJobs::default();
    assert!(stream.cold_jobs(StreamId::ZERO, true, 1, &mut found).is_some() && found.jobs.len() == 1);
    assert_eq!(Stream::new().cold_jobs(StreamId::ZERO, true, 1, &mut found), None);
    assert_eq!(stream.cold_jobs(StreamId::MAX, true, 1, &mut found), None);
}

#[test]
fn a_dictionary_lives_as_long_as_a_cold_node_or_a_clone() {
    let (mut stream, mut with) = (filled(3), dictionary(TEXT));
    compress_all(&mut stream, &mut with);
    let number = u16::from(with.0.number_byte());
    let users = || numbered::look::<cold::Dictionary, _>(number, |_, users| users);
    let mut clone = stream.clone();
    assert_eq!(users(), Some(4), "three nodes, which the clone shares, and the one who adds");
    assert!(clone.delete(id(10)));
    assert_eq!(users(), Some(6), "the leaves are two");
    let bytes = |stream: &Stream| stream.0.nodes.last().expect("there are nodes").1.bytes().clone();
    assert!(bytes(&stream).ptr_eq(&bytes(&clone)), "frames are shared");
    drop((with, stream));
    cold::sweep();
    assert_eq!(users(), Some(2));
    assert_eq!(range(&clone, id(210), id(210), Order::Ascending).len(), 3);
    let job = {
        assert!(clone.contains(id(210)));
        jobs(&clone, false)
    };
    drop(clone);
    assert_eq!((job.len(), users()), (1, Some(1)), "a job counts it, too");
}
