//! XACK, XCLAIM and XAUTOCLAIM.

use super::{
    changed_quietly, count_lookup, no_group, with_looked_up, with_scratch, write_counted, write_entry,
    write_id,
};
use crate::context::Context;
use crate::context::stream_effects::Effects;
use crate::context::stream_reads::consumer_of;
use crate::error::{CommandError, CommandResult};
use crate::text::word::is_word;
use crate::text::{number, stream_id};
use larder_collections::stream::{ConsumerId, Pending, Reader, Stream, StreamId};
use larder_resp::{Args, Reply};
use std::ops::ControlFlow;

/// XAUTOCLAIM looks at this many entries for each that it may claim.
const ATTEMPTS_FACTOR: u64 = 10;
/// Entries that XAUTOCLAIM claims when the caller does not say how many.
const AUTOCLAIM_COUNT: u64 = 100;

pub(super) fn xack(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let key = context.key(args.at(1));
    let acknowledged = with_looked_up(context, &key, |stream, _| {
        if stream.group(&args[2]).is_none() {
            return Ok(0);
        }
        let one;
        let many: Vec<StreamId>;
        let ids: &[StreamId] = if args.len() == 4 {
            one = [stream_id::parse_strict(&args[3], 0)?];
            &one
        } else {
            let parsed: CommandResult<Vec<StreamId>> =
                args.from(3).iter().map(|arg| stream_id::parse_strict(arg, 0)).collect();
            many = parsed?;
            &many
        };
        let Some(group) = stream.group_mut(&args[2]) else { return Ok(0) };
        Ok(ids.iter().filter(|&&id| group.acknowledge(id)).count())
    })?;
    let acknowledged = acknowledged.unwrap_or(0);
    changed_quietly(context, acknowledged as u64);
    context.reply.count(acknowledged);
    Ok(())
}

/// What is done with the entries that are claimed.
#[derive(Clone, Copy, Default)]
struct Options {
    force: bool,
    just_id: bool,
    /// When they count as delivered; -1 for now.
    time_ms: i64,
    /// How often they count as delivered.
    retry_count: Option<u64>,
    last_id: StreamId,
    min_idle_ms: u64,
    now: u64,
}

impl Options {
    fn parse(args: Args<'_>, now: u64) -> CommandResult<Options> {
        let mut options = Options { time_ms: -1, now, ..Options::default() };
        let integer = |arg: &[u8], option: &str| {
            let text = || CommandError::text(format!("ERR Invalid {option} option argument for XCLAIM"));
            number::parse_i64(arg).ok_or_else(text)
        };
        let mut at = 0;
        while at < args.len() {
            let (word, value) = (args.at(at), args.get(at + 1));
            at += 1;
            match value {
                _ if is_word(word, "force") => options.force = true,
                _ if is_word(word, "justid") => options.just_id = true,
                Some(value) if is_word(word, "idle") => {
                    options.time_ms = (now as i64).wrapping_sub(integer(value, "IDLE")?);
                    at += 1;
                }
                Some(value) if is_word(word, "time") => {
                    options.time_ms = integer(value, "TIME")?;
                    at += 1;
                }
                Some(value) if is_word(word, "retrycount") => {
                    options.retry_count = u64::try_from(integer(value, "RETRYCOUNT")?).ok();
                    at += 1;
                }
                Some(value) if is_word(word, "lastid") => {
                    options.last_id = stream_id::parse_strict(value, 0)?;
                    at += 1;
                }
                _ => return Err(super::error_with(&["ERR Unrecognized XCLAIM option '", "'"], &[word])),
            }
        }
        Ok(options)
    }

    /// When the entries count as delivered: a time that makes no sense is now.
    fn delivered_ms(&self) -> u64 {
        u64::try_from(self.time_ms).ok().filter(|&time| time <= self.now).unwrap_or(self.now)
    }

    fn is_idle(&self, pending: &Pending) -> bool {
        self.min_idle_ms == 0 || self.now as i64 - pending.time_ms as i64 >= self.min_idle_ms as i64
    }
}

/// An argument that says for how long an entry must not have been delivered; a negative one is as good as zero.
fn parse_min_idle(arg: &[u8], command: &str) -> CommandResult<u64> {
    let text = || CommandError::text(format!("ERR Invalid min-idle-time argument for {command}"));
    Ok(u64::try_from(number::parse_i64(arg).ok_or_else(text)?).unwrap_or(0))
}

pub(super) fn xclaim(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let (key, now) = (context.key(args.at(1)), context.now_ms());
    let effects = Effects::new(context);
    let done = with_scratch(context, |context, scratch| {
        with_looked_up(context, &key, |stream, reply| {
            if stream.group(&args[2]).is_none() {
                return Err(no_group(args.at(1), args.at(2)));
            }
            let min_idle_ms = parse_min_idle(&args[4], "XCLAIM")?;
            let ids: Vec<StreamId> =
                args.from(5).iter().map_while(|arg| stream_id::parse_strict(arg, 0).ok()).collect();
            let options = Options { min_idle_ms, ..Options::parse(args.from(5 + ids.len()), now)? };
            let mut claim = Claim::start(stream, &args[2], &args[3], options, effects);
            write_counted(reply, scratch, |reply| ids.iter().filter(|&&id| claim.claim(id, reply)).count());
            Ok(claim.finish())
        })
    })?;
    let (changes, effects) = done.ok_or_else(|| no_group(args.at(1), args.at(2)))?;
    changed_quietly(context, changes);
    effects.tell(context, &key);
    Ok(())
}

/// A claim under way.
struct Claim<'s> {
    stream: &'s mut Stream,
    group: &'s [u8],
    consumer: ConsumerId,
    options: Options,
    effects: Effects,
    changes: u64,
    reader: Reader,
}

impl<'s> Claim<'s> {
    /// Starts a claim in a group that exists, for a consumer that is created if it does not.
    fn start(
        stream: &'s mut Stream,
        group: &'s [u8],
        name: &[u8],
        options: Options,
        mut effects: Effects,
    ) -> Claim<'s> {
        let of = stream.group_mut(group).expect("the group exists");
        let is_new = of.find(name).is_none();
        let consumer = consumer_of(of, name, options.now, &mut effects);
        if is_new {
            effects.consumer(of, name);
        }
        let moved = options.last_id > of.last_id;
        of.last_id = of.last_id.max(options.last_id);
        if moved {
            effects.progress(of);
        }
        let (changes, reader) = (u64::from(moved) + u64::from(is_new), Reader::default());
        Claim { stream, group, consumer, options, effects, changes, reader }
    }

    /// The number of changes, and what they were.
    fn finish(self) -> (u64, Effects) {
        (self.changes, self.effects)
    }

    /// Claims an entry and writes it; false if that is not to be.
    fn claim(&mut self, id: StreamId, reply: &mut Reply<'_>) -> bool {
        let pending = self.stream.group(self.group).and_then(|group| group.pending(id));
        if self.reader.with_entry(self.stream, id, |_| ()).is_none() {
            self.forget(id);
            return false;
        }
        let count = match pending {
            Some(pending) if self.options.is_idle(&pending) => pending.count,
            None if self.options.force => 1,
            _ => return false,
        };
        self.take(id, count);
        if self.options.just_id {
            write_id(reply, id);
        } else {
            self.reader.with_entry(self.stream, id, |entry| write_entry(reply, &entry));
        }
        true
    }

    /// Gives an entry, which has been delivered `count` times, to the consumer.
    fn take(&mut self, id: StreamId, count: u64) {
        let more = u64::from(!self.options.just_id);
        let count = self.options.retry_count.unwrap_or_else(|| count.saturating_add(more));
        let (time_ms, now) = (self.options.delivered_ms(), self.options.now);
        let group = self.stream.group_mut(self.group).expect("the group exists");
        let consumer = self.consumer;
        group.put(Pending { id, consumer, time_ms, count });
        group.consumer_mut(consumer).active_ms = Some(now);
        self.effects.pending(group, id);
        self.changes += 1;
    }

    /// Forgets that an entry is pending, since it is gone.
    fn forget(&mut self, id: StreamId) {
        let group = self.stream.group_mut(self.group).expect("the group exists");
        if group.acknowledge(id) {
            self.effects.acknowledged(group, id);
            self.changes += 1;
        }
    }
}

pub(super) fn xautoclaim(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let key = context.key(args.at(1));
    // It is used even if the arguments are refused.
    context.exists(&key);
    let min_idle_ms = parse_min_idle(&args[4], "XAUTOCLAIM")?;
    let start = stream_id::parse_start(&args[5])?;
    let (mut count, mut at) = (AUTOCLAIM_COUNT, 6);
    let mut options = Options { time_ms: -1, now: context.now_ms(), min_idle_ms, ..Options::default() };
    while at < args.len() {
        if is_word(&args[at], "count") && at + 1 < args.len() {
            let given = number::parse_i64(&args[at + 1]).filter(|n| (1..=i64::MAX / 16).contains(n));
            count = given.ok_or(CommandError::Fixed("ERR COUNT must be > 0"))? as u64;
            at += 1;
        } else if is_word(&args[at], "justid") {
            options.just_id = true;
        } else {
            return Err(CommandError::SYNTAX);
        }
        at += 1;
    }
    let effects = Effects::new(context);
    let plan = |stream: &Stream| {
        let group = stream.group(&args[2]);
        (group.map_or(0, |group| count.min(group.pending_len())), group.is_some())
    };
    let done = context.change_long(&key, args, plan, move |stream: &mut Stream, has_group, args, reply| {
        has_group.then(|| {
            let claim = Claim::start(stream, &args[2], &args[3], options, effects);
            claim_idle(claim, start, count, reply)
        })
    });
    count_lookup(context, &key, !matches!(done, Ok(None)));
    let (changes, effects) = done?.flatten().ok_or_else(|| no_group(args.at(1), args.at(2)))?;
    changed_quietly(context, changes);
    effects.tell(context, &key);
    Ok(())
}

/// Claims up to `count` idle entries from `start` on and writes where to go on, the entries, and those that are gone.
/// Returns the number of changes, and what they were.
fn claim_idle(mut claim: Claim<'_>, start: StreamId, count: u64, reply: &mut Reply<'_>) -> (u64, Effects) {
    let (mut left, mut attempts) = (count, count.saturating_mul(ATTEMPTS_FACTOR));
    let (mut idle, mut gone, mut next) = (Vec::new(), Vec::new(), StreamId::ZERO);
    let group = claim.stream.group(claim.group).expect("the group exists");
    let mut lookup = claim.stream.lookup();
    group.for_each_pending(start, |pending| {
        if attempts == 0 || left == 0 {
            next = pending.id;
            return ControlFlow::Break(());
        }
        attempts -= 1;
        if !lookup.contains(pending.id) {
            gone.push(pending.id);
        } else if claim.options.is_idle(&pending) {
            idle.push((pending.id, pending.count));
        } else {
            return ControlFlow::Continue(());
        }
        left -= 1;
        ControlFlow::Continue(())
    });
    idle.iter().for_each(|&(id, count)| claim.take(id, count));
    gone.iter().for_each(|&id| claim.forget(id));
    reply.array(3);
    write_id(reply, next);
    reply.array(idle.len());
    let mut lookup = claim.stream.lookup();
    for (id, _) in idle {
        if claim.options.just_id {
            write_id(reply, id);
        } else {
            let written = lookup.with_entry(id, |entry| write_entry(reply, &entry));
            written.expect("it was there just now");
        }
    }
    reply.array(gone.len());
    gone.iter().for_each(|&id| write_id(reply, id));
    claim.finish()
}
