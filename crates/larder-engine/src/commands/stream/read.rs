//! XREAD and XREADGROUP, at once or by waiting.

use super::{no_group, with_scratch, write_entry, write_id};
use crate::commands::list::wait_or;
use crate::context::Context;
use crate::context::stream_effects::Effects;
use crate::context::stream_reads::{
    consumer_of, deliver, deliver_of, has_after, note_delivered, open, open_pair, write_from, write_stream,
};
use crate::delivery::unblock::no_group_to_read;
use crate::error::{CommandError, CommandResult};
use crate::keyspace::key::Key;
use crate::keyspace::waiting::{BlockedOp, GroupRead, ReadFrom};
use crate::text::word::is_word;
use crate::text::{number, stream_id};
use larder_collections::stream::{Group, Pending, Stream, StreamId};
use larder_resp::{Args, Reply};
use std::ops::ControlFlow;

/// The arguments.
struct Request<'a> {
    group: Option<GroupRead>,
    count: u64,
    /// Milliseconds to wait, 0 for ever; None to answer at once.
    block: Option<u64>,
    keys: Vec<&'a [u8]>,
    ids: Vec<&'a [u8]>,
}

/// From where a stream is read.
#[derive(Clone, Copy, Debug)]
enum After {
    /// The entries with higher ids; for a consumer those that it has got already.
    Id(StreamId),
    /// What the group has not delivered yet.
    Delivered,
}

pub(super) fn xread(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    read(context, args, false)
}

pub(super) fn xreadgroup(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    read(context, args, true)
}

fn read(context: &mut Context<'_>, args: Args<'_>, as_group: bool) -> CommandResult {
    let request = Request::parse(args, as_group, context.now_ms())?;
    let (mut starts, mut entries) = (Vec::with_capacity(request.keys.len()), 0_u64);
    for (name, arg) in request.keys.iter().zip(&request.ids) {
        let (start, some) = start_of(context, &request, name, arg)?;
        starts.push(start);
        entries = entries.saturating_add(some);
    }
    // Who may wait does so where it is.
    if request.block.is_none() {
        match (&request.group, &starts[..]) {
            _ if !context.makes_apart(entries) => {}
            (None, _) => return read_many(context, &request, &starts, entries),
            (Some(read), &[start]) => return read_many_as(context, &request, read, start, entries),
            (Some(_), _) => {}
        }
        context.takes(entries)?;
    }
    let (mut served, mut body) = (0, Vec::new());
    for (name, &start) in request.keys.iter().zip(&starts) {
        let mut reply = Reply::new(&mut body, context.reply.protocol());
        served += usize::from(serve(context, &request, name, start, &mut reply)?);
    }
    if served > 0 {
        open(&mut context.reply, served);
        context.reply.raw(&body);
        return Ok(());
    }
    let Some(timeout) = request.block else {
        context.reply.null_array();
        return Ok(());
    };
    let op = match request.group {
        Some(read) => BlockedOp::ReadGroup(read),
        None => {
            let from = starts.iter().zip(&request.ids).map(|(start, &arg)| match start {
                After::Id(_) if arg == b"+" => ReadFrom::Newest,
                After::Id(id) => ReadFrom::After(*id),
                After::Delivered => unreachable!("only groups read what was not delivered"),
            });
            BlockedOp::Read { from: from.collect(), count: request.count }
        }
    };
    wait_or(context, &request.keys, op, timeout, |reply| reply.null_array())
}

/// XREAD of many entries, which does not wait: from clones of the streams, by a thread for such commands.
fn read_many(
    context: &mut Context<'_>,
    request: &Request<'_>,
    starts: &[After],
    entries: u64,
) -> CommandResult {
    let mut streams = Vec::new();
    for (&name, start) in request.keys.iter().zip(starts) {
        let key = context.key(name);
        let stream: Option<Stream> = context.value_clone(&key)?;
        if let (Some(stream), &After::Id(after)) = (stream, start)
            && has_after(&stream, after)
        {
            streams.push((name, stream, after));
        }
    }
    context.reads(entries)?;
    open(&mut context.reply, streams.len());
    with_scratch(context, |context, scratch| {
        for (name, stream, after) in &streams {
            write_stream(&mut context.reply, name, stream, *after, request.count, scratch);
        }
    });
    Ok(())
}

/// XREADGROUP of many entries of one stream, which does not wait: from a clone of the stream, by a thread for such commands.
fn read_many_as(
    context: &mut Context<'_>,
    request: &Request<'_>,
    read: &GroupRead,
    start: After,
    entries: u64,
) -> CommandResult {
    let key = context.key(request.keys[0]);
    context.worker.stats.hits.add(1);
    let (now, mut effects) = (context.now_ms(), Effects::new(context));
    let (read, name, plan) = (read.clone(), Box::<[u8]>::from(key.bytes), |_: &Stream| (entries, ()));
    let done = context.change_long(
        &key,
        Args::new(&[], &[]),
        plan,
        move |stream: &mut Stream, (), _, reply| -> CommandResult<_> {
            let mark = reply.mark();
            open(reply, 1);
            let served = match start {
                After::Delivered => {
                    deliver_of(stream, &name, &read, now, &mut effects, &mut Vec::new(), reply)?
                }
                After::Id(after) => {
                    history_of(stream, &name, &read, after, now, &mut effects, reply)?;
                    true
                }
            };
            if !served {
                reply.truncate(mark);
            }
            Ok((served, effects))
        },
    )?;
    let (served, effects) = done.expect("the stream was found just now")?;
    note_delivered(context, &key, served, effects);
    if !served {
        context.reply.null_array();
    }
    Ok(())
}

impl<'a> Request<'a> {
    fn parse(args: Args<'a>, as_group: bool, now: u64) -> CommandResult<Request<'a>> {
        let mut request = Request { group: None, count: 0, block: None, keys: Vec::new(), ids: Vec::new() };
        let (mut no_ack, mut at) = (false, 1);
        let only_for_groups = |option: &str| {
            let text =
                format!("ERR The {option} option is only supported by XREADGROUP. You called XREAD instead.");
            if as_group { Ok(()) } else { Err(CommandError::text(text)) }
        };
        while at < args.len() {
            let (word, more) = (args.at(at), args.len() - 1 - at);
            if is_word(word, "block") && more > 0 {
                request.block = Some(number::timeout_ms(args.at(at + 1), now)?);
                at += 2;
            } else if is_word(word, "count") && more > 0 {
                request.count = u64::try_from(number::integer(args.at(at + 1))?).unwrap_or(0);
                at += 2;
            } else if is_word(word, "streams") && more > 0 {
                request.set_streams(args.from(at + 1), as_group)?;
                break;
            } else if is_word(word, "group") && more >= 2 {
                only_for_groups("GROUP")?;
                let (group, consumer) = (args.at(at + 1).into(), args.at(at + 2).into());
                request.group = Some(GroupRead { group, consumer, count: 0, no_ack: false });
                at += 3;
            } else if is_word(word, "noack") {
                only_for_groups("NOACK")?;
                no_ack = true;
                at += 1;
            } else {
                return Err(CommandError::SYNTAX);
            }
        }
        if request.keys.is_empty() {
            return Err(CommandError::SYNTAX);
        }
        match &mut request.group {
            Some(read) => (read.count, read.no_ack) = (request.count, no_ack),
            None if as_group => {
                return Err(CommandError::Fixed("ERR Missing GROUP option for XREADGROUP"));
            }
            None => {}
        }
        Ok(request)
    }

    fn set_streams(&mut self, args: Args<'a>, as_group: bool) -> CommandResult {
        if !args.len().is_multiple_of(2) {
            return Err(CommandError::Fixed(if as_group {
                "ERR Unbalanced 'xreadgroup' list of streams: for each stream key an ID or '>' must be specified."
            } else {
                "ERR Unbalanced 'xread' list of streams: for each stream key an ID or '$' must be specified."
            }));
        }
        let half = args.len() / 2;
        self.keys = args.iter().take(half).collect();
        self.ids = args.iter().skip(half).collect();
        Ok(())
    }
}

/// From where the stream of a key is read, and how many entries these are, as far as that can be told without counting them. For a group: the key
/// and the group exist.
fn start_of(
    context: &mut Context<'_>,
    request: &Request<'_>,
    name: &[u8],
    arg: &[u8],
) -> CommandResult<(After, u64)> {
    let key = context.key(name);
    let group = request.group.as_ref();
    let (last, entries) = context.read_value(&key, |stream: Option<&Stream>, _| {
        let entries = match &request.group {
            None => stream.map_or(0, |stream| entries_after(stream, arg)),
            Some(read) => {
                let of = stream.and_then(|stream| Some((stream, stream.group(&read.group)?)));
                let (stream, group) = of.ok_or_else(|| no_group_to_read(name, &read.group))?;
                entries_for(stream, group, &read.consumer, arg)
            }
        };
        Ok((stream.map_or(StreamId::ZERO, Stream::last_id), entries))
    })?;
    let entries = if request.count == 0 { entries } else { entries.min(request.count) };
    let id = match (arg, group.is_some()) {
        (b">", true) => return Ok((After::Delivered, entries)),
        (b"$", false) => last,
        // The last entry, if it is still there.
        (b"+", false) => last.previous().unwrap_or(last),
        (b"$" | b"+", true) => return Err(meaningless(arg)),
        (b">", false) => {
            return Err(CommandError::Fixed(
                "ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> option.",
            ));
        }
        _ => stream_id::parse_strict(arg, 0)?,
    };
    // The highest id is what a group's reader is taken for that wants what is new.
    let start = if group.is_some() && id == StreamId::MAX { After::Delivered } else { After::Id(id) };
    Ok((start, entries))
}

/// How many entries there are after an id, as far as that can be told without counting: all, or none that are known of.
fn entries_after(stream: &Stream, id: &[u8]) -> u64 {
    let is_before_all = stream_id::parse_strict(id, 0).is_ok_and(|id| id < stream.first_id());
    if is_before_all { stream.len() } else { 0 }
}

/// The same of those that a consumer of a group gets for an id.
fn entries_for(stream: &Stream, group: &Group, consumer: &[u8], id: &[u8]) -> u64 {
    if id == b">" {
        return stream.lag(group).and_then(|lag| u64::try_from(lag).ok()).unwrap_or(0);
    }
    group.find(consumer).map_or(0, |consumer| group.consumer(consumer).pending_len())
}

/// An id that stands for the end of the stream.
fn meaningless(arg: &[u8]) -> CommandError {
    super::error_with(
        &[
            "ERR The ",
            " ID is meaningless in the context of XREADGROUP: you want to read the history of this consumer by specifying \
             a proper ID, or use the > ID to get new messages. The ",
            " ID would just return an empty result set.",
        ],
        &[arg, arg],
    )
}

/// Writes what there is to read of a stream, with its name; false, and nothing is written, if that is nothing.
fn serve(
    context: &mut Context<'_>,
    request: &Request<'_>,
    name: &[u8],
    start: After,
    reply: &mut Reply<'_>,
) -> CommandResult<bool> {
    let key = context.key(name);
    if request.group.is_some() {
        // The stream is looked up a second time, as in Valkey.
        context.worker.stats.hits.add(1);
    }
    match (start, &request.group) {
        (After::Delivered, Some(read)) => deliver(context, &key, read, reply),
        (After::Id(after), Some(read)) => history(context, &key, read, after, reply).map(|()| true),
        (After::Id(after), None) => write_from(context, &key, ReadFrom::After(after), request.count, reply),
        (After::Delivered, None) => Ok(false),
    }
}

/// Writes what a consumer has got and not acknowledged after `after`. Entries that are gone come without their fields.
fn history(
    context: &mut Context<'_>,
    key: &Key<'_>,
    read: &GroupRead,
    after: StreamId,
    reply: &mut Reply<'_>,
) -> CommandResult {
    let (now, mut effects) = (context.now_ms(), Effects::new(context));
    context.with_value(key, |stream: &mut Stream, _| {
        history_of(stream, key.bytes, read, after, now, &mut effects, reply)
    })?;
    note_delivered(context, key, true, effects);
    Ok(())
}

/// The same for a stream at hand.
fn history_of(
    stream: &mut Stream,
    name: &[u8],
    read: &GroupRead,
    after: StreamId,
    now: u64,
    effects: &mut Effects,
    reply: &mut Reply<'_>,
) -> CommandResult {
    let Some(group) = stream.group_mut(&read.group) else { return Err(no_group(name, &read.group)) };
    let consumer = consumer_of(group, &read.consumer, now, effects);
    let mut pending = Vec::new();
    if let Some(from) = after.next() {
        group.for_each_pending_of(consumer, from, |entry| {
            pending.push(entry);
            let enough = pending.len() as u64 == read.count;
            if enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
    }
    open_pair(reply, name);
    reply.array(pending.len());
    let mut lookup = stream.lookup();
    pending.retain(|pending| {
        let is_there = lookup.with_entry(pending.id, |entry| write_entry(reply, &entry)).is_some();
        if !is_there {
            reply.array(2);
            write_id(reply, pending.id);
            reply.null_array();
        }
        is_there
    });
    let group = stream.group_mut(&read.group).expect("the group was found just now");
    effects.consumer(group, &read.consumer);
    for entry in pending {
        group.put(Pending { time_ms: now, count: entry.count.saturating_add(1), ..entry });
        effects.pending(group, entry.id);
    }
    Ok(())
}
