//! The turn of the scripts, for those who write files: while it is held no script runs.

use larder_engine::{Busy, Engine, MayWait, ScriptTurn};
use std::io;

/// Why a snapshot is not to be had now.
pub(super) const SCRIPT_BUSY: &str = "a script runs for too long";

/// The turn of the scripts. Without the proof that it may wait, the caller gives up when one runs for too long.
pub(super) fn turn_of<'e>(engine: &'e Engine, may_wait: Option<&MayWait>) -> io::Result<ScriptTurn<'e>> {
    engine.take_turn(may_wait).map_err(|Busy| io::Error::other(SCRIPT_BUSY))
}
