//! Streams: every form that they were ever saved in.
//!
//! ```text
//!  stream     nodes | ( base id, a string of 16 bytes | listpack ) .. | entries | last id
//!             | since STREAM_2: first id, highest deleted id, entries ever added | groups | group ..
//!  group      name | last id | since STREAM_2: entries read
//!             | pending ones | ( raw id | time i64 | deliveries ) .. | consumers | consumer ..
//!  consumer   name | seen i64 | since STREAM_3: active i64 | pending ones | raw id ..
//! ```
//! An id is two lengths; a raw one is 16 bytes, big endian. Times are in ms since 1970.
//!
//! Nodes are taken as they are in the file once every byte of them is checked, and so are the lists of pending entries,
//! which must fit each other.

use super::input::Input;
use crate::error::{Error, Result};
use crate::format::kind;
use larder_collections::stream::{ConsumerId, Group, LoadError, Loader, Pending, Stream, StreamId};
use std::io::BufRead;

/// Reads a stream of this type.
pub fn read(input: &mut Input<impl BufRead>, kind: u8) -> Result<Stream> {
    let mut loader = Loader::default();
    for _ in 0..input.length()? {
        let base = <[u8; 16]>::try_from(input.string()?);
        let base = base.map_err(|_| Error::Damaged("a stream node ID that is not 16 bytes long"))?;
        loader.add_node(StreamId::from_bytes(base), &input.string()?)?;
    }
    let (len, last_id) = (input.length()?, read_id(input)?);
    let mut stream = loader.finish(len, last_id)?;
    if kind != kind::STREAM {
        // The first id is that of the first entry.
        read_id(input)?;
        stream.set_max_deleted_id(read_id(input)?);
        stream.set_entries_added(input.length()?);
    }
    for _ in 0..input.length()? {
        let group = read_group(input, kind, &stream)?;
        if !stream.add_group(group) {
            return Err(Error::Damaged("a duplicate consumer group"));
        }
    }
    Ok(stream)
}

fn read_id(input: &mut Input<impl BufRead>) -> Result<StreamId> {
    Ok(StreamId::new(input.length()?, input.length()?))
}

fn raw_id(input: &mut Input<impl BufRead>) -> Result<StreamId> {
    input.array().map(StreamId::from_bytes)
}

/// A time that is not below zero, which is what an older server may say of one that it does not know.
fn time(input: &mut Input<impl BufRead>) -> Result<Option<u64>> {
    Ok(u64::try_from(i64::from_le_bytes(input.array()?)).ok())
}

/// An entry of a group's list, whose consumer comes later.
struct Unowned {
    id: StreamId,
    time_ms: u64,
    count: u64,
    consumer: Option<ConsumerId>,
}

fn read_group(input: &mut Input<impl BufRead>, kind: u8, stream: &Stream) -> Result<Group> {
    let (name, last_id) = (input.string()?, read_id(input)?);
    let entries_read = match kind {
        kind::STREAM => stream.entries_up_to(last_id),
        _ => Some(input.length()?).filter(|&count| count <= i64::MAX as u64),
    };
    let mut group = Group::new(&name, last_id, entries_read);
    let mut list: Vec<Unowned> = Vec::new();
    for _ in 0..input.length()? {
        let (id, time_ms, count) = (raw_id(input)?, time(input)?.unwrap_or(0), input.length()?);
        if list.last().is_some_and(|last| last.id >= id) {
            return Err(Error::Damaged("pending entries out of order"));
        }
        list.push(Unowned { id, time_ms, count, consumer: None });
    }
    for _ in 0..input.length()? {
        read_consumer(input, kind, &mut group, &mut list)?;
    }
    // In order of ids, so that they are packed tight.
    for Unowned { id, time_ms, count, consumer } in list {
        let consumer = consumer.ok_or(Error::Damaged("a pending entry without a consumer"))?;
        group.put(Pending { id, consumer, time_ms, count });
    }
    Ok(group)
}

fn read_consumer(
    input: &mut Input<impl BufRead>,
    kind: u8,
    group: &mut Group,
    list: &mut [Unowned],
) -> Result<()> {
    let name = input.string()?;
    let seen = time(input)?;
    let active = if kind == kind::STREAM_3 { time(input)? } else { seen };
    let id = group.create(&name, seen.unwrap_or(0)).ok_or(Error::Damaged("a duplicate consumer"))?;
    group.consumer_mut(id).active_ms = active;
    for _ in 0..input.length()? {
        let pending = raw_id(input)?;
        let at = list.binary_search_by_key(&pending, |entry| entry.id);
        let at = at.map_err(|_| Error::Damaged("a consumer's pending entry that its group does not have"))?;
        if list[at].consumer.replace(id).is_some() {
            return Err(Error::Damaged("a pending entry that belongs to two consumers"));
        }
    }
    Ok(())
}

impl From<LoadError> for Error {
    fn from(error: LoadError) -> Self {
        Error::Damaged(match error {
            LoadError::Node => "not a stream node",
            LoadError::Order => "entries of a stream out of order",
            LoadError::Length => "a stream whose length differs from that of its nodes",
        })
    }
}
