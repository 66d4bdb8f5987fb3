//! Counted segments against a vector of pairs, with clones that must not see each other's changes.

use super::{
    FIELD_INLINE_MAX, FieldValue, FieldValueNew, Layout, Member, Need, Rows, Slot, UNUSED_WALKS,
    VALUE_INLINE_MAX, layout, out,
};
use crate::dictionary::{Compressor, Dictionary};
use std::sync::Arc;

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
                unsafe { out::borrow_out(entry, at) }.identity()
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
    tools: Tools,
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
        match (self.rng.u32(..11), found.zip(known)) {
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
            (8.., Some((slot, _))) => {
                change_form(rows, slot, &mut self.rng, &mut self.tools);
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
            for (row, pair) in rows.rows().zip(model) {
                assert!(*row.peek_value() == pair.1 && row.value_len() == pair.1.len());
            }
            // Every other time there are no plain copies afterwards.
            assert!(model.len() % 2 == 0 || pairs(rows) == *model, "pairs differ");
        }
        check_counts(&self.all);
    }
}

#[test]
fn clones_are_as_independent_as_copies() {
    let seed = larder_testkit::seed(1);
    for round in 0..10 {
        let rng = fastrand::Rng::with_seed(seed + round);
        let (all, model) = (vec![Rows::with_room(0, 0)], vec![Vec::new()]);
        let mut driver = Driver { rng, tools: tools(), all, model };
        for step in 0..1_500 {
            driver.step();
            if step % 10 == 0 {
                driver.check();
            }
        }
        split_and_join(&driver);
        let Driver { tools, all, .. } = driver;
        drop(all);
        assert_eq!(Arc::strong_count(&tools.0), 1, "each string has given it up");
    }
}

/// A dictionary and its compressor.
type Tools = (Arc<Dictionary>, Compressor);

fn tools() -> Tools {
    let dictionary = Dictionary::of(b"what values have in common".repeat(20).into()).expect("it is one");
    let compressor = Compressor::new(&dictionary).expect("there is memory");
    (Arc::new(dictionary), compressor)
}

/// Gives a value that lies out of line its other form, or takes its plain copy away.
fn change_form(rows: &mut Rows<FieldValue>, slot: Slot, rng: &mut fastrand::Rng, tools: &mut Tools) {
    let row = rows.row(slot.index()).expect("it is there");
    let (Some(old), is_shared) = (row.out_value(), rows.is_shared()) else { return };
    let new = if old.is_cold() {
        old.thawed()
    } else {
        old.compressed(&tools.0, &mut tools.1, true).expect("it need not shrink")
    };
    assert_eq!((old.is_cold(), old.raw_bytes()), (!new.is_cold(), new.raw_bytes()));
    match rng.u32(..4) {
        0 => rows.clear_value(slot),
        // Another string of the same bytes is another string.
        1 => assert!(rows.change_value(slot, &new, new.clone()).is_none()),
        _ => {
            let bytes = (old.heap_bytes(), new.heap_bytes());
            let before = rows.heap_bytes();
            let changed = rows.change_value(slot, &old, new);
            assert_eq!(changed, (!is_shared).then_some(bytes));
            if !is_shared {
                assert_eq!(rows.heap_bytes(), before - bytes.0 + bytes.1);
            }
        }
    }
}

/// A segment with one value, which lies out of line, and the value.
fn one_long_value() -> (Rows<FieldValue>, Vec<u8>) {
    let text = b"what values have in common, ".repeat(20);
    let mut rows = Rows::with_room(0, 0);
    rows.insert(1, FieldValueNew { field: b"f", value: &text, expire_at_ms: None });
    (rows, text)
}

#[test]
fn values_that_nobody_uses_become_cold_and_back() {
    let (dictionary, mut compressor) = tools();
    let (mut rows, text) = one_long_value();
    let slot = rows.row(0).expect("it is there").slot();
    let walk = |rows: &Rows<FieldValue>| {
        rows.row(0).and_then(|row| row.walk_value(false)).expect("it lies out of line").need
    };
    let read = |rows: &Rows<FieldValue>| assert!(rows.row(0).expect("it is there").value() == text);
    for used_in in [Some(3), None] {
        for number in 1..UNUSED_WALKS {
            assert_eq!(walk(&rows), None);
            if used_in == Some(number) {
                read(&rows);
                break;
            }
        }
    }
    assert_eq!(walk(&rows), Some(Need::Compress));
    let old = rows.row(0).and_then(|row| row.out_value()).expect("it lies out of line");
    let cold = old.compressed(&dictionary, &mut compressor, false).expect("it shrinks");
    assert!(
        cold.heap_bytes() * 3 < old.heap_bytes()
            && old.compressed(&dictionary, &mut compressor, false).is_some()
    );
    assert!(rows.change_value(slot, &old, cold.clone()).is_some());
    drop(cold);
    // One read leaves a copy, which goes after a walk without another.
    assert_eq!(walk(&rows), None);
    read(&rows);
    assert_eq!((walk(&rows), walk(&rows)), (None, Some(Need::Clear)));
    rows.clear_value(slot);
    assert_eq!(walk(&rows), None);
    // One that is read between walks, and between the next ones, is wanted plain.
    read(&rows);
    assert_eq!(walk(&rows), None);
    read(&rows);
    assert_eq!(walk(&rows), Some(Need::Thaw));
    let old = rows.row(0).and_then(|row| row.out_value()).expect("it lies out of line");
    assert!(rows.change_value(slot, &old, old.thawed()).is_some());
    read(&rows);
    // What does not shrink is not tried again, unless it changes.
    let old = rows.row(0).and_then(|row| row.out_value()).expect("it lies out of line");
    old.set_stays();
    assert!((0..9).all(|_| walk(&rows).is_none()));
    rows.replace(slot, FieldValueNew { field: b"f", value: &text, expire_at_ms: None });
    assert!((0..5).any(|_| walk(&rows) == Some(Need::Compress)));
}

#[test]
fn threads_read_one_cold_value() {
    let (dictionary, mut compressor) = tools();
    let (mut rows, text) = one_long_value();
    for _ in 0..50 {
        let slot = rows.row(0).expect("it is there").slot();
        let old = rows.row(0).and_then(|row| row.out_value()).expect("it lies out of line");
        let new = old.thawed().compressed(&dictionary, &mut compressor, true).expect("it need not shrink");
        assert!(rows.change_value(slot, &old, new).is_some());
        drop(old);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let (mut mine, text) = (rows.clone(), &text);
                scope.spawn(move || {
                    for _ in 0..20 {
                        assert!(mine.row(0).expect("it is there").value() == *text);
                        let slot = mine.row(0).expect("it is there").slot();
                        mine.clear_value(slot);
                        mine.set_expiry(slot, Some(5));
                    }
                });
            }
        });
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
