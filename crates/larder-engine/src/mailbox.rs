//! Messages between workers: what one thread has for the clients of another.

use crate::pubsub::Message;
use crate::tracking::Invalidation;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A message to the worker that owns a connection.
#[derive(Debug)]
pub enum Mail {
    /// Bytes to append to a client's output.
    Output {
        /// The client.
        client: u64,
        /// The bytes, shared among all who get them.
        bytes: Arc<[u8]>,
    },
    /// A published message; `Session::hears` says who of them still wants it.
    Message {
        /// The clients, in the order of their ids.
        clients: Arc<Vec<u64>>,
        /// The message.
        message: Arc<Message>,
    },
    /// Keys have changed: call `Worker::invalidate` for each of the clients.
    Invalidate {
        /// The clients.
        clients: Vec<u64>,
        /// The keys.
        what: Arc<Invalidation>,
    },
    /// Keys have changed that another client has to be told of: call `Worker::invalidate_for_other`.
    InvalidateForOther {
        /// The client that the messages are redirected to.
        client: u64,
        /// The keys.
        what: Arc<Invalidation>,
    },
    /// A blocked client has been served: append the reply, then call `Worker::resume`.
    Unblocked {
        /// The client.
        client: u64,
        /// The whole reply.
        reply: Vec<u8>,
    },
    /// Close a connection.
    Kill {
        /// The client.
        client: u64,
        /// Whether its output is sent first.
        after_flush: bool,
    },
    /// The rights of a client's user have changed: ask `Worker::may_stay`.
    Recheck {
        /// The client.
        client: u64,
    },
    /// Commands that were put off may be tried again.
    Retry,
}

/// Called to wake a worker that waits for events.
pub type Wake = Box<dyn Fn() + Send + Sync>;

/// The messages for one worker. The worker is woken once, however many messages arrive before it looks.
pub(crate) struct Mailbox {
    mail: Mutex<Vec<Mail>>,
    woken: AtomicBool,
    wake: Wake,
}

impl Mailbox {
    pub(crate) fn new(wake: Wake) -> Self {
        Mailbox { mail: Mutex::new(Vec::new()), woken: AtomicBool::new(false), wake }
    }

    /// Leaves a message.
    pub(crate) fn send(&self, mail: Mail) {
        self.mail.lock().push(mail);
        if !self.woken.swap(true, Ordering::AcqRel) {
            (self.wake)();
        }
    }

    /// Leaves a message of the worker to itself: it looks before it sleeps, see `Worker::drain`.
    pub(crate) fn leave(&self, mail: Mail) {
        self.mail.lock().push(mail);
        self.woken.store(true, Ordering::Release);
    }

    /// Whether there are messages.
    pub(crate) fn has_mail(&self) -> bool {
        self.woken.load(Ordering::Relaxed)
    }

    /// Moves all messages to the end of `into`.
    pub(crate) fn drain(&self, into: &mut Vec<Mail>) {
        if self.woken.load(Ordering::Relaxed) {
            self.woken.store(false, Ordering::Release);
            into.append(&mut self.mail.lock());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn wakes_once_until_drained() {
        let wakes = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&wakes);
        let mailbox = Mailbox::new(Box::new(move || {
            counted.fetch_add(1, Ordering::Relaxed);
        }));
        let mut got = Vec::new();
        for round in 1..=3 {
            mailbox.send(Mail::Retry);
            mailbox.send(Mail::Kill { client: 1, after_flush: true });
            assert_eq!(wakes.load(Ordering::Relaxed), round);
            mailbox.drain(&mut got);
            assert_eq!(got.len(), 2 * round);
        }
    }
}
