//! Setting and removing fields.

use crate::context::Context;
use crate::engine::notify::class;
use crate::error::{CommandError, CommandResult};
use crate::keyspace::deadlines::NOTHING_IS_DUE;
use larder_collections::hash::{FieldExpiry, Hash, HashEncoding};
use larder_resp::Args;

pub(super) fn hset(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let added = set_all(context, args)?;
    context.reply.count(added);
    Ok(())
}

pub(super) fn hmset(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    set_all(context, args)?;
    context.reply.ok();
    Ok(())
}

fn set_all(context: &mut Context<'_>, args: Args<'_>) -> CommandResult<usize> {
    let pairs = args.from(2);
    if !pairs.len().is_multiple_of(2) {
        return Err(CommandError::arity(&context.command_name()));
    }
    let (key, limits, due_ms) =
        (context.key(args.at(1)), context.hash_limits(), due_ms_of_overwritten(context));
    let set = move |hash: &mut Hash, args: Args<'_>| {
        let (pairs, mut added) = (args.from(2), 0);
        if pairs.len() > 2 && hash.is_empty() && hash.encoding() == HashEncoding::Listpack {
            let fields = (0..pairs.len()).step_by(2).map(|at| (pairs.at(at), pairs.at(at + 1)));
            if let Some(shaped) = Hash::of_shape(fields, limits) {
                *hash = shaped;
                return pairs.len() / 2;
            }
        }
        for at in (0..pairs.len()).step_by(2) {
            let is_new = hash.set(pairs.at(at), pairs.at(at + 1), FieldExpiry::Clear, limits, due_ms);
            added += usize::from(is_new);
        }
        added
    };
    let added = if context.makes_apart(pairs.len() as u64 / 2) {
        let new = |args: Args<'_>| {
            let (fields, bytes) = room(args.from(2));
            Hash::with_room(fields, bytes)
        };
        context.change_or_create_by_args(&key, args, new, set)?
    } else {
        context.with_hash_or_new(&key, room(pairs), |hash, _| Ok(set(hash, args)))?
    };
    context.modified_by(&key, pairs.len() / 2);
    context.notify(class::HASH, "hset", &key);
    Ok(added)
}

/// Fields and bytes of pairs.
pub(super) fn room(pairs: Args<'_>) -> (usize, usize) {
    (pairs.len() / 2, pairs.size_bytes())
}

pub(super) fn hsetnx(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let (key, limits, due_ms) = (context.key(args.at(1)), context.hash_limits(), context.due_ms());
    let (added, was_volatile) = context.with_hash_or_new(&key, room(args.from(2)), |hash, _| {
        let was_volatile = hash.expiring() > 0;
        Ok((hash.set_new(args.at(2), args.at(3), limits, due_ms), was_volatile))
    })?;
    if added && was_volatile {
        // That the field was not there may have depended on the time.
        context.propagate_instead(&[b"HSET", key.bytes, args.at(2), args.at(3)]);
    }
    if added {
        context.modified(&key);
        context.notify(class::HASH, "hset", &key);
    }
    context.reply.int(i64::from(added));
    Ok(())
}

pub(super) fn hdel(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let (key, due_ms) = (context.key(args.at(1)), context.due_ms());
    let keeps_overdue = context.keeps_all();
    let remove = move |hash: &mut Hash, args: Args<'_>| {
        let may_go = |hash: &Hash, name: &[u8]| !keeps_overdue || hash.peek(name, due_ms).is_some();
        args.from(2).iter().filter(|name| may_go(hash, name) && hash.remove(name, due_ms)).count()
    };
    let removed = if context.makes_apart(args.len() as u64) {
        context.change_by_args(&key, args, remove)?
    } else {
        context.with_hash(&key, |hash, _| Ok(remove(hash, args)))?
    };
    let removed = removed.unwrap_or(0);
    if removed > 0 {
        context.modified_by(&key, removed);
        context.notify(class::HASH, "hdel", &key);
        context.notify_emptied(&key);
    }
    context.reply.count(removed);
    Ok(())
}

/// Up to when the fields that are overwritten are overdue, and so count as new: in Valkey, those whose time is this very
/// millisecond are, which no other command takes for over.
pub(super) fn due_ms_of_overwritten(context: &Context<'_>) -> u64 {
    match context.due_ms() {
        NOTHING_IS_DUE => NOTHING_IS_DUE,
        due_ms => due_ms + 1,
    }
}
