//! Times to live.

use crate::context::Context;
use crate::engine::notify::class;
use crate::error::{CommandError, CommandResult};
use crate::keyspace::key::Key;
use crate::text::number;
use crate::text::word::is_word;
use larder_collections::key_table::{EXPIRY_MS_MAX, Entry};
use larder_resp::Args;

/// Under which condition a time to live is set.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Conditions {
    nx: bool,
    xx: bool,
    gt: bool,
    lt: bool,
}

impl Conditions {
    /// Parses all of these words.
    pub(crate) fn parse(args: Args<'_>) -> CommandResult<Self> {
        let mut conditions = Conditions::default();
        for arg in args.iter() {
            if is_word(arg, "nx") {
                conditions.nx = true;
            } else if is_word(arg, "xx") {
                conditions.xx = true;
            } else if is_word(arg, "gt") {
                conditions.gt = true;
            } else if is_word(arg, "lt") {
                conditions.lt = true;
            } else {
                return Err(unsupported(arg));
            }
        }
        conditions.check()?;
        Ok(conditions)
    }

    fn check(self) -> CommandResult {
        if self.nx && (self.xx || self.gt || self.lt) {
            return Err(CommandError::Fixed(
                "ERR NX and XX, GT or LT options at the same time are not compatible",
            ));
        }
        if self.gt && self.lt {
            return Err(CommandError::Fixed("ERR GT and LT options at the same time are not compatible"));
        }
        Ok(())
    }

    /// Whether a key that expires at `old` may be made to expire at `new`. No expiry counts as infinitely late.
    pub(crate) fn hold(self, old: Option<u64>, new: i64) -> bool {
        // The deadline that is there was cut to what a table can store.
        let new = new.min(EXPIRY_MS_MAX as i64);
        let later = old.is_some_and(|old| new > old as i64);
        let sooner = old.is_none_or(|old| new < old as i64);
        !(self.nx && old.is_some() || self.xx && old.is_none() || self.gt && !later || self.lt && !sooner)
    }
}

fn unsupported(arg: &[u8]) -> CommandError {
    CommandError::Text([b"ERR Unsupported option ", number::last_word(arg)].concat())
}

pub(super) fn expire(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let now = context.now_ms();
    expire_with(context, args, now, 1000)
}

pub(super) fn pexpire(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let now = context.now_ms();
    expire_with(context, args, now, 1)
}

pub(super) fn expireat(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    expire_with(context, args, 0, 1000)
}

pub(super) fn pexpireat(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    expire_with(context, args, 0, 1)
}

fn expire_with(context: &mut Context<'_>, args: Args<'_>, base_ms: u64, unit_ms: i64) -> CommandResult {
    let conditions = Conditions::parse(args.from(3))?;
    let amount = number::integer(&args[2])?;
    let invalid = || CommandError::invalid_expire(&context.command_name());
    let at = amount.checked_mul(unit_ms).and_then(|ms| ms.checked_add(base_ms as i64)).ok_or_else(invalid)?;
    let key = context.key(args.at(1));
    let old = context.look_up(&key, |entry| entry.map(|e| e.expire_at_ms()));
    let set = old.is_some_and(|old| conditions.hold(old, at));
    if set {
        set_expiry(context, &key, Some(Context::deadline(at)));
    }
    context.reply.int(i64::from(set));
    Ok(())
}

/// Sets or clears the expiry of a key that exists. A time that is over deletes it.
pub(crate) fn set_expiry(context: &mut Context<'_>, key: &Key<'_>, at: Option<u64>) {
    if at.is_some_and(|at| context.is_past(at as i64)) {
        context.expire_at_once(key);
        return;
    }
    context.table(key).set_expire(key.hash, key.bytes, at);
    if let Some(at_ms) = at {
        context.note_deadline(key, at_ms);
    }
    context.modified(key);
    context.notify(class::GENERIC, if at.is_some() { "expire" } else { "persist" }, key);
    match at {
        Some(at) if context.logs() => {
            context.propagate_instead(&[b"PEXPIREAT", key.bytes, itoa::Buffer::new().format(at).as_bytes()]);
        }
        Some(_) => {}
        None => context.propagate_instead(&[b"PERSIST", key.bytes]),
    }
}

pub(super) fn persist(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let key = context.key(args.at(1));
    let volatile = context.look_up(&key, |entry| entry.is_some_and(|e| e.expire_at_ms().is_some()));
    if volatile {
        set_expiry(context, &key, None);
    }
    context.reply.int(i64::from(volatile));
    Ok(())
}

pub(super) fn ttl(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let now = context.now_ms();
    reply_expiry(context, args, |at| (at.saturating_sub(now) + 500) / 1000)
}

pub(super) fn pttl(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let now = context.now_ms();
    reply_expiry(context, args, |at| at.saturating_sub(now))
}

pub(super) fn expiretime(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    reply_expiry(context, args, |at| (at + 500) / 1000)
}

pub(super) fn pexpiretime(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    reply_expiry(context, args, |at| at)
}

/// Replies -2 for no key, -1 for no expiry, or what `convert` makes of the expiry.
fn reply_expiry(context: &mut Context<'_>, args: Args<'_>, convert: impl Fn(u64) -> u64) -> CommandResult {
    let key = context.key(args.at(1));
    let reply = context.read_unmarked(&key, |entry, _| match entry.map(Entry::expire_at_ms) {
        None => -2,
        Some(None) => -1,
        Some(Some(at)) => convert(at) as i64,
    });
    context.reply.int(reply);
    Ok(())
}
