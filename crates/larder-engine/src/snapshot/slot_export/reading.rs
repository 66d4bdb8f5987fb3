//! How far a slot has been read.
//!
//! The keys of a slot are read in pieces, in the order of their positions; in the moment in which a piece is read, the end of the stream is
//! noted. So what is known of a key depends on where it is:
//!
//! ```text
//!   positions     | read before    | newest piece     | not read yet
//!   its changes   | all, from here | from `since` on  | none: they will be in what is read
//! ```
//! A command on keys of which some are read and others are not can be sent neither as it is nor left out. All its keys are read again then, out
//! of turn, and have a moment of their own from which their changes count.

use crate::keyspace::hash::{hash, prefix_of_slot};
use larder_collections::key_table::position;
use std::collections::HashMap;
use std::ops::Range;

/// The positions of the keys of a slot, and what is known of them.
pub(super) struct Reading {
    pub slot: u16,
    /// The piece that was read last; all before it has been read.
    newest: Range<u64>,
    /// The end of the stream when that was read.
    since: u64,
    /// Keys that were read out of turn, each with the end of the stream then.
    apart: HashMap<Box<[u8]>, u64>,
}

impl Reading {
    /// Nothing is read.
    pub fn new(slot: u16) -> Reading {
        let start = prefix_of_slot(slot).positions().start;
        Reading { slot, newest: start..start, since: 0, apart: HashMap::new() }
    }

    /// Where the next piece begins.
    pub fn next(&self) -> u64 {
        self.newest.end
    }

    /// Whether there is no piece left.
    pub fn is_done(&self) -> bool {
        self.newest.end >= prefix_of_slot(self.slot).positions().end
    }

    /// A piece from [`Reading::next`] on has been read, when the stream ended there.
    pub fn note_piece(&mut self, end: u64, stream_end: u64) {
        assert!(end > self.newest.end, "it goes on");
        (self.newest, self.since) = (self.newest.end..end, stream_end);
    }

    /// A key has been read out of turn, when the stream ended there.
    pub fn note_apart(&mut self, key: &[u8], stream_end: u64) {
        self.apart.insert(key.into(), stream_end);
    }

    /// The keys of a piece that were read out of turn: what was sent of them may be there no more.
    pub fn apart_in(&self, piece: &Range<u64>) -> impl Iterator<Item = &[u8]> {
        self.apart.keys().map(|key| &**key).filter(|key| piece.contains(&position_of(key)))
    }

    /// From where in the stream on the changes of a key are to be sent; `None`: none yet.
    pub fn since(&self, key: &[u8]) -> Option<u64> {
        let apart = self.apart.get(key).copied();
        let at = position_of(key);
        if at < self.newest.start {
            Some(apart.unwrap_or(0))
        } else if at < self.newest.end {
            Some(apart.unwrap_or(0).max(self.since))
        } else {
            apart
        }
    }

    /// From where in the stream on all changes of the slot are to be sent, if all of it is read.
    pub fn all_since(&self) -> Option<u64> {
        let latest = self.apart.values().copied().max().unwrap_or(0);
        self.is_done().then(|| latest.max(self.since))
    }
}

fn position_of(key: &[u8]) -> u64 {
    u64::from(position(hash(key)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names with rising positions: hashes need not carry slots for what is asked here, but for the ends.
    fn names(count: usize) -> Vec<Vec<u8>> {
        let mut names: Vec<_> = (0..count).map(|number| number.to_string().into_bytes()).collect();
        names.sort_by_key(|name| position_of(name));
        names
    }

    #[test]
    fn what_counts_of_a_key_depends_on_where_it_is() {
        // Such a range is that of no slot: what is read of it is told by hand.
        let names = names(30);
        let at = |number: usize| position_of(&names[number]);
        let mut reading = Reading { slot: 0, newest: 0..0, since: 0, apart: HashMap::new() };
        reading.note_piece(at(10), 100);
        assert_eq!([0, 9, 10].map(|number| reading.since(&names[number])), [Some(100), Some(100), None]);
        reading.note_apart(&names[3], 120);
        reading.note_apart(&names[15], 120);
        reading.note_apart(&names[25], 120);
        assert_eq!(reading.since(&names[3]), Some(120));
        assert_eq!(reading.since(&names[15]), Some(120), "it is not read in its turn");
        assert_eq!(reading.apart_in(&(at(10)..at(20))).collect::<Vec<_>>(), [&names[15][..]]);
        reading.note_piece(at(20), 150);
        assert_eq!(reading.since(&names[3]), Some(120));
        assert_eq!(reading.since(&names[4]), Some(0), "all that is looked at from here on");
        assert_eq!(reading.since(&names[15]), Some(150), "the piece is newer");
        assert_eq!(reading.since(&names[25]), Some(120));
        reading.note_apart(&names[15], 170);
        assert_eq!(reading.since(&names[15]), Some(170));
        reading.note_piece(1 << 32, 180);
        assert_eq!((reading.is_done(), reading.all_since()), (true, Some(180)));
        reading.note_apart(&names[0], 190);
        assert_eq!(reading.all_since(), Some(190));
    }
}
