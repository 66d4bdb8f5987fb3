//! Packets of the cluster bus, to and from bytes. The format is that of Redis 3 to 7 and Valkey 7 to 9.
//!
//! Reading borrows: nothing is copied and, but for the list of forgotten nodes, nothing is allocated. A packet is exactly as long as its
//! type and its counts say; names, addresses and host names have only characters that can stand in a line of CLUSTER NODES.
//! Where it is tested: `tests/codec.rs`, with packets of the real servers, and with damaged ones.

mod extension;
mod flags;
mod gossip;
mod header;
mod text;
mod wire;

pub use extension::Extensions;
pub use flags::{MessageFlags, NodeFlags};
pub use gossip::{ENTRY_BYTES, Gossip, GossipList};
pub use header::{HEADER_BYTES, Header, LIGHT_BYTES, Slots};
pub use text::{IP_BYTES_MAX, is_address, is_value};

use crate::id::{ID_BYTES, NodeId};
use header::{Start, finish};
use std::fmt;
use wire::Reader;

const SIGNATURE: &[u8] = b"RCmb";
const VERSION: u16 = 1;
/// The bit of the type that a light header has.
const LIGHT: u16 = 0x8000;

/// Why bytes are no packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// An extension has no possible length.
    Extension,
    /// The length is not what the type and the counts give.
    Length,
    /// A name is none.
    Name,
    /// It does not begin as packets do.
    Signature,
    /// An address is none.
    Text,
    /// A light header with a type that has none.
    Type,
    /// Another version of the protocol.
    Version,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Malformed::Extension => "an extension with an impossible length",
            Malformed::Length => "a length that is not that of the type and the counts",
            Malformed::Name => "a name that is none",
            Malformed::Signature => "a wrong signature",
            Malformed::Text => "an address that is none",
            Malformed::Type => "a light header with a type that has none",
            Malformed::Version => "another version of the protocol",
        })
    }
}

impl std::error::Error for Malformed {}

/// A packet.
#[derive(Clone, Debug, PartialEq)]
pub struct Packet<'a> {
    /// The header, if it is not a light one.
    pub header: Option<Header<'a>>,
    /// What it says.
    pub message: Message<'a>,
}

/// The types of packets, as CLUSTER INFO counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the protocol; `Message` says what they are")]
pub enum Kind {
    Ping,
    Pong,
    Meet,
    Fail,
    Publish,
    AuthRequest,
    AuthAck,
    Update,
    ManualFailoverStart,
    Module,
    PublishShard,
}

impl Kind {
    /// All types; the number of each in packets is its place here.
    pub const ALL: [Kind; 11] = [
        Kind::Ping,
        Kind::Pong,
        Kind::Meet,
        Kind::Fail,
        Kind::Publish,
        Kind::AuthRequest,
        Kind::AuthAck,
        Kind::Update,
        Kind::ManualFailoverStart,
        Kind::Module,
        Kind::PublishShard,
    ];

    /// Its name in CLUSTER INFO.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Ping => "ping",
            Kind::Pong => "pong",
            Kind::Meet => "meet",
            Kind::Fail => "fail",
            Kind::Publish => "publish",
            Kind::AuthRequest => "auth-req",
            Kind::AuthAck => "auth-ack",
            Kind::Update => "update",
            Kind::ManualFailoverStart => "mfstart",
            Kind::Module => "module",
            Kind::PublishShard => "publishshard",
        }
    }

    fn number(self) -> u16 {
        self as u16
    }
}

/// PING and its like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Greeting {
    /// It is answered by a PONG.
    Ping,
    /// The answer, or news for all.
    Pong,
    /// A PING that asks to be taken into the receiver's cluster.
    Meet,
}

impl Greeting {
    /// The type of the packet.
    pub fn kind(self) -> Kind {
        match self {
            Greeting::Ping => Kind::Ping,
            Greeting::Pong => Kind::Pong,
            Greeting::Meet => Kind::Meet,
        }
    }
}

/// What a packet says.
#[derive(Clone, Debug, PartialEq)]
pub enum Message<'a> {
    /// PING, PONG, MEET: the sender, and what it knows of others.
    Greet {
        /// Which of the three.
        greeting: Greeting,
        /// What it knows of others.
        gossip: GossipList<'a>,
        /// What it says of itself.
        extensions: Extensions<'a>,
    },
    /// A majority found this node failed.
    Fail(NodeId),
    /// A message for the subscribers of a channel.
    Publish {
        /// The channel.
        channel: &'a [u8],
        /// The message.
        payload: &'a [u8],
        /// Whether it is one of the shard's channels.
        is_sharded: bool,
    },
    /// The sender wants to take its primary's place.
    AuthRequest,
    /// The sender votes for the receiver.
    AuthAck,
    /// Who has these slots, for a node that does not know.
    Update {
        /// The version of the slots.
        config_epoch: u64,
        /// The owner.
        owner: NodeId,
        /// All its slots.
        slots: Slots<'a>,
    },
    /// The sender, a replica, wants its primary to pause writes.
    ManualFailoverStart,
    /// A message of a module.
    Module,
    /// A type that is not known here.
    Unknown(u16),
}

impl Message<'_> {
    /// The type, if it is known.
    pub fn kind(&self) -> Option<Kind> {
        Some(match self {
            Message::Greet { greeting, .. } => greeting.kind(),
            Message::Fail(_) => Kind::Fail,
            Message::Publish { is_sharded: false, .. } => Kind::Publish,
            Message::Publish { is_sharded: true, .. } => Kind::PublishShard,
            Message::AuthRequest => Kind::AuthRequest,
            Message::AuthAck => Kind::AuthAck,
            Message::Update { .. } => Kind::Update,
            Message::ManualFailoverStart => Kind::ManualFailoverStart,
            Message::Module => Kind::Module,
            Message::Unknown(_) => return None,
        })
    }
}

/// The length of the packet with which bytes begin; `None` when that takes more than the 8 bytes or less that there are. An
/// error means that nothing more of the connection can be understood.
///
/// A length is what the sender says: whoever collects the packet should make room as its bytes come.
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

/// Writes PING, PONG or MEET.
pub fn encode_greeting<'a>(
    header: &Header<'_>,
    greeting: Greeting,
    gossip: impl Iterator<Item = Gossip<'a>>,
    extensions: &Extensions<'_>,
) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEADER_BYTES + gossip.size_hint().0 * ENTRY_BYTES + 256);
    let mut start = Start { port: header.port, kind: greeting.kind().number(), count: 0 };
    start.write(&mut out);
    header::write(header, 0, &mut out);
    for entry in gossip {
        entry.write(&mut out);
        start.count += 1;
    }
    let extensions = extensions.write(&mut out);
    out[14..16].copy_from_slice(&start.count.to_be_bytes());
    out[2214..2216].copy_from_slice(&extensions.to_be_bytes());
    finish(&mut out);
    out
}

/// Writes a packet that is neither of these nor a light one. A message of a module is written without a module.
pub fn encode(header: &Header<'_>, message: &Message<'_>) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEADER_BYTES + 64);
    let kind = match message {
        Message::Greet { greeting, gossip, extensions } => {
            return encode_greeting(header, *greeting, gossip.iter(), extensions);
        }
        Message::Unknown(kind) => *kind,
        other => other.kind().map_or(u16::MAX, Kind::number),
    };
    Start { port: header.port, kind, count: 0 }.write(&mut out);
    header::write(header, 0, &mut out);
    write_body(message, &mut out);
    finish(&mut out);
    out
}

/// Writes PUBLISH or PUBLISHSHARD with a light header.
pub fn encode_light(channel: &[u8], payload: &[u8], is_sharded: bool) -> Vec<u8> {
    let message = Message::Publish { channel, payload, is_sharded };
    let kind = if is_sharded { Kind::PublishShard } else { Kind::Publish };
    let mut out = Vec::with_capacity(LIGHT_BYTES + 8 + channel.len() + payload.len());
    Start { port: 0, kind: kind.number() | LIGHT, count: 0 }.write(&mut out);
    write_body(&message, &mut out);
    finish(&mut out);
    out
}

fn write_body(message: &Message<'_>, out: &mut Vec<u8>) {
    match message {
        Message::Fail(id) => out.extend_from_slice(id.as_bytes()),
        Message::Publish { channel, payload, .. } => {
            for part in [channel, payload] {
                let len = u32::try_from(part.len()).expect("a message has less than 4 GiB");
                out.extend_from_slice(&len.to_be_bytes());
            }
            out.extend_from_slice(channel);
            out.extend_from_slice(payload);
        }
        Message::Update { config_epoch, owner, slots } => {
            out.extend_from_slice(&config_epoch.to_be_bytes());
            out.extend_from_slice(owner.as_bytes());
            slots.write(out);
        }
        Message::Module => out.extend_from_slice(&[0; 13]),
        _ => (),
    }
}
