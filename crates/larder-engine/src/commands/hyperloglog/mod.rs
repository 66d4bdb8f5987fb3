//! The HyperLogLog commands. The format of the strings is that of `larder_collections::hyperloglog`.

mod debug;
mod handlers;
mod self_test;

pub(crate) use handlers::HANDLERS;

use crate::context::Context;
use crate::engine::notify::class;
use crate::error::{CommandError, CommandResult};
use larder_collections::hyperloglog::{self, Corrupted, Registers, Sketch, View};
use larder_collections::key_table::ExpireChange;
use larder_packed::bytes::SharedBytes;
use larder_resp::Args;
use std::sync::atomic::Ordering::Relaxed;

const NOT_HYPERLOGLOG: CommandError =
    CommandError::Fixed("WRONGTYPE Key is not a valid HyperLogLog string value.");

impl From<Corrupted> for CommandError {
    fn from(_: Corrupted) -> Self {
        CommandError::Fixed("INVALIDOBJ Corrupted HLL object detected")
    }
}

/// Bytes up to which a HyperLogLog stays sparse.
fn sparse_bytes_max(context: &Context<'_>) -> usize {
    usize::try_from(context.engine.config.hot.hll_sparse_max_bytes.load(Relaxed)).unwrap_or(0)
}

fn view(bytes: &[u8]) -> CommandResult<View<'_>> {
    View::of(bytes).ok_or(NOT_HYPERLOGLOG)
}

fn sketch(bytes: &mut SharedBytes) -> CommandResult<Sketch<'_>> {
    Sketch::of(bytes).ok_or(NOT_HYPERLOGLOG)
}

fn pfadd(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let key = context.key(args.at(1));
    let bytes_max = sparse_bytes_max(context);
    let add = |bytes: &mut SharedBytes, is_new: bool| {
        let mut sketch = sketch(bytes)?;
        let mut updates = u64::from(is_new);
        for element in args.from(2).iter() {
            updates += u64::from(sketch.add(element, bytes_max)?);
        }
        if updates > 0 {
            sketch.mark_stale();
        }
        Ok::<_, CommandError>(updates)
    };
    let done = context.with_string(&key, |bytes| add(bytes, false).map(|updates| (updates, updates > 0)))?;
    let updates = match done {
        Some(updates) => updates,
        None => {
            let mut bytes = hyperloglog::empty();
            let updates = add(&mut bytes, true)?;
            context.put_shared(&key, bytes, ExpireChange::Clear);
            updates
        }
    };
    if updates > 0 {
        context.modified(&key);
        context.worker.stats.dirty.add(updates - 1);
        context.notify(class::STRING, "pfadd", &key);
    }
    context.reply.int(i64::from(updates > 0));
    Ok(())
}

fn pfcount(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    if args.len() > 2 {
        let mut registers = Registers::new();
        for name in args.from(1).iter() {
            merge(context, name, &mut registers)?;
        }
        context.reply.int(registers.count() as i64);
        return Ok(());
    }
    let key = context.key(args.at(1));
    let cached = context.read_string(&key, |bytes, _| match bytes {
        None => Ok(Some(0)),
        Some(bytes) => Ok(view(bytes)?.cached_count()),
    })?;
    let count = match cached {
        Some(count) => count,
        None => recount(context, args)?,
    };
    context.reply.int(count as i64);
    Ok(())
}

/// Counts and keeps the number in the string, which is a change: replicas and the log must see it.
fn recount(context: &mut Context<'_>, args: Args<'_>) -> CommandResult<u64> {
    let key = context.key(args.at(1));
    let count = context.with_string(&key, |bytes| {
        let mut sketch = sketch(bytes)?;
        let count = sketch.view().count()?;
        sketch.store_count(count);
        Ok((count, true))
    })?;
    context.modified(&key);
    // Commands that only read are not noted by themselves.
    context.propagate_instead(&[b"PFCOUNT", key.bytes]);
    Ok(count.unwrap_or(0))
}

/// Merges the HyperLogLog of a key, if there is one; true if that is dense.
fn merge(context: &mut Context<'_>, name: &[u8], registers: &mut Registers) -> CommandResult<bool> {
    let key = context.key(name);
    context.read_string(&key, |bytes, _| {
        let Some(bytes) = bytes else { return Ok(false) };
        let view = view(bytes)?;
        registers.merge(view)?;
        Ok(view.encoding() == hyperloglog::Encoding::Dense)
    })
}

fn pfmerge(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let mut registers = Registers::new();
    let mut dense = false;
    for name in args.from(1).iter() {
        dense |= merge(context, name, &mut registers)?;
    }
    let bytes_max = sparse_bytes_max(context);
    let raise = |bytes: &mut SharedBytes| {
        let mut sketch = sketch(bytes)?;
        if dense {
            sketch.make_dense()?;
        }
        sketch.raise_all(&registers, bytes_max)?;
        Ok::<_, CommandError>(((), true))
    };
    let target = context.key(args.at(1));
    if context.with_string(&target, raise)?.is_none() {
        let mut bytes = hyperloglog::empty();
        raise(&mut bytes)?;
        context.put_shared(&target, bytes, ExpireChange::Clear);
    }
    context.modified(&target);
    // As if each element had been added.
    context.notify(class::STRING, "pfadd", &target);
    context.reply.ok();
    Ok(())
}
