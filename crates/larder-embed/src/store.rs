//! An engine inside of the program: commands are calls.
//!
//! A call borrows a *seat* (a worker of the engine and a session), executes its command on the calling thread, and reads the reply. There
//! are a few times as many seats as processors; a thread has one that it takes first, so that threads do not meet. A thread of the store
//! does what time brings (expiry), another one runs scripts, which need a large stack, and a third tells of changes; the last two are started
//! when they are needed first. A store with a directory has those that write its files ([`files`]). All end with the last handle.

mod client;
pub mod connection;
mod files;
mod hashes;
pub mod keys;
mod lists;
pub mod options;
mod scripts;
mod seats;
mod sets;
mod sorted_sets;
mod strings;

use crate::error::{Error, Result};
use crate::host::EmbeddedHost;
use crate::replica::events::{Events, Hub};
use crate::reply::Reply;
use crate::reply::fields::Fields;
use crate::reply::raw::{Raw, error_of};
use client::Idle;
use files::{Files, Keeps};
use larder_engine::{Cron, Engine, EngineOptions, Host, Names, Permit, spawn_background};
use larder_persist::Persist;
use larder_resp::OwnedArgs;
use options::Options;
use parking_lot::{Condvar, Mutex};
use scripts::Scripts;
use seats::{Seat, Seats};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Between two looks at what time brings.
const TICK: Duration = Duration::from_millis(100);

/// A data store inside of the program. Clones are handles on the same data; each has the database that it works in.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
    db: usize,
}

/// What the handles share.
struct Inner {
    engine: Arc<Engine>,
    seats: Seats,
    scripts: Scripts,
    hub: Hub,
    timer: Timer,
    files: Option<Files>,
    /// Workers of connections that have closed, for the next ones.
    idle: Mutex<Vec<Idle>>,
    /// Whether it was closed; changed while `closing` is held.
    is_closed: AtomicBool,
    closing: Mutex<()>,
}

impl Store {
    /// An empty store in memory.
    ///
    /// # Errors
    /// The system starts no thread.
    pub fn in_memory() -> Result<Store> {
        Store::open(&Options::new())
    }

    /// A store with options: an empty one in memory; or one that has what the files of its directory have, where changes are kept.
    ///
    /// # Errors
    /// An option is unknown, wrong, or not one of a library; the directory is in use, or cannot be used; one of its files is damaged; or the
    /// system starts no thread.
    pub fn open(options: &Options) -> Result<Store> {
        let config = options.config()?;
        let host = Arc::new(EmbeddedHost::new(options.listener.clone()));
        let engine = Engine::new(EngineOptions {
            config: Arc::new(config),
            host: Arc::clone(&host) as Arc<dyn Host>,
            threads: 1,
            names: Names::default(),
        });
        let keeps = Keeps { saves_at_end: options.saves_at_end, implies_log: options.implies_log() };
        let open = |directory| Files::open(&engine, &host, directory, keeps);
        let files = options.directory.as_deref().map(open).transpose()?;
        Store::of(engine, files)
    }

    /// Around an engine that has been made.
    pub(crate) fn around(engine: Arc<Engine>) -> Result<Store> {
        Store::of(engine, None)
    }

    fn of(engine: Arc<Engine>, files: Option<Files>) -> Result<Store> {
        let permit = if files.is_some() { Permit::DataAndFiles } else { Permit::Data };
        let inner = Inner {
            seats: Seats::new(permit),
            scripts: Scripts::new(permit),
            hub: Hub::default(),
            timer: Timer::start(&engine, files.as_ref().map(Files::persist))?,
            files,
            idle: Mutex::default(),
            is_closed: AtomicBool::new(false),
            closing: Mutex::default(),
            engine,
        };
        Ok(Store { inner: Arc::new(inner), db: 0 })
    }

    /// Waits until everything that was written is on the disk, whatever `appendfsync` says. Without an append-only file there is nothing to wait
    /// for.
    ///
    /// # Errors
    /// [`Error::Write`]: the append-only file cannot be written at the moment.
    pub fn sync(&self) -> Result<()> {
        self.inner.check_open()?;
        self.inner.files.as_ref().map_or(Ok(()), Files::sync)
    }

    /// Closes the store, for all handles: calls are answered by [`Error::Closed`] from now on. Before that the append-only file is on the disk,
    /// and the data is saved if that is [asked for](Options::save_on_close), or there are save points. Others may open the directory then. The
    /// same happens when the last handle is dropped, but then nobody is told of errors. A script that is running is ended, and is not kept.
    ///
    /// # Errors
    /// [`Error::Write`]: not everything could be kept. The store stays open.
    pub fn close(&self) -> Result<()> {
        let inner = &*self.inner;
        let _turn = inner.closing.lock();
        if inner.is_closed.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        inner.end(false).inspect_err(|_| inner.is_closed.store(false, Ordering::Relaxed))
    }

    /// The engine.
    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.inner.engine
    }

    /// A handle that works in another database. Commands fail there if there is none of this number.
    pub fn database(&self, db: usize) -> Store {
        Store { inner: Arc::clone(&self.inner), db }
    }

    /// Executes a command: any that is about data (docs/embed.md says which are not).
    ///
    /// # Errors
    /// [`Error::Command`] with the text of the error reply.
    pub fn command<A: AsRef<[u8]>>(&self, words: &[A]) -> Result<Reply> {
        let words = words.iter().map(AsRef::as_ref);
        let inner = &*self.inner;
        if inner.with(|seat| seat.may_run_script(words.clone()))? {
            let ran = inner.scripts.run(&inner.engine, self.db, vec![words.collect()])?;
            return whole(&inner.kept(ran)?);
        }
        inner.with(|seat| whole(seat.run(self.db, words)))?
    }

    /// Executes a command, and writes the reply as bytes of RESP3 into `reply`, instead of what was there: [`Raw`] reads them. For those who make
    /// something of their own of it. An error is a reply like any other here.
    ///
    /// # Errors
    /// The thread for scripts cannot be started.
    pub fn command_into<A: AsRef<[u8]>>(&self, words: &[A], reply: &mut Vec<u8>) -> Result<()> {
        let words = words.iter().map(AsRef::as_ref);
        let inner = &*self.inner;
        let may_run_script = inner.with(|seat| {
            let may_run_script = seat.may_run_script(words.clone());
            if !may_run_script {
                seat.run_into(self.db, words.clone(), reply);
            }
            may_run_script
        })?;
        if may_run_script {
            let ran = inner.scripts.run(&inner.engine, self.db, vec![words.collect()])?;
            *reply = inner.kept(ran)?;
        }
        Ok(())
    }

    /// Executes commands as one transaction: nobody sees a part of it. Returns the reply to each; one that failed is [`Reply::Error`].
    ///
    /// # Errors
    /// A command cannot be called at all (there is none of its name, or it has too few arguments): then none is executed.
    pub fn transaction<A: AsRef<[u8]>>(&self, commands: &[&[A]]) -> Result<Vec<Reply>> {
        let inner = &*self.inner;
        let owned = |words: &&[A]| words.iter().map(AsRef::as_ref).collect::<OwnedArgs>();
        let commands: Vec<OwnedArgs> = commands.iter().map(owned).collect();
        let may_run_script = inner
            .with(|seat| commands.iter().any(|command| seat.may_run_script(command.as_args().iter())))?;
        let reply = if may_run_script {
            let ran = inner.scripts.run_transaction(&inner.engine, self.db, commands)?;
            whole(&inner.kept(ran)?)
        } else {
            inner.with(|seat| whole(seat.run_transaction(self.db, &commands)))?
        };
        match reply? {
            Reply::Array(replies) => Ok(replies),
            _ => Err(Error::Form),
        }
    }

    /// Tells of every change of keys that match one of these patterns; of all if there is none. At most `capacity` events wait: beyond
    /// that one takes the place of all, which says that everything may have changed.
    ///
    /// # Errors
    /// The system starts no thread.
    pub fn events<A: AsRef<[u8]>>(&self, patterns: &[A], capacity: usize) -> Result<Events> {
        self.inner.check_open()?;
        self.inner.hub.subscribe(&self.inner.engine, patterns.iter().map(AsRef::as_ref), capacity)
    }

    /// The fields of a hash; none if there is no such key.
    fn hash(&self, key: &[u8]) -> Result<Fields> {
        self.inner.with(|seat| seat.hash(self.db, key).map(Option::unwrap_or_default).map_err(error_of))?
    }

    /// Executes a command whose reply `take` reads.
    fn ask<R>(&self, words: &[&[u8]], take: impl FnOnce(Raw<'_>) -> Result<R>) -> Result<R> {
        self.ask_many(words, std::iter::empty(), take)
    }

    /// The same, with further arguments.
    fn ask_many<'w, R>(
        &self,
        words: &[&'w [u8]],
        more: impl Iterator<Item = &'w [u8]>,
        take: impl FnOnce(Raw<'_>) -> Result<R>,
    ) -> Result<R> {
        self.inner.with(|seat| take(Raw::new(seat.run(self.db, words.iter().copied().chain(more)))?))?
    }
}

impl Inner {
    fn check_open(&self) -> Result<()> {
        if self.is_closed.load(Ordering::Relaxed) { Err(Error::Closed) } else { Ok(()) }
    }

    /// Calls with a seat, and keeps what the call has changed before this returns.
    fn with<R>(&self, call: impl FnOnce(&mut Seat) -> R) -> Result<R> {
        self.check_open()?;
        self.kept(self.seats.with(&self.engine, call))
    }

    /// An outcome that may be returned: what it tells of is kept up to an end in the log.
    fn kept<R>(&self, (outcome, end): (R, Option<u64>)) -> Result<R> {
        match (&self.files, end) {
            (Some(files), Some(end)) => files.keep(end).map(|()| outcome),
            _ => Ok(outcome),
        }
    }

    /// Keeps what is to be kept, and ends the threads; after an error only `at_any_cost`.
    fn end(&self, at_any_cost: bool) -> Result<()> {
        let closed = self.files.as_ref().map_or(Ok(()), |files| files.close(at_any_cost));
        if closed.is_err() && !at_any_cost {
            return closed;
        }
        // Either ends a script that is running, for which the timer may wait.
        match &self.files {
            Some(files) => files.end(),
            None => self.engine.abandon_scripts(),
        }
        self.timer.end();
        closed
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if !self.is_closed.load(Ordering::Relaxed) {
            // Nobody is there to be told.
            let _ = self.end(true);
        }
    }
}

/// A whole reply as a tree.
fn whole(bytes: &[u8]) -> Result<Reply> {
    Raw::new(bytes)?.tree()
}

/// The thread that looks after the engine and its files ten times a second.
struct Timer {
    stop: Arc<(Mutex<bool>, Condvar)>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Timer {
    fn start(engine: &Arc<Engine>, persist: Option<&Arc<Persist>>) -> Result<Timer> {
        let stop = Arc::new((Mutex::new(false), Condvar::new()));
        let (engine, persist, ends) = (Arc::clone(engine), persist.cloned(), Arc::clone(&stop));
        let thread = spawn_background("larder-embed", move |_| {
            let mut cron = Cron::new(&engine);
            let (stop, changed) = &*ends;
            let mut stop = stop.lock();
            while !*stop {
                changed.wait_for(&mut stop, TICK);
                if !*stop {
                    parking_lot::MutexGuard::unlocked(&mut stop, || {
                        cron.tick();
                        if let Some(persist) = &persist {
                            persist.cron();
                        }
                    });
                }
            }
        });
        Ok(Timer { stop, thread: Mutex::new(Some(thread.map_err(Error::Thread)?)) })
    }

    fn end(&self) {
        *self.stop.0.lock() = true;
        self.stop.1.notify_all();
        if let Some(thread) = self.thread.lock().take() {
            // One that has panicked has said so.
            let _: std::thread::Result<()> = thread.join();
        }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.end();
    }
}
