//! The lag of a group, the entries that it has not read: exact where that can be known from a few ids and
//! counts, else unknown.

use super::{Group, Stream, StreamId};

impl Stream {
    /// Entries that a group has not read yet; None when nobody can tell. O(1).
    pub fn lag(&self, group: &Group) -> Option<i64> {
        let added = self.entries_added();
        if added == 0 {
            return Some(0);
        }
        let deleted = self.max_deleted_id();
        let is_exact = self.is_empty() || deleted == StreamId::ZERO || group.last_id > deleted;
        let read = match group.entries_read {
            Some(read) if is_exact => Some(read),
            _ => self.entries_up_to(group.last_id),
        };
        read.map(|read| added.wrapping_sub(read) as i64)
    }

    /// What a group has read once it has read the entry `id`, which comes next after `last` and what it had read `before`. O(1).
    pub fn entries_read(&self, before: Option<u64>, last: StreamId, id: StreamId) -> Option<u64> {
        match before {
            Some(read) if last >= self.first_id() && !self.has_holes_from(last) => {
                Some(read.saturating_add(1))
            }
            _ if self.entries_added() > 0 => self.entries_up_to(id),
            before => before,
        }
    }

    /// How many entries were added up to this one, if that can be told. O(1).
    pub fn entries_up_to(&self, id: StreamId) -> Option<u64> {
        let (added, first, deleted) = (self.entries_added(), self.first_id(), self.max_deleted_id());
        if added == 0 {
            return Some(0);
        }
        if self.is_empty() && id <= self.last_id() {
            return Some(added);
        }
        // What came before an entry that is gone cannot be counted.
        if id != StreamId::ZERO && id < deleted {
            return None;
        }
        if id >= self.last_id() {
            return (id == self.last_id()).then_some(added);
        }
        let before_first = added.saturating_sub(self.len());
        if deleted == StreamId::ZERO || deleted < first {
            if id < first {
                return Some(before_first);
            }
            if id == first {
                return Some(before_first + 1);
            }
        }
        None
    }

    /// Whether an entry may have been deleted from `start` on.
    fn has_holes_from(&self, start: StreamId) -> bool {
        let deleted = self.max_deleted_id();
        !self.is_empty() && deleted != StreamId::ZERO && deleted >= self.first_id() && start <= deleted
    }
}
