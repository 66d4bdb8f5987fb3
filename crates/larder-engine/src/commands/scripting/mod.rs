//! The scripting commands: EVAL and its kin, SCRIPT, FUNCTION.

mod cached;
mod eval;
mod handlers;
mod library;

pub(crate) use handlers::HANDLERS;
pub(crate) use library::{forget_all, restore_one};

use crate::error::{CommandError, CommandResult};
use crate::text::word::is_word;
use larder_resp::Args;

/// Checks the word after SCRIPT FLUSH and FUNCTION FLUSH. Both are done at once either way.
fn check_flush_mode(args: Args<'_>, error: CommandError) -> CommandResult {
    match args.get(2) {
        None => Ok(()),
        Some(word) if args.len() == 3 && (is_word(word, "sync") || is_word(word, "async")) => Ok(()),
        Some(_) => Err(error),
    }
}
