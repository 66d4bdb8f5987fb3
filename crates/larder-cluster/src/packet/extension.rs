//! What PING, PONG and MEET say of their sender beyond the header: since Valkey 7.2, the hostname since 7.0.
//!
//! ```text
//!  0  length u32, these 8 bytes and the padding included, a multiple of 8 | type u16 | unused u16 | data | zeros
//! ```
//! Strings end with a zero. The data of ports is 2 bytes and a padding of 6.

use super::malformed::Malformed;
use super::text;
use super::wire::Reader;
use crate::id::{ID_BYTES, NodeId};

const START_BYTES: usize = 8;
const NAME_BYTES_MAX: usize = 255;

mod kind {
    pub const HOSTNAME: u16 = 0;
    pub const NODE_NAME: u16 = 1;
    pub const FORGOTTEN: u16 = 2;
    pub const SHARD: u16 = 3;
    pub const CLIENT_IPV4: u16 = 4;
    pub const CLIENT_IPV6: u16 = 5;
    pub const CLIENT_PORT: u16 = 6;
    pub const CLIENT_TLS_PORT: u16 = 7;
    pub const ZONE: u16 = 8;
}

/// What a sender says of itself. An empty string and 0 say nothing; so does text that could not stand in a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extensions<'a> {
    /// Name of its host.
    pub hostname: &'a str,
    /// Its name for humans.
    pub node_name: &'a str,
    /// Nodes that it has been told to forget, and for how many seconds.
    pub forgotten: Vec<(NodeId, u64)>,
    /// The name of its shard.
    pub shard: Option<NodeId>,
    /// The address for clients that come by IPv4.
    pub client_ipv4: &'a str,
    /// The address for clients that come by IPv6.
    pub client_ipv6: &'a str,
    /// The port for clients.
    pub client_port: u16,
    /// The port for clients that use TLS.
    pub client_tls_port: u16,
    /// Its availability zone.
    pub zone: &'a str,
}

impl<'a> Extensions<'a> {
    /// Reads this many extensions, which must fill what is left. The list of forgotten nodes takes at most
    /// twice the bytes that say it.
    pub(super) fn read(reader: &mut Reader<'a>, count: u16) -> Result<Self, Malformed> {
        let mut extensions = Extensions::default();
        for _ in 0..count {
            let len = reader.u32()? as usize;
            let (kind, _) = (reader.u16()?, reader.u16()?);
            if len < START_BYTES || !len.is_multiple_of(8) {
                return Err(Malformed::Extension);
            }
            extensions.take(kind, reader.bytes(len - START_BYTES)?)?;
        }
        if reader.0.is_empty() { Ok(extensions) } else { Err(Malformed::Length) }
    }

    fn take(&mut self, kind: u16, data: &'a [u8]) -> Result<(), Malformed> {
        match kind {
            kind::HOSTNAME => self.hostname = string(data),
            kind::NODE_NAME => self.node_name = string(data),
            kind::FORGOTTEN => {
                let mut data = Reader(data);
                let id = NodeId::parse(data.bytes(ID_BYTES)?).ok_or(Malformed::Name)?;
                self.forgotten.push((id, data.u64()?));
            }
            kind::SHARD => {
                let id = Reader(data).bytes(ID_BYTES)?;
                self.shard = Some(NodeId::parse(id).ok_or(Malformed::Name)?);
            }
            kind::CLIENT_IPV4 => self.client_ipv4 = string(data),
            kind::CLIENT_IPV6 => self.client_ipv6 = string(data),
            kind::CLIENT_PORT => self.client_port = Reader(data).u16()?,
            kind::CLIENT_TLS_PORT => self.client_tls_port = Reader(data).u16()?,
            kind::ZONE => self.zone = string(data),
            _ => (),
        }
        Ok(())
    }

    /// Appends what is said, in the order in which Valkey has it; the number of extensions.
    pub(super) fn write(&self, out: &mut Vec<u8>) -> u16 {
        let mut count = 0;
        let mut put = |kind: u16, data: &[&[u8]]| {
            write_one(out, kind, data);
            count += 1;
        };
        let strings = [
            (kind::HOSTNAME, self.hostname),
            (kind::NODE_NAME, self.node_name),
            (kind::CLIENT_IPV4, self.client_ipv4),
            (kind::CLIENT_IPV6, self.client_ipv6),
        ];
        for (kind, text) in strings.into_iter().filter(|(_, text)| !text.is_empty()) {
            put(kind, &[text.as_bytes(), &[0]]);
        }
        let ports = [(kind::CLIENT_PORT, self.client_port), (kind::CLIENT_TLS_PORT, self.client_tls_port)];
        for (kind, port) in ports.into_iter().filter(|&(_, port)| port > 0) {
            put(kind, &[&port.to_be_bytes()]);
        }
        if !self.zone.is_empty() {
            put(kind::ZONE, &[self.zone.as_bytes(), &[0]]);
        }
        for (id, seconds) in &self.forgotten {
            put(kind::FORGOTTEN, &[id.as_bytes(), &seconds.to_be_bytes()]);
        }
        if let Some(shard) = &self.shard {
            put(kind::SHARD, &[shard.as_bytes()]);
        }
        count
    }
}

fn write_one(out: &mut Vec<u8>, kind: u16, data: &[&[u8]]) {
    let from = out.len();
    let len = (START_BYTES + data.iter().map(|part| part.len()).sum::<usize>()).next_multiple_of(8);
    out.extend_from_slice(&u32::try_from(len).expect("extensions are short").to_be_bytes());
    out.extend_from_slice(&kind.to_be_bytes());
    out.extend_from_slice(&[0; 2]);
    data.iter().for_each(|part| out.extend_from_slice(part));
    out.resize(from + len, 0);
}

fn string(data: &[u8]) -> &str {
    let text = text::until_zero(data);
    let is_usable = text.len() <= NAME_BYTES_MAX && text::is_value(text);
    is_usable.then(|| std::str::from_utf8(text).ok()).flatten().unwrap_or_default()
}
