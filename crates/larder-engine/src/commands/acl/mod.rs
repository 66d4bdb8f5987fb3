//! ACL: users and their rights, as administrators see and change them.

mod handlers;
mod inspect;
mod log;
mod manage;

pub(crate) use handlers::HANDLERS;

use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use larder_resp::Args;

fn help(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    context.reply.help(
        &args[0],
        &[
            "ACL <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
            "CAT [<category>]",
            "    List the commands of <category>, or all categories when there is none given.",
            "DELUSER <username> [<username> ...]",
            "    Delete users.",
            "DRYRUN <username> <command> [<arg> ...]",
            "    Say whether the user could run the command, without running it.",
            "GETUSER <username>",
            "    Get the rights of the user.",
            "GENPASS [<bits>]",
            "    Make up a password of 256 bits, or of so many as are asked for.",
            "LIST",
            "    Show all users as lines of a configuration file.",
            "LOAD",
            "    Replace all users by those of the ACL file.",
            "LOG [<count> | RESET]",
            "    Show what users were refused.",
            "SAVE",
            "    Write all users into the ACL file.",
            "SETUSER <username> <attribute> [<attribute> ...]",
            "    Make or change a user.",
            "USERS",
            "    List the names of all users.",
            "WHOAMI",
            "    Return the name of the connection's user.",
            "HELP",
            "    Print this help.",
        ],
    );
    Ok(())
}

/// The error of a subcommand that takes at most this many arguments.
fn wrong_count(args: Args<'_>) -> CommandError {
    quoting("unknown subcommand or wrong number of arguments for '", args.at(1), "'. Try ACL HELP.")
}

/// The error when an argument appears in its text.
fn quoting(before: &str, arg: &[u8], after: &str) -> CommandError {
    let arg = crate::text::number::c_string(arg);
    CommandError::Text([b"ERR ", before.as_bytes(), arg, after.as_bytes()].concat())
}
