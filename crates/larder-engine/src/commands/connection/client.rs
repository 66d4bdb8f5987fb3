//! CLIENT: what a connection is called, how it is answered, and the list of all connections.

use super::kill::Filter;
use crate::clients::session::{ClientShared, ReplyMode, client_flags};
use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::text::word::is_word;
use larder_resp::Args;
use std::sync::atomic::Ordering::Relaxed;

pub(super) fn id(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    context.reply.int(context.session.id() as i64);
    Ok(())
}

pub(super) fn getname(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    let names = context.session.shared.names.lock();
    let name = (!names.name.is_empty()).then_some(&*names.name);
    context.reply.bulk_or_null(name);
    Ok(())
}

pub(super) fn setname(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    set_name(context, args.at(2))?;
    context.reply.ok();
    Ok(())
}

/// Names the connection; an empty name takes the name away.
pub(super) fn set_name(context: &mut Context<'_>, name: &[u8]) -> CommandResult {
    check_name(name)?;
    context.session.shared.names.lock().name = name.into();
    Ok(())
}

/// Whether a client may have this name.
pub(super) fn check_name(name: &[u8]) -> CommandResult {
    if is_printable(name) {
        return Ok(());
    }
    Err(CommandError::Fixed("ERR Client names cannot contain spaces, newlines or special characters."))
}

fn is_printable(text: &[u8]) -> bool {
    text.iter().all(|byte| (b'!'..=b'~').contains(byte))
}

pub(super) fn setinfo(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let (option, value) = (args.at(2), args.at(3));
    let names = &mut *context.session.shared.names.lock();
    let field = if is_word(option, "lib-name") {
        &mut names.lib_name
    } else if is_word(option, "lib-ver") {
        &mut names.lib_ver
    } else {
        return Err(unrecognized(option));
    };
    if !is_printable(value) {
        let rest = b" cannot contain spaces, newlines or special characters.";
        return Err(CommandError::Text([b"ERR ", option, rest].concat()));
    }
    *field = value.into();
    context.reply.ok();
    Ok(())
}

fn unrecognized(option: &[u8]) -> CommandError {
    let mut text = b"ERR Unrecognized option '".to_vec();
    text.extend_from_slice(option);
    text.push(b'\'');
    CommandError::Text(text)
}

/// Reads ON or OFF.
fn switch(arg: &[u8]) -> CommandResult<bool> {
    if is_word(arg, "on") {
        Ok(true)
    } else if is_word(arg, "off") {
        Ok(false)
    } else {
        Err(CommandError::SYNTAX)
    }
}

pub(super) fn reply(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let word = args.at(2);
    let mode = &mut context.session.reply_mode;
    if is_word(word, "on") {
        *mode = ReplyMode::On;
        context.reply.ok();
    } else if is_word(word, "off") {
        *mode = ReplyMode::Off;
    } else if is_word(word, "skip") {
        if *mode != ReplyMode::Off {
            *mode = ReplyMode::SkipNext;
        }
    } else {
        return Err(CommandError::SYNTAX);
    }
    Ok(())
}

pub(super) fn no_evict(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    context.session.shared.set_flag(client_flags::NO_EVICT, switch(args.at(2))?);
    context.reply.ok();
    Ok(())
}

pub(super) fn no_touch(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let on = switch(args.at(2))?;
    context.session.no_touch = on;
    context.session.shared.set_flag(client_flags::NO_TOUCH, on);
    context.reply.ok();
    Ok(())
}

pub(super) fn import_source(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    // Who is a source may cease to be one at any time.
    if !is_word(args.at(2), "off") && !context.engine.config.hot.import_mode.load(Relaxed) {
        return Err(CommandError::Fixed("ERR Server is not in import mode"));
    }
    let on = switch(args.at(2))?;
    context.session.shared.set_flag(client_flags::IMPORT_SOURCE, on);
    context.reply.ok();
    Ok(())
}

/// Notes what the client says it can do. Unknown capabilities are ignored by definition.
pub(super) fn capa(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    if args.from(2).iter().any(|word| is_word(word, "redirect")) {
        context.session.shared.set_flag(client_flags::CAPA_REDIRECT, true);
    }
    context.reply.ok();
    Ok(())
}

pub(super) fn info(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let mut text = Vec::new();
    describe(context, &mut text, &context.session.shared, args);
    context.reply.verbatim("txt", &text);
    Ok(())
}

pub(super) fn list(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let filter = Filter::parse(context, args.from(2), Filter::for_list())?;
    let now = context.now_ms();
    let mut text = Vec::new();
    for client in context.engine.clients.snapshot() {
        if filter.accepts(&client, context.session.id(), now) {
            describe(context, &mut text, &client, args);
        }
    }
    context.reply.verbatim("txt", &text);
    Ok(())
}

/// Appends the line of a client. The one that asks holds the arguments of its own command.
fn describe(context: &Context<'_>, text: &mut Vec<u8>, client: &ClientShared, args: Args<'_>) {
    let own = (client.id == context.session.id()).then(|| args.iter().map(<[u8]>::len).sum::<usize>());
    client.args_bytes.fetch_add(own.unwrap_or(0) as u64, Relaxed);
    text.extend_from_slice(&context.engine.describe(client, context.now_ms()));
    client.args_bytes.fetch_sub(own.unwrap_or(0) as u64, Relaxed);
    text.push(b'\n');
}

pub(super) fn help(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    context.reply.help(
        &args[0],
        &[
            "CLIENT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
            "CACHING (YES|NO)",
            "    Say whether the keys of the next command are tracked.",
            "CAPA <capability> [<capability> ...]",
            "    Declare what the client can do.",
            "GETNAME",
            "    Return the name of the connection.",
            "GETREDIR",
            "    Return the id of the connection that invalidations go to.",
            "ID",
            "    Return the id of the connection.",
            "INFO",
            "    Describe the connection.",
            "KILL <ip:port>",
            "    Close the connection of that address.",
            "KILL <option> <value> [<option> <value> ...]",
            "    Close all connections that fit the options.",
            "LIST [<option> <value> ...]",
            "    Describe the connections that fit the options.",
            "NO-EVICT (ON|OFF)",
            "    Exempt the connection from client eviction.",
            "NO-TOUCH (ON|OFF)",
            "    Keep commands of the connection from marking keys as used.",
            "PAUSE <timeout> [WRITE|ALL]",
            "    Suspend write commands, or all, for so many milliseconds.",
            "REPLY (ON|OFF|SKIP)",
            "    Say which commands of the connection are answered.",
            "SETINFO (LIB-NAME|LIB-VER) <value>",
            "    Store the name or version of the client library.",
            "SETNAME <name>",
            "    Name the connection.",
            "TRACKING (ON|OFF) [<option> ...]",
            "    Control client-side caching.",
            "TRACKINGINFO",
            "    Describe the state of client-side caching.",
            "UNBLOCK <id> [TIMEOUT|ERROR]",
            "    End the waiting of a blocked client.",
            "UNPAUSE",
            "    Let paused clients go on.",
            "HELP",
            "    Print this help.",
        ],
    );
    Ok(())
}
