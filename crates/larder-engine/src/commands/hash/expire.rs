//! Fields with a time to live.

use super::expiry_options::{
    only_fields, only_fields_to_read, option_time, options_and_fields, set_options, unix_time,
};
use crate::commands::generic::Conditions;
use crate::commands::string::options::{Allowed, Condition, Expiry};
use crate::context::Context;
use crate::engine::notify::class;
use crate::error::{CommandError, CommandResult};
use crate::text::number;
use larder_collections::hash::{FieldExpiry, Hash};
use larder_collections::key_table::{Entry, ValueRef};
use larder_collections::value::Value;
use larder_resp::{Args, Reply};

/// What the reply says of a field that is not there, and of one without an expiry.
const NO_FIELD: i64 = -2;
const NO_EXPIRY: i64 = -1;

/// What HEXPIRE has done with a field.
const NOT_SET: i64 = 0;
const SET: i64 = 1;
const DELETED: i64 = 2;

pub(super) fn hexpire(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    expire(context, args, 1000, false)
}

pub(super) fn hpexpire(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    expire(context, args, 1, false)
}

pub(super) fn hexpireat(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    expire(context, args, 1000, true)
}

pub(super) fn hpexpireat(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    expire(context, args, 1, true)
}

fn expire(context: &mut Context<'_>, args: Args<'_>, unit_ms: i64, absolute: bool) -> CommandResult {
    let (conditions, names) = options_and_fields(args, 3, 1)?;
    let conditions = Conditions::parse(conditions)?;
    let names = names?;
    let at = unix_time(context, number::integer(&args[2])?, unit_ms, absolute)?;
    let (due_ms, change) = (context.due_ms(), Change::of(context, at));
    let mut changed = Vec::new();
    each(context, args, names, |hash, name, reply| {
        let done = match hash.peek(name, due_ms) {
            None => NO_FIELD,
            Some(field) if !conditions.hold(field.expire_at_ms(), at as i64) => NOT_SET,
            Some(_) => {
                changed.push(name);
                change.apply(hash, name, due_ms)
            }
        };
        reply.int(done);
    })?;
    note_change(context, args, changed.len(), change.events());
    change.log(context, args.at(1), &changed);
    Ok(())
}

/// What becomes of fields that are found.
#[derive(Clone, Copy, Debug)]
enum Change {
    /// They are deleted: the deadline is over already.
    Delete,
    ExpireAt(u64),
    Persist,
}

impl Change {
    fn of(context: &Context<'_>, at: u64) -> Change {
        if context.is_past(at as i64) {
            Change::Delete
        } else {
            Change::ExpireAt(Context::deadline(at as i64))
        }
    }

    fn apply(self, hash: &mut Hash, name: &[u8], due_ms: u64) -> i64 {
        match self {
            Change::Delete => {
                hash.remove(name, due_ms);
                return DELETED;
            }
            Change::ExpireAt(at) => hash.set_expiry(name, Some(at), due_ms),
            Change::Persist => hash.set_expiry(name, None, due_ms),
        };
        SET
    }

    fn events(self) -> &'static [&'static str] {
        match self {
            Change::Delete => &["hexpired"],
            Change::ExpireAt(_) => &["hexpire"],
            Change::Persist => &["hpersist"],
        }
    }

    /// Notes it for the fields that it has changed, those that have expired among them, and for no other: which fields are
    /// there for a reader of the log does not depend on its clock.
    fn log(self, context: &mut Context<'_>, key: &[u8], names: &[&[u8]]) {
        if matches!(self, Change::Delete) {
            context.worker.stats.expired_fields.add(names.len() as u64);
        }
        if names.is_empty() || !context.logs() {
            return;
        }
        let count = itoa::Buffer::new().format(names.len()).to_owned();
        let time;
        let mut words: Vec<&[u8]> = match self {
            Change::Delete => vec![b"HDEL", key],
            Change::ExpireAt(at) => {
                time = itoa::Buffer::new().format(at).to_owned();
                vec![b"HPEXPIREAT", key, time.as_bytes(), b"FIELDS", count.as_bytes()]
            }
            Change::Persist => vec![b"HPERSIST", key, b"FIELDS", count.as_bytes()],
        };
        words.extend(names);
        context.propagate_instead(&words);
    }
}

/// Calls `f` for each field of the hash; without a hash, replies that no field is there.
fn each<'a, 'n>(
    context: &mut Context<'a>,
    args: Args<'_>,
    names: Args<'n>,
    mut f: impl FnMut(&mut Hash, &'n [u8], &mut Reply<'a>),
) -> CommandResult {
    let key = context.key(args.at(1));
    let done = context.with_hash(&key, |hash, reply| {
        reply.array(names.len());
        names.iter().for_each(|name| f(hash, name, reply));
        Ok(())
    })?;
    if done.is_none() {
        context.reply.array(names.len());
        names.iter().for_each(|_| context.reply.int(NO_FIELD));
    }
    Ok(())
}

/// Tells everybody that this many fields of the hash have changed, and how.
fn note_change(context: &mut Context<'_>, args: Args<'_>, changes: usize, events: &[&str]) {
    if changes > 0 {
        tell_change(context, args, changes, events);
    }
}

fn tell_change(context: &mut Context<'_>, args: Args<'_>, changes: usize, events: &[&str]) {
    let key = context.key(args.at(1));
    if changes > 0 {
        context.modified_by(&key, changes);
    }
    events.iter().for_each(|event| context.notify(class::HASH, event, &key));
    context.notify_emptied(&key);
}

pub(super) fn hpersist(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let names = only_fields(args)?;
    let due_ms = context.due_ms();
    let mut changed = Vec::new();
    each(context, args, names, |hash, name, reply| {
        let done = match hash.peek(name, due_ms).map(|field| field.expire_at_ms()) {
            None => NO_FIELD,
            Some(None) => NO_EXPIRY,
            Some(Some(_)) => {
                changed.push(name);
                Change::Persist.apply(hash, name, due_ms)
            }
        };
        reply.int(done);
    })?;
    note_change(context, args, changed.len(), Change::Persist.events());
    Change::Persist.log(context, args.at(1), &changed);
    Ok(())
}

pub(super) fn httl(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    reply_expiry(context, args, |at, now| (at.saturating_sub(now) + 500) / 1000)
}

pub(super) fn hpttl(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    reply_expiry(context, args, |at, now| at.saturating_sub(now))
}

pub(super) fn hexpiretime(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    reply_expiry(context, args, |at, _| (at + 500) / 1000)
}

pub(super) fn hpexpiretime(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    reply_expiry(context, args, |at, _| at)
}

/// Replies with what `convert` makes of the expiry of each field and of the time now.
fn reply_expiry(
    context: &mut Context<'_>,
    args: Args<'_>,
    convert: impl Fn(u64, u64) -> u64,
) -> CommandResult {
    let names = only_fields_to_read(args)?;
    let (key, now, due_ms) = (context.key(args.at(1)), context.now_ms(), context.due_ms());
    context.read_value(&key, |hash: Option<&Hash>, reply| {
        reply.array(names.len());
        for name in names.iter() {
            let field = hash.and_then(|hash| hash.peek(name, due_ms));
            reply.int(match field.map(|field| field.expire_at_ms()) {
                None => NO_FIELD,
                Some(None) => NO_EXPIRY,
                Some(Some(at)) => convert(at, now) as i64,
            });
        }
        Ok(())
    })
}

pub(super) fn hgetdel(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let names = only_fields(args)?;
    let due_ms = context.due_ms();
    take_values(context, args, names, &["hdel"], |hash, name, reply| {
        let taken = hash.take(name, due_ms, |field| reply.bulk(&field.value())).is_some();
        if !taken {
            reply.null();
        }
        taken
    })
}

pub(super) fn hgetex(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let (options, names) = set_options(args, Allowed { persist: true, ..Allowed::default() }, 1)?;
    let due_ms = context.due_ms();
    context.read_first(&context.key(args.at(1)), |entry| is_live_hash(entry, due_ms))?;
    let change = match options.expiry {
        Expiry::At(unit, amount) => Some(Change::of(context, option_time(context, unit, amount)?)),
        Expiry::Persist => Some(Change::Persist),
        Expiry::Unsaid | Expiry::Keep => None,
    };
    let (events, mut changed) = (change.map_or(&[][..], Change::events), Vec::new());
    take_values(context, args, names, events, |hash, name, reply| {
        reply.bulk_or_null(hash.get(name, due_ms));
        let (Some(change), Some(field)) = (change, hash.peek(name, due_ms)) else { return false };
        if matches!(change, Change::Persist) && field.expire_at_ms().is_none() {
            return false;
        }
        change.apply(hash, name, due_ms);
        changed.push(name);
        true
    })?;
    if let Some(change) = change {
        change.log(context, args.at(1), &changed);
    }
    Ok(())
}

/// Whether there is a hash; any other value is an error.
fn is_hash(context: &mut Context<'_>, args: Args<'_>) -> CommandResult<bool> {
    let due_ms = context.due_ms();
    context.look_up_first(&context.key(args.at(1)), |entry| is_live_hash(entry, due_ms))
}

/// Whether this is a hash with a field whose time is not over; any other value is an error.
fn is_live_hash(entry: Option<Entry<'_, Value>>, due_ms: u64) -> CommandResult<bool> {
    let Some(entry) = entry else { return Ok(false) };
    match entry.value() {
        ValueRef::Out(value) => match &*value {
            Value::Hash(hash) => Ok(hash.live(due_ms) > 0),
            _ => Err(CommandError::WRONG_TYPE),
        },
        ValueRef::Inline { .. } => Err(CommandError::WRONG_TYPE),
    }
}

/// Replies with values; `f` writes one and says whether it changed anything.
fn take_values<'a, 'n>(
    context: &mut Context<'a>,
    args: Args<'_>,
    names: Args<'n>,
    events: &[&str],
    mut f: impl FnMut(&mut Hash, &'n [u8], &mut Reply<'a>) -> bool,
) -> CommandResult {
    let key = context.key(args.at(1));
    let changed = context.with_hash(&key, |hash, reply| {
        reply.array(names.len());
        let mut changed = 0;
        names.iter().for_each(|name| changed += usize::from(f(hash, name, reply)));
        Ok(changed)
    })?;
    if changed.is_none() {
        context.reply.array(names.len());
        names.iter().for_each(|_| context.reply.null());
    }
    note_change(context, args, changed.unwrap_or(0), events);
    Ok(())
}

pub(super) fn hsetex(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let allowed = Allowed { condition: true, fields: true, keep: true, ..Allowed::default() };
    let (options, pairs) = set_options(args, allowed, 2)?;
    let is_there = is_hash(context, args)?;
    let hold = |condition, found: bool| match condition {
        Condition::IfAbsent => !found,
        Condition::IfPresent => found,
        Condition::Always | Condition::IfEqual(_) => true,
    };
    if !hold(options.condition, is_there) {
        context.reply.int(0);
        return Ok(());
    }
    let (key, limits, due_ms) = (context.key(args.at(1)), context.hash_limits(), context.due_ms());
    let overwritten_due_ms = super::set::due_ms_of_overwritten(context);
    let at = match options.expiry {
        Expiry::At(unit, amount) => Some(option_time(context, unit, amount)?),
        _ => None,
    };
    let expiry = match options.expiry {
        _ if at.is_some_and(|at| context.is_past(at as i64)) => None,
        Expiry::At(..) => at.map(|at| FieldExpiry::At(Context::deadline(at as i64))),
        Expiry::Keep => Some(FieldExpiry::Keep),
        Expiry::Unsaid | Expiry::Persist => Some(FieldExpiry::Clear),
    };
    let (mut gone, mut deleted): (Vec<Box<[u8]>>, Vec<&[u8]>) = (Vec::new(), Vec::new());
    let set = context.with_hash_or_new(&key, super::set::room(pairs), |hash, _| {
        let mut names = pairs.iter().step_by(2);
        if !names.all(|name| hold(options.fields, hash.peek(name, due_ms).is_some())) {
            return Ok(false);
        }
        for at in (0..pairs.len()).step_by(2) {
            let name = pairs.at(at);
            match expiry {
                None if hash.remove(name, due_ms) => deleted.push(name),
                None => {}
                Some(expiry) => {
                    // The expiry that is kept is not that of a field whose time is over.
                    if expiry == FieldExpiry::Keep && hash.take_if_due(name, overwritten_due_ms) {
                        gone.push(name.into());
                    }
                    hash.set(name, pairs.at(at + 1), expiry, limits, due_ms);
                }
            }
        }
        Ok(true)
    })?;
    if !gone.is_empty() {
        context.note_expired_fields(&key, &gone);
    }
    let events: &[&str] = match expiry {
        None => &["hset", "hexpire", "hexpired"],
        Some(FieldExpiry::At(_)) => &["hset", "hexpire"],
        Some(_) => &["hset"],
    };
    if set {
        let changes = if expiry.is_none() { deleted.len() } else { pairs.len() / 2 };
        if expiry.is_none() {
            // Those that were not there have expired as well, at once. The others are counted where
            // they are logged.
            context.worker.stats.expired_fields.add((pairs.len() / 2 - deleted.len()) as u64);
        }
        if expiry.is_none() && !is_there {
            context.notify(class::NEW, "new", &key);
        }
        tell_change(context, args, changes, events);
    }
    match expiry {
        _ if !set => {}
        None if deleted.is_empty() => context.propagate_nothing(),
        None => Change::Delete.log(context, key.bytes, &deleted),
        Some(expiry) => log_setex(context, args.at(1), pairs, expiry),
    }
    context.reply.int(i64::from(set));
    Ok(())
}

/// Notes that fields have been set, without the conditions under which they were to be.
fn log_setex(context: &mut Context<'_>, key: &[u8], pairs: Args<'_>, expiry: FieldExpiry) {
    if !context.logs() {
        return;
    }
    let time;
    let count = itoa::Buffer::new().format(pairs.len() / 2).to_owned();
    let mut words: Vec<&[u8]> = vec![b"HSETEX", key];
    match expiry {
        FieldExpiry::At(at) => {
            time = itoa::Buffer::new().format(at).to_owned();
            words.extend([b"PXAT", time.as_bytes()]);
        }
        FieldExpiry::Keep => words.push(b"KEEPTTL"),
        FieldExpiry::Clear => {}
    }
    words.extend([b"FIELDS", count.as_bytes()]);
    words.extend(pairs.iter());
    context.propagate_instead(&words);
}
