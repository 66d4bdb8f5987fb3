//! The forms that wait.

use super::ends::{PopMany, first_list, try_move, try_pop_many};
use super::parse_end;
use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::execution::blocking;
use crate::keyspace::waiting::BlockedOp;
use crate::text::long_double::LongDouble;
use larder_packed::block::End;
use larder_resp::{Args, Reply};

/// A timeout in seconds, as milliseconds; 0 waits for ever.
pub(crate) fn timeout_ms(context: &Context<'_>, arg: &[u8]) -> CommandResult<u64> {
    let seconds = LongDouble::parse(arg).ok_or(CommandError::TIMEOUT_NOT_FLOAT)?;
    let ms = seconds.times(1000).ceil();
    if ms < 0 {
        return Err(CommandError::TIMEOUT_NEGATIVE);
    }
    let ms = ms as u64;
    if ms > i64::MAX as u64 - context.now_ms() {
        return Err(CommandError::TIMEOUT_OUT_OF_RANGE);
    }
    Ok(ms)
}

pub(super) fn blpop(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    pop_or_wait(context, args, End::Front)
}

pub(super) fn brpop(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    pop_or_wait(context, args, End::Back)
}

fn pop_or_wait(context: &mut Context<'_>, args: Args<'_>, end: End) -> CommandResult {
    let timeout = timeout_ms(context, args.at(args.len() - 1))?;
    let keys: Vec<_> = args.iter().take(args.len() - 1).skip(1).collect();
    let Some(name) = first_list(context, &keys)? else {
        return wait_or(context, &keys, BlockedOp::Pop(end), timeout, |reply| reply.null_array());
    };
    let key = context.key(name);
    let mut popped = Vec::new();
    let protocol = context.reply.protocol();
    blocking::pop_into(context, &key, end, &mut Reply::new(&mut popped, protocol))?;
    context.reply.array(2);
    context.reply.bulk(name);
    context.reply.raw(&popped);
    Ok(())
}

/// Waits, or, where waiting is not allowed, answers at once.
pub(crate) fn wait_or(
    context: &mut Context<'_>,
    keys: &[&[u8]],
    op: BlockedOp,
    timeout: u64,
    empty: impl FnOnce(&mut Reply<'_>),
) -> CommandResult {
    // One that is replayed had something when it was written, or it would not be there.
    if context.in_exec || context.session.replays || context.session.never_waits {
        empty(&mut context.reply);
    } else {
        blocking::wait(context, keys, op, timeout);
    }
    Ok(())
}

pub(super) fn blmpop(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let request = PopMany::parse(args.from(2), parse_end)?;
    let timeout = timeout_ms(context, &args[1])?;
    if try_pop_many(context, &request)? {
        return Ok(());
    }
    wait_or(context, &request.keys, BlockedOp::PopMany(request.end, request.count), timeout, |reply| {
        reply.null_array();
    })
}

pub(super) fn brpoplpush(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    move_or_wait(context, args, End::Back, End::Front, 3)
}

pub(super) fn blmove(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let (from, to) = (parse_end(&args[3])?, parse_end(&args[4])?);
    move_or_wait(context, args, from, to, 5)
}

fn move_or_wait(
    context: &mut Context<'_>,
    args: Args<'_>,
    from: End,
    to: End,
    timeout_at: usize,
) -> CommandResult {
    let timeout = timeout_ms(context, &args[timeout_at])?;
    let (source, target) = (context.key(args.at(1)), context.key(args.at(2)));
    if try_move(context, &source, &target, from, to)? {
        return Ok(());
    }
    let op = BlockedOp::Move { from, to, target: args.at(2).into() };
    wait_or(context, &[args.at(1)], op, timeout, |reply| reply.null())
}
