//! BITCOUNT and BITPOS: looking at a range of bits.

use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::text::number;
use crate::text::word::is_word;
use larder_packed::bits;
use larder_resp::Args;
use std::ops::Range;

/// Bits are counted so much faster than bytes are copied.
const PACE: usize = 4;

/// A range as the arguments give it.
struct Given {
    start: i64,
    end: Option<i64>,
    unit: Unit,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Byte,
    Bit,
}

impl Given {
    const ALL: Given = Given { start: 0, end: None, unit: Unit::Byte };

    /// Parses `[start [end [BYTE | BIT]]]`.
    fn parse(args: Args<'_>) -> CommandResult<Given> {
        let mut given = Given::ALL;
        if args.is_empty() {
            return Ok(given);
        }
        if args.len() > 3 {
            return Err(CommandError::SYNTAX);
        }
        given.start = number::integer(&args[0])?;
        given.unit = Unit::parse(args.get(2))?;
        given.end = args.get(1).map(number::integer).transpose()?;
        Ok(given)
    }

    /// Whether both ends count from the end, in the wrong order.
    fn is_backward(&self) -> bool {
        self.start < 0 && self.end.is_some_and(|end| end < 0 && self.start > end)
    }

    /// The bits of a string of this length; empty when there are none.
    fn bits(&self, len_bytes: usize) -> Range<u64> {
        let unit_bits = if self.unit == Unit::Bit { 1 } else { 8 };
        let total = (len_bytes * 8 / unit_bits) as i64;
        let from_start = |at: i64| if at < 0 { (total + at).max(0) } else { at };
        let start = from_start(self.start);
        let end = self.end.map_or(total - 1, |end| from_start(end).min(total - 1));
        if start > end {
            return 0..0;
        }
        start as u64 * unit_bits as u64..(end as u64 + 1) * unit_bits as u64
    }
}

impl Unit {
    fn parse(arg: Option<&[u8]>) -> CommandResult<Unit> {
        match arg {
            None => Ok(Unit::Byte),
            Some(word) if is_word(word, "byte") => Ok(Unit::Byte),
            Some(word) if is_word(word, "bit") => Ok(Unit::Bit),
            Some(_) => Err(CommandError::SYNTAX),
        }
    }
}

pub(super) fn bitcount(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let key = context.key(args.at(1));
    let given = Given::parse(args.from(2))?;
    context.read_long_string(
        &key,
        |bytes| bytes.len() / PACE,
        |bytes, reply| {
            let count = match bytes {
                Some(bytes) if !given.is_backward() => bits::count_ones_in(bytes, given.bits(bytes.len())),
                _ => 0,
            };
            reply.int(count as i64);
            Ok(())
        },
    )
}

pub(super) fn bitpos(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let on = match number::integer(&args[2])? {
        0 => false,
        1 => true,
        _ => return Err(CommandError::Fixed("ERR The bit argument must be 1 or 0.")),
    };
    let key = context.key(args.at(1));
    let given = Given::parse(args.from(3))?;
    context.read_long_string(
        &key,
        |bytes| bytes.len() / PACE,
        |bytes, reply| {
            let position = match bytes {
                None if on => -1,
                None => 0,
                Some(bytes) => find(bytes, on, &given),
            };
            reply.int(position);
            Ok(())
        },
    )
}

/// The first bit of this value, or -1. A string goes on in zeros when the range has no end.
fn find(bytes: &[u8], on: bool, given: &Given) -> i64 {
    let range = given.bits(bytes.len());
    match bits::find_bit(bytes, range.clone(), on) {
        Some(at) => at as i64,
        None if !on && given.end.is_none() && !range.is_empty() => range.end as i64,
        None => -1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_as_in_redis() {
        let bits = |start, end, unit| Given { start, end, unit }.bits(3);
        assert_eq!(bits(0, None, Unit::Byte), 0..24);
        assert_eq!(bits(-2, Some(-1), Unit::Byte), 8..24);
        assert_eq!(bits(5, Some(30), Unit::Bit), 5..24);
        assert_eq!(bits(-100, Some(-24), Unit::Bit), 0..1);
        assert_eq!(bits(3, None, Unit::Byte), 0..0);
        assert_eq!(bits(i64::MIN, Some(i64::MAX), Unit::Bit), 0..24);
        assert_eq!(Given::ALL.bits(0), 0..0);
    }
}
