//! Commands that treat strings as numbers.

use crate::context::{Context, inline};
use crate::engine::notify::class;
use crate::error::{CommandError, CommandResult};
use crate::keyspace::key::Key;
use crate::keyspace::kind::string_bytes;
use crate::text::long_double::LongDouble;
use crate::text::number;
use larder_collections::key_table::ExpireChange;
use larder_resp::Args;

pub(super) fn incr(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    add(context, args, 1)
}

pub(super) fn decr(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    add(context, args, -1)
}

pub(super) fn incrby(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    add(context, args, number::integer(&args[2])?)
}

pub(super) fn decrby(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let amount = number::integer(&args[2])?;
    let amount = amount.checked_neg().ok_or(CommandError::Fixed("ERR decrement would overflow"))?;
    add(context, args, amount)
}

fn add(context: &mut Context<'_>, args: Args<'_>, amount: i64) -> CommandResult {
    let key = context.key(args.at(1));
    let new = match context.add_in_place(&key, amount) {
        Some(new) => new,
        None => add_and_put(context, &key, amount)?,
    };
    note(context, &key, "incrby");
    context.reply.int(new);
    Ok(())
}

/// The same for any value, or none.
#[inline(never)]
fn add_and_put(context: &mut Context<'_>, key: &Key<'_>, amount: i64) -> CommandResult<i64> {
    let old = context.peek(key, |entry| match entry {
        None => Ok(0),
        Some(entry) => number::integer(string_bytes(&entry.value())?),
    });
    let sum = old.and_then(|old| old.checked_add(amount).ok_or(CommandError::OVERFLOW));
    // What is not changed is marked as used all the same.
    let new = sum.inspect_err(|_| _ = context.exists(key))?;
    context.put_string(key, itoa::Buffer::new().format(new).as_bytes(), ExpireChange::Keep);
    Ok(new)
}

/// There is a new number.
fn note(context: &mut Context<'_>, key: &Key<'_>, event: &str) {
    context.modified(key);
    context.notify(class::STRING, event, key);
}

pub(super) fn incrbyfloat(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let key = context.key(args.at(1));
    let sum = context.peek(&key, |entry| {
        let old = match entry {
            None => LongDouble::ZERO,
            Some(entry) => LongDouble::parse(string_bytes(&entry.value())?).ok_or(CommandError::NOT_FLOAT)?,
        };
        let amount = LongDouble::parse(&args[2]).ok_or(CommandError::NOT_FLOAT)?;
        old.add(&amount).ok_or(CommandError::NAN_OR_INFINITY)
    });
    let new = sum.inspect_err(|_| _ = context.exists(&key))?;
    let text = new.to_string();
    context.put_string_as(&key, text.as_bytes(), inline::FLOAT, ExpireChange::Keep);
    note(context, &key, "incrbyfloat");
    context.propagate_instead(&[b"SET", key.bytes, text.as_bytes(), b"KEEPTTL"]);
    context.reply.bulk(text.as_bytes());
    Ok(())
}
