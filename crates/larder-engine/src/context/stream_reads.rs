//! Reading streams, alone or as a consumer of a group: what XREAD and XREADGROUP do at once, and what is done for those who wait
//! when there are entries.

use crate::context::Context;
use crate::context::stream_effects::Effects;
use crate::context::stream_replies::{with_scratch, write_counted, write_entry, write_range};
use crate::delivery::unblock::no_group_to_read;
use crate::error::{CommandError, CommandResult};
use crate::keyspace::key::Key;
use crate::keyspace::waiting::{GroupRead, ReadFrom};
use crate::text::word::error_with;
use larder_collections::key_table::ValueRef;
use larder_collections::stream::{ConsumerId, Group, Order, Pending, Stream, StreamId};
use larder_collections::value::Value;
use larder_resp::Reply;
use std::ops::ControlFlow;

/// Opens the reply for this many streams, each a pair of name and entries.
pub(crate) fn open(reply: &mut Reply<'_>, streams: usize) {
    if reply.is_resp3() { reply.map(streams) } else { reply.array(streams) }
}

/// Opens the pair of a stream.
pub(crate) fn open_pair(reply: &mut Reply<'_>, name: &[u8]) {
    if !reply.is_resp3() {
        reply.array(2);
    }
    reply.bulk(name);
}

/// Writes up to `count` entries, all if `count` is 0. False if there are none: nothing is written then.
pub(crate) fn write_from(
    context: &mut Context<'_>,
    key: &Key<'_>,
    from: ReadFrom,
    count: u64,
    reply: &mut Reply<'_>,
) -> CommandResult<bool> {
    with_scratch(context, |context, scratch| {
        context.read_value(key, |stream: Option<&Stream>, _| {
            let Some(stream) = stream else { return Ok(false) };
            let after = from.after(stream.last_id());
            let has_any = has_after(stream, after);
            if has_any {
                write_stream(reply, key.bytes, stream, after, count, scratch);
            }
            Ok(has_any)
        })
    })
}

/// Writes a stream with its name: up to `count` entries after `after`, all if `count` is 0.
pub(crate) fn write_stream(
    reply: &mut Reply<'_>,
    name: &[u8],
    stream: &Stream,
    after: StreamId,
    count: u64,
    scratch: &mut Vec<u8>,
) {
    open_pair(reply, name);
    write_counted(reply, scratch, |reply| match after.next() {
        Some(from) => write_range(reply, stream, (from, StreamId::MAX), Order::Ascending, count),
        None => 0,
    });
}

/// Whether there is an entry after this id.
pub(crate) fn has_after(stream: &Stream, after: StreamId) -> bool {
    stream.last_id() > after && stream.last_entry_id().is_some_and(|last| last > after)
}

/// Delivers what the group has not delivered yet, if there is any.
pub(crate) fn deliver(
    context: &mut Context<'_>,
    key: &Key<'_>,
    read: &GroupRead,
    reply: &mut Reply<'_>,
) -> CommandResult<bool> {
    let (now, mut effects) = (context.now_ms(), Effects::new(context));
    let delivered = with_scratch(context, |context, scratch| {
        context.with_value(key, |stream: &mut Stream, _| {
            deliver_of(stream, key.bytes, read, now, &mut effects, scratch, reply)
        })
    })?;
    note_delivered(context, key, delivered.unwrap_or(false), effects);
    Ok(delivered.unwrap_or(false))
}

/// The same for a stream at hand. False: there is nothing, and nothing has been written.
pub(crate) fn deliver_of(
    stream: &mut Stream,
    name: &[u8],
    read: &GroupRead,
    now: u64,
    effects: &mut Effects,
    scratch: &mut Vec<u8>,
    reply: &mut Reply<'_>,
) -> CommandResult<bool> {
    let Some(group) = stream.group_mut(&read.group) else { return Err(no_group(name, &read.group)) };
    // The consumer is there from its first attempt on, whether or not there is anything for it.
    let is_new = group.find(&read.consumer).is_none();
    consumer_of(group, &read.consumer, now, effects);
    let after = group.last_id;
    let Some(from) = after.next().filter(|_| has_after(stream, after)) else {
        if let Some(group) = stream.group(&read.group).filter(|_| is_new) {
            effects.consumer(group, &read.consumer);
        }
        return Ok(false);
    };
    open_pair(reply, name);
    let mut ids = Vec::new();
    write_counted(reply, scratch, |reply| {
        stream.range(from, StreamId::MAX, Order::Ascending, |entry| {
            write_entry(reply, &entry);
            ids.push(entry.id);
            if ids.len() as u64 == read.count { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        ids.len()
    });
    note_delivery(stream, read, &ids, now, effects);
    Ok(true)
}

/// Counts what has come of delivering to a consumer, and tells everybody.
pub(crate) fn note_delivered(context: &mut Context<'_>, key: &Key<'_>, delivered: bool, effects: Effects) {
    changed_quietly(context, u64::from(delivered) + u64::from(effects.has_created()));
    effects.tell(context, key);
}

/// Writes down that a consumer has got these entries, which follow what the group has delivered before.
pub(crate) fn note_delivery(
    stream: &mut Stream,
    read: &GroupRead,
    ids: &[StreamId],
    now: u64,
    effects: &mut Effects,
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
    }
    if !read.no_ack {
        if !ids.is_empty() {
            group.consumer_mut(consumer).active_ms = Some(now);
        }
        ids.iter().for_each(|&id| group.put(Pending { id, consumer, time_ms: now, count: 1 }));
        ids.iter().for_each(|&id| effects.pending(group, id));
    } else {
        effects.consumer(group, &read.consumer);
    }
    effects.progress(group);
}

/// The consumer of a name, created if need be, and seen now.
pub(crate) fn consumer_of(group: &mut Group, name: &[u8], now: u64, effects: &mut Effects) -> ConsumerId {
    let consumer = group.find(name).unwrap_or_else(|| {
        effects.created();
        group.create(name, now).expect("a name that is not taken can be given")
    });
    group.consumer_mut(consumer).seen_ms = now;
    consumer
}

/// Serves a client that waited for entries: those after an id in each of the streams, all of which have some.
pub(crate) fn serve_reader(
    context: &mut Context<'_>,
    streams: &[(Key<'_>, ReadFrom)],
    count: u64,
    reply: &mut Reply<'_>,
) -> CommandResult {
    open(reply, streams.len());
    streams.iter().try_for_each(|(key, from)| write_from(context, key, *from, count, reply).map(drop))
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

/// Whether a stream has an entry for a client that reads it.
pub(crate) fn has_entries(context: &mut Context<'_>, key: &Key<'_>, from: ReadFrom) -> bool {
    context.peek(key, |entry| match entry.map(|entry| entry.value()) {
        Some(ValueRef::Out(value)) => {
            matches!(&*value, Value::Stream(stream) if has_after(stream, from.after(stream.last_id())))
        }
        _ => false,
    })
}

/// Whether there is something to deliver to a consumer that waits; an error if its group is gone.
pub(crate) fn has_unread(context: &mut Context<'_>, key: &Key<'_>, read: &GroupRead) -> CommandResult<bool> {
    context.read_value(key, |stream: Option<&Stream>, _| {
        let found = stream.and_then(|stream| Some((stream, stream.group(&read.group)?)));
        let (stream, group) = found.ok_or_else(|| no_group_to_read(key.bytes, &read.group))?;
        Ok(has_after(stream, group.last_id))
    })
}

/// Counts a change that those who watch the key do not care for.
pub(crate) fn changed_quietly(context: &Context<'_>, count: u64) {
    context.worker.stats.dirty.add(count);
}

/// Neither the key nor the group exists, or only the key does.
pub(crate) fn no_group(key: &[u8], group: &[u8]) -> CommandError {
    error_with(&["NOGROUP No such key '", "' or consumer group '", "'"], &[key, group])
}
