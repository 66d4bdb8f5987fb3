//! Replies to clients that wait.
//!
//! A reply that shows what a command has done leaves the thread of that command only when the effects are in the log. So
//! the thread collects the replies in [`Answers`] while the command runs, and sends them after it has appended the effects.

use crate::aof::log::Ends;
use crate::delivery::mailbox::{Mail, Mailboxes};
use crate::error::{CommandError, CommandResult};
use crate::keyspace::kind::Kind;
use crate::keyspace::waiting::{BlockedOp, WaitMap, Waiter};
use crate::stats::errors::ErrorStats;
use crate::text::word::error_with;
use larder_resp::Reply;
use std::sync::Arc;

/// Replies to claimed waiters that show effects which are not in the log yet.
#[derive(Default)]
pub(crate) struct Answers(Vec<(Arc<Waiter>, Vec<u8>)>);

impl Answers {
    /// Whether there are none.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds what was written for a waiter, or the error.
    pub(crate) fn add(
        &mut self,
        errors: &ErrorStats,
        waiter: &Arc<Waiter>,
        bytes: Vec<u8>,
        result: CommandResult,
    ) {
        self.0.push((Arc::clone(waiter), reply_of(errors, waiter, bytes, result)));
    }

    /// Adds the reply of a claimed waiter whose connection is about to be closed: no bytes. The worker of a claimed waiter
    /// keeps the connection until the reply arrives.
    pub(crate) fn add_empty(&mut self, waiter: &Arc<Waiter>) {
        self.0.push((Arc::clone(waiter), Vec::new()));
    }

    /// Sends all replies. The effects that they show end at `ends`.
    pub(crate) fn send(&mut self, mailboxes: &Mailboxes, ends: Ends) {
        for (waiter, reply) in self.0.drain(..) {
            deliver(mailboxes, &waiter, reply, ends);
        }
    }
}

/// The group that is to be read does not exist, or not any more.
pub(crate) fn no_group_to_read(key: &[u8], group: &[u8]) -> CommandError {
    let tail = "' in XREADGROUP with GROUP option";
    error_with(&["NOGROUP No such key '", "' or consumer group '", tail], &[key, group])
}

/// Claims the consumers that wait for a stream in vain, and calls `refuse` with each and the reason: `error`, or else that
/// the key or its group is gone.
pub(crate) fn each_refused_reader(
    waiting: &WaitMap,
    (db, key): (usize, &[u8]),
    error: Option<&CommandError>,
    mut refuse: impl FnMut(&Arc<Waiter>, CommandError),
) {
    for waiter in waiting.all(db, key, Kind::Stream) {
        if let BlockedOp::ReadGroup(read) = &waiter.op
            && waiter.take()
        {
            refuse(&waiter, error.cloned().unwrap_or_else(|| no_group_to_read(key, &read.group)));
        }
    }
}

/// The reply to a waiter: what was written for it, or the error.
pub(crate) fn reply_of(
    errors: &ErrorStats,
    waiter: &Waiter,
    mut bytes: Vec<u8>,
    result: CommandResult,
) -> Vec<u8> {
    if let Err(error) = result {
        bytes.clear();
        errors.count(&error);
        Reply::new(&mut bytes, waiter.protocol).error(&error.wire());
    }
    bytes
}

/// Sends a claimed waiter its reply. The effects that it shows end at `ends`.
pub(crate) fn deliver(mailboxes: &Mailboxes, waiter: &Waiter, reply: Vec<u8>, ends: Ends) {
    mailboxes.send(waiter.worker, Mail::Unblocked { client: waiter.client, reply, ends });
}
