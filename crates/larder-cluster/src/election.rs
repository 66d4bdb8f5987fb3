//! What a replica remembers of the election that it seeks.

use crate::id::NodeId;
use crate::node_key::NodeKey;
use std::fmt;

/// An election. All times are monotonic ms.
#[derive(Clone, Debug, Default)]
pub(crate) struct Election {
    /// When votes are asked for, or were; `None`: no election was ever planned.
    pub time: Option<u64>,
    /// Whether they have been asked for.
    pub is_requested: bool,
    /// How many siblings and failed primaries came first when the time was set.
    pub rank: u64,
    /// The epoch that was begun for it.
    pub epoch: u64,
    /// Who has voted for this node.
    pub votes: Vec<NodeKey>,
}

/// Why a replica whose primary has failed does not seek its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hindrance {
    /// The replica has nothing of the primary's data, or what it has is too old.
    OldData,
    /// This sibling has more of it, or may have.
    Sibling(NodeId),
}

impl fmt::Display for Hindrance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Hindrance::OldData => f.write_str(
                "Disconnected from primary for longer than allowed. Please check the \
                 'cluster-replica-validity-factor' configuration option.",
            ),
            Hindrance::Sibling(id) => write!(
                f,
                "Not synchronized with the primary, and node {id} may have its data. CLUSTER FAILOVER TAKEOVER on one of \
                 the replicas decides for its data."
            ),
        }
    }
}
