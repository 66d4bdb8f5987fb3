//! When the link of a replica to its primary was last of use.
//!
//! The times belong to the server and not to one primary: a replica that is told to follow another
//! primary has been without a link since it lost the former one. A server that becomes a primary
//! forgets them. All times are milliseconds of one monotonic clock.

use crate::id::NodeId;

/// The times of a replica's links to its primaries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkTimes {
    is_up: bool,
    heard: Option<u64>,
    down_since: Option<u64>,
}

impl LinkTimes {
    /// Notes that the link follows the stream.
    pub fn open(&mut self, now: u64) {
        *self = LinkTimes { is_up: true, heard: Some(now), down_since: None };
    }

    /// Notes that something came from the primary.
    pub fn hear(&mut self, now: u64) {
        self.heard = Some(now);
    }

    /// Notes that the link is not up. It has been down since it was last up, however often this is
    /// noted.
    pub fn lose(&mut self, now: u64) {
        if std::mem::take(&mut self.is_up) {
            self.down_since = Some(now);
        }
    }

    /// When something last came from a primary.
    pub fn heard(&self) -> Option<u64> {
        self.heard
    }

    /// Whether the link follows the stream.
    pub fn is_up(&self) -> bool {
        self.is_up
    }

    /// Returns how long the link has been down, in ms; `None` if it is up, or never was.
    pub fn down_ms(&self, now: u64) -> Option<u64> {
        self.down_since.map(|since| now.saturating_sub(since))
    }

    /// Returns for how long no news of the stream can have come, in ms; `None` if there was never a
    /// link.
    pub fn silence_ms(&self, now: u64) -> Option<u64> {
        if self.is_up { self.heard.map(|heard| now.saturating_sub(heard)) } else { self.down_ms(now) }
    }
}

/// The link of a replica, as elections see it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrimaryLink {
    /// The node that the server follows.
    pub node: Option<NodeId>,
    /// Whether the link follows its stream.
    pub is_up: bool,
    /// See [`LinkTimes::silence_ms`].
    pub silence_ms: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_silence_lasts_since_the_last_link_was_lost() {
        let mut times = LinkTimes::default();
        assert_eq!((times.silence_ms(10), times.down_ms(10)), (None, None));
        times.lose(20);
        assert_eq!((times.silence_ms(30), times.down_ms(30)), (None, None), "it never was up");
        times.open(40);
        times.hear(50);
        assert_eq!((times.silence_ms(70), times.down_ms(70)), (Some(20), None));
        times.lose(80);
        // Bytes of a handshake, or of a snapshot, are not the stream.
        times.hear(90);
        times.lose(95);
        assert_eq!((times.silence_ms(100), times.down_ms(100)), (Some(20), Some(20)));
    }
}
