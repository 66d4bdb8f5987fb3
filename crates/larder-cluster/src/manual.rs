//! What the two sides of a manual failover remember.

use crate::node_key::NodeKey;

/// A manual failover that is under way. Times are monotonic ms.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Manual {
    /// This primary pauses writes for one of its replicas.
    Primary {
        /// The replica that asked.
        replica: NodeKey,
        /// When it is given up.
        ends: u64,
        /// Whether writes are paused by now.
        is_paused: bool,
    },
    /// This replica takes its primary's place.
    Replica {
        /// When it is given up.
        ends: u64,
        /// How much of the stream has to be applied, as soon as the primary has said it.
        goal: Option<u64>,
        /// Whether votes may be asked for.
        is_ready: bool,
    },
}
