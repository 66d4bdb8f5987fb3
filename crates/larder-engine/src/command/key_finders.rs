//! The keys of commands that no specification can describe: where they are depends on words among the arguments, or what is done
//! with them does.

use crate::text::word::is_word;
use larder_resp::Args;

/// Calls its second argument with the position of every key and what is done with it. It finds the keys that the handler uses,
/// since their shards must be locked; where the handler refuses the arguments it does not matter.
pub type KeyFinder = fn(Args<'_>, &mut dyn FnMut(usize, &'static str));

const READS: &str = "RO ACCESS";
const STORES: &str = "OW UPDATE";

/// SET: with GET it reads the key too.
pub(super) fn set(args: Args<'_>, each: &mut dyn FnMut(usize, &'static str)) {
    if args.len() > 1 {
        each(1, if set_reads(args) { "RW ACCESS UPDATE" } else { STORES });
    }
}

/// Whether SET replies with the old value. (That IFEQ tells something of it too does not count for Valkey.)
pub fn set_reads(args: Args<'_>) -> bool {
    args.iter().skip(3).any(|arg| is_word(arg, "get"))
}

/// BITFIELD: of nothing but GETs, it only reads.
pub(super) fn bitfield(args: Args<'_>, each: &mut dyn FnMut(usize, &'static str)) {
    if args.len() > 1 {
        each(1, if bitfield_only_reads(args) { READS } else { "RW ACCESS UPDATE" });
    }
}

/// Whether BITFIELD has nothing but GETs. In doubt, no.
fn bitfield_only_reads(args: Args<'_>) -> bool {
    let mut at = 2;
    while let Some(word) = args.get(at) {
        at += match word {
            _ if is_word(word, "get") && at + 2 < args.len() => 3,
            _ if is_word(word, "overflow") && at + 1 < args.len() => 2,
            _ => return false,
        };
    }
    true
}

/// GEORADIUS and GEORADIUSBYMEMBER: the last key after STORE or STOREDIST is the destination.
pub(super) fn georadius(args: Args<'_>, each: &mut dyn FnMut(usize, &'static str)) {
    if args.len() > 1 {
        each(1, READS);
    }
    let (mut at, mut target) = (5, None);
    while at + 1 < args.len() {
        if is_word(&args[at], "store") || is_word(&args[at], "storedist") {
            at += 1;
            target = Some(at);
        }
        at += 1;
    }
    if let Some(at) = target {
        each(at, STORES);
    }
}

/// SORT: the destination after STORE. Keys that patterns name depend on the data: see [`sorts_by_other_keys`].
pub(super) fn sort(args: Args<'_>, each: &mut dyn FnMut(usize, &'static str)) {
    if args.len() > 1 {
        each(1, READS);
    }
    if let Some(at) = sort_target(args) {
        each(at, STORES);
    }
}

fn sort_target(args: Args<'_>) -> Option<usize> {
    let (mut at, mut found) = (2, None);
    while at < args.len() {
        at += match &args[at] {
            word if ["asc", "desc", "alpha"].iter().any(|name| is_word(word, name)) => 1,
            word if is_word(word, "limit") => 3,
            word if is_word(word, "by") || is_word(word, "get") => 2,
            word if is_word(word, "store") => {
                found = Some(at + 1).filter(|&target| target < args.len());
                2
            }
            _ => return None,
        };
    }
    found
}

/// Whether patterns among the arguments of SORT may name keys besides the one to sort and the destination. In doubt, yes.
pub(crate) fn sorts_by_other_keys(args: Args<'_>) -> bool {
    args.iter().skip(2).any(|arg| arg.contains(&b'*'))
}

/// MIGRATE: one key, or, where that is empty, all after KEYS.
pub(super) fn migrate(args: Args<'_>, each: &mut dyn FnMut(usize, &'static str)) {
    migrate_keys(args).for_each(|at| each(at, "RW ACCESS DELETE"));
}

fn migrate_keys(args: Args<'_>) -> impl Iterator<Item = usize> + use<> {
    let mut at = 6;
    let listed = loop {
        at += match args.get(at) {
            None => break args.len(),
            Some(word) if is_word(word, "keys") => break at + 1,
            Some(word) if is_word(word, "auth") => 2,
            Some(word) if is_word(word, "auth2") => 3,
            Some(_) => 1,
        };
    };
    let single = args.get(3).is_some_and(|key| listed >= args.len() || !key.is_empty());
    single.then_some(3).into_iter().chain(listed..args.len())
}

/// XREAD and XREADGROUP: the first half of what follows STREAMS. A group, a consumer or a value may have that name too.
pub(super) fn xread(args: Args<'_>, each: &mut dyn FnMut(usize, &'static str)) {
    let mut at = 1;
    while let Some(word) = args.get(at) {
        at += match word {
            _ if is_word(word, "streams") => break,
            _ if is_word(word, "group") => 3,
            _ if is_word(word, "block") || is_word(word, "count") => 2,
            _ => 1,
        };
    }
    let first = at + 1;
    let count = args.len().saturating_sub(first) / 2;
    (first..first + count).for_each(|at| each(at, READS));
}
