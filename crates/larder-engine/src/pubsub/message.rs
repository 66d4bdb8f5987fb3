//! A message on its way to the subscribers, encoded once for all of them.
//!
//! RESP2 sends it as an array and RESP3 as a push of the same items, so that only the first byte differs: it is left
//! out of the encoding and written for each receiver.

use super::space::Space;
use larder_resp::{Protocol, Reply};
use std::sync::Arc;

/// A published message.
#[derive(Debug)]
pub struct Message {
    space: Space,
    /// The channel or the pattern that the receivers subscribe to.
    name: Arc<[u8]>,
    /// All but the first byte.
    body: Arc<[u8]>,
}

impl Message {
    pub(super) fn of_channel(space: Space, channel: &Arc<[u8]>, payload: &[u8]) -> Self {
        let kind = if space == Space::ShardChannels { "smessage" } else { "message" };
        Message { space, name: Arc::clone(channel), body: body(&[kind.as_bytes(), channel, payload]) }
    }

    pub(super) fn of_pattern(pattern: &Arc<[u8]>, channel: &[u8], payload: &[u8]) -> Self {
        Message {
            space: Space::Patterns,
            name: Arc::clone(pattern),
            body: body(&[b"pmessage", pattern, channel, payload]),
        }
    }

    /// What the receiver subscribes to.
    pub(crate) fn subscription(&self) -> (Space, &[u8]) {
        (self.space, &self.name)
    }

    /// Bytes that it takes in memory, for itself alone.
    pub(crate) fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.body.len()
    }

    /// Everything after the first byte, which is [`Message::first_byte`].
    pub fn body(&self) -> &Arc<[u8]> {
        &self.body
    }

    /// The first byte for a receiver that speaks `protocol`.
    pub fn first_byte(protocol: Protocol) -> u8 {
        if protocol == Protocol::Resp3 { b'>' } else { b'*' }
    }
}

/// The items as an array, without its first byte.
fn body(items: &[&[u8]]) -> Arc<[u8]> {
    let mut bytes = Vec::with_capacity(items.iter().map(|item| item.len() + 16).sum());
    let mut reply = Reply::new(&mut bytes, Protocol::Resp2);
    reply.array(items.len());
    items.iter().for_each(|item| reply.bulk(item));
    bytes[1..].into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_encoding_lacks_its_first_byte() {
        let name: Arc<[u8]> = b"ch"[..].into();
        let message = Message::of_channel(Space::Channels, &name, b"hi");
        assert_eq!(&message.body()[..], b"3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$2\r\nhi\r\n");
        let message = Message::of_pattern(&name, b"chan", b"");
        assert_eq!(&message.body()[..], b"4\r\n$8\r\npmessage\r\n$2\r\nch\r\n$4\r\nchan\r\n$0\r\n\r\n");
        assert_eq!(
            (Message::first_byte(Protocol::Resp2), Message::first_byte(Protocol::Resp3)),
            (b'*', b'>')
        );
    }
}
