//! Messages between workers: what one thread has for the clients of another.

use crate::aof::log::Ends;
use crate::delivery::invalidation::Invalidation;
use crate::pubsub::Message;
use parking_lot::{Mutex, RwLock};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

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
        /// That one of the clients whose command has sent it: it gets the message even if it has unsubscribed in the same
        /// transaction.
        own: Option<u64>,
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
    /// A blocked client has been served: call `Worker::resume` and append the reply.
    Unblocked {
        /// The client.
        client: u64,
        /// The whole reply.
        reply: Vec<u8>,
        /// Where the effects end that the reply shows. They are in the log.
        ends: Ends,
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
    /// A channel of the shard is not this node's any more: call `Worker::leave_shard_channel` for each of the clients.
    LeaveShardChannel {
        /// The clients.
        clients: Arc<Vec<u64>>,
        /// The channel.
        channel: Arc<[u8]>,
    },
    /// Commands that were put off may be tried again.
    Retry,
}

impl Mail {
    /// Bytes, about, that the message takes until it is delivered. Only kinds count of which one command may
    /// send many.
    pub fn bytes(&self) -> usize {
        /// The place in the box, which may be half empty, and what allocations take beside their bytes.
        const FRAME: usize = 2 * size_of::<Mail>() + 32;
        match self {
            Mail::Output { bytes, .. } => FRAME + bytes.len(),
            Mail::Message { message, .. } => FRAME + message.memory_bytes(),
            Mail::Invalidate { clients, what } => FRAME + size_of_val(&clients[..]) + what.memory_bytes(),
            Mail::InvalidateForOther { what, .. } => FRAME + what.memory_bytes(),
            Mail::LeaveShardChannel { .. }
            | Mail::Unblocked { .. }
            | Mail::Kill { .. }
            | Mail::Recheck { .. }
            | Mail::Retry => 0,
        }
    }
}

impl Mail {
    /// Whether a client that only watches can do without the message.
    fn may_be_missed(&self) -> bool {
        matches!(self, Mail::Output { .. } | Mail::Message { .. })
    }
}

/// Called to wake a worker that waits for events.
pub type Wake = Box<dyn Fn() + Send + Sync>;

/// A message for another worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    worker: usize,
    number: u64,
}

/// The messages for one worker. The worker is woken once, however many messages arrive before it looks.
pub(crate) struct Mailbox {
    mail: Mutex<Vec<Mail>>,
    /// Number of messages that have been left, that the worker has taken, and of those that are delivered. The first two change under the lock of
    /// `mail`.
    left: AtomicU64,
    taken: AtomicU64,
    done: AtomicU64,
    /// Bytes of messages that have not gone out, and how many of these the worker has taken.
    bytes: AtomicUsize,
    taken_bytes: AtomicUsize,
    woken: AtomicBool,
    wake: Wake,
    /// Bytes of messages above which others are dropped, of the kinds that may be, and how many were.
    bytes_max: Option<usize>,
    missed: AtomicU64,
}

impl Mailbox {
    pub(crate) fn new(wake: Wake) -> Self {
        Mailbox {
            mail: Mutex::default(),
            left: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            done: AtomicU64::new(0),
            bytes: AtomicUsize::new(0),
            taken_bytes: AtomicUsize::new(0),
            woken: AtomicBool::new(false),
            wake,
            bytes_max: None,
            missed: AtomicU64::new(0),
        }
    }

    /// The number of messages that were dropped.
    pub(crate) fn missed(&self) -> u64 {
        self.missed.load(Ordering::Relaxed)
    }

    /// Leaves a message; returns its number.
    pub(crate) fn send(&self, mail: Mail) -> u64 {
        let number = self.put(mail);
        self.poke();
        number
    }

    /// Wakes the worker, if nobody has since it last looked.
    fn poke(&self) {
        if !self.woken.swap(true, Ordering::AcqRel) {
            (self.wake)();
        }
    }

    /// Leaves a message of the worker to itself: it looks before it sleeps, see `Worker::drain`.
    pub(crate) fn leave(&self, mail: Mail) {
        self.put(mail);
        self.woken.store(true, Ordering::Release);
    }

    fn put(&self, mail: Mail) -> u64 {
        let bytes = mail.bytes();
        if self.bytes_max.is_some_and(|bytes_max| self.bytes() + bytes > bytes_max) && mail.may_be_missed() {
            self.missed.fetch_add(1, Ordering::Relaxed);
            return self.left.load(Ordering::Relaxed);
        }
        let mut messages = self.mail.lock();
        messages.push(mail);
        if bytes > 0 {
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        self.left.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Bytes, about, of messages that are on their way: not yet taken, or taken and not yet [delivered](Self::delivered).
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Whether there are messages.
    pub(crate) fn has_mail(&self) -> bool {
        self.woken.load(Ordering::Relaxed)
    }

    /// Moves all messages to the end of `into`.
    pub(crate) fn drain(&self, into: &mut Vec<Mail>) {
        if self.woken.load(Ordering::Relaxed) {
            // An exchange, like that in `poke`: a thread that finds the flag set has left its message before the lock here.
            self.woken.swap(false, Ordering::AcqRel);
            let mut messages = self.mail.lock();
            into.append(&mut messages);
            self.taken.store(self.left.load(Ordering::Relaxed), Ordering::Relaxed);
            // Under the lock, under which it is counted: all that there is has been taken now.
            self.taken_bytes.store(self.bytes.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// Whether the worker has taken messages that are not [delivered](Self::delivered).
    pub(crate) fn has_taken(&self) -> bool {
        self.taken_bytes.load(Ordering::Relaxed) > 0
    }

    /// The messages that the worker has taken are sent, or wait in the outputs of clients who do not read.
    pub(crate) fn delivered(&self) {
        self.bytes.fetch_sub(self.taken_bytes.swap(0, Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Notes that all messages are delivered that the worker has taken; says whether there was any.
    pub(crate) fn note_done(&self) -> bool {
        let taken = self.taken.load(Ordering::Relaxed);
        // Sequentially consistent, as what those who wait do before they look (`Worker::are_delivered`).
        self.done.swap(taken, Ordering::SeqCst) != taken
    }

    fn has_done(&self, number: u64) -> bool {
        self.done.load(Ordering::SeqCst) >= number
    }
}

/// The mailboxes of all workers.
#[derive(Default)]
pub(crate) struct Mailboxes(RwLock<Vec<Arc<Mailbox>>>);

impl Mailboxes {
    /// That of the next worker.
    pub(crate) fn add(&self, wake: Wake) -> Arc<Mailbox> {
        self.add_numbered(wake).1
    }

    /// The same with its number.
    pub(crate) fn add_numbered(&self, wake: Wake) -> (usize, Arc<Mailbox>) {
        self.add_box(Mailbox::new(wake))
    }

    /// The same; when `bytes_max` bytes of messages wait in it, lines of MONITOR and published messages are dropped.
    pub(crate) fn add_limited(&self, wake: Wake, bytes_max: usize) -> (usize, Arc<Mailbox>) {
        self.add_box(Mailbox { bytes_max: Some(bytes_max), ..Mailbox::new(wake) })
    }

    fn add_box(&self, mailbox: Mailbox) -> (usize, Arc<Mailbox>) {
        let mailbox = Arc::new(mailbox);
        let mut all = self.0.write();
        all.push(Arc::clone(&mailbox));
        (all.len() - 1, mailbox)
    }

    /// Leaves a message for a worker.
    pub(crate) fn send(&self, worker: usize, mail: Mail) {
        if let Some(mailbox) = self.0.read().get(worker) {
            mailbox.send(mail);
        }
    }

    /// Leaves a message for a worker. `from` is the worker that calls, if one does: it need not wake itself. Returns which message of
    /// another worker it is.
    pub(crate) fn send_from(&self, from: Option<usize>, worker: usize, mail: Mail) -> Option<Told> {
        let all = self.0.read();
        let mailbox = all.get(worker)?;
        if from == Some(worker) {
            mailbox.leave(mail);
            return None;
        }
        Some(Told { worker, number: mailbox.send(mail) })
    }

    /// Whether a message is delivered: sent, or left in the output of a client who does not read.
    pub(crate) fn is_delivered(&self, told: Told) -> bool {
        self.0.read().get(told.worker).is_none_or(|mailbox| mailbox.has_done(told.number))
    }

    /// Wakes a worker, without a message.
    pub(crate) fn poke(&self, worker: usize) {
        if let Some(mailbox) = self.0.read().get(worker) {
            mailbox.poke();
        }
    }

    /// Bytes of messages on their way between workers.
    pub(crate) fn bytes(&self) -> u64 {
        self.0.read().iter().map(|mailbox| mailbox.bytes() as u64).sum()
    }

    /// Wakes all workers to try again what they put off.
    pub(crate) fn retry_all(&self) {
        self.0.read().iter().for_each(|mailbox| _ = mailbox.send(Mail::Retry));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn a_limited_box_drops_messages_that_may_be_missed() {
        let (_, mailbox) = Mailboxes::default().add_limited(Box::new(|| {}), 10_000);
        let line: Arc<[u8]> = vec![0; 1000].into();
        let output = || Mail::Output { client: 1, bytes: Arc::clone(&line) };
        for _ in 0..100 {
            mailbox.send(output());
            mailbox.send(Mail::Retry);
        }
        let mut got = Vec::new();
        mailbox.drain(&mut got);
        let kept = got.iter().filter(|mail| matches!(mail, Mail::Output { .. })).count();
        assert!((5..10).contains(&kept), "{kept}");
        assert_eq!((got.len() - kept, mailbox.missed()), (100, 100 - kept as u64));
        mailbox.delivered();
        mailbox.send(output());
        assert_eq!(mailbox.missed(), 100 - kept as u64);
    }

    #[test]
    fn what_is_on_its_way_is_counted() {
        let mailbox = Mailbox::new(Box::new(|| {}));
        let mut got = Vec::new();
        for _ in 0..2 {
            mailbox.send(Mail::Retry);
            assert_eq!(mailbox.bytes(), 0);
            mailbox.leave(Mail::Output { client: 1, bytes: vec![0; 1000].into() });
            let first = mailbox.bytes();
            assert!((1000..1200).contains(&first));
            mailbox.drain(&mut got);
            mailbox.send(Mail::Output { client: 2, bytes: vec![0; 2000].into() });
            assert!(mailbox.bytes() > 3000, "taken, but not delivered");
            mailbox.delivered();
            assert!((2000..2200).contains(&mailbox.bytes()));
            mailbox.drain(&mut got);
            mailbox.delivered();
            assert_eq!(mailbox.bytes(), 0);
        }
    }
}
