//! Slots in arguments.

use super::error::CommandError;
use super::text::integer;
use crate::slot_set::{SLOTS, SlotSet};

/// One slot.
pub(super) fn slot(arg: &[u8]) -> Result<u16, CommandError> {
    let number = integer(arg).and_then(|number| u16::try_from(number).ok());
    number.filter(|&slot| slot < SLOTS).ok_or(CommandError::BadSlot)
}

/// The ranges of `ADDSLOTS 1 2`, or with pairs those of `ADDSLOTSRANGE 1 2`.
pub(super) fn ranges(args: &[&[u8]], are_pairs: bool) -> Result<Vec<(u16, u16)>, CommandError> {
    if !are_pairs {
        return args.iter().map(|arg| slot(arg).map(|slot| (slot, slot))).collect();
    }
    let mut ranges = Vec::with_capacity(args.len() / 2);
    for pair in args.chunks_exact(2) {
        let (start, end) = (slot(pair[0])?, slot(pair[1])?);
        if start > end {
            return Err(CommandError::StartAfterEnd(start, end));
        }
        ranges.push((start, end));
    }
    Ok(ranges)
}

/// The slots of ranges, each of which must pass a test.
pub(super) fn set_of(
    ranges: &[(u16, u16)],
    test: impl Fn(u16) -> Result<(), CommandError>,
) -> Result<SlotSet, CommandError> {
    let mut slots = SlotSet::new();
    for slot in ranges.iter().flat_map(|&(start, end)| start..=end) {
        test(slot)?;
        if !slots.insert(slot) {
            return Err(CommandError::SlotTwice(slot));
        }
    }
    Ok(slots)
}
