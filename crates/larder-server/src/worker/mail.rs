//! Messages from other threads for this worker's clients.

use super::{EventLoop, Hangup};
use crate::connection::Connection;
use larder_engine::{Ends, Mail, Message, Session, Worker};
use std::sync::Arc;

impl EventLoop {
    /// Takes and follows all messages.
    pub(super) fn take_mail(&mut self) {
        let mut mail = std::mem::take(&mut self.mail);
        let mut returned = self.absent.take_returned();
        mail.append(&mut returned.mail);
        self.worker.drain(&mut mail);
        let now_ms = self.worker.now_ms();
        for message in mail.drain(..) {
            let limits = &self.shared.config.hot.output_limits;
            let message = self.absent.keep(message, limits, now_ms);
            message.into_iter().for_each(|message| self.follow_mail(message));
        }
        self.mail = mail;
        for client in returned.exceeded {
            self.with(client, |this, _, connection| Err(this.exceed_output(connection)));
        }
    }

    fn follow_mail(&mut self, message: Mail) {
        match message {
            Mail::Output { client, bytes } => self.with(client, |this, _, connection| {
                this.append(connection, &bytes);
                this.check_output_limit(connection)
            }),
            Mail::Message { clients, message, own } => {
                clients.iter().for_each(|&client| self.hand_over(client, &message, own == Some(client)));
            }
            Mail::Invalidate { clients, what } => {
                for &client in &clients {
                    self.push_out(client, |worker, session, out| worker.invalidate(session, &what, out));
                }
            }
            Mail::InvalidateForOther { client, what } => {
                self.push_out(client, |worker, session, out| {
                    worker.invalidate_for_other(session, &what, out);
                });
            }
            Mail::Unblocked { client, reply, ends } => self.with(client, |this, slot, connection| {
                this.unblock(slot, connection, &reply, ends);
                // A connection that is being closed has waited for this reply. Without bytes no flush ends it.
                if connection.ends() && connection.output.is_empty() { Err(Hangup) } else { Ok(()) }
            }),
            Mail::Kill { client, after_flush } => self.with(client, |_, _, connection| {
                // One that others close at once is offered what there is, and closed by the next flush.
                let waits = after_flush || connection.session.shared().closes_now();
                if !waits || connection.output.is_empty() && !connection.session.is_served() {
                    return Err(Hangup);
                }
                connection.flags.closing = true;
                Ok(())
            }),
            Mail::Recheck { client } => self.with(client, |this, _, connection| {
                if this.worker.may_stay(&mut connection.session) { Ok(()) } else { Err(Hangup) }
            }),
            Mail::LeaveShardChannel { clients, channel } => {
                for &client in &*clients {
                    self.push_out(client, |worker, session, out| {
                        worker.leave_shard_channel(session, &channel, out);
                    });
                }
            }
            Mail::Retry => self.retry_paused(),
        }
    }

    /// Works on the connection of a client; it may be gone already.
    fn with(
        &mut self,
        client: u64,
        work: impl FnOnce(&mut Self, usize, &mut Connection) -> Result<(), Hangup>,
    ) {
        let Some(&slot) = self.by_id.get(&client) else { return };
        let Some(mut connection) = self.slots.take(slot) else { return };
        match work(self, slot, &mut connection) {
            Ok(()) => {
                self.mark_dirty(slot, &mut connection);
                self.slots.put(slot, connection);
            }
            Err(Hangup) => self.close(slot, connection),
        }
    }

    /// Appends what `write` has for a client to its output.
    fn push_out(&mut self, client: u64, write: impl FnOnce(&mut Worker, &mut Session, &mut Vec<u8>)) {
        self.with(client, |this, _, connection| {
            if connection.flags.closing {
                return Ok(());
            }
            // Often there is nothing: then the connection takes no buffer.
            let mut bytes = Vec::new();
            write(&mut this.worker, &mut connection.session, &mut bytes);
            if !bytes.is_empty() {
                connection.output.open(&mut this.pool);
                connection.output.tail.extend_from_slice(&bytes);
                connection.output.settle();
            }
            this.check_output_limit(connection)
        });
    }

    /// Appends a published message to the output of a subscriber. `is_own`: it has sent the message itself.
    fn hand_over(&mut self, client: u64, message: &Message, is_own: bool) {
        self.with(client, |this, _, connection| {
            if connection.flags.closing || !(is_own || connection.session.hears(message)) {
                return Ok(());
            }
            connection.output.open(&mut this.pool);
            connection.output.tail.push(Message::first_byte(connection.session.protocol()));
            connection.output.push_shared(message.body());
            this.check_output_limit(connection)
        });
    }

    fn append(&mut self, connection: &mut Connection, bytes: &Arc<[u8]>) {
        if !connection.flags.closing {
            connection.output.open(&mut self.pool);
            connection.output.push_shared(bytes);
        }
    }

    fn unblock(&mut self, slot: usize, connection: &mut Connection, reply: &[u8], ends: Ends) {
        self.clear_deadline(slot, connection);
        if self.worker.resume(&mut connection.session, reply, ends) {
            connection.output.open(&mut self.pool);
            connection.output.tail.extend_from_slice(reply);
            connection.output.settle();
            self.hold(connection, ends.file());
        }
        Self::touch(connection);
        connection.flags.backlog = true;
        self.schedule(slot, &mut connection.flags);
    }
}
