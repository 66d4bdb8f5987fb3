//! WATCH and UNWATCH.

use crate::context::Context;
use crate::error::CommandResult;
use crate::execution::transaction;
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
    let bytes = session.watched.iter().map(|w| 2 * w.key.len() + WATCH_BYTES).sum::<usize>();
    session.shared.watched_bytes.store(bytes as u64, Relaxed);
    context.reply.ok();
    Ok(())
}

fn watch_one(context: &mut Context<'_>, name: &[u8]) {
    let db = context.db;
    if context.session.watched.iter().any(|w| w.db == db && *w.key == *name) {
        return;
    }
    let key = context.key(name);
    let touched = match context.session.watched.first() {
        Some(first) => Arc::clone(&first.touched),
        None => {
            let touched = Arc::new(Touched::default());
            *context.session.shared.touched.lock() = Some(Arc::clone(&touched));
            touched
        }
    };
    let watched = context.watch(&key, &touched);
    context.session.watched.push(watched);
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
