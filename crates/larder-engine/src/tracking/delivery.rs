//! From the news of a change to the bytes that a connection gets: what its owner decides.

use super::invalidations::{Invalidation, Scope};
use super::limit_keys;
use crate::context::WorkerState;
use crate::engine::Engine;
use crate::mailbox::Mail;
use crate::session::{Session, client_flags};
use larder_resp::Reply;
use std::sync::Arc;

/// The channel that messages seem to come from where pushes are not known.
const CHANNEL: &[u8] = b"__redis__:invalidate";

/// After a command, when no shard is locked any more: sends what it has changed. What concerns the connection itself
/// goes behind its reply.
pub(crate) fn finish_command(
    engine: &Engine,
    worker: &mut WorkerState,
    session: &mut Session,
    out: &mut Vec<u8>,
) {
    if session.tracking.is_some() {
        limit_keys(engine, &mut worker.rng, &mut worker.invalidations);
    }
    if worker.invalidations.has_direct() {
        for what in worker.invalidations.send_direct(engine, Some(worker.index), session.id()) {
            invalidate(engine, worker.index, session, &what, out);
        }
    }
}

/// Tells a client of a change, if it still wants to know, or has the one told that its messages are redirected to.
pub(crate) fn invalidate(
    engine: &Engine,
    from: usize,
    session: &mut Session,
    what: &Arc<Invalidation>,
    out: &mut Vec<u8>,
) {
    let Some(tracking) = &mut session.tracking else { return };
    let options = tracking.options;
    let concerned = match what.scope {
        Scope::Everybody => true,
        Scope::Listeners => options.broadcast,
        Scope::Readers { writer } => !options.broadcast && (!options.no_loop || writer != session.shared.id),
    };
    if !concerned {
        return;
    }
    let mut reply = Reply::new(out, session.protocol);
    let Some(id) = options.redirect else {
        if reply.is_resp3() {
            write_push(&mut reply, what);
        }
        return;
    };
    if let Some(other) = engine.clients.find(id) {
        let mail = Mail::InvalidateForOther { client: id, what: Arc::clone(what) };
        return engine.send_from(Some(from), other.worker, mail);
    }
    tracking.is_broken = true;
    session.shared.set_flag(client_flags::BROKEN_REDIRECT, true);
    if reply.is_resp3() {
        reply.push(2);
        reply.bulk(b"tracking-redir-broken");
        reply.int(id as i64);
    }
}

/// Tells a client of a change that another has asked for.
pub(crate) fn invalidate_for_other(session: &Session, what: &Invalidation, out: &mut Vec<u8>) {
    let mut reply = Reply::new(out, session.protocol);
    if reply.is_resp3() {
        write_push(&mut reply, what);
    } else if session.subscriptions.is_some() {
        reply.array(3);
        reply.bulk(b"message");
        reply.bulk(CHANNEL);
        what.write_keys(&mut reply);
    }
}

fn write_push(reply: &mut Reply<'_>, what: &Invalidation) {
    reply.push(2);
    reply.bulk(b"invalidate");
    what.write_keys(reply);
}
