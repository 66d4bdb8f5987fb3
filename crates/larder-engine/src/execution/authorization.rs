//! Whether a connection may run a command; refusals are noted in ACL LOG.

use crate::acl::{Denial, LogEntry, Origin, Reason, User, allow_to_read_all_keys, decide};
use crate::clients::login::{log_in, log_in_by_certificate, refresh};
use crate::clients::session::{ClientShared, Session};
use crate::clock::wall_ms;
use crate::command::spec::Found;
use crate::engine::Engine;
use crate::error::CommandError;
use crate::keyspace::waiting::Waiter;
use larder_resp::Args;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Where what a client sends comes from.
pub(super) fn origin_of(session: &Session) -> Origin {
    if session.multi.is_some() { Origin::Multi } else { Origin::TopLevel }
}

/// Whether the connection is known to be allowed everything. Takes its rights again if they may have changed.
#[inline]
pub(crate) fn is_unrestricted(engine: &Engine, session: &mut Session) -> bool {
    session.access.is_unrestricted(&engine.acl) || look_closer(engine, session)
}

fn look_closer(engine: &Engine, session: &mut Session) -> bool {
    if !session.keeps_rights {
        refresh(&engine.acl, session);
    }
    session.access.is_unrestricted(&engine.acl)
}

/// A transaction or a script begins: the rights stay as they are now, until what is returned is put back into `keeps_rights`. It may have waited for its shards
/// since it was let in.
pub(crate) fn keep_rights(engine: &Engine, session: &mut Session) -> bool {
    is_unrestricted(engine, session);
    std::mem::replace(&mut session.keeps_rights, true)
}

/// Whether the connection may run a command now; if not, ACL LOG notes it. To be called for every command: those of
/// clients, those of a transaction when it runs, those of scripts.
pub(crate) fn check(
    engine: &Engine,
    session: &mut Session,
    found: Found,
    args: Args<'_>,
    origin: Origin,
) -> Result<(), Denial> {
    if is_unrestricted(engine, session) {
        return Ok(());
    }
    check_restricted(engine, session, found, args, origin)
}

/// The same for a connection that may not do everything, whose rights are fresh.
pub(crate) fn check_restricted(
    engine: &Engine,
    session: &Session,
    found: Found,
    args: Args<'_>,
    origin: Origin,
) -> Result<(), Denial> {
    let databases = engine.database_count();
    // The commands of a transaction before this one may select another database.
    let db = session.multi.as_ref().and_then(|queue| queue.db).unwrap_or(session.db);
    decide(session.access.rights(), found, args, db, databases).inspect_err(|denial| {
        let object = denial.logged_object(found, args);
        let user = session.access.user().name();
        note(engine, &session.shared, denial.reason(), origin, &object, user);
    })
}

/// Why a waiting client is not served.
pub(crate) enum WaiterRefusal {
    /// Its user may not run the command any more.
    Denied(CommandError),
    /// Its user has been removed, or its connection is gone.
    Gone,
}

/// Whether the user of a waiting client may still run the command that it waits in; if not, ACL LOG notes it. The
/// users may have changed since the command was let in.
#[inline]
pub(crate) fn check_waiter(engine: &Engine, waiter: &Waiter) -> Result<(), WaiterRefusal> {
    if waiter.rights_epoch == engine.acl.epoch() { Ok(()) } else { check_waiter_again(engine, waiter) }
}

#[cold]
fn check_waiter_again(engine: &Engine, waiter: &Waiter) -> Result<(), WaiterRefusal> {
    let (client, user) = find_waiter(engine, waiter).ok_or(WaiterRefusal::Gone)?;
    let suspended = client.suspended.lock().clone().ok_or(WaiterRefusal::Gone)?;
    let (found, args) = (suspended.found, suspended.args.as_args());
    decide(&user.rights(), found, args, waiter.db, engine.database_count()).map_err(|denial| {
        let object = denial.logged_object(found, args);
        note(engine, &client, denial.reason(), Origin::TopLevel, &object, user.name());
        WaiterRefusal::Denied(denial.refusal(user.name(), found))
    })
}

/// Whether the user of a waiting client may not run its command any more. ACL LOG does not note it.
#[inline]
pub(crate) fn is_denied(engine: &Engine, waiter: &Waiter) -> bool {
    waiter.rights_epoch != engine.acl.epoch() && is_denied_by_rights(engine, waiter)
}

#[cold]
fn is_denied_by_rights(engine: &Engine, waiter: &Waiter) -> bool {
    let Some((client, user)) = find_waiter(engine, waiter) else { return false };
    let Some(suspended) = client.suspended.lock().clone() else { return false };
    let args = suspended.args.as_args();
    decide(&user.rights(), suspended.found, args, waiter.db, engine.database_count()).is_err()
}

/// A waiting client and its user, unless either is gone.
fn find_waiter(engine: &Engine, waiter: &Waiter) -> Option<(Arc<ClientShared>, Arc<User>)> {
    let client = engine.clients.find(waiter.client)?;
    let user = client.names.lock().user.clone();
    let user = user.unwrap_or_else(|| Arc::clone(engine.acl.default_user()));
    (!user.is_gone()).then_some((client, user))
}

/// Whether the connection may read every key with this command.
pub(crate) fn may_read_all_keys(engine: &Engine, session: &Session, found: Found, args: Args<'_>) -> bool {
    allow_to_read_all_keys(session.access.rights(), found, args, session.db, engine.database_count())
}

/// Makes a connection this user's, if the password is right; `origin` and `object`, the command that asked, are for
/// the log.
pub(crate) fn authenticate(
    engine: &Engine,
    session: &mut Session,
    name: &[u8],
    password: &[u8],
    origin: Origin,
    object: &[u8],
) -> bool {
    let admitted = log_in(&engine.acl, session, name, password);
    if !admitted {
        note(engine, &session.shared, Reason::Auth, origin, object, name);
    }
    admitted
}

/// Makes a connection the user's that its certificate names: the first of `names` that an enabled user has. If there is none, ACL LOG
/// notes the last name.
pub(crate) fn authenticate_by_certificate(engine: &Engine, session: &mut Session, names: &[Vec<u8>]) -> bool {
    if names.iter().any(|name| log_in_by_certificate(&engine.acl, session, name)) {
        return true;
    }
    if let Some(last) = names.last() {
        note(engine, &session.shared, Reason::TlsCertificate, Origin::TopLevel, b"", last);
    }
    false
}

/// Notes a refusal.
fn note(engine: &Engine, client: &ClientShared, reason: Reason, origin: Origin, object: &[u8], user: &[u8]) {
    // What is done to a copy of the data concerns nobody.
    if engine.is_copy {
        return;
    }
    let now_ms = wall_ms();
    let entry = LogEntry {
        id: 0,
        count: 1,
        reason,
        origin: origin.name(),
        object: object.to_vec(),
        user: user.to_vec(),
        client: engine.describe(client, now_ms),
        created_ms: now_ms,
        updated_ms: now_ms,
    };
    let len_max = engine.config.hot.acllog_max_len.load(Relaxed).max(0) as usize;
    engine.acl.log.add(entry, len_max);
}
