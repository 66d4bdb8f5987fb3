//! Commands that replace whole strings.

use super::options::{Allowed, Condition, ExpiryUnit, Options, expire_at};
use crate::context::{Context, bytes_as_elements};
use crate::engine::notify::class;
use crate::error::{CommandError, CommandResult};
use crate::keyspace::key::Key;
use crate::keyspace::kind::string_bytes;
use crate::text::number;
use larder_collections::key_table::ExpireChange;
use larder_packed::bytes::SharedBytes;
use larder_resp::Args;
use std::iter;

/// Sets a string to an argument and tells everybody. A very long one is copied while no shard is held, so nothing may have been changed
/// before.
fn store_apart(
    context: &mut Context<'_>,
    key: &Key<'_>,
    args: Args<'_>,
    at: usize,
    expire: ExpireChange,
) -> CommandResult {
    let work = bytes_as_elements(args[at].len());
    if !context.makes_apart(work) {
        store(context, key, &args[at], expire);
        return Ok(());
    }
    let copy = context.make_of(args, work, iter::empty(), move |args| SharedBytes::new(&args[at]))?;
    prepare_to_keep(context, key, expire);
    context.put_shared(key, copy, expire);
    tell(context, key, expire);
    Ok(())
}

/// Sets a string and tells everybody.
fn store(context: &mut Context<'_>, key: &Key<'_>, value: &[u8], expire: ExpireChange) {
    prepare_to_keep(context, key, expire);
    context.put_string(key, value, expire);
    tell(context, key, expire);
}

/// The deadline of a key whose time is over is not kept: looking the key up deletes it.
fn prepare_to_keep(context: &mut Context<'_>, key: &Key<'_>, expire: ExpireChange) {
    if expire == ExpireChange::Keep {
        context.peek_exists(key);
    }
}

/// Tells everybody that a string was set.
fn tell(context: &mut Context<'_>, key: &Key<'_>, expire: ExpireChange) {
    context.modified(key);
    context.notify(class::STRING, "set", key);
    if matches!(expire, ExpireChange::At(_)) {
        context.notify(class::GENERIC, "expire", key);
    }
}

pub(super) fn set(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let key = context.key(args.at(1));
    if args.len() == 3 {
        store_apart(context, &key, args, 2, ExpireChange::Clear)?;
        context.reply.ok();
        return Ok(());
    }
    let allowed = Allowed { condition: true, if_equal: true, get: true, keep: true, ..Allowed::default() };
    let options = Options::parse(args.from(3), allowed)?;
    let expire = options.expiry.change(context)?;
    set_with(context, &key, args, &options, expire)
}

/// Sets a key to the second argument, under conditions.
fn set_with(
    context: &mut Context<'_>,
    key: &Key<'_>,
    args: Args<'_>,
    options: &Options<'_>,
    expire: ExpireChange,
) -> CommandResult {
    if options.get {
        context.reply_before_change(key)?;
    }
    if !holds(context, key, options.condition)? {
        if !options.get {
            context.reply.null();
        }
        return Ok(());
    }
    match expire {
        ExpireChange::At(at) if context.is_past(at as i64) => context.expire_at_once(key),
        _ => {
            store_apart(context, key, args, 2, expire)?;
            log_expiring(context, key, &args[2], expire);
        }
    }
    if !options.get {
        context.reply.ok();
    }
    Ok(())
}

/// Notes a string that was set to expire with the time at which it does.
fn log_expiring(context: &mut Context<'_>, key: &Key<'_>, value: &[u8], expire: ExpireChange) {
    if let ExpireChange::At(at) = expire
        && context.logs()
    {
        context.propagate_instead(&[
            b"SET",
            key.bytes,
            value,
            b"PXAT",
            itoa::Buffer::new().format(at).as_bytes(),
        ]);
    }
}

fn holds(context: &mut Context<'_>, key: &Key<'_>, condition: Condition<'_>) -> CommandResult<bool> {
    match condition {
        Condition::Always => Ok(true),
        Condition::IfAbsent => Ok(!context.exists_to_write(key)),
        Condition::IfPresent => Ok(context.exists_to_write(key)),
        Condition::IfEqual(want) => equals(context, key, want),
    }
}

fn equals(context: &mut Context<'_>, key: &Key<'_>, want: &[u8]) -> CommandResult<bool> {
    context.look_up(key, |entry| match entry {
        None => Ok(false),
        Some(entry) => Ok(string_bytes(&entry.value())? == want),
    })
}

pub(super) fn setnx(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let key = context.key(args.at(1));
    let absent = !context.exists_to_write(&key);
    if absent {
        store_apart(context, &key, args, 2, ExpireChange::Clear)?;
    }
    context.reply.int(i64::from(absent));
    Ok(())
}

pub(super) fn setex(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    set_for(context, args, ExpiryUnit { seconds: true, absolute: false })
}

pub(super) fn psetex(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    set_for(context, args, ExpiryUnit { seconds: false, absolute: false })
}

fn set_for(context: &mut Context<'_>, args: Args<'_>, unit: ExpiryUnit) -> CommandResult {
    let at = expire_at(context, unit, &args[2])?;
    let key = context.key(args.at(1));
    store_apart(context, &key, args, 3, ExpireChange::At(at))?;
    log_expiring(context, &key, &args[3], ExpireChange::At(at));
    context.reply.ok();
    Ok(())
}

pub(super) fn getset(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let key = context.key(args.at(1));
    context.reply_before_change(&key)?;
    store_apart(context, &key, args, 2, ExpireChange::Clear)
}

pub(super) fn mset(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    pairs(args.from(1), context)?;
    set_all(context, args.from(1), ExpireChange::Clear);
    context.reply.ok();
    Ok(())
}

pub(super) fn msetnx(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    pairs(args.from(1), context)?;
    let free = !any_exists(context, args.from(1));
    if free {
        set_all(context, args.from(1), ExpireChange::Clear);
    }
    context.reply.int(i64::from(free));
    Ok(())
}

pub(super) fn msetex(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let count = number::parse_i64(&args[1]).filter(|count| (1..=i64::from(i32::MAX)).contains(count));
    let count = count.ok_or(CommandError::Fixed("ERR invalid numkeys value or out of range"))? as usize;
    let end = count.checked_mul(2).map(|n| n + 2).filter(|&end| end <= args.len());
    let end = end.ok_or(CommandError::SYNTAX)?;
    let allowed = Allowed { condition: true, keep: true, ..Allowed::default() };
    let options = Options::parse(args.from(end), allowed)?;
    let expire = options.expiry.change(context)?;
    let pairs: larder_resp::OwnedArgs = args.from(2).iter().take(2 * count).collect();
    let pairs = pairs.as_args();
    let hold = match options.condition {
        Condition::IfAbsent => !any_exists(context, pairs),
        Condition::IfPresent => all_exist(context, pairs),
        _ => true,
    };
    if hold {
        set_all(context, pairs, expire);
    }
    context.reply.int(i64::from(hold));
    Ok(())
}

fn pairs(args: Args<'_>, context: &Context<'_>) -> CommandResult {
    if args.len().is_multiple_of(2) { Ok(()) } else { Err(CommandError::arity(&context.command_name())) }
}

fn set_all(context: &mut Context<'_>, pairs: Args<'_>, expire: ExpireChange) {
    context.each_key(pairs, 2, |context, key, at| {
        store(context, key, &pairs[at + 1], expire);
        log_expiring(context, key, &pairs[at + 1], expire);
    });
}

fn any_exists(context: &mut Context<'_>, pairs: Args<'_>) -> bool {
    !context.all_keys(pairs, 2, |context, key, _| !context.exists_to_write(key))
}

fn all_exist(context: &mut Context<'_>, pairs: Args<'_>) -> bool {
    context.all_keys(pairs, 2, |context, key, _| context.exists_to_write(key))
}

pub(super) fn delifeq(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let key = context.key(args.at(1));
    let equal = equals(context, &key, &args[2])?;
    if equal {
        context.delete(&key);
    }
    context.reply.int(i64::from(equal));
    Ok(())
}
