//! MONITOR: every command as a line of text to those who watch.

use crate::context::WorkerState;
use crate::engine::Engine;
use crate::mailbox::Mail;
use crate::session::{Session, client_flags};
use larder_resp::Args;
use std::sync::Arc;

/// Sends a command to all monitors but the one that sent it.
pub(crate) fn feed(engine: &Engine, worker: &WorkerState, session: &Session, args: Args<'_>) {
    let line: Arc<[u8]> = line(worker.clock.wall_us(), session, args).into();
    engine.clients.each_monitor(|monitor| {
        engine.send(monitor.worker, Mail::Output { client: monitor.id, bytes: Arc::clone(&line) });
    });
}

fn line(now_us: u64, session: &Session, args: Args<'_>) -> Vec<u8> {
    let shared = &session.shared;
    let addr = if shared.has(client_flags::UNIX) {
        format!("unix:{}", shared.addr.trim_end_matches(":0"))
    } else {
        shared.addr.to_string()
    };
    let mut line =
        format!("+{}.{:06} [{} {addr}]", now_us / 1_000_000, now_us % 1_000_000, session.db).into_bytes();
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
