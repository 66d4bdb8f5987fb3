//! The subcommands of CLUSTER that change the state: read and checked first, then done.
//!
//! Both steps are there because CLUSTER SETSLOT is checked, handed to the replicas, and done when they have it. The texts of errors are
//! those of Valkey 9.1.2; `tests/interop/commands.rs` compares them with its. That a subcommand has enough arguments, the command table sees to.

mod apply;
mod check;
mod error;
mod slots;
mod text;

pub use error::CommandError;

use crate::cluster::Cluster;
use crate::facts::Env;
use crate::node_key::NodeKey;
use crate::slot_set::SlotSet;

/// A subcommand that has been checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// ADDSLOTS, ADDSLOTSRANGE.
    AddSlots(SlotSet),
    /// BUMPEPOCH.
    BumpEpoch,
    /// DELSLOTS, DELSLOTSRANGE.
    DelSlots(SlotSet),
    /// FAILOVER.
    Failover(FailoverMode),
    /// FLUSHSLOTS.
    FlushSlots,
    /// FORGET; of nobody if others have told already that the node is to be forgotten.
    Forget(Option<NodeKey>),
    /// MEET.
    Meet {
        /// The address.
        ip: Box<str>,
        /// The port for clients.
        port: u16,
        /// The port for the bus.
        bus_port: u16,
    },
    /// REPLICATE with a node.
    Replicate(NodeKey),
    /// REPLICATE NO ONE.
    ReplicateNoOne,
    /// RESET.
    Reset {
        /// Whether the name and the epochs go as well.
        is_hard: bool,
    },
    /// SAVECONFIG.
    SaveConfig,
    /// SET-CONFIG-EPOCH.
    SetConfigEpoch(u64),
    /// SETSLOT.
    SetSlot {
        /// The slot.
        slot: u16,
        /// What it becomes.
        state: SlotState,
        /// How long the replicas may take, in ms, if that is said.
        timeout_ms: Option<u64>,
    },
}

/// How a replica takes its primary's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailoverMode {
    /// The primary pauses writes, the voters vote.
    Default,
    /// The voters vote.
    Force,
    /// Nobody is asked.
    Takeover,
}

/// What a slot becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotState {
    /// It comes from a node.
    Importing(NodeKey),
    /// It goes to a node.
    Migrating(NodeKey),
    /// It is a node's.
    Node(NodeKey),
    /// It is not on the way any more.
    Stable,
}

/// Who gives a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A client.
    Client,
    /// The primary, in its stream, or the append-only file.
    Primary,
}

/// The reply to a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// `+BUMPED` and the epoch.
    Bumped(u64),
    /// `+OK`
    Ok,
    /// `+STILL` and the epoch.
    Still(u64),
}

impl std::fmt::Display for Reply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Reply::Bumped(epoch) => write!(f, "BUMPED {epoch}"),
            Reply::Ok => f.write_str("OK"),
            Reply::Still(epoch) => write!(f, "STILL {epoch}"),
        }
    }
}

impl Cluster {
    /// Checks a subcommand and does it. `args` begin with the name of the subcommand. The reply may be sent when the actions are done.
    pub fn command(&mut self, args: &[&[u8]], origin: Origin, env: &Env<'_>) -> Result<Reply, CommandError> {
        let command = self.check(args, origin, env)?;
        Ok(self.apply(&command, env))
    }
}
