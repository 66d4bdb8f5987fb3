//! Which command the arguments call, and what a client hears when it is none.

use crate::command::spec::Found;
use crate::command::table::table;
use crate::context::WorkerState;
use crate::engine::Engine;
use crate::error::{CommandError, CommandResult};
use larder_resp::Args;

/// Looks a command up; most often it is one that came shortly before. An append-only file may call it by the name that
/// it has lost: that is how the server itself writes commands.
#[inline]
pub(super) fn find(engine: &Engine, worker: &mut WorkerState, name: &[u8], replays: bool) -> Option<Found> {
    if !engine.names.are_original() {
        let found = engine.names.find(name);
        return found.or_else(|| replays.then(|| table().find(name))?);
    }
    worker.recent.find(name, |name| table().find(name))
}

/// The command that arguments of an append-only file call, if they can: it is known, and takes this many of them. An error is
/// what a client hears.
pub(crate) fn look_up(engine: &Engine, worker: &mut WorkerState, args: Args<'_>) -> CommandResult<Found> {
    let found =
        find(engine, worker, args.get(0).unwrap_or(b""), true).ok_or_else(|| unknown_command(args))?;
    let found = subcommand(found, args)?;
    if found.command.accepts(args.len()) { Ok(found) } else { Err(CommandError::arity(&found.full_name())) }
}

/// The command or subcommand that arguments begin with, by the names that clients use.
pub(crate) fn find_command(engine: &Engine, worker: &mut WorkerState, args: Args<'_>) -> Option<Found> {
    let found = find(engine, worker, args.get(0)?, false)?;
    subcommand(found, args).ok()
}

/// The same, or the error that scripts get.
pub(crate) fn find_for_script(
    engine: &Engine,
    worker: &mut WorkerState,
    args: Args<'_>,
) -> CommandResult<Found> {
    let found = args.get(0).and_then(|name| find(engine, worker, name, false));
    let found = found.ok_or(CommandError::UNKNOWN_IN_SCRIPT)?;
    subcommand(found, args)
}

#[inline]
pub(crate) fn subcommand(found: Found, args: Args<'_>) -> CommandResult<Found> {
    if found.command.subcommands.is_empty() || args.len() < 2 {
        return Ok(found);
    }
    match table().find_sub(found, &args[1]) {
        Some(sub) => Ok(sub),
        None => Err(unknown_subcommand(&args[1], &args[0])),
    }
}

/// The error of a name that no command has.
pub(crate) fn unknown_command(args: Args<'_>) -> CommandError {
    let mut text = b"ERR unknown command '".to_vec();
    push_cut(&mut text, args.get(0).unwrap_or(b""), 128);
    text.extend_from_slice(b"', with args beginning with: ");
    let start = text.len();
    for arg in args.from(1).iter() {
        let used = text.len() - start;
        if used >= 128 {
            break;
        }
        text.push(b'\'');
        push_cut(&mut text, arg, 128 - used);
        text.extend_from_slice(b"' ");
    }
    CommandError::Text(text)
}

/// The error of a subcommand that its container has not.
pub(crate) fn unknown_subcommand(name: &[u8], container: &[u8]) -> CommandError {
    let mut text = b"ERR unknown subcommand '".to_vec();
    push_cut(&mut text, name, 128);
    text.extend_from_slice(b"'. Try ");
    text.extend_from_slice(&container.to_ascii_uppercase());
    text.extend_from_slice(b" HELP.");
    CommandError::Text(text)
}

/// Appends at most `max` bytes, up to the first zero byte as C's printf would.
fn push_cut(text: &mut Vec<u8>, bytes: &[u8], max: usize) {
    let bytes = &bytes[..bytes.len().min(max)];
    let end = memchr::memchr(0, bytes).unwrap_or(bytes.len());
    text.extend_from_slice(&bytes[..end]);
}
