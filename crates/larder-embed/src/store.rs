//! An engine inside of the program: commands are calls.
//!
//! A call borrows a *seat* (a worker of the engine and a session), executes its command on the calling thread, and reads the reply. There
//! are a few times as many seats as processors; a thread has one that it takes first, so that threads do not meet. A thread of the store
//! does what time brings (expiry), another one runs scripts, which need a large stack, and a third tells of changes; the last two are started
//! when they are needed first. All end with the last handle.

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
use larder_engine::{Cron, Engine, EngineOptions, Names, spawn_background};
use larder_resp::OwnedArgs;
use options::Options;
use parking_lot::{Condvar, Mutex};
use scripts::Scripts;
use seats::Seats;
use std::sync::Arc;
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
    _timer: Timer,
}

impl Store {
    /// An empty store in memory.
    ///
    /// # Errors
    /// The system starts no thread.
    pub fn in_memory() -> Result<Store> {
        Store::open(&Options::new())
    }

    /// An empty store in memory with options.
    ///
    /// # Errors
    /// An option is unknown, wrong, or not one of a library; or the system starts no thread.
    pub fn open(options: &Options) -> Result<Store> {
        let config = options.config()?;
        let engine = Engine::new(EngineOptions {
            config: Arc::new(config),
            host: Arc::new(EmbeddedHost),
            threads: 1,
            names: Names::default(),
        });
        Store::around(engine)
    }

    /// Around an engine that has been made.
    pub(crate) fn around(engine: Arc<Engine>) -> Result<Store> {
        let inner = Inner {
            seats: Seats::new(),
            scripts: Scripts::default(),
            hub: Hub::default(),
            _timer: Timer::start(&engine)?,
            engine,
        };
        Ok(Store { inner: Arc::new(inner), db: 0 })
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
        let may_run_script = inner.seats.with(&inner.engine, |seat| seat.may_run_script(words.clone()));
        if may_run_script {
            let reply = inner.scripts.run(&inner.engine, self.db, vec![words.collect()])?;
            return whole(&reply);
        }
        inner.seats.with(&inner.engine, |seat| whole(seat.run(self.db, words)))
    }

    /// Executes a command, and writes the reply as bytes of RESP3 into `reply`, instead of what was there: [`Raw`] reads them. For those who make
    /// something of their own of it. An error is a reply like any other here.
    ///
    /// # Errors
    /// The thread for scripts cannot be started.
    pub fn command_into<A: AsRef<[u8]>>(&self, words: &[A], reply: &mut Vec<u8>) -> Result<()> {
        let words = words.iter().map(AsRef::as_ref);
        let inner = &*self.inner;
        let may_run_script = inner.seats.with(&inner.engine, |seat| {
            let may_run_script = seat.may_run_script(words.clone());
            if !may_run_script {
                seat.run_into(self.db, words.clone(), reply);
            }
            may_run_script
        });
        if may_run_script {
            *reply = inner.scripts.run(&inner.engine, self.db, vec![words.collect()])?;
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
        let may_run_script = inner.seats.with(&inner.engine, |seat| {
            commands.iter().any(|command| seat.may_run_script(command.as_args().iter()))
        });
        let reply = if may_run_script {
            whole(&inner.scripts.run_transaction(&inner.engine, self.db, commands)?)
        } else {
            inner.seats.with(&inner.engine, |seat| whole(seat.run_transaction(self.db, &commands)))
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
        self.inner.hub.subscribe(&self.inner.engine, patterns.iter().map(AsRef::as_ref), capacity)
    }

    /// The fields of a hash; none if there is no such key.
    fn hash(&self, key: &[u8]) -> Result<Fields> {
        let inner = &*self.inner;
        inner.seats.with(&inner.engine, |seat| {
            seat.hash(self.db, key).map(Option::unwrap_or_default).map_err(error_of)
        })
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
        let inner = &*self.inner;
        inner
            .seats
            .with(&inner.engine, |seat| take(Raw::new(seat.run(self.db, words.iter().copied().chain(more)))?))
    }
}

/// A whole reply as a tree.
fn whole(bytes: &[u8]) -> Result<Reply> {
    Raw::new(bytes)?.tree()
}

/// The thread that looks after the engine ten times a second.
struct Timer {
    stop: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Timer {
    fn start(engine: &Arc<Engine>) -> Result<Timer> {
        let stop = Arc::new((Mutex::new(false), Condvar::new()));
        let (engine, ends) = (Arc::clone(engine), Arc::clone(&stop));
        let thread = spawn_background("larder-embed", move |_| {
            let mut cron = Cron::new(&engine);
            let (stop, changed) = &*ends;
            let mut stop = stop.lock();
            while !*stop {
                changed.wait_for(&mut stop, TICK);
                if !*stop {
                    parking_lot::MutexGuard::unlocked(&mut stop, || cron.tick());
                }
            }
        });
        Ok(Timer { stop, thread: Some(thread.map_err(Error::Thread)?) })
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        *self.stop.0.lock() = true;
        self.stop.1.notify_all();
        if let Some(thread) = self.thread.take() {
            // One that has panicked has said so.
            let _: std::thread::Result<()> = thread.join();
        }
    }
}
