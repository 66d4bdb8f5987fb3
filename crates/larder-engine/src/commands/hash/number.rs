//! Values as numbers.

use crate::commands::string::long_double::LongDouble;
use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::notify::class;
use crate::number;
use larder_collections::hash::{FieldExpiry, Hash};
use larder_collections::key_table::ValueRef;
use larder_collections::value::Value;
use larder_resp::Args;

const VALUE_NOT_INTEGER: CommandError = CommandError::Fixed("ERR hash value is not an integer");
const VALUE_NOT_FLOAT: CommandError = CommandError::Fixed("ERR hash value is not a float");
const AMOUNT_NOT_FINITE: CommandError = CommandError::Fixed("ERR value is NaN or Infinity");

pub(super) fn hincrby(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let amount = number::integer(&args[3])?;
    let now = context.now_ms();
    let sum = change(context, args, "hincrby", |hash| {
        let old = match hash.get(args.at(2), now) {
            Some(text) => number::parse_i64(text).ok_or(VALUE_NOT_INTEGER)?,
            None => 0,
        };
        let sum = old.checked_add(amount).ok_or(CommandError::OVERFLOW)?;
        Ok((sum, itoa::Buffer::new().format(sum).to_owned()))
    })?;
    context.reply.int(sum);
    Ok(())
}

pub(super) fn hincrbyfloat(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let amount = LongDouble::parse(&args[3]).ok_or(CommandError::NOT_FLOAT)?;
    if amount == LongDouble::Infinite {
        return Err(AMOUNT_NOT_FINITE);
    }
    let now = context.now_ms();
    let text = change(context, args, "hincrbyfloat", |hash| {
        let old = match hash.get(args.at(2), now) {
            Some(text) => LongDouble::parse(text).ok_or(VALUE_NOT_FLOAT)?,
            None => LongDouble::ZERO,
        };
        let text = old.add(&amount).ok_or(CommandError::NAN_OR_INFINITY)?.to_string();
        Ok((text.clone(), text))
    })?;
    // Only INCRBY is sure to give the same digits everywhere. HSET would end the field's time to live.
    let set: [&[u8]; 7] = [b"HSETEX", args.at(1), b"KEEPTTL", b"FIELDS", b"1", args.at(2), text.as_bytes()];
    let key = context.key(args.at(1));
    if context.peek(&key, |entry| entry.is_some_and(|entry| has_field_expiry(&entry.value()))) {
        context.log_instead(&set);
    } else {
        context.log_instead(&[b"HSET", args.at(1), args.at(2), text.as_bytes()]);
    }
    context.reply.bulk(text.as_bytes());
    Ok(())
}

fn has_field_expiry(value: &ValueRef<'_, Value>) -> bool {
    matches!(value, ValueRef::Out(value) if matches!(&**value, Value::Hash(hash) if hash.expiring() > 0))
}

/// Sets a field to what `compute` makes of the hash; its expiry stays. An error leaves everything as it is.
fn change<R, T: AsRef<[u8]>>(
    context: &mut Context<'_>,
    args: Args<'_>,
    event: &str,
    compute: impl Fn(&Hash) -> CommandResult<(R, T)>,
) -> CommandResult<R> {
    let (key, limits, now) = (context.key(args.at(1)), context.hash_limits(), context.now_ms());
    let result = context.with_hash_or_new(&key, super::set::room(args.from(2)), |hash, _| {
        let (result, value) = compute(hash)?;
        hash.set(args.at(2), value.as_ref(), FieldExpiry::Keep, limits, now);
        Ok(result)
    })?;
    context.modified(&key);
    context.notify(class::HASH, event, &key);
    Ok(result)
}
