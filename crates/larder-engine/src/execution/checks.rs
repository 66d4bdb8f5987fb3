//! What is asked about a command and its client before it runs or is queued: the number of arguments, the rights, the node, the state of the
//! server and of the connection.

use super::transaction;
use super::{admission, authorization, redirection};
use crate::clients::session::{Session, client_flags};
use crate::command::spec::{Command, Found, flags};
use crate::config::Permission;
use crate::context::WorkerState;
use crate::engine::Engine;
use crate::error::{CommandError, CommandResult};
use crate::keyspace::hash::slot_of;
use crate::scripts::declared::flags_of;
use larder_resp::Args;
use std::sync::atomic::Ordering::Relaxed;

/// What must hold for a command to run or to be queued. Most pass at a glance.
#[inline]
pub(super) fn check(
    engine: &Engine,
    worker: &mut WorkerState,
    session: &mut Session,
    found: Found,
    args: Args<'_>,
) -> CommandResult {
    let command = found.command;
    let free = authorization::is_unrestricted(engine, session);
    let is_plain = command.accepts(args.len())
        && !command.has_any(flags::PROTECTED | flags::NO_MULTI)
        && free
        && session.authenticated
        && !session.only_listens()
        && !session.follows_redirects()
        && !session.is_monitor
        && (!engine.gate.is_shut() || is_plainly_here(engine, worker, found, args));
    if is_plain { Ok(()) } else { check_closely(engine, worker, session, found, args, free) }
}

/// Whether the only question left is which node executes a command, and that is this one, as for most commands on one key.
#[inline]
fn is_plainly_here(engine: &Engine, worker: &mut WorkerState, found: Found, args: Args<'_>) -> bool {
    if !engine.gate.is_shut_by_cluster_alone() {
        return false;
    }
    let Some(key) = found.only_key(args.len()).and_then(|at| args.get(at)) else { return false };
    let hash = worker.known_hashes.key(key).hash;
    worker.checked_hash = Some(hash);
    redirection::serves_plainly(engine, worker, slot_of(hash))
}

/// The questions one by one, in the order in which their errors take precedence.
#[cold]
fn check_closely(
    engine: &Engine,
    worker: &mut WorkerState,
    session: &mut Session,
    found: Found,
    args: Args<'_>,
    free: bool,
) -> CommandResult {
    let command = found.command;
    if !session.authenticated && !command.has(flags::NO_AUTH) {
        return Err(CommandError::NO_AUTH);
    }
    if !command.accepts(args.len()) {
        return Err(CommandError::arity(&found.full_name()));
    }
    if command.has(flags::PROTECTED) && !is_local_option_allowed(engine, session, protecting_option(found)) {
        return Err(protected_refused(found));
    }
    if !free {
        session.shared.last_command.store(found.id + 1, Relaxed);
        check_rights(engine, session, found, args)?;
    }
    if session.follows_redirects()
        && admission::check_place(engine, session, command, flags_of(&engine.scripts, command, args))?
    {
        return Ok(());
    }
    if engine.cluster.is_on() {
        redirection::check(engine, worker, session, (found, args), None)?;
    }
    if engine.gate.is_shut() {
        if engine.gate.is_busy() && !command.has(flags::ALLOW_BUSY) && !session.replays {
            return Err(engine.busy_error());
        }
        admission::check(engine, session, command, flags_of(&engine.scripts, command, args))?;
    }
    if command.has(flags::NO_MULTI) && transaction::queues(session, found) {
        return Err(CommandError::text(format!(
            "ERR Command '{}' not allowed inside a transaction",
            found.full_name()
        )));
    }
    if session.only_listens() && !is_for_listeners(found) {
        return Err(CommandError::text(format!(
            "ERR Can't execute '{}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context",
            found.full_name()
        )));
    }
    const TOUCHES_KEYS: u32 = flags::READONLY | flags::WRITE | flags::MAY_REPLICATE;
    if session.is_monitor && flags_of(&engine.scripts, command, args) & TOUCHES_KEYS != 0 {
        return Err(CommandError::Fixed("ERR Replica can't interact with the keyspace"));
    }
    Ok(())
}

/// Whether some of this may have another answer than when the command was let in. To be asked while its shards are held, so that what
/// REPLICAOF, ACL SETUSER and their like forbid is not done any more when they have replied.
#[inline]
pub(super) fn may_have_changed(engine: &Engine, session: &Session) -> bool {
    engine.gate.refuses() || session.follows_redirects() || session.access.epoch() != engine.acl.epoch()
}

/// Asks again about a command that was let in, before its handler is called.
#[cold]
pub(super) fn check_again(
    engine: &Engine,
    session: &mut Session,
    found: Found,
    args: Args<'_>,
) -> CommandResult {
    let command = found.command;
    let keeps_rights = session.keeps_rights || !session.authenticated;
    if !keeps_rights && session.access.epoch() != engine.acl.epoch() {
        let free = authorization::is_unrestricted(engine, session);
        if !session.authenticated && !command.has(flags::NO_AUTH) {
            return Err(CommandError::NO_AUTH);
        }
        if !free {
            check_rights(engine, session, found, args)?;
        }
    }
    let flags = flags_of(&engine.scripts, command, args);
    if session.follows_redirects() && admission::check_place(engine, session, command, flags)? {
        return Ok(());
    }
    admission::check(engine, session, command, flags)
}

fn check_rights(engine: &Engine, session: &Session, found: Found, args: Args<'_>) -> CommandResult {
    let origin = authorization::origin_of(session);
    authorization::check_restricted(engine, session, found, args, origin)
        .map_err(|denial| denial.refusal(session.access.user().name(), found))
}

/// Whether a client that speaks RESP2 and has subscriptions may call it.
fn is_for_listeners(found: Found) -> bool {
    found.parent.is_none()
        && (confirms(found.command) || matches!(found.command.name, "ping" | "quit" | "reset"))
}

/// Whether the command answers with confirmations of subscriptions, which CLIENT REPLY does not silence.
pub(crate) fn confirms(command: &Command) -> bool {
    command.has(flags::PUBSUB | flags::NOSCRIPT)
}

/// Whether an option that says `no`, `yes` or `local` allows something to this connection.
pub(crate) fn is_local_option_allowed(engine: &Engine, session: &Session, option: &str) -> bool {
    match engine.config.choice(option) {
        Permission::No => false,
        Permission::Yes => true,
        Permission::Local => {
            let addr = &session.shared.addr;
            session.shared.has(client_flags::UNIX) || addr.starts_with("127.") || addr.starts_with("[::1]")
        }
    }
}

/// The option that allows a protected command.
fn protecting_option(found: Found) -> &'static str {
    if found.parent.is_some() { "enable-module-command" } else { "enable-debug-command" }
}

fn protected_refused(found: Found) -> CommandError {
    let name = found.parent.unwrap_or(found.command).name.to_ascii_uppercase();
    CommandError::text(format!(
        "ERR {name} command not allowed. If the {} option is set to \"local\", you can run it from a local connection, \
         otherwise you need to set this option in the configuration file, and then restart the server.",
        protecting_option(found)
    ))
}
