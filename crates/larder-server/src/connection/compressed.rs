//! The stream of a replica whose link is compressed. It belongs to the connection and ends with it.

use larder_engine::Session;
use larder_link::compression::Encoder;

/// The stream of a link that is compressed.
pub struct Compressed {
    /// Encodes the stream from where the link began.
    pub encoder: Encoder,
    /// Bytes that the socket has not taken yet begin at `sent`. The cursor is past the part of the stream that they hold.
    pub messages: Vec<u8>,
    /// Bytes of `messages` that have been sent.
    pub sent: usize,
}

impl Compressed {
    /// Of a client that has become a replica, if the client has asked for it.
    pub fn of(session: &Session) -> Option<Box<Compressed>> {
        let replica = session.replica().filter(|replica| !replica.is_old)?;
        let encoder = Encoder::new(replica.info.compression)?;
        Some(Box::new(Compressed { encoder, messages: Vec::new(), sent: 0 }))
    }
}
