//! Commands that return strings.

use super::options::{Allowed, Expiry, Options, expire_at};
use crate::context::postponed::Place;
use crate::context::{COLD_BYTES_MOMENT, Context};
use crate::engine::notify::class;
use crate::error::CommandResult;
use crate::keyspace::kind::{string_bytes, string_len};
use crate::text::number;
use larder_collections::key_table::Entry;
use larder_collections::value::Value;
use larder_resp::Args;

pub(super) fn get(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let key = context.key(args.at(1));
    context.read_long_string(&key, <[u8]>::len, |bytes, reply| {
        reply.bulk_or_null(bytes);
        Ok(())
    })
}

pub(super) fn mget(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let place = context.place();
    if place == Place::Long {
        return mget_apart(context, args);
    }
    context.reply.array(args.len() - 1);
    // A miss that was told once would be told again.
    let gives_away = place == Place::Serving && !context.engine.wants_events(class::KEY_MISS);
    context.worker.long.cold_bytes = 0;
    let is_short = context.all_keys(args.from(1), 1, |context, key, _| {
        if context.is_known_miss(key) {
            context.reply.bulk_or_null(None);
            return true;
        }
        context.read(key, |entry, reply| {
            // A key of another type counts as absent here.
            let value = entry.map(Entry::value);
            reply.bulk_or_null(value.as_ref().and_then(|value| string_bytes(value).ok()));
        });
        !gives_away || context.worker.long.cold_bytes <= COLD_BYTES_MOMENT
    });
    if is_short { Ok(()) } else { context.give_away() }
}

/// The same where nobody waits: compressed strings are decompressed after the shards have been let go.
fn mget_apart(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let mut values = Vec::new();
    context.each_key(args.from(1), 1, |context, key, _| values.push(context.gather_string(key)));
    context.reads(u64::MAX)?;
    context.reply.array(values.len());
    for value in values {
        let value = value.map(|value| if let Value::Cold(cold) = &value { cold.thaw() } else { value });
        match &value {
            Some(Value::String(bytes)) => context.reply.bulk(bytes),
            _ => context.reply.bulk_or_null(None),
        }
    }
    Ok(())
}

pub(super) fn getdel(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let key = context.key(args.at(1));
    context.reply_before_change(&key)?;
    context.delete(&key);
    Ok(())
}

pub(super) fn getex(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let options = Options::parse(args.from(2), Allowed { persist: true, ..Allowed::default() })?;
    let key = context.key(args.at(1));
    let expire = match options.expiry {
        Expiry::At(unit, arg) => Some(Some(expire_at(context, unit, arg)?)),
        Expiry::Persist => Some(None),
        Expiry::Unsaid | Expiry::Keep => None,
    };
    context.reply_before_change(&key)?;
    let old = context.peek(&key, |entry| entry.map(|e| e.expire_at_ms()));
    if let (Some(expire), Some(old)) = (expire, old)
        && (expire, old) != (None, None)
    {
        crate::commands::generic::set_expiry(context, &key, expire);
    }
    Ok(())
}

pub(super) fn strlen(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let key = context.key(args.at(1));
    context.read(&key, |entry, reply| {
        let len = entry.map_or(Ok(0), |entry| string_len(&entry))?;
        reply.count(len);
        Ok(())
    })
}

pub(super) fn getrange(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let (start, end) = (number::integer(&args[2])?, number::integer(&args[3])?);
    let key = context.key(args.at(1));
    let count = |bytes: &[u8]| slice(bytes, start, end).len();
    context.read_long_string(&key, count, |bytes, reply| {
        reply.bulk(slice(bytes.unwrap_or_default(), start, end));
        Ok(())
    })
}

/// The bytes from `start` to `end` inclusive; negative positions count from the end.
fn slice(bytes: &[u8], start: i64, end: i64) -> &[u8] {
    if start < 0 && end < 0 && start > end {
        return b"";
    }
    let len = bytes.len() as i64;
    let from = if start < 0 { (len + start).max(0) } else { start };
    let to = if end < 0 { (len + end).max(0) } else { end.min(len - 1) };
    if from > to || len == 0 { b"" } else { &bytes[from as usize..=to as usize] }
}

#[cfg(test)]
mod tests {
    use super::slice;

    #[test]
    fn ranges_as_in_redis() {
        let cases: [(i64, i64, &[u8]); 9] = [
            (0, -1, b"hello"),
            (1, 3, b"ell"),
            (-3, -1, b"llo"),
            (-1, -3, b""),
            (5, 9, b""),
            (-100, 0, b"h"),
            (0, 100, b"hello"),
            (-100, -100, b"h"),
            (i64::MIN, i64::MAX, b"hello"),
        ];
        for (start, end, want) in cases {
            assert_eq!(slice(b"hello", start, end), want, "{start} {end}");
        }
        assert_eq!(slice(b"", 0, -1), b"");
    }
}
