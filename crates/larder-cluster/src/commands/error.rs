//! Errors of commands, in Valkey's words.

use std::fmt;

/// Why a command is refused. Its text begins with `ERR`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the texts below say it")]
pub enum CommandError {
    AlreadyOwner(u16),
    BadBasePort(String),
    BadBusPort(String),
    BadConfigEpoch(i64),
    BadNodeAddress(String, u16),
    BadSetSlot,
    BadSlot,
    BusPortRange,
    EpochIsSet,
    ForgetMaster,
    ForgetMyself,
    HasKeys,
    HoldsKeysOfSlot(u16),
    MasterDown,
    MasterUnknown,
    MissingTimeout,
    NeedsEmptyDb,
    NotEmpty,
    NotFresh,
    NotInteger,
    NotMaster,
    NotOwner(u16),
    NotReplica,
    OnlyMasters,
    PortRange,
    ReplicateMyself,
    ReplicateReplica,
    SlotBusy(u16),
    SlotTwice(u16),
    SlotUnassigned(u16),
    StartAfterEnd(u16, u16),
    Syntax,
    TargetIsMyself,
    TargetNotMaster,
    TimeoutNegative,
    TimeoutNotInteger,
    UnknownNode(String),
    UnknownSetSlotNode(String),
    UnknownSubcommand(String),
    WrongArity(&'static str),
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use CommandError::*;
        f.write_str("ERR ")?;
        match self {
            AlreadyOwner(slot) => write!(f, "I'm already the owner of hash slot {slot}"),
            BadBasePort(text) => write!(f, "Invalid base port specified: {text}"),
            BadBusPort(text) => write!(f, "Invalid bus port specified: {text}"),
            BadConfigEpoch(epoch) => write!(f, "Invalid config epoch specified: {epoch}"),
            BadNodeAddress(host, port) => write!(f, "Invalid node address specified: {host}:{port}"),
            HoldsKeysOfSlot(slot) => write!(
                f,
                "Can't assign hashslot {slot} to a different node while I still hold keys for this hash slot."
            ),
            NotOwner(slot) => write!(f, "I'm not the owner of hash slot {slot}"),
            SlotBusy(slot) => write!(f, "Slot {slot} is already busy"),
            SlotTwice(slot) => write!(f, "Slot {slot} specified multiple times"),
            SlotUnassigned(slot) => write!(f, "Slot {slot} is already unassigned"),
            StartAfterEnd(start, end) => {
                write!(f, "start slot number {start} is greater than end slot number {end}")
            }
            UnknownNode(id) => write!(f, "Unknown node {id}"),
            UnknownSetSlotNode(id) => write!(f, "I don't know about node {id}"),
            UnknownSubcommand(name) => {
                write!(f, "unknown subcommand or wrong number of arguments for '{name}'. Try CLUSTER HELP.")
            }
            WrongArity(name) => write!(f, "wrong number of arguments for 'cluster|{name}' command"),
            other => f.write_str(other.fixed_text()),
        }
    }
}

impl CommandError {
    /// The text of those that say nothing of the arguments.
    fn fixed_text(&self) -> &'static str {
        use CommandError::*;
        match self {
            BadSetSlot => "Invalid CLUSTER SETSLOT action or number of arguments. Try CLUSTER HELP",
            BadSlot => "Invalid or out of range slot",
            BusPortRange => "Cluster bus port number is out of range",
            EpochIsSet => "Node config epoch is already non-zero",
            ForgetMaster => "Can't forget my master!",
            ForgetMyself => "I tried hard but I can't forget myself...",
            HasKeys => "CLUSTER RESET can't be called with master nodes containing keys",
            MasterDown => "Master is down or failed, please use CLUSTER FAILOVER FORCE",
            MasterUnknown => "I'm a replica but my master is unknown to me",
            MissingTimeout => "Missing timeout value",
            NeedsEmptyDb => "DB must be empty to perform CLUSTER FLUSHSLOTS.",
            NotEmpty => "To set a master the node must be empty and without assigned slots.",
            NotFresh => "The user can assign a config epoch only when the node does not know any other node.",
            NotInteger => "value is not an integer or out of range",
            NotMaster => "The specified node is not a master",
            NotReplica => "You should send CLUSTER FAILOVER to a replica",
            OnlyMasters => "Please use SETSLOT only with masters.",
            PortRange => "Port number is out of range",
            ReplicateMyself => "Can't replicate myself",
            ReplicateReplica => "I can only replicate a master, not a replica.",
            TargetIsMyself => "Target node is myself",
            TargetNotMaster => "Target node is not a master",
            TimeoutNegative => "timeout is negative",
            TimeoutNotInteger => "timeout is not an integer or out of range",
            _ => "syntax error",
        }
    }
}

impl std::error::Error for CommandError {}
