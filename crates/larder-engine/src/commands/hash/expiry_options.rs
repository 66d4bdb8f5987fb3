//! What the commands on expiries of fields have in common: `FIELDS numfields field ...` and the options before it.

use crate::commands::is_word;
use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::number;
use larder_resp::Args;

const FIELDS_MISMATCH: CommandError =
    CommandError::Fixed("ERR numfields should be greater than 0 and match the provided number of fields");

/// The fields after `FIELDS numfields`, which are all arguments from there on: `per_field` for each. `at` is where the
/// word stands.
pub(super) fn fields(args: Args<'_>, at: usize, per_field: usize) -> CommandResult<Args<'_>> {
    if !args.get(at).is_some_and(|word| is_word(word, "fields")) {
        return Err(FIELDS_MISMATCH);
    }
    let count = number::integer(args.get(at + 1).ok_or(FIELDS_MISMATCH)?)?;
    let fields = args.from(at + 2);
    let matches = usize::try_from(count).ok().and_then(|count| count.checked_mul(per_field));
    if count <= 0 || matches != Some(fields.len()) {
        return Err(FIELDS_MISMATCH);
    }
    Ok(fields)
}

/// Where the word `FIELDS` stands, from `at` on.
pub(super) fn fields_at(args: Args<'_>, at: usize) -> CommandResult<usize> {
    (at..args.len()).find(|&at| is_word(args.at(at), "fields")).ok_or(FIELDS_MISMATCH)
}

/// What an option of HGETEX or HSETEX says of the expiry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expiry {
    Unsaid,
    Keep,
    Persist,
    At(u64),
}

/// Takes an option that gives a time; the time is relative to now for EX and PX.
pub(super) fn time(context: &Context<'_>, word: &[u8], value: Option<&[u8]>) -> CommandResult<Option<u64>> {
    let units = [("ex", 1000, false), ("px", 1, false), ("exat", 1000, true), ("pxat", 1, true)];
    let Some(&(_, unit_ms, absolute)) = units.iter().find(|(name, ..)| is_word(word, name)) else {
        return Ok(None);
    };
    let amount = number::integer(value.ok_or(CommandError::SYNTAX)?)?;
    if amount <= 0 {
        return Err(CommandError::invalid_expire(&context.command_name()));
    }
    unix_time(context, amount, unit_ms, absolute).map(Some)
}

/// A Unix time in milliseconds from an amount of units that is not negative and must fit.
pub(super) fn unix_time(
    context: &Context<'_>,
    amount: i64,
    unit_ms: i64,
    absolute: bool,
) -> CommandResult<u64> {
    let base = if absolute { 0 } else { context.now_ms() as i64 };
    let at = amount.checked_mul(unit_ms).and_then(|ms| ms.checked_add(base)).filter(|&at| at >= 0);
    at.map(|at| at as u64).ok_or_else(|| CommandError::invalid_expire(&context.command_name()))
}
