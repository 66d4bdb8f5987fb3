//! Scripts that take long yield to the event loop.
//!
//! A script runs on its worker's thread to its end. When it has taken longer than others are made to wait without a
//! word, the engine calls back between two of its instructions, and the loop makes a round for the other clients, with a
//! spare worker in the place of the one that is busy. In such a round nobody waits for a shard, since the script may hold it:
//! the engine refuses or puts off what would.
//!
//! The connection that runs the script is out of its slot: events for it get lost, so it is taken to be readable
//! afterwards. A script that is debugged has the socket of its client meanwhile.

use super::debugging::DebuggingClient;
use super::{EVENTS_MAX, EventLoop, READ_BYTES};
use crate::connection::Connection;
use larder_engine::{Beside, ClientClass, Flow, Received};
use larder_resp::Args;
use mio::Events;
use std::time::Duration;

/// The loop, as a script sees it.
struct Yielding<'a> {
    event_loop: &'a mut EventLoop,
    /// Whose script it is, and its class.
    owner: (u64, ClientClass),
    client: Option<DebuggingClient<'a>>,
}

impl EventLoop {
    /// Executes a command that may run scripts, which [`Flow::Script`] or [`Flow::Debug`] was the answer for. `rest` is what
    /// the client has sent after it.
    pub(super) fn run_script(
        &mut self,
        connection: &mut Connection,
        args: Args<'_>,
        rest: &[u8],
        answer: Flow,
    ) -> Flow {
        if self.in_round {
            return Flow::Retry;
        }
        let debugs = connection.session.debugs();
        // What a script that is debugged sends does not go through the output.
        if debugs && !connection.output.is_empty() {
            return Flow::Retry;
        }
        if answer == Flow::Debug {
            return self.debug_on_copy(connection, args, rest);
        }
        let spare = self.spare.take().unwrap_or_else(|| Box::new(self.worker.spare()));
        let mut worker = std::mem::replace(&mut self.worker, spare);
        let owner = (connection.session.id(), connection.session.class());
        let client = debugs.then(|| DebuggingClient::new(&mut connection.stream, rest));
        let mut yielding = Yielding { event_loop: self, owner, client };
        let flow =
            worker.execute_script(&mut connection.session, args, &mut connection.output.tail, &mut yielding);
        if let Some(client) = &mut yielding.client {
            client.finish();
        }
        self.spare = Some(std::mem::replace(&mut self.worker, worker));
        let had_rounds = std::mem::take(&mut self.in_round);
        let flags = &mut connection.flags;
        if had_rounds || debugs {
            (flags.readable, flags.writable) = (true, true);
        }
        if had_rounds {
            // What it was listed for has passed it by.
            (flags.dirty, flags.held) = (false, false);
            self.absent.come_back(owner.0);
        }
        flow
    }

    /// Looks after the other connections once. Waits for an event, but not for anything else.
    fn serve_others(&mut self, patience: Duration) {
        if !std::mem::replace(&mut self.in_round, true) {
            // Those whose turn would have been next.
            self.list.extend(self.serving.drain(..).rev());
            // The connection that runs the script still needs the bytes in the old one.
            self.scratch.resize(READ_BYTES, 0);
            self.hold_unsent();
        }
        let is_idle = self.list.is_empty() && self.dirty.is_empty();
        let patience = if is_idle { patience } else { Duration::ZERO };
        let mut events = Events::with_capacity(EVENTS_MAX);
        if self.poll.poll(&mut events, Some(patience)).is_ok() {
            self.iteration(&events);
        }
    }
}

impl Beside for Yielding<'_> {
    fn round(&mut self, patience: Duration) {
        if !self.event_loop.in_round {
            // Before the first round there is no mail.
            let (client, class) = self.owner;
            self.event_loop.absent.leave(client, class);
        }
        self.event_loop.serve_others(patience);
    }

    fn send(&mut self, bytes: &[u8]) {
        if let Some(client) = &mut self.client {
            client.send(bytes);
        }
    }

    fn receive(&mut self, into: &mut Vec<u8>, patience: Duration) -> Received {
        self.client.as_mut().map_or(Received::Gone, |client| client.receive(into, patience))
    }
}
