//! XREAD and XREADGROUP, at once or by waiting.

use super::effects::Effects;
use super::{
    changed_quietly, id, no_group, with_scratch, write_counted, write_entry, write_id, write_one, write_range,
};
use crate::blocking::Wish;
use crate::commands::{is_word, list::wait_or};
use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::number;
use crate::shard::Key;
use larder_collections::key_table::ValueRef;
use larder_collections::stream::{ConsumerId, Group, Order, Pending, Stream, StreamId};
use larder_collections::value::Value;
use larder_resp::{Args, Reply};
use std::ops::ControlFlow;

/// What a consumer of a group asks for.
#[derive(Clone, Debug)]
pub(crate) struct GroupRead {
    pub(crate) group: Box<[u8]>,
    consumer: Box<[u8]>,
    /// 0 for no limit.
    count: u64,
    /// What is delivered counts as acknowledged.
    no_ack: bool,
}

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
    let mut starts = Vec::with_capacity(request.keys.len());
    for (name, arg) in request.keys.iter().zip(&request.ids) {
        starts.push(start_of(context, &request, name, arg)?);
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
    let wish = match request.group {
        Some(read) => Wish::ReadGroup(read),
        None => {
            let after = starts.iter().map(|start| match start {
                After::Id(id) => *id,
                After::Delivered => unreachable!("only groups read what was not delivered"),
            });
            Wish::Read { after: after.collect(), count: request.count }
        }
    };
    wait_or(context, &request.keys, wish, timeout, |reply| reply.null_array())
}

/// Opens the reply for so many streams, each a pair of name and entries.
fn open(reply: &mut Reply<'_>, streams: usize) {
    if reply.is_resp3() { reply.map(streams) } else { reply.array(streams) }
}

/// Opens the pair of a stream.
fn open_pair(reply: &mut Reply<'_>, name: &[u8]) {
    if !reply.is_resp3() {
        reply.array(2);
    }
    reply.bulk(name);
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
                request.block = Some(timeout_ms(args.at(at + 1), now)?);
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

/// Milliseconds to wait; 0 waits for ever.
fn timeout_ms(arg: &[u8], now: u64) -> CommandResult<u64> {
    let ms = number::parse_i64(arg);
    let ms = ms.ok_or(CommandError::Fixed("ERR timeout is not an integer or out of range"))?;
    let ms = u64::try_from(ms).map_err(|_| CommandError::TIMEOUT_NEGATIVE)?;
    if ms > i64::MAX as u64 - now { Err(CommandError::TIMEOUT_OUT_OF_RANGE) } else { Ok(ms) }
}

/// From where the stream of a key is read. For a group: the key and the group exist.
fn start_of(
    context: &mut Context<'_>,
    request: &Request<'_>,
    name: &[u8],
    arg: &[u8],
) -> CommandResult<After> {
    let key = context.key(name);
    let group = request.group.as_ref().map(|read| &read.group);
    let last = context.read_value(&key, |stream: Option<&Stream>, _| {
        if let Some(group) = group
            && stream.and_then(|stream| stream.group(group)).is_none()
        {
            return Err(no_group_to_read(name, group));
        }
        Ok(stream.map_or(StreamId::ZERO, Stream::last_id))
    })?;
    let id = match (arg, group.is_some()) {
        (b">", true) => return Ok(After::Delivered),
        (b"$", false) => last,
        // The last entry, if it is still there.
        (b"+", false) => last.previous().unwrap_or(last),
        (b"$" | b"+", true) => return Err(meaningless(arg)),
        (b">", false) => {
            return Err(CommandError::Fixed(
                "ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> option.",
            ));
        }
        _ => id::parse_strict(arg, 0)?,
    };
    // The highest id is what a group's reader is taken for that wants what is new.
    Ok(if group.is_some() && id == StreamId::MAX { After::Delivered } else { After::Id(id) })
}

/// The group that is to be read does not exist, or not any more.
pub(crate) fn no_group_to_read(key: &[u8], group: &[u8]) -> CommandError {
    let tail = "' in XREADGROUP with GROUP option";
    super::error_with(&["NOGROUP No such key '", "' or consumer group '", tail], &[key, group])
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
    match (start, &request.group) {
        (After::Delivered, Some(read)) => deliver(context, &key, read, reply),
        (After::Id(after), Some(read)) => history(context, &key, read, after, reply).map(|()| true),
        (After::Id(after), None) => write_after(context, &key, after, request.count, reply),
        (After::Delivered, None) => Ok(false),
    }
}

/// Writes up to `count` entries behind `after`.
fn write_after(
    context: &mut Context<'_>,
    key: &Key<'_>,
    after: StreamId,
    count: u64,
    reply: &mut Reply<'_>,
) -> CommandResult<bool> {
    with_scratch(context, |context, scratch| {
        context.read_value(key, |stream: Option<&Stream>, _| {
            let Some((stream, from)) =
                stream.zip(after.next()).filter(|(stream, _)| has_after(stream, after))
            else {
                return Ok(false);
            };
            open_pair(reply, key.bytes);
            write_counted(reply, scratch, |reply| {
                write_range(reply, stream, (from, StreamId::MAX), Order::Ascending, count)
            });
            Ok(true)
        })
    })
}

/// Whether there is an entry behind this id.
fn has_after(stream: &Stream, after: StreamId) -> bool {
    stream.last_id() > after && stream.last_entry_id().is_some_and(|last| last > after)
}

/// Delivers what the group has not delivered yet, if there is any.
fn deliver(
    context: &mut Context<'_>,
    key: &Key<'_>,
    read: &GroupRead,
    reply: &mut Reply<'_>,
) -> CommandResult<bool> {
    let (now, mut effects) = (context.now_ms(), Effects::new(context, key.bytes));
    let delivered = with_scratch(context, |context, scratch| {
        context.with_value(key, |stream: &mut Stream, _| {
            let Some(group) = stream.group_mut(&read.group) else {
                return Err(no_group(key.bytes, &read.group));
            };
            // The consumer is there from its first attempt on, whether or not there is anything for it.
            let is_new = group.find(&read.consumer).is_none();
            consumer_of(group, &read.consumer, now, &mut effects);
            let after = group.last_id;
            let Some(from) = after.next().filter(|_| has_after(stream, after)) else {
                if let Some(group) = stream.group(&read.group).filter(|_| is_new) {
                    effects.consumer(group, &read.consumer);
                }
                return Ok(false);
            };
            open_pair(reply, key.bytes);
            let mut ids = Vec::new();
            write_counted(reply, scratch, |reply| {
                stream.range(from, StreamId::MAX, Order::Ascending, |entry| {
                    write_entry(reply, &entry);
                    ids.push(entry.id);
                    if ids.len() as u64 == read.count {
                        ControlFlow::Break(())
                    } else {
                        ControlFlow::Continue(())
                    }
                });
                ids.len()
            });
            note_delivery(stream, read, &ids, now, &mut effects);
            Ok(true)
        })
    })?;
    let delivered = delivered.unwrap_or(false);
    changed_quietly(context, u64::from(delivered) + u64::from(effects.has_created()));
    effects.tell(context);
    Ok(delivered)
}

/// Writes down that a consumer has got these entries, which follow what the group has delivered before.
fn note_delivery(
    stream: &mut Stream,
    read: &GroupRead,
    ids: &[StreamId],
    now: u64,
    effects: &mut Effects<'_>,
) {
    let group = stream.group(&read.group).expect("the group was found just now");
    let (mut count, mut last) = (group.entries_read, group.last_id);
    for &id in ids {
        count = stream.entries_read(count, last, id);
        last = id;
    }
    let group = stream.group_mut(&read.group).expect("the group was found just now");
    let consumer = consumer_of(group, &read.consumer, now, effects);
    group.entries_read = count;
    if let Some(&last) = ids.last() {
        group.last_id = last;
        group.consumer_mut(consumer).active_ms = Some(now);
    }
    if !read.no_ack {
        ids.iter().for_each(|&id| group.put(Pending { id, consumer, time_ms: now, count: 1 }));
        ids.iter().for_each(|&id| effects.pending(group, id));
    } else {
        effects.consumer(group, &read.consumer);
    }
    effects.progress(group);
}

/// The consumer of a name, created if need be, and seen now.
pub(super) fn consumer_of(group: &mut Group, name: &[u8], now: u64, effects: &mut Effects<'_>) -> ConsumerId {
    let consumer = group.find(name).unwrap_or_else(|| {
        effects.created();
        group.create(name, now).expect("a name that is not taken can be given")
    });
    group.consumer_mut(consumer).seen_ms = now;
    consumer
}

/// Writes what a consumer has got and not acknowledged behind `after`. Entries that are gone come without their fields.
fn history(
    context: &mut Context<'_>,
    key: &Key<'_>,
    read: &GroupRead,
    after: StreamId,
    reply: &mut Reply<'_>,
) -> CommandResult {
    let (now, mut effects) = (context.now_ms(), Effects::new(context, key.bytes));
    context.with_value(key, |stream: &mut Stream, _| {
        let Some(group) = stream.group_mut(&read.group) else { return Err(no_group(key.bytes, &read.group)) };
        let consumer = consumer_of(group, &read.consumer, now, &mut effects);
        let mut pending = Vec::new();
        if let Some(from) = after.next() {
            group.for_each_pending_of(consumer, from, |entry| {
                pending.push(entry);
                let enough = pending.len() as u64 == read.count;
                if enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
        }
        open_pair(reply, key.bytes);
        reply.array(pending.len());
        pending.retain(|entry| {
            let exists = write_one(reply, stream, entry.id);
            if !exists {
                reply.array(2);
                write_id(reply, entry.id);
                reply.null_array();
            }
            exists
        });
        let group = stream.group_mut(&read.group).expect("the group was found just now");
        effects.consumer(group, &read.consumer);
        for entry in pending {
            group.put(Pending { time_ms: now, count: entry.count.saturating_add(1), ..entry });
            effects.pending(group, entry.id);
        }
        Ok(())
    })?;
    changed_quietly(context, 1 + u64::from(effects.has_created()));
    effects.tell(context);
    Ok(())
}

/// Serves a client that waited for entries: those after an id in each of the streams, all of which have some.
pub(crate) fn serve_reader(
    context: &mut Context<'_>,
    streams: &[(Key<'_>, StreamId)],
    count: u64,
    reply: &mut Reply<'_>,
) -> CommandResult {
    open(reply, streams.len());
    streams.iter().try_for_each(|(key, after)| write_after(context, key, *after, count, reply).map(drop))
}

/// Whether a stream has an entry after an id.
pub(crate) fn has_entries_after(context: &mut Context<'_>, key: &Key<'_>, after: StreamId) -> bool {
    context.peek(key, |entry| match entry.map(|entry| entry.value()) {
        Some(ValueRef::Out(value)) => matches!(&*value, Value::Stream(stream) if has_after(stream, after)),
        _ => false,
    })
}

/// Whether there is something to deliver to a consumer that waits; an error if its group is gone.
pub(crate) fn has_news(context: &mut Context<'_>, key: &Key<'_>, read: &GroupRead) -> CommandResult<bool> {
    context.read_value(key, |stream: Option<&Stream>, _| {
        let found = stream.and_then(|stream| Some((stream, stream.group(&read.group)?)));
        let (stream, group) = found.ok_or_else(|| no_group_to_read(key.bytes, &read.group))?;
        Ok(has_after(stream, group.last_id))
    })
}

/// Serves a consumer that waited: all the streams have something for it.
pub(crate) fn serve_group_reader(
    context: &mut Context<'_>,
    keys: &[Key<'_>],
    read: &GroupRead,
    reply: &mut Reply<'_>,
) -> CommandResult {
    open(reply, keys.len());
    keys.iter().try_for_each(|key| deliver(context, key, read, reply).map(drop))
}
