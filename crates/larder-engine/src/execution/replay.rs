//! Commands that nobody waits for: they are read from an append-only file, or come from the primary
//! or from the source of a slot migration.

use crate::clients::session::Session;
use crate::command::spec::{Found, flags};
use crate::config::PropagationErrorBehavior;
use crate::engine::Engine;
use crate::error::CommandError;
use crate::execution::memory::OUT_OF_MEMORY;
use std::sync::atomic::Ordering::Relaxed;

/// A command has failed that did not where it comes from: the data may not be the same any more. On a replica that clients
/// cannot change, `propagation-error-behavior` may want the server to end.
#[cold]
pub(crate) fn note_failure(engine: &Engine, session: &Session, found: Option<Found>, error: &CommandError) {
    engine.replication.unexpected_errors.fetch_add(1, Relaxed);
    let (this, other) = match (session.is_of_primary, session.import.is_some()) {
        (true, _) => ("replica", "primary"),
        (false, true) => ("slot-import-target", "slot-import-source"),
        (false, false) => ("server", "AOF-loading-client"),
    };
    let name = found.map_or_else(|| "<unknown>".to_owned(), |found| found.full_name());
    let text = text_of(error);
    engine.log_warning(&format!(
        "== CRITICAL == This {this} is sending an error to its {other}: '{text}' after processing the command '{name}'"
    ));
    if let Some(import) = &session.import {
        import.fail(if *error == OUT_OF_MEMORY {
            "Ran out of memory (OOM) during slot import"
        } else {
            "Failed to process command during slot migration. Check logs for more information"
        });
        engine.cluster.wake();
    }
    let behavior: PropagationErrorBehavior = engine.config.choice("propagation-error-behavior");
    assert!(
        !session.is_of_primary
            || behavior == PropagationErrorBehavior::Ignore
            || !engine.config.is_yes("replica-read-only"),
        "This {this} panicked sending an error to its {other} after processing the command '{name}'"
    );
}

/// Commands, and subcommands of some, that do not run while an append-only file is loaded, besides those that are not allowed in a
/// transaction. They would write files from half of the data, send keys to other servers, wait for good, or turn the reader of the
/// file into something else. No server writes them into the file.
const PASSED_OVER: &[(&str, Option<&str>)] = &[
    ("acl", Some("save")),
    ("bgrewriteaof", None),
    ("bgsave", None),
    ("cluster", Some("saveconfig")),
    ("config", Some("rewrite")),
    ("debug", None),
    ("failover", None),
    ("migrate", None),
    ("monitor", None),
    ("psubscribe", None),
    ("script", Some("debug")),
    ("ssubscribe", None),
    ("subscribe", None),
];

/// Returns the error of a command of an append-only file that is passed over, so that those around it run. Inside of a transaction
/// these are all that do not belong there, MULTI among them.
pub(crate) fn passed_over(found: Found, in_transaction: bool) -> Option<CommandError> {
    let (name, parent) = (found.command.name, found.parent.map(|parent| parent.name));
    let is_listed = PASSED_OVER.iter().any(|&(listed, subcommand)| match subcommand {
        None => parent.unwrap_or(name) == listed,
        Some(subcommand) => parent == Some(listed) && name == subcommand,
    });
    let begins = matches!(name, "multi" | "watch");
    (is_listed || found.command.has(flags::NO_MULTI) && (in_transaction || !begins)).then(|| {
        let name = found.full_name().replace('|', " ").to_ascii_uppercase();
        CommandError::text(format!("ERR {name} isn't allowed in an append only file"))
    })
}

/// The text of an error, without the code if that is `ERR`.
pub(crate) fn text_of(error: &CommandError) -> String {
    let wire = error.wire();
    String::from_utf8_lossy(wire.strip_prefix(b"ERR ").unwrap_or(&wire)).into_owned()
}
