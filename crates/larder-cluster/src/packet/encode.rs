//! Packets to bytes.

use super::extension::Extensions;
use super::gossip::{ENTRY_BYTES, Gossip};
use super::header::{self, HEADER_BYTES, Header, LIGHT_BYTES};
use super::message::{Greeting, Kind, Message};
use super::start::{LIGHT, Start, finish};

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
