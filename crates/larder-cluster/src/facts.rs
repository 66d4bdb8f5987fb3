//! What the state machine asks of the server.

use crate::moment::Moment;

/// What a node must know of the server that it belongs to. Asked while an input is handled; the answers are those of that moment.
pub trait Facts {
    /// A primary's: how far its replication stream is. A replica's: how much of it has been applied. In bytes.
    fn replication_offset(&self) -> u64;

    /// A replica's: how long ago it last heard of its primary, in ms, as far as replication goes.
    fn primary_silence_ms(&self) -> u64;

    /// Number of keys of a slot, in all databases.
    fn keys_in_slot(&self, slot: u16) -> u64;

    /// Whether there is any key.
    fn has_keys(&self) -> bool;
}

/// The time of an input, and the server.
#[derive(Clone, Copy)]
pub struct Env<'a> {
    /// The time.
    pub now: Moment,
    /// The server.
    pub facts: &'a dyn Facts,
}

impl Env<'_> {
    /// The time, monotonic, in ms.
    pub(crate) fn ms(&self) -> u64 {
        self.now.mono_ms
    }
}
