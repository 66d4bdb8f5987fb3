//! A primary that hands its part over to one of its replicas (FAILOVER).

/// How far a failover has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailoverPhase {
    /// Writes wait until a replica has everything.
    WaitingForSync,
    /// This server follows the replica, and asks it to lead.
    InProgress,
}

impl FailoverPhase {
    /// As INFO shows it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            FailoverPhase::WaitingForSync => "waiting-for-sync",
            FailoverPhase::InProgress => "failover-in-progress",
        }
    }
}

/// A failover.
#[derive(Clone, Debug)]
pub(crate) struct Failover {
    /// The replica that is to lead; any if `None`.
    pub target: Option<(String, u16)>,
    /// It is to lead when the time is over, whatever it lacks.
    pub is_forced: bool,
    /// When the time is over, in ms of the wall clock.
    pub deadline_ms: Option<u64>,
    pub phase: FailoverPhase,
}
