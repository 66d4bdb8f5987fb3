//! Popping at both ends, with and without waiting.

use super::add::is_sorted_set;
use crate::commands::list::{PopMany, timeout_ms, wait_or};
use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::execution::blocking::{self, PopForm};
use crate::keyspace::waiting::{BlockedOp, Extreme};
use crate::text::number;
use crate::text::word::is_word;
use larder_collections::sorted_set::SortedSet;
use larder_resp::Args;

pub(super) fn zpopmin(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    pop(context, args, Extreme::Min)
}

pub(super) fn zpopmax(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    pop(context, args, Extreme::Max)
}

fn pop(context: &mut Context<'_>, args: Args<'_>, extreme: Extreme) -> CommandResult {
    let count = match args.len() {
        2 => None,
        3 => Some(number::positive(&args[2])? as u64),
        _ => return Err(CommandError::SYNTAX),
    };
    let form = if context.reply.is_resp3() && count.is_some() { PopForm::Pairs } else { PopForm::Flat };
    if !is_sorted_set(context, args.at(1))? || count == Some(0) {
        context.reply.array(0);
        return Ok(());
    }
    write_popped(context, args.at(1), extreme, count.unwrap_or(1), form)
}

/// Pops from a sorted set that exists and replies with the entries.
fn write_popped(
    context: &mut Context<'_>,
    name: &[u8],
    extreme: Extreme,
    count: u64,
    form: PopForm,
) -> CommandResult {
    let key = context.key(name);
    form.write_key(name, &mut context.reply);
    let plan = |set: &SortedSet| (count.min(set.len()), count.min(set.len()));
    let popped = context.change_long(&key, Args::new(&[], &[]), plan, move |set, count, _, reply| {
        blocking::pop_entries(set, extreme, count, form, reply)
    })?;
    blocking::note_popped_scores(context, &key, extreme, count, popped.unwrap_or(0));
    Ok(())
}

/// The first of the keys that exists; it must be a sorted set.
fn first_set<'k>(context: &mut Context<'_>, keys: &[&'k [u8]]) -> CommandResult<Option<&'k [u8]>> {
    for name in keys {
        if is_sorted_set(context, name)? {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

pub(super) fn bzpopmin(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    pop_or_wait(context, args, Extreme::Min)
}

pub(super) fn bzpopmax(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    pop_or_wait(context, args, Extreme::Max)
}

fn pop_or_wait(context: &mut Context<'_>, args: Args<'_>, extreme: Extreme) -> CommandResult {
    let timeout = timeout_ms(context, args.at(args.len() - 1))?;
    let keys: Vec<_> = args.iter().take(args.len() - 1).skip(1).collect();
    match first_set(context, &keys)? {
        Some(name) => write_popped(context, name, extreme, 1, PopForm::OneWithKey),
        None => wait_or(context, &keys, BlockedOp::PopScored(extreme), timeout, |reply| reply.null_array()),
    }
}

/// `MIN` or `MAX`.
fn parse_extreme(arg: &[u8]) -> CommandResult<Extreme> {
    if is_word(arg, "min") {
        Ok(Extreme::Min)
    } else if is_word(arg, "max") {
        Ok(Extreme::Max)
    } else {
        Err(CommandError::SYNTAX)
    }
}

/// Pops from the first key that exists and replies; false, with no reply, when there is none.
fn try_pop_many(context: &mut Context<'_>, request: &PopMany<'_, Extreme>) -> CommandResult<bool> {
    let Some(name) = first_set(context, &request.keys)? else { return Ok(false) };
    write_popped(context, name, request.end, request.count, PopForm::PairsWithKey)?;
    Ok(true)
}

pub(super) fn zmpop(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let request = PopMany::parse(args.from(1), parse_extreme)?;
    if !try_pop_many(context, &request)? {
        context.reply.null_array();
    }
    Ok(())
}

pub(super) fn bzmpop(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let request = PopMany::parse(args.from(2), parse_extreme)?;
    let timeout = timeout_ms(context, &args[1])?;
    if try_pop_many(context, &request)? {
        return Ok(());
    }
    let op = BlockedOp::PopManyScored(request.end, request.count);
    wait_or(context, &request.keys, op, timeout, |reply| reply.null_array())
}
