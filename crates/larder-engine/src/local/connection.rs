//! Clients without sockets whose state lasts from command to command, as that of a socket's client does: they select databases, subscribe to
//! channels, watch keys, queue transactions and wait.
//!
//! Each has a worker of its own, whose mail is for it alone.

use super::{LocalWorker, Permit, Ran};
use crate::clients::session::Session;
use crate::delivery::mailbox::Mail;
use crate::pubsub::Message;
use larder_resp::{Args, Protocol, Reply};

/// What the mail has for a client.
#[derive(Debug, Default)]
pub struct Delivery {
    /// Whether the command that the client waited for is answered.
    pub is_answered: bool,
    /// Whether the client is to be closed.
    pub is_closed: bool,
    /// Where in the log the effects end that the answer shows.
    pub log_end: u64,
}

impl LocalWorker {
    /// A client whose state lasts. It speaks RESP2 until it says HELLO.
    pub fn open_connection(&mut self) -> Session {
        let mut session = self.open("", "");
        session.protocol = Protocol::Resp2;
        session
    }

    /// Milliseconds on the clock of deadlines.
    pub fn now_ms(&self) -> u64 {
        self.worker.now_ms()
    }

    /// Where in the log the effects of this worker's commands end.
    pub fn log_end(&self) -> u64 {
        self.worker.log_end()
    }

    /// Executes a command of a client whose state lasts, in the database that it has selected, and appends the reply to `out`.
    pub fn run_connected(
        &mut self,
        session: &mut Session,
        permit: Permit,
        args: Args<'_>,
        out: &mut Vec<u8>,
    ) -> Ran {
        let mark = out.len();
        if let Err(error) = self.permit(session.db, permit, args) {
            Reply::new(out, session.protocol()).error(&error.wire());
            return Ran::Answered;
        }
        self.run_permitted(session, args, true, mark, out)
    }

    /// The client has waited long enough: appends the reply that says so. False: it has been served, and the reply is in the mail.
    pub fn end_wait_of(&mut self, session: &mut Session, out: &mut Vec<u8>) -> bool {
        self.worker.block_timeout(session, out)
    }

    /// Appends what the mail has for the only client of this worker: the reply that it waits for, and messages.
    pub fn deliver(&mut self, session: &mut Session, out: &mut Vec<u8>) -> Delivery {
        let mut delivery = Delivery::default();
        for mail in self.mail() {
            match mail {
                Mail::Unblocked { client, reply, ends } if client == session.id() => {
                    if self.worker.resume(session, &reply, ends) {
                        out.extend_from_slice(&reply);
                    }
                    delivery.is_answered = true;
                    delivery.log_end = ends.file();
                }
                Mail::Message { clients, message, own }
                    if clients.contains(&session.id())
                        && (own == Some(session.id()) || session.hears(&message)) =>
                {
                    out.push(Message::first_byte(session.protocol()));
                    out.extend_from_slice(message.body());
                }
                Mail::Output { client, bytes } if client == session.id() => out.extend_from_slice(&bytes),
                Mail::Invalidate { clients, what } if clients.contains(&session.id()) => {
                    self.worker.invalidate(session, &what, out);
                }
                Mail::InvalidateForOther { client, what } if client == session.id() => {
                    self.worker.invalidate_for_other(session, &what, out);
                }
                Mail::Kill { client, .. } => delivery.is_closed |= client == session.id(),
                Mail::Recheck { client } if client == session.id() => {
                    delivery.is_closed |= !self.worker.may_stay(session);
                }
                // The mail of a client that had this worker before, or nothing that such a client waits for.
                _ => {}
            }
        }
        delivery
    }
}
