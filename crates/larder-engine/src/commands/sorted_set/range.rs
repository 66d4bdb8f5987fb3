//! The ZRANGE family: by rank, by score, by member, both ways, and into another key.

use super::members::{has_one_score, member_ranks};
use super::store::Result as Stored;
use super::{Scores, limits, parse_lex_range, parse_score_range, write_ranks};
use crate::commands::list::range as rank_range;
use crate::context::{Context, MOMENT};
use crate::error::{CommandError, CommandResult};
use crate::text::number;
use crate::text::word::is_word;
use larder_collections::sorted_set::{Bound, Order, SortedSet};
use larder_resp::Args;
use std::ops::{ControlFlow, Range};

/// What the two ends of a range are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Rank,
    Score,
    Lex,
}

/// What the name of a command says already; what it leaves open, arguments may say.
#[derive(Clone, Copy)]
struct Given {
    by: Option<By>,
    order: Option<Order>,
    store: bool,
}

/// A range, parsed.
struct Request<'a> {
    ends: Ends<'a>,
    order: Order,
    offset: i64,
    limit: i64,
    scores: Scores,
}

enum Ends<'a> {
    Ranks(i64, i64),
    Scores(Bound<'a>, Bound<'a>),
    Members(Bound<'a>, Bound<'a>),
}

macro_rules! commands {
    ($($name:ident: $by:expr, $order:expr;)*) => {
        $(pub(super) fn $name(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
            write(context, args, Given { by: $by, order: $order, store: false })
        })*
    };
}

commands! {
    zrange: None, None;
    zrevrange: Some(By::Rank), Some(Order::Descending);
    zrangebyscore: Some(By::Score), Some(Order::Ascending);
    zrevrangebyscore: Some(By::Score), Some(Order::Descending);
    zrangebylex: Some(By::Lex), Some(Order::Ascending);
    zrevrangebylex: Some(By::Lex), Some(Order::Descending);
}

fn write(context: &mut Context<'_>, args: Args<'_>, given: Given) -> CommandResult {
    let request = Request::parse(args.from(2), given)?;
    let key = context.key(args.at(1));
    context.read_long(
        &key,
        |set: &SortedSet| request.count_if_many(set),
        |set, reply| {
            match set {
                Some(set) => write_ranks(reply, set, request.ranks(set), request.order, request.scores),
                None => reply.array(0),
            }
            Ok(())
        },
    )
}

pub(super) fn zrangestore(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let request = Request::parse(args.from(3), Given { by: None, order: None, store: true })?;
    let (source, target) = (context.key(args.at(2)), context.key(args.at(1)));
    let limits = limits(context);
    let mut result = Stored::new(context);
    let mut is_certain = true;
    if let Some(set) = context.value_clone::<SortedSet>(&source)? {
        is_certain = !matches!(request.ends, Ends::Members(..)) || has_one_score(&set);
        let ranks = request.ranks(&set);
        let count = ranks.end - ranks.start;
        // By score or member the number of entries is not known before, and the result begins small.
        if !matches!(request.ends, Ends::Ranks(..)) || count <= limits.entries {
            result.begin_small();
        }
        result = context.make(count, [source.bytes].into_iter(), move || {
            let _ = set.visit(ranks, Order::Ascending, |score, member| {
                result.push(score, member);
                ControlFlow::<()>::Continue(())
            });
            result
        })?;
    }
    match is_certain {
        true => result.store(context, &target, context.found.command.name),
        false => result.store_for_all(context, &target, context.found.command.name),
    }
    Ok(())
}

impl<'a> Request<'a> {
    /// Parses from the first end on.
    fn parse(args: Args<'a>, given: Given) -> CommandResult<Self> {
        let (mut by, mut order) = (given.by, given.order);
        let (mut offset, mut limit, mut scores) = (0, -1, Scores::Without);
        let mut at = 2;
        while at < args.len() {
            let word = &args[at];
            if !given.store && is_word(word, "withscores") {
                scores = Scores::With;
            } else if is_word(word, "limit") && at + 2 < args.len() {
                (offset, limit) = (number::integer(&args[at + 1])?, number::integer(&args[at + 2])?);
                at += 2;
            } else if order.is_none() && is_word(word, "rev") {
                order = Some(Order::Descending);
            } else if by.is_none() && is_word(word, "bylex") {
                by = Some(By::Lex);
            } else if by.is_none() && is_word(word, "byscore") {
                by = Some(By::Score);
            } else {
                return Err(CommandError::SYNTAX);
            }
            at += 1;
        }
        let (by, order) = (by.unwrap_or(By::Rank), order.unwrap_or(Order::Ascending));
        check(by, limit, scores)?;
        Ok(Request { ends: Ends::parse(args, by, order)?, order, offset, limit, scores })
    }

    /// The ranks of the entries, ascending.
    fn ranks(&self, set: &SortedSet) -> Range<u64> {
        let len = set.len();
        match &self.ends {
            Ends::Ranks(start, stop) => {
                let (from, count) = rank_range(*start, *stop, len);
                match self.order {
                    Order::Ascending => from..from + count,
                    Order::Descending => len - from - count..len - from,
                }
            }
            Ends::Scores(from, to) => self.limited(set.ranks(from, to)),
            Ends::Members(from, to) => self.limited(member_ranks(set, from, to, self.order)),
        }
    }

    /// The number of entries; a set that is not large counts as none.
    fn count_if_many(&self, set: &SortedSet) -> u64 {
        if set.len() <= MOMENT {
            return 0;
        }
        let ranks = self.ranks(set);
        ranks.end - ranks.start
    }

    /// What LIMIT leaves of a range.
    fn limited(&self, all: Range<u64>) -> Range<u64> {
        let len = all.end - all.start;
        let skipped = u64::try_from(self.offset).map_or(len, |offset| offset.min(len));
        let count = u64::try_from(self.limit).map_or(len - skipped, |limit| limit.min(len - skipped));
        match self.order {
            Order::Ascending => all.start + skipped..all.start + skipped + count,
            Order::Descending => all.end - skipped - count..all.end - skipped,
        }
    }
}

fn check(by: By, limit: i64, scores: Scores) -> CommandResult {
    if limit != -1 && by == By::Rank {
        return Err(CommandError::Fixed(
            "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX",
        ));
    }
    if scores == Scores::With && by == By::Lex {
        return Err(CommandError::Fixed(
            "ERR syntax error, WITHSCORES not supported in combination with BYLEX",
        ));
    }
    Ok(())
}

impl<'a> Ends<'a> {
    /// The two ends; scores and members come greatest first when the order is descending.
    fn parse(args: Args<'a>, by: By, order: Order) -> CommandResult<Self> {
        let (min, max) = match (by, order) {
            (By::Rank, _) | (_, Order::Ascending) => (args.at(0), args.at(1)),
            (_, Order::Descending) => (args.at(1), args.at(0)),
        };
        Ok(match by {
            By::Rank => Ends::Ranks(number::integer(min)?, number::integer(max)?),
            By::Score => {
                let (from, to) = parse_score_range(min, max)?;
                Ends::Scores(from, to)
            }
            By::Lex => {
                let (from, to) = parse_lex_range(min, max)?;
                Ends::Members(from, to)
            }
        })
    }
}
