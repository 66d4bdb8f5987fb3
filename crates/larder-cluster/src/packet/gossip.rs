//! What a sender says of other nodes: entries of 104 bytes after the header of PING, PONG and MEET.
//!
//! ```text
//!  0  name 40 | ping sent u32 s | pong received u32 s | address 46 | port u16 | bus port u16 | flags u16 | other port u16 | unused u16
//! ```

use super::flags::NodeFlags;
use super::header::IP_BYTES;
use super::text;
use super::wire::{Reader, write_padded};
use crate::id::{ID_BYTES, NodeId};

/// Length of an entry, in bytes.
pub const ENTRY_BYTES: usize = 104;

/// What a sender says of another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gossip<'a> {
    /// Its name.
    pub id: NodeId,
    /// When the PING was sent whose answer is due, in seconds of the wall clock; 0: no answer is due.
    pub ping_sent: u32,
    /// When the last PONG came, in seconds of the wall clock; 0: none has.
    pub pong_received: u32,
    /// Its address.
    pub ip: &'a str,
    /// Its port for clients: that for TLS, if the bus uses TLS.
    pub port: u16,
    /// Its port for the bus.
    pub bus_port: u16,
    /// What it is in the eyes of the sender.
    pub flags: NodeFlags,
    /// The other port for clients; 0: there is none.
    pub other_port: u16,
}

impl Gossip<'_> {
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.id.as_bytes());
        out.extend_from_slice(&self.ping_sent.to_be_bytes());
        out.extend_from_slice(&self.pong_received.to_be_bytes());
        write_padded(out, self.ip.as_bytes(), IP_BYTES);
        for field in [self.port, self.bus_port, self.flags.0, self.other_port, 0] {
            out.extend_from_slice(&field.to_be_bytes());
        }
    }
}

/// The entries of a packet, read one by one.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct GossipList<'a>(pub(super) &'a [u8]);

impl<'a> GossipList<'a> {
    /// Number of entries.
    pub fn len(&self) -> usize {
        self.0.len() / ENTRY_BYTES
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The entries that name a node and an address. What else is there is no reason to distrust the others.
    pub fn iter(&self) -> impl Iterator<Item = Gossip<'a>> + use<'a> {
        self.0.chunks_exact(ENTRY_BYTES).filter_map(read)
    }
}

impl std::fmt::Debug for GossipList<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

fn read(entry: &[u8]) -> Option<Gossip<'_>> {
    let mut reader = Reader(entry);
    Some(Gossip {
        id: NodeId::parse(reader.bytes(ID_BYTES).ok()?)?,
        ping_sent: reader.u32().ok()?,
        pong_received: reader.u32().ok()?,
        ip: text::address(reader.bytes(IP_BYTES).ok()?)?,
        port: reader.u16().ok()?,
        bus_port: reader.u16().ok()?,
        flags: NodeFlags(reader.u16().ok()?),
        other_port: reader.u16().ok()?,
    })
}
