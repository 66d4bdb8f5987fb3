//! What packets say.

use super::extension::Extensions;
use super::gossip::GossipList;
use super::header::{Header, Slots};
use crate::id::NodeId;

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

    pub(super) fn number(self) -> u16 {
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
