//! Which keys and channels a command uses, and how.
//!
//! What is found here must be what the handler uses, or rights could be evaded: where the key specifications of the table
//! only come close, the same code finds the keys for both.

use super::selector::Access;
use crate::command::{Command, Found, KeySpec, flags};
use crate::commands::generic::migrate_keys;
use crate::commands::is_word;
use crate::keys;
use larder_resp::Args;

/// Calls `each` with the position of every key and what is done with it, until an error. Arguments in which no keys can
/// be found are for the handler to refuse.
pub(super) fn keys<E>(
    command: &Command,
    args: Args<'_>,
    mut each: impl FnMut(usize, Access) -> Result<(), E>,
) -> Result<(), E> {
    if command.keys.is_empty() {
        return Ok(());
    }
    if command.name == "migrate" {
        return migrate_keys(args).try_for_each(|at| each(at, Access::ALL));
    }
    let mut result = Ok(());
    let _ = keys::positions(command, args, |at, spec| {
        if result.is_ok() && !says(spec, "NOT_KEY") {
            result = each(at, access(command, spec, args));
        }
    });
    result
}

fn says(spec: &KeySpec, word: &str) -> bool {
    spec.flags.split(' ').any(|flag| flag == word)
}

/// What is done with the keys of a specification: ACCESS reads, INSERT, UPDATE and DELETE write.
fn access(command: &Command, spec: &KeySpec, args: Args<'_>) -> Access {
    if says(spec, "VARIABLE_FLAGS") {
        match command.name {
            "set" => return Access { read: set_reads(args), write: true },
            "bitfield" if bitfield_only_reads(args) => return Access::READ,
            _ => {}
        }
    }
    let write = ["INSERT", "UPDATE", "DELETE"].iter().any(|word| says(spec, word));
    Access { read: says(spec, "ACCESS"), write }
}

/// Whether SET tells something of the old value.
fn set_reads(args: Args<'_>) -> bool {
    args.iter().skip(3).any(|arg| is_word(arg, "get") || is_word(arg, "ifeq"))
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

/// Calls `each` with the position of every channel and whether it is a pattern, until an error.
pub(super) fn channels<E>(
    found: Found,
    args: Args<'_>,
    mut each: impl FnMut(usize, bool) -> Result<(), E>,
) -> Result<(), E> {
    if !found.command.has(flags::PUBSUB) || found.parent.is_some() {
        return Ok(());
    }
    match found.command.name {
        "publish" | "spublish" => each(1, false),
        "subscribe" | "ssubscribe" => (1..args.len()).try_for_each(|at| each(at, false)),
        "psubscribe" => (1..args.len()).try_for_each(|at| each(at, true)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::table;
    use larder_resp::OwnedArgs;

    fn keys_of(line: &str) -> String {
        let args: OwnedArgs =
            line.split(' ').map(|word| if word == "''" { &b""[..] } else { word.as_bytes() }).collect();
        let args = args.as_args();
        let mut text = String::new();
        let command = table().find(args.at(0)).expect("a command").command;
        let _ = keys(command, args, |at, access| {
            let letters = [(access.read, 'R'), (access.write, 'W')];
            text.extend(letters.iter().filter(|(on, _)| *on).map(|(_, letter)| *letter));
            text.push_str(&format!("{} ", String::from_utf8_lossy(args.at(at))));
            Ok::<(), ()>(())
        });
        text.trim_end().to_owned()
    }

    #[test]
    fn what_commands_do_with_keys() {
        for (line, expected) in [
            ("get k", "Rk"),
            ("set k v", "Wk"),
            ("set k v nx get", "RWk"),
            ("bitfield k get u8 0 overflow sat get u8 1", "Rk"),
            ("bitfield k get u8 0 set u8 0 1", "RWk"),
            ("exists a b", "a b"),
            ("lmove a b left right", "RWa Wb"),
            ("sort k by w* get # store d", "Rk Wd"),
            ("georadius k 0 0 1 m store d", "Rk Wd"),
            ("xreadgroup group STREAMS c streams a b 0 0", "Ra Rb"),
            ("zunionstore d 2 a b", "Wd Ra Rb"),
            ("migrate h 1 k 0 1 copy auth keys", "RWk"),
            ("migrate h 1 '' 0 1 auth keys keys a keys b", "RWa RWkeys RWb"),
            ("spublish c m", ""),
            ("ping", ""),
        ] {
            assert_eq!(keys_of(line), expected, "{line}");
        }
    }
}
