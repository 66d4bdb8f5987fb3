//! Model test: random operations on a set of integers and on a `BTreeSet`, compared after each step.

use crate::int_set::IntSet;
use crate::relocation::tests::move_some;
use larder_testkit::seeds;
use std::collections::BTreeSet;

struct Run {
    rng: fastrand::Rng,
    set: IntSet,
    model: BTreeSet<i64>,
    kept: Vec<(IntSet, BTreeSet<i64>)>,
    flavour: usize,
    next: i64,
}

impl Run {
    fn new(seed: u64) -> Run {
        let mut rng = fastrand::Rng::with_seed(seed);
        let flavour = rng.usize(..8);
        Run { rng, set: IntSet::new(), model: BTreeSet::new(), kept: Vec::new(), flavour, next: 0 }
    }

    fn value(&mut self) -> i64 {
        let rng = &mut self.rng;
        match self.flavour {
            0 => rng.i64(0..3000),
            1 => rng.i64(-1_000_000..1_000_000),
            2 => rng.i64(..),
            3 => i64::MAX - rng.i64(0..5000),
            4 => i64::MIN + rng.i64(0..5000),
            5 => rng.i64(0..50) * 1_000_000_007,
            6 => {
                self.next += rng.i64(1..4);
                self.next
            }
            _ => {
                self.next -= rng.i64(1..400);
                self.next
            }
        }
    }

    fn known(&mut self) -> i64 {
        let at = self.rng.u64(..self.set.len().max(1));
        self.set.select(at).unwrap_or(7)
    }

    fn step(&mut self) {
        move_some(|mover| self.set.move_blocks(mover));
        match self.rng.usize(..20) {
            0..9 => self.insert_many(),
            9..13 => self.remove_many(),
            13 => self.remove_range(),
            14 if self.kept.len() < 5 => self.kept.push((self.set.clone(), self.model.clone())),
            15 if !self.kept.is_empty() => {
                let kept = self.kept.swap_remove(self.rng.usize(..self.kept.len()));
                (self.set, self.model) = kept;
            }
            16 => self.flavour = self.rng.usize(..8),
            17 => self.check_scan(),
            18 if self.rng.usize(..9) == 0 => self.set.set_overgrown(),
            _ => self.check_reads(),
        }
    }

    fn insert_many(&mut self) {
        for _ in 0..self.rng.usize(1..400) {
            let value = self.value();
            assert_eq!(self.set.insert(value), self.model.insert(value));
        }
    }

    fn remove_many(&mut self) {
        for _ in 0..self.rng.usize(1..300) {
            let value = if self.rng.bool() { self.known() } else { self.value() };
            assert_eq!(self.set.remove(value), self.model.remove(&value));
        }
    }

    fn remove_range(&mut self) {
        let from = self.known();
        let doomed: Vec<i64> = self.set.iter_from(from).take(self.rng.usize(..2000)).collect();
        for value in doomed {
            assert!(self.set.remove(value) && self.model.remove(&value));
        }
    }

    fn check_reads(&mut self) {
        for _ in 0..20 {
            let value = if self.rng.bool() { self.known() } else { self.value() };
            assert_eq!(self.set.contains(value), self.model.contains(&value));
        }
        let from = self.value();
        assert!(self.set.iter_from(from).take(50).eq(self.model.range(from..).take(50).copied()));
        assert_eq!(self.set.rank(from), self.model.range(..from).count() as u64);
        let rank = self.rng.u64(..self.set.len() + 2);
        assert_eq!(self.set.select(rank), self.model.iter().nth(rank as usize).copied());
    }

    fn check_scan(&mut self) {
        let (mut cursor, mut seen) = (0, Vec::new());
        loop {
            let (before, count) = (seen.len(), self.rng.usize(1..60));
            cursor = self.set.scan(cursor, count, |value| seen.push(value));
            assert!(cursor == 0 || seen.len() - before >= count);
            assert!(cursor < crate::int_set::CURSOR_END);
            if cursor == 0 {
                break;
            }
        }
        seen.sort_unstable();
        assert!(seen.iter().eq(&self.model), "each value exactly once");
    }
}

fn check(set: &IntSet, model: &BTreeSet<i64>) {
    set.check_invariants();
    assert_eq!(set.len(), model.len() as u64);
    assert!(set.iter().eq(model.iter().copied()));
}

#[test]
fn a_set_of_integers_behaves_like_a_btree_set() {
    for seed in seeds(60, 20_000) {
        let mut run = Run::new(seed);
        for step in 0..run.rng.usize(1..120) {
            run.step();
            if step % 8 == 0 {
                check(&run.set, &run.model);
            }
        }
        check(&run.set, &run.model);
        run.kept.iter().for_each(|(set, model)| check(set, model));
    }
}
