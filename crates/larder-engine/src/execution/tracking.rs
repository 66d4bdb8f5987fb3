//! From the news of a change to the bytes that a connection gets: what its owner decides.

use crate::clients::session::{Session, client_flags};
use crate::command::keys;
use crate::context::{Context, WorkerState};
use crate::delivery::invalidation::{Invalidation, Scope};
use crate::delivery::invalidations::Invalidations;
use crate::delivery::mailbox::Mail;
use crate::engine::Engine;
use crate::keyspace::address::Address;
use crate::keyspace::key::SHARDS;
use crate::keyspace::readers::ReadKeys;
use crate::keyspace::waiting::Waiter;
use larder_resp::{Args, Reply};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// The channel that messages seem to come from where pushes are not known.
const CHANNEL: &[u8] = b"__redis__:invalidate";

/// After a command, when no shard is locked any more: sends what it has changed. What concerns the connection itself
/// goes after its reply.
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
        for what in worker.invalidations.send_direct(engine.receivers(), Some(worker.index), session.id()) {
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
    if id == session.shared.id {
        // Written at once: it comes between the reply to the command and the next one.
        return invalidate_for_other(session, what, out);
    }
    if let Some(other) = engine.clients.find(id) {
        let mail = Mail::InvalidateForOther { client: id, what: Arc::clone(what) };
        engine.mailboxes.send_from(Some(from), other.worker, mail);
        return;
    }
    tracking.is_broken = true;
    session.shared.set_flag(client_flags::BROKEN_REDIRECT, true);
    if reply.is_resp3() {
        reply.push(2);
        reply.bulk(b"tracking-redir-broken");
        reply.int(id as i64);
    }
}

/// Tells a client of a change that another, or itself, has redirected to it.
pub(crate) fn invalidate_for_other(session: &Session, what: &Invalidation, out: &mut Vec<u8>) {
    let mut reply = Reply::new(out, session.protocol);
    if reply.is_resp3() {
        write_push(&mut reply, what);
    } else if session.subscribes {
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

/// After a command of a connection with tracking: remembers which keys it has read. The shards are still locked.
#[cold]
pub(crate) fn remember(context: &mut Context<'_>, args: Args<'_>) {
    let reader = Address { worker: context.session.shared.worker, client: context.session.id() };
    if !context.session.tracking.as_ref().is_some_and(|tracking| tracking.remembers()) {
        return;
    }
    for name in keys::collect(context.found.command, args) {
        let key = context.key(name);
        let Some(shard) = context.held.shard_mut(key.shard()) else { continue };
        if shard.read_keys.add(&key, reader) {
            context.engine.trackers.keys.fetch_add(1, Relaxed);
        }
    }
}

/// A waiting client has been served what it reads: notes that it has read the keys, if it wanted that when it began to
/// wait. Those whose shards are held.
pub(crate) fn remember_for(context: &mut Context<'_>, waiter: &Waiter) {
    let engine = context.engine;
    if engine.trackers.clients.load(Relaxed) == 0 {
        return;
    }
    let Some(client) = engine.clients.find(waiter.client) else { return };
    let wants = client.suspended.lock().as_ref().is_some_and(|suspended| suspended.tracks);
    if !wants || !client.has(client_flags::TRACKING) {
        return;
    }
    let reader = Address { worker: waiter.worker, client: waiter.client };
    for name in &waiter.keys {
        let key = context.key(name);
        let Some(shard) = context.held.shard_mut(key.shard()) else { continue };
        if shard.read_keys.add(&key, reader) {
            engine.trackers.keys.fetch_add(1, Relaxed);
        }
    }
}

/// Keys forgotten after one command, at most, when the tables hold too many.
const FORGOTTEN_AT_ONCE: usize = 100;

/// Forgets keys while the tables hold more than they may, a bounded number of them. No shard is locked.
pub(crate) fn limit_keys(engine: &Engine, rng: &mut fastrand::Rng, invalidations: &mut Invalidations) {
    let max = engine.config.hot.tracking_table_max_keys.load(Relaxed);
    let is_over = || max > 0 && engine.trackers.keys.load(Relaxed) as u64 > max;
    let mut left = FORGOTTEN_AT_ONCE;
    for _ in 0..SHARDS {
        if !is_over() {
            return;
        }
        let at = engine.trackers.cursor.fetch_add(1, Relaxed) % SHARDS;
        let Some(mut shard) = engine.shards.lock_now(at) else { continue };
        while left > 0
            && is_over()
            && let Some((name, readers)) = shard.read_keys.take_random(rng)
        {
            engine.trackers.keys.fetch_sub(1, Relaxed);
            invalidations.push(&name, readers, 0);
            left -= 1;
        }
    }
}

/// All databases, or one, were emptied, and all shards are locked: forgets all keys, and notes that everybody is told.
pub(crate) fn forget_all(context: &mut Context<'_>) {
    let engine = context.engine;
    if engine.trackers.clients.load(Relaxed) == 0 && engine.trackers.keys.load(Relaxed) == 0 {
        return;
    }
    for shard in 0..SHARDS {
        let data = context.shard_of_all(shard);
        engine.trackers.keys.fetch_sub(data.read_keys.len(), Relaxed);
        data.read_keys = ReadKeys::default();
    }
    context.worker.invalidations.push_all();
}

impl WorkerState {
    /// Sends what the changes of a loop's iteration have for the listeners of prefixes. In the next one keys may be evicted for a while again.
    pub(crate) fn finish_round(&mut self, engine: &Engine) {
        self.evictor.end_round();
        self.invalidations.send_broadcasts(engine.receivers(), Some(self.index));
    }
}
