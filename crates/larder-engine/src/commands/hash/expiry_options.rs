//! What the commands on expiries of fields have in common: `FIELDS numfields field ...` and the options before it.

use crate::commands::string::options::{Allowed, ExpiryUnit, Options};
use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::text::number;
use crate::text::word::is_word;
use larder_resp::Args;

const FIELDS_MISMATCH: CommandError =
    CommandError::Fixed("ERR numfields should be greater than 0 and match the provided number of fields");

/// The fields after `FIELDS numfields`, which are all arguments from there on: `per_field` for each. `at` is where the
/// word stands.
fn fields(args: Args<'_>, at: usize, per_field: usize) -> CommandResult<Args<'_>> {
    let count = number::integer(args.get(at + 1).ok_or(FIELDS_MISMATCH)?)?;
    let fields = args.from(at + 2);
    let matches = usize::try_from(count).ok().and_then(|count| count.checked_mul(per_field));
    if count <= 0 || matches != Some(fields.len()) {
        return Err(FIELDS_MISMATCH);
    }
    Ok(fields)
}

/// The fields of a command that takes nothing before the word, which is argument 2 then.
pub(super) fn only_fields(args: Args<'_>) -> CommandResult<Args<'_>> {
    if is_word(args.at(2), "fields") { fields(args, 2, 1) } else { Err(CommandError::SYNTAX) }
}

/// The same for commands that refuse a wrong number as they refuse a wrong word.
pub(super) fn only_fields_to_read(args: Args<'_>) -> CommandResult<Args<'_>> {
    only_fields(args).map_err(|error| if error == FIELDS_MISMATCH { CommandError::SYNTAX } else { error })
}

/// The arguments from `at` up to the word `FIELDS`, and the fields.
pub(super) fn options_and_fields(
    args: Args<'_>,
    at: usize,
    per_field: usize,
) -> CommandResult<(Args<'_>, CommandResult<Args<'_>>)> {
    let is_fields = |&at: &usize| is_word(args.at(at), "fields");
    // There must be a number after it.
    let fields_at = (at..args.len() - 1).find(is_fields).ok_or(FIELDS_MISMATCH)?;
    Ok((args.before(fields_at).from(at), fields(args, fields_at, per_field)))
}

/// Options and fields of HGETEX and HSETEX.
pub(super) fn set_options(
    args: Args<'_>,
    allowed: Allowed,
    per_field: usize,
) -> CommandResult<(Options<'_>, Args<'_>)> {
    let (options, fields) = options_and_fields(args, 2, per_field)?;
    Ok((Options::parse(options, allowed)?, fields?))
}

/// The Unix time in milliseconds that the time of an option means. It may be over, but not negative.
pub(super) fn option_time(context: &Context<'_>, unit: ExpiryUnit, amount: &[u8]) -> CommandResult<u64> {
    let unit_ms = if unit.seconds { 1000 } else { 1 };
    unix_time(context, number::integer(amount)?, unit_ms, unit.absolute)
}

/// A Unix time in milliseconds from an amount of units, which must fit and not be negative.
pub(super) fn unix_time(
    context: &Context<'_>,
    amount: i64,
    unit_ms: i64,
    absolute: bool,
) -> CommandResult<u64> {
    let base = if absolute { 0 } else { context.now_ms() as i64 };
    let amount = Some(amount).filter(|&amount| amount >= 0);
    let at = amount.and_then(|amount| amount.checked_mul(unit_ms)?.checked_add(base));
    at.map(|at| at as u64).ok_or_else(|| CommandError::invalid_expire(&context.command_name()))
}
