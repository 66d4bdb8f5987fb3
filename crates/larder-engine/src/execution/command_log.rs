//! The logs of slow commands, large requests and large replies.

use crate::clients::session::{ReplyMode, Session};
use crate::command::redaction;
use crate::command::spec::{Command, flags};
use crate::context::{Context, WorkerState};
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

/// A command that has been executed.
#[derive(Clone, Copy)]
pub(crate) struct Executed<'e> {
    pub engine: &'e Engine,
    pub worker: &'e WorkerState,
    pub session: &'e Session,
    pub command: &'e Command,
    pub args: Args<'e>,
}

impl<'e> Executed<'e> {
    /// The command that a context has just executed.
    pub(crate) fn of(context: &'e Context<'_>, args: Args<'e>) -> Self {
        let Context { engine, worker, session, found, .. } = context;
        Executed { engine, worker, session, command: found.command, args }
    }

    /// Logs the command if it took long, and notes an event for LATENCY. Inlined, like what follows: the two comparisons that suffice for
    /// nearly all cost less than what they compare costs to be put together.
    #[inline(always)]
    pub(crate) fn consider_time(self, took_ns: u64) {
        let hot = &self.engine.config.hot;
        if exceeds(took_ns / 1000, &hot.slowlog_log_slower_than)
            || hot.latency_monitor_threshold.load(Relaxed) > 0
        {
            self.look_at_time(took_ns);
        }
    }

    #[cold]
    fn look_at_time(self, took_ns: u64) {
        let micros = took_ns / 1000;
        let hot = &self.engine.config.hot;
        if self.is_over(micros, &hot.slowlog_log_slower_than) {
            self.log(LogKind::Slow, &hot.slowlog_max_len, micros);
        }
        let threshold = hot.latency_monitor_threshold.load(Relaxed);
        if threshold > 0 && micros >= threshold as u64 * 1000 {
            let event = if self.command.has(flags::FAST) { "fast-command" } else { "command" };
            self.engine.latency.record(event, micros / 1000, self.worker.clock.wall_us() / 1_000_000);
        }
    }

    /// Logs the command if its request or its reply was large. Hardly any request needs to be added up.
    #[inline(always)]
    pub(crate) fn consider_sizes(self, reply_bytes: usize) {
        let (args, hot) = (self.args, &self.engine.config.hot);
        let most = (args.extent_bytes() + args.len() * WORD_FRAME_BYTES_MAX) as u64;
        if exceeds(most, &hot.commandlog_request_larger_than)
            || exceeds(reply_bytes as u64, &hot.commandlog_reply_larger_than)
        {
            self.look_at_sizes(reply_bytes);
        }
    }

    #[cold]
    fn look_at_sizes(self, reply_bytes: usize) {
        self.consider_sent(reply_bytes);
        let hot = &self.engine.config.hot;
        let request_bytes = encoded_bytes(self.args.iter()) as u64;
        if self.is_over(request_bytes, &hot.commandlog_request_larger_than) {
            self.log(LogKind::LargeRequest, &hot.commandlog_large_request_max_len, request_bytes);
        }
    }

    /// Logs the command if its reply was large, and is sent.
    #[inline]
    pub(crate) fn consider_sent(self, reply_bytes: usize) {
        if self.session.reply_mode == ReplyMode::On {
            self.consider_reply(reply_bytes);
        }
    }

    /// Logs the command if its reply was large, wherever that goes: a script's commands reply to the script.
    #[inline]
    pub(crate) fn consider_reply(self, reply_bytes: usize) {
        let (bytes, hot) = (reply_bytes as u64, &self.engine.config.hot);
        if self.is_over(bytes, &hot.commandlog_reply_larger_than) {
            self.log(LogKind::LargeReply, &hot.commandlog_large_reply_max_len, bytes);
        }
    }

    /// Whether a command like this one is logged with this value.
    #[inline]
    fn is_over(self, value: u64, threshold: &AtomicI64) -> bool {
        exceeds(value, threshold) && !self.command.has(flags::SKIP_COMMANDLOG)
    }

    #[cold]
    fn log(self, kind: LogKind, len_max: &AtomicI64, value: u64) {
        let shared = &self.session.shared;
        let entry = LogEntry {
            id: 0,
            time: self.worker.clock.wall_us() / 1_000_000,
            value,
            args: shorten(self.command, self.args),
            client: shared.addr.clone(),
            client_name: shared.names.lock().name.clone(),
        };
        self.engine.logs.add(kind, len_max.load(Relaxed).max(0) as usize, entry);
    }
}

/// A negative threshold turns a log off: as a number without a sign it is larger than any value.
#[inline]
fn exceeds(value: u64, threshold: &AtomicI64) -> bool {
    value >= threshold.load(Relaxed).cast_unsigned()
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
