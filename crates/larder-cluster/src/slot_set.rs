//! Sets of slots: a bitmap of 2048 bytes, as packets have it, and nothing for a set that is empty.

use std::fmt::{self, Write};

/// Number of hash slots.
pub const SLOTS: u16 = 16_384;
/// Length of a bitmap in packets, in bytes.
pub const BITMAP_BYTES: usize = SLOTS as usize / 8;

const WORDS: usize = SLOTS as usize / 64;

/// A set of slots. 2 KiB, or 16 bytes while it is empty.
///
/// Slot n is bit n % 8 of byte n / 8 of the bitmap in packets, which makes it bit n % 64 of a little-endian word.
#[derive(Clone, Default)]
pub struct SlotSet {
    words: Option<Box<[u64; WORDS]>>,
    len: u16,
}

impl SlotSet {
    /// No slot.
    pub fn new() -> Self {
        Self::default()
    }

    /// The set that a bitmap of a packet is.
    pub fn from_bitmap(bitmap: &[u8; BITMAP_BYTES]) -> Self {
        let mut words = Box::new([0; WORDS]);
        let mut len = 0;
        for (word, bytes) in words.iter_mut().zip(bitmap.chunks_exact(8)) {
            *word = u64::from_le_bytes(bytes.try_into().expect("there are eight"));
            len += word.count_ones() as u16;
        }
        SlotSet { words: (len > 0).then_some(words), len }
    }

    /// The bitmap for a packet.
    pub fn write_bitmap(&self, out: &mut Vec<u8>) {
        match &self.words {
            Some(words) => words.iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes())),
            None => out.resize(out.len() + BITMAP_BYTES, 0),
        }
    }

    /// Whether this is the set that a bitmap is.
    pub fn equals_bitmap(&self, bitmap: &[u8; BITMAP_BYTES]) -> bool {
        let mut bytes = bitmap.chunks_exact(8);
        match &self.words {
            Some(words) => words.iter().zip(bytes).all(|(word, bytes)| word.to_le_bytes() == bytes),
            None => bytes.all(|bytes| bytes == [0; 8]),
        }
    }

    /// Number of slots. O(1).
    pub fn len(&self) -> u16 {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether a slot is in it. Slots beyond the last are in none.
    pub fn contains(&self, slot: u16) -> bool {
        self.words
            .as_ref()
            .and_then(|words| words.get(usize::from(slot) / 64))
            .is_some_and(|word| word >> (slot % 64) & 1 == 1)
    }

    /// Adds a slot; whether it was not there.
    pub fn insert(&mut self, slot: u16) -> bool {
        assert!(slot < SLOTS);
        let words = self.words.get_or_insert_with(|| Box::new([0; WORDS]));
        let word = &mut words[usize::from(slot) / 64];
        let added = *word >> (slot % 64) & 1 == 0;
        *word |= 1 << (slot % 64);
        self.len += u16::from(added);
        added
    }

    /// Takes a slot out; whether it was there.
    pub fn remove(&mut self, slot: u16) -> bool {
        if !self.contains(slot) {
            return false;
        }
        if let Some(words) = &mut self.words {
            words[usize::from(slot) / 64] &= !(1 << (slot % 64));
        }
        self.len -= 1;
        if self.len == 0 {
            self.words = None;
        }
        true
    }

    /// The slots, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u16> + '_ {
        let words = self.words.iter().flat_map(|words| words.iter().enumerate());
        words.flat_map(|(at, &word)| Bits(word).map(move |bit| at as u16 * 64 + bit))
    }

    /// Adds all slots of another set; whether none of them was there.
    pub fn insert_all(&mut self, other: &SlotSet) -> bool {
        let Some(others) = &other.words else { return true };
        let words = self.words.get_or_insert_with(|| Box::new([0; WORDS]));
        let before = self.len;
        self.len = 0;
        for (word, other) in words.iter_mut().zip(others.iter()) {
            *word |= other;
            self.len += word.count_ones() as u16;
        }
        self.len == before + other.len
    }

    /// The slots as ranges of which both ends are in it, ascending. O(ranges), and O(words).
    pub fn ranges(&self) -> Vec<(u16, u16)> {
        let mut ranges = Vec::new();
        let mut from = 0;
        while let Some(start) = self.next(from, true) {
            let end = self.next(start, false).unwrap_or(SLOTS);
            ranges.push((start, end - 1));
            from = end;
        }
        ranges
    }

    /// The first slot from one on that is in the set, or is not.
    fn next(&self, from: u16, is_in: bool) -> Option<u16> {
        let words = self.words.as_ref()?;
        let mut at = usize::from(from) / 64;
        let mut mask = u64::MAX << (from % 64);
        while let Some(&word) = words.get(at) {
            let found = if is_in { word } else { !word } & mask;
            if found != 0 {
                return Some(at as u16 * 64 + found.trailing_zeros() as u16);
            }
            (at, mask) = (at + 1, u64::MAX);
        }
        None
    }

    /// Appends the ranges as CLUSTER NODES shows them: ` 0-5 7`, each after a blank.
    pub fn write_ranges(&self, out: &mut String) {
        for (start, end) in self.ranges() {
            let written = if start == end { write!(out, " {start}") } else { write!(out, " {start}-{end}") };
            written.expect("a string takes all");
        }
    }
}

impl PartialEq for SlotSet {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.words == other.words
    }
}

impl Eq for SlotSet {}

impl FromIterator<u16> for SlotSet {
    fn from_iter<I: IntoIterator<Item = u16>>(slots: I) -> Self {
        let mut set = SlotSet::new();
        for slot in slots {
            set.insert(slot);
        }
        set
    }
}

impl fmt::Debug for SlotSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.write_ranges(&mut text);
        write!(f, "[{}]", text.trim_start())
    }
}

/// The bits of a word that are set, ascending.
struct Bits(u64);

impl Iterator for Bits {
    type Item = u16;

    fn next(&mut self) -> Option<u16> {
        let bit = (self.0 != 0).then(|| self.0.trailing_zeros() as u16)?;
        self.0 &= self.0 - 1;
        Some(bit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn sets_are_those_of_the_model() {
        for seed in larder_testkit::seeds(20, 2000) {
            let mut rng = fastrand::Rng::with_seed(seed);
            let (mut set, mut model) = (SlotSet::new(), BTreeSet::new());
            for _ in 0..400 {
                let slot = if rng.bool() { rng.u16(..70) } else { rng.u16(..SLOTS) };
                if rng.u8(..3) > 0 {
                    assert_eq!(set.insert(slot), model.insert(slot));
                } else {
                    assert_eq!(set.remove(slot), model.remove(&slot));
                }
                assert_eq!(set.contains(slot), model.contains(&slot));
            }
            assert!(set.iter().eq(model.iter().copied()) && usize::from(set.len()) == model.len());
            let mut bitmap = Vec::new();
            set.write_bitmap(&mut bitmap);
            let bitmap: &[u8; BITMAP_BYTES] = bitmap.as_slice().try_into().expect("it has its size");
            assert!(set.equals_bitmap(bitmap) && SlotSet::from_bitmap(bitmap) == set);
            let mut twice = set.clone();
            assert!(set.is_empty() || !twice.insert_all(&set));
            assert!(twice == set && twice.insert_all(&SlotSet::new()));
            let of_ranges = set.ranges().into_iter().flat_map(|(start, end)| start..=end);
            assert!(of_ranges.eq(model.iter().copied()));
            model.iter().for_each(|&slot| assert!(set.remove(slot)));
            assert_eq!(set, SlotSet::new());
        }
    }

    #[test]
    fn all_slots_and_none() {
        let all: SlotSet = (0..SLOTS).collect();
        assert_eq!((all.len(), format!("{all:?}")), (SLOTS, "[0-16383]".to_owned()));
        assert!(!all.contains(SLOTS) && !SlotSet::new().contains(0));
        assert!(SlotSet::new().equals_bitmap(&[0; BITMAP_BYTES]) && !all.equals_bitmap(&[0; BITMAP_BYTES]));
    }
}
