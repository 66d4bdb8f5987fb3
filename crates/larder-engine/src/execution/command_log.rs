//! The logs of slow commands, large requests and large replies.

use crate::clients::session::{ReplyMode, Session};
use crate::command::redaction;
use crate::command::spec::{Command, flags};
use crate::context::WorkerState;
use crate::engine::Engine;
use crate::stats::command_log::LogEntry;
use crate::stats::command_log::LogKind;
use larder_resp::{Args, encoded_bytes};
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

/// Arguments kept of a command; the rest is counted.
const ARGS_MAX: usize = 32;
/// Bytes kept of an argument; the rest is counted.
const ARG_BYTES_MAX: usize = 128;

/// Bytes that a request has for each word beside it, at most: two lengths (the first word's line comes after that of the whole), and line ends.
const WORD_FRAME_BYTES_MAX: usize = 48;

/// Logs the command if it took long, and notes an event for LATENCY.
#[inline]
pub(crate) fn consider_time(
    engine: &Engine,
    worker: &WorkerState,
    session: &Session,
    command: &Command,
    args: Args<'_>,
    took_ns: u64,
) {
    let micros = took_ns / 1000;
    let hot = &engine.config.hot;
    if exceeds(micros, &hot.slowlog_log_slower_than) && !command.has(flags::SKIP_COMMANDLOG) {
        let len_max = hot.slowlog_max_len.load(Relaxed);
        let entry = entry(worker, session, command, args, micros);
        engine.logs.add(LogKind::Slow, len_max.max(0) as usize, entry);
    }
    let threshold = hot.latency_monitor_threshold.load(Relaxed);
    if threshold > 0 && micros >= threshold as u64 * 1000 {
        let event = if command.has(flags::FAST) { "fast-command" } else { "command" };
        engine.latency.record(event, micros / 1000, worker.clock.wall_us() / 1_000_000);
    }
}

/// Logs the command if its request or its reply was large.
#[inline]
pub(crate) fn consider_sizes(
    engine: &Engine,
    worker: &WorkerState,
    session: &Session,
    command: &Command,
    args: Args<'_>,
    reply_bytes: usize,
) {
    let hot = &engine.config.hot;
    if command.has(flags::SKIP_COMMANDLOG) {
        return;
    }
    // What is not sent is not large.
    if session.reply_mode == ReplyMode::On {
        consider_reply(engine, worker, session, command, args, reply_bytes);
    }
    // Hardly any request needs to be added up.
    let threshold = &hot.commandlog_request_larger_than;
    if !exceeds((args.extent_bytes() + args.len() * WORD_FRAME_BYTES_MAX) as u64, threshold) {
        return;
    }
    let request_bytes = encoded_bytes(args.iter()) as u64;
    if exceeds(request_bytes, threshold) {
        let len_max = hot.commandlog_large_request_max_len.load(Relaxed).max(0) as usize;
        engine.logs.add(LogKind::LargeRequest, len_max, entry(worker, session, command, args, request_bytes));
    }
}

/// Logs the command if its reply was large, wherever that goes: a script's commands reply to the script.
#[inline]
pub(crate) fn consider_reply(
    engine: &Engine,
    worker: &WorkerState,
    session: &Session,
    command: &Command,
    args: Args<'_>,
    reply_bytes: usize,
) {
    let hot = &engine.config.hot;
    if exceeds(reply_bytes as u64, &hot.commandlog_reply_larger_than) && !command.has(flags::SKIP_COMMANDLOG)
    {
        let len_max = hot.commandlog_large_reply_max_len.load(Relaxed).max(0) as usize;
        let entry = entry(worker, session, command, args, reply_bytes as u64);
        engine.logs.add(LogKind::LargeReply, len_max, entry);
    }
}

/// A negative threshold turns a log off.
#[inline]
fn exceeds(value: u64, threshold: &AtomicI64) -> bool {
    u64::try_from(threshold.load(Relaxed)).is_ok_and(|threshold| value >= threshold)
}

fn entry(worker: &WorkerState, session: &Session, command: &Command, args: Args<'_>, value: u64) -> LogEntry {
    LogEntry {
        id: 0,
        time: worker.clock.wall_us() / 1_000_000,
        value,
        args: shorten(command, args),
        client: session.shared.addr.clone(),
        client_name: session.shared.names.lock().name.clone(),
    }
}

/// The arguments, cut to what is kept, with notes of what is missing.
fn shorten(command: &Command, args: Args<'_>) -> Vec<Vec<u8>> {
    let keep = if args.len() > ARGS_MAX { ARGS_MAX - 1 } else { args.len() };
    let mut kept: Vec<Vec<u8>> = redaction::visible(command, args).take(keep).map(shorten_one).collect();
    if args.len() > keep {
        kept.push(format!("... ({} more arguments)", args.len() - keep).into_bytes());
    }
    kept
}

fn shorten_one(arg: &[u8]) -> Vec<u8> {
    let mut kept = arg[..arg.len().min(ARG_BYTES_MAX)].to_vec();
    if arg.len() > ARG_BYTES_MAX {
        kept.extend_from_slice(format!("... ({} more bytes)", arg.len() - ARG_BYTES_MAX).as_bytes());
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use larder_resp::OwnedArgs;

    #[test]
    fn long_commands_are_cut() {
        let long = [b'x'; 200];
        let args: OwnedArgs = std::iter::repeat_n(&long[..], 40).collect();
        let kept = shorten(&Command::DEFAULT, args.as_args());
        assert_eq!(kept.len(), 32);
        assert!(kept[0].ends_with(b"x... (72 more bytes)"));
        assert_eq!(kept[31], b"... (9 more arguments)");
    }
}
