//! MULTI, EXEC, WATCH: the queue of a connection, and the keys it depends on.

use crate::clients::queue::Queue;
use crate::clients::registrations::Registration;
use crate::clients::session::{Session, client_flags};
use crate::command::spec::Found;
use crate::engine::Engine;
use crate::keyspace::locks::Held;
use crate::text::number;
use larder_resp::Args;
use std::sync::atomic::Ordering::Relaxed;

/// Whether the command is put into the queue instead of being executed. A subcommand, such as CLUSTER RESET, always is.
#[inline]
pub(crate) fn queues(session: &Session, found: Found) -> bool {
    let is_own = |found: Found| matches!(found.command.name, "exec" | "discard" | "quit" | "reset");
    session.multi.is_some() && (found.parent.is_some() || !is_own(found))
}

/// Puts a command into the queue, of which these flags hold as it is called. One that will not be executed is not kept. `databases`:
/// how many there are.
pub(crate) fn queue(session: &mut Session, found: Found, args: Args<'_>, flags: u32, databases: usize) {
    session.shared.last_command.store(found.id + 1, Relaxed);
    let is_in_vain = session.is_doomed();
    let Some(queue) = &mut session.multi else { return };
    if queue.poisoned || is_in_vain {
        return;
    }
    if found.command.name == "select" {
        let db = args.get(1).and_then(number::parse_i64).and_then(|db| usize::try_from(db).ok());
        queue.db = db.filter(|&db| db < databases).or(queue.db);
    }
    queue.push(found, args.to_owned(), flags);
    session.shared.multi.store(queue.commands.len() as i32, Relaxed);
    session.shared.multi_bytes.store(queue.bytes.min(u32::MAX as usize) as u32, Relaxed);
}

/// A command was refused while queueing: none of the transaction will be executed.
pub(crate) fn poison(session: &mut Session) {
    if let Some(queue) = &mut session.multi {
        queue.poison();
        session.shared.multi.store(0, Relaxed);
        session.shared.multi_bytes.store(0, Relaxed);
    }
}

/// Starts a transaction.
pub(crate) fn start(session: &mut Session) {
    session.multi = Some(Box::default());
    session.shared.multi.store(0, Relaxed);
    session.shared.set_flag(client_flags::MULTI, true);
}

/// Ends a transaction and returns its queue.
pub(crate) fn end(session: &mut Session) -> Option<Box<Queue>> {
    let queue = session.multi.take();
    session.shared.multi.fetch_min(0, Relaxed);
    session.shared.multi_bytes.store(0, Relaxed);
    session.shared.set_flag(client_flags::MULTI, false);
    queue
}

/// Forgets the watched keys, whose shards are held.
pub(crate) fn unwatch_held(engine: &Engine, held: &mut Held<'_>, session: &mut Session) {
    for w in std::mem::take(&mut session.watched) {
        let shard = engine.key(&w.key).shard();
        let data = held.shard_mut(shard).expect("the shards of watched keys are held");
        data.watched.remove(w.db, &w.key, &w.touched);
    }
    if session.shared.watching.swap(0, Relaxed) > 0 {
        *session.shared.touched.lock() = None;
    }
    session.shared.watched_bytes.store(0, Relaxed);
}

/// Forgets the watched keys; no shard is held.
pub(crate) fn unwatch(engine: &Engine, session: &mut Session) {
    for w in std::mem::take(&mut session.watched) {
        engine.stale.forget(&engine.shards, Registration::Watched(w));
    }
    if session.shared.watching.swap(0, Relaxed) > 0 {
        *session.shared.touched.lock() = None;
    }
    session.shared.watched_bytes.store(0, Relaxed);
}

/// Forgets queue and watched keys; no shard is held.
pub(crate) fn forget(engine: &Engine, session: &mut Session) {
    end(session);
    unwatch(engine, session);
}
