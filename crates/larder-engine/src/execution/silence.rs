//! Replies that are not sent: to a client that has said CLIENT REPLY OFF or SKIP, to the source of a migration, to a replica.

use crate::clients::session::{ReplyMode, Session};
use crate::cluster::migration::MigrationState;
use crate::command::spec::{Found, flags};
use crate::context::WorkerState;
use crate::delivery::mailbox::Mail;
use crate::engine::Engine;
use crate::execution::checks::confirms;

/// Takes the reply back where CLIENT REPLY asked for silence.
#[inline]
pub(super) fn silence(
    engine: &Engine,
    worker: &WorkerState,
    session: &mut Session,
    mark: usize,
    out: &mut Vec<u8>,
) {
    match session.reply_mode {
        ReplyMode::On => {}
        ReplyMode::Import => silence_import(engine, worker, session, mark, out),
        ReplyMode::Replica => forbid_reply(engine, worker, session, mark, out),
        ReplyMode::Off => truncate(session, mark, out),
        ReplyMode::SkipNext => {
            out.truncate(mark);
            session.reply_mode = ReplyMode::Skip;
        }
        ReplyMode::Skip => {
            truncate(session, mark, out);
            session.reply_mode = ReplyMode::On;
        }
    }
}

/// Removes a reply, unless confirmations of subscriptions are all that it has.
fn truncate(session: &mut Session, mark: usize, out: &mut Vec<u8>) {
    if !std::mem::take(&mut session.only_confirms) {
        out.truncate(mark);
    }
}

/// The source of a migration has sent a command: an error ends the migration.
#[cold]
fn silence_import(
    engine: &Engine,
    worker: &WorkerState,
    session: &mut Session,
    mark: usize,
    out: &mut Vec<u8>,
) {
    if std::mem::take(&mut session.speaks_to_source) {
        return;
    }
    out.truncate(mark);
    if session.import.as_ref().is_some_and(|import| import.state() == MigrationState::CleaningUp) {
        engine.cluster.wake();
        worker.mailbox.leave(Mail::Kill { client: session.id(), after_flush: false });
    }
}

/// Whether the command replies later, or to whom it should not: from a replica, such a reply would come between the commands of its stream.
pub(super) fn replies_apart(found: Found) -> bool {
    let name = (found.parent.map(|parent| parent.name), found.command.name);
    found.command.has(flags::BLOCKING)
        || confirms(found.command)
        || matches!(name, (None, "reset") | (Some("client"), "reply"))
}

/// The connection of a replica is closed.
pub(super) fn warn_of_reply(engine: &Engine) {
    engine.log_warning("Replica generated a reply to a command, disconnecting it");
}

/// A replica has sent a command with an answer: its connection is closed.
#[cold]
fn forbid_reply(engine: &Engine, worker: &WorkerState, session: &Session, mark: usize, out: &mut Vec<u8>) {
    if out.len() > mark {
        out.truncate(mark);
        warn_of_reply(engine);
        worker.mailbox.leave(Mail::Kill { client: session.id(), after_flush: false });
    }
}
