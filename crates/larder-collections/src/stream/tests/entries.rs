//! Model test: random operations on a stream and on an ordered map, compared after each step.

use crate::cold::{self, DictionaryRef};
use crate::relocation::tests::move_some;
use crate::stream::{
    Limits, Loader, NodeDone, NodeJob, NodeJobs, Order, Reader, Stream, StreamId, Trim, TrimTo,
};
use larder_packed::dictionary::{Compressor, Dictionary};
use larder_testkit::seeds;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

fn refs(pairs: &Pairs) -> impl ExactSizeIterator<Item = (&[u8], &[u8])> + Clone {
    pairs.iter().map(|(field, value)| (&field[..], &value[..]))
}

struct Run {
    rng: fastrand::Rng,
    stream: Stream,
    model: BTreeMap<StreamId, Pairs>,
    max_deleted: StreamId,
    added: u64,
    kept: Vec<(Stream, BTreeMap<StreamId, Pairs>)>,
    limits: Limits,
    dictionaries: Vec<(DictionaryRef, Compressor)>,
    late: Vec<NodeDone>,
    reader: Reader,
    /// Nodes that have changed their form.
    changed: usize,
}

impl Run {
    fn new(seed: u64) -> Run {
        let mut rng = fastrand::Rng::with_seed(seed);
        let limits = Limits {
            node_bytes_max: [0, 60, 4096, 500][rng.usize(..4)],
            node_entries_max: [1, 3, 10, 100][rng.usize(..4)],
        };
        Run {
            rng,
            stream: Stream::new(),
            model: BTreeMap::new(),
            max_deleted: StreamId::ZERO,
            added: 0,
            kept: Vec::new(),
            limits,
            dictionaries: Vec::new(),
            late: Vec::new(),
            reader: Reader::default(),
            changed: 0,
        }
    }

    fn known(&mut self) -> StreamId {
        if self.model.is_empty() || self.rng.u8(..6) == 0 {
            return StreamId::new(self.rng.u64(..2000), self.rng.u64(..3));
        }
        let at = self.rng.usize(..self.model.len());
        *self.model.keys().nth(at).expect("there are more")
    }

    fn append(&mut self) {
        for _ in 0..self.rng.usize(1..80) {
            let last = self.stream.last_id();
            let rng = &mut self.rng;
            let id = StreamId::new(last.ms + rng.u64(..2), if rng.bool() { 0 } else { rng.u64(..4) });
            let id = if id > last { id } else { last.next().expect("far from the end") };
            let pairs: Pairs = match rng.u8(..3) {
                0 => (0..rng.usize(1..4))
                    .map(|i| (vec![b'a' + i as u8], vec![b'v'; rng.usize(..40)]))
                    .collect(),
                _ => vec![(b"field".to_vec(), rng.u16(..).to_string().into_bytes())],
            };
            self.stream.append(id, refs(&pairs), &self.limits);
            self.model.insert(id, pairs);
            self.added += 1;
        }
    }

    fn trim(&mut self) {
        let to = match self.rng.bool() {
            true => TrimTo::Len(self.rng.u64(..=self.model.len() as u64)),
            false => TrimTo::MinId(self.known()),
        };
        let approximate = self.rng.bool();
        let limit = if approximate { self.rng.u64(..50) } else { 0 };
        let gone = self.stream.trim(&Trim { to, approximate, limit });
        assert!(limit == 0 || gone <= limit);
        let exact = match to {
            TrimTo::Len(len) => (self.model.len() as u64).saturating_sub(len),
            TrimTo::MinId(id) => self.model.range(..id).count() as u64,
        };
        assert!(if approximate { gone <= exact } else { gone == exact }, "{gone} of {exact}");
        for _ in 0..gone {
            self.model.pop_first();
        }
    }

    /// Changes the form of nodes. Some results are late.
    fn change_forms(&mut self) {
        if self.dictionaries.len() < 3 && self.rng.u8(..4) == 0 || self.dictionaries.is_empty() {
            let text: Vec<u8> = (0..self.rng.usize(8..200)).map(|_| self.rng.u8(b'a'..=b'z')).collect();
            let dictionary = Dictionary::of(text.into()).and_then(cold::add).expect("there is a number");
            let compressor = dictionary.compressor().expect("there is memory");
            self.dictionaries.push((dictionary, compressor));
        }
        let (all, from, max_bytes) = (self.rng.bool(), self.known(), self.rng.usize(..10_000));
        let mut found = NodeJobs::default();
        let from = if self.rng.bool() { from } else { StreamId::ZERO };
        self.stream.cold_jobs(from, all, max_bytes, &mut found);
        let NodeJobs { jobs, .. } = found;
        let at = self.rng.usize(..self.dictionaries.len());
        let (dictionary, compressor) = &mut self.dictionaries[at];
        let need_not = self.rng.u8(..4) > 0;
        let mut run = |job: &NodeJob| job.run_as(dictionary, compressor, need_not);
        let mut done: Vec<NodeDone> = jobs.iter().map(&mut run).collect();
        drop(jobs);
        self.late.extend(done.split_off(self.rng.usize(..=done.len())));
        for done in done {
            let is_change = done.is_change();
            assert_eq!(self.stream.apply_cold(done), is_change);
            self.changed += usize::from(is_change);
        }
        if self.rng.u8(..8) == 0 {
            self.dictionaries.remove(at);
            cold::sweep();
        }
    }

    /// Applies late results.
    fn apply_late(&mut self) {
        for done in self.late.split_off(self.rng.usize(..=self.late.len())) {
            self.changed += usize::from(self.stream.apply_cold(done));
        }
    }

    fn step(&mut self) {
        match self.rng.u8(..4) {
            0 => self.change_forms(),
            1 => self.apply_late(),
            _ => {}
        }
        move_some(|mover| self.stream.move_blocks(mover));
        match self.rng.u8(..12) {
            0..4 => self.append(),
            4 => self.trim(),
            5..10 => {
                let id = self.known();
                let gone = self.model.remove(&id).is_some();
                assert_eq!(self.stream.delete(id), gone);
                if gone {
                    self.max_deleted = self.max_deleted.max(id);
                }
            }
            10 if self.rng.bool() => {
                let least = self.stream.last_entry_id().unwrap_or_default();
                self.stream.set_last_id(StreamId::new(least.ms + self.rng.u64(..3), least.seq));
            }
            10 => self.kept.push((self.stream.clone(), self.model.clone())),
            _ => {
                if let Some((stream, model)) = self.kept.pop() {
                    assert_eq!(all(&stream), model);
                    stream.check_invariants();
                }
            }
        }
        self.stream.check_invariants();
        self.compare();
    }

    fn compare(&mut self) {
        let (stream, model) = (&self.stream, &self.model);
        assert_eq!(stream.len(), model.len() as u64);
        let ends = (model.keys().next().copied(), model.keys().next_back().copied());
        assert_eq!((stream.first_id(), stream.last_entry_id()), (ends.0.unwrap_or_default(), ends.1));
        assert_eq!((stream.max_deleted_id(), stream.entries_added()), (self.max_deleted, self.added));
        let (a, b) = (self.known(), self.known());
        let (from, to) = (a.min(b), a.max(b));
        let mut expected: Vec<(StreamId, Pairs)> =
            self.model.range(from..=to).map(|(&id, pairs)| (id, pairs.clone())).collect();
        for order in [Order::Ascending, Order::Descending] {
            let limit = self.rng.usize(..30);
            let mut got = Vec::new();
            self.stream.range(from, to, order, |entry| {
                if got.len() == limit {
                    return ControlFlow::Break(());
                }
                let mut pairs = Pairs::new();
                entry.for_each(|field, value| pairs.push((field.to_vec(), value.to_vec())));
                got.push((entry.id, pairs));
                ControlFlow::Continue(())
            });
            assert_eq!(got[..], expected[..limit.min(expected.len())]);
            expected.reverse();
        }
        let wanted: BTreeSet<StreamId> = (0..self.rng.usize(..20)).map(|_| self.known()).collect();
        let mut lookup = self.stream.lookup();
        for id in wanted {
            let expected = self.model.get(&id).map(|pairs| (id, pairs.len()));
            assert_eq!(lookup.with_entry(id, |entry| (entry.id, entry.pairs())), expected, "{id}");
            let found = self.reader.with_entry(&self.stream, id, |entry| (entry.id, entry.pairs()));
            assert_eq!(found, expected, "{id}");
        }
    }
}

fn all(stream: &Stream) -> BTreeMap<StreamId, Pairs> {
    let mut all = BTreeMap::new();
    stream.range::<()>(StreamId::ZERO, StreamId::MAX, Order::Ascending, |entry| {
        let mut pairs = Pairs::new();
        entry.for_each(|field, value| pairs.push((field.to_vec(), value.to_vec())));
        all.insert(entry.id, pairs);
        ControlFlow::Continue(())
    });
    all
}

/// The first node of a leaf goes, and then so many of the leaf before that the two become one: the ids of the node that is first now stay
/// what they were.
#[test]
fn ids_stay_when_leaves_are_joined() {
    let limits = Limits { node_bytes_max: 4096, node_entries_max: 1 };
    let pairs: Pairs = vec![(b"field".to_vec(), b"value".to_vec())];
    let ids: Vec<StreamId> = (1..300).map(|n| StreamId::new(n, n % 7)).collect();
    for at in 1..ids.len() {
        let mut stream = Stream::new();
        for &id in &ids {
            stream.append(id, refs(&pairs), &limits);
        }
        let gone = at.saturating_sub(60)..=at;
        ids[gone.clone()].iter().rev().for_each(|&id| assert!(stream.delete(id)));
        stream.check_invariants();
        let left: Vec<StreamId> = (0..ids.len()).filter(|at| !gone.contains(at)).map(|at| ids[at]).collect();
        assert_eq!(all(&stream).into_keys().collect::<Vec<_>>(), left, "{at}");
    }
}

#[test]
fn random_operations_agree_with_the_model() {
    let (mut runs, mut changed) = (0, 0);
    for seed in seeds(60, 5000) {
        let mut run = Run::new(seed);
        for _ in 0..run.rng.usize(1..200) {
            run.step();
        }
        let mut loader = Loader::default();
        run.stream.for_each_node(|base, node| loader.add_node(base, node.as_bytes()).expect("it is whole"));
        let back = loader.finish(run.stream.len(), run.stream.last_id()).expect("it is whole");
        back.check_invariants();
        assert_eq!(all(&back), run.model);
        runs += 1;
        changed += run.changed;
    }
    assert!(runs == 1 || changed > 10_000, "{changed} nodes have changed their form");
}

#[test]
fn a_long_stream_has_a_deep_tree() {
    let limits = Limits { node_bytes_max: 0, node_entries_max: 1 };
    let mut stream = Stream::new();
    for ms in 1..=20_000 {
        stream.append(StreamId::new(ms, 0), [(&b"f"[..], &b"v"[..])].into_iter(), &limits);
    }
    stream.check_invariants();
    assert_eq!(stream.entry_node_count(), 20_000);
    // Nine in ten go, here and there, and nodes of the tree are joined.
    for ms in (1..=20_000).filter(|ms| ms % 10 != 0) {
        assert!(stream.delete(StreamId::new(ms, 0)));
    }
    stream.check_invariants();
    assert_eq!((stream.len(), stream.first_id()), (2000, StreamId::new(10, 0)));
    assert!(stream.memory_bytes(0) < 2000 * 200, "{}", stream.memory_bytes(0));
    assert_eq!(stream.trim(&Trim { to: TrimTo::Len(0), approximate: false, limit: 0 }), 2000);
    stream.check_invariants();
}
