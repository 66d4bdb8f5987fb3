//! FUNCTION: libraries of functions.
//!
//! Changes hold all shards, as does the beginning of a snapshot: files and the log agree on which came first.

use super::cached::kill_running;
use super::check_flush_mode;
use crate::commands::generic::dump::{compresses, target_version};
use crate::context::Context;
use crate::engine::Engine;
use crate::error::{CommandError, CommandResult};
use crate::scripting::{self, load_library};
use crate::scripts::library::{Clash, Libraries, Library};
use crate::text::word::is_word;
use crate::text::{glob, number};
use larder_rdb::dump::{self, NoLibrary};
use larder_resp::Args;
use std::sync::Arc;

pub(super) fn load(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let mut replace = false;
    for word in args.iter().take(args.len() - 1).skip(2) {
        if !is_word(word, "replace") {
            return Err(CommandError::Text(
                [b"ERR Unknown option given: ", number::last_word(word)].concat(),
            ));
        }
        replace = true;
    }
    let engine = context.engine;
    if !replace && let Some(twin) = scripting::find_library(engine, &args[args.len() - 1])? {
        return Err(clashes(&twin, &Clash::Library));
    }
    let library = load_library(engine, &args[args.len() - 1], !context.session.replays)?;
    engine.scripts.add_library(Arc::clone(&library), replace).map_err(|clash| clashes(&library, &clash))?;
    changed(context);
    context.reply.bulk(&library.name);
    Ok(())
}

fn clashes(library: &Library, clash: &Clash) -> CommandError {
    let text = match clash {
        Clash::Library => format!("ERR Library '{}' already exists", String::from_utf8_lossy(&library.name)),
        Clash::Function(name) => format!("ERR Function {} already exists", String::from_utf8_lossy(name)),
    };
    CommandError::text(text)
}

fn changed(context: &mut Context<'_>) {
    context.worker.stats.dirty.add(1);
}

pub(super) fn delete(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    const NONE: CommandError = CommandError::Fixed("ERR Library not found");
    context.engine.scripts.change_libraries(|all| if all.remove(&args[2]) { Ok(()) } else { Err(NONE) })?;
    changed(context);
    context.reply.ok();
    Ok(())
}

pub(super) fn flush(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    if args.len() > 3 {
        return Err(too_many(args));
    }
    check_flush_mode(args, CommandError::Fixed("ERR FUNCTION FLUSH only supports SYNC|ASYNC option"))?;
    forget_all(context.engine);
    changed(context);
    context.reply.ok();
    Ok(())
}

fn too_many(args: Args<'_>) -> CommandError {
    let name = String::from_utf8_lossy(&args[1]);
    CommandError::text(format!(
        "ERR unknown subcommand or wrong number of arguments for '{name}'. Try FUNCTION HELP."
    ))
}

/// Deletes all libraries.
pub(crate) fn forget_all(engine: &Engine) {
    let forgotten: Result<(), std::convert::Infallible> = engine.scripts.change_libraries(|all| {
        *all = Libraries::default();
        Ok(())
    });
    forgotten.unwrap_or_else(|never| match never {});
}

pub(super) fn list(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let (mut pattern, mut with_code) = (None, false);
    let mut at = 2;
    while let Some(word) = args.get(at) {
        if !with_code && is_word(word, "withcode") {
            with_code = true;
        } else if pattern.is_none() && is_word(word, "libraryname") {
            at += 1;
            pattern =
                Some(args.get(at).ok_or(CommandError::Fixed("ERR library name argument was not given"))?);
        } else {
            let word = String::from_utf8_lossy(number::c_string(word));
            return Err(CommandError::text(format!("ERR Unknown argument {word}")));
        }
        at += 1;
    }
    let libraries = context.engine.scripts.libraries();
    let fits = |library: &&Arc<Library>| {
        pattern.is_none_or(|pattern| glob::matches_with(pattern, &library.name, true))
    };
    let listed: Vec<_> = libraries.iter().filter(fits).collect();
    context.reply.array(listed.len());
    listed.iter().for_each(|library| describe(context, library, with_code));
    Ok(())
}

fn describe(context: &mut Context<'_>, library: &Library, with_code: bool) {
    let reply = &mut context.reply;
    reply.map(if with_code { 4 } else { 3 });
    reply.bulk(b"library_name");
    reply.bulk(&library.name);
    reply.bulk(b"engine");
    reply.bulk(b"LUA");
    reply.bulk(b"functions");
    reply.array(library.functions.len());
    for function in &library.functions {
        reply.map(3);
        reply.bulk(b"name");
        reply.bulk(&function.name);
        reply.bulk(b"description");
        reply.bulk_or_null(function.description.as_deref());
        reply.bulk(b"flags");
        let names: Vec<_> = function.flags.names().collect();
        reply.set(names.len());
        names.iter().for_each(|name| reply.status(name.as_bytes()));
    }
    if with_code {
        reply.bulk(b"library_code");
        reply.bulk(&library.text);
    }
}

pub(super) fn stats(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    let scripts = &context.engine.scripts;
    let (running, libraries) = (scripts.running.get(), scripts.libraries());
    // That it answers beside a function is what allows it while the server is busy.
    if context.engine.gate.is_busy() && running.as_ref().is_none_or(|script| !script.is_function) {
        return Err(context.engine.busy_error());
    }
    let reply = &mut context.reply;
    reply.map(2);
    reply.bulk(b"running_script");
    match running {
        None => reply.null(),
        Some(script) => {
            reply.map(3);
            reply.bulk(b"name");
            reply.bulk(&script.name);
            reply.bulk(b"command");
            reply.array(script.command.len());
            script.command.iter().for_each(|arg| reply.bulk(arg));
            reply.bulk(b"duration_ms");
            reply.int(script.started.elapsed().as_millis() as i64);
        }
    }
    reply.bulk(b"engines");
    reply.map(1);
    reply.bulk(b"LUA");
    reply.map(2);
    reply.bulk(b"libraries_count");
    reply.count(libraries.iter().len());
    reply.bulk(b"functions_count");
    reply.count(libraries.function_count());
    Ok(())
}

pub(super) fn kill(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    kill_running(context, true)
}

pub(super) fn dump(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    let engine = context.engine;
    let libraries = engine.scripts.libraries();
    let compress = compresses(engine);
    let texts = libraries.iter().map(|library| &*library.text);
    context.reply.bulk(&dump::of_functions(texts, target_version(engine), compress));
    Ok(())
}

pub(super) fn restore(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    const POLICY: CommandError = CommandError::Fixed(
        "ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE.",
    );
    if args.len() > 4 {
        return Err(too_many(args));
    }
    let (flush, replace) = match args.get(3) {
        None => (false, false),
        Some(word) if is_word(word, "flush") => (true, false),
        Some(word) if is_word(word, "append") => (false, false),
        Some(word) if is_word(word, "replace") => (false, true),
        Some(_) => return Err(POLICY),
    };
    let engine = context.engine;
    if !dump::verify_functions(&args[2]) {
        return Err(CommandError::BAD_PAYLOAD);
    }
    let mut brought = Libraries::default();
    for text in dump::libraries(&args[2]) {
        let library = load_library(engine, &text.map_err(unreadable)?, !context.session.replays)?;
        brought.add(Arc::clone(&library), false).map_err(|clash| clashes(&library, &clash))?;
    }
    engine.scripts.change_libraries(|all| {
        if flush {
            *all = Libraries::default();
        }
        all.join(&brought, replace).map_err(|(library, clash)| match clash {
            // Valkey says the same without quotes here.
            Clash::Library => {
                let name = String::from_utf8_lossy(&library.name);
                CommandError::text(format!("ERR Library {name} already exists"))
            }
            Clash::Function(_) => clashes(&library, &clash),
        })
    })?;
    changed(context);
    context.reply.ok();
    Ok(())
}

fn unreadable(why: NoLibrary) -> CommandError {
    CommandError::Fixed(match why {
        NoLibrary::Damaged => "ERR Failed loading library payload",
        NoLibrary::Other => "ERR given type is not a function",
        NoLibrary::Unreleased => "ERR Pre-GA function format not supported",
    })
}

/// Adds a library that a file holds.
pub(crate) fn restore_one(engine: &Engine, text: &[u8], replace: bool) -> Result<(), String> {
    let said = |error: &CommandError| String::from_utf8_lossy(&error.wire()).into_owned();
    let library = load_library(engine, text, false).map_err(|error| said(&error))?;
    let added = engine.scripts.add_library(Arc::clone(&library), replace);
    added.map_err(|clash| said(&clashes(&library, &clash)))
}

pub(super) fn help(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    context.reply.help(&args[0], &[
        "FUNCTION <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        "LOAD [REPLACE] <FUNCTION CODE>",
        "    Create a library from its code, whose first line names it.",
        "DELETE <LIBRARY NAME>",
        "    Delete a library.",
        "LIST [LIBRARYNAME PATTERN] [WITHCODE]",
        "    Return all libraries, or those whose names match, with their functions and, if asked for, their code.",
        "STATS",
        "    Return the function that has been running for long, if there is one, and how many functions there are.",
        "KILL",
        "    End the function that has been running for too long, if it has not written.",
        "FLUSH [ASYNC|SYNC]",
        "    Delete all libraries, at once in both modes.",
        "DUMP",
        "    Return all libraries in a form that FUNCTION RESTORE takes.",
        "RESTORE <PAYLOAD> [FLUSH|APPEND|REPLACE]",
        "    Create the libraries of a payload: after deleting all, or beside those that there are (the default), or in the",
        "    place of those of the same name.",
        "HELP",
        "    Print this help.",
    ]);
    Ok(())
}
