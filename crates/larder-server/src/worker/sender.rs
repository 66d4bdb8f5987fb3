//! What a worker knows of a connection that is a replica: where it is, and what is compressed for it.

use crate::connection::Connection;
use larder_link::compression::Encoder;

/// A connection that is sent the stream.
pub(super) struct Sender {
    /// Where the connection is.
    pub slot: usize,
    /// What is sent in place of the stream's own bytes, if the link is compressed.
    pub compressed: Option<Box<Compressed>>,
}

/// The stream of a link that is compressed.
pub(super) struct Compressed {
    /// Of the stream, from where the link began.
    pub encoder: Encoder,
    /// What the socket has not taken yet begins at `sent`. The cursor is past what it holds.
    pub messages: Vec<u8>,
    /// Bytes of it that have been sent.
    pub sent: usize,
}

impl Sender {
    /// Of a client that has become a replica.
    pub fn new(slot: usize, connection: &Connection) -> Sender {
        let replica = connection.session.replica().filter(|replica| !replica.is_old);
        let encoder = replica.and_then(|replica| Encoder::new(replica.info.compression));
        let compressed =
            encoder.map(|encoder| Box::new(Compressed { encoder, messages: Vec::new(), sent: 0 }));
        Sender { slot, compressed }
    }
}
