//! The bits with which a packet says what a node is.

use std::fmt;
use std::ops::{BitAnd, BitOr, BitOrAssign, Not};

/// What a node is: bits of headers and of gossip entries. Bits that are not known here are kept and mean nothing.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct NodeFlags(pub u16);

impl NodeFlags {
    /// A primary, with slots or without.
    pub const PRIMARY: NodeFlags = NodeFlags(1);
    /// A replica.
    pub const REPLICA: NodeFlags = NodeFlags(2);
    /// The sender cannot reach it.
    pub const PFAIL: NodeFlags = NodeFlags(4);
    /// A majority of the voting primaries could not reach it.
    pub const FAIL: NodeFlags = NodeFlags(8);
    /// The sender itself.
    pub const MYSELF: NodeFlags = NodeFlags(0x10);
    /// Its name is not known yet.
    pub const HANDSHAKE: NodeFlags = NodeFlags(0x20);
    /// Its address is not known.
    pub const NOADDR: NodeFlags = NodeFlags(0x40);
    /// It has to be sent a MEET.
    pub const MEET: NodeFlags = NodeFlags(0x80);
    /// It has replicas or had some: others may move to it.
    pub const MIGRATE_TO: NodeFlags = NodeFlags(0x100);
    /// It does not seek elections.
    pub const NOFAILOVER: NodeFlags = NodeFlags(0x200);
    /// It reads extensions.
    pub const EXTENSIONS: NodeFlags = NodeFlags(0x400);
    /// It reads PUBLISH with a light header.
    pub const LIGHT_PUBLISH: NodeFlags = NodeFlags(0x800);
    /// It reads MODULE with a light header, and takes a second MEET for what it is.
    pub const LIGHT_MODULE: NodeFlags = NodeFlags(0x1000);
    /// It is a replica whose primary it sees as failed.
    pub const PRIMARY_FAIL: NodeFlags = NodeFlags(0x2000);

    /// PFAIL and FAIL.
    pub const FAILURE: NodeFlags = NodeFlags(4 | 8);
    /// Which role it has.
    pub const ROLE: NodeFlags = NodeFlags(1 | 2);

    /// Whether one of these bits is set.
    pub fn has(self, bits: NodeFlags) -> bool {
        self.0 & bits.0 != 0
    }

    /// Sets these bits, or clears them.
    pub fn set(&mut self, bits: NodeFlags, on: bool) {
        self.0 = if on { self.0 | bits.0 } else { self.0 & !bits.0 };
    }
}

impl BitOr for NodeFlags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        NodeFlags(self.0 | other.0)
    }
}

impl BitOrAssign for NodeFlags {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl BitAnd for NodeFlags {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        NodeFlags(self.0 & other.0)
    }
}

impl Not for NodeFlags {
    type Output = Self;

    fn not(self) -> Self {
        NodeFlags(!self.0)
    }
}

impl fmt::Debug for NodeFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// The first of the three bytes of flags of a message. The others are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageFlags(pub u8);

impl MessageFlags {
    /// The sender is a primary that has paused writes for a manual failover.
    pub const PAUSED: MessageFlags = MessageFlags(1);
    /// A vote is asked for although the primary has not failed.
    pub const FORCE_ACK: MessageFlags = MessageFlags(2);
    /// The sender reads extensions, and may have appended some.
    pub const EXTENSIONS: MessageFlags = MessageFlags(4);

    /// Whether one of these bits is set.
    pub fn has(self, bits: MessageFlags) -> bool {
        self.0 & bits.0 != 0
    }
}

impl BitOr for MessageFlags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        MessageFlags(self.0 | other.0)
    }
}
