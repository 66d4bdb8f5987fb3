//! Model test: random operations on sets and on sets of `std`, compared after each step.

use super::{Model, Set, SetLimits, members};
use crate::relocation::tests::move_some;
use larder_testkit::seeds;
use std::ops::ControlFlow;

struct Run {
    rng: fastrand::Rng,
    limits: SetLimits,
    sets: Vec<(Set, Model)>,
    flavour: usize,
}

impl Run {
    fn new(seed: u64) -> Run {
        let mut rng = fastrand::Rng::with_seed(seed);
        let limits = SetLimits {
            intset_count_max: [0, 5, 512][rng.usize(..3)],
            listpack_count_max: [0, 10, 128][rng.usize(..3)],
            listpack_bytes_max: [5, 64][rng.usize(..2)],
        };
        let flavour = rng.usize(..6);
        Run { rng, limits, sets: vec![(Set::new(), Model::new()); 4], flavour }
    }

    fn member(&mut self) -> Vec<u8> {
        let rng = &mut self.rng;
        let number = rng.i64(-20..400);
        match self.flavour {
            0 => number.to_string().into_bytes(),
            1 => format!("member:{number}").into_bytes(),
            2 if rng.usize(..20) == 0 => vec![rng.u8(b'a'..=b'c'); rng.usize(..300)],
            2 => vec![rng.u8(..), rng.u8(0xFD..)],
            3 if rng.usize(..30) > 0 => number.to_string().into_bytes(),
            3 => format!("m{number}").into_bytes(),
            4 if rng.bool() => rng.i64(0..100_000).to_string().into_bytes(),
            _ => format!("0{}", rng.u32(..100_000)).into_bytes(),
        }
    }

    fn step(&mut self) {
        let at = self.rng.usize(..self.sets.len());
        move_some(|mover| self.sets[at].0.move_blocks(mover));
        match self.rng.usize(..24) {
            0..8 => self.insert_many(at),
            8..11 => self.remove_many(at),
            11..13 => self.pop_many(at),
            13 => {
                let from = self.rng.usize(..self.sets.len());
                self.sets[at] = self.sets[from].clone();
            }
            14 => self.flavour = self.rng.usize(..6),
            15 => self.sets[at] = (Set::new(), Model::new()),
            16..19 => self.check_algebra(),
            19..21 => self.check_scan(at),
            _ => self.check_reads(at),
        }
        let (set, model) = &self.sets[at];
        set.check_invariants();
        assert_eq!(members(set), *model);
    }

    fn insert_many(&mut self, at: usize) {
        for _ in 0..self.rng.usize(1..200) {
            let member = self.member();
            let (set, model) = &mut self.sets[at];
            assert_eq!(set.insert(&member, &self.limits), model.insert(member));
        }
    }

    fn remove_many(&mut self, at: usize) {
        for _ in 0..self.rng.usize(1..150) {
            let member = self.member();
            let (set, model) = &mut self.sets[at];
            assert_eq!(set.remove(&member), model.remove(&member));
        }
    }

    fn pop_many(&mut self, at: usize) {
        for _ in 0..self.rng.usize(1..100) {
            let (set, model) = &mut self.sets[at];
            let popped = set.pop(&mut self.rng, |element| element.to_vec());
            assert_eq!(popped.is_none(), model.is_empty());
            assert!(popped.is_none_or(|member| model.remove(&member)));
        }
    }

    fn check_reads(&mut self, at: usize) {
        for _ in 0..30 {
            let member = self.member();
            let (set, model) = &self.sets[at];
            assert_eq!(set.contains(&member), model.contains(&member));
        }
        let (set, model) = &self.sets[at];
        assert!(set.sample(&mut self.rng).is_none_or(|element| model.contains(&element.to_vec())));
        let count = self.rng.u64(..300);
        let sample: Model = set.sample_distinct(count, &mut self.rng).iter().map(|e| e.to_vec()).collect();
        assert_eq!(sample.len(), model.len().min(count as usize));
        assert!(sample.is_subset(model));
    }

    /// What stays in the set during the whole scan is seen.
    fn check_scan(&mut self, at: usize) {
        let (mut cursor, mut seen, mut stayed) = (0, Model::new(), self.sets[at].1.clone());
        loop {
            let count = self.rng.usize(1..50);
            cursor = self.sets[at].0.scan(cursor, count, |element| {
                seen.insert(element.to_vec());
            });
            assert!(cursor < 1 << 53);
            if cursor == 0 {
                break;
            }
            for _ in 0..self.rng.usize(..10) {
                let member = self.member();
                let (set, model) = &mut self.sets[at];
                if self.rng.bool() {
                    set.insert(&member, &self.limits);
                    model.insert(member);
                } else {
                    set.remove(&member);
                    model.remove(&member);
                    stayed.remove(&member);
                }
            }
        }
        assert!(stayed.is_subset(&seen));
    }

    fn check_algebra(&mut self) {
        let count = self.rng.usize(1..5);
        let picked: Vec<usize> = (0..count).map(|_| self.rng.usize(..self.sets.len())).collect();
        let sets: Vec<&Set> = picked.iter().map(|&at| &self.sets[at].0).collect();
        let models: Vec<&Model> = picked.iter().map(|&at| &self.sets[at].1).collect();
        let fold = |f: fn(&Model, &Model) -> Model| {
            models[1..].iter().fold(models[0].clone(), |result, model| f(&result, model))
        };
        let both = Set::intersection(&sets, &self.limits);
        let any = Set::union(&sets, &self.limits);
        let rest = Set::difference(sets[0], &sets[1..], &self.limits);
        for set in [&both, &any, &rest] {
            set.check_invariants();
        }
        assert_eq!(members(&both), fold(|a, b| a & b));
        assert_eq!(members(&any), fold(|a, b| a | b));
        let mut each = Vec::new();
        Set::for_each_of_any(&sets, |member| each.push(member.to_vec()));
        assert_eq!(each.len() as u64, any.len(), "each member once");
        assert_eq!(each.into_iter().collect::<Model>(), members(&any));
        assert_eq!(members(&rest), fold(|a, b| a - b));
        let (mut seen, limit) = (0, self.rng.u64(1..50));
        let _ = Set::for_each_common(&sets, |_| {
            seen += 1;
            if seen == limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!(seen, both.len().min(limit));
    }
}

#[test]
fn sets_behave_like_sets() {
    for seed in seeds(120, 20_000) {
        let mut run = Run::new(seed);
        for _ in 0..run.rng.usize(1..80) {
            run.step();
        }
        for (set, model) in &run.sets {
            set.check_invariants();
            assert_eq!(members(set), *model);
        }
    }
}
