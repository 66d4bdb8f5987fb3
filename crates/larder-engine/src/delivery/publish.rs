//! Published messages on their way to the workers that own subscribers.

use crate::delivery::mailbox::{Mail, Mailboxes};
use crate::pubsub::{Delivery, PubSub};

/// Sends a message to the subscribers of a channel and of the patterns that match it; returns their number, those
/// of two kinds counted twice. `from` is the worker that calls, if one does: its own mail needs no wake-up.
pub(crate) fn publish(
    pubsub: &PubSub,
    mailboxes: &Mailboxes,
    from: Option<usize>,
    channel: &[u8],
    payload: &[u8],
) -> usize {
    pubsub.publish(channel, payload, |delivery| send(mailboxes, from, delivery))
}

/// Sends a message to the subscribers of a shard channel.
pub(crate) fn publish_to_shard(
    pubsub: &PubSub,
    mailboxes: &Mailboxes,
    from: Option<usize>,
    channel: &[u8],
    payload: &[u8],
) -> usize {
    pubsub.publish_to_shard(channel, payload, |delivery| send(mailboxes, from, delivery))
}

fn send(mailboxes: &Mailboxes, from: Option<usize>, delivery: Delivery) {
    let Delivery { worker, clients, message } = delivery;
    mailboxes.send_from(from, worker, Mail::Message { clients, message });
}
