//! Commands that return strings.

use super::options::{Allowed, Expiry, Options, expire_at};
use crate::context::Context;
use crate::error::CommandResult;
use crate::keyspace::kind::{string_bytes, string_len};
use crate::text::number;
use larder_resp::Args;

pub(super) fn get(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let key = context.key(args.at(1));
    context.read_long_string(&key, <[u8]>::len, |bytes, reply| {
        reply.bulk_or_null(bytes);
        Ok(())
    })
}

pub(super) fn mget(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    context.reply.array(args.len() - 1);
    context.each_key(args.from(1), 1, |context, key, _| {
        if context.is_known_miss(key) {
            return context.reply.bulk_or_null(None);
        }
        context.read(key, |entry, reply| {
            // A key of another type counts as absent here.
            let value = entry.map(larder_collections::key_table::Entry::value);
            reply.bulk_or_null(value.as_ref().and_then(|value| string_bytes(value).ok()));
        });
    });
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
