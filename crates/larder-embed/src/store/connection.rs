//! Connections: clients of a store whose state lasts from call to call, as that of a client of a server does.
//!
//! A connection has a worker of the engine for itself, so that the worker's mail is its own: replies to commands that waited, and messages.
//! Workers are kept for the next connection when one closes, as the engine never forgets a mailbox. Commands run on the calling thread;
//! those that may run a script run on the store's thread for scripts, to which the worker and the session are lent.

use super::Store;
use super::client::{Client, Idle};
use crate::error::{Error, Result};
use crate::reply::Reply;
use crate::reply::raw::Raw;
use larder_engine::{Permit, Ran};
use larder_resp::OwnedArgs;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Between two looks at whether the store was closed.
const LOOK: Duration = Duration::from_millis(100);
/// Capacity of the buffer of replies that is kept.
const KEPT_BYTES: usize = 1 << 20;

/// A client of a store whose state lasts from command to command: the database that it has selected, its transaction, the keys that it
/// watches, its subscriptions. Commands that wait do wait here.
///
/// Replies and messages come in one stream, as from a socket: [`send`](Connection::send) executes a command, and
/// [`receive`](Connection::receive) returns the next reply or message. It speaks RESP2 until it has said `HELLO 3`.
pub struct Connection {
    /// Keeps the store open.
    store: Store,
    /// `None` only while a script runs, or if its thread has ended.
    client: Option<Box<Client>>,
    /// Commands that were sent while another one waited.
    pending: VecDeque<OwnedArgs>,
    wait: Wait,
    /// Replies and messages, of which those before `read` were returned.
    incoming: Vec<u8>,
    read: usize,
}

/// Whether a command waits.
enum Wait {
    None,
    /// Until a moment on the clock of the worker.
    Until(Option<u64>),
    /// The connection was closed, by itself or by another client.
    Closed,
}

impl Store {
    /// A connection to the store, in the database of this handle. It keeps the store open until it is dropped.
    ///
    /// # Errors
    /// The store was closed.
    pub fn connect(&self) -> Result<Connection> {
        let inner = &*self.inner;
        inner.check_open()?;
        let idle = inner.idle.lock().pop().unwrap_or_else(|| Idle::new(&inner.engine));
        let client = Client::new(idle, Permit::Connection { files: inner.files.is_some() });
        let mut connection = Connection {
            store: self.clone(),
            client: Some(Box::new(client)),
            pending: VecDeque::new(),
            wait: Wait::None,
            incoming: Vec::new(),
            read: 0,
        };
        if self.db != 0 {
            connection.command(&[&b"SELECT"[..], self.db.to_string().as_bytes()])?;
        }
        Ok(connection)
    }
}

impl Connection {
    /// Executes a command. Its reply is received later; after one that waits, commands are executed when that one has its reply.
    ///
    /// # Errors
    /// [`Error::Closed`]: the store or the connection was closed. [`Error::NotKept`]: as of other writes.
    pub fn send<A: AsRef<[u8]>>(&mut self, words: &[A]) -> Result<()> {
        self.store.inner.check_open()?;
        let args: OwnedArgs = words.iter().map(AsRef::as_ref).collect();
        match self.wait {
            Wait::Closed => Err(Error::Closed),
            Wait::Until(_) => {
                self.pending.push_back(args);
                Ok(())
            }
            Wait::None => self.execute(args),
        }
    }

    /// Returns the next reply or message, as bytes of RESP; `None` if there is none within this time. [`Raw`] reads them.
    ///
    /// # Errors
    /// [`Error::Closed`]: the store or the connection was closed, and everything was received.
    pub fn receive(&mut self, patience: Duration) -> Result<Option<&[u8]>> {
        if !self.wait(patience)? {
            return Ok(None);
        }
        let begin = self.read;
        let len = Raw::of(&self.incoming[begin..]).skip()?;
        self.read += len;
        Ok(Some(&self.incoming[begin..begin + len]))
    }

    /// Waits until there is a reply or a message; false if there is none within this time.
    ///
    /// # Errors
    /// [`Error::Closed`]: the store or the connection was closed, and everything was received.
    pub fn wait(&mut self, patience: Duration) -> Result<bool> {
        let deadline = Instant::now().checked_add(patience);
        loop {
            self.take_mail()?;
            if self.read < self.incoming.len() {
                return Ok(true);
            }
            self.forget_read();
            if matches!(self.wait, Wait::Closed) {
                return Err(Error::Closed);
            }
            self.store.inner.check_open()?;
            let left = deadline.map_or(LOOK, |deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Ok(false);
            }
            let client = self.client.as_ref().ok_or(Error::Closed)?;
            let due = match self.wait {
                Wait::Until(Some(at_ms)) => {
                    Duration::from_millis(at_ms.saturating_sub(client.worker.now_ms()))
                }
                _ => LOOK,
            };
            // A deadline of the worker's clock has come when the clock has passed it.
            client.bell.wait(left.min(LOOK).min(due.max(Duration::from_millis(1))));
        }
    }

    /// Executes a command, and waits for its reply as long as that takes.
    ///
    /// # Errors
    /// [`Error::Command`] with the text of the error reply; those of [`send`](Connection::send).
    pub fn command<A: AsRef<[u8]>>(&mut self, words: &[A]) -> Result<Reply> {
        self.send(words)?;
        loop {
            if let Some(reply) = self.receive(LOOK)? {
                return Raw::new(reply)?.tree();
            }
        }
    }

    /// Whether it was closed, by QUIT or by another client.
    pub fn is_closed(&self) -> bool {
        matches!(self.wait, Wait::Closed)
    }

    fn forget_read(&mut self) {
        if self.read == self.incoming.len() {
            self.incoming.clear();
            self.incoming.shrink_to(KEPT_BYTES);
            self.read = 0;
        }
    }

    fn execute(&mut self, args: OwnedArgs) -> Result<()> {
        self.forget_read();
        let mut client = self.client.take().ok_or(Error::Closed)?;
        client.worker.begin();
        let (client, ran, log_end) = if client.may_run_script(&args) {
            let inner = &*self.store.inner;
            let (client, reply, ran, log_end) = inner.scripts.run_connected(&inner.engine, client, args)?;
            self.incoming.extend_from_slice(&reply);
            (client, ran, log_end)
        } else {
            let (ran, log_end) = client.run(&args, &mut self.incoming);
            (client, ran, log_end)
        };
        self.client = Some(client);
        match ran {
            Ran::Answered => {}
            Ran::Waits { deadline_ms } => self.wait = Wait::Until(deadline_ms),
            Ran::Closed => self.wait = Wait::Closed,
        }
        self.store.inner.kept(((), log_end))
    }

    /// Takes what has come: a reply that was waited for, messages. Then commands that were sent meanwhile are executed.
    fn take_mail(&mut self) -> Result<()> {
        let Some(client) = &mut self.client else { return Ok(()) };
        client.worker.begin();
        let delivery = client.worker.deliver(&mut client.session, &mut self.incoming);
        let mut is_answered = delivery.is_answered;
        if let Wait::Until(Some(at_ms)) = self.wait
            && !is_answered
            && client.worker.now_ms() >= at_ms
        {
            // If it has just been served, the reply is in the mail.
            is_answered = client.worker.end_wait_of(&mut client.session, &mut self.incoming);
        }
        client.worker.end();
        if delivery.is_closed {
            self.wait = Wait::Closed;
        } else if is_answered {
            self.wait = Wait::None;
        }
        if delivery.log_end > 0 {
            self.store.inner.kept(((), Some(delivery.log_end)))?;
        }
        while let Wait::None = self.wait
            && let Some(args) = self.pending.pop_front()
        {
            self.execute(args)?;
        }
        Ok(())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(client) = self.client.take() {
            let Client { mut worker, session, bell, .. } = *client;
            worker.begin();
            worker.close(session);
            worker.end();
            drop(worker.mail());
            self.store.inner.idle.lock().push(Idle { worker, bell });
        }
    }
}
