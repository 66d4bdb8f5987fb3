//! XPENDING.

use super::{no_group, with_scratch, write_counted, write_id};
use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::text::word::is_word;
use crate::text::{number, stream_id};
use larder_collections::stream::{Group, Stream, StreamId};
use larder_resp::{Args, Reply};
use std::ops::ControlFlow;

/// Which entries are asked for.
struct Filter<'a> {
    from: StreamId,
    to: StreamId,
    count: u64,
    min_idle_ms: i64,
    consumer: Option<&'a [u8]>,
}

impl<'a> Filter<'a> {
    fn parse(args: Args<'a>) -> CommandResult<Option<Filter<'a>>> {
        if args.len() == 3 {
            return Ok(None);
        }
        if !(6..=9).contains(&args.len()) {
            return Err(CommandError::SYNTAX);
        }
        let (mut at, mut min_idle_ms) = (3, 0);
        if is_word(&args[3], "idle") {
            min_idle_ms = number::integer(&args[4])?;
            if args.len() < 8 {
                return Err(CommandError::SYNTAX);
            }
            at = 5;
        }
        let count = u64::try_from(number::integer(&args[at + 2])?).unwrap_or(0);
        let (from, to) = (stream_id::parse_start(&args[at])?, stream_id::parse_end(&args[at + 1])?);
        Ok(Some(Filter { from, to, count, min_idle_ms, consumer: args.get(at + 3) }))
    }
}

pub(super) fn xpending(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let filter = Filter::parse(args)?;
    let (key, now) = (context.key(args.at(1)), context.now_ms());
    with_scratch(context, |context, scratch| {
        let work = |stream: &Stream| {
            let group = stream.group(&args[2]);
            group.zip(filter.as_ref()).map_or(0, |(group, filter)| filter.count.min(group.pending_len()))
        };
        context.read_long(&key, work, |stream, reply| {
            let group = stream.and_then(|stream| stream.group(&args[2]));
            let group = group.ok_or_else(|| no_group(args.at(1), args.at(2)))?;
            match &filter {
                None => write_summary(reply, group, scratch),
                Some(filter) => {
                    write_counted(reply, scratch, |reply| write_entries(reply, group, filter, now));
                }
            }
            Ok(())
        })
    })
}

fn write_summary(reply: &mut Reply<'_>, group: &Group, scratch: &mut Vec<u8>) {
    reply.array(4);
    reply.int(group.pending_len() as i64);
    let Some((first, last)) = group.pending_ends() else {
        reply.null();
        reply.null();
        reply.null_array();
        return;
    };
    write_id(reply, first);
    write_id(reply, last);
    write_counted(reply, scratch, |reply| {
        let busy = group.consumers().filter(|(_, consumer)| consumer.pending_len() > 0);
        busy.map(|(_, consumer)| {
            reply.array(2);
            reply.bulk(consumer.name());
            reply.bulk_int(consumer.pending_len() as i64);
        })
        .count()
    });
}

fn write_entries(reply: &mut Reply<'_>, group: &Group, filter: &Filter<'_>, now: u64) -> usize {
    let mut written = 0;
    let write = |pending: larder_collections::stream::Pending| {
        if pending.id > filter.to || written as u64 >= filter.count {
            return ControlFlow::Break(());
        }
        let idle = now as i64 - pending.time_ms as i64;
        if filter.min_idle_ms == 0 || idle >= filter.min_idle_ms {
            reply.array(4);
            write_id(reply, pending.id);
            reply.bulk(group.consumer(pending.consumer).name());
            reply.int(idle.max(0));
            reply.int(pending.count as i64);
            written += 1;
        }
        ControlFlow::Continue(())
    };
    match filter.consumer {
        None => group.for_each_pending(filter.from, write),
        Some(name) => {
            if let Some(consumer) = group.find(name) {
                group.for_each_pending_of(consumer, filter.from, write);
            }
        }
    }
    written
}
