//! A segment against its safe twin, a vector of byte strings; and its bytes.

use super::super::{Segment, SlotSet};
use super::{ENTRY_BYTES_MAX, Page, Slot, footprint_of};

/// What a segment is, said plainly: slots of tagged byte strings.
#[derive(Default)]
struct Twin {
    slots: Vec<Option<(u8, Vec<u8>)>>,
}

impl Twin {
    fn insert(&mut self, tag: u8, entry: &[u8]) -> usize {
        let index = self.slots.iter().rposition(Option::is_none).unwrap_or(self.slots.len());
        if index == self.slots.len() {
            self.slots.push(None);
        }
        self.slots[index] = Some((tag, entry.to_vec()));
        index
    }

    /// With `has_holes` the slots of those that stay keep their numbers.
    fn swap_remove(&mut self, index: usize, has_holes: bool) {
        let len = |slot: &Option<(u8, Vec<u8>)>| slot.as_ref().map(|slot| slot.1.len());
        let wanted = len(&self.slots[index]);
        let is_plain = wanted.is_some_and(|len| (1..255).contains(&len));
        let from =
            if is_plain { (self.slots.len().div_ceil(16).max(2) - 2) * 16 } else { self.slots.len() - 1 };
        match (from..self.slots.len()).rev().find(|&late| len(&self.slots[late]) == wanted) {
            Some(late) => {
                self.slots.swap(index, late);
                if has_holes { self.remove(late) } else { self.remove_slot(late) }
            }
            None => self.remove(index),
        }
    }

    fn remove(&mut self, index: usize) {
        self.slots[index] = None;
        while let Some(None) = self.slots.last() {
            self.slots.pop();
        }
    }

    fn remove_slot(&mut self, index: usize) {
        self.slots.remove(index);
        while let Some(None) = self.slots.last() {
            self.slots.pop();
        }
    }

    fn any_live(&self, rng: &mut fastrand::Rng) -> Option<usize> {
        let live: Vec<usize> = (0..self.slots.len()).filter(|&i| self.slots[i].is_some()).collect();
        rng.choice(live)
    }

    fn assert_same(&self, segment: &Segment) {
        segment.check_invariants();
        assert_eq!(segment.slots(), self.slots.len());
        let live: Vec<(usize, u8, &[u8])> = self
            .slots
            .iter()
            .enumerate()
            .filter_map(|(i, slot)| slot.as_ref().map(|(tag, entry)| (i, *tag, &entry[..])))
            .collect();
        assert_eq!(segment.live(), live.len());
        let seen: Vec<(usize, u8, &[u8])> =
            segment.entries().map(|(slot, entry)| (slot.index(), segment.tag(slot.index()), entry)).collect();
        assert!(seen == live, "entries differ");
        for (index, tag, entry) in live {
            let slot = segment.slot(index).expect("a live slot");
            assert_eq!(segment.entry(slot), entry);
            let found = segment.find(tag, |e| e == entry).expect("the entry is there");
            assert_eq!(segment.entry(found), entry);
        }
    }
}

fn random_entry(rng: &mut fastrand::Rng, longest: usize) -> Vec<u8> {
    let len = match rng.u32(..10) {
        0 => rng.usize(250..260).min(longest),
        1 => longest,
        2..5 => 20.min(longest),
        _ => rng.usize(..=longest.min(60)),
    };
    (0..len).map(|_| rng.u8(..)).collect()
}

fn compare(seed: u64, steps: usize, count_max: usize, longest: usize) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let (mut twin, mut segment) = (Twin::default(), Segment::with_room(0, 0));
    for step in 0..steps {
        let entry = random_entry(&mut rng, longest);
        match (rng.u32(..10), twin.any_live(&mut rng)) {
            (0..5, _) if twin.slots.len() < count_max => {
                let tag = rng.u8(1..4);
                let slot = segment.insert(tag, entry.len());
                segment.entry_mut(slot).copy_from_slice(&entry);
                assert_eq!(slot.index(), twin.insert(tag, &entry), "SEED={seed} step {step}");
            }
            (0..7, Some(index)) => {
                let slot = segment.resize_entry(segment.slot(index).expect("live"), entry.len());
                segment.entry_mut(slot).copy_from_slice(&entry);
                twin.slots[index].as_mut().expect("live").1 = entry;
            }
            (_, Some(index)) => {
                let slot = segment.slot(index).expect("live");
                if rng.bool() {
                    segment.close(slot);
                    twin.remove(index);
                } else {
                    let has_holes = segment.has_holes();
                    segment.swap_remove(slot);
                    twin.swap_remove(index, has_holes);
                }
            }
            _ => {}
        }
        if rng.u32(..8) == 0 {
            segment.shrink();
        }
        if step % 7 == 0 {
            twin.assert_same(&segment);
        }
    }
    twin.assert_same(&segment);
    split_and_join(&segment, &mut rng);
    without_some(&segment, &twin, &mut rng);
}

fn without_some(segment: &Segment, twin: &Twin, rng: &mut fastrand::Rng) {
    for part in [0, 2, 5, 10] {
        let live = segment.entries().map(|(slot, _)| slot.index()).filter(|&index| index < SlotSet::END);
        let gone: SlotSet = live.filter(|_| rng.u32(..10) < part).collect();
        let mut rest = Twin::default();
        let stays = twin.slots.iter().enumerate().filter(|(index, _)| !gone.contains(*index));
        rest.slots.extend(stays.filter_map(|(_, slot)| slot.clone()).map(Some));
        rest.assert_same(&segment.without(gone));
    }
}

fn split_and_join(segment: &Segment, rng: &mut fastrand::Rng) {
    let sides: Vec<bool> = (0..segment.slots()).map(|_| rng.bool()).collect();
    let (left, right) = segment.split(|slot, _| sides[slot.index()]);
    let pick = |side: bool| {
        let mut twin = Twin::default();
        for (slot, entry) in segment.entries().filter(|(slot, _)| sides[slot.index()] == side) {
            twin.insert(segment.tag(slot.index()), entry);
        }
        twin
    };
    let (mut all, right_twin) = (pick(false), pick(true));
    all.assert_same(&left);
    right_twin.assert_same(&right);
    all.slots.extend(right_twin.slots);
    all.assert_same(&Segment::join(&left, &right));
}

#[test]
fn a_segment_is_its_twin() {
    let seed = larder_testkit::seed(1);
    for round in 0..30 {
        compare(seed + round, 300, 20 + 10 * round as usize, 70);
        compare(seed + round, 200, 40, 300);
    }
}

#[test]
fn a_segment_beyond_64_kilobytes_is_its_twin() {
    compare(5, 600, 3_000, ENTRY_BYTES_MAX);
    let mut segment = Segment::with_room(0, 0);
    let mut twin = Twin::default();
    for n in 0..3_000_u32 {
        let slot = segment.insert(9, 40);
        segment.entry_mut(slot).fill(n as u8);
        segment.entry_mut(slot)[..4].copy_from_slice(&n.to_le_bytes());
        twin.insert(9, segment.entry(slot));
    }
    for index in (0..3_000).step_by(3) {
        let slot = segment.slot(index).expect("live");
        segment.close(slot);
        twin.remove(index);
    }
    segment.check_invariants();
    let seen: Vec<&[u8]> = segment.entries().map(|(_, entry)| entry).collect();
    let live: Vec<&[u8]> = twin.slots.iter().flatten().map(|(_, entry)| &entry[..]).collect();
    assert!(seen == live);
    for n in [1, 2, 1_000, 2_999_u32] {
        let found = segment.find(9, |entry| entry[..4] == n.to_le_bytes());
        assert_eq!(found.map(Slot::index), (n % 3 != 0).then_some(n as usize));
    }
}

#[test]
fn golden_bytes() {
    let mut segment = Segment::with_room(3, 20);
    for (tag, entry) in [(0x11, &b"first"[..]), (0x22, b"2nd"), (0x33, b"the third")] {
        let slot = segment.insert(tag, entry.len());
        segment.entry_mut(slot).copy_from_slice(entry);
    }
    let slot = segment.slot(1).expect("live");
    segment.close(slot);
    let bytes = page_bytes(&segment);
    assert_eq!(bytes.len(), 76, "behind four bytes of references");
    let expected_front = [
        14, 0, 0, 0, // used
        80, 0, 0, 0, // capacity
        0x80, 3, 0, 0, // depth 0, holes, 3 slots
        0x11, 0, 0x33, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // tags
        5, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // lengths
        0, 0, // anchor
    ];
    assert_eq!(bytes[..46], expected_front);
    assert_eq!(&bytes[62..], b"the thirdfirst");
}

#[test]
fn golden_bytes_of_a_long_entry() {
    let mut segment = Segment::with_room(1, footprint_of(256));
    let slot = segment.insert(0x44, 256);
    segment.entry_mut(slot).fill(b'x');
    let bytes = page_bytes(&segment);
    assert_eq!((bytes[12], bytes[28]), (0x44, 255));
    assert_eq!(bytes[bytes.len() - 3..], [b'x', 0, 1]);
    assert_eq!(segment.used_bytes(), 258);
}

fn page_bytes(page: &Page) -> &[u8] {
    &page.0
}

#[test]
fn removing_slots_keeps_the_order() {
    let mut rng = fastrand::Rng::with_seed(7);
    for round in 0..60 {
        let (mut twin, mut segment) = (Twin::default(), Segment::with_room(0, 0));
        let longest = if round % 4 == 0 { ENTRY_BYTES_MAX } else { 300 };
        for _ in 0..rng.usize(1..70) {
            let entry = random_entry(&mut rng, longest);
            let slot = segment.insert(rng.u8(1..4), entry.len());
            segment.entry_mut(slot).copy_from_slice(&entry);
            twin.insert(segment.tag(slot.index()), &entry);
        }
        while let Some(index) = twin.any_live(&mut rng) {
            let slot = segment.slot(index).expect("live");
            segment.close_slot(slot);
            twin.remove_slot(index);
            twin.assert_same(&segment);
        }
    }
}
