//! Where a worker finds a connection that is sent the stream.

/// A connection that is sent the stream. The client tells whether the slot still has the connection that it had.
#[derive(Clone, Copy)]
pub(super) struct Streaming {
    /// The slot.
    pub slot: usize,
    /// The client.
    pub client: u64,
}
