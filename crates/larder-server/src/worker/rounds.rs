//! Scripts that take their time, and what the event loop does meanwhile.
//!
//! A script runs on its worker's thread to its end. When it has taken longer than others are made to wait without a
//! word, the engine calls back between two of its instructions, and the loop makes a round for the other clients, with a
//! spare worker in the place of the one that is busy. In such a round nobody may wait for a shard: the script may hold it.
//! The engine refuses or puts off what would; what this loop itself would do is put off here, until the script has ended.
//!
//! The connection that runs the script is out of its slot: events for it get lost, so it is taken to be readable
//! afterwards.

use super::{EVENTS_MAX, EventLoop, READ_BYTES};
use crate::connection::Connection;
use larder_engine::{Flow, Mail, Session};
use larder_resp::Args;
use mio::Events;
use std::time::Duration;

/// What waits for the end of a script.
#[derive(Default)]
pub(super) struct PutOff {
    /// Connections that were closed; `None` while there is no script that takes its time.
    pub(super) sessions: Option<Vec<Session>>,
    /// Messages that cannot be followed before.
    pub(super) mail: Vec<Mail>,
}

impl EventLoop {
    /// Whether this is a round that a script allows others.
    pub(super) fn in_round(&self) -> bool {
        self.put_off.sessions.is_some()
    }

    /// Executes a command that may run scripts.
    pub(super) fn run_script(&mut self, connection: &mut Connection, args: Args<'_>) -> Flow {
        if self.in_round() {
            return Flow::Retry;
        }
        let spare = self.spare.take().unwrap_or_else(|| Box::new(self.worker.spare()));
        let mut worker = std::mem::replace(&mut self.worker, spare);
        let out = &mut connection.output.tail;
        let flow = worker.execute_script(&mut connection.session, args, out, &mut || self.make_round());
        self.spare = Some(std::mem::replace(&mut self.worker, worker));
        if self.in_round() {
            connection.flags.readable = true;
            connection.flags.writable = true;
            self.catch_up();
        }
        flow
    }

    /// Looks after the other connections once, without waiting for anything.
    fn make_round(&mut self) {
        if !self.in_round() {
            self.put_off.sessions = Some(Vec::new());
            // Those whose turn would have been next.
            self.list.extend(self.serving.drain(..).rev());
            // The connection that runs the script still needs the bytes in the old one.
            self.scratch.resize(READ_BYTES, 0);
        }
        let mut events = Events::with_capacity(EVENTS_MAX);
        if self.poll.poll(&mut events, Some(Duration::ZERO)).is_ok() {
            self.iteration(&events);
        }
    }

    /// Does what was put off.
    fn catch_up(&mut self) {
        for session in self.put_off.sessions.take().unwrap_or_default() {
            self.worker.disconnect(session);
        }
        self.mail.append(&mut self.put_off.mail);
    }
}
