//! XADD, XTRIM and XSETID.

use super::{is_stream, write_id};
use crate::context::Context;
use crate::context::stream_reads::changed_quietly;
use crate::engine::notify::class;
use crate::error::{CommandError, CommandResult};
use crate::keyspace::key::Key;
use crate::text::number;
use crate::text::stream_id::{self, Given, IdText};
use crate::text::word::is_word;
use larder_collections::stream::{Limits, Stream, StreamId, Trim, TrimTo};
use larder_resp::Args;

/// The options of XADD and XTRIM.
#[derive(Default)]
struct Options {
    trim: Option<Trim>,
    no_create: bool,
    /// None for `*`.
    id: Option<Given>,
    /// Where the id stands.
    at: usize,
}

impl Options {
    fn parse(context: &Context<'_>, args: Args<'_>, adds: bool) -> CommandResult<Options> {
        let (mut options, mut limit, mut at) = (Options::default(), None, 2);
        while at < args.len() {
            let (word, more) = (args.at(at), args.len() - 1 - at);
            if adds && word == b"*" {
                break;
            } else if is_word(word, "maxlen") && more > 0 {
                at = options.parse_trim(args, at, |arg| {
                    let len = number::integer(arg)?;
                    let len = u64::try_from(len)
                        .map_err(|_| CommandError::Fixed("ERR The MAXLEN argument must be >= 0."));
                    Ok(TrimTo::Len(len?))
                })?;
            } else if is_word(word, "minid") && more > 0 {
                at = options
                    .parse_trim(args, at, |arg| Ok(TrimTo::MinId(stream_id::parse_strict(arg, 0)?)))?;
            } else if is_word(word, "limit") && more > 0 {
                let given = number::integer(args.at(at + 1))?;
                let given = u64::try_from(given);
                limit = Some(given.map_err(|_| CommandError::Fixed("ERR The LIMIT argument must be >= 0."))?);
                at += 1;
            } else if adds && is_word(word, "nomkstream") {
                options.no_create = true;
            } else if adds {
                options.id = Some(stream_id::parse_given(word, 0)?);
                break;
            } else {
                return Err(CommandError::SYNTAX);
            }
            at += 1;
        }
        options.at = at;
        options.set_limit(limit, adds, &context.worker.thresholds.stream_limits())?;
        Ok(options)
    }

    /// Reads what follows MAXLEN or MINID at `at`; returns where the last of it stands.
    fn parse_trim(
        &mut self,
        args: Args<'_>,
        mut at: usize,
        to: impl FnOnce(&[u8]) -> CommandResult<TrimTo>,
    ) -> CommandResult<usize> {
        if self.trim.is_some() {
            return Err(CommandError::Fixed(
                "ERR syntax error, MAXLEN and MINID options at the same time are not compatible",
            ));
        }
        let next = args.at(at + 1);
        let has_operator = args.len() - 1 - at >= 2 && (next == b"~" || next == b"=");
        at += 1 + usize::from(has_operator);
        let approximate = has_operator && next == b"~";
        self.trim = Some(Trim { to: to(args.at(at))?, approximate, limit: 0 });
        Ok(at)
    }

    /// Whether the command has the same outcome at any time.
    fn is_certain(&self) -> bool {
        matches!(self.id, Some(Given::Whole(_))) && !self.trim.is_some_and(|trim| trim.approximate)
    }

    fn set_limit(&mut self, given: Option<u64>, adds: bool, limits: &Limits) -> CommandResult {
        const NOT_EXACT: CommandError =
            CommandError::Fixed("ERR syntax error, LIMIT cannot be used without the special ~ option");
        let Some(trim) = &mut self.trim else {
            return match given {
                Some(1..) => Err(CommandError::Fixed(
                    "ERR syntax error, LIMIT cannot be used without specifying a trimming strategy",
                )),
                _ if !adds => Err(CommandError::Fixed(
                    "ERR syntax error, XTRIM must be called with a trimming strategy",
                )),
                Some(0) => Err(NOT_EXACT),
                None => Ok(()),
            };
        };
        match given {
            Some(_) if !trim.approximate => Err(NOT_EXACT),
            Some(limit) => {
                trim.limit = limit;
                Ok(())
            }
            None if trim.approximate => {
                trim.limit = match limits.node_entries_max.saturating_mul(100) {
                    0 => 10_000,
                    nodes => nodes.min(1_000_000),
                };
                Ok(())
            }
            None => Ok(()),
        }
    }
}

pub(super) fn xadd(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let options = Options::parse(context, args, true)?;
    let first = options.at + 1;
    let given = args.len().saturating_sub(first);
    if given < 2 || !given.is_multiple_of(2) {
        return Err(CommandError::arity(&context.command_name()));
    }
    if options.id == Some(Given::Whole(StreamId::ZERO)) {
        return Err(CommandError::Fixed("ERR The ID specified in XADD must be greater than 0-0"));
    }
    let key = context.key(args.at(1));
    if options.no_create && !is_stream(context, &key)? {
        context.reply.null();
        return Ok(());
    }
    let fields = args.from(first);
    if fields.size_bytes() > Stream::ENTRY_BYTES_MAX {
        return Err(CommandError::Fixed("ERR Elements are too large to be stored"));
    }
    let (now, limits) = (context.now_ms(), context.worker.thresholds.stream_limits());
    let (id, len, trimmed) = context.with_value_or_new(&key, |stream: &mut Stream, reply| {
        let id = new_id(stream.last_id(), options.id, now)?;
        let pairs = (0..fields.len() / 2).map(|i| (fields.at(2 * i), fields.at(2 * i + 1)));
        stream.append(id, pairs, &limits);
        let trimmed = options.trim.as_ref().map_or(0, |trim| stream.trim(trim));
        write_id(reply, id);
        Ok((id, stream.len(), trimmed))
    })?;
    context.modified(&key);
    context.notify(class::STREAM, "xadd", &key);
    if trimmed > 0 {
        context.notify(class::STREAM, "xtrim", &key);
    }
    if context.logs() && !options.is_certain() {
        log_add(context, &key, id, options.trim.is_some().then_some(len), fields);
    }
    context.signal_ready(&key);
    Ok(())
}

/// Notes an addition with the id that it got, and with as many entries as trimming has left.
fn log_add(context: &mut Context<'_>, key: &Key<'_>, id: StreamId, len: Option<u64>, fields: Args<'_>) {
    let (id, mut number) = (IdText::of(id), itoa::Buffer::new());
    let mut words: Vec<&[u8]> = vec![b"XADD", key.bytes];
    if let Some(len) = len {
        words.extend([&b"MAXLEN"[..], b"=", number.format(len).as_bytes()]);
    }
    words.push(id.as_bytes());
    words.extend(fields.iter());
    context.propagate_instead(&words);
}

/// The id of the next entry.
fn new_id(last: StreamId, given: Option<Given>, now_ms: u64) -> CommandResult<StreamId> {
    const SMALLER: CommandError = CommandError::Fixed(
        "ERR The ID specified in XADD is equal or smaller than the target stream top item",
    );
    if last == StreamId::MAX {
        return Err(CommandError::Fixed(
            "ERR The stream has exhausted the last possible ID, unable to add more items",
        ));
    }
    let id = match given {
        None if now_ms > last.ms => StreamId::new(now_ms, 0),
        None => last.next().ok_or(SMALLER)?,
        Some(Given::Ms(ms)) if ms == last.ms => StreamId::new(ms, last.seq.checked_add(1).ok_or(SMALLER)?),
        Some(Given::Ms(ms)) => StreamId::new(ms, 0),
        Some(Given::Whole(id)) => id,
    };
    if id > last { Ok(id) } else { Err(SMALLER) }
}

pub(super) fn xtrim(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let trim = Options::parse(context, args, false)?.trim.ok_or(CommandError::SYNTAX)?;
    let key = context.key(args.at(1));
    let trimmed =
        context.with_value(&key, |stream: &mut Stream, _| Ok((stream.trim(&trim), stream.len())))?;
    let (removed, len) = trimmed.unwrap_or_default();
    if removed > 0 {
        context.modified_by(&key, removed as usize);
        context.notify(class::STREAM, "xtrim", &key);
        if trim.approximate && context.logs() {
            let mut number = itoa::Buffer::new();
            context.propagate_instead(&[b"XTRIM", key.bytes, b"MAXLEN", b"=", number.format(len).as_bytes()]);
        }
    }
    context.reply.int(removed as i64);
    Ok(())
}

pub(super) fn xsetid(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let id = stream_id::parse_strict(&args[2], 0)?;
    let (mut added, mut deleted) = (None, StreamId::ZERO);
    let mut at = 3;
    while at < args.len() {
        let value = args.get(at + 1);
        match (args.at(at), value) {
            (word, Some(value)) if is_word(word, "entriesadded") => {
                let count = u64::try_from(number::integer(value)?);
                added = Some(count.map_err(|_| CommandError::Fixed("ERR entries_added must be positive"))?);
            }
            (word, Some(value)) if is_word(word, "maxdeletedid") => {
                deleted = stream_id::parse_strict(value, 0)?;
                if id < deleted {
                    return Err(CommandError::Fixed(
                        "ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id",
                    ));
                }
            }
            _ => return Err(CommandError::SYNTAX),
        }
        at += 2;
    }
    let key = context.key(args.at(1));
    let set = context.with_value(&key, |stream: &mut Stream, _| set_id(stream, id, added, deleted))?;
    set.ok_or(CommandError::NO_SUCH_KEY)?;
    // No entry has changed: what is watched or cached is as it was.
    changed_quietly(context, 1);
    context.notify(class::STREAM, "xsetid", &key);
    context.reply.ok();
    Ok(())
}

fn set_id(stream: &mut Stream, id: StreamId, added: Option<u64>, deleted: StreamId) -> CommandResult {
    if id < stream.max_deleted_id() {
        return Err(CommandError::Fixed(
            "ERR The ID specified in XSETID is smaller than current max_deleted_entry_id",
        ));
    }
    if stream.last_entry_id().is_some_and(|last| id < last) {
        return Err(CommandError::Fixed(
            "ERR The ID specified in XSETID is smaller than the target stream top item",
        ));
    }
    if added.is_some_and(|added| added < stream.len()) {
        return Err(CommandError::Fixed(
            "ERR The entries_added specified in XSETID is smaller than the target stream length",
        ));
    }
    stream.set_last_id(id);
    if let Some(added) = added {
        stream.set_entries_added(added);
    }
    if deleted != StreamId::ZERO {
        stream.set_max_deleted_id(deleted);
    }
    Ok(())
}
