//! The keys of a slot: counted, named, deleted.

use super::{misused, needs_cluster, slot};
use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::keyspace::hash::{prefix_of_slot, shard_of_slot};
use crate::text::number;
use crate::text::word::is_word;
use larder_cluster::SLOTS;
use larder_resp::Args;
use std::sync::atomic::Ordering::Relaxed;

/// CLUSTER KEYSLOT needs no cluster.
pub(super) fn keyslot(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    context.reply.int(i64::from(larder_cluster::key_slot(args.at(2))));
    Ok(())
}

/// CLUSTER COUNTKEYSINSLOT: of the selected database.
pub(super) fn countkeysinslot(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    needs_cluster(context)?;
    let slot = slot_number(args.at(2))?.ok_or(CommandError::Fixed("ERR Invalid slot"))?;
    let count = count(context, slot)?;
    context.reply.count(count);
    Ok(())
}

/// Number of keys of a slot in the selected database.
fn count(context: &mut Context<'_>, slot: u16) -> CommandResult<usize> {
    let db = context.db;
    context.with_shard(shard_of_slot(slot), |data| {
        data.table(db).map_or(0, |table| table.count_prefix(prefix_of_slot(slot)))
    })
}

/// Number of keys of a slot in all databases.
pub(super) fn count_all(context: &mut Context<'_>, slot: u16) -> CommandResult<usize> {
    context.with_shard(shard_of_slot(slot), |data| {
        data.tables().iter().map(|table| table.count_prefix(prefix_of_slot(slot))).sum()
    })
}

/// CLUSTER GETKEYSINSLOT: of the selected database.
pub(super) fn getkeysinslot(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    const INVALID: CommandError = CommandError::Fixed("ERR Invalid slot or number of keys");
    needs_cluster(context)?;
    let slot = slot_number(args.at(2))?;
    let wanted = number::integer(args.at(3))?;
    let (slot, wanted) = (slot.ok_or(INVALID)?, usize::try_from(wanted).map_err(|_| INVALID)?);
    let db = context.db;
    context.deferred_array(|context, items| {
        let mut count = 0;
        context.with_shard(shard_of_slot(slot), |data| {
            let Some(table) = data.table(db).filter(|_| wanted > 0) else { return };
            table.walk_prefix(prefix_of_slot(slot), |entry| {
                items.bulk(entry.key());
                count += 1;
                count < wanted
            });
        })?;
        Ok(count)
    })
}

/// CLUSTER FLUSHSLOT: in all databases.
pub(super) fn flushslot(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    needs_cluster(context)?;
    let slot = slot(args.at(2))?;
    let lazily = match args.get(3) {
        None => context.engine.config.hot.lazyfree_lazy_user_flush.load(Relaxed),
        Some(_) if args.len() > 4 => return Err(misused(args)),
        Some(word) if is_word(word, "async") => true,
        Some(word) if is_word(word, "sync") => false,
        Some(_) => return Err(CommandError::SYNTAX),
    };
    context.with_shard_held(shard_of_slot(slot), |context| delete_all(context, slot, lazily))?;
    context.reply.ok();
    Ok(())
}

/// Deletes the keys of a slot, whose shard is held.
fn delete_all(context: &mut Context<'_>, slot: u16, lazily: bool) {
    let selected = context.db;
    context.propagate_nothing();
    let databases = context.held.shard_mut(shard_of_slot(slot)).map_or(0, |data| data.tables().len());
    for db in 0..databases {
        context.db = db;
        for name in names(context, slot) {
            let key = context.key(&name);
            if context.delete_as(&key, lazily) {
                context.propagate_also(&[if lazily { b"UNLINK" } else { b"DEL" }, &name]);
            }
        }
    }
    context.db = selected;
}

fn names(context: &mut Context<'_>, slot: u16) -> Vec<Box<[u8]>> {
    let db = context.db;
    let mut names = Vec::new();
    if let Some(table) = context.held.shard_mut(shard_of_slot(slot)).and_then(|data| data.table(db)) {
        table.walk_prefix(prefix_of_slot(slot), |entry| {
            names.push(entry.key().into());
            true
        });
    }
    names
}

/// A number, which may name no slot.
fn slot_number(arg: &[u8]) -> CommandResult<Option<u16>> {
    let number = number::integer(arg)?;
    Ok(u16::try_from(number).ok().filter(|&slot| slot < SLOTS))
}
