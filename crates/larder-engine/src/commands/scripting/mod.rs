//! The scripting commands: EVAL and its kin, SCRIPT, FUNCTION.

mod cached;
mod eval;
mod library;
mod table;

pub(crate) use library::{forget_all, restore_one};
pub(crate) use table::TABLE;

use crate::commands::is_word;
use crate::error::{CommandError, CommandResult};
use larder_resp::Args;

/// Checks the word behind SCRIPT FLUSH and FUNCTION FLUSH. Both are done at once either way.
fn check_flush_mode(args: Args<'_>, error: CommandError) -> CommandResult {
    match args.get(2) {
        None => Ok(()),
        Some(word) if args.len() == 3 && (is_word(word, "sync") || is_word(word, "async")) => Ok(()),
        Some(_) => Err(error),
    }
}
