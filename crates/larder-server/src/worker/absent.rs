//! Mail for clients whose connections are out of their slots beyond the moment: they are on another thread, or run a script on this one.
//!
//! It is kept for each until it comes back, and counts against the limit of its output, since it is what it would not have read. Who goes beyond
//! is sent no more, and is closed when it comes back. While nobody is away a message costs nothing; else a look at each client it is for.

use foldhash::fast::RandomState;
use larder_engine::config::OutputLimit;
use larder_engine::{ClientClass, Mail};
use std::collections::HashMap;
use std::sync::Arc;

/// The clients that are away.
#[derive(Default)]
pub struct Absent {
    clients: HashMap<u64, Kept, RandomState>,
    returned: Vec<Mail>,
    exceeded: Vec<u64>,
}

/// What one of them has been sent meanwhile.
struct Kept {
    class: ClientClass,
    mail: Vec<Mail>,
    bytes: u64,
    soft_since_ms: Option<u64>,
    is_exceeded: bool,
}

/// What was kept for clients that are back.
pub struct Returned {
    /// Mail in the order in which it came.
    pub mail: Vec<Mail>,
    /// Clients that are to be closed, because it was too much.
    pub exceeded: Vec<u64>,
}

impl Absent {
    /// A client leaves, whose output has the limit of a class.
    pub fn leave(&mut self, client: u64, class: ClientClass) {
        let kept = Kept { class, mail: Vec::new(), bytes: 0, soft_since_ms: None, is_exceeded: false };
        self.clients.insert(client, kept);
    }

    /// A client is back, or about to be: [`take_returned`](Self::take_returned) gives its mail when it is.
    pub fn come_back(&mut self, client: u64) {
        let Some(mut kept) = self.clients.remove(&client) else { return };
        self.returned.append(&mut kept.mail);
        if kept.is_exceeded {
            self.exceeded.push(client);
        }
    }

    /// What was kept for those who have come back since the last call.
    pub fn take_returned(&mut self) -> Returned {
        Returned { mail: std::mem::take(&mut self.returned), exceeded: std::mem::take(&mut self.exceeded) }
    }

    /// Keeps a message for those who are away. What is left is for clients that are here. `limits` are those of the classes of clients.
    pub fn keep(&mut self, message: Mail, limits: &[OutputLimit], now_ms: u64) -> Option<Mail> {
        if self.clients.is_empty() {
            return Some(message);
        }
        match &message {
            Mail::Output { client, .. }
            | Mail::InvalidateForOther { client, .. }
            | Mail::Unblocked { client, .. }
            | Mail::Kill { client, .. }
            | Mail::Recheck { client } => {
                if let Some(kept) = self.clients.get_mut(client) {
                    kept.add(message, limits, now_ms);
                    return None;
                }
            }
            Mail::Message { clients, message, own } => {
                self.keep_for_each(clients, limits, now_ms, |client| Mail::Message {
                    clients: Arc::new(vec![client]),
                    message: Arc::clone(message),
                    own: *own,
                });
            }
            Mail::Invalidate { clients, what } => self.keep_for_each(clients, limits, now_ms, |client| {
                Mail::Invalidate { clients: vec![client], what: Arc::clone(what) }
            }),
            Mail::LeaveShardChannel { clients, channel } => {
                self.keep_for_each(clients, limits, now_ms, |client| Mail::LeaveShardChannel {
                    clients: Arc::new(vec![client]),
                    channel: Arc::clone(channel),
                });
            }
            Mail::Retry => {}
        }
        Some(message)
    }

    fn keep_for_each(
        &mut self,
        clients: &[u64],
        limits: &[OutputLimit],
        now_ms: u64,
        message_for: impl Fn(u64) -> Mail,
    ) {
        for &client in clients {
            if let Some(kept) = self.clients.get_mut(&client) {
                kept.add(message_for(client), limits, now_ms);
            }
        }
    }
}

impl Kept {
    fn add(&mut self, message: Mail, limits: &[OutputLimit], now_ms: u64) {
        if self.is_exceeded {
            return;
        }
        self.bytes += message.bytes() as u64;
        let limit = &limits[self.class as usize];
        if limit.is_exceeded(self.bytes, 0, &mut self.soft_since_ms, now_ms) {
            self.is_exceeded = true;
            self.mail = Vec::new();
        } else {
            self.mail.push(message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    fn limits(hard: u64, soft: u64, seconds: u64) -> [OutputLimit; 3] {
        let limits: [OutputLimit; 3] = Default::default();
        limits[ClientClass::PubSub as usize].hard_bytes.store(hard, Relaxed);
        limits[ClientClass::PubSub as usize].soft_bytes.store(soft, Relaxed);
        limits[ClientClass::PubSub as usize].soft_seconds.store(seconds, Relaxed);
        limits
    }

    fn output(client: u64, bytes: usize) -> Mail {
        Mail::Output { client, bytes: vec![b'x'; bytes].into() }
    }

    #[test]
    fn mail_waits_for_who_is_away() {
        let (mut absent, limits) = (Absent::default(), limits(0, 0, 0));
        assert!(absent.keep(output(1, 5), &limits, 0).is_some(), "nobody is away");
        absent.leave(1, ClientClass::Normal);
        assert!(absent.keep(output(2, 5), &limits, 0).is_some());
        for bytes in 1..=3 {
            assert!(absent.keep(output(1, bytes), &limits, 0).is_none());
        }
        let channel: Arc<[u8]> = b"c".as_slice().into();
        let message = Mail::LeaveShardChannel { clients: Arc::new(vec![1, 2]), channel };
        assert!(absent.keep(message, &limits, 0).is_some(), "another one is here");
        assert!(absent.take_returned().mail.is_empty());
        absent.come_back(1);
        assert!(absent.keep(output(1, 5), &limits, 0).is_some(), "it is back");
        let Returned { mail, exceeded } = absent.take_returned();
        let lengths: Vec<usize> = mail
            .iter()
            .map(|message| match message {
                Mail::Output { client: 1, bytes } => bytes.len(),
                Mail::LeaveShardChannel { clients, .. } if **clients == [1] => 0,
                _ => panic!("it is of another"),
            })
            .collect();
        assert_eq!((lengths, exceeded), (vec![1, 2, 3, 0], vec![]));
        assert!(absent.take_returned().mail.is_empty());
    }

    #[test]
    fn too_much_is_not_kept() {
        for (limits, now_ms) in [(limits(1000, 0, 0), 0), (limits(0, 500, 1), 1002)] {
            let mut absent = Absent::default();
            absent.leave(1, ClientClass::PubSub);
            absent.leave(2, ClientClass::Normal);
            for client in [1, 2] {
                absent.keep(output(client, 600), &limits, 0);
                absent.keep(output(client, 600), &limits, now_ms);
                absent.keep(output(client, 1), &limits, now_ms);
                absent.come_back(client);
            }
            let Returned { mail, exceeded } = absent.take_returned();
            assert_eq!((mail.len(), exceeded), (3, vec![1]), "a class without limits keeps all");
        }
    }
}
