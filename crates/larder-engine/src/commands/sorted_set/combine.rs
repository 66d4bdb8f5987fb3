//! Union, intersection and difference.
//!
//! The inputs are clones, which are O(1), so that all of them are at hand at once. A plain set counts as a sorted set whose
//! scores are all 1.

use super::store::Result as Stored;
use super::{Scores, open_entries, parse_score, write_entry};
use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::keyspace::kind::Kind;
use crate::text::number;
use crate::text::word::is_word;
use larder_collections::keyed_hash::KeyedState;
use larder_collections::set::Set;
use larder_collections::sorted_set::{Order, SortedSet};
use larder_resp::Args;
use std::collections::HashMap;
use std::ops::ControlFlow;

/// How scores of the same member come together.
#[derive(Clone, Copy)]
enum Aggregate {
    Sum,
    Min,
    Max,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    Union,
    Inter,
    Diff,
}

/// One input with its weight.
struct Source {
    members: Members,
    weight: f64,
}

/// The members of an input.
enum Members {
    None,
    Plain(Set),
    Sorted(SortedSet),
}

impl Members {
    fn len(&self) -> u64 {
        match self {
            Members::None => 0,
            Members::Plain(set) => set.len(),
            Members::Sorted(set) => set.len(),
        }
    }

    fn score(&self, member: &[u8]) -> Option<f64> {
        match self {
            Members::None => None,
            Members::Plain(set) => set.contains(member).then_some(1.0),
            Members::Sorted(set) => set.score(member),
        }
    }

    /// Calls `f` with score and member of all, until it breaks.
    fn visit(&self, mut f: impl FnMut(f64, &[u8]) -> ControlFlow<()>) {
        match self {
            Members::None => {}
            Members::Plain(set) => {
                let _ = set.iter().try_for_each(|member| member.with_bytes(|bytes| f(1.0, bytes)));
            }
            Members::Sorted(set) => {
                let _ = set.visit(0..set.len(), Order::Ascending, f);
            }
        }
    }
}

impl Source {
    fn load(context: &mut Context<'_>, name: &[u8]) -> CommandResult<Source> {
        let key = context.key(name);
        let members = match context.kind(&key) {
            // Counts the miss.
            None => context.value_clone(&key)?.map_or(Members::None, Members::Plain),
            Some(Kind::Set) => context.value_clone(&key)?.map_or(Members::None, Members::Plain),
            Some(Kind::SortedSet) => context.value_clone(&key)?.map_or(Members::None, Members::Sorted),
            // Which counts as a hit.
            Some(_) => context.value_clone::<SortedSet>(&key).map(|_| Members::None)?,
        };
        Ok(Source { members, weight: 1.0 })
    }

    /// Infinity without weight is no number.
    fn weighted(&self, score: f64) -> f64 {
        self.weight * score
    }
}

/// Infinity times zero and infinity minus infinity count as zero.
fn not_nan(value: f64) -> f64 {
    if value.is_nan() { 0.0 } else { value }
}

impl Aggregate {
    /// What is no number is neither less nor more than `a`.
    fn apply(self, a: f64, b: f64) -> f64 {
        match self {
            Aggregate::Sum => not_nan(a + b),
            Aggregate::Min => {
                if b < a {
                    b
                } else {
                    a
                }
            }
            Aggregate::Max => {
                if b > a {
                    b
                } else {
                    a
                }
            }
        }
    }
}

/// What to do, from the arguments.
struct Request {
    operation: Operation,
    sources: Vec<Source>,
    aggregate: Aggregate,
    scores: Scores,
    limit: u64,
}

/// Which options a command takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Reply,
    Store,
    Count,
}

impl Request {
    /// Parses from the number of keys on.
    fn parse(
        context: &mut Context<'_>,
        args: Args<'_>,
        operation: Operation,
        using: Use,
    ) -> CommandResult<Request> {
        let count = number::integer(&args[0])?;
        if count < 1 {
            let name = context.command_name();
            return Err(CommandError::text(format!(
                "ERR at least 1 input key is needed for '{name}' command"
            )));
        }
        let count = usize::try_from(count).ok().filter(|&n| n < args.len()).ok_or(CommandError::SYNTAX)?;
        let names = args.from(1);
        let sources: CommandResult<Vec<Source>> =
            (0..count).map(|i| Source::load(context, names.at(i))).collect();
        let mut request = Request {
            operation,
            sources: sources?,
            aggregate: Aggregate::Sum,
            scores: Scores::Without,
            limit: 0,
        };
        request.parse_options(args.from(1 + count), using)?;
        Ok(request)
    }

    fn parse_options(&mut self, args: Args<'_>, using: Use) -> CommandResult {
        let combines = self.operation != Operation::Diff && using != Use::Count;
        let mut at = 0;
        while at < args.len() {
            let (word, left) = (&args[at], args.len() - at);
            if combines && left > self.sources.len() && is_word(word, "weights") {
                for (i, source) in self.sources.iter_mut().enumerate() {
                    let weight = parse_score(&args[at + 1 + i]);
                    source.weight =
                        weight.map_err(|_| CommandError::Fixed("ERR weight value is not a float"))?;
                }
                at += 1 + self.sources.len();
            } else if combines && left >= 2 && is_word(word, "aggregate") {
                self.aggregate = parse_aggregate(&args[at + 1])?;
                at += 2;
            } else if using == Use::Reply && is_word(word, "withscores") {
                self.scores = Scores::With;
                at += 1;
            } else if using == Use::Count && left >= 2 && is_word(word, "limit") {
                let negative = CommandError::Fixed("ERR LIMIT can't be negative");
                self.limit = number::positive_or(&args[at + 1], negative)? as u64;
                at += 2;
            } else {
                return Err(CommandError::SYNTAX);
            }
        }
        Ok(())
    }

    /// How many members are gone through, in such as a set's: a member of a result costs several.
    fn work(&self) -> u64 {
        let lens = self.sources.iter().map(|source| source.members.len());
        match self.operation {
            Operation::Union => 4 * lens.sum::<u64>(),
            Operation::Inter => 4 * lens.min().unwrap_or(0),
            Operation::Diff => 4 * lens.take(1).sum::<u64>(),
        }
    }

    /// The entries of the result, in order.
    fn entries(mut self) -> Vec<(f64, Vec<u8>)> {
        if self.operation != Operation::Diff {
            // Sums of floating-point numbers depend on the order: the smallest input comes first.
            self.sources.sort_by_key(|source| source.members.len());
        }
        let mut entries = match self.operation {
            Operation::Union => self.union(),
            Operation::Inter => self.intersection(),
            Operation::Diff => self.difference(),
        };
        // Both zeros are one place in the order.
        entries.sort_unstable_by(|a, b| (a.0 + 0.0).total_cmp(&(b.0 + 0.0)).then_with(|| a.1.cmp(&b.1)));
        entries
    }

    fn union(&self) -> Vec<(f64, Vec<u8>)> {
        let mut all: HashMap<Vec<u8>, f64, KeyedState> = HashMap::default();
        for source in &self.sources {
            source.members.visit(|score, member| {
                let score = not_nan(source.weighted(score));
                match all.get_mut(member) {
                    Some(total) => *total = self.aggregate.apply(*total, score),
                    None => {
                        all.insert(member.to_vec(), score);
                    }
                }
                ControlFlow::Continue(())
            });
        }
        all.into_iter().map(|(member, score)| (score, member)).collect()
    }

    fn intersection(&self) -> Vec<(f64, Vec<u8>)> {
        let mut entries = Vec::new();
        let Some((first, others)) = self.sources.split_first() else { return entries };
        first.members.visit(|score, member| {
            let mut total = Some(not_nan(first.weighted(score)));
            for other in others {
                total = total
                    .zip(other.members.score(member))
                    .map(|(total, score)| self.aggregate.apply(total, other.weighted(score)));
            }
            if let Some(score) = total {
                entries.push((score, member.to_vec()));
            }
            ControlFlow::Continue(())
        });
        entries
    }

    fn difference(&self) -> Vec<(f64, Vec<u8>)> {
        let mut entries = Vec::new();
        let Some((first, others)) = self.sources.split_first() else { return entries };
        first.members.visit(|score, member| {
            if others.iter().all(|other| other.members.score(member).is_none()) {
                entries.push((score, member.to_vec()));
            }
            ControlFlow::Continue(())
        });
        entries
    }

    /// Number of members that all inputs have; the limit, if there is one, at most.
    fn count(mut self) -> u64 {
        self.sources.sort_by_key(|source| source.members.len());
        let Some((first, others)) = self.sources.split_first() else { return 0 };
        let mut count = 0;
        first.members.visit(|_, member| {
            count += u64::from(others.iter().all(|other| other.members.score(member).is_some()));
            if count == self.limit && self.limit > 0 {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
        count
    }
}

fn parse_aggregate(arg: &[u8]) -> CommandResult<Aggregate> {
    let all = [("sum", Aggregate::Sum), ("min", Aggregate::Min), ("max", Aggregate::Max)];
    all.iter().find(|(word, _)| is_word(arg, word)).map(|found| found.1).ok_or(CommandError::SYNTAX)
}

macro_rules! commands {
    ($($name:ident, $store:ident: $operation:expr;)*) => {
        $(pub(super) fn $name(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
            reply(context, args, $operation)
        }

        pub(super) fn $store(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
            store(context, args, $operation)
        })*
    };
}

commands! {
    zunion, zunionstore: Operation::Union;
    zinter, zinterstore: Operation::Inter;
    zdiff, zdiffstore: Operation::Diff;
}

fn reply(context: &mut Context<'_>, args: Args<'_>, operation: Operation) -> CommandResult {
    let request = Request::parse(context, args.from(1), operation, Use::Reply)?;
    let scores = request.scores;
    context.reads(request.work())?;
    let entries = request.entries();
    open_entries(&mut context.reply, entries.len(), scores);
    for (score, member) in &entries {
        write_entry(&mut context.reply, *score, member, scores);
    }
    Ok(())
}

fn store(context: &mut Context<'_>, args: Args<'_>, operation: Operation) -> CommandResult {
    let request = Request::parse(context, args.from(2), operation, Use::Store)?;
    let target = context.key(args.at(1));
    let keys = args.from(3).iter().take(request.sources.len());
    let mut result = Stored::new(context);
    let result = context.make(request.work(), keys, move || {
        request.entries().iter().for_each(|(score, member)| result.push(*score, member));
        result
    })?;
    result.store(context, &target, context.found.command.name);
    Ok(())
}

pub(super) fn zintercard(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let request = Request::parse(context, args.from(1), Operation::Inter, Use::Count)?;
    context.reads(request.work())?;
    let count = request.count();
    context.reply.int(count as i64);
    Ok(())
}
