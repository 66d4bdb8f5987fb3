//! Packets of the cluster bus, to and from bytes. The format is that of Redis 3 to 7 and Valkey 7 to 9.
//!
//! Reading borrows: nothing is copied and, but for the list of forgotten nodes, nothing is allocated. A packet is exactly as long as its
//! type and its counts say; names, addresses and host names have only characters that can stand in a line of CLUSTER NODES.
//! Where it is tested: `tests/codec`, with packets of the real servers, and with damaged ones.

mod decode;
mod encode;
mod extension;
mod flags;
mod gossip;
mod header;
mod malformed;
mod message;
mod start;
mod text;
mod wire;

pub use decode::{decode, packet_len};
pub use encode::{encode, encode_greeting, encode_light};
pub use extension::Extensions;
pub use flags::{MessageFlags, NodeFlags};
pub use gossip::{ENTRY_BYTES, Gossip, GossipList};
pub use header::{HEADER_BYTES, Header, LIGHT_BYTES, Slots};
pub use malformed::Malformed;
pub use message::{Greeting, Kind, Message, Packet};
pub use text::{IP_BYTES_MAX, is_address, is_value};
