//! EVAL, EVALSHA, FCALL and their read-only forms.

use crate::context::Context;
use crate::engine::Engine;
use crate::error::{CommandError, CommandResult};
use crate::scripting::{self, Invocation, Program};
use crate::scripts::cache::{Script, digest, sha_of};
use crate::scripts::header;
use crate::text::number;
use larder_resp::Args;
use std::sync::Arc;

pub(super) fn eval(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    run_text(context, args, false)
}

pub(super) fn eval_ro(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    run_text(context, args, true)
}

pub(super) fn evalsha(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    run_known(context, args, false)
}

pub(super) fn evalsha_ro(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    run_known(context, args, true)
}

pub(super) fn fcall(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    run_function(context, args, false)
}

pub(super) fn fcall_ro(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    run_function(context, args, true)
}

fn run_text(context: &mut Context<'_>, args: Args<'_>, read_only: bool) -> CommandResult {
    match (context.session.debugs(), context.in_exec) {
        (false, _) => run_now(context, args, read_only),
        (true, true) => Err(CommandError::Fixed("ERR Scripts cannot be debugged in a transaction")),
        (true, false) => scripting::debug_session(context, args, |context| run_now(context, args, read_only)),
    }
}

fn run_now(context: &mut Context<'_>, args: Args<'_>, read_only: bool) -> CommandResult {
    let key_count = key_count(args)?;
    let script = match context.engine.scripts.find(&sha_of(&args[1])) {
        Some(script) => script,
        None => keep(context.engine, &args[1], false)?,
    };
    scripting::run(context, &Invocation { program: Program::Script(script), args, key_count, read_only })
}

/// Compiles a script, and keeps it for EVALSHA.
pub(super) fn keep(engine: &Engine, text: &[u8], stays: bool) -> CommandResult<Arc<Script>> {
    let (flags, code_at) = header::of_script(text)?;
    let script = Script::new(text, code_at, flags);
    scripting::compile(engine, &script)?;
    Ok(engine.scripts.add(script, stays))
}

fn run_known(context: &mut Context<'_>, args: Args<'_>, read_only: bool) -> CommandResult {
    const UNKNOWN: CommandError = CommandError::Fixed("NOSCRIPT No matching script.");
    let sha = digest(&args[1]).ok_or(UNKNOWN)?;
    let key_count = key_count(args)?;
    let script = context.engine.scripts.find(&sha).ok_or(UNKNOWN)?;
    if context.session.debugs() {
        return Err(CommandError::Fixed("ERR Please use EVAL instead of EVALSHA for debugging"));
    }
    scripting::run(context, &Invocation { program: Program::Script(script), args, key_count, read_only })
}

fn run_function(context: &mut Context<'_>, args: Args<'_>, read_only: bool) -> CommandResult {
    let libraries = context.engine.scripts.libraries();
    let (library, at) = libraries.function(&args[1]).ok_or(CommandError::Fixed("ERR Function not found"))?;
    let count = number::parse_i64(&args[2]).ok_or(CommandError::Fixed("ERR Bad number of keys provided"))?;
    let key_count = in_bounds(args, count)?;
    let program = Program::Function(Arc::clone(library), *at);
    scripting::run(context, &Invocation { program, args, key_count, read_only })
}

fn key_count(args: Args<'_>) -> CommandResult<usize> {
    in_bounds(args, number::integer(&args[2])?)
}

fn in_bounds(args: Args<'_>, count: i64) -> CommandResult<usize> {
    match usize::try_from(count) {
        Err(_) => Err(CommandError::Fixed("ERR Number of keys can't be negative")),
        Ok(count) if count > args.len() - 3 => {
            Err(CommandError::Fixed("ERR Number of keys can't be greater than number of args"))
        }
        Ok(count) => Ok(count),
    }
}
