//! ZADD and ZINCRBY.

use super::{limits, parse_score, write_score};
use crate::context::Context;
use crate::engine::notify::class;
use crate::error::{CommandError, CommandResult};
use crate::keyspace::key::Key;
use crate::keyspace::kind::Kind;
use crate::text::word::is_word;
use larder_collections::sorted_set::{Limits, MEMBER_LEN_MAX, SortedSet};
use larder_resp::Args;

/// The words between key and scores.
#[derive(Clone, Copy, Default)]
pub(crate) struct Options {
    /// Only new members.
    pub nx: bool,
    /// Only members that are there.
    pub xx: bool,
    gt: bool,
    lt: bool,
    /// Changed members count in the reply, too.
    pub changed: bool,
    incr: bool,
}

/// What has come of the pairs.
#[derive(Default)]
struct Outcome {
    added: i64,
    updated: i64,
    /// The last new score, if a pair was not passed over.
    score: Option<f64>,
    nan: bool,
}

impl Options {
    /// Reads the words from argument 2 on; returns where the scores begin.
    fn parse(&mut self, args: Args<'_>) -> usize {
        for at in 2..args.len() {
            let word = &args[at];
            let option = match word.len() {
                2 if is_word(word, "nx") => &mut self.nx,
                2 if is_word(word, "xx") => &mut self.xx,
                2 if is_word(word, "ch") => &mut self.changed,
                2 if is_word(word, "gt") => &mut self.gt,
                2 if is_word(word, "lt") => &mut self.lt,
                4 if is_word(word, "incr") => &mut self.incr,
                _ => return at,
            };
            *option = true;
        }
        args.len()
    }

    fn check(&self, pairs: usize) -> CommandResult {
        if self.nx && self.xx {
            return Err(CommandError::Fixed("ERR XX and NX options at the same time are not compatible"));
        }
        if (self.nx && (self.gt || self.lt)) || (self.gt && self.lt) {
            return Err(CommandError::Fixed(
                "ERR GT, LT, and/or NX options at the same time are not compatible",
            ));
        }
        if self.incr && pairs > 1 {
            return Err(CommandError::Fixed("ERR INCR option supports a single increment-element pair"));
        }
        Ok(())
    }

    /// The new score of a member, or None to leave it as it is.
    fn decide(&self, old: Option<f64>, given: f64) -> Option<f64> {
        let Some(old) = old else { return (!self.xx).then_some(given) };
        let new = if self.incr { old + given } else { given };
        let passed_over = self.nx || (self.lt && new >= old) || (self.gt && new <= old);
        (!passed_over).then_some(new)
    }
}

pub(super) fn zadd(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    add(context, args, Options::default())
}

pub(super) fn zincrby(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    add(context, args, Options { incr: true, ..Options::default() })
}

fn add(context: &mut Context<'_>, args: Args<'_>, mut options: Options) -> CommandResult {
    let first = options.parse(args);
    let given = args.len() - first;
    if given == 0 || !given.is_multiple_of(2) {
        return Err(CommandError::SYNTAX);
    }
    options.check(given / 2)?;
    let key = context.key(args.at(1));
    if context.makes_apart(given as u64 / 2) {
        let scores = move |args: Args<'_>| parse_scores(args.from(first));
        return add_apart(context, &key, args, options, scores, move |args, i| args.at(first + 2 * i + 1))
            .map(drop);
    }
    let pairs = args.from(first);
    // Nothing is changed unless all scores are numbers. Most often there is one, which need not be kept.
    let one = [parse_score(&pairs[0])?];
    let many;
    let scores: &[f64] = if given == 2 {
        &one
    } else {
        many = parse_scores(pairs)?;
        &many
    };
    add_all(context, &key, &options, scores, |i| pairs.at(2 * i + 1))
}

fn parse_scores(pairs: Args<'_>) -> CommandResult<Vec<f64>> {
    (0..pairs.len()).step_by(2).map(|at| parse_score(&pairs[at])).collect()
}

/// Adds members with their scores, as far as the options allow, and replies. `member` returns the one of each score.
pub(crate) fn add_all<'m>(
    context: &mut Context<'_>,
    key: &Key<'_>,
    options: &Options,
    scores: &[f64],
    member: impl Fn(usize) -> &'m [u8],
) -> CommandResult {
    let outcome = if options.xx && context.kind(key).is_none() {
        check_members(scores, &member)?;
        Outcome::default()
    } else {
        let limits = limits(context);
        context
            .with_value_or_new(key, |set: &mut SortedSet, _| put_all(set, scores, &member, options, limits))?
    };
    tell(context, key, options, &outcome)
}

/// The same for very many members, which are added to a clone: `parse` gives the scores, which are returned, and `member` the one of each.
pub(crate) fn add_apart(
    context: &mut Context<'_>,
    key: &Key<'_>,
    args: Args<'_>,
    options: Options,
    parse: impl FnOnce(Args<'_>) -> CommandResult<Vec<f64>> + Send + 'static,
    member: impl for<'m> Fn(Args<'m>, usize) -> &'m [u8] + Send + 'static,
) -> CommandResult<Vec<f64>> {
    let limits = limits(context);
    let put = move |set: &mut SortedSet, args: Args<'_>| {
        let scores = parse(args)?;
        let outcome = put_all(set, &scores, |i| member(args, i), &options, limits)?;
        Ok::<_, CommandError>((scores, outcome))
    };
    let (scores, outcome) = context.change_or_create_by_args(key, args, |_| SortedSet::default(), put)??;
    tell(context, key, &options, &outcome)?;
    Ok(scores)
}

fn check_members<'m>(scores: &[f64], member: impl Fn(usize) -> &'m [u8]) -> CommandResult {
    let is_too_long = (0..scores.len()).any(|i| member(i).len() > MEMBER_LEN_MAX);
    if is_too_long { Err(CommandError::STRING_TOO_LONG) } else { Ok(()) }
}

/// Adds members with their scores to a set. The error is that a member is too long: then nothing has been changed.
fn put_all<'m>(
    set: &mut SortedSet,
    scores: &[f64],
    member: impl Fn(usize) -> &'m [u8],
    options: &Options,
    limits: Limits,
) -> CommandResult<Outcome> {
    check_members(scores, &member)?;
    let mut outcome = Outcome::default();
    // A set that is made for more than a small one may hold is large from the start, even if members are equal.
    let many = set.is_empty() && scores.len() as u64 > limits.entries;
    let limits = if many { Limits { entries: 0, ..limits } } else { limits };
    for (i, &score) in scores.iter().enumerate() {
        put(set, member(i), score, options, &limits, &mut outcome);
        if outcome.nan {
            break;
        }
    }
    Ok(outcome)
}

/// Replies, and tells everybody what has come of the pairs.
fn tell(context: &mut Context<'_>, key: &Key<'_>, options: &Options, outcome: &Outcome) -> CommandResult {
    if outcome.added + outcome.updated > 0 {
        context.modified_by(key, (outcome.added + outcome.updated) as usize);
        context.notify(class::SORTED_SET, if options.incr { "zincr" } else { "zadd" }, key);
    }
    if outcome.added > 0 {
        context.signal_ready(key);
    }
    if outcome.nan {
        return Err(CommandError::Fixed("ERR resulting score is not a number (NaN)"));
    }
    reply(context, options, outcome);
    Ok(())
}

fn put(
    set: &mut SortedSet,
    member: &[u8],
    score: f64,
    options: &Options,
    limits: &Limits,
    outcome: &mut Outcome,
) {
    let (old, new) = set.update(member, limits, |old| {
        let new = options.decide(old, score)?;
        outcome.nan = new.is_nan();
        (!outcome.nan).then_some(new)
    });
    let Some(new) = new else { return };
    outcome.score = Some(new);
    match old {
        None => outcome.added += 1,
        Some(old) => outcome.updated += i64::from(old != new),
    }
}

fn reply(context: &mut Context<'_>, options: &Options, outcome: &Outcome) {
    match (options.incr, outcome.score) {
        (true, Some(score)) => write_score(&mut context.reply, score),
        (true, None) => context.reply.null(),
        (false, _) if options.changed => context.reply.int(outcome.added + outcome.updated),
        (false, _) => context.reply.int(outcome.added),
    }
}

/// Whether a key holds a sorted set; an error if it holds something else.
pub(super) fn is_sorted_set(context: &mut Context<'_>, name: &[u8]) -> CommandResult<bool> {
    match context.kind(&context.key(name)) {
        None => Ok(false),
        Some(Kind::SortedSet) => Ok(true),
        Some(_) => Err(CommandError::WRONG_TYPE),
    }
}
