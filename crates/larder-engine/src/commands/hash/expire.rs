//! Fields with a time to live.

use super::expiry_options::{Expiry, fields, fields_at, time, unix_time};
use crate::commands::generic::Conditions;
use crate::commands::is_word;
use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::notify::class;
use crate::number;
use larder_collections::hash::{FieldExpiry, Hash, HashLimits};
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
    let fields_at = fields_at(args, 3)?;
    let conditions = Conditions::parse_words((3..fields_at).map(|at| args.at(at)))?;
    let names = fields(args, fields_at, 1)?;
    let amount = number::integer(&args[2])?;
    if amount < 0 {
        return Err(CommandError::invalid_expire(&context.command_name()));
    }
    let at = unix_time(context, amount, unit_ms, absolute)?;
    let now = context.now_ms();
    let mut changed = false;
    each(context, args, names, |hash, name, reply| {
        let done = expire_field(hash, name, conditions, at, now);
        changed |= done > NOT_SET;
        reply.int(done);
    })?;
    note_change(context, args, changed, if at <= now { &["hexpired"] } else { &["hexpire"] });
    if changed && context.logs() {
        let at = itoa::Buffer::new().format(at).to_owned();
        let words: Vec<&[u8]> =
            [b"HPEXPIREAT", args.at(1), at.as_bytes()].into_iter().chain(args.from(3).iter()).collect();
        context.log_instead(&words);
    }
    Ok(())
}

fn expire_field(hash: &mut Hash, name: &[u8], conditions: Conditions, at: u64, now: u64) -> i64 {
    let Some(field) = hash.field(name, now) else { return NO_FIELD };
    if !conditions.hold(field.expire_at_ms, at as i64) {
        return NOT_SET;
    }
    if at <= now {
        hash.remove(name, now);
        return DELETED;
    }
    hash.set_expiry(name, Some(at), now);
    SET
}

/// Calls `f` for each field of the hash; without a hash, replies that no field is there.
fn each<'a>(
    context: &mut Context<'a>,
    args: Args<'_>,
    names: Args<'_>,
    mut f: impl FnMut(&mut Hash, &[u8], &mut Reply<'a>),
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

/// Tells everybody that the hash has changed, and how.
fn note_change(context: &mut Context<'_>, args: Args<'_>, changed: bool, events: &[&str]) {
    if changed {
        let key = context.key(args.at(1));
        context.modified(&key);
        events.iter().for_each(|event| context.notify(class::HASH, event, &key));
        context.notify_emptied(&key);
    }
}

pub(super) fn hpersist(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let names = fields(args, 2, 1)?;
    let now = context.now_ms();
    let mut changed = false;
    each(context, args, names, |hash, name, reply| {
        let done = match hash.field(name, now).map(|field| field.expire_at_ms) {
            None => NO_FIELD,
            Some(None) => NO_EXPIRY,
            Some(Some(_)) => {
                changed |= hash.set_expiry(name, None, now);
                SET
            }
        };
        reply.int(done);
    })?;
    note_change(context, args, changed, &["hpersist"]);
    Ok(())
}

pub(super) fn httl(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    reply_expiry(context, args, |at, now| (at - now + 500) / 1000)
}

pub(super) fn hpttl(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    reply_expiry(context, args, |at, now| at - now)
}

pub(super) fn hexpiretime(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    reply_expiry(context, args, |at, _| (at + 500) / 1000)
}

pub(super) fn hpexpiretime(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    reply_expiry(context, args, |at, _| at)
}

/// Replies with what `convert` makes of the expiry of each field and of the time now, which it is not before.
fn reply_expiry(
    context: &mut Context<'_>,
    args: Args<'_>,
    convert: impl Fn(u64, u64) -> u64,
) -> CommandResult {
    let names = fields(args, 2, 1)?;
    let (key, now) = (context.key(args.at(1)), context.now_ms());
    context.read_value(&key, |hash: Option<&Hash>, reply| {
        reply.array(names.len());
        for name in names.iter() {
            let field = hash.and_then(|hash| hash.field(name, now));
            reply.int(match field.map(|field| field.expire_at_ms) {
                None => NO_FIELD,
                Some(None) => NO_EXPIRY,
                Some(Some(at)) => convert(at, now) as i64,
            });
        }
        Ok(())
    })
}

pub(super) fn hgetdel(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let names = fields(args, 2, 1)?;
    let now = context.now_ms();
    take_values(context, args, names, "hdel", |hash, name, reply| {
        let taken = hash.take(name, now, |value| reply.bulk(value)).is_some();
        if !taken {
            reply.null();
        }
        taken
    })
}

pub(super) fn hgetex(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let (mut expiry, mut at) = (Expiry::Unsaid, 2);
    while let Some(word) = args.get(at).filter(|word| !is_word(word, "fields")) {
        let (new, used) = match time(context, word, args.get(at + 1))? {
            Some(ms) => (Expiry::At(ms), 2),
            None if is_word(word, "persist") => (Expiry::Persist, 1),
            None => return Err(CommandError::SYNTAX),
        };
        if expiry != Expiry::Unsaid {
            return Err(CommandError::SYNTAX);
        }
        (expiry, at) = (new, at + used);
    }
    let names = fields(args, at, 1)?;
    let now = context.now_ms();
    let event = match expiry {
        Expiry::At(at) if at <= now => "hexpired",
        Expiry::At(_) => "hexpire",
        _ => "hpersist",
    };
    take_values(context, args, names, event, |hash, name, reply| {
        reply.bulk_or_null(hash.get(name, now));
        match expiry {
            Expiry::At(at) if at <= now => hash.remove(name, now),
            Expiry::At(at) => hash.set_expiry(name, Some(at), now),
            Expiry::Persist => {
                let volatile = hash.field(name, now).is_some_and(|field| field.expire_at_ms.is_some());
                volatile && hash.set_expiry(name, None, now)
            }
            Expiry::Unsaid | Expiry::Keep => false,
        }
    })?;
    log_getex(context, args, expiry, at);
    Ok(())
}

/// Notes what HGETEX did, by the command that does only that. `at` is where the fields begin.
fn log_getex(context: &mut Context<'_>, args: Args<'_>, expiry: Expiry, at: usize) {
    if !context.logs() {
        return;
    }
    let mut words: Vec<&[u8]> = Vec::with_capacity(args.len() + 1);
    let time;
    match expiry {
        Expiry::At(ms) => {
            time = itoa::Buffer::new().format(ms).to_owned();
            words.extend([b"HPEXPIREAT", args.at(1), time.as_bytes()]);
        }
        Expiry::Persist => words.extend([b"HPERSIST".as_slice(), args.at(1)]),
        Expiry::Unsaid | Expiry::Keep => return,
    }
    words.extend(args.from(at).iter());
    context.log_instead(&words);
}

/// Replies with values; `f` writes one and says whether it changed anything.
fn take_values<'a>(
    context: &mut Context<'a>,
    args: Args<'_>,
    names: Args<'_>,
    event: &str,
    mut f: impl FnMut(&mut Hash, &[u8], &mut Reply<'a>) -> bool,
) -> CommandResult {
    let key = context.key(args.at(1));
    let changed = context.with_hash(&key, |hash, reply| {
        reply.array(names.len());
        let mut changed = false;
        names.iter().for_each(|name| changed |= f(hash, name, reply));
        Ok(changed)
    })?;
    if changed.is_none() {
        context.reply.array(names.len());
        names.iter().for_each(|_| context.reply.null());
    }
    note_change(context, args, changed == Some(true), &[event]);
    Ok(())
}

/// Whether a key, or all fields, must be there or must not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    Any,
    Absent,
    Present,
}

impl Presence {
    /// Takes the option; two of the same kind contradict each other.
    fn take(&mut self, presence: Presence) -> CommandResult {
        let free = *self == Presence::Any;
        *self = presence;
        if free { Ok(()) } else { Err(CommandError::SYNTAX) }
    }

    fn holds(self, found: bool) -> bool {
        self == Presence::Any || found == (self == Presence::Present)
    }
}

/// The options of HSETEX.
struct SetOptions {
    key: Presence,
    fields: Presence,
    expiry: Expiry,
    fields_at: usize,
}

impl SetOptions {
    fn parse(context: &Context<'_>, args: Args<'_>) -> CommandResult<Self> {
        let mut options =
            SetOptions { key: Presence::Any, fields: Presence::Any, expiry: Expiry::Unsaid, fields_at: 2 };
        while let Some(word) = args.get(options.fields_at).filter(|word| !is_word(word, "fields")) {
            options.fields_at += options.take(context, word, args.get(options.fields_at + 1))?;
        }
        Ok(options)
    }

    /// Takes one option; returns how many arguments it used.
    fn take(&mut self, context: &Context<'_>, word: &[u8], next: Option<&[u8]>) -> CommandResult<usize> {
        let presences = [
            ("nx", Presence::Absent, true),
            ("xx", Presence::Present, true),
            ("fnx", Presence::Absent, false),
            ("fxx", Presence::Present, false),
        ];
        if let Some(&(_, presence, of_key)) = presences.iter().find(|(name, ..)| is_word(word, name)) {
            let slot = if of_key { &mut self.key } else { &mut self.fields };
            return slot.take(presence).map(|()| 1);
        }
        let (expiry, used) = match time(context, word, next)? {
            Some(ms) => (Expiry::At(ms), 2),
            None if is_word(word, "keepttl") => (Expiry::Keep, 1),
            None => return Err(CommandError::SYNTAX),
        };
        if self.expiry != Expiry::Unsaid {
            return Err(CommandError::SYNTAX);
        }
        self.expiry = expiry;
        Ok(used)
    }

    fn allow(&self, hash: &Hash, pairs: Args<'_>, now: u64) -> bool {
        let mut names = pairs.iter().step_by(2);
        self.key.holds(hash.live(now) > 0)
            && names.all(|name| self.fields.holds(hash.get(name, now).is_some()))
    }
}

pub(super) fn hsetex(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let options = SetOptions::parse(context, args)?;
    let pairs = fields(args, options.fields_at, 2)?;
    let (key, limits, now) = (context.key(args.at(1)), context.hash_limits(), context.now_ms());
    let set = context.with_hash_or_new(&key, super::set::room(pairs), |hash, _| {
        let allowed = options.allow(hash, pairs, now);
        if allowed {
            set_pairs(hash, pairs, options.expiry, limits, now);
        }
        Ok(allowed)
    })?;
    let events: &[&str] = match options.expiry {
        Expiry::At(at) if at <= now => &["hexpired"],
        Expiry::At(_) => &["hset", "hexpire"],
        _ => &["hset"],
    };
    note_change(context, args, set, events);
    if let (true, Expiry::At(at)) = (set && context.logs(), options.expiry) {
        let at = itoa::Buffer::new().format(at).to_owned();
        let head: [&[u8]; 4] = [b"HSETEX", args.at(1), b"PXAT", at.as_bytes()];
        let words: Vec<&[u8]> = head.into_iter().chain(args.from(options.fields_at).iter()).collect();
        context.log_instead(&words);
    }
    context.reply.int(i64::from(set));
    Ok(())
}

/// Sets all pairs; a time that is over leaves the fields out.
fn set_pairs(hash: &mut Hash, pairs: Args<'_>, expiry: Expiry, limits: HashLimits, now: u64) {
    let expiry = match expiry {
        Expiry::At(at) => FieldExpiry::At(at),
        Expiry::Keep => FieldExpiry::Keep,
        Expiry::Unsaid | Expiry::Persist => FieldExpiry::Clear,
    };
    for at in (0..pairs.len()).step_by(2) {
        if matches!(expiry, FieldExpiry::At(at) if at <= now) {
            hash.remove(pairs.at(at), now);
        } else {
            hash.set(pairs.at(at), pairs.at(at + 1), expiry, limits, now);
        }
    }
}
