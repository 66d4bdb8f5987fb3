//! Connections that are closed by another thread than their own.
//!
//! Rule: when the command that closes a connection replies, the connection is out of every queue. It is served no element,
//! hears no message, is in no list, and executes no further command:
//! - its waiter is claimed, so a thread that makes a key ready passes it by. A client that is about to wait looks after it
//!   has registered itself, and claims its own waiter;
//! - its subscriptions are ended, and it begins no other;
//! - it is taken out of the register of connections;
//! - its worker looks at [`Closing`] after it has locked the shards of each command. A command that passed that point before
//!   holds its shards, so others see its effects as those of a command before the one that closes.
//!
//! What remains, its worker does when it takes the message: it closes the socket and frees the memory. A client that has been
//! served before has its element: the worker waits for that reply, and offers the socket once what there is.
//!
//! Tested by `larder-server/tests/serving/closing.rs`: every way to close and every way to wait, compared with Valkey.

use crate::clients::session::{ClientShared, Closing, client_flags};
use crate::clients::subscriptions;
use crate::delivery::mailbox::Mail;
use crate::engine::Engine;

impl Engine {
    /// Closes a connection at once.
    pub(crate) fn close_client(&self, client: &ClientShared) {
        client.set_closing(Closing::Now);
        let waiter = client.waiter.lock().clone();
        if waiter.is_some_and(|waiter| waiter.dismiss()) {
            client.set_flag(client_flags::BLOCKED, false);
        }
        subscriptions::end_all(&self.pubsub, client);
        self.clients.remove(client);
        self.mailboxes.send(client.worker, Mail::Kill { client: client.id, after_flush: false });
    }

    /// Closes a connection when its output has been sent, and what `last` has sent it. It executes no further command, not
    /// even one that it sent before `last` was called.
    pub(crate) fn close_client_after(&self, client: &ClientShared, last: impl FnOnce()) {
        client.set_closing(Closing::AfterFlush);
        last();
        self.mailboxes.send(client.worker, Mail::Kill { client: client.id, after_flush: true });
    }
}
