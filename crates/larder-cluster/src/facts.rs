//! What the state machine asks of the server.

use crate::history::Place;
use crate::moment::Moment;
use crate::primary_link::PrimaryLink;

/// What a node must know of the server that it belongs to. Asked while an input is handled; the answers are those of that moment.
pub trait Facts {
    /// Where the data is in its history: the end of a primary's stream, or how much of the stream a
    /// replica has applied.
    fn place(&self) -> Place;

    /// A replica's link to its primary.
    fn primary_link(&self) -> PrimaryLink;

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
