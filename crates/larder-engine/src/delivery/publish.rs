//! Published messages on their way to the workers that own subscribers.

use crate::delivery::mailbox::{Mail, Mailboxes};
use crate::pubsub::{Delivery, PubSub};
use std::cell::Cell;

/// A thread that sends messages.
#[derive(Clone, Copy)]
pub(crate) struct Speaker<'s> {
    /// The worker: its own mail needs no wake-up.
    worker: usize,
    /// The client whose command sends them, and where it is noted that the client is among the subscribers.
    client: Option<(u64, &'s Cell<bool>)>,
}

impl<'s> Speaker<'s> {
    /// A worker that executes a command of a client. `heard` becomes true if the client is among the subscribers.
    pub(crate) fn of_client(worker: usize, client: u64, heard: &'s Cell<bool>) -> Self {
        Speaker { worker, client: Some((client, heard)) }
    }

    /// A worker for itself.
    pub(crate) fn of_worker(worker: usize) -> Self {
        Speaker { worker, client: None }
    }
}

/// Sends a message to the subscribers of a channel and of the patterns that match it; returns their number, those
/// of two kinds counted twice.
pub(crate) fn publish(
    pubsub: &PubSub,
    mailboxes: &Mailboxes,
    speaker: Option<Speaker<'_>>,
    channel: &[u8],
    payload: &[u8],
) -> usize {
    pubsub.publish(channel, payload, |delivery| send(mailboxes, speaker, delivery))
}

/// Sends a message to the subscribers of a shard channel.
pub(crate) fn publish_to_shard(
    pubsub: &PubSub,
    mailboxes: &Mailboxes,
    speaker: Option<Speaker<'_>>,
    channel: &[u8],
    payload: &[u8],
) -> usize {
    pubsub.publish_to_shard(channel, payload, |delivery| send(mailboxes, speaker, delivery))
}

fn send(mailboxes: &Mailboxes, speaker: Option<Speaker<'_>>, delivery: Delivery) {
    let Delivery { worker, clients, message } = delivery;
    let hears = |&(client, _): &(u64, &Cell<bool>)| clients.binary_search(&client).is_ok();
    let own = speaker.and_then(|speaker| speaker.client).filter(hears);
    if let Some((_, heard)) = own {
        heard.set(true);
    }
    let mail = Mail::Message { clients, message, own: own.map(|(client, _)| client) };
    mailboxes.send_from(speaker.map(|speaker| speaker.worker), worker, mail);
}
