//! Messages of other threads for the clients of the console.

use super::super::logins::Anatomy;
use super::State;
use super::anatomy::json_of;
use larder_engine::{Ends, Mail, Message};

const LOST: &str = "{\"error\":\"ERR The walk was ended\"}";

impl State {
    pub(super) fn take_mail(&mut self) {
        for mail in self.worker.mail() {
            match mail {
                Mail::Unblocked { client, reply, ends } => self.unblocked(client, &reply, ends),
                Mail::Kill { client, .. } => self.kill(client),
                Mail::Recheck { client } => self.recheck(client),
                Mail::Message { clients, message, .. } => self.hear(&clients, &message),
                Mail::Output { client, bytes } => {
                    if let Some(feed) = self.logins.feed_of(client) {
                        feed.add_command(&bytes);
                    }
                }
                // A channel that has left the shard says nothing more; these clients do not track keys.
                Mail::Invalidate { .. }
                | Mail::InvalidateForOther { .. }
                | Mail::LeaveShardChannel { .. }
                | Mail::Retry => {}
            }
        }
    }

    fn unblocked(&mut self, client: u64, reply: &[u8], ends: Ends) {
        let Some((_, login)) = self.logins.of_client(client) else { return };
        if let Anatomy::UnderWay(mut session) = std::mem::replace(&mut login.anatomy, Anatomy::None) {
            self.worker.resume(&mut session, reply, ends);
            login.anatomy = Anatomy::Done(json_of(reply));
            self.worker.close(session);
        }
    }

    /// Gives a message to those of the clients that still subscribe.
    fn hear(&mut self, clients: &[u64], message: &Message) {
        let now_ms = larder_engine::wall_ms();
        for &client in clients {
            if let Some(feed) = self.logins.feed_of(client)
                && feed.session.hears(message)
            {
                feed.add_message(now_ms, message.body());
            }
        }
    }

    fn kill(&mut self, client: u64) {
        let Some((token, login)) = self.logins.of_client(client) else { return };
        if login.session.id() == client {
            self.end(&token);
        } else if let Some(feed) = login.take_feed(client) {
            self.worker.close(feed.session);
        } else {
            self.set_anatomy(&token, Anatomy::Done(LOST.to_owned()), larder_engine::instant());
        }
    }

    fn recheck(&mut self, client: u64) {
        let Some((token, login)) = self.logins.of_client(client) else { return };
        if login.session.id() == client && !self.worker.may_stay(&mut login.session) {
            self.end(&token);
            return;
        }
        let Some(feed) = self.logins.feed_of(client) else { return };
        if !self.worker.may_stay(&mut feed.session) {
            self.kill(client);
        }
    }
}
