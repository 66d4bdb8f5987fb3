//! OBJECT: how values are stored.

use crate::context::{Context, inline};
use crate::error::{CommandError, CommandResult};
use crate::number;
use larder_collections::hash::HashEncoding;
use larder_collections::key_table::{Entry, ValueRef};
use larder_collections::list::ListEncoding;
use larder_collections::set::SetEncoding;
use larder_collections::sorted_set::SortedSetEncoding;
use larder_collections::value::Value;
use larder_resp::Args;

/// Strings up to this length are `embstr`, longer ones `raw`, as in Redis.
const EMBEDDED_MAX: usize = 44;

const COUNTS_USES: CommandError = CommandError::Fixed(
    "ERR An LFU maxmemory policy is selected, idle time not tracked. Please note that when switching between policies at \
     runtime LRU and LFU data will take some time to adjust.",
);
const COUNTS_NO_USES: CommandError = CommandError::Fixed(
    "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between \
     policies at runtime LRU and LFU data will take some time to adjust.",
);

/// The name of the encoding, as clients and test suites know it.
pub(crate) fn encoding_name(value: &ValueRef<'_, Value>) -> &'static str {
    match value {
        ValueRef::Inline { kind: inline::RAW, .. } => "raw",
        ValueRef::Inline { bytes, .. } if number::is_integer(bytes) => "int",
        ValueRef::Inline { bytes, .. } if bytes.len() <= EMBEDDED_MAX => "embstr",
        ValueRef::Inline { .. } => "raw",
        ValueRef::Out(value) => match &**value {
            Value::String(_) => "raw",
            Value::Hash(hash) => match hash.encoding() {
                HashEncoding::Listpack => "listpack",
                HashEncoding::Hashtable => "hashtable",
            },
            Value::List(list) => match list.encoding() {
                ListEncoding::Listpack => "listpack",
                ListEncoding::Quicklist => "quicklist",
            },
            Value::Set(set) => match set.encoding() {
                SetEncoding::Hashtable => "hashtable",
                SetEncoding::Intset => "intset",
                SetEncoding::Listpack => "listpack",
            },
            Value::SortedSet(set) => match set.encoding() {
                SortedSetEncoding::Listpack => "listpack",
                SortedSetEncoding::Skiplist => "skiplist",
            },
            Value::Stream(_) => "stream",
        },
    }
}

/// Looks a key up without marking it as used; replies null when there is none.
fn look<R>(context: &mut Context<'_>, args: Args<'_>, f: impl FnOnce(&Entry<'_, Value>) -> R) -> Option<R> {
    let key = context.key(args.at(2));
    let found = context.peek(&key, |entry| entry.map(|entry| f(&entry)));
    if found.is_none() {
        context.reply.null();
    }
    found
}

pub(super) fn encoding(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    if let Some(name) = look(context, args, |entry| encoding_name(&entry.value())) {
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

pub(super) fn help(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    context.reply.help(&[
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
        "    Prints this help.",
    ]);
    Ok(())
}
