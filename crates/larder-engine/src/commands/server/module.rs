//! MODULE. No module can be loaded; the engine of Lua scripts is built in, and listed as Valkey lists its own.

use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use larder_resp::{Args, Reply};

pub(super) fn list(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    write_modules(&mut context.reply);
    Ok(())
}

/// The list of modules, as HELLO has it too.
pub(crate) fn write_modules(reply: &mut Reply<'_>) {
    reply.array(1);
    reply.map(4);
    reply.bulk(b"name");
    reply.bulk(b"lua");
    reply.bulk(b"ver");
    reply.int(1);
    reply.bulk(b"path");
    reply.bulk(b"lua");
    reply.bulk(b"args");
    reply.array(0);
}

/// LOAD and LOADEX. The reply is Valkey's, which sends operators to the log; the log says why.
pub(super) fn load(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let path = String::from_utf8_lossy(args.at(2));
    context.engine.log_warning(&format!("Module {path} failed to load: Larder does not support modules"));
    Err(CommandError::Fixed("ERR Error loading the extension. Please check the server logs."))
}

pub(super) fn unload(_context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    Err(CommandError::Fixed(match args.at(2) {
        b"lua" => "ERR Error unloading module: the Lua engine is built in",
        _ => "ERR Error unloading module: no such module with that name",
    }))
}

pub(super) fn help(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    context.reply.help(
        &args[0],
        &[
            "MODULE <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
            "LIST",
            "    Return the modules that are loaded.",
            "LOAD <path> [<arg> ...]",
            "    Refused: no module can be loaded.",
            "LOADEX <path> [[CONFIG NAME VALUE] [CONFIG NAME VALUE]] [ARGS ...]",
            "    Refused: no module can be loaded.",
            "UNLOAD <name>",
            "    Refused: no module can be unloaded.",
            "HELP",
            "    Print this help.",
        ],
    );
    Ok(())
}
