//! Values as numbers.

use crate::context::Context;
use crate::engine::notify::class;
use crate::error::{CommandError, CommandResult};
use crate::text::long_double::LongDouble;
use crate::text::number;
use larder_collections::hash::ToText;
use larder_collections::key_table::ValueRef;
use larder_collections::value::Value;
use larder_resp::Args;

const VALUE_NOT_INTEGER: CommandError = CommandError::Fixed("ERR hash value is not an integer");
const VALUE_NOT_FLOAT: CommandError = CommandError::Fixed("ERR hash value is not a float");
const AMOUNT_NOT_FINITE: CommandError = CommandError::Fixed("ERR value is NaN or Infinity");

pub(super) fn hincrby(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let amount = number::integer(&args[3])?;
    let (sum, was_volatile) = change(context, args, "hincrby", |old| {
        let old = match old {
            Some(text) => number::parse_i64(text).ok_or(VALUE_NOT_INTEGER)?,
            None => 0,
        };
        old.checked_add(amount).ok_or(CommandError::OVERFLOW)
    })?;
    if was_volatile {
        // Whether there was a number to add to depended on the time.
        sum.with_text(|text| log_value(context, args, text));
    }
    context.reply.int(sum);
    Ok(())
}

pub(super) fn hincrbyfloat(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let amount = LongDouble::parse(&args[3]).ok_or(CommandError::NOT_FLOAT)?;
    if matches!(amount, LongDouble::Infinite(_)) {
        return Err(AMOUNT_NOT_FINITE);
    }
    let (text, _) = change(context, args, "hincrbyfloat", |old| {
        let old = match old {
            Some(text) => LongDouble::parse(text).ok_or(VALUE_NOT_FLOAT)?,
            None => LongDouble::ZERO,
        };
        old.add(&amount).map(|sum| sum.to_string()).ok_or(CommandError::NAN_OR_INFINITY)
    })?;
    // The digits of a sum may differ from one machine to another.
    log_value(context, args, text.as_bytes());
    context.reply.bulk(text.as_bytes());
    Ok(())
}

/// Notes the value that a field has now, and when it expires.
fn log_value(context: &mut Context<'_>, args: Args<'_>, value: &[u8]) {
    if !context.logs() {
        return;
    }
    let (key, name, due_ms) = (context.key(args.at(1)), args.at(2), context.due_ms());
    match context.peek(&key, |entry| entry.and_then(|entry| field_expiry(&entry.value(), name, due_ms))) {
        Some(at) => {
            let at = itoa::Buffer::new().format(at).to_owned();
            let words: [&[u8]; 8] =
                [b"HSETEX", key.bytes, b"PXAT", at.as_bytes(), b"FIELDS", b"1", name, value];
            context.propagate_instead(&words);
        }
        None => context.propagate_instead(&[b"HSET", key.bytes, name, value]),
    }
}

fn field_expiry(value: &ValueRef<'_, Value>, name: &[u8], due_ms: u64) -> Option<u64> {
    let ValueRef::Out(value) = value else { return None };
    let Value::Hash(hash) = &**value else { return None };
    hash.peek(name, due_ms)?.expire_at_ms()
}

/// Sets a field to what `compute` makes of its value; the expiry stays. Tells beside the new value whether any field had an expiry. An error
/// leaves everything as it is.
fn change<V: ToText>(
    context: &mut Context<'_>,
    args: Args<'_>,
    event: &str,
    compute: impl Fn(Option<&[u8]>) -> Result<V, CommandError>,
) -> Result<(V, bool), CommandError> {
    let (key, limits, due_ms) = (context.key(args.at(1)), context.hash_limits(), context.due_ms());
    let result = context.with_hash_or_new(&key, super::set::room(args.from(2)), |hash, _| {
        let was_volatile = hash.expiring() > 0;
        Ok((hash.change(args.at(2), limits, due_ms, &compute)?, was_volatile))
    })?;
    context.modified(&key);
    context.notify(class::HASH, event, &key);
    Ok(result)
}
