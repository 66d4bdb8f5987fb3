//! Model test: random operations on a sorted set and on an ordered set beside a hash map, compared after each step.

use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;

use crate::key_table::KeyHash;
use crate::member_hash::{MemberHash, member_hash};
use crate::relocation::tests::move_some;
use crate::sorted_set::score::key_of;
use crate::sorted_set::{Bound, Limits, Order, SortedSet, SortedSetEncoding};
use larder_testkit::seeds;

/// Hashes that agree in all but their last bits.
pub(super) struct Alike;

impl KeyHash for Alike {
    fn hash(bytes: &[u8]) -> u64 {
        member_hash(bytes) >> 58
    }
}

/// Only four hashes.
pub(super) struct Few;

impl KeyHash for Few {
    fn hash(bytes: &[u8]) -> u64 {
        (member_hash(bytes) & 3) << 62
    }
}

#[derive(Clone, Default)]
struct Model {
    order: BTreeSet<(u64, Vec<u8>)>,
    /// A score of -0 is one only if the set remembers it.
    scores: HashMap<Vec<u8>, f64>,
}

impl Model {
    /// Both zeros are equal: putting one in place of the other changes nothing.
    fn put(&mut self, member: &[u8], score: f64, large: bool) -> Option<f64> {
        let old = self.remove(member);
        let score = match old {
            Some(old) if old == score => old,
            _ if large => score,
            _ => score + 0.0,
        };
        self.order.insert((key_of(score), member.to_vec()));
        self.scores.insert(member.to_vec(), score);
        old
    }

    fn remove(&mut self, member: &[u8]) -> Option<f64> {
        let old = self.scores.remove(member)?;
        assert!(self.order.remove(&(key_of(old), member.to_vec())));
        Some(old)
    }

    /// Scores as bits, which tell the zeros apart, and members.
    fn entries(&self) -> Vec<(u64, Vec<u8>)> {
        self.order.iter().map(|(_, member)| (self.scores[member].to_bits(), member.clone())).collect()
    }
}

struct Run<H> {
    rng: fastrand::Rng,
    set: SortedSet<H>,
    model: Model,
    kept: Vec<(SortedSet<H>, Model)>,
    limits: Limits,
    scores: usize,
    members: usize,
    next: u32,
}

impl<H: KeyHash> Run<H> {
    fn new(seed: u64) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed);
        let (scores, members) = (rng.usize(..7), rng.usize(..5));
        let limits = Limits { entries: rng.u64(..200), member_len: 64 };
        Run {
            rng,
            set: SortedSet::new(),
            model: Model::default(),
            kept: Vec::new(),
            limits,
            scores,
            members,
            next: 0,
        }
    }

    fn score(&mut self) -> f64 {
        let rng = &mut self.rng;
        match self.scores {
            0 => 1.0,
            1 => rng.f64() * 1e6,
            2 => f64::from(rng.u8(..3)),
            3 => f64::from(self.next),
            4 => -f64::from(self.next),
            5 => [f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, f64::from_bits(3), -1e300][rng.usize(..6)],
            _ => f64::from(rng.i16(..)) / 8.0,
        }
    }

    fn member(&mut self) -> Vec<u8> {
        self.next += 1;
        let rng = &mut self.rng;
        match self.members {
            0 => format!("m{:015}", rng.u32(..4000)).into_bytes(),
            1 => self.next.to_string().into_bytes(),
            2 => (0..rng.usize(..3)).map(|_| rng.u8(..)).collect(),
            3 if rng.usize(..30) == 0 => vec![rng.u8(b'a'..b'd'); rng.usize(..5000)],
            _ => format!("user:{:x}", rng.u16(..)).into_bytes(),
        }
    }

    fn known(&mut self) -> Vec<u8> {
        if self.model.scores.is_empty() || self.rng.usize(..5) == 0 {
            return self.member();
        }
        let at = self.rng.usize(..self.model.order.len());
        let rank = self.set.with_entry(at as u64, |_, member| member.to_vec());
        rank.expect("the model has as many")
    }

    fn step(&mut self) {
        move_some(|mover| self.set.move_blocks(mover));
        match self.rng.usize(..24) {
            0..8 => {
                for _ in 0..self.rng.usize(1..60) {
                    let (member, score) = (self.member(), self.score());
                    self.put(&member, score);
                }
            }
            8..11 => {
                for _ in 0..self.rng.usize(1..20) {
                    let (member, score) = (self.known(), self.score());
                    self.put(&member, score);
                }
            }
            11 => {
                let member = self.known();
                let add = self.score();
                let add = if add.is_finite() { add } else { 1.0 };
                let (old, new) = self.set.update(&member, &self.limits, |old| {
                    Some(old.unwrap_or(0.0) + add).filter(|sum| sum.is_finite())
                });
                assert_eq!(bits(old), bits(self.model.scores.get(&member).copied()));
                let large = self.set.encoding() == SortedSetEncoding::Skiplist;
                new.and_then(|new| self.model.put(&member, new, large));
            }
            12..16 => {
                for _ in 0..self.rng.usize(1..40) {
                    let member = self.known();
                    assert_eq!(bits(self.set.remove(&member)), bits(self.model.remove(&member)));
                }
            }
            16..18 => self.remove_ranks(),
            18 => self.kept.push((self.set.clone(), self.model.clone())),
            19 if !self.kept.is_empty() => {
                let at = self.rng.usize(..self.kept.len());
                (self.set, self.model) = self.kept.swap_remove(at);
            }
            20 => self.scores = self.rng.usize(..7),
            21 => self.check_scan(),
            _ => self.check_reads(),
        }
    }

    fn put(&mut self, member: &[u8], score: f64) {
        let (old, new) = self.set.update(member, &self.limits, |_| Some(score));
        let large = self.set.encoding() == SortedSetEncoding::Skiplist;
        assert_eq!((bits(old), new), (bits(self.model.put(member, score, large)), Some(score)));
    }

    fn remove_ranks(&mut self) {
        let n = self.model.order.len();
        let from = self.rng.usize(..=n);
        let most = if self.rng.usize(..4) == 0 { n - from } else { (n - from).min(50) };
        let count = self.rng.usize(..=most);
        let mut seen = Vec::new();
        let removed = self
            .set
            .remove_ranks(from as u64, count as u64, |score, m| seen.push((score.to_bits(), m.to_vec())));
        assert_eq!((removed, &seen[..]), (count as u64, &self.model.entries()[from..from + count]));
        for (_, member) in seen {
            self.model.remove(&member);
        }
    }

    fn check_reads(&mut self) {
        let entries = self.model.entries();
        let n = entries.len();
        let (from, count) = (self.rng.usize(..n + 2), self.rng.usize(..300));
        for order in [Order::Ascending, Order::Descending] {
            let mut seen = Vec::new();
            let range = from as u64..(from + count) as u64;
            let _ = self.set.visit(range, order, |score, member| {
                seen.push((score.to_bits(), member.to_vec()));
                ControlFlow::<()>::Continue(())
            });
            if order == Order::Descending {
                seen.reverse();
            }
            assert_eq!(seen, &entries[from.min(n)..(from + count).min(n)]);
        }
        let (score, member) = (self.score(), self.known());
        let key = |entry: &(u64, Vec<u8>)| key_of(f64::from_bits(entry.0));
        let below = entries.partition_point(|entry| key(entry) < key_of(score)) as u64;
        let through = entries.partition_point(|entry| key(entry) <= key_of(score)) as u64;
        assert_eq!(self.set.ranks(&Bound::BeforeScore(score), &Bound::AfterScore(score)), below..through);
        let rank = entries.iter().position(|entry| entry.1 == member);
        let found = self.set.rank(&member).map(|(rank, score)| (rank, score.to_bits()));
        assert_eq!(found, rank.map(|rank| (rank as u64, entries[rank].0)));
        assert_eq!(bits(self.set.score(&member)), rank.map(|rank| entries[rank].0));
        let several: Vec<Vec<u8>> = (0..self.rng.usize(..40)).map(|_| self.member()).collect();
        let mut scores = Vec::new();
        self.set.scores(several.iter().map(Vec::as_slice), |score| scores.push(bits(score)));
        assert_eq!(scores, several.iter().map(|member| bits(self.set.score(member))).collect::<Vec<_>>());
        if n > 0 && key(&entries[0]) == key(&entries[n - 1]) {
            let before = entries.partition_point(|entry| entry.1 < member) as u64;
            let after = entries.partition_point(|entry| entry.1 <= member) as u64;
            let bounds = (Bound::BeforeMember(&member), Bound::AfterMember(&member));
            assert_eq!(self.set.ranks(&bounds.0, &bounds.1), before..after);
        }
    }

    fn check_scan(&mut self) {
        let count = self.rng.usize(1..200);
        let (mut cursor, mut seen) = (0, Vec::new());
        loop {
            cursor = self.set.scan(cursor, count, |score, member| {
                assert_eq!(score.to_bits(), self.model.scores[member].to_bits());
                seen.push((key_of(score), member.to_vec()));
            });
            if cursor == 0 {
                break;
            }
        }
        seen.sort();
        assert!(seen.iter().eq(&self.model.order));
    }
}

fn bits(score: Option<f64>) -> Option<u64> {
    score.map(f64::to_bits)
}

fn check_same<H: KeyHash>(set: &SortedSet<H>, model: &Model) {
    set.check_invariants();
    assert_eq!(set.len(), model.order.len() as u64);
    let mut seen = Vec::new();
    set.for_each(|score, member| seen.push((score.to_bits(), member.to_vec())));
    assert_eq!(seen, model.entries());
}

fn run<H: KeyHash>(seed: u64) {
    let mut run = Run::<H>::new(seed);
    for _ in 0..run.rng.usize(1..120) {
        run.step();
        check_same(&run.set, &run.model);
    }
    for (set, model) in &run.kept {
        check_same(set, model);
    }
    while !run.model.order.is_empty() {
        let member = run.known();
        assert_eq!(bits(run.set.remove(&member)), bits(run.model.remove(&member)));
    }
    check_same(&run.set, &run.model);
}

#[test]
fn a_sorted_set_behaves_like_a_btree() {
    for seed in seeds(100, 10_000) {
        match seed % 5 {
            0 => run::<Alike>(seed),
            1 => run::<Few>(seed),
            _ => run::<MemberHash>(seed),
        }
    }
}

/// A tree of one leaf, for the sign of a zero alone, lost that when the score changed in its place.
#[test]
fn seeds_that_failed() {
    run::<MemberHash>(743);
}
