//! Scripts that take their time, and what the event loop does meanwhile.
//!
//! A script runs on its worker's thread to its end. When it has taken longer than others are made to wait without a
//! word, the engine calls back between two of its instructions, and the loop makes a round for the other clients, with a
//! spare worker in the place of the one that is busy. In such a round nobody waits for a shard, since the script may hold it:
//! the engine refuses or puts off what would.
//!
//! The connection that runs the script is out of its slot: events for it get lost, so it is taken to be readable
//! afterwards.

use super::{EVENTS_MAX, EventLoop, READ_BYTES};
use crate::connection::Connection;
use larder_engine::Flow;
use larder_resp::Args;
use mio::Events;
use std::time::Duration;

impl EventLoop {
    /// Executes a command that may run scripts.
    pub(super) fn run_script(&mut self, connection: &mut Connection, args: Args<'_>) -> Flow {
        if self.in_round {
            return Flow::Retry;
        }
        let spare = self.spare.take().unwrap_or_else(|| Box::new(self.worker.spare()));
        let mut worker = std::mem::replace(&mut self.worker, spare);
        let out = &mut connection.output.tail;
        let flow = worker.execute_script(&mut connection.session, args, out, &mut || self.make_round());
        self.spare = Some(std::mem::replace(&mut self.worker, worker));
        if std::mem::take(&mut self.in_round) {
            connection.flags.readable = true;
            connection.flags.writable = true;
        }
        flow
    }

    /// Looks after the other connections once, without waiting for anything.
    fn make_round(&mut self) {
        if !std::mem::replace(&mut self.in_round, true) {
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
}
