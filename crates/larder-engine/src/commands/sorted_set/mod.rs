//! The sorted set commands.

mod add;
mod combine;
mod handlers;
mod members;
mod pop;
mod random;
mod range;
mod read;
mod remove;
mod scan;
mod store;

pub(crate) use add::{Options as AddOptions, add_all, add_apart};
pub(crate) use handlers::HANDLERS;
pub(crate) use store::Result as Stored;

use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::text::number::{self, ScoreText};
use larder_collections::sorted_set::{Bound, Limits, Order, SortedSet};
use larder_resp::Reply;
use std::ops::{ControlFlow, Range};

/// Up to where a sorted set is called a listpack, as configured now.
fn limits(context: &Context<'_>) -> Limits {
    context.worker.thresholds.sorted_set_limits()
}

/// Writes a score.
#[inline]
fn write_score(reply: &mut Reply<'_>, score: f64) {
    reply.double(ScoreText::of(score).as_bytes());
}

/// A score or an increment.
fn parse_score(arg: &[u8]) -> CommandResult<f64> {
    number::parse_f64_in_range(arg).ok_or(CommandError::NOT_FLOAT)
}

/// Whether entries are written with their scores, and in which form.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scores {
    Without,
    With,
}

/// Opens the array for `count` entries.
fn open_entries(reply: &mut Reply<'_>, count: usize, scores: Scores) {
    let flat = scores == Scores::With && !reply.is_resp3();
    reply.array(if flat { 2 * count } else { count });
}

/// Writes an entry: RESP3 gets pairs where RESP2 gets members and scores in turns.
#[inline]
fn write_entry(reply: &mut Reply<'_>, score: f64, member: &[u8], scores: Scores) {
    if scores == Scores::Without {
        return reply.bulk(member);
    }
    if reply.is_resp3() {
        reply.array(2);
    }
    reply.bulk(member);
    write_score(reply, score);
}

/// Writes the entries of these ranks as an array.
fn write_ranks(reply: &mut Reply<'_>, set: &SortedSet, ranks: Range<u64>, order: Order, scores: Scores) {
    open_entries(reply, (ranks.end - ranks.start) as usize, scores);
    let _ = set.visit(ranks, order, |score, member| {
        write_entry(reply, score, member, scores);
        ControlFlow::<()>::Continue(())
    });
}

/// The two ends of a range of scores: numbers, `(` before those that are left out.
fn parse_score_range<'a>(min: &[u8], max: &[u8]) -> CommandResult<(Bound<'a>, Bound<'a>)> {
    let parse = |arg: &[u8]| {
        let arg = number::c_string(arg);
        let (text, open) = arg.strip_prefix(b"(").map_or((arg, false), |rest| (rest, true));
        // Nothing is zero.
        let score = if text.is_empty() { Some(0.0) } else { number::parse_f64(text) };
        score.map(|score| (score, open)).ok_or(CommandError::Fixed("ERR min or max is not a float"))
    };
    let ((min, min_open), (max, max_open)) = (parse(min)?, parse(max)?);
    let from = if min_open { Bound::AfterScore(min) } else { Bound::BeforeScore(min) };
    let to = if max_open { Bound::BeforeScore(max) } else { Bound::AfterScore(max) };
    Ok((from, to))
}

/// The two ends of a range of members: `-` and `+`, or a member after `[` or `(`.
fn parse_lex_range<'a>(min: &'a [u8], max: &'a [u8]) -> CommandResult<(Bound<'a>, Bound<'a>)> {
    let parse = |arg: &'a [u8], is_min: bool| match arg {
        b"-" => Ok(Bound::Start),
        b"+" => Ok(Bound::End),
        [b'[', member @ ..] if is_min => Ok(Bound::BeforeMember(member)),
        [b'[', member @ ..] => Ok(Bound::AfterMember(member)),
        [b'(', member @ ..] if is_min => Ok(Bound::AfterMember(member)),
        [b'(', member @ ..] => Ok(Bound::BeforeMember(member)),
        _ => Err(CommandError::Fixed("ERR min or max not valid string range item")),
    };
    Ok((parse(min, true)?, parse(max, false)?))
}
