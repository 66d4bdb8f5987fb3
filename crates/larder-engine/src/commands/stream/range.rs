//! XLEN, XRANGE, XREVRANGE and XDEL.

use super::{with_scratch, write_counted, write_range};
use crate::context::Context;
use crate::engine::notify::class;
use crate::error::{CommandError, CommandResult};
use crate::text::word::is_word;
use crate::text::{number, stream_id};
use larder_collections::stream::{Order, Stream, StreamId};
use larder_resp::Args;

pub(super) fn xlen(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let key = context.key(args.at(1));
    context.read_value(&key, |stream: Option<&Stream>, reply| {
        reply.int(stream.map_or(0, |stream| stream.len() as i64));
        Ok(())
    })
}

pub(super) fn xrange(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    range(context, args, Order::Ascending)
}

pub(super) fn xrevrange(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    range(context, args, Order::Descending)
}

fn range(context: &mut Context<'_>, args: Args<'_>, order: Order) -> CommandResult {
    let (start, end) = if order == Order::Ascending { (2, 3) } else { (3, 2) };
    let ends = (stream_id::parse_start(&args[start])?, stream_id::parse_end(&args[end])?);
    let count = parse_count(args)?;
    let key = context.key(args.at(1));
    // How many entries lie between two others is not known.
    let is_all = ends == (StreamId::ZERO, StreamId::MAX);
    let len = move |stream: &Stream| if is_all { count.unwrap_or(u64::MAX).min(stream.len()) } else { 0 };
    with_scratch(context, |context, scratch| {
        context.read_long(&key, len, |stream, reply| {
            match (stream, count) {
                (None, _) => reply.array(0),
                (Some(_), Some(0)) => reply.null_array(),
                (Some(stream), count) => write_counted(reply, scratch, |reply| {
                    write_range(reply, stream, ends, order, count.unwrap_or(0))
                }),
            }
            Ok(())
        })
    })
}

/// `COUNT n` after the range; a negative one is as good as zero.
fn parse_count(args: Args<'_>) -> CommandResult<Option<u64>> {
    let mut count = None;
    for at in (4..args.len()).step_by(2) {
        match args.get(at + 1) {
            Some(value) if is_word(&args[at], "count") => {
                count = Some(u64::try_from(number::integer(value)?).unwrap_or(0));
            }
            _ => return Err(CommandError::SYNTAX),
        }
    }
    Ok(count)
}

pub(super) fn xdel(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let key = context.key(args.at(1));
    let deleted = context.with_value(&key, |stream: &mut Stream, _| {
        let ids: CommandResult<Vec<StreamId>> =
            args.from(2).iter().map(|arg| stream_id::parse_strict(arg, 0)).collect();
        Ok(ids?.into_iter().filter(|&id| stream.delete(id)).count())
    })?;
    let deleted = deleted.unwrap_or(0);
    if deleted > 0 {
        context.modified_by(&key, deleted);
        context.notify(class::STREAM, "xdel", &key);
    }
    context.reply.count(deleted);
    Ok(())
}
