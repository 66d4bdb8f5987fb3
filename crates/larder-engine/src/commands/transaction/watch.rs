//! WATCH and UNWATCH.

use crate::clients::queue::Watched;
use crate::context::Context;
use crate::error::CommandResult;
use crate::execution::transaction;
use crate::keyspace::key::Key;
use crate::keyspace::watch::Touched;
use larder_resp::Args;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Bytes that a watched key takes beside its name, which is noted twice.
const WATCH_BYTES: usize = 96;

pub(super) fn watch(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    for name in args.from(1).iter() {
        watch_one(context, name);
    }
    let session = &context.session;
    session.shared.watching.store(session.watched.len() as u32, Relaxed);
    session.shared.multi.fetch_max(0, Relaxed);
    context.reply.ok();
    Ok(())
}

fn watch_one(context: &mut Context<'_>, name: &[u8]) {
    let (db, key) = (context.db, context.key(name));
    let touched = match context.session.watched.first().map(|first| Arc::clone(&first.touched)) {
        // Asked in the shard, where it is found at once however many keys the client watches.
        Some(touched) if context.is_watched(&key, &touched) => return,
        Some(touched) => touched,
        None => {
            let touched = Arc::new(Touched::default());
            *context.session.shared.touched.lock() = Some(Arc::clone(&touched));
            touched
        }
    };
    let watched = if context.held.holds(key.shard()) {
        context.watch(&key, &touched)
    } else {
        // A script that runs for too long holds the shard: what it does to the key cannot be noted.
        touched.set();
        Watched { db, key: name.into(), touched: Arc::clone(&touched) }
    };
    context.session.watched.push(watched);
    let bytes = &context.session.shared.watched_bytes;
    bytes.store(bytes.load(Relaxed) + (2 * name.len() + WATCH_BYTES) as u64, Relaxed);
}

impl Context<'_> {
    /// Whether changes of a key are marked already.
    fn is_watched(&mut self, key: &Key<'_>, touched: &Arc<Touched>) -> bool {
        let db = self.db;
        self.held.shard_mut(key.shard()).is_some_and(|data| data.watched.has(db, key.bytes, touched))
    }
}

pub(super) fn unwatch(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    if context.in_exec {
        // EXEC has forgotten the watched keys before it ran this.
        context.reply.ok();
        return Ok(());
    }
    transaction::unwatch(context.engine, context.session);
    context.reply.ok();
    Ok(())
}
