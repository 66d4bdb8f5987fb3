//! Intersection, union and difference of sets, replied, counted or stored.
//!
//! The commands work on clones, which cost nothing: what is stored may well be one of the sets that it is made from.

use super::write_members;
use crate::context::Context;
use crate::context::replies::write_element;
use crate::engine::notify::class;
use crate::error::{CommandError, CommandResult};
use crate::text::number;
use crate::text::word::is_word;
use larder_collections::set::{Element, Set, SetLimits};
use larder_collections::value::Value;
use larder_resp::{Args, Reply};
use std::ops::ControlFlow;

pub(super) fn sinter(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let sets = fetch_all(context, args.from(1))?;
    context.reads(common_work(&sets))?;
    reply_set(context, |write| {
        if let Some(sets) = all_present(&sets) {
            let _ = Set::for_each_common(&sets, |member| {
                write(member);
                ControlFlow::Continue(())
            });
        }
    });
    Ok(())
}

pub(super) fn sintercard(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let numkeys = number::integer(&args[1]).ok().and_then(|n| usize::try_from(n).ok()).filter(|&n| n > 0);
    let numkeys = numkeys.ok_or(CommandError::Fixed("ERR numkeys should be greater than 0"))?;
    if numkeys > args.len() - 2 {
        return Err(CommandError::Fixed("ERR Number of keys can't be greater than number of args"));
    }
    let limit = parse_limit(args.from(2 + numkeys))?;
    let keys: Vec<_> = args.from(2).iter().take(numkeys).collect();
    let sets = fetch(context, keys.into_iter())?;
    context.reads(common_work(&sets))?;
    let mut count: u64 = 0;
    if let Some(sets) = all_present(&sets) {
        let _ = Set::for_each_common(&sets, |_| {
            count += 1;
            if count == limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
    }
    context.reply.int(count as i64);
    Ok(())
}

/// The number after the last LIMIT; 0, which means none, without.
fn parse_limit(args: Args<'_>) -> CommandResult<u64> {
    let mut limit = 0;
    for at in (0..args.len()).step_by(2) {
        let value = args.get(at + 1).filter(|_| is_word(&args[at], "limit")).ok_or(CommandError::SYNTAX)?;
        limit = number::positive_or(value, CommandError::Fixed("ERR LIMIT can't be negative"))? as u64;
    }
    Ok(limit)
}

/// Sets of which the union is written without being made: to look a member up in each of three others takes as long as to put it into a set.
const LOOKED_UP_MAX: usize = 4;

pub(super) fn sunion(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let sets = fetch_all(context, args.from(1))?;
    context.reads(work(&sets))?;
    let present: Vec<&Set> = sets.iter().flatten().collect();
    if present.len() <= LOOKED_UP_MAX {
        reply_set(context, |write| Set::for_each_of_any(&present, write));
        return Ok(());
    }
    let union = Set::union(&present, &context.worker.thresholds.set_limits());
    write_members(&mut context.reply, &union);
    context.engine.background.discard(Value::Set(union), true);
    Ok(())
}

pub(super) fn sdiff(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let sets = fetch_all(context, args.from(1))?;
    context.reads(work(&sets))?;
    reply_set(context, |write| {
        if let Some((first, others)) = first_and_others(&sets) {
            Set::for_each_missing(first, &others, write);
        }
    });
    Ok(())
}

pub(super) fn sinterstore(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    store(context, args, common_work, |sets, limits| match all_present(sets) {
        Some(sets) => Set::intersection(&sets, limits),
        None => Set::new(),
    })
}

pub(super) fn sunionstore(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    store(context, args, work, |sets, limits| Set::union(&sets.iter().flatten().collect::<Vec<_>>(), limits))
}

pub(super) fn sdiffstore(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    store(context, args, work, |sets, limits| match first_and_others(sets) {
        Some((first, others)) => Set::difference(first, &others, limits),
        None => Set::new(),
    })
}

/// Puts what `make` makes of the sets, by going through as many members as `work` says, into the key of the first argument, and replies with
/// its size.
fn store(
    context: &mut Context<'_>,
    args: Args<'_>,
    work: impl FnOnce(&[Option<Set>]) -> u64,
    make: impl FnOnce(&[Option<Set>], &SetLimits) -> Set + Send + 'static,
) -> CommandResult {
    let (sets, limits) = (fetch_all(context, args.from(2))?, context.worker.thresholds.set_limits());
    let result = context.make(work(&sets), args.from(2).iter(), move || make(&sets, &limits))?;
    let target = context.key(args.at(1));
    context.reply.int(result.len() as i64);
    if result.is_empty() {
        context.delete_target(&target);
    } else {
        context.put_value(&target, result);
        context.modified(&target);
        context.notify(class::SET, context.found.command.name, &target);
    }
    Ok(())
}

fn fetch_all(context: &mut Context<'_>, keys: Args<'_>) -> CommandResult<Vec<Option<Set>>> {
    fetch(context, keys.iter())
}

/// Clones of the sets of the keys; `None` where there is no key.
fn fetch<'k>(
    context: &mut Context<'_>,
    keys: impl Iterator<Item = &'k [u8]>,
) -> CommandResult<Vec<Option<Set>>> {
    keys.map(|name| {
        let key = context.key(name);
        context.value_clone::<Set>(&key)
    })
    .collect()
}

/// How many members are gone through to find those that all sets have.
fn common_work(sets: &[Option<Set>]) -> u64 {
    sets.iter().map(|set| set.as_ref().map_or(0, Set::len)).min().unwrap_or(0)
}

/// How many members are gone through at most, if all are looked at.
fn work(sets: &[Option<Set>]) -> u64 {
    sets.iter().flatten().map(Set::len).sum()
}

/// The sets, if there is one for each key.
fn all_present(sets: &[Option<Set>]) -> Option<Vec<&Set>> {
    sets.iter().map(Option::as_ref).collect()
}

/// The first set, if there is one, and those of the others that exist.
fn first_and_others(sets: &[Option<Set>]) -> Option<(&Set, Vec<&Set>)> {
    let (first, others) = sets.split_first()?;
    Some((first.as_ref()?, others.iter().flatten().collect()))
}

/// Replies with a set whose size is known only when `fill` has written all members.
fn reply_set(context: &mut Context<'_>, fill: impl FnOnce(&mut dyn FnMut(Element<'_>))) {
    let mut scratch = std::mem::take(&mut context.worker.scratch);
    scratch.clear();
    let mut count = 0;
    let mut items = Reply::new(&mut scratch, context.reply.protocol());
    fill(&mut |member| {
        write_element(&mut items, member);
        count += 1;
    });
    context.reply.set(count);
    context.reply.raw(&scratch);
    scratch.clear();
    scratch.shrink_to(1 << 20);
    context.worker.scratch = scratch;
}
