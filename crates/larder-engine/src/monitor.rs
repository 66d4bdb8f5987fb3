//! MONITOR: every command as a line of text to those who watch.

use crate::context::WorkerState;
use crate::engine::Engine;
use crate::mailbox::Mail;
use crate::session::{Session, client_flags};
use larder_resp::Args;
use std::sync::Arc;

/// Sends a command to all monitors but the one that sent it.
pub(crate) fn feed(engine: &Engine, worker: &WorkerState, session: &Session, args: Args<'_>) {
    send(engine, line(worker.clock.wall_us(), session.db, &address(session), args));
}

/// Sends a command that a script calls to all monitors.
#[cold]
pub(crate) fn feed_script(engine: &Engine, worker: &WorkerState, session: &Session, args: Args<'_>) {
    send(engine, line(worker.clock.wall_us(), session.db, "lua", args));
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

fn line(now_us: u64, db: usize, addr: &str, args: Args<'_>) -> Vec<u8> {
    let mut line = format!("+{}.{:06} [{db} {addr}]", now_us / 1_000_000, now_us % 1_000_000).into_bytes();
    for arg in args.iter() {
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
