//! XINFO.

use super::{bad_subcommand, no_such_group, with_scratch, write_counted, write_entry, write_id, write_range};
use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::text::number;
use crate::text::word::is_word;
use larder_collections::stream::{Consumer, ConsumerId, Group, Order, Pending, Stream, StreamId};
use larder_resp::{Args, Reply};
use std::ops::ControlFlow;

/// Entries that FULL shows when the caller does not say how many.
const FULL_COUNT: u64 = 10;

pub(super) fn consumers(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let (key, now) = (context.key(args.at(2)), context.now_ms());
    context.read_value(&key, |stream: Option<&Stream>, reply| {
        let stream = stream.ok_or(CommandError::NO_SUCH_KEY)?;
        let group = stream.group(&args[3]).ok_or_else(|| no_such_group(args.at(2), args.at(3)))?;
        reply.array(group.consumer_count());
        for (_, consumer) in group.consumers() {
            let since = |ms: u64| (now as i64 - ms as i64).max(0);
            reply.map(4);
            reply.bulk(b"name");
            reply.bulk(consumer.name());
            reply.bulk(b"pending");
            reply.int(consumer.pending_len() as i64);
            reply.bulk(b"idle");
            reply.int(since(consumer.seen_ms));
            reply.bulk(b"inactive");
            reply.int(consumer.active_ms.map_or(-1, since));
        }
        Ok(())
    })
}

pub(super) fn groups(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let key = context.key(args.at(2));
    context.read_value(&key, |stream: Option<&Stream>, reply| {
        let stream = stream.ok_or(CommandError::NO_SUCH_KEY)?;
        reply.array(stream.group_count());
        for group in stream.groups() {
            reply.map(6);
            reply.bulk(b"name");
            reply.bulk(group.name());
            reply.bulk(b"consumers");
            reply.count(group.consumer_count());
            reply.bulk(b"pending");
            reply.int(group.pending_len() as i64);
            write_progress(reply, stream, group);
        }
        Ok(())
    })
}

/// How far a group has read: three pairs.
fn write_progress(reply: &mut Reply<'_>, stream: &Stream, group: &Group) {
    let int_or_null = |name: &[u8], n: Option<i64>, reply: &mut Reply<'_>| {
        reply.bulk(name);
        match n {
            Some(n) => reply.int(n),
            None => reply.null(),
        }
    };
    reply.bulk(b"last-delivered-id");
    write_id(reply, group.last_id);
    int_or_null(b"entries-read", group.entries_read.map(|n| n as i64), reply);
    int_or_null(b"lag", stream.lag(group), reply);
}

pub(super) fn stream(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let key = context.key(args.at(2));
    with_scratch(context, |context, scratch| {
        context.read_value(&key, |stream: Option<&Stream>, reply| {
            let stream = stream.ok_or(CommandError::NO_SUCH_KEY)?;
            match parse_full(args)? {
                None => {
                    write_common(reply, stream, 10);
                    write_short(reply, stream);
                }
                Some(count) => {
                    write_common(reply, stream, 9);
                    write_full(reply, stream, count, scratch);
                }
            }
            Ok(())
        })
    })
}

/// `FULL`, and how many entries of each kind, 0 for all; None without it.
fn parse_full(args: Args<'_>) -> CommandResult<Option<u64>> {
    let bad = || Err(bad_subcommand("XINFO", args.at(1)));
    match (args.get(3), args.get(4), args.get(5)) {
        (None, ..) => Ok(None),
        (Some(full), None, _) if is_word(full, "full") => Ok(Some(FULL_COUNT)),
        (Some(full), Some(word), Some(count))
            if args.len() == 6 && is_word(full, "full") && is_word(word, "count") =>
        {
            Ok(Some(u64::try_from(number::integer(count)?).unwrap_or(FULL_COUNT)))
        }
        _ => bad(),
    }
}

/// What both forms begin with: the header of a map of `pairs`, and seven of them.
fn write_common(reply: &mut Reply<'_>, stream: &Stream, pairs: usize) {
    reply.map(pairs);
    for (name, count) in [
        (&b"length"[..], stream.len()),
        (b"radix-tree-keys", stream.entry_node_count()),
        (b"radix-tree-nodes", stream.entry_node_count() + 1),
    ] {
        reply.bulk(name);
        reply.int(count as i64);
    }
    reply.bulk(b"last-generated-id");
    write_id(reply, stream.last_id());
    reply.bulk(b"max-deleted-entry-id");
    write_id(reply, stream.max_deleted_id());
    reply.bulk(b"entries-added");
    reply.int(stream.entries_added() as i64);
    reply.bulk(b"recorded-first-entry-id");
    write_id(reply, stream.first_id());
}

fn write_short(reply: &mut Reply<'_>, stream: &Stream) {
    reply.bulk(b"groups");
    reply.count(stream.group_count());
    for (name, order) in [(&b"first-entry"[..], Order::Ascending), (b"last-entry", Order::Descending)] {
        reply.bulk(name);
        let written = stream.range(StreamId::ZERO, StreamId::MAX, order, |entry| {
            write_entry(reply, &entry);
            ControlFlow::Break(())
        });
        if written.is_none() {
            reply.null();
        }
    }
}

fn write_full(reply: &mut Reply<'_>, stream: &Stream, count: u64, scratch: &mut Vec<u8>) {
    reply.bulk(b"entries");
    write_counted(reply, scratch, |reply| {
        write_range(reply, stream, (StreamId::ZERO, StreamId::MAX), Order::Ascending, count)
    });
    reply.bulk(b"groups");
    reply.array(stream.group_count());
    for group in stream.groups() {
        reply.map(7);
        reply.bulk(b"name");
        reply.bulk(group.name());
        write_progress(reply, stream, group);
        reply.bulk(b"pel-count");
        reply.int(group.pending_len() as i64);
        reply.bulk(b"pending");
        reply.array(shown(group.pending_len(), count));
        group.for_each_pending(
            StreamId::ZERO,
            limited(count, |pending| {
                reply.array(4);
                write_id(reply, pending.id);
                reply.bulk(group.consumer(pending.consumer).name());
                reply.int(pending.time_ms as i64);
                reply.int(pending.count as i64);
            }),
        );
        reply.bulk(b"consumers");
        reply.array(group.consumer_count());
        group.consumers().for_each(|(id, consumer)| write_consumer(reply, group, id, consumer, count));
    }
}

fn write_consumer(reply: &mut Reply<'_>, group: &Group, id: ConsumerId, consumer: &Consumer, count: u64) {
    reply.map(5);
    reply.bulk(b"name");
    reply.bulk(consumer.name());
    reply.bulk(b"seen-time");
    reply.int(consumer.seen_ms as i64);
    reply.bulk(b"active-time");
    reply.int(consumer.active_ms.map_or(-1, |ms| ms as i64));
    reply.bulk(b"pel-count");
    reply.int(consumer.pending_len() as i64);
    reply.bulk(b"pending");
    reply.array(shown(consumer.pending_len(), count));
    group.for_each_pending_of(
        id,
        StreamId::ZERO,
        limited(count, |pending| {
            reply.array(3);
            write_id(reply, pending.id);
            reply.int(pending.time_ms as i64);
            reply.int(pending.count as i64);
        }),
    );
}

/// How many of `len` are shown: up to `count`, or all when that is zero.
fn shown(len: u64, count: u64) -> usize {
    if count == 0 { len as usize } else { len.min(count) as usize }
}

/// Calls `f` with the first `count`, or with all when that is zero.
fn limited(count: u64, mut f: impl FnMut(Pending)) -> impl FnMut(Pending) -> ControlFlow<()> {
    let mut seen = 0;
    move |pending| {
        f(pending);
        seen += 1;
        if seen == count { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

pub(super) fn help(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    context.reply.help(
        &args[0],
        &[
            "XINFO <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
            "CONSUMERS <key> <groupname>",
            "    Show consumers of <groupname>.",
            "GROUPS <key>",
            "    Show the stream consumer groups.",
            "STREAM <key> [FULL [COUNT <count>]",
            "    Show information about the stream.",
            "HELP",
            "    Print this help.",
        ],
    );
    Ok(())
}
