//! What a script says of itself, before it is run: whether its command may be queued, put off, refused, or sent to another node follows from that.

use super::Scripts;
use super::cache::digest;
use super::header::{ScriptFlags, of_script};
use crate::command::spec::{Command, Scope, flags};
use larder_resp::Args;

/// What EVAL, EVALSHA or FCALL, or their variants that only read, would run says of itself, if it does.
fn declared_flags(scripts: &Scripts, command: &Command, args: Args<'_>) -> Option<ScriptFlags> {
    let arg = args.get(1).filter(|_| command.scope == Scope::Script)?;
    match command.name {
        "eval" | "eval_ro" => of_script(arg).ok().and_then(|(flags, _)| flags),
        "evalsha" | "evalsha_ro" => digest(arg).and_then(|sha| scripts.find(&sha)?.flags),
        "fcall" | "fcall_ro" => {
            let libraries = scripts.libraries();
            libraries.function(arg).map(|(library, at)| library.functions[*at].flags)
        }
        _ => None,
    }
}

/// The flags of a command that is called with these arguments: if it runs a script that says something of itself, what that says takes the place of
/// what holds for any script.
pub(crate) fn flags_of(scripts: &Scripts, command: &Command, args: Args<'_>) -> u32 {
    let Some(declared) = declared_flags(scripts, command, args) else { return command.flags };
    let given = |is: bool, flag: u32| if is { flag } else { 0 };
    let writes = !declared.has(ScriptFlags::NO_WRITES);
    command.flags & !(flags::STALE | flags::DENYOOM | flags::WRITE | flags::MAY_REPLICATE)
        | given(writes, flags::WRITE)
        | given(writes && !declared.has(ScriptFlags::ALLOW_OOM), flags::DENYOOM)
        | given(declared.has(ScriptFlags::ALLOW_STALE), flags::STALE)
}
