//! Keys whose small values are used often: these stay outside their records, where a change costs less.
//!
//! A change of an embedded value that changes its length moves the records after it; and a list, a sorted set or a set of
//! integers is rebuilt for each use: 100 to 200 ns more than outside. So a value that is used a second time within some
//! dozens of such uses in the table is moved out, and its key is noted here. It moves back when another key takes its place,
//! or when [`KeyTable::cool`] finds that it has not changed since the call before.
//!
//! 776 bytes a table, from the first such use until nothing is out. Everything here is a hint: a key that is gone, or whose
//! value has grown, is skipped.

use super::hash::{KeyHash, Place, position};
use super::hot_set::HotSet;
use super::{IntoRaw, KeyTable, NewValue};

impl<V: IntoRaw + Clone, H: KeyHash> KeyTable<V, H> {
    /// Notes that an embedded value was rebuilt to be read: it moves out if that happens often.
    pub fn note_rebuilt(&mut self, hash: u64, key: &[u8]) {
        if !self.is_getting_hot(hash) {
            return;
        }
        let Some(found) = self.find_mut(hash, key) else { return };
        let index = found.index();
        if let Some(value) = found.embedded() {
            self.write_record(hash, index, NewValue::Out(value));
            self.note_hot(hash);
        }
    }

    /// Whether an embedded value that was used should move out.
    pub(super) fn is_getting_hot(&mut self, hash: u64) -> bool {
        self.hot.get_or_insert_with(|| Box::new(HotSet::new())).note(hash)
    }

    /// Notes that the value of a key has moved out.
    pub(super) fn note_hot(&mut self, hash: u64) {
        let hot = self.hot.get_or_insert_with(|| Box::new(HotSet::new()));
        if let Some(old) = hot.add(hash) {
            self.settle_hashed(old);
        }
    }

    /// Whether a value stays outside for now, as it changes often.
    #[inline]
    pub(super) fn stays_out(&mut self, hash: u64) -> bool {
        self.hot.as_mut().is_some_and(|hot| hot.touch(hash))
    }

    /// Moves values back that have not changed since the last call. To be called about once a second. O(1).
    pub fn cool(&mut self) {
        let Some(mut hot) = self.hot.take() else { return };
        if hot.take_unused(|key| self.settle_hashed(key)) {
            self.hot = Some(hot);
        }
    }

    /// Gives the value of the key with this hash its smallest form.
    fn settle_hashed(&mut self, hash: u64) {
        let place = Place::of(hash);
        let Some(records) = self.directory.get_mut(position(hash)) else { return };
        if let Some(found) = records.find_mut_by(place.tag, |key| H::hash(key) == hash) {
            let index = found.index();
            self.settle_at(hash, index);
        }
    }
}
