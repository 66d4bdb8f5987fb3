//! Commands on whole databases.

use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::keyspace::key::SHARDS;
use crate::text::number;
use crate::text::word::is_word;
use larder_resp::Args;
use std::sync::atomic::Ordering::Relaxed;

pub(super) fn dbsize(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    let (db, engine) = (context.db, context.engine);
    let mut len = 0;
    for shard in 0..SHARDS {
        let hidden = engine.cluster.migrations.hidden();
        len += context
            .with_shard(shard, |data| data.table(db).map_or(0, |table| hidden.visible_len(shard, table)))?;
    }
    context.reply.count(len);
    Ok(())
}

pub(super) fn flushdb(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let background = parse_mode(context, args)?;
    let db = context.db;
    flush(context, &[db], background)?;
    // Also when it was empty: where the log is read it may not be.
    context.propagate_instead(&[b"FLUSHDB"]);
    context.reply.ok();
    Ok(())
}

pub(super) fn flushall(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let background = parse_mode(context, args)?;
    let databases: Vec<usize> = (0..context.engine.database_count()).collect();
    flush(context, &databases, background)?;
    context.engine.replication.own_deadlines.clear();
    context.propagate_instead(&[b"FLUSHALL"]);
    context.worker.flushed = !context.session.replays;
    context.reply.ok();
    Ok(())
}

/// Whether the memory is freed in the background.
fn parse_mode(context: &Context<'_>, args: Args<'_>) -> CommandResult<bool> {
    match args.get(1) {
        None => Ok(context.engine.config.hot.lazyfree_lazy_user_flush.load(Relaxed)),
        Some(word) if args.len() == 2 && is_word(word, "async") => Ok(true),
        Some(word) if args.len() == 2 && is_word(word, "sync") => Ok(false),
        Some(_) => Err(CommandError::SYNTAX),
    }
}

/// Empties databases. All shards are held.
fn flush(context: &mut Context<'_>, databases: &[usize], background: bool) -> CommandResult {
    if !background {
        context.walks()?;
    }
    let (mut old, mut removed, engine) = (Vec::new(), 0, context.engine);
    let due_ms = context.due_ms();
    engine.cluster.migrations.fail_all("Data was flushed", |_| true);
    for shard in 0..SHARDS {
        let data = context.held.shard_mut(shard).expect("the command holds all shards");
        for &db in databases {
            data.field_expiry.forget(db);
            let Some(len) = data.table(db).map(|table| table.len()).filter(|&len| len > 0) else { continue };
            data.touch_watched_db(db, None, due_ms);
            removed += len as u64;
            old.extend(data.depart(db));
            // Consumers of groups are told that their streams are gone.
            context.ready.extend(data.waiting.keys_of(db).into_iter().map(|name| (db, name)));
        }
    }
    engine.cold.forget_dictionaries();
    crate::execution::tracking::forget_all(context);
    context.worker.stats.dirty.add(removed);
    if background {
        context.engine.background.discard_tables(old);
    } else {
        context.free_at_last(old);
    }
    Ok(())
}

pub(super) fn swapdb(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    if context.engine.cluster.is_on() {
        return Err(CommandError::Fixed("ERR SWAPDB is not allowed in cluster mode"));
    }
    let number = |arg, error| match number::database(arg, context.engine.database_count()) {
        Err(CommandError::NOT_INTEGER | CommandError::NOT_I32) => Err(CommandError::Fixed(error)),
        db => Ok(db),
    };
    // Both must be numbers before either must be in range.
    let first = number(&args[1], "ERR invalid first DB index")?;
    let second = number(&args[2], "ERR invalid second DB index")?;
    let (first, second) = (first?, second?);
    if first == second {
        context.worker.stats.dirty.add(1);
    } else {
        swap(context, first, second);
    }
    context.reply.ok();
    Ok(())
}

/// Exchanges two databases for all connections. All shards are held.
fn swap(context: &mut Context<'_>, first: usize, second: usize) {
    let due_ms = context.due_ms();
    for shard in 0..SHARDS {
        let data = context.shard_of_all(shard);
        data.touch_watched_db(first, Some(second), due_ms);
        data.touch_watched_db(second, Some(first), due_ms);
        data.swap_tables(first, second);
        let waiting = |db: usize| data.waiting.keys_of(db).into_iter().map(move |key| (db, key));
        let ready: Vec<_> = waiting(first).chain(waiting(second)).collect();
        context.ready.extend(ready);
    }
    context.engine.cold.forget_dictionaries();
    // Changes are told by name, whatever the database: all names may mean something else now.
    crate::execution::tracking::forget_all(context);
    context.worker.stats.dirty.add(1);
}
