//! The turn of the scripts, for those who write files: while it is held no script runs.

use crate::error::WriteError;
use larder_engine::{Busy, Engine, MayWait, ScriptTurn};

/// The turn of the scripts. Without the proof that it may wait, the caller gives up when one runs for too long.
pub(super) fn turn_of<'e>(
    engine: &'e Engine,
    may_wait: Option<&MayWait>,
) -> Result<ScriptTurn<'e>, WriteError> {
    engine.take_turn(may_wait).map_err(|Busy| WriteError::ScriptBusy)
}
