//! SLOWLOG and COMMANDLOG.

use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::stats::command_log::{LogEntry, LogKind};
use crate::text::number;
use crate::text::word::is_word;
use larder_resp::{Args, Reply};

const COUNT_RANGE: CommandError = CommandError::Fixed("ERR count should be greater than or equal to -1");
const UNKNOWN_TYPE: CommandError =
    CommandError::Fixed("ERR type should be one of the following: slow, large-request, large-reply");

pub(super) fn get(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let count = match args.len() {
        2 => 10,
        3 => parse_count(&args[2])?,
        _ => {
            return Err(CommandError::Fixed(
                "ERR unknown subcommand or wrong number of arguments for 'GET'. Try SLOWLOG HELP.",
            ));
        }
    };
    write_entries(context, LogKind::Slow, count);
    Ok(())
}

/// How many entries; -1 means all.
fn parse_count(arg: &[u8]) -> CommandResult<usize> {
    match number::parse_i64(arg).ok_or(COUNT_RANGE)? {
        -1 => Ok(usize::MAX),
        count => usize::try_from(count).map_err(|_| COUNT_RANGE),
    }
}

fn write_entries(context: &mut Context<'_>, kind: LogKind, count: usize) {
    let entries = context.engine.logs.newest(kind, count);
    context.reply.array(entries.len());
    entries.iter().for_each(|entry| write_entry(&mut context.reply, entry));
}

fn write_entry(reply: &mut Reply<'_>, entry: &LogEntry) {
    reply.array(6);
    for number in [entry.id, entry.time, entry.value] {
        reply.int(number as i64);
    }
    reply.array(entry.args.len());
    entry.args.iter().for_each(|arg| reply.bulk(arg));
    reply.bulk(entry.client.as_bytes());
    reply.bulk(&entry.client_name);
}

pub(super) fn len(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    context.reply.count(context.engine.logs.len(LogKind::Slow));
    Ok(())
}

pub(super) fn reset(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    context.engine.logs.reset(LogKind::Slow);
    context.reply.ok();
    Ok(())
}

fn log_kind(arg: &[u8]) -> CommandResult<LogKind> {
    let kinds = [
        ("slow", LogKind::Slow),
        ("large-request", LogKind::LargeRequest),
        ("large-reply", LogKind::LargeReply),
    ];
    kinds.iter().find(|(name, _)| is_word(arg, name)).map(|(_, kind)| *kind).ok_or(UNKNOWN_TYPE)
}

pub(super) fn commandlog_get(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let count = parse_count(&args[2])?;
    write_entries(context, log_kind(&args[3])?, count);
    Ok(())
}

pub(super) fn commandlog_len(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let kind = log_kind(&args[2])?;
    context.reply.count(context.engine.logs.len(kind));
    Ok(())
}

pub(super) fn commandlog_reset(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    context.engine.logs.reset(log_kind(&args[2])?);
    context.reply.ok();
    Ok(())
}

pub(super) fn help(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    context.reply.help(
        &args[0],
        &[
            "SLOWLOG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
            "GET [<count>]",
            "    Return top <count> entries from the slowlog (default: 10, -1 mean all).",
            "    Entries are made of:",
            "    id, timestamp, time in microseconds, arguments array, client IP and port,",
            "    client name",
            "LEN",
            "    Return the length of the slowlog.",
            "RESET",
            "    Reset the slowlog.",
            "HELP",
            "    Print this help.",
        ],
    );
    Ok(())
}

pub(super) fn commandlog_help(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    context.reply.help(
        &args[0],
        &[
            "COMMANDLOG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
            "GET <count> <type>",
            "    Return the newest <count> entries of the log of that type, -1 for all:",
            "    slow, large-request or large-reply.",
            "LEN <type>",
            "    Return the number of entries.",
            "RESET <type>",
            "    Empty the log.",
            "HELP",
            "    Print this help.",
        ],
    );
    Ok(())
}
