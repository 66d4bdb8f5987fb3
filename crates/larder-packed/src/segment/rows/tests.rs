//! Counted segments against a vector of pairs, with clones that must not see each other's changes.

use super::{FIELD_INLINE_MAX, FieldValue, FieldValueNew, Layout, Member, Rows, VALUE_INLINE_MAX, layout};

type Pair = (Vec<u8>, Vec<u8>, Option<u64>);

fn new(pair: &Pair) -> FieldValueNew<'_> {
    FieldValueNew { field: &pair.0, value: &pair.1, expire_at_ms: pair.2 }
}

fn tag(key: &[u8]) -> u8 {
    key.iter().fold(1_u8, |tag, &b| tag.wrapping_mul(31).wrapping_add(b)) % 7 + 1
}

fn pairs(rows: &Rows<FieldValue>) -> Vec<Pair> {
    rows.check_invariants();
    rows.rows().map(|row| (row.key().to_vec(), row.value().to_vec(), row.expire_at_ms())).collect()
}

fn random_bytes(rng: &mut fastrand::Rng, n: u64, limit: usize) -> Vec<u8> {
    let len = match rng.u32(..6) {
        0 => rng.usize(limit - 2..limit + 3),
        1 => rng.usize(limit..limit * 4),
        _ => rng.usize(..20),
    };
    n.to_le_bytes()[..2].iter().copied().chain((0..len).map(|_| rng.u8(..))).collect()
}

/// Strings of all lengths up to 40 that differ at one place, at none, or in length.
#[test]
fn strings_are_the_same_if_all_their_bytes_are() {
    for len in 0..40_usize {
        let string: Vec<u8> = (0..len as u8).collect();
        assert!(layout::is_same(&string, &string.clone()), "{len}");
        for at in 0..len {
            let mut other = string.clone();
            other[at] ^= 0x80;
            assert!(!layout::is_same(&string, &other), "{len}, differs at {at}");
            assert!(!layout::is_same(&string, &string[..at]), "{len} and {at}");
        }
    }
}

/// Each string is held by this many segments: all of them live in `all`.
fn check_counts(all: &[Rows<FieldValue>]) {
    let outs = |rows: &Rows<FieldValue>| -> Vec<(usize, u32)> {
        let outs = rows.segment.entries().flat_map(|(_, entry)| {
            FieldValue::outs(entry).into_iter().flatten().map(|at| {
                // SAFETY: an entry of a live segment; the copy is not dropped.
                let out = unsafe { layout::borrow_out(entry, at) };
                (out.as_ptr() as usize, out.references())
            })
        });
        outs.collect()
    };
    let mut segments: Vec<&Rows<FieldValue>> = all.iter().collect();
    segments.sort_by_key(|rows| rows.segment.address());
    segments.dedup_by_key(|rows| rows.segment.address());
    let mut held = std::collections::HashMap::new();
    for (at, references) in segments.into_iter().flat_map(outs) {
        held.entry(at).or_insert((references, 0)).1 += 1;
    }
    for (references, segments) in held.into_values() {
        assert_eq!(references, segments);
    }
}

struct Driver {
    rng: fastrand::Rng,
    all: Vec<Rows<FieldValue>>,
    model: Vec<Vec<Pair>>,
}

impl Driver {
    fn step(&mut self) {
        let at = self.rng.usize(..self.all.len());
        let n = self.rng.u64(..60);
        let clones = self.all.len();
        let (rows, model) = (&mut self.all[at], &mut self.model[at]);
        let mut field = fastrand::Rng::with_seed(n);
        let pair = (
            random_bytes(&mut field, n, FIELD_INLINE_MAX),
            random_bytes(&mut self.rng, 0, VALUE_INLINE_MAX),
            self.rng.bool().then(|| self.rng.u64(..1 << 48)),
        );
        let known = model.iter().position(|known| known.0 == pair.0);
        let found = rows.find(tag(&pair.0), &pair.0).map(|row| row.slot());
        assert_eq!(found.map(|slot| slot.index()), known);
        match (self.rng.u32(..8), found.zip(known)) {
            (0..4, Some((slot, known))) => {
                rows.replace(slot, new(&pair));
                model[known] = pair;
            }
            (4, Some((slot, known))) => {
                rows.set_expiry(slot, pair.2);
                model[known].2 = pair.2;
            }
            (5..7, Some((slot, known))) => {
                rows.remove_in_order(slot);
                model.remove(known);
            }
            (7, _) if clones < 5 => {
                let clone = (self.all[at].clone(), self.model[at].clone());
                self.all.push(clone.0);
                self.model.push(clone.1);
            }
            (7, _) if clones > 2 => {
                self.all.swap_remove(at);
                self.model.swap_remove(at);
            }
            (_, None) => {
                assert!(rows.content_with(new(&pair)) >= rows.page().content_bytes());
                rows.insert(tag(&pair.0), new(&pair));
                model.push(pair);
            }
            _ => assert!(!rows.shrink() || !rows.is_shared()),
        }
    }

    fn check(&self) {
        for (rows, model) in self.all.iter().zip(&self.model) {
            assert!(pairs(rows) == *model, "pairs differ");
        }
        check_counts(&self.all);
    }
}

#[test]
fn clones_are_as_independent_as_copies() {
    let seed = larder_testkit::seed(1);
    for round in 0..10 {
        let rng = fastrand::Rng::with_seed(seed + round);
        let mut driver = Driver { rng, all: vec![Rows::with_room(0, 0)], model: vec![Vec::new()] };
        for step in 0..1_500 {
            driver.step();
            if step % 10 == 0 {
                driver.check();
            }
        }
        split_and_join(&driver);
    }
}

fn split_and_join(driver: &Driver) {
    for (rows, model) in driver.all.iter().zip(&driver.model) {
        let (left, right) = rows.split(|row| row.key().len() % 2 == 1);
        let joined = Rows::join(&left, &right);
        let (odd, even): (Vec<Pair>, Vec<Pair>) =
            model.iter().cloned().partition(|pair| pair.0.len() % 2 == 1);
        assert!(pairs(&left) == even && pairs(&right) == odd);
        assert!(pairs(&joined) == [even, odd].concat());
        check_counts(&[&driver.all[..], &[left, right, joined]].concat());
    }
    check_counts(&driver.all);
}

#[test]
fn members_of_every_form_come_back() {
    let mut rows = Rows::<Member>::with_room(0, 0);
    let odd: [&[u8]; 6] = [b"", b"\xFE", b"\xFF", b"\xFE\xFE", b"\xFFab", b"plain"];
    let long: Vec<Vec<u8>> = (126..132).map(|len| vec![0xFF; len]).collect();
    let members: Vec<&[u8]> = odd.into_iter().chain(long.iter().map(|m| &m[..])).collect();
    for member in &members {
        assert!(rows.find(tag(member), member).is_none());
        rows.insert(tag(member), member);
    }
    rows.check_invariants();
    assert!(rows.rows().map(|row| row.key()).eq(members.iter().copied()));
    let clone = rows.clone();
    for member in &members {
        let slot = rows.find(tag(member), member).expect("it is there").slot();
        rows.remove(slot);
    }
    assert_eq!((rows.page().live(), clone.page().live()), (0, members.len()));
    assert_eq!(clone.find(tag(members[1]), members[1]).map(|row| row.entry_bytes()), Some(2));
    assert_eq!(clone.rows().last().map(|row| row.entry_bytes()), Some(9));
}

#[test]
fn clones_may_be_used_by_several_threads() {
    let mut rows = Rows::<Member>::with_room(0, 0);
    for n in 0..50_u8 {
        rows.insert(n + 1, &[n; 140]);
    }
    std::thread::scope(|scope| {
        for n in 0..4_u8 {
            let mut mine = rows.clone();
            scope.spawn(move || {
                for round in 0..200 {
                    let copy = mine.clone();
                    mine.insert(60 + n, &[round; 150]);
                    let slot = mine.row(usize::from(round % 50)).expect("taken").slot();
                    mine.remove(slot);
                    assert_eq!(copy.rows().map(|row| row.key().len()).min(), Some(140));
                    mine = copy;
                }
            });
        }
    });
    assert!(!rows.is_shared());
    rows.check_invariants();
}
