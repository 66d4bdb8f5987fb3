//! Adding, removing, moving and finding members.

use super::write_members;
use crate::context::{Context, lookups_as_elements};
use crate::engine::notify::class;
use crate::error::{CommandError, CommandResult};
use crate::keyspace::key::Key;
use crate::keyspace::kind::Kind;
use larder_collections::set::Set;
use larder_resp::Args;

pub(super) fn sadd(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let key = context.key(args.at(1));
    let limits = context.worker.thresholds.set_limits();
    let add = move |set: &mut Set, args: Args<'_>| {
        let members = args.from(2);
        set.expect_members(&members[0], members.len() as u64, &limits);
        members.iter().filter(|member| set.insert(member, &limits)).count()
    };
    let added = if context.makes_apart(args.len() as u64) {
        context.change_or_create_by_args(&key, args, |_| Set::default(), add)?
    } else {
        context.with_value_or_new(&key, |set: &mut Set, _| Ok(add(set, args)))?
    };
    if added > 0 {
        context.modified_by(&key, added);
        context.notify(class::SET, "sadd", &key);
    }
    context.reply.count(added);
    Ok(())
}

pub(super) fn srem(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let key = context.key(args.at(1));
    let remove =
        |set: &mut Set, args: Args<'_>| args.from(2).iter().filter(|member| set.remove(member)).count();
    let removed = context.change_by_args(&key, args, remove)?;
    let removed = removed.unwrap_or(0);
    if removed > 0 {
        context.modified_by(&key, removed);
        context.notify(class::SET, "srem", &key);
        context.notify_emptied(&key);
    }
    context.reply.count(removed);
    Ok(())
}

pub(super) fn smove(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let (source, target, member) = (context.key(args.at(1)), context.key(args.at(2)), args.at(3));
    let [is_there, _] = [&source, &target].map(|key| context.exists(key));
    let moved = is_there && try_move(context, &source, &target, member)?;
    context.reply.int(i64::from(moved));
    Ok(())
}

/// Moves a member; true if the source has it.
fn try_move(
    context: &mut Context<'_>,
    source: &Key<'_>,
    target: &Key<'_>,
    member: &[u8],
) -> CommandResult<bool> {
    for key in [source, target] {
        if context.peek_kind(key).is_some_and(|kind| kind != Kind::Set) {
            return Err(CommandError::WRONG_TYPE);
        }
    }
    if source.bytes == target.bytes {
        let found = context.with_value(source, |set: &mut Set, _| Ok(set.contains(member)))?;
        return Ok(found == Some(true));
    }
    let removed = context.with_value(source, |set: &mut Set, _| Ok(set.remove(member)))?;
    if removed != Some(true) {
        return Ok(false);
    }
    context.modified(source);
    context.notify(class::SET, "srem", source);
    context.notify_emptied(source);
    let limits = context.worker.thresholds.set_limits();
    let added = context.with_value_or_new(target, |set: &mut Set, _| {
        set.expect_members(member, 1, &limits);
        Ok(set.insert(member, &limits))
    })?;
    if added {
        context.modified(target);
        context.notify(class::SET, "sadd", target);
    }
    Ok(true)
}

pub(super) fn scard(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let key = context.key(args.at(1));
    context.read_value(&key, |set: Option<&Set>, reply| {
        reply.int(set.map_or(0, |set| set.len() as i64));
        Ok(())
    })
}

pub(super) fn sismember(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let key = context.key(args.at(1));
    context.read_value(&key, |set: Option<&Set>, reply| {
        reply.int(i64::from(set.is_some_and(|set| set.contains(&args[2]))));
        Ok(())
    })
}

pub(super) fn smismember(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let key = context.key(args.at(1));
    let members = args.from(2);
    let cost = |set: &Set| lookups_as_elements(members.len() as u64, set.cold_segments());
    context.read_long(&key, cost, |set: Option<&Set>, reply| {
        reply.array(members.len());
        for member in members.iter() {
            reply.int(i64::from(set.is_some_and(|set| set.contains(member))));
        }
        Ok(())
    })
}

pub(super) fn smembers(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let key = context.key(args.at(1));
    context.read_long(&key, Set::len, |set, reply| {
        match set {
            Some(set) => write_members(reply, set),
            None => reply.set(0),
        }
        Ok(())
    })
}
