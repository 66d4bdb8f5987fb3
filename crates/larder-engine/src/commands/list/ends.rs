//! Pushing, popping and moving at the ends.

use super::parse_end;
use crate::context::Context;
use crate::context::replies::write_element;
use crate::engine::notify::class;
use crate::error::{CommandError, CommandResult};
use crate::execution::blocking;
use crate::keyspace::key::Key;
use crate::keyspace::kind::Kind;
use crate::text::number;
use crate::text::word::is_word;
use larder_collections::list::{List, ListOptions};
use larder_packed::block::End;
use larder_resp::{Args, Reply};

pub(super) fn lpush(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    push_all(context, args, End::Front)
}

pub(super) fn rpush(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    push_all(context, args, End::Back)
}

fn push_all(context: &mut Context<'_>, args: Args<'_>, end: End) -> CommandResult {
    let key = context.key(args.at(1));
    let push = move |list: &mut List, options: &ListOptions, args: Args<'_>| {
        args.from(2).iter().for_each(|element| list.push(end, element, options));
        list.len() as i64
    };
    if context.makes_apart(args.len() as u64) {
        let options = context.worker.list_options;
        let push = move |list: &mut List, args: Args<'_>| push(list, &options, args);
        let len = context.change_or_create_by_args(&key, args, |_| List::new(), push)?;
        context.reply.int(len);
    } else {
        context.with_list_or_new(&key, |list, options, reply| {
            reply.int(push(list, options, args));
            Ok(())
        })?;
    }
    context.modified_by(&key, args.len() - 2);
    context.notify(class::LIST, blocking::push_event(end), &key);
    context.signal_ready(&key);
    Ok(())
}

pub(super) fn lpushx(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    push_existing(context, args, End::Front)
}

pub(super) fn rpushx(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    push_existing(context, args, End::Back)
}

fn push_existing(context: &mut Context<'_>, args: Args<'_>, end: End) -> CommandResult {
    let key = context.key(args.at(1));
    match context.kind(&key) {
        None => {
            context.reply.int(0);
            Ok(())
        }
        Some(_) => push_all(context, args, end),
    }
}

pub(super) fn lpop(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    pop(context, args, End::Front)
}

pub(super) fn rpop(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    pop(context, args, End::Back)
}

fn pop(context: &mut Context<'_>, args: Args<'_>, end: End) -> CommandResult {
    let key = context.key(args.at(1));
    match args.len() {
        2 => pop_one(context, &key, end),
        3 => pop_count(context, &key, end, number::positive(&args[2])? as u64),
        _ => Err(CommandError::arity(&context.command_name())),
    }
}

fn pop_one(context: &mut Context<'_>, key: &Key<'_>, end: End) -> CommandResult {
    let popped = context.with_list(key, |list, options, reply| {
        list.pop_with(end, options, |element| write_element(reply, element));
        Ok(())
    })?;
    match popped {
        Some(()) => blocking::note_popped(context, key, end, 1),
        None => context.reply.null(),
    }
    Ok(())
}

fn pop_count(context: &mut Context<'_>, key: &Key<'_>, end: End, count: u64) -> CommandResult {
    let popped = pop_up_to(context, key, end, count)?;
    match popped {
        Some(0) => {}
        Some(count) => blocking::note_popped(context, key, end, count as usize),
        None => context.reply.null_array(),
    }
    Ok(())
}

/// Pops up to `count` elements and replies with them; how many there were, or `None`, with no reply, if there is no such list.
fn pop_up_to(context: &mut Context<'_>, key: &Key<'_>, end: End, count: u64) -> CommandResult<Option<u64>> {
    let (options, plan) = (context.worker.list_options, |list: &List| (count.min(list.len()), ()));
    context.change_long(key, Args::new(&[], &[]), plan, move |list: &mut List, (), _, reply| {
        blocking::pop_all(list, &options, end, count, reply)
    })
}

pub(super) fn rpoplpush(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    move_between(context, args.at(1), args.at(2), End::Back, End::Front)
}

pub(super) fn lmove(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let (from, to) = (parse_end(&args[3])?, parse_end(&args[4])?);
    move_between(context, args.at(1), args.at(2), from, to)
}

fn move_between(
    context: &mut Context<'_>,
    source: &[u8],
    target: &[u8],
    from: End,
    to: End,
) -> CommandResult {
    let (source, target) = (context.key(source), context.key(target));
    if !try_move(context, &source, &target, from, to)? {
        context.reply.null();
    }
    Ok(())
}

/// Moves an element and replies with it; false, with no reply, when the source does not exist.
pub(super) fn try_move(
    context: &mut Context<'_>,
    source: &Key<'_>,
    target: &Key<'_>,
    from: End,
    to: End,
) -> CommandResult<bool> {
    match context.kind(source) {
        None => return Ok(false),
        Some(Kind::List) => {}
        Some(_) => return Err(CommandError::WRONG_TYPE),
    }
    let mut moved = Vec::new();
    let protocol = context.reply.protocol();
    blocking::move_one(context, source, target, from, to, &mut Reply::new(&mut moved, protocol))?;
    context.reply.raw(&moved);
    Ok(true)
}

/// The arguments of LMPOP, ZMPOP and their blocking forms from the number of keys on.
pub(crate) struct PopMany<'a, E> {
    pub keys: Vec<&'a [u8]>,
    /// Where elements are popped: an end of a list, or of the scores.
    pub end: E,
    pub count: u64,
}

impl<'a, E> PopMany<'a, E> {
    pub(crate) fn parse(args: Args<'a>, parse_end: fn(&[u8]) -> CommandResult<E>) -> CommandResult<Self> {
        let numkeys = number::integer(&args[0]).ok().filter(|&n| n > 0);
        let numkeys = numkeys.ok_or(CommandError::Fixed("ERR numkeys should be greater than 0"))? as usize;
        let keys: Vec<_> = args.from(1).iter().take(numkeys).collect();
        let end = args.get(numkeys.saturating_add(1)).ok_or(CommandError::SYNTAX)?;
        let end = parse_end(end)?;
        let count = Self::parse_count(args.from(numkeys + 2))?;
        Ok(PopMany { keys, end, count })
    }

    fn parse_count(args: Args<'_>) -> CommandResult<u64> {
        let value = match (args.get(0), args.get(1)) {
            (None, _) => return Ok(1),
            (Some(word), Some(value)) if is_word(word, "count") => value,
            _ => return Err(CommandError::SYNTAX),
        };
        let count = number::integer(value).ok().filter(|&n| n > 0);
        let count = count.ok_or(CommandError::Fixed("ERR count should be greater than 0"))?;
        // The first count is looked at before what comes after it is refused.
        if args.len() == 2 { Ok(count as u64) } else { Err(CommandError::SYNTAX) }
    }
}

pub(super) fn lmpop(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let request = PopMany::parse(args.from(1), parse_end)?;
    if !try_pop_many(context, &request)? {
        context.reply.null_array();
    }
    Ok(())
}

/// Pops from the first key that has a list and replies; false, with no reply, when none has.
pub(super) fn try_pop_many(context: &mut Context<'_>, request: &PopMany<'_, End>) -> CommandResult<bool> {
    let Some(name) = first_list(context, &request.keys)? else { return Ok(false) };
    let key = context.key(name);
    context.reply.array(2);
    context.reply.bulk(name);
    let popped = pop_up_to(context, &key, request.end, request.count)?;
    blocking::note_many_popped(context, &key, request.end, request.count, popped.unwrap_or(0));
    Ok(true)
}

/// The first of the keys that exists; it must be a list.
pub(super) fn first_list<'k>(
    context: &mut Context<'_>,
    keys: &[&'k [u8]],
) -> CommandResult<Option<&'k [u8]>> {
    for name in keys {
        match context.kind(&context.key(name)) {
            None => {}
            Some(Kind::List) => return Ok(Some(name)),
            Some(_) => return Err(CommandError::WRONG_TYPE),
        }
    }
    Ok(None)
}
