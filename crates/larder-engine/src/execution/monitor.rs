//! MONITOR: every command as a line of text to those who watch.

use crate::clients::session::{Session, client_flags};
use crate::command::redaction;
use crate::command::spec::Command;
use crate::command::spec::flags;
use crate::context::Context;
use crate::delivery::mailbox::Mail;
use crate::engine::Engine;
use crate::text::quote::quote;
use larder_resp::Args;
use std::sync::Arc;

/// Shows monitors a command that was called, unless it says that it does not want that.
#[inline]
pub(crate) fn feed(context: &Context<'_>, args: Args<'_>) {
    let hidden = flags::SKIP_MONITOR | flags::ADMIN;
    if context.engine.clients.has_monitors() && !context.found.command.has_any(hidden) {
        show(context, args);
    }
}

/// Shows monitors a command, whatever it says.
#[cold]
pub(crate) fn show(context: &Context<'_>, args: Args<'_>) {
    let origin = if context.in_script { "lua".to_owned() } else { address(context.session) };
    let args = redaction::visible(context.found.command, args);
    send(context.engine, line(context.worker.clock.wall_us(), context.session.db, &origin, args));
}

fn send(engine: &Engine, line: Vec<u8>) {
    let line: Arc<[u8]> = line.into();
    engine.clients.each_monitor(|monitor| {
        engine.mailboxes.send(monitor.worker, Mail::Output { client: monitor.id, bytes: Arc::clone(&line) });
    });
}

fn address(session: &Session) -> String {
    let shared = &session.shared;
    if shared.has(client_flags::UNIX) {
        format!("unix:{}", shared.addr.trim_end_matches(":0"))
    } else {
        shared.addr.to_string()
    }
}

fn line<'a>(now_us: u64, db: usize, addr: &str, args: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut line = format!("+{}.{:06} [{db} {addr}]", now_us / 1_000_000, now_us % 1_000_000).into_bytes();
    for arg in args {
        line.push(b' ');
        quote(&mut line, arg);
    }
    line.extend_from_slice(b"\r\n");
    line
}

/// Bytes kept of each argument where arguments may be shown.
pub(crate) const ARG_BYTES_MAX: usize = 128;

/// And this many arguments.
pub(crate) const ARGS_MAX: usize = 32;

/// The arguments of a command as a report shows them.
pub(crate) fn arguments(command: &Command, args: Args<'_>) -> Vec<u8> {
    let mut text = Vec::new();
    for (at, arg) in redaction::visible(command, args).take(ARGS_MAX).enumerate() {
        text.extend_from_slice(format!("argv[{at}]: ").as_bytes());
        quote(&mut text, &arg[..arg.len().min(ARG_BYTES_MAX)]);
        text.push(b'\n');
    }
    text
}
