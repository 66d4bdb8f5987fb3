//! Reading and printing ids.

use crate::error::{CommandError, CommandResult};
use crate::text::number::parse_i64;
use larder_collections::stream::StreamId;

const INVALID: CommandError =
    CommandError::Fixed("ERR Invalid stream ID specified as stream command argument");
/// Nobody writes longer ones.
const TEXT_LEN_MAX: usize = 127;

/// An id that leaves its second number to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Given {
    /// Both numbers are given.
    Whole(StreamId),
    /// `<ms>-*`
    Ms(u64),
}

/// An id; `seq` stands for the second number where only the first is given.
pub(crate) fn parse(arg: &[u8], seq: u64) -> CommandResult<StreamId> {
    match arg {
        b"-" => Ok(StreamId::ZERO),
        b"+" => Ok(StreamId::MAX),
        _ => parse_strict(arg, seq),
    }
}

/// An id that is not `-` or `+`.
pub(crate) fn parse_strict(arg: &[u8], seq: u64) -> CommandResult<StreamId> {
    match parse_given(arg, seq)? {
        Given::Whole(id) => Ok(id),
        Given::Ms(_) => Err(INVALID),
    }
}

/// An id for a new entry, other than `*`.
pub(crate) fn parse_given(arg: &[u8], seq: u64) -> CommandResult<Given> {
    if arg.len() > TEXT_LEN_MAX {
        return Err(INVALID);
    }
    // Strings of C end at a zero byte.
    let arg = arg.split(|&b| b == 0).next().unwrap_or(b"");
    let Some(dash) = memchr::memchr(b'-', arg) else {
        return Ok(Given::Whole(StreamId::new(number(arg)?, seq)));
    };
    let (ms, rest) = (number(&arg[..dash])?, &arg[dash + 1..]);
    if rest == b"*" {
        return Ok(Given::Ms(ms));
    }
    Ok(Given::Whole(StreamId::new(ms, number(rest)?)))
}

/// The start of a range: `(` before it leaves the id itself out.
pub(crate) fn parse_start(arg: &[u8]) -> CommandResult<StreamId> {
    let (id, open) = parse_end_of_range(arg, 0)?;
    let id = if open { id.next() } else { Some(id) };
    id.ok_or(CommandError::Fixed("ERR invalid start ID for the interval"))
}

/// The end of a range: `(` before it leaves the id itself out.
pub(crate) fn parse_end(arg: &[u8]) -> CommandResult<StreamId> {
    let (id, open) = parse_end_of_range(arg, u64::MAX)?;
    let id = if open { id.previous() } else { Some(id) };
    id.ok_or(CommandError::Fixed("ERR invalid end ID for the interval"))
}

fn parse_end_of_range(arg: &[u8], seq: u64) -> CommandResult<(StreamId, bool)> {
    match arg {
        [b'(', rest @ ..] if !rest.is_empty() => Ok((parse_strict(rest, seq)?, true)),
        _ => Ok((parse(arg, seq)?, false)),
    }
}

/// A number as C's `strtoull` reads it, which takes blanks, zeros and a sign before it.
fn number(text: &[u8]) -> CommandResult<u64> {
    if let Some(number) = parse_i64(text) {
        return u64::try_from(number).map_err(|_| INVALID);
    }
    let (negative, digits) = match text.trim_ascii_start() {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() {
        return Err(INVALID);
    }
    let value = digits.iter().try_fold(0_u64, |value, digit| {
        let digit = u64::from(digit.wrapping_sub(b'0'));
        if digit > 9 { None } else { value.checked_mul(10)?.checked_add(digit) }
    });
    let value = value.ok_or(INVALID)?;
    Ok(if negative { value.wrapping_neg() } else { value })
}

/// The text of an id.
pub(crate) struct IdText {
    bytes: [u8; 41],
    len: usize,
}

impl IdText {
    /// The text of an id.
    pub(crate) fn of(id: StreamId) -> IdText {
        let (mut ms, mut seq) = (itoa::Buffer::new(), itoa::Buffer::new());
        let (ms, seq) = (ms.format(id.ms).as_bytes(), seq.format(id.seq).as_bytes());
        let mut text = IdText { bytes: [b'-'; 41], len: ms.len() + 1 + seq.len() };
        text.bytes[..ms.len()].copy_from_slice(ms);
        text.bytes[ms.len() + 1..text.len].copy_from_slice(seq);
        text
    }

    /// The text.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_and_printed() {
        let id = |text: &str| parse(text.as_bytes(), 7).ok().map(|id| (id.ms, id.seq));
        assert_eq!(id("5"), Some((5, 7)));
        assert_eq!(id("5-18446744073709551615"), Some((5, u64::MAX)));
        assert_eq!([id("-"), id("+")], [Some((0, 0)), Some((u64::MAX, u64::MAX))]);
        assert_eq!(id("007-01"), Some((7, 1)));
        for bad in ["", "a", "5-", "-5", "5-x", "18446744073709551616", "5--1", "5-*", "5-1-1", " "] {
            assert_eq!(id(bad), None, "{bad}");
        }
        assert_eq!(parse_given(b"5-*", 0), Ok(Given::Ms(5)));
        assert_eq!(IdText::of(StreamId::MAX).as_bytes(), b"18446744073709551615-18446744073709551615");
        assert_eq!(parse_start(b"(5-18446744073709551615"), Ok(StreamId::new(6, 0)));
        assert!(parse_start(b"(18446744073709551615-18446744073709551615").is_err());
        assert!(parse_end(b"(0-0").is_err() && parse_end(b"(+").is_err());
    }
}
