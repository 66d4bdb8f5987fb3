//! Whether a user may run a command with these arguments.

use super::needs;
use super::selector::{Access, Selector};
use super::{Reason, Rights};
use crate::command::spec::{Found, flags};
use crate::error::CommandError;
use larder_resp::Args;

/// How the error begins that scripts get for a lack of rights, after its code.
pub(crate) const FAILURE_IN_SCRIPT: &[u8] = b"ACL failure in script: ";

/// Where a command comes from, for ACL LOG.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A client.
    TopLevel,
    /// A transaction.
    Multi,
    /// A script.
    Lua,
}

impl Origin {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Origin::Lua => "lua",
            Origin::Multi => "multi",
            Origin::TopLevel => "toplevel",
        }
    }
}

/// What a user may not do. When several selectors refuse a command, the last one in this order is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Denial {
    /// Use the database that the argument at that position names, or the selected one (0).
    Database(usize),
    /// Use the command at all.
    Command,
    /// Do this with the key at that position.
    Key(usize),
    /// Use the channel at that position.
    Channel(usize),
}

impl Denial {
    /// What the client is told.
    pub(crate) fn refusal(self, user: &[u8], found: Found) -> CommandError {
        match self {
            Denial::Command => {
                let name = found.full_name();
                let run = b" has no permissions to run the '";
                CommandError::Text([b"NOPERM User ", user, run, name.as_bytes(), b"' command"].concat())
            }
            Denial::Database(_) => CommandError::Fixed("NOPERM No permissions to access database"),
            Denial::Key(_) => CommandError::Fixed("NOPERM No permissions to access a key"),
            Denial::Channel(_) => CommandError::Fixed("NOPERM No permissions to access a channel"),
        }
    }

    /// The same for a command of a transaction that was let in before.
    pub(crate) fn late_refusal(self) -> CommandError {
        let reason = match self {
            Denial::Command => "no permission to execute the command or subcommand",
            Denial::Database(_) => "no permission to access database",
            Denial::Key(_) => "no permission to touch the specified keys",
            Denial::Channel(_) => "no permission to access one of the channels used as arguments",
        };
        CommandError::text(format!(
            "NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. This command \
             is no longer allowed for the following reason: {reason}"
        ))
    }

    /// The same, saying what it was: for ACL DRYRUN.
    pub(crate) fn explanation(self, user: &[u8], found: Found, args: Args<'_>) -> Vec<u8> {
        let object = self.object(found, args);
        let (verb, noun): (&[u8], &[u8]) = match self {
            Denial::Database(_) => {
                return [b"User ", user, b" has no permissions to access database ", &*object].concat();
            }
            Denial::Command => (b"run", b"command"),
            Denial::Key(_) => (b"access", b"key"),
            Denial::Channel(_) => (b"access", b"channel"),
        };
        [b"User ", user, b" has no permissions to ", verb, b" the '", &object, b"' ", noun].concat()
    }

    /// What a script is told.
    pub(crate) fn script_refusal(self, user: &[u8], found: Found) -> CommandError {
        let refusal = self.refusal(user, found);
        let text = refusal.wire();
        let reason = text.strip_prefix(b"NOPERM ").unwrap_or(&text);
        CommandError::Text([b"ERR ", FAILURE_IN_SCRIPT, reason].concat())
    }

    pub(crate) fn object(self, found: Found, args: Args<'_>) -> Vec<u8> {
        match self {
            Denial::Command => found.full_name().into_bytes(),
            Denial::Channel(at) | Denial::Database(at) | Denial::Key(at) => {
                args.get(at).unwrap_or_default().to_vec()
            }
        }
    }

    /// The same as ACL LOG names it.
    pub(crate) fn logged_object(self, found: Found, args: Args<'_>) -> Vec<u8> {
        match self {
            Denial::Database(0) => found.full_name().into_bytes(),
            _ => self.object(found, args),
        }
    }

    pub(crate) fn reason(self) -> Reason {
        match self {
            Denial::Command => Reason::Command,
            Denial::Database(_) => Reason::Database,
            Denial::Key(_) => Reason::Key,
            Denial::Channel(_) => Reason::Channel,
        }
    }
}

/// Whether these rights allow a command of a connection that has selected `db` of this many databases: one of the selectors must
/// allow all of it.
pub(crate) fn decide(
    rights: &Rights,
    found: Found,
    args: Args<'_>,
    db: usize,
    databases: usize,
) -> Result<(), Denial> {
    let mut worst = Denial::Database(0);
    for selector in rights.selectors() {
        match try_selector(selector, found, args, db, databases) {
            Ok(()) => return Ok(()),
            Err(denial) => worst = worst.max(denial),
        }
    }
    Err(worst)
}

fn try_selector(
    selector: &Selector,
    found: Found,
    args: Args<'_>,
    db: usize,
    databases: usize,
) -> Result<(), Denial> {
    selector.databases().check(found, args, db, databases).map_err(Denial::Database)?;
    let first_arg = args.get(if found.parent.is_some() { 2 } else { 1 });
    if !found.command.has(flags::NO_AUTH) && !selector.allows_command(found, first_arg) {
        return Err(Denial::Command);
    }
    if !selector.allows_all_keys() {
        needs::keys(found, args, |at, access| {
            let allowed = selector.allows_key(args.at(at), access);
            if allowed { Ok(()) } else { Err(Denial::Key(at)) }
        })?;
    }
    if !selector.allows_all_channels() {
        needs::channels(found, args, |at, is_pattern| {
            let allowed = selector.allows_channel(args.at(at), is_pattern);
            if allowed { Ok(()) } else { Err(Denial::Channel(at)) }
        })?;
    }
    Ok(())
}

/// Whether these rights allow to read every key with a command: what SORT asks for its patterns.
pub(crate) fn allow_to_read_all_keys(
    rights: &Rights,
    found: Found,
    args: Args<'_>,
    db: usize,
    databases: usize,
) -> bool {
    let fits = |selector: &Selector| {
        selector.reads_all_keys() && try_selector(selector, found, args, db, databases).is_ok()
    };
    rights.selectors().any(fits)
}

/// Whether these rights let a user learn of a key by a command that names none, as SCAN: one of the selectors must allow both the command
/// and reading the key.
pub(crate) fn may_see_key(
    rights: &Rights,
    found: Found,
    args: Args<'_>,
    (db, databases): (usize, usize),
    key: &[u8],
) -> bool {
    let reads = Access { read: true, write: false };
    let fits = |selector: &Selector| {
        selector.allows_key(key, reads) && try_selector(selector, found, args, db, databases).is_ok()
    };
    rights.selectors().any(fits)
}
