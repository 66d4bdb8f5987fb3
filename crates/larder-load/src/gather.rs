//! Files of commands: those at the start that build values are gathered by key; the first other command and
//! all after it are sent as they are.

use crate::commands::Commands;
use crate::cutter::{Cutter, Gatherer};
use crate::error::{Error, Result};
use crate::group::Group;
use crate::options::Options;
use crate::shared::Shared;
use crate::survey::{Survey, Turn, selected};
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

/// Gathers commands until one comes that is not understood, and hands on what they build; with a survey, keys as soon as they are complete.
/// `SELECT` is understood.
///
/// # Errors
/// Those of reading; what is still gathered is not handed on then. A command that is not understood, with a state file.
pub fn load(
    commands: &mut Commands,
    mut survey: Option<Survey>,
    options: &Options,
    shared: &Shared<'_>,
    cutter: &mut Cutter<'_>,
) -> Result<Gathered> {
    let (mut gatherer, mut db) = (Gatherer::new(options), options.db.unwrap_or(0));
    let mut room = Vec::new();
    let flow = commands.each(&mut |command| {
        if let Some(new) = selected(command) {
            db = new;
            return Ok(ControlFlow::Continue(()));
        }
        let (args, offset, mut added) = (command.args, command.offset, Ok(()));
        let is_known = understand(args, (offset, shared.now_ms), &mut room, &mut |key, element| {
            if added.is_ok() {
                let turn = survey.as_mut().map_or(Turn::Other, |survey| survey.turn(db, key));
                added = match turn {
                    Turn::Only => cutter.add([Group::new(db, key, element, None, offset)]),
                    Turn::Last | Turn::Other => gatherer.add((db, key), element, None, offset, cutter),
                };
                if turn == Turn::Last && added.is_ok() {
                    added = gatherer.complete(db, key, cutter);
                }
            }
        });
        added?;
        if is_known {
            shared.counts.rows.fetch_add(1, Relaxed);
            return Ok(ControlFlow::Continue(()));
        }
        if options.state.is_some() {
            return Err(not_gone_on_after(
                &options.name(),
                offset,
                &command.args.at(0).escape_ascii().to_string(),
            ));
        }
        Ok(ControlFlow::Break(()))
    })?;
    let spilled = gatherer.finish(cutter)?;
    Ok(Gathered { spilled, stopped: flow.is_break().then_some(db) })
}

/// A command that is not gathered, in a load with a state file.
pub fn not_gone_on_after(file: &str, offset: u64, name: &str) -> Error {
    let what = "cannot be collected by key, so a load with --state could not be resumed after it";
    Error::File(format!("{file}: offset {offset}: {name} {what}"))
}
