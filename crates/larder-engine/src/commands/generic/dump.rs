//! DUMP and RESTORE: values as bytes that other servers of this protocol understand.

use crate::config::RdbVersionCheck;
use crate::context::{Context, MOMENT, bytes_as_elements, inline};
use crate::engine::Engine;
use crate::engine::notify::class;
use crate::engine::removal::Cause;
use crate::error::{CommandError, CommandResult};
use crate::keyspace::encoding_limits::rdb_options_of;
use crate::keyspace::key::Key;
use crate::text::number;
use crate::text::word::is_word;
use larder_collections::key_table::{ExpireChange, NewValue, OwnedValue, ValueRef};
use larder_collections::value::Value;
use larder_packed::bytes::SharedBytes;
use larder_rdb::read::Content;
use larder_rdb::{Version, dump as payload};
use larder_resp::Args;
use std::iter;
use std::sync::atomic::Ordering::Relaxed;

/// The version that files and payloads are written in.
pub(crate) fn target_version(engine: &Engine) -> Version {
    let number = engine.config.hot.rdb_target_version.load(Relaxed);
    u32::try_from(number).ok().and_then(Version::from_number).unwrap_or_default()
}

/// Whether strings in files and payloads are compressed.
pub(crate) fn compresses(engine: &Engine) -> bool {
    engine.config.hot.rdbcompression.load(Relaxed)
}

/// The payload of a value.
pub(crate) fn payload_of(value: &OwnedValue<Value>, version: Version, compress: bool) -> Vec<u8> {
    match value {
        OwnedValue::Inline { bytes, .. } => payload::of_string(bytes, version, compress),
        OwnedValue::Out(value) => payload::of_value(value, version, compress),
    }
}

pub(super) fn dump(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let key = context.key(args.at(1));
    let version = target_version(context.engine);
    let compress = compresses(context.engine);
    let mut long = None;
    let bytes = context.read(&key, |entry, _| {
        entry.map(|entry| match entry.value() {
            ValueRef::Inline { bytes, .. } => payload::of_string(bytes, version, compress),
            ValueRef::Out(value) if work(&value) > MOMENT => {
                long = Some(Value::clone(&value));
                Vec::new()
            }
            ValueRef::Out(value) => payload::of_value(&value, version, compress),
        })
    });
    let bytes = match long {
        Some(value) => {
            context.reads(work(&value))?;
            Some(payload::of_value(&value, version, compress))
        }
        None => bytes,
    };
    match bytes {
        Some(bytes) => context.reply.bulk(&bytes),
        None => context.reply.null(),
    }
    Ok(())
}

/// How many elements a value counts as: a string as those that take as long to copy.
fn work(value: &Value) -> u64 {
    match value {
        Value::String(bytes) => bytes_as_elements(bytes.len()),
        collection => collection.elements(),
    }
}

/// Bytes of a payload that are read in the time of an element.
const PAYLOAD_BYTES: u64 = 16;

/// The options of RESTORE.
#[derive(Default)]
struct Options {
    replace: bool,
    absolute: bool,
    idle_s: Option<u64>,
    frequency: Option<u8>,
}

impl Options {
    fn parse(args: Args<'_>) -> CommandResult<Options> {
        let mut options = Options::default();
        let mut at = 0;
        while let Some(word) = args.get(at) {
            at += 1;
            if is_word(word, "REPLACE") {
                options.replace = true;
            } else if is_word(word, "ABSTTL") {
                options.absolute = true;
            } else if is_word(word, "IDLETIME") && args.get(at).is_some() && options.frequency.is_none() {
                let seconds = u64::try_from(number::integer(&args[at])?);
                options.idle_s = Some(seconds.map_err(|_| CommandError::INVALID_IDLETIME)?);
                at += 1;
            } else if is_word(word, "FREQ") && args.get(at).is_some() && options.idle_s.is_none() {
                let frequency = u8::try_from(number::integer(&args[at])?);
                options.frequency = Some(frequency.map_err(|_| CommandError::INVALID_FREQUENCY)?);
                at += 1;
            } else {
                return Err(CommandError::SYNTAX);
            }
        }
        Ok(options)
    }
}

/// How payloads are read.
struct Decoding {
    checks: payload::Checks,
    options: larder_rdb::read::Options,
}

impl Decoding {
    fn of(context: &Context<'_>) -> Self {
        let version = context.engine.config.hot.rdb_version_check.get() == RdbVersionCheck::Strict;
        Decoding {
            checks: payload::Checks { sum: !context.engine.skips_checksums(), version },
            options: rdb_options_of(&context.worker.thresholds, context.worker.list_options),
        }
    }

    /// What is in a payload; that of a string lies in it, or in `room`.
    fn borrowed<'b>(&self, bytes: &'b [u8], room: &'b mut Vec<u8>) -> CommandResult<Content<'b>> {
        if !payload::verify(bytes, self.checks) {
            return Err(CommandError::BAD_PAYLOAD);
        }
        match payload::restore_in(bytes, &self.options, room) {
            Ok(Some(content)) => Ok(content),
            _ => Err(CommandError::BAD_DATA_FORMAT),
        }
    }

    /// What is in a payload that is large.
    fn owned(&self, bytes: &[u8]) -> CommandResult<Value> {
        Ok(match self.borrowed(bytes, &mut Vec::new())? {
            Content::String(bytes) => Value::String(SharedBytes::new(bytes)),
            Content::Value(value) => value,
        })
    }
}

pub(super) fn restore(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let options = Options::parse(args.from(4))?;
    let key = context.key(args.at(1));
    if !options.replace && context.exists(&key) {
        return Err(CommandError::BUSY_KEY);
    }
    let ttl = u64::try_from(number::integer(&args[2])?).map_err(|_| CommandError::INVALID_TTL)?;
    let (bytes, decoding) = (args.at(3), Decoding::of(context));
    let elements = bytes.len() as u64 / PAYLOAD_BYTES;
    let mut room = Vec::new();
    let content = if context.makes_apart(elements) {
        let decode = move |args: Args<'_>| decoding.owned(args.at(3));
        Content::Value(context.make_of(args, elements, iter::once(key.bytes), decode)??)
    } else {
        decoding.borrowed(bytes, &mut room)?
    };
    let now = context.now_ms();
    let expire_at_ms = match ttl {
        0 => None,
        _ if options.absolute => Some(ttl),
        _ => Some(now.saturating_add(ttl)),
    };
    let is_over = expire_at_ms.is_some_and(|at| context.is_past(at as i64));
    if is_over {
        if options.replace && context.delete(&key) {
            context.propagate_instead(&[context.engine.removal_command(Cause::Expired), key.bytes]);
        }
    } else {
        if options.replace {
            context.make_room(&key);
        }
        let standard = if context.logs() { standard_payload(context, bytes, &content) } else { None };
        place(context, &key, content, expire_at_ms, &options);
        log_restore(context, &args, expire_at_ms, standard.as_deref());
    }
    context.reply.ok();
    Ok(())
}

/// The payload for the log in the place of one that only Larder reads: replicas and files are for other servers too.
fn standard_payload(context: &Context<'_>, bytes: &[u8], content: &Content<'_>) -> Option<Vec<u8>> {
    let Content::Value(value) = content else { return None };
    payload::is_own(bytes).then(|| payload::of_value(value, target_version(context.engine), false))
}

/// Notes the command with a time to live that does not depend on when it is read, and with the standard payload if it came
/// with another.
fn log_restore(
    context: &mut Context<'_>,
    args: &Args<'_>,
    expire_at_ms: Option<u64>,
    standard: Option<&[u8]>,
) {
    if (expire_at_ms.is_some() || standard.is_some()) && context.logs() {
        let at = itoa::Buffer::new().format(expire_at_ms.unwrap_or(0)).to_owned();
        context.propagate_instead(&[
            b"RESTORE",
            args.at(1),
            at.as_bytes(),
            standard.unwrap_or(args.at(3)),
            b"REPLACE",
            b"ABSTTL",
        ]);
    }
}

fn place(
    context: &mut Context<'_>,
    key: &Key<'_>,
    content: Content<'_>,
    expire_at_ms: Option<u64>,
    options: &Options,
) {
    let expire = expire_at_ms.map_or(ExpireChange::Clear, ExpireChange::At);
    match content {
        Content::String(bytes) => context.put_string_as(key, bytes, inline::STRING, expire),
        Content::Value(value) => context.put(key, NewValue::Out(value), expire),
    }
    let (rules, now_s) = (context.worker.access, context.now_s());
    let word = match (options.idle_s, options.frequency) {
        (Some(idle_s), _) if !rules.counts => Some(rules.with_idle(idle_s, now_s)),
        (_, Some(frequency)) if rules.counts => Some(rules.with_counter(u32::from(frequency), now_s)),
        _ => None,
    };
    if let Some(word) = word {
        context.table(key).set_access(key.hash, key.bytes, word);
    }
    context.modified(key);
    context.notify(class::GENERIC, "restore", key);
    context.signal_ready(key);
}
