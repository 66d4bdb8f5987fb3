//! What a replica remembers of the election that it seeks.

use crate::node_key::NodeKey;

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
