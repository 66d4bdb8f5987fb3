//! The script lock, for threads that write files: while it is held no script runs.

use crate::error::WriteError;
use larder_engine::{Busy, Engine, MayWait, NoShards, ScriptTurn};

/// How long a thread that writes a file may wait for a script that runs.
#[derive(Clone, Copy)]
pub(super) enum Waits<'w> {
    /// However long: the thread serves no clients.
    InBackground(&'w MayWait),
    /// Until the script has run for too long: clients wait for the file.
    ForClients(NoShards<'w>),
}

impl Waits<'_> {
    /// Whether a thread of its own writes the file.
    pub(super) fn in_background(self) -> bool {
        matches!(self, Waits::InBackground(_))
    }
}

/// Acquires the script lock.
pub(super) fn turn_of<'e>(engine: &'e Engine, waits: Waits<'_>) -> Result<ScriptTurn<'e>, WriteError> {
    match waits {
        Waits::InBackground(may_wait) => Ok(engine.take_turn(may_wait)),
        Waits::ForClients(no_shards) => {
            engine.try_take_turn(no_shards).map_err(|Busy| WriteError::ScriptBusy)
        }
    }
}
