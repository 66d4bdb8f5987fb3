//! Streams: their nodes as they are, and their groups.

use super::output::Output;
use crate::format::{Version, kind};
use larder_collections::stream::{Group, Pending, Stream, StreamId};
use std::io::{self, Write};
use std::ops::ControlFlow;

/// The type byte. Older versions lose when a consumer last got anything.
pub fn type_of(version: Version) -> u8 {
    if version >= Version::V11 { kind::STREAM_3 } else { kind::STREAM_2 }
}

/// Writes a stream as this type.
pub fn write(output: &mut Output<impl Write>, stream: &Stream, kind: u8) -> io::Result<()> {
    output.length(stream.entry_node_count())?;
    let mut result = Ok(());
    stream.for_each_node(|base, node| {
        if result.is_ok() {
            result = output.plain(&base.to_bytes()).and_then(|()| output.string(node.as_bytes()));
        }
    });
    result?;
    output.length(stream.len())?;
    write_id(output, stream.last_id())?;
    write_id(output, stream.first_id())?;
    write_id(output, stream.max_deleted_id())?;
    output.length(stream.entries_added())?;
    output.length(stream.group_count() as u64)?;
    stream.groups().try_for_each(|group| write_group(output, group, kind))
}

fn write_id(output: &mut Output<impl Write>, id: StreamId) -> io::Result<()> {
    output.length(id.ms)?;
    output.length(id.seq)
}

fn write_group(output: &mut Output<impl Write>, group: &Group, kind: u8) -> io::Result<()> {
    output.string(group.name())?;
    write_id(output, group.last_id)?;
    output.length(group.entries_read.unwrap_or(u64::MAX))?;
    output.length(group.pending_len())?;
    let mut result = Ok(());
    group.for_each_pending(StreamId::ZERO, |pending| {
        result = write_pending(output, &pending);
        if result.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    result?;
    output.length(group.consumer_count() as u64)?;
    for (id, consumer) in group.consumers() {
        output.string(consumer.name())?;
        output.raw(&consumer.seen_ms.to_le_bytes())?;
        if kind == kind::STREAM_3 {
            let active = consumer.active_ms.map_or(-1, |ms| ms as i64);
            output.raw(&active.to_le_bytes())?;
        }
        output.length(consumer.pending_len())?;
        let mut result = Ok(());
        group.for_each_pending_of(id, StreamId::ZERO, |pending| {
            result = output.raw(&pending.id.to_bytes());
            if result.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        result?;
    }
    Ok(())
}

fn write_pending(output: &mut Output<impl Write>, pending: &Pending) -> io::Result<()> {
    output.raw(&pending.id.to_bytes())?;
    output.raw(&pending.time_ms.to_le_bytes())?;
    output.length(pending.count)
}
