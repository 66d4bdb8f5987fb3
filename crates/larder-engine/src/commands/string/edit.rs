//! Commands that change part of a string.

use crate::context::{Context, inline};
use crate::engine::notify::class;
use crate::error::{CommandError, CommandResult};
use crate::keyspace::key::Key;
use crate::keyspace::kind::{self, Kind, string_bytes};
use crate::text::number;
use larder_collections::key_table::{ExpireChange, INLINE_MAX};
use larder_collections::value::Value;
use larder_packed::bytes::SharedBytes;
use larder_resp::Args;

pub(super) fn append(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let key = context.key(args.at(1));
    let Some(len) = string_len(context, &key)? else {
        context.put_string(&key, &args[2], ExpireChange::Clear);
        context.modified(&key);
        context.notify(class::STRING, "append", &key);
        context.reply.count(args[2].len());
        return Ok(());
    };
    let total = check_len(context, len, args[2].len())?;
    let with_room = |old: &[u8]| {
        let mut bytes = SharedBytes::with_capacity(total);
        bytes.extend(old);
        bytes
    };
    edit(context, &key, total, with_room, |bytes| bytes.extend(&args[2]));
    context.modified(&key);
    context.notify(class::STRING, "append", &key);
    context.reply.count(total);
    Ok(())
}

pub(super) fn setrange(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let offset = number::integer(&args[2])?;
    let offset = usize::try_from(offset).map_err(|_| CommandError::OFFSET_OUT_OF_RANGE)?;
    let (key, patch) = (context.key(args.at(1)), args.at(3));
    let old_len = string_len(context, &key)?;
    if patch.is_empty() {
        context.reply.count(old_len.unwrap_or(0));
        return Ok(());
    }
    let end = check_len(context, offset, patch.len())?;
    let total = end.max(old_len.unwrap_or(0));
    if old_len.is_none() {
        context.put_string_as(&key, b"", inline::RAW, ExpireChange::Clear);
    }
    edit(
        context,
        &key,
        total,
        |old| SharedBytes::padded(old, total),
        |bytes| {
            bytes.pad(total);
            bytes.make_mut()[offset..end].copy_from_slice(patch);
        },
    );
    context.modified(&key);
    context.notify(class::STRING, "setrange", &key);
    context.reply.count(total);
    Ok(())
}

/// Length of the string of a key; an error for another type.
fn string_len(context: &mut Context<'_>, key: &Key<'_>) -> CommandResult<Option<usize>> {
    context.look_up_first(key, |entry| entry.map(|entry| kind::string_len(&entry)).transpose())
}

/// The sum, if a string may be that long.
fn check_len(context: &Context<'_>, len: usize, more: usize) -> CommandResult<usize> {
    let max = context.engine.config.hot.string_bytes_max() as usize;
    len.checked_add(more).filter(|&total| total <= max).ok_or(CommandError::STRING_TOO_LONG)
}

/// Changes the string of a key, which then has `total` bytes, in place if it lives outside the table; otherwise what `move_out` makes of it.
fn edit(
    context: &mut Context<'_>,
    key: &Key<'_>,
    total: usize,
    move_out: impl FnOnce(&[u8]) -> SharedBytes,
    f: impl FnOnce(&mut SharedBytes),
) {
    if let Some(mut value) = context.table(key).get_mut(key.hash, key.bytes) {
        if let Value::String(bytes) = &mut *value {
            f(bytes);
        }
        return;
    }
    let old = context.peek(key, |entry| entry.and_then(|e| Some(string_bytes(&e.value()).ok()?.to_vec())));
    let mut bytes = move_out(&old.unwrap_or_default());
    f(&mut bytes);
    debug_assert_eq!(context.peek_kind(key), Some(Kind::String));
    if total <= INLINE_MAX {
        context.put_string_as(key, &bytes, inline::RAW, ExpireChange::Keep);
    } else {
        let value = larder_collections::key_table::NewValue::Out(Value::String(bytes));
        context.put(key, value, ExpireChange::Keep);
    }
}
