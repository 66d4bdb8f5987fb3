//! Packets from bytes.

use super::extension::Extensions;
use super::gossip::{ENTRY_BYTES, GossipList};
use super::header::{self, LIGHT_BYTES, Slots};
use super::malformed::Malformed;
use super::message::{Greeting, Kind, Message, Packet};
use super::start::{LIGHT, SIGNATURE, Start};
use super::wire::Reader;
use crate::id::{ID_BYTES, NodeId};

/// The length of the packet with which bytes begin; `None` while there are fewer than the 8 bytes that say
/// it. An error means that nothing more of the connection can be understood.
///
/// A length is what the sender says: the caller that collects the packet should make room as its bytes come.
pub fn packet_len(bytes: &[u8]) -> Result<Option<usize>, Malformed> {
    let seen = bytes.len().min(SIGNATURE.len());
    if bytes[..seen] != SIGNATURE[..seen] {
        return Err(Malformed::Signature);
    }
    let Some(len) = bytes.get(4..8) else { return Ok(None) };
    let len = u32::from_be_bytes(len.try_into().expect("there are four")) as usize;
    if len < LIGHT_BYTES { Err(Malformed::Length) } else { Ok(Some(len)) }
}

/// Reads a packet from all of these bytes. O(1), and O(extensions).
pub fn decode(bytes: &[u8]) -> Result<Packet<'_>, Malformed> {
    let mut reader = Reader(bytes);
    let start = Start::read(&mut reader)?;
    if start.is_light() {
        return Ok(Packet { header: None, message: read_light(start.kind & !LIGHT, &mut reader)? });
    }
    let (header, extensions) = header::read(&start, &mut reader)?;
    let message = read_message(&start, extensions, &mut reader)?;
    Ok(Packet { header: Some(header), message })
}

fn read_light<'a>(kind: u16, reader: &mut Reader<'a>) -> Result<Message<'a>, Malformed> {
    match Kind::ALL.get(usize::from(kind)) {
        Some(Kind::Publish) => read_publish(reader, false),
        Some(Kind::PublishShard) => read_publish(reader, true),
        Some(Kind::Module) => read_module(reader),
        Some(_) => Err(Malformed::Type),
        None => Ok(Message::Unknown(kind)),
    }
}

fn read_message<'a>(
    start: &Start,
    extensions: u16,
    reader: &mut Reader<'a>,
) -> Result<Message<'a>, Malformed> {
    let Some(kind) = Kind::ALL.get(usize::from(start.kind)) else {
        return Ok(Message::Unknown(start.kind));
    };
    match kind {
        Kind::Ping => read_greeting(Greeting::Ping, start.count, extensions, reader),
        Kind::Pong => read_greeting(Greeting::Pong, start.count, extensions, reader),
        Kind::Meet => read_greeting(Greeting::Meet, start.count, extensions, reader),
        Kind::Fail => {
            let id = NodeId::parse(reader.bytes(ID_BYTES)?).ok_or(Malformed::Name)?;
            ends(reader, Message::Fail(id))
        }
        Kind::Publish => read_publish(reader, false),
        Kind::PublishShard => read_publish(reader, true),
        Kind::AuthRequest => ends(reader, Message::AuthRequest),
        Kind::AuthAck => ends(reader, Message::AuthAck),
        Kind::ManualFailoverStart => ends(reader, Message::ManualFailoverStart),
        Kind::Update => {
            let config_epoch = reader.u64()?;
            let owner = NodeId::parse(reader.bytes(ID_BYTES)?).ok_or(Malformed::Name)?;
            let slots = Slots::Bitmap(reader.array()?);
            ends(reader, Message::Update { config_epoch, owner, slots })
        }
        Kind::Module => read_module(reader),
    }
}

fn read_greeting<'a>(
    greeting: Greeting,
    count: u16,
    extensions: u16,
    reader: &mut Reader<'a>,
) -> Result<Message<'a>, Malformed> {
    let gossip = GossipList(reader.bytes(usize::from(count) * ENTRY_BYTES)?);
    let extensions = Extensions::read(reader, extensions)?;
    Ok(Message::Greet { greeting, gossip, extensions })
}

fn read_publish<'a>(reader: &mut Reader<'a>, is_sharded: bool) -> Result<Message<'a>, Malformed> {
    let [channel, payload] = [reader.u32()? as usize, reader.u32()? as usize];
    let [channel, payload] = [reader.bytes(channel)?, reader.bytes(payload)?];
    ends(reader, Message::Publish { channel, payload, is_sharded })
}

/// Nobody here has modules: only the length is checked.
fn read_module<'a>(reader: &mut Reader<'a>) -> Result<Message<'a>, Malformed> {
    let (_module, len, _kind) = (reader.u64()?, reader.u32()?, reader.u8()?);
    reader.bytes(len as usize)?;
    ends(reader, Message::Module)
}

fn ends<'a>(reader: &Reader<'_>, message: Message<'a>) -> Result<Message<'a>, Malformed> {
    if reader.0.is_empty() { Ok(message) } else { Err(Malformed::Length) }
}
