//! Expiry: the earliest one of each segment, and the sweep that removes what is due.
//!
//! A minimum per segment and not a timing wheel or an index of keys by time: those cost 8 bytes per key and more, this
//! 8 bytes per slot of the directory, 0.3 per key. A minimum is lowered by writes and otherwise left alone, so after a
//! delete or PERSIST it is too early; the sweep then looks at the segment once for nothing and makes it exact.

use super::parts::Expiry;
use super::{EXPIRY_MS_MAX, KeyHash, KeyTable};
use larder_packed::segment::{IntoRaw, OwnedValue, Records, long_key_heap_bytes};

/// No expiry.
pub(super) const NEVER: u64 = u64::MAX;

impl<V: IntoRaw + Clone, H: KeyHash> KeyTable<V, H> {
    /// Number of keys with an expiry.
    pub fn expires_len(&self) -> usize {
        self.expiry.as_ref().map_or(0, |expiry| expiry.len)
    }

    /// The sum of the expiries in ms.
    pub fn expires_sum_ms(&self) -> u128 {
        self.expiry.as_ref().map_or(0, |expiry| expiry.sum_ms)
    }

    /// A time before which no key expires; None when no key does. May be too early, until a sweep has passed.
    #[inline]
    pub fn next_expiry_ms(&self) -> Option<u64> {
        let expiry = self.expiry.as_ref()?;
        (expiry.len > 0).then_some(expiry.soonest_ms)
    }

    /// Removes up to `max` keys that are due at `now_ms` and hands each to `each`, out of the table already. Returns their
    /// number: less than `max` means that none is left. Goes on where the last call stopped.
    pub fn take_expired(
        &mut self,
        now_ms: u64,
        max: usize,
        mut each: impl FnMut(&[u8], OwnedValue<V>),
    ) -> usize {
        let now_ms = now_ms.min(EXPIRY_MS_MAX);
        let (mut taken, mut wrapped) = (0, false);
        let Some(mut position) = self.expiry.as_ref().map(|expiry| expiry.sweep_at) else { return 0 };
        let start = u64::from(position);
        while taken < max && self.next_expiry_ms().is_some_and(|soonest| soonest <= now_ms) {
            match self.next_due(position, now_ms) {
                Some(due) if !wrapped || u64::from(due) < start => {
                    position = due;
                    taken += self.expire_segment(position, now_ms, max - taken, &mut each);
                }
                None if !wrapped && start > 0 => (position, wrapped) = (0, true),
                _ => {
                    self.refresh_soonest();
                    break;
                }
            }
        }
        if let Some(expiry) = &mut self.expiry {
            expiry.sweep_at = position;
        }
        taken
    }

    /// Takes a change of one key's expiry into account.
    #[inline]
    pub(super) fn note_expiry(&mut self, position: u32, before: Option<u64>, after: Option<u64>) {
        if before.is_none() && after.is_none() {
            return;
        }
        self.note_change(position, before, after);
    }

    /// The upper half of what was the segment of `middle` is one now; `doubled` says that the directory has grown.
    pub(super) fn split_minima(&mut self, middle: u32, doubled: bool) {
        let Some(expiry) = &mut self.expiry else { return };
        if doubled {
            expiry.minima = expiry.minima.iter().flat_map(|&ms| [ms, NEVER]).collect();
        }
        let right = self.directory.slot(middle);
        let left = self.directory.run(right - 1).start;
        if expiry.minima[left] != NEVER {
            for slot in [left, right] {
                expiry.minima[slot] = earliest(self.directory.segment(slot));
            }
        }
    }

    /// The segment of a slot and its buddy are about to be merged.
    pub(super) fn merge_minima(&mut self, slot: usize) {
        let Some(expiry) = &mut self.expiry else { return };
        let Some((buddy, _)) = self.directory.buddy(slot) else { return };
        let own = self.directory.run(slot).start;
        let ms = expiry.minima[own].min(expiry.minima[buddy]);
        expiry.minima[own.max(buddy)] = NEVER;
        expiry.minima[own.min(buddy)] = ms;
    }

    /// The directory has been halved.
    pub(super) fn halve_minima(&mut self) {
        if let Some(expiry) = &mut self.expiry {
            expiry.minima = expiry.minima.iter().copied().step_by(2).collect();
        }
    }

    /// All segments have gone.
    pub(super) fn close_minima(&mut self) {
        self.expiry = None;
    }

    /// Panics unless K2 and K3 hold for the expiries.
    pub(super) fn check_expiry(&self) {
        let records = || self.directory.iter().flat_map(|(_, segment)| segment.records());
        let len = records().filter(|(_, record)| record.expire_at_ms().is_some()).count();
        assert_eq!(self.expires_len(), len, "K2");
        let sum_ms: u128 = records().filter_map(|(_, record)| record.expire_at_ms()).map(u128::from).sum();
        assert_eq!(self.expires_sum_ms(), sum_ms, "K2");
        let Some(expiry) = &self.expiry else { return };
        assert_eq!(expiry.minima.len(), self.directory.slots(), "K3");
        for (slot, segment) in self.directory.iter() {
            assert!(expiry.minima[slot] <= earliest(segment), "K3: slot {slot}");
            let rest = self.directory.run(slot).skip(1);
            assert!(rest.into_iter().all(|slot| expiry.minima[slot] == NEVER), "K3: the run of slot {slot}");
        }
        assert!(expiry.minima.iter().all(|&ms| ms >= expiry.soonest_ms), "K3");
    }

    fn note_change(&mut self, position: u32, before: Option<u64>, after: Option<u64>) {
        let slots = self.directory.slots();
        let expiry = self.expiry.get_or_insert_with(|| {
            Box::new(Expiry { minima: vec![NEVER; slots], soonest_ms: NEVER, len: 0, sum_ms: 0, sweep_at: 0 })
        });
        expiry.len = expiry.len + usize::from(after.is_some()) - usize::from(before.is_some());
        let stored = |ms: Option<u64>| ms.map(|ms| ms.min(EXPIRY_MS_MAX));
        expiry.sum_ms += u128::from(stored(after).unwrap_or(0));
        expiry.sum_ms -= u128::from(stored(before).unwrap_or(0));
        if let Some(ms) = stored(after) {
            let run = self.directory.run(self.directory.slot(position));
            expiry.minima[run.start] = expiry.minima[run.start].min(ms);
            expiry.soonest_ms = expiry.soonest_ms.min(ms);
        }
    }

    /// The first position, from a position on, of a segment that may have a due key.
    fn next_due(&self, from: u32, now_ms: u64) -> Option<u32> {
        let expiry = self.expiry.as_ref()?;
        let first = self.directory.run(self.directory.slot(from)).start;
        let slot = first + expiry.minima[first..].iter().position(|&ms| ms <= now_ms)?;
        Some(self.directory.positions(slot).start as u32)
    }

    /// Removes up to `max` due keys of one segment.
    fn expire_segment(
        &mut self,
        position: u32,
        now_ms: u64,
        max: usize,
        each: &mut impl FnMut(&[u8], OwnedValue<V>),
    ) -> usize {
        let slot = self.directory.slot(position);
        self.preserve_due(slot, now_ms);
        let due: Vec<usize> = due_slots(self.directory.segment(slot), now_ms).take(max).collect();
        let mut key = Vec::new();
        // From the last one on: removals do not renumber the slots before, and move least.
        for &index in due.iter().rev() {
            key.clear();
            let value = self.remove_at(slot, index, &mut key);
            each(&key, value);
        }
        let earliest = earliest(self.directory.segment(slot));
        if let Some(expiry) = &mut self.expiry {
            expiry.minima[slot] = earliest;
        }
        if !due.is_empty() {
            self.settle(position);
        }
        due.len()
    }

    /// Puts the due keys of a segment aside if a snapshot is taken.
    fn preserve_due(&mut self, slot: usize, now_ms: u64) {
        if self.capture.is_none() {
            return;
        }
        let records = self.directory.segment(slot);
        let keys: Vec<Box<[u8]>> = due_slots(records, now_ms)
            .filter_map(|index| records.record(index))
            .map(|record| record.key().into())
            .collect();
        keys.iter().for_each(|key| self.preserve(H::hash(key), key));
    }

    fn remove_at(&mut self, slot: usize, index: usize, key: &mut Vec<u8>) -> OwnedValue<V> {
        let (removed, expire_at_ms) = self.directory.update(slot, |records| {
            let record = records.record_mut(index).expect("the slot was found due");
            key.extend_from_slice(record.record().key());
            let expire_at_ms = record.record().expire_at_ms();
            (record.remove(), expire_at_ms)
        });
        self.directory.count_bytes(-(long_key_heap_bytes(key) as isize));
        self.len -= 1;
        if let Some(expiry) = &mut self.expiry {
            expiry.len -= 1;
            expiry.sum_ms -= u128::from(expire_at_ms.unwrap_or(0));
        }
        removed.value
    }

    fn refresh_soonest(&mut self) {
        if let Some(expiry) = &mut self.expiry {
            expiry.soonest_ms = expiry.minima.iter().copied().min().unwrap_or(NEVER);
        }
    }
}

fn due_slots<V: IntoRaw>(records: &Records<V>, now_ms: u64) -> impl Iterator<Item = usize> {
    let due = move |ms: Option<u64>| ms.is_some_and(|ms| ms <= now_ms);
    records.records().filter(move |(_, record)| due(record.expire_at_ms())).map(|(index, _)| index)
}

pub(super) fn earliest<V: IntoRaw>(records: &Records<V>) -> u64 {
    records.records().filter_map(|(_, record)| record.expire_at_ms()).min().unwrap_or(NEVER)
}
