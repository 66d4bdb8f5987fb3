//! The list commands.

mod access;
mod blocking;
mod ends;
mod handlers;

pub(crate) use blocking::{timeout_ms, wait_or};
pub(crate) use ends::PopMany;
pub(crate) use handlers::HANDLERS;

use crate::error::{CommandError, CommandResult};
use crate::text::word::is_word;
use larder_packed::block::End;

/// `LEFT` or `RIGHT`.
fn parse_end(arg: &[u8]) -> CommandResult<End> {
    if is_word(arg, "left") {
        Ok(End::Front)
    } else if is_word(arg, "right") {
        Ok(End::Back)
    } else {
        Err(CommandError::SYNTAX)
    }
}

/// The element at `index`, which counts from the end when negative, as a position; `None` outside `len` elements.
fn position(index: i64, len: u64) -> Option<u64> {
    let position = if index < 0 { len.checked_add_signed(index)? } else { index as u64 };
    (position < len).then_some(position)
}

/// The elements from `start` to `end` inclusive, as first position and number, within `len` elements.
pub(crate) fn range(start: i64, end: i64, len: u64) -> (u64, u64) {
    let from = if start < 0 { len.saturating_add_signed(start) } else { start as u64 };
    let to =
        if end < 0 { len.checked_add_signed(end) } else { Some((end as u64).min(len.saturating_sub(1))) };
    match to {
        Some(to) if from <= to && from < len => (from, to - from + 1),
        _ => (0, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_clamped() {
        let cases = [
            ((0, -1), (0, 5)),
            ((1, 3), (1, 3)),
            ((-2, -1), (3, 2)),
            ((-100, 100), (0, 5)),
            ((3, 1), (0, 0)),
            ((5, 9), (0, 0)),
            ((0, -6), (0, 0)),
            ((i64::MIN, i64::MAX), (0, 5)),
        ];
        for ((start, end), want) in cases {
            assert_eq!(range(start, end, 5), want, "{start} {end}");
        }
        assert_eq!(range(0, -1, 0), (0, 0));
        assert_eq!(
            [position(-1, 5), position(4, 5), position(5, 5), position(-6, 5)],
            [Some(4), Some(4), None, None]
        );
    }
}
