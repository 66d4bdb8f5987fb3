//! SCRIPT: what EVALSHA can name.

use super::check_flush_mode;
use super::eval::keep;
use crate::clients::session::Mode;
use crate::context::Context;
#[cfg(doc)]
use crate::engine::Engine;
use crate::error::{CommandError, CommandResult};
use crate::execution::blocking;
use crate::keyspace::waiting::BlockedOp;
use crate::scripts::cache::digest;
use crate::scripts::running::NOT_BUSY;
use crate::text::word::is_word;
use larder_resp::Args;

pub(super) fn load(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let script = keep(context.engine, &args[2], true)?;
    context.reply.bulk(&script.sha);
    Ok(())
}

pub(super) fn exists(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let digests = args.from(2);
    context.reply.array(digests.len());
    context.engine.scripts.with_cache(|cache| {
        for arg in digests.iter() {
            context.reply.int(i64::from(digest(arg).is_some_and(|sha| cache.contains(&sha))));
        }
    });
    Ok(())
}

pub(super) fn show(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let script = digest(&args[2]).and_then(|sha| context.engine.scripts.find(&sha));
    let script = script.ok_or(CommandError::Fixed("NOSCRIPT No matching script."))?;
    context.reply.bulk(&script.text);
    Ok(())
}

pub(super) fn flush(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    check_flush_mode(args, CommandError::Fixed("ERR SCRIPT FLUSH only support SYNC|ASYNC option"))?;
    context.engine.scripts.flush();
    context.reply.ok();
    Ok(())
}

/// SCRIPT KILL and FUNCTION KILL. The reply comes when the script has ended, so that the client's next command is not refused
/// because of it. A script that has not run for [`Engine::killable_after`] is killed when it has; if it ends before, no script is
/// to be killed, as the reply says.
pub(super) fn kill_running(context: &mut Context<'_>, function: bool) -> CommandResult {
    let engine = context.engine;
    let (running, product) = (&engine.scripts.running, engine.config.product());
    let least = engine.killable_after();
    if context.in_exec || context.session.has_own_thread {
        if !running.kill(function, product, least)? {
            return Err(NOT_BUSY);
        }
        context.reply.ok();
        return Ok(());
    }
    running.may_be_killed(function, product, least)?;
    blocking::wait(context, &[], BlockedOp::ScriptEnd { function }, 0);
    let waiter = context.session.waiter.clone().expect("it waits");
    engine.script_killers.lock().push(waiter);
    running.note_awaited();
    engine.apply_script_kills();
    Ok(())
}

pub(super) fn kill(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    kill_running(context, false)
}

pub(super) fn debug(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    if args.len() > 4 {
        let name = String::from_utf8_lossy(&args[1]);
        return Err(CommandError::text(format!(
            "ERR unknown subcommand or wrong number of arguments for '{name}'. Try SCRIPT HELP."
        )));
    }
    if let Some(engine) = args.get(3).filter(|engine| !is_word(engine, "lua")) {
        let engine = String::from_utf8_lossy(engine);
        return Err(CommandError::text(format!(
            "ERR No scripting engine found with name '{engine}' to enable debug"
        )));
    }
    // What the client is sent from now on is a dialogue.
    if context.in_exec || context.reply.mark() > 0 {
        return Err(CommandError::Fixed("ERR SCRIPT DEBUG must be called outside a pipeline"));
    }
    context.session.debugging = match &args[2] {
        mode if is_word(mode, "no") => Mode::Off,
        mode if is_word(mode, "yes") => Mode::Copy,
        mode if is_word(mode, "sync") => Mode::InPlace,
        _ => return Err(CommandError::Fixed("ERR Use SCRIPT DEBUG YES/SYNC/NO")),
    };
    context.reply.ok();
    Ok(())
}

pub(super) fn help(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    context.reply.help(
        &args[0],
        &[
            "SCRIPT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
            "DEBUG (YES|SYNC|NO)",
            "    Debug the next EVAL of this connection: on a copy of the data, or with SYNC on the data.",
            "EXISTS <sha1> [<sha1> ...]",
            "    Tell which of these scripts the server has.",
            "FLUSH [ASYNC|SYNC]",
            "    Forget all scripts, at once in both modes.",
            "KILL",
            "    End the script that has been running for too long, if it has not written.",
            "LOAD <script>",
            "    Keep a script for EVALSHA, without running it.",
            "SHOW <sha1>",
            "    Return the text of a script.",
            "HELP",
            "    Print this help.",
        ],
    );
    Ok(())
}
