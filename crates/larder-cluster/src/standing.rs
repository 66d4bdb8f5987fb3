//! What a replica may claim in an election: how much of its primary's stream it has, and how old
//! that is.
//!
//! A replica's data may be of another stream than its primary's. It may have been told to follow
//! this primary a moment ago, or a snapshot may be replacing the data. An offset is comparable with
//! those of siblings only within the primary's stream:
//!
//! - E1: a replica claims an offset of data that is a prefix of its primary's stream, and 0 if it
//!   has no such data.
//! - E2: a replica that has not been in step with its present primary claims less than every
//!   sibling that has. If the primary took the place of the one before, their streams are the same
//!   up to the takeover, which is no earlier than what the new primary last said as a replica: one
//!   byte less than that is the most that is claimed.
//! - E3: what is claimed after a restart is judged by the same rules: the [`Lineage`] is in
//!   `nodes.conf`.
//!
//! Tested below and by `tests/simulation/replicas.rs`.

use crate::history::{HistoryId, Place};
use crate::id::NodeId;
use crate::primary_link::PrimaryLink;

/// Which histories are a prefix of the present primary's stream. Of no use on a primary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lineage {
    /// The node follows whom the file of another server names, which has no such line. The data is
    /// trusted.
    #[default]
    Unknown,
    /// These are.
    Known {
        /// The history of the primary itself, and the primary's epoch when this node was last in
        /// step with it. `None`: it has not been.
        current: Option<(HistoryId, u64)>,
        /// Another history, and the offset up to which it is a prefix.
        former: Option<(HistoryId, u64)>,
    },
}

/// What a replica may claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    /// Bytes of the primary's stream that it has.
    pub offset: u64,
    /// How old that is, in ms; `None`: too old to tell, or it has nothing.
    pub age_ms: Option<u64>,
    /// Whether the data was in step with the present primary.
    pub has_synced: bool,
}

/// How much of the primary's stream some data is.
enum Share {
    /// The stream up to this offset, and it was in step with the primary.
    Synced(u64),
    /// The stream up to this offset, from the time of the primary before.
    Inherited(u64),
    Nothing,
}

impl Lineage {
    /// No data is of the primary's stream.
    pub const NOTHING: Lineage = Lineage::Known { current: None, former: None };

    /// Returns the lineage of a replica that is in step with its primary, whose epoch is `epoch`.
    pub fn in_step(place: &Place, epoch: u64) -> Lineage {
        Lineage::Known { current: place.history.map(|history| (history, epoch)), former: place.former }
    }

    fn share(&self, place: &Place, epoch: u64) -> Share {
        let Some(history) = place.history else { return Share::Nothing };
        match *self {
            Lineage::Unknown => Share::Synced(place.offset),
            Lineage::Known { current: Some((current, known)), .. } if current == history => {
                // The primary may have lost its place meanwhile, and have it again.
                let offset = place.offset;
                if known == epoch { Share::Synced(offset) } else { Share::Inherited(offset) }
            }
            Lineage::Known { former: Some((former, until)), .. } if former == history => {
                Share::Inherited(place.offset.min(until))
            }
            Lineage::Known { .. } => Share::Nothing,
        }
    }

    /// Returns the lineage of data of which `has` bytes are of a primary's stream, once another
    /// node has taken that primary's place. As a replica, that node had `offset` bytes when it was
    /// last heard of.
    pub(crate) fn succeeded(has: u64, place: &Place, offset: u64) -> Lineage {
        let until = has.min(offset.saturating_sub(1));
        Lineage::Known { current: None, former: place.history.map(|history| (history, until)) }
    }
}

impl Standing {
    /// Returns what a replica of a primary, which has this name and epoch, may claim.
    pub fn of(
        lineage: &Lineage,
        place: &Place,
        link: &PrimaryLink,
        (primary, epoch): (NodeId, u64),
    ) -> Standing {
        let is_in_step = link.is_up && link.node == Some(primary);
        let lineage = if is_in_step { &Lineage::in_step(place, epoch) } else { lineage };
        let age_ms = link.silence_ms;
        match lineage.share(place, epoch) {
            Share::Synced(offset) => Standing { offset, age_ms, has_synced: true },
            Share::Inherited(offset) => Standing { offset, age_ms, has_synced: false },
            Share::Nothing => Standing { offset: 0, age_ms: None, has_synced: false },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::ID_BYTES;

    fn history(letter: u8) -> HistoryId {
        HistoryId::parse(&[letter; ID_BYTES]).expect("letters are a name")
    }

    fn node(letter: u8) -> NodeId {
        NodeId::parse(&[letter; ID_BYTES]).expect("letters are a name")
    }

    fn place(letter: u8, offset: u64) -> Place {
        Place { history: Some(history(letter)), former: None, offset }
    }

    fn link(to: u8, is_up: bool) -> PrimaryLink {
        PrimaryLink { node: Some(node(to)), is_up, silence_ms: Some(7) }
    }

    #[test]
    fn data_of_another_stream_is_nothing() {
        let claims = |lineage, place, link| Standing::of(&lineage, &place, &link, (node(b'p'), 5));
        let nothing = Standing { offset: 0, age_ms: None, has_synced: false };
        assert_eq!(claims(Lineage::NOTHING, place(b'o', 1000), link(b'p', false)), nothing);
        // The link still leads to the primary before.
        assert_eq!(claims(Lineage::NOTHING, place(b'o', 1000), link(b'o', true)), nothing);
        let synced = Lineage::in_step(&place(b'p', 10), 5);
        assert_eq!(claims(synced, Place { history: None, ..place(b'p', 90) }, link(b'p', false)), nothing);
        assert_eq!(claims(synced, place(b'o', 90), link(b'p', false)), nothing);
        let has = |offset| Standing { offset, age_ms: Some(7), has_synced: true };
        assert_eq!(claims(synced, place(b'p', 90), link(b'p', false)), has(90));
        assert_eq!(claims(Lineage::NOTHING, place(b'p', 90), link(b'p', true)), has(90));
        assert_eq!(claims(Lineage::Unknown, place(b'o', 90), link(b'p', false)), has(90));
        // The replica was in step with the primary of an earlier epoch.
        let earlier = Lineage::in_step(&place(b'p', 10), 4);
        let inherited = Standing { has_synced: false, ..has(90) };
        assert_eq!(claims(earlier, place(b'p', 90), link(b'p', false)), inherited);
    }

    #[test]
    fn what_is_inherited_is_less_than_what_the_new_primary_has() {
        let lineage = Lineage::succeeded(500, &place(b'a', 500), 300);
        let claims = |letter, offset| {
            let standing =
                Standing::of(&lineage, &place(letter, offset), &link(b'b', false), (node(b'b'), 5));
            (standing.offset, standing.has_synced)
        };
        assert_eq!(
            (claims(b'a', 500), claims(b'a', 200), claims(b'b', 500)),
            ((299, false), (200, false), (0, false))
        );
        assert_eq!(
            Lineage::succeeded(100, &place(b'a', 500), 0),
            Lineage::Known { current: None, former: Some((history(b'a'), 0)) }
        );
    }
}
