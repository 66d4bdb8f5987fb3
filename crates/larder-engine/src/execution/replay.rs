//! Commands that are read from an append-only file.

use crate::command::spec::Found;
use crate::engine::Engine;
use crate::error::CommandError;

/// A command of a file has failed.
#[cold]
pub(crate) fn note_failure(engine: &Engine, found: Found, error: &CommandError) {
    engine.log_warning(&format!(
        "== CRITICAL == This server is sending an error to its AOF-loading-client: '{}' after processing the command '{}'",
        text_of(error),
        found.full_name()
    ));
}

/// An error without the code that says nothing.
pub(crate) fn text_of(error: &CommandError) -> String {
    let wire = error.wire();
    String::from_utf8_lossy(wire.strip_prefix(b"ERR ").unwrap_or(&wire)).into_owned()
}
