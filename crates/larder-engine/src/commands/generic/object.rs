//! OBJECT: how values are stored.

use crate::context::{Context, inline};
use crate::error::{CommandError, CommandResult};
use crate::text::number;
use larder_collections::cold::{Cold, ColdEncoding, ColdType};
use larder_collections::hash::HashEncoding;
use larder_collections::key_table::{Entry, INLINE_MAX, ValueRef};
use larder_collections::list::ListEncoding;
use larder_collections::set::SetEncoding;
use larder_collections::sorted_set::SortedSetEncoding;
use larder_collections::value::Value;
use larder_resp::Args;

/// The bytes of a key and of its string that fit beside each other into one object of 128 bytes of Valkey: the encoding
/// of such a string is `embstr`, and that of longer ones `raw`.
const EMBEDDED_MAX: usize = 113;
/// What a deadline takes of them, and the header of a key from this length on.
const DEADLINE_BYTES: usize = 8;
const LONG_KEY: (usize, usize) = (32, 2);

const COUNTS_USES: CommandError = CommandError::Fixed(
    "ERR An LFU maxmemory policy is selected, idle time not tracked. Please note that when switching between policies at \
     runtime LRU and LFU data will take some time to adjust.",
);
const COUNTS_NO_USES: CommandError = CommandError::Fixed(
    "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between \
     policies at runtime LRU and LFU data will take some time to adjust.",
);

/// The name of the encoding, as clients and test suites know it.
pub(crate) fn encoding_name(key: &[u8], entry: &Entry<'_, Value>) -> &'static str {
    match &entry.kept() {
        ValueRef::Inline { kind: inline::RAW, .. } => "raw",
        ValueRef::Inline { kind: inline::STRING, bytes } if number::is_integer(bytes) => "int",
        ValueRef::Inline { bytes, .. } if is_embedded(key, bytes.len(), entry) => "embstr",
        ValueRef::Inline { .. } => "raw",
        ValueRef::Out(value) => match &**value {
            Value::Stream(_) => "stream",
            Value::String(_) => name_of(ColdEncoding::String),
            Value::Hash(hash) => name_of(ColdEncoding::Hash(hash.encoding())),
            Value::List(list) => name_of(ColdEncoding::List(list.encoding())),
            Value::Set(set) => name_of(ColdEncoding::Set(set.encoding())),
            Value::SortedSet(set) => name_of(ColdEncoding::SortedSet(set.encoding())),
            // It was kept in its record before.
            Value::Cold(cold) if is_short(cold) && is_embedded(key, cold.raw_bytes(), entry) => "embstr",
            Value::Cold(cold) => name_of(cold.encoding()),
        },
    }
}

fn name_of(encoding: ColdEncoding) -> &'static str {
    match encoding {
        ColdEncoding::String => "raw",
        ColdEncoding::Hash(HashEncoding::Listpack)
        | ColdEncoding::List(ListEncoding::Listpack)
        | ColdEncoding::Set(SetEncoding::Listpack)
        | ColdEncoding::SortedSet(SortedSetEncoding::Listpack) => "listpack",
        ColdEncoding::Hash(HashEncoding::Hashtable) | ColdEncoding::Set(SetEncoding::Hashtable) => {
            "hashtable"
        }
        ColdEncoding::List(ListEncoding::Quicklist) => "quicklist",
        ColdEncoding::Set(SetEncoding::Intset) => "intset",
        ColdEncoding::SortedSet(SortedSetEncoding::Skiplist) => "skiplist",
    }
}

fn is_short(cold: &Cold) -> bool {
    cold.of_type() == ColdType::String && cold.raw_bytes() <= INLINE_MAX
}

fn is_embedded(key: &[u8], len: usize, entry: &Entry<'_, Value>) -> bool {
    let header = if key.len() >= LONG_KEY.0 { LONG_KEY.1 } else { 0 };
    let deadline = if entry.expire_at_ms().is_some() { DEADLINE_BYTES } else { 0 };
    key.len() + len + header + deadline <= EMBEDDED_MAX
}

/// Looks a key up without marking it as used, and without an event when there is none; then replies null.
fn look<R>(context: &mut Context<'_>, args: Args<'_>, f: impl FnOnce(&Entry<'_, Value>) -> R) -> Option<R> {
    let key = context.key(args.at(2));
    let found = context.peek(&key, |entry| entry.map(|entry| f(&entry)));
    let stats = &context.worker.stats;
    match found {
        Some(_) => stats.hits.add(1),
        None => {
            stats.misses.add(1);
            context.reply.null();
        }
    }
    found
}

pub(super) fn encoding(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    if let Some(name) = look(context, args, |entry| encoding_name(args.at(2), entry)) {
        context.reply.bulk(name.as_bytes());
    }
    Ok(())
}

pub(super) fn refcount(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    if look(context, args, |_| ()).is_some() {
        context.reply.int(1);
    }
    Ok(())
}

pub(super) fn idletime(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let (rules, now_s) = (context.worker.access, context.now_s());
    let Some(word) = look(context, args, |entry| entry.access()) else { return Ok(()) };
    if rules.counts {
        return Err(COUNTS_USES);
    }
    context.reply.int(i64::from(rules.idle_s(word, now_s)));
    Ok(())
}

pub(super) fn freq(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let (rules, now_s) = (context.worker.access, context.now_s());
    let Some(word) = look(context, args, |entry| entry.access()) else { return Ok(()) };
    if !rules.counts {
        return Err(COUNTS_NO_USES);
    }
    context.reply.int(i64::from(rules.counter(word, now_s)));
    Ok(())
}

pub(super) fn help(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    context.reply.help(
        &args[0],
        &[
            "OBJECT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
            "ENCODING <key>",
            "    Return the kind of internal representation used in order to store the value",
            "    associated with a <key>.",
            "FREQ <key>",
            "    Return the access frequency index of the <key>. The returned integer is",
            "    proportional to the logarithm of the recent access frequency of the key.",
            "IDLETIME <key>",
            "    Return the idle time of the <key>, that is the approximated number of",
            "    seconds elapsed since the last access to the key.",
            "REFCOUNT <key>",
            "    Return the number of references of the value associated with the specified",
            "    <key>.",
            "HELP",
            "    Print this help.",
        ],
    );
    Ok(())
}
