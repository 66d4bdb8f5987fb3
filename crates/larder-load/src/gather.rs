//! Files of commands: those at the start that build values are gathered by key; what comes after the first other command is sent as it is.

use crate::commands::{Command, Commands};
use crate::cutter::{Cutter, Gatherer};
use crate::error::{Error, Result};
use crate::options::Options;
use crate::shared::Shared;
use crate::understand::understand;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering::Relaxed;

/// What came of gathering.
pub struct Gathered {
    /// Whether some of it was on disk.
    pub spilled: bool,
    /// The database of the command that was none of those that are gathered; None at the end of the file.
    pub stopped: Option<u32>,
}

/// Gathers commands until one comes that is not understood, and hands on what they build. `SELECT` is understood.
///
/// # Errors
/// Those of reading; what is gathered is not handed on then. A command that is not understood, with a state file.
pub fn load(
    commands: &mut Commands,
    options: &Options,
    shared: &Shared<'_>,
    cutter: &mut Cutter<'_>,
) -> Result<Gathered> {
    let (mut gatherer, mut db) = (Gatherer::new(options), options.db.unwrap_or(0));
    let flow = commands.each(&mut |command| {
        if let Some(new) = selected(command) {
            db = new;
            return Ok(ControlFlow::Continue(()));
        }
        let (args, offset, mut added) = (command.args, command.offset, Ok(()));
        let is_known = understand(args, offset, shared.now_ms, &mut |key, element| {
            if added.is_ok() {
                added = gatherer.add((db, key), element, None, offset, cutter);
            }
        });
        added?;
        if is_known {
            shared.counts.rows.fetch_add(1, Relaxed);
            return Ok(ControlFlow::Continue(()));
        }
        if options.state.is_some() {
            let name = command.args.at(0).escape_ascii();
            let what = "is sent as it is, and a load with --state could not go on after it";
            return Err(Error::File(format!("{}: offset {offset}: {name} {what}", options.name())));
        }
        Ok(ControlFlow::Break(()))
    })?;
    let spilled = gatherer.finish(cutter)?;
    Ok(Gathered { spilled, stopped: flow.is_break().then_some(db) })
}

/// The database that a command selects.
pub fn selected(command: &Command<'_>) -> Option<u32> {
    let args = command.args;
    let is_select = args.len() == 2 && args.at(0).eq_ignore_ascii_case(b"SELECT");
    is_select.then(|| std::str::from_utf8(args.at(1)).ok()?.parse().ok()).flatten()
}
