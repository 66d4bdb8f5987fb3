//! A set of slots of one segment, in two words. It can hold the slots below [`SlotSet::END`]: all of them,
//! unless the segment overflows.

/// Some of the first [`SlotSet::END`] slots of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotSet(u128);

impl SlotSet {
    /// Slots from this one on cannot be in a set.
    pub const END: usize = 128;

    /// Adds a slot, which is below [`END`](Self::END).
    #[inline]
    pub fn add(&mut self, index: usize) {
        debug_assert!(index < SlotSet::END, "slot {index}");
        self.0 |= 1 << (index % SlotSet::END);
    }

    /// Whether a slot, any, is in the set.
    #[inline]
    pub fn contains(self, index: usize) -> bool {
        index < SlotSet::END && self.0 >> index & 1 != 0
    }

    /// Whether two sets have a slot in common.
    #[inline]
    pub fn meets(self, other: SlotSet) -> bool {
        self.0 & other.0 != 0
    }

    /// Number of slots in the set.
    #[inline]
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether no slot is.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The slots in ascending order.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = usize> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let index = (left != 0).then(|| left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some(index)
        })
    }
}

impl FromIterator<usize> for SlotSet {
    fn from_iter<I: IntoIterator<Item = usize>>(slots: I) -> Self {
        let mut set = SlotSet::default();
        slots.into_iter().for_each(|index| set.add(index));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::SlotSet;

    #[test]
    fn a_set_holds_what_was_added() {
        let slots = [0, 1, 63, 64, 100, 127];
        let set: SlotSet = slots.into_iter().collect();
        assert!(set.iter().eq(slots) && set.len() == slots.len() && !set.is_empty());
        assert!((0..300).all(|index| set.contains(index) == slots.contains(&index)));
        assert!(set.meets([5, 64].into_iter().collect()) && !set.meets([5, 65].into_iter().collect()));
        assert!(SlotSet::default().is_empty() && SlotSet::default().iter().next().is_none());
    }
}
