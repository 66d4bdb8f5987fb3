//! Model test: random operations on a list and on a deque of byte strings, compared after each step.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use crate::list::{Codec, Direction, Fill, Job, List, ListOptions, Popped};
use crate::relocation::tests::move_some;
use larder_testkit::seeds;

type Model = VecDeque<Vec<u8>>;

/// One run: a list, its model, and copies of both taken at random moments.
pub(super) struct Run {
    pub(super) rng: fastrand::Rng,
    pub(super) options: ListOptions,
    pub(super) list: List,
    pub(super) model: Model,
    kept: Vec<(List, Model)>,
    jobs: Vec<Job>,
    flavour: usize,
    grow: usize,
}

impl Run {
    pub(super) fn new(seed: u64) -> Run {
        let mut rng = fastrand::Rng::with_seed(seed);
        let fill = [1, 2, 3, 4, 8, 16, 32, 100, 1000, -1, -2, -5, 0][rng.usize(..13)];
        let options = ListOptions {
            fill: Fill::new(fill),
            compress_depth: rng.u32(..4),
            codec: [Codec::Lzf, Codec::Lz4, Codec::Zstd][rng.usize(..3)],
        };
        let (flavour, grow) = (rng.usize(..6), rng.usize(3..8));
        Run {
            rng,
            options,
            list: List::new(),
            model: Model::new(),
            kept: Vec::new(),
            jobs: Vec::new(),
            flavour,
            grow,
        }
    }

    fn value(&mut self) -> Vec<u8> {
        let rng = &mut self.rng;
        let len = match rng.usize(..40) {
            0 => rng.usize(..9000),
            1 => 0,
            2..4 => rng.usize(..600),
            _ => rng.usize(..10),
        };
        match self.flavour {
            0 => rng.i32(-50..1000).to_string().into_bytes(),
            1 => rng.i64(..).to_string().into_bytes(),
            2 => vec![b'x'; 20],
            3 if rng.bool() => rng.u8(..).to_string().into_bytes(),
            4 => vec![b'y'; rng.usize(500..3000)],
            _ => std::iter::repeat_with(|| rng.u8(b'a'..b'd')).take(len).collect(),
        }
    }

    pub(super) fn step(&mut self) {
        move_some(|mover| self.list.move_blocks(mover));
        let n = self.model.len();
        match self.rng.usize(..30) {
            0..10 => self.push_many(),
            10..15 => self.pop_many(),
            15..17 if n > 0 => {
                let (at, value) = (self.rng.usize(..n), self.value());
                assert!(self.list.set(at as u64, &value, &self.options));
                self.model[at] = value;
            }
            17..20 => {
                let (at, value) = (self.rng.usize(..=n), self.value());
                self.list.insert(at as u64, &value, &self.options);
                self.model.insert(at, value);
            }
            20 => self.remove_range(),
            21 => self.remove_matching(),
            22 => self.kept.push((self.list.clone(), self.model.clone())),
            23 if !self.kept.is_empty() => {
                let i = self.rng.usize(..self.kept.len());
                let (list, model) = self.kept.swap_remove(i);
                self.list = list;
                self.model = model;
            }
            24 if self.rng.usize(..4) == 0 => self.flavour = self.rng.usize(..6),
            25 => self.check_reads(),
            26 => {
                let max = self.rng.usize(1..20);
                self.jobs.extend(self.list.compression_work(&self.options, max));
            }
            27 => {
                for done in std::mem::take(&mut self.jobs).iter().map(Job::run) {
                    self.list.apply(done, &self.options);
                }
            }
            28 => self.compress_all(),
            _ => {}
        }
    }

    fn compress_all(&mut self) {
        for _ in 0..1000 {
            if !self.list.wants_compression(&self.options) {
                return;
            }
            for job in self.list.compression_work(&self.options, 7) {
                self.list.apply(job.run(), &self.options);
            }
        }
        panic!("compression does not come to an end");
    }

    fn push_many(&mut self) {
        let (front, count) = (self.rng.bool(), self.rng.usize(1..2 + self.grow * 3));
        for _ in 0..count {
            let value = self.value();
            if front {
                self.list.push_front(&value, &self.options);
                self.model.push_front(value);
            } else {
                self.list.push_back(&value, &self.options);
                self.model.push_back(value);
            }
        }
    }

    fn pop_many(&mut self) {
        let (front, count) = (self.rng.bool(), self.rng.usize(1..20));
        for _ in 0..count {
            let popped =
                if front { self.list.pop_front(&self.options) } else { self.list.pop_back(&self.options) };
            let expected = if front { self.model.pop_front() } else { self.model.pop_back() };
            assert_eq!(popped.map(Popped::into_vec), expected);
        }
    }

    fn remove_range(&mut self) {
        let n = self.model.len();
        let from = self.rng.usize(..=n);
        let most = if self.rng.usize(..6) == 0 { n - from } else { (n - from).min(9) };
        let count = self.rng.usize(..=most);
        self.list.remove_range(from as u64, count as u64, &self.options);
        self.model.drain(from..from + count);
    }

    fn remove_matching(&mut self) {
        let n = self.model.len();
        let value =
            if n > 0 && self.rng.bool() { self.model[self.rng.usize(..n)].clone() } else { self.value() };
        let (max, from_tail) = (self.rng.u64(..4), self.rng.bool());
        let removed = self.list.remove_matching(&value, max, from_tail, &self.options);
        let mut positions: Vec<usize> = (0..n).filter(|&i| self.model[i] == value).collect();
        if from_tail {
            positions.reverse();
        }
        positions.truncate(if max == 0 { n } else { max as usize });
        assert_eq!(removed, positions.len() as u64);
        positions.sort_unstable();
        for i in positions.into_iter().rev() {
            self.model.remove(i);
        }
    }

    fn check_reads(&mut self) {
        let n = self.model.len();
        let (from, count) = (self.rng.usize(..n + 2), self.rng.usize(..40));
        let mut seen = Vec::new();
        let mut take = |element: crate::list::Element<'_>| {
            seen.push(element.to_vec());
            ControlFlow::<()>::Continue(())
        };
        if self.rng.bool() {
            let _ = self.list.for_each_range(from as u64, count as u64, &mut take);
            assert!(seen.iter().eq(self.model.iter().skip(from).take(count)));
        } else if from < n {
            let _ = self.list.for_each_range_rev(from as u64, count as u64, &mut take);
            assert!(seen.iter().eq(self.model.iter().rev().skip(n - 1 - from).take(count)));
        }
        let at = self.rng.usize(..n + 1);
        assert_eq!(self.list.get(at as u64).map(Popped::into_vec).as_ref(), self.model.get(at));
        if n > 0 {
            let value = self.model[self.rng.usize(..n)].clone();
            let found = self.list.find(&value, 0, u64::MAX, Direction::Forward);
            assert_eq!(found, self.model.iter().position(|v| *v == value).map(|i| i as u64));
        }
    }

    pub(super) fn check(&self) {
        check_same(&self.list, &self.model);
    }

    pub(super) fn finish(&self) {
        for (list, model) in &self.kept {
            check_same(list, model);
        }
    }
}

fn check_same(list: &List, model: &Model) {
    list.check_invariants();
    assert_eq!(list.len(), model.len() as u64);
    assert_eq!(list.front().map(crate::list::Element::to_vec).as_ref(), model.front());
    assert_eq!(list.back().map(crate::list::Element::to_vec).as_ref(), model.back());
    let mut expected = model.iter();
    let _ = list.for_each_range(0, u64::MAX, |element| {
        element.with_bytes(|bytes| assert_eq!(Some(bytes), expected.next().map(Vec::as_slice)));
        ControlFlow::<()>::Continue(())
    });
    assert!(expected.next().is_none());
}

fn run(seed: u64) {
    let mut run = Run::new(seed);
    let steps = run.rng.usize(1..80);
    for _ in 0..steps {
        run.step();
        run.check();
    }
    run.finish();
}

#[test]
fn list_behaves_like_a_deque() {
    seeds(400, 200_000).for_each(run);
}

/// Two lists share a block, of which one finds that it does not shrink.
#[test]
fn seeds_that_failed() {
    run(820);
}
