//! What the thread of a script does beside it: it looks after other clients, and talks to the client that debugs.

use std::time::Duration;

/// What became of waiting for a client that debugs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// It has sent something.
    Bytes,
    /// Nothing yet.
    Nothing,
    /// It has gone.
    Gone,
}

/// The event loop, as a script sees it. Without a client that debugs, it is a function which makes a round.
pub trait Beside {
    /// Looks after other clients once, and waits for something to do, at most this long.
    fn round(&mut self, patience: Duration);

    /// Sends to the client that debugs as much as it takes; the rest goes out with the next call of this or of `receive`.
    fn send(&mut self, bytes: &[u8]) {
        let _ = bytes;
    }

    /// Waits for the client that debugs, at most this long, and appends what it sends.
    fn receive(&mut self, into: &mut Vec<u8>, patience: Duration) -> Received {
        let _ = (into, patience);
        Received::Gone
    }
}

/// Nobody else is to be looked after.
impl Beside for () {
    fn round(&mut self, _patience: Duration) {}
}
