//! MONITOR: every command as a line of text to those who watch.

use crate::command::flags;
use crate::context::Context;
use crate::engine::Engine;
use crate::mailbox::Mail;
use crate::redaction;
use crate::session::{Session, client_flags};
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
        engine.send(monitor.worker, Mail::Output { client: monitor.id, bytes: Arc::clone(&line) });
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

/// Appends bytes as a quoted string with C's escapes.
pub(crate) fn quote(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    for &byte in bytes {
        match byte {
            b'\\' | b'"' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            7 => out.extend_from_slice(b"\\a"),
            8 => out.extend_from_slice(b"\\b"),
            b' '..=b'~' => out.push(byte),
            _ => out.extend_from_slice(format!("\\x{byte:02x}").as_bytes()),
        }
    }
    out.push(b'"');
}
