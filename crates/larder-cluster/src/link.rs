//! Links: connections of the bus.
//!
//! A node dials every other node and asks on that link; it accepts one from each and answers there.

use crate::node_key::NodeKey;
use std::collections::BTreeMap;

/// The name of a link between the state machine and the one who has the sockets. It is never given again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LinkId(pub u64);

/// Who dialled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// The other node.
    From,
    /// This node.
    To,
}

/// A link.
#[derive(Clone, Debug)]
pub struct Link {
    /// Who dialled.
    pub direction: Direction,
    /// Whom it leads to, if that is known: always, when this node dialled.
    pub node: Option<NodeKey>,
    /// When it was made, in monotonic ms.
    pub created: u64,
    /// The same by the wall clock, as it is shown.
    pub created_wall_ms: u64,
    /// Whether it is open: one that is being dialled is not.
    pub is_open: bool,
    /// Whether a packet with a full header came: only then may a light one be sent.
    pub is_proven: bool,
    /// The other end's address, as the socket says.
    pub peer_ip: Box<str>,
    /// This end's address.
    pub local_ip: Box<str>,
}

/// All links.
#[derive(Clone, Debug, Default)]
pub struct Links {
    /// The oldest first.
    links: BTreeMap<LinkId, Link>,
    made: u64,
}

impl Links {
    /// Adds a link and names it.
    pub fn insert(&mut self, link: Link) -> LinkId {
        self.made += 1;
        let id = LinkId(self.made);
        self.links.insert(id, link);
        id
    }

    /// A link, if it is there.
    pub fn get(&self, id: LinkId) -> Option<&Link> {
        self.links.get(&id)
    }

    /// A link, if it is there.
    pub fn get_mut(&mut self, id: LinkId) -> Option<&mut Link> {
        self.links.get_mut(&id)
    }

    /// The links that were accepted and are not known to be those of nodes, the oldest first. O(links).
    pub fn of_strangers(&self) -> impl DoubleEndedIterator<Item = (LinkId, &Link)> {
        let is_strange = |link: &Link| link.direction == Direction::From && link.node.is_none();
        self.links.iter().filter(move |(_, link)| is_strange(link)).map(|(&id, link)| (id, link))
    }

    /// Takes a link out.
    pub fn remove(&mut self, id: LinkId) -> Option<Link> {
        self.links.remove(&id)
    }
}
