//! Which keys and channels a command uses, and how.
//!
//! What is found here must be what the handler uses, or rights could be evaded.

use super::selector::Access;
use crate::command::key_finders;
use crate::command::keys;
use crate::command::spec::{Begin, Command, Find, Found, flags};
use crate::command::table::table;
use larder_resp::Args;
use std::sync::LazyLock;

/// Calls `each` with the position of every key and what is done with it, until an error. Arguments in which no keys can
/// be found are for the handler to refuse.
pub(super) fn keys<E>(
    found: Found,
    args: Args<'_>,
    mut each: impl FnMut(usize, Access) -> Result<(), E>,
) -> Result<(), E> {
    match USES[usize::from(found.id)] {
        Use::None => Ok(()),
        Use::One(at, access) if at < args.len() => each(at, access),
        Use::Set if args.len() > 1 => each(1, Access { read: key_finders::set_reads(args), write: true }),
        _ => specified_keys(found.command, args, each),
    }
}

/// What can be known of a command's keys before its arguments are.
#[derive(Clone, Copy)]
enum Use {
    /// It has none.
    None,
    /// It has one, there, and this is done with it.
    One(usize, Access),
    /// It is SET, whose options tell whether it reads.
    Set,
    /// The arguments tell.
    Many,
}

/// By command id: most commands need no look at their specifications.
static USES: LazyLock<Box<[Use]>> = LazyLock::new(|| table().all().iter().map(use_of).collect());

fn use_of(found: &Found) -> Use {
    match found.command.keys {
        [] => Use::None,
        _ if found.command.name == "set" => Use::Set,
        [spec] if !spec.flags.contains("VARIABLE_FLAGS") => match (spec.begin, spec.find) {
            (Begin::Index(at), Find::Range { last: 0, .. }) => {
                access(spec.flags).map_or(Use::None, |access| Use::One(at as usize, access))
            }
            _ => Use::Many,
        },
        _ => Use::Many,
    }
}

fn specified_keys<E>(
    command: &Command,
    args: Args<'_>,
    mut each: impl FnMut(usize, Access) -> Result<(), E>,
) -> Result<(), E> {
    let mut result = Ok(());
    // Many keys of one specification are used alike: its words are read once.
    let mut known = ("", None);
    let _ = keys::positions(command, args, |at, flags| {
        if result.is_err() {
            return;
        }
        if !std::ptr::eq(known.0, flags) {
            known = (flags, access(flags));
        }
        if let Some(access) = known.1 {
            result = each(at, access);
        }
    });
    result
}

/// What these words say of keys; `None` when they are no keys.
fn access(flags: &str) -> Option<Access> {
    let mut access = Access::default();
    for word in flags.split(' ') {
        match word {
            "ACCESS" => access.read = true,
            "INSERT" | "UPDATE" | "DELETE" => access.write = true,
            "NOT_KEY" => return None,
            _ => {}
        }
    }
    Some(access)
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
        "publish" | "spublish" if args.len() > 1 => each(1, false),
        "subscribe" | "ssubscribe" => (1..args.len()).try_for_each(|at| each(at, false)),
        "psubscribe" => (1..args.len()).try_for_each(|at| each(at, true)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use larder_resp::OwnedArgs;

    fn keys_of(line: &str) -> String {
        let args: OwnedArgs =
            line.split(' ').map(|word| if word == "''" { &b""[..] } else { word.as_bytes() }).collect();
        let args = args.as_args();
        let mut text = String::new();
        let found = table().find(args.at(0)).expect("a command");
        let _ = keys(found, args, |at, access| {
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
            ("xreadgroup group g c group streams streams streams a 0", "Ra"),
            ("xread block streams count streams streams streams 0", "Rstreams"),
            ("xread unknown streams a 0", "Ra"),
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
