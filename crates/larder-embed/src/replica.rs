//! A replica inside of the program: it follows a primary as any replica does, and its reads are calls.
//!
//! A thread has the link (`larder-link`): it connects, takes a snapshot, follows the stream, and when the link breaks it connects again and
//! goes on where it was, if the primary still has that. Reads meanwhile see what there is. Writes go to the primary on a connection of
//! their own.
//!
//! A write that is to be read afterwards asks the primary, in the same round trip, where its stream ends: the write is before that. When the
//! replica has applied the stream of that history up to there, the write can be read.

mod connection;
pub mod events;
mod link;
pub mod options;
mod security;
pub mod url;

use crate::error::{Error, Result};
use crate::host::EmbeddedHost;
use crate::reply::Reply;
use crate::store::Store;
use connection::Connection;
use events::Events;
use larder_engine::{
    Engine, EngineOptions, LinkState, Names, NoShards, Patterns, is_about_connection, spawn_background,
};
use link::Around;
use options::ReplicaOptions;
use parking_lot::Mutex;
use security::Security;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use url::Address;

/// What is kept of the stream: nobody follows this replica.
const BACKLOG: &str = "16kb";

/// Whether a write is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Until the replica has it, for this long at most: a read afterwards sees it.
    Own(Duration),
    /// Only until the primary has answered.
    Primary,
}

/// What a link does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkStatus {
    /// There is none, or it is being set up. After one that failed the next attempt comes within a second.
    Down,
    /// A snapshot comes, or is waited for.
    Synchronizing,
    /// The replica follows the stream.
    Up,
}

/// How a replica is doing.
#[derive(Clone, Debug)]
pub struct Status {
    /// What the link does.
    pub link: LinkStatus,
    /// The name of the history of the data, of 40 characters.
    pub history: String,
    /// Bytes of the stream that have been applied, since the history began.
    pub offset: u64,
    /// Bytes of the stream that have come; those beyond `offset` are not applied yet.
    pub received: u64,
    /// How often there was a snapshot.
    pub full_syncs: u64,
    /// How often the stream went on where the link before had ended.
    pub partial_syncs: u64,
    /// Why the last link ended, if one has.
    pub last_error: Option<String>,
}

/// A replica inside of the program. It ends when it is dropped; the [`Store`] of its data can be read on, and stays as it is.
pub struct Replica {
    store: Store,
    around: Arc<Around>,
    address: Address,
    security: Security,
    timeout: Duration,
    writer: Mutex<Option<Connection>>,
    thread: Option<JoinHandle<()>>,
}

impl Replica {
    /// A replica of the primary of an address, as `redis://user:password@host:port/database`, with all its keys. (`rediss://`, TLS, takes [options](ReplicaOptions::authorities).) Returns when the data is there.
    ///
    /// # Errors
    /// The address is wrong; or the data has not come within a minute.
    pub fn connect(url: &str) -> Result<Replica> {
        Replica::connect_with(url, &ReplicaOptions::new())
    }

    /// The same with options.
    ///
    /// # Errors
    /// The address or an option is wrong (a directory is one that a replica has not), the system starts no thread, or the data has not come in time: then the text says why the last
    /// link ended.
    pub fn connect_with(url: &str, options: &ReplicaOptions) -> Result<Replica> {
        let address = Address::parse(url)?;
        let security = Security::of(&address, options)?;
        let engine = engine(&address, options)?;
        let patterns = (!options.patterns.is_empty())
            .then(|| Arc::new(Patterns::new(options.patterns.iter().map(Vec::as_slice))));
        let around = Arc::new(Around::new(patterns, security.clone()));
        let store = Store::around(Arc::clone(&engine))?.database(address.db);
        let followed = Arc::clone(&around);
        let thread =
            spawn_background("larder-link", move |may_wait| larder_link::run(&followed, &engine, may_wait));
        let replica = Replica {
            store,
            around,
            address,
            security,
            timeout: Duration::from_secs(options.timeout_s),
            writer: Mutex::new(None),
            thread: Some(thread.map_err(Error::Thread)?),
        };
        if replica.around.wait(options.patience, |facts| facts.full_syncs > 0) {
            return Ok(replica);
        }
        let reason = replica.around.facts.lock().last_error.clone();
        Err(Error::Connection(std::io::Error::new(
            std::io::ErrorKind::TimedOut,
            reason.unwrap_or_else(|| "the snapshot did not arrive in time".to_owned()),
        )))
    }

    /// The data, in the database of the address. Writes are refused there: `READONLY`.
    pub fn data(&self) -> &Store {
        &self.store
    }

    /// News of changes; as [`Store::events`]. After a snapshot everything may have changed.
    ///
    /// # Errors
    /// The system starts no thread.
    pub fn events<A: AsRef<[u8]>>(&self, patterns: &[A], capacity: usize) -> Result<Events> {
        self.store.events(patterns, capacity)
    }

    /// Executes a command on the primary. Writes of several threads go one after the other.
    ///
    /// # Errors
    /// [`Error::Command`]: the primary refuses it. [`Error::Connection`]: it may have been executed, or not. [`Error::Executed`]: it was
    /// executed, but the primary has not said where its stream ends. [`Error::Timeout`]: it was executed, and has not come back in time.
    pub fn write<A: AsRef<[u8]>>(&self, words: &[A], wait: Wait) -> Result<Reply> {
        let words: Vec<&[u8]> = words.iter().map(AsRef::as_ref).collect();
        let name = words.first().copied().unwrap_or_default();
        if is_about_connection(name, words.get(1).copied()) {
            let name = String::from_utf8_lossy(name).to_lowercase();
            return Err(Error::Command(format!(
                "ERR '{name}' is about a connection, and cannot be forwarded"
            )));
        }
        let asked: &[&[u8]] = &[b"INFO", b"replication"];
        let commands: &[&[&[u8]]] = match wait {
            Wait::Own(_) => &[&words, asked],
            Wait::Primary => &[&words],
        };
        let (reply, info) = self.ask(commands)?;
        if let Reply::Error(text) = reply {
            return Err(Error::Command(text));
        }
        let Wait::Own(patience) = wait else { return Ok(reply) };
        match info.unwrap_or(Err(Error::Protocol)).and_then(|info| place_of(&info)) {
            Ok(place) => self.wait_for(&place, patience).map(|()| reply),
            Err(reason) => Err(Error::Executed { reply, reason: Box::new(reason) }),
        }
    }

    /// Sends commands to the primary on the connection that is kept for that. Returns the first reply, and the second if there is to be one: what
    /// happens after the first does not make it undone.
    fn ask(&self, commands: &[&[&[u8]]]) -> Result<(Reply, Option<Result<Reply>>)> {
        let mut writer = self.writer.lock();
        // One that has failed is not kept.
        let mut connection = match writer.take().filter(Connection::is_quiet) {
            Some(connection) => connection,
            None => Connection::open(&self.address, &self.security, self.timeout)?,
        };
        connection.send(commands)?;
        let first = connection.reply()?;
        let second = commands.get(1).map(|_| connection.reply());
        if !matches!(second, Some(Err(_))) {
            *writer = Some(connection);
        }
        Ok((first, second))
    }

    fn wait_for(&self, (history, offset): &(String, u64), patience: Duration) -> Result<()> {
        let engine = self.store.engine();
        let has_come = self.around.wait(patience, |_| {
            let (own, end) = engine.history();
            own == *history && end >= *offset
        });
        if has_come { Ok(()) } else { Err(Error::Timeout("the write did not arrive at this replica")) }
    }

    /// How the replica is doing.
    pub fn status(&self) -> Status {
        let engine = self.store.engine();
        let (history, offset) = engine.history();
        let (link, received) = {
            let state = engine.replication().state();
            state
                .upstream
                .as_ref()
                .map_or((LinkState::Connect, 0), |upstream| (upstream.link, upstream.received))
        };
        let facts = self.around.facts.lock().clone();
        Status {
            link: match link {
                LinkState::Connected => LinkStatus::Up,
                LinkState::Transfer => LinkStatus::Synchronizing,
                LinkState::Connect | LinkState::Connecting | LinkState::Handshake => LinkStatus::Down,
            },
            history,
            offset,
            received: received.max(offset),
            full_syncs: facts.full_syncs,
            partial_syncs: facts.partial_syncs,
            last_error: facts.last_error,
        }
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.around.stop();
        self.store.engine().replication().wake_link();
        if let Some(thread) = self.thread.take() {
            // One that has panicked has said so.
            let _: std::thread::Result<()> = thread.join();
        }
    }
}

/// An engine that follows the primary of an address as soon as there is a link.
fn engine(address: &Address, options: &ReplicaOptions) -> Result<Arc<Engine>> {
    if options.store.directory.is_some() {
        let reason = "a replica has no files".to_owned();
        return Err(Error::Option { name: "directory".to_owned(), reason });
    }
    let place = format!("{} {}", address.host, address.port);
    let timeout = options.timeout_s.to_string();
    let config = options.store.config_with(&[
        ("repl-backlog-size", BACKLOG),
        ("repl-timeout", &timeout),
        ("primaryuser", &address.user),
        ("primaryauth", &address.password),
        ("replicaof", &place),
    ])?;
    let engine = Engine::new(EngineOptions {
        config: Arc::new(config),
        host: Arc::new(EmbeddedHost::new(options.store.listener.clone())),
        threads: 1,
        names: Names::default(),
    });
    let turn = engine
        .try_take_turn(NoShards::outside_commands())
        .map_err(|_| Error::Timeout("no script is running yet"))?;
    engine.follow_configured(&turn);
    drop(turn);
    Ok(engine)
}

/// The history of the primary, and where its stream ends.
fn place_of(info: &Reply) -> Result<(String, u64)> {
    if let Reply::Error(text) = info {
        return Err(Error::Command(text.clone()));
    }
    let text = String::from_utf8_lossy(info.as_bytes().ok_or(Error::Protocol)?);
    let field = |name: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':').map(|value| value.trim().to_owned()))
    };
    let offset = field("master_repl_offset").and_then(|offset| offset.parse().ok());
    field("master_replid").zip(offset).ok_or(Error::Protocol)
}
