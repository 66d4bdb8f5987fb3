//! Removing members, one by one and in ranges.

use super::members::{has_one_score, member_ranks};
use super::{parse_lex_range, parse_score_range};
use crate::commands::list::range;
use crate::context::Context;
use crate::engine::notify::class;
use crate::error::CommandResult;
use crate::keyspace::key::Key;
use crate::text::number;
use larder_collections::sorted_set::{Order, SortedSet};
use larder_resp::Args;
use std::ops::Range;

pub(super) fn zrem(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let key = context.key(args.at(1));
    let remove = |set: &mut SortedSet, args: Args<'_>| {
        args.from(2).iter().filter(|member| set.remove(member).is_some()).count() as u64
    };
    let removed = context.change_by_args(&key, args, remove)?;
    tell(context, &key, removed)
}

pub(super) fn zremrangebyrank(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let (start, stop) = (number::integer(&args[2])?, number::integer(&args[3])?);
    remove_found(context, args, |set| {
        let (from, count) = range(start, stop, set.len());
        from..from + count
    })
}

pub(super) fn zremrangebyscore(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let (from, to) = parse_score_range(&args[2], &args[3])?;
    remove_found(context, args, |set| set.ranks(&from, &to))
}

pub(super) fn zremrangebylex(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let (from, to) = parse_lex_range(args.at(2), args.at(3))?;
    let key = context.key(args.at(1));
    let plan = |set: &SortedSet| {
        let ranks = member_ranks(set, &from, &to, Order::Ascending);
        let count = ranks.end - ranks.start;
        (count, (ranks.start, count, has_one_score(set)))
    };
    let removed = context.change_long(&key, args, plan, |set, (from, count, is_certain), _, _| {
        let mut members = Vec::new();
        let note = |_: f64, member: &[u8]| members.extend((!is_certain).then(|| member.to_vec()));
        (set.remove_ranks(from, count, note), members)
    })?;
    let (removed, members) = removed.unzip();
    tell(context, &key, removed)?;
    if let Some(members) = members.filter(|members| !members.is_empty()) {
        let words: Vec<&[u8]> =
            [b"ZREM", key.bytes].into_iter().chain(members.iter().map(|member| &**member)).collect();
        context.propagate_instead(&words);
    }
    Ok(())
}

fn remove_found(
    context: &mut Context<'_>,
    args: Args<'_>,
    find: impl FnOnce(&SortedSet) -> Range<u64>,
) -> CommandResult {
    let key = context.key(args.at(1));
    let plan = |set: &SortedSet| {
        let ranks = find(set);
        let count = ranks.end - ranks.start;
        (count, (ranks.start, count))
    };
    let removed = context
        .change_long(&key, args, plan, |set, (from, count), _, _| set.remove_ranks(from, count, |_, _| {}))?;
    tell(context, &key, removed)
}

/// Replies with how many members have been removed; `None`: there is no such key.
fn tell(context: &mut Context<'_>, key: &Key<'_>, removed: Option<u64>) -> CommandResult {
    let removed = removed.unwrap_or(0);
    context.reply.int(removed as i64);
    if removed > 0 {
        context.modified_by(key, removed as usize);
        context.notify(class::SORTED_SET, context.found.command.name, key);
        context.notify_emptied(key);
    }
    Ok(())
}
