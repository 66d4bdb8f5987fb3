//! Clients without sockets that listen: to channels, or to all commands.

use super::{LocalWorker, Ran};
use crate::clients::session::Session;
use crate::context::flow::Flow;
use crate::delivery::mailbox::Wake;
use crate::engine::Engine;
use crate::execution::lookup;
use crate::worker::Worker;
use larder_resp::{Args, Protocol, Reply};
use std::sync::Arc;

/// Commands that make a client listen.
const LISTENING: &[&str] = &["monitor", "psubscribe", "ssubscribe", "subscribe"];

impl Engine {
    /// Makes a worker as [`Engine::local_worker`] does, whose clients may miss messages: when `bytes_max` of them wait to be taken, others are
    /// dropped and counted.
    pub fn local_worker_that_may_miss(self: &Arc<Self>, wake: Wake, bytes_max: usize) -> LocalWorker {
        self.local_worker_of(self.mailboxes.add_limited(wake, bytes_max))
    }
}

impl LocalWorker {
    /// Has a client listen by MONITOR, SUBSCRIBE, PSUBSCRIBE or SSUBSCRIBE, with the rights of its user. What it hears is in the mail.
    pub fn listen(&mut self, session: &mut Session, args: Args<'_>, out: &mut Vec<u8>) -> Ran {
        let Worker { engine, state } = &mut self.worker;
        let found = lookup::find_command(engine, state, args);
        if !found.is_some_and(|found| LISTENING.contains(&found.command.name)) {
            Reply::new(out, Protocol::Resp3).error(b"ERR the command does not listen");
            return Ran::Answered;
        }
        match self.execute(session, args, out) {
            Flow::Next | Flow::Deliver => Ran::Answered,
            _ => Ran::Closed,
        }
    }

    /// The number of messages that clients of this worker have missed.
    pub fn missed(&self) -> u64 {
        self.worker.state.mailbox.missed()
    }
}
