//! Entries of streams in replies.

use crate::context::Context;
use crate::context::replies::write_element;
use crate::text::stream_id::IdText;
use larder_collections::stream::{Entry, Order, Stream, StreamId};
use larder_resp::Reply;
use std::ops::ControlFlow;

/// Writes an id.
pub(crate) fn write_id(reply: &mut Reply<'_>, id: StreamId) {
    reply.bulk(IdText::of(id).as_bytes());
}

/// Writes an entry: its id, and its fields and values in turns.
pub(crate) fn write_entry(reply: &mut Reply<'_>, entry: &Entry<'_>) {
    reply.array(2);
    write_id(reply, entry.id);
    reply.array(2 * entry.pairs());
    entry.for_each(|field, value| {
        write_element(reply, field);
        write_element(reply, value);
    });
}

/// Calls `fill` to write items, and puts the header of an array of this many before them.
pub(crate) fn write_counted(
    reply: &mut Reply<'_>,
    scratch: &mut Vec<u8>,
    fill: impl FnOnce(&mut Reply<'_>) -> usize,
) {
    scratch.clear();
    let count = fill(&mut Reply::new(scratch, reply.protocol()));
    reply.array(count);
    reply.raw(scratch);
}

/// Lets `f` use the worker's buffer.
pub(crate) fn with_scratch<'a, R>(
    context: &mut Context<'a>,
    f: impl FnOnce(&mut Context<'a>, &mut Vec<u8>) -> R,
) -> R {
    let mut scratch = std::mem::take(&mut context.worker.scratch);
    let result = f(context, &mut scratch);
    scratch.clear();
    scratch.shrink_to(1 << 20);
    context.worker.scratch = scratch;
    result
}

/// Writes up to `count` entries, all of them when that is zero; returns how many.
pub(crate) fn write_range(
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
