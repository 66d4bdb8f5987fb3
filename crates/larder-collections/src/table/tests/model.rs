//! Random operations on tables and their clones, and on `HashMap`s.

use super::{Chosen, Fields, Good, field};
use crate::key_table::KeyHash;
use crate::relocation::tests::move_some;
use larder_testkit::seed;
use std::collections::HashMap;

type Known = HashMap<Vec<u8>, (Vec<u8>, Option<u64>)>;

/// What keys look like.
#[derive(Clone, Copy)]
enum Keys {
    Sequential,
    /// 0 to 600 bytes.
    AnyLength,
    /// Eight bytes of hash with this many random bits at the top, and a number.
    Hash {
        top_bits: u32,
    },
}

struct Driver<H: KeyHash> {
    tables: Vec<(Fields<H>, Known)>,
    rng: fastrand::Rng,
    keys: Keys,
    universe: u64,
    expiries: bool,
}

impl<H: KeyHash> Driver<H> {
    fn new(seed: u64, keys: Keys, universe: u64, expiries: bool) -> Self {
        let tables = vec![(Fields::new(), Known::new())];
        Driver { tables, rng: fastrand::Rng::with_seed(seed), keys, universe, expiries }
    }

    /// `inserts` of 100 operations that change something add.
    fn run(&mut self, steps: usize, inserts: u32) {
        for step in 0..steps {
            let key = self.key();
            let at = self.rng.usize(..self.tables.len());
            if step % 4 == 0 {
                move_some(|mover| self.tables[at].0.move_blocks(mover));
            }
            match self.rng.u32(..100) {
                0..60 if self.rng.u32(..100) < inserts => self.put(at, &key),
                0..60 => self.remove(at, &key),
                60..70 if self.expiries => self.set_expiry(at, &key),
                70 if self.expiries => self.take_due(at),
                71 if step % 8 == 0 => self.clone_or_drop(at),
                _ => self.look(at, &key),
            }
            if step % 1024 == 0 {
                self.check();
            }
        }
        self.check();
    }

    fn key(&mut self) -> Vec<u8> {
        let n = self.rng.u64(..self.universe);
        let mut rng = fastrand::Rng::with_seed(n);
        match self.keys {
            Keys::Sequential => super::key(n),
            Keys::AnyLength => {
                let len = if rng.bool() { rng.usize(..40) } else { rng.usize(100..600) };
                (0..len).map(|_| rng.u8(..)).collect()
            }
            Keys::Hash { top_bits } => {
                let hash = rng.u64(..) & !(u64::MAX.checked_shr(top_bits).unwrap_or(0));
                [&hash.to_be_bytes()[..], &n.to_le_bytes()[..3]].concat()
            }
        }
    }

    fn time(&mut self) -> Option<u64> {
        (self.expiries && self.rng.bool()).then(|| self.rng.u64(1_000..100_000))
    }

    fn put(&mut self, at: usize, key: &[u8]) {
        let len = match self.rng.u32(..8) {
            0 => self.rng.usize(..300),
            1..4 => self.rng.usize(..30),
            _ => 8,
        };
        let value: Vec<u8> = (0..len).map(|_| self.rng.u8(..)).collect();
        let time = self.time();
        let (table, known) = &mut self.tables[at];
        if self.rng.u32(..4) == 0 {
            let added = table.insert(field(key, &value, time));
            assert_eq!(added, !known.contains_key(key));
            known.entry(key.to_vec()).or_insert((value, time));
        } else {
            let added = table.put(field(key, &value, time));
            assert_eq!(added, known.insert(key.to_vec(), (value, time)).is_none());
        }
    }

    fn remove(&mut self, at: usize, key: &[u8]) {
        let (table, known) = &mut self.tables[at];
        let taken = table.take(key, |row| (row.value().to_vec(), row.expire_at_ms()));
        assert_eq!(taken, known.remove(key));
    }

    fn set_expiry(&mut self, at: usize, key: &[u8]) {
        let time = self.time();
        let (table, known) = &mut self.tables[at];
        assert_eq!(table.set_expiry(key, time), known.contains_key(key));
        if let Some((_, expire)) = known.get_mut(key) {
            *expire = time;
        }
    }

    fn take_due(&mut self, at: usize) {
        let (now, max) = (self.rng.u64(..20_000), self.rng.usize(1..40));
        let (table, known) = &mut self.tables[at];
        let is_due = |expire: &Option<u64>| expire.is_some_and(|at| at <= now);
        assert_eq!(table.due(now), known.values().filter(|(_, expire)| is_due(expire)).count());
        let taken = table.take_due(now, max, |row| {
            let (value, expire) = known.remove(row.key()).expect("a key of the model");
            assert!(is_due(&expire) && value == row.value());
        });
        let left = known.values().filter(|(_, expire)| is_due(expire)).count();
        assert!(taken == max || left == 0, "{taken} of {max} taken, {left} left");
        assert!(taken == max || table.soonest() > now);
    }

    fn clone_or_drop(&mut self, at: usize) {
        if self.tables.len() < 4 {
            let (table, known) = &self.tables[at];
            let copy = (table.clone(), known.clone());
            self.tables.push(copy);
        } else {
            self.tables.swap_remove(at);
        }
    }

    fn look(&mut self, at: usize, key: &[u8]) {
        let (table, known) = &self.tables[at];
        table.prefetch(H::hash(key));
        table.prefetch_entry(H::hash(key));
        let found = table.get(key).map(|row| (row.value().to_vec(), row.expire_at_ms()));
        assert_eq!(found.as_ref(), known.get(key));
    }

    fn check(&mut self) {
        for (table, known) in &self.tables {
            table.check_invariants();
            assert_eq!(table.len(), known.len());
            assert_eq!(table.expiring(), known.values().filter(|(_, expire)| expire.is_some()).count());
            for row in table.iter() {
                let (value, expire) = &known[row.key()];
                assert!(row.value() == value && row.expire_at_ms() == *expire);
            }
            if let Some(row) = table.sample(&mut self.rng) {
                assert!(known.contains_key(row.key()));
            }
            assert_eq!(table.is_empty(), table.sample(&mut self.rng).is_none());
        }
    }

    /// Fills, churns, empties.
    fn life(&mut self, steps: usize) {
        self.run(steps, 90);
        self.run(steps, 50);
        self.run(steps, 10);
        let (table, known) = &mut self.tables[0];
        for key in known.keys() {
            assert!(table.remove(key));
        }
        table.check_invariants();
        assert!(table.memory_bytes() <= 64 && table.node_count() == 1);
    }
}

#[test]
fn model_of_sequential_keys() {
    Driver::<Good>::new(seed(1), Keys::Sequential, 6_000, false).life(30_000);
    Driver::<Good>::new(seed(1), Keys::Sequential, 6_000, true).life(30_000);
}

#[test]
fn model_of_few_keys() {
    for n in 0..12 {
        Driver::<Good>::new(seed(2) + n, Keys::Sequential, 5 + 40 * n, n % 2 == 0).life(2_000);
    }
}

#[test]
fn model_of_keys_of_any_length() {
    Driver::<Good>::new(seed(3), Keys::AnyLength, 2_000, true).life(12_000);
}

#[test]
fn model_of_equal_hashes() {
    Driver::<Chosen>::new(seed(4), Keys::Hash { top_bits: 0 }, 2_500, true).life(8_000);
}

#[test]
fn model_of_hashes_equal_but_for_few_bits() {
    for top_bits in [1, 3, 9, 20] {
        Driver::<Chosen>::new(seed(5), Keys::Hash { top_bits }, 2_000, top_bits == 9).life(6_000);
    }
}
