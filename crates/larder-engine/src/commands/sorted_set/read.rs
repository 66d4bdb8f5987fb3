//! Looking at single members and counting.

use super::members::member_ranks;
use super::{parse_lex_range, parse_score_range, write_score};
use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::text::word::is_word;
use larder_collections::sorted_set::{Order, SortedSet};
use larder_resp::Args;
use std::ops::Range;

pub(super) fn zcard(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let key = context.key(args.at(1));
    context.read_value(&key, |set: Option<&SortedSet>, reply| {
        reply.int(set.map_or(0, |set| set.len() as i64));
        Ok(())
    })
}

pub(super) fn zscore(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let key = context.key(args.at(1));
    context.read_value(&key, |set: Option<&SortedSet>, reply| {
        match set.and_then(|set| set.score(&args[2])) {
            Some(score) => write_score(reply, score),
            None => reply.null(),
        }
        Ok(())
    })
}

pub(super) fn zmscore(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let key = context.key(args.at(1));
    context.read_value(&key, |set: Option<&SortedSet>, reply| {
        reply.array(args.len() - 2);
        let mut write = |score: Option<f64>| match score {
            Some(score) => write_score(reply, score),
            None => reply.null(),
        };
        match set {
            Some(set) => set.scores(args.from(2).iter(), write),
            None => (2..args.len()).for_each(|_| write(None)),
        }
        Ok(())
    })
}

pub(super) fn zrank(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    rank(context, args, false)
}

pub(super) fn zrevrank(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    rank(context, args, true)
}

fn rank(context: &mut Context<'_>, args: Args<'_>, reverse: bool) -> CommandResult {
    let with_score = match args.len() {
        3 => false,
        4 if is_word(&args[3], "withscore") => true,
        4 => return Err(CommandError::SYNTAX),
        _ => return Err(CommandError::arity(&context.command_name())),
    };
    let key = context.key(args.at(1));
    context.read_value(&key, |set: Option<&SortedSet>, reply| {
        let found = set.and_then(|set| {
            let (rank, score) = set.rank(&args[2])?;
            Some((if reverse { set.len() - 1 - rank } else { rank }, score))
        });
        match found {
            Some((rank, score)) if with_score => {
                reply.array(2);
                reply.int(rank as i64);
                write_score(reply, score);
            }
            Some((rank, _)) => reply.int(rank as i64),
            None if with_score => reply.null_array(),
            None => reply.null(),
        }
        Ok(())
    })
}

pub(super) fn zcount(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let (from, to) = parse_score_range(&args[2], &args[3])?;
    count(context, args, |set| set.ranks(&from, &to))
}

pub(super) fn zlexcount(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let (from, to) = parse_lex_range(args.at(2), args.at(3))?;
    count(context, args, |set| member_ranks(set, &from, &to, Order::Ascending))
}

fn count(
    context: &mut Context<'_>,
    args: Args<'_>,
    find: impl FnOnce(&SortedSet) -> Range<u64>,
) -> CommandResult {
    let key = context.key(args.at(1));
    context.read_value(&key, |set: Option<&SortedSet>, reply| {
        let ranks = set.map_or(0..0, find);
        reply.int((ranks.end - ranks.start) as i64);
        Ok(())
    })
}
