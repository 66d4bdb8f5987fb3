//! What CLUSTER INFO counts.

use crate::packet::Kind;

/// Packets and bytes, one way.
#[derive(Clone, Debug, Default)]
pub struct Traffic {
    /// Packets of each type, by its place in [`Kind::ALL`].
    pub packets: [u64; Kind::ALL.len()],
    /// Bytes of all packets.
    pub bytes: u64,
    /// Bytes of messages of channels.
    pub pubsub_bytes: u64,
    /// Bytes of messages of modules.
    pub module_bytes: u64,
}

impl Traffic {
    /// Counts a packet.
    pub(crate) fn count(&mut self, kind: Kind, bytes: usize) {
        let bytes = bytes as u64;
        self.packets[kind as usize] += 1;
        self.bytes += bytes;
        match kind {
            Kind::Publish | Kind::PublishShard => self.pubsub_bytes += bytes,
            Kind::Module => self.module_bytes += bytes,
            _ => (),
        }
    }
}

/// What has been sent and received.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// Handed out to be sent.
    pub sent: Traffic,
    /// Received and understood.
    pub received: Traffic,
    /// Received bytes that were no packet, each lot counted once.
    pub malformed: u64,
}
