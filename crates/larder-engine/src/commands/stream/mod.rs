//! The stream commands.

mod add;
mod claim;
mod effects;
mod group;
mod id;
mod info;
mod pending;
mod range;
mod read;
mod table;

pub(crate) use effects::claim;
pub(crate) use id::IdText;
pub(crate) use read::{
    GroupRead, has_entries_after, has_news, no_group_to_read, serve_group_reader, serve_reader,
};
pub(crate) use table::TABLE;

use crate::context::{Context, Kind};
use crate::error::{CommandError, CommandResult};
use crate::serve::write_element;
use crate::shard::Key;
use larder_collections::stream::{Entry, Order, Stream, StreamId};
use larder_resp::Reply;
use std::ops::ControlFlow;

/// Writes an id.
fn write_id(reply: &mut Reply<'_>, id: StreamId) {
    reply.bulk(IdText::of(id).as_bytes());
}

/// Writes an entry: its id, and its fields and values in turns.
fn write_entry(reply: &mut Reply<'_>, entry: &Entry<'_>) {
    reply.array(2);
    write_id(reply, entry.id);
    reply.array(2 * entry.pairs());
    entry.for_each(|field, value| {
        write_element(reply, field);
        write_element(reply, value);
    });
}

/// Calls `fill` to write items, and puts the header of an array of so many before them.
fn write_counted(reply: &mut Reply<'_>, scratch: &mut Vec<u8>, fill: impl FnOnce(&mut Reply<'_>) -> usize) {
    scratch.clear();
    let count = fill(&mut Reply::new(scratch, reply.protocol()));
    reply.array(count);
    reply.raw(scratch);
}

/// Lets `f` use the worker's buffer.
fn with_scratch<'a, R>(context: &mut Context<'a>, f: impl FnOnce(&mut Context<'a>, &mut Vec<u8>) -> R) -> R {
    let mut scratch = std::mem::take(&mut context.worker.scratch);
    let result = f(context, &mut scratch);
    scratch.clear();
    scratch.shrink_to(1 << 20);
    context.worker.scratch = scratch;
    result
}

/// Writes up to `count` entries, all of them when that is zero; returns how many.
fn write_range(
    reply: &mut Reply<'_>,
    stream: &Stream,
    (from, to): (StreamId, StreamId),
    order: Order,
    count: u64,
) -> usize {
    let mut written = 0;
    stream.range(from, to, order, |entry| {
        write_entry(reply, &entry);
        written += 1;
        if written as u64 == count { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    written
}

/// Writes an entry if it exists.
fn write_one(reply: &mut Reply<'_>, stream: &Stream, id: StreamId) -> bool {
    stream.with_entry(id, |entry| write_entry(reply, &entry)).is_some()
}

/// Works on the stream of a key, which counts as reading it; `None` if there is no such key.
fn with_looked_up<'a, R>(
    context: &mut Context<'a>,
    key: &Key<'_>,
    f: impl FnOnce(&mut Stream, &mut Reply<'a>) -> CommandResult<R>,
) -> CommandResult<Option<R>> {
    let result = context.with_value(key, f);
    if matches!(result, Ok(None)) {
        context.worker.stats.misses.add(1);
        context.notify_miss(key);
    } else {
        context.worker.stats.hits.add(1);
    }
    result
}

/// Counts a change that those who watch the key do not care for.
fn changed_quietly(context: &Context<'_>, count: u64) {
    context.worker.stats.dirty.add(count);
}

/// Whether a key holds a stream; an error if it holds something else.
fn is_stream(context: &mut Context<'_>, key: &Key<'_>) -> CommandResult<bool> {
    match context.kind(key) {
        None => Ok(false),
        Some(Kind::Stream) => Ok(true),
        Some(_) => Err(CommandError::WRONG_TYPE),
    }
}

/// Puts texts of the request into an error: each of `parts` follows a piece of `text`.
fn error_with(text: &[&str], parts: &[&[u8]]) -> CommandError {
    let mut bytes = Vec::new();
    for (i, piece) in text.iter().enumerate() {
        bytes.extend_from_slice(piece.as_bytes());
        let part = parts.get(i).copied().unwrap_or(b"");
        // Where C prints a string it ends at a zero byte.
        bytes.extend_from_slice(part.split(|&b| b == 0).next().unwrap_or(b""));
    }
    CommandError::Text(bytes)
}

/// Neither the key nor the group exists, or only the key does.
fn no_group(key: &[u8], group: &[u8]) -> CommandError {
    error_with(&["NOGROUP No such key '", "' or consumer group '", "'"], &[key, group])
}

/// The key exists, but not the group.
fn no_such_group(key: &[u8], group: &[u8]) -> CommandError {
    error_with(&["NOGROUP No such consumer group '", "' for key name '", "'"], &[group, key])
}

/// A subcommand got arguments that it does not take.
fn bad_subcommand(container: &str, name: &[u8]) -> CommandError {
    let name = &name[..name.len().min(128)];
    let tail = format!("'. Try {container} HELP.");
    error_with(&["ERR unknown subcommand or wrong number of arguments for '", &tail], &[name])
}
