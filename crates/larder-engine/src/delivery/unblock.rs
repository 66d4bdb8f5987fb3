//! Replies to clients that wait.

use crate::delivery::mailbox::{Mail, Mailboxes};
use crate::error::{CommandError, CommandResult};
use crate::keyspace::kind::Kind;
use crate::keyspace::waiting::{BlockedOp, WaitMap, Waiter};
use crate::stats::errors::ErrorStats;
use crate::text::word::error_with;
use larder_resp::Reply;

/// The group that is to be read does not exist, or not any more.
pub(crate) fn no_group_to_read(key: &[u8], group: &[u8]) -> CommandError {
    let tail = "' in XREADGROUP with GROUP option";
    error_with(&["NOGROUP No such key '", "' or consumer group '", tail], &[key, group])
}

/// Tells the consumers that wait for a stream which is no more.
pub(crate) fn stream_is_gone(
    errors: &ErrorStats,
    mailboxes: &Mailboxes,
    waiting: &WaitMap,
    db: usize,
    key: &[u8],
) {
    refuse_group_readers(errors, mailboxes, waiting, db, key, None);
}

/// Tells the consumers that wait for a stream why they wait in vain: `error`, or else that the key or its
/// group is gone.
pub(crate) fn refuse_group_readers(
    errors: &ErrorStats,
    mailboxes: &Mailboxes,
    waiting: &WaitMap,
    db: usize,
    key: &[u8],
    error: Option<&CommandError>,
) {
    for waiter in waiting.all(db, key, Kind::Stream) {
        if let BlockedOp::ReadGroup(read) = &waiter.op
            && waiter.take()
        {
            let gone = || no_group_to_read(key, &read.group);
            answer(errors, mailboxes, &waiter, Vec::new(), Err(error.cloned().unwrap_or_else(gone)));
        }
    }
}

/// Sends a waiter, who is claimed, what was written for it, or the error.
pub(crate) fn answer(
    errors: &ErrorStats,
    mailboxes: &Mailboxes,
    waiter: &Waiter,
    mut bytes: Vec<u8>,
    result: CommandResult,
) {
    if let Err(error) = result {
        bytes.clear();
        errors.count(&error);
        Reply::new(&mut bytes, waiter.protocol).error(&error.wire());
    }
    mailboxes.send(waiter.worker, Mail::Unblocked { client: waiter.client, reply: bytes });
}
