//! What the threads of the server share, beside the engine: the log, the way to each worker, the listeners, and
//! whether it is time to stop.

use crate::connection::Arrival;
use crate::listen::{Listener, Place, Security};
use crate::log::Log;
use crate::long::queue::{Done, LongQueue};
use crate::peer::Peers;
use crate::replication::outlets::Outlets;
use crate::supervise::Supervisor;
use crate::tls;
use larder_engine::config::Config;
use larder_engine::{Engine, ShutdownFlags};
use larder_persist::DirLock;
use larder_tls::PeerLink;
use mio::{Interest, Registry, Token, Waker};
use parking_lot::{Condvar, Mutex};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

/// Shared by all threads.
pub struct Shared {
    /// The options.
    pub config: Arc<Config>,
    /// The log.
    pub log: Log,
    /// The configuration file.
    pub config_file: Option<PathBuf>,
    /// Connections that are open or on their way to a worker.
    pub connections: AtomicUsize,
    /// One for each worker.
    posts: OnceLock<Vec<Post>>,
    /// Where worker 0 accepts connections.
    pub listeners: Mutex<Listeners>,
    /// The engine, once it is made.
    pub engine: OnceLock<Arc<Engine>>,
    /// TLS as configured.
    pub tls: tls::Context,
    /// Connections to other servers.
    pub peers: Peers,
    /// Commands that take long.
    pub long: LongQueue,
    /// Sockets of replicas.
    pub outlets: Arc<Outlets>,
    /// The link to the primary, while there is one.
    pub upstream: Mutex<Weak<PeerLink>>,
    /// The directory of the files is in use by this server.
    pub dir_lock: Mutex<Option<DirLock>>,
    /// Who supervises the process; told before anything is served.
    pub supervisor: OnceLock<Supervisor>,
    /// Held by the thread that shuts the server down.
    pub shutdown_turn: Mutex<()>,
    /// A signal has asked for the end, and a thread is at it.
    pub shutdown_asked: AtomicBool,
    stopping: AtomicBool,
    stop: Mutex<Option<ShutdownFlags>>,
    stopped: Condvar,
}

/// The way to one worker.
pub struct Post {
    /// Wakes its event loop.
    pub waker: Arc<Waker>,
    /// Connections it is to take over.
    pub arrivals: Mutex<Vec<Arrival>>,
    /// Connections of its own that come back from [`Shared::long`].
    pub returns: Mutex<Vec<Done>>,
    /// It holds replies back until the log is safe, or other workers have sent what comes before.
    pub holds: AtomicBool,
    /// Its thread, as the kernel counts; 0 until it runs.
    pub thread: AtomicI32,
    /// When the iteration of its event loop began, in ms since 1970; 0 while it waits for events.
    pub busy_since_ms: AtomicU64,
}

/// The listening sockets and the event loop they belong to.
#[derive(Default)]
pub struct Listeners {
    registry: Option<Registry>,
    open: Vec<(Token, Listener)>,
    /// Where the TCP sockets among them listen, for each [`Security`].
    places: [Place; 2],
    next_token: usize,
}

/// Tokens from here on are listeners.
pub const FIRST_LISTENER: usize = usize::MAX / 2;

impl Shared {
    /// Before any thread is started.
    pub fn new(config: Arc<Config>, log: Log, config_file: Option<PathBuf>) -> Shared {
        Shared {
            config,
            log,
            config_file,
            connections: AtomicUsize::new(0),
            posts: OnceLock::new(),
            listeners: Mutex::default(),
            engine: OnceLock::new(),
            tls: tls::Context::default(),
            peers: Peers::default(),
            long: LongQueue::default(),
            outlets: Arc::default(),
            upstream: Mutex::new(Weak::new()),
            dir_lock: Mutex::default(),
            supervisor: OnceLock::new(),
            shutdown_turn: Mutex::default(),
            shutdown_asked: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
            stop: Mutex::new(None),
            stopped: Condvar::new(),
        }
    }

    /// Who supervises the process.
    pub fn supervisor(&self) -> Supervisor {
        self.supervisor.get().copied().unwrap_or(Supervisor::None)
    }

    /// Makes the workers known.
    pub fn set_posts(&self, posts: Vec<Post>) {
        assert!(self.posts.set(posts).is_ok(), "the workers are made once");
    }

    /// The ways to the workers; none before they are made.
    pub fn posts(&self) -> &[Post] {
        self.posts.get().map_or(&[], Vec::as_slice)
    }

    /// Asks all threads to stop. Only the first call counts.
    pub fn request_stop(&self, flags: ShutdownFlags) {
        let mut stop = self.stop.lock();
        if stop.is_some() {
            return;
        }
        *stop = Some(flags);
        self.stopping.store(true, Ordering::Release);
        self.stopped.notify_all();
        if let Some(engine) = self.engine.get() {
            engine.replication().wake_link();
        }
        self.wake_workers();
    }

    /// More of the log is safe: wakes the workers that hold replies back.
    pub fn wake_holders(&self) {
        for post in self.posts() {
            if post.holds.load(Ordering::SeqCst) {
                let _ = post.waker.wake();
            }
        }
    }

    /// Wakes all workers.
    pub fn wake_workers(&self) {
        for post in self.posts() {
            let _ = post.waker.wake();
        }
    }

    /// Whether the threads are to stop.
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Waits until the threads are to stop, `timeout` at most; says whether they are.
    pub fn wait_for_stop(&self, timeout: Duration) -> bool {
        let mut stop = self.stop.lock();
        if stop.is_none() {
            self.stopped.wait_for(&mut stop, timeout);
        }
        stop.is_some()
    }
}

impl Listeners {
    /// Names the event loop that accepts, and registers what is open.
    pub fn set_registry(&mut self, registry: Registry) -> io::Result<()> {
        self.registry = Some(registry);
        for (token, listener) in &mut self.open {
            register(self.registry.as_ref(), *token, listener)?;
        }
        Ok(())
    }

    /// Takes a socket in.
    pub fn add(&mut self, mut listener: Listener) -> io::Result<()> {
        let token = Token(FIRST_LISTENER + self.next_token);
        self.next_token += 1;
        register(self.registry.as_ref(), token, &mut listener)?;
        self.open.push((token, listener));
        Ok(())
    }

    /// Takes in the TCP sockets of a place.
    pub fn add_tcp(&mut self, place: Place, listeners: Vec<Listener>) -> io::Result<()> {
        let security = place.security();
        self.places[security as usize] = place;
        listeners.into_iter().try_for_each(|listener| self.add(listener))
    }

    /// Closes the TCP sockets of a kind and says where they were.
    pub fn close_tcp(&mut self, security: Security) -> Place {
        self.open.retain(|(_, listener)| !matches!(listener, Listener::Tcp(_, kind) if *kind == security));
        std::mem::take(&mut self.places[security as usize])
    }

    /// Closes all sockets and returns the paths of unix sockets.
    pub fn close_all(&mut self) -> Vec<PathBuf> {
        let path = |(_, listener)| match listener {
            Listener::Tcp(..) => None,
            Listener::Unix(_, path) => Some(path),
        };
        self.open.drain(..).filter_map(path).collect()
    }

    /// All sockets.
    pub fn iter(&self) -> impl Iterator<Item = &Listener> {
        self.open.iter().map(|(_, listener)| listener)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }
}

fn register(registry: Option<&Registry>, token: Token, listener: &mut Listener) -> io::Result<()> {
    match (registry, listener) {
        (None, _) => Ok(()),
        (Some(registry), Listener::Tcp(socket, _)) => registry.register(socket, token, Interest::READABLE),
        (Some(registry), Listener::Unix(socket, _)) => registry.register(socket, token, Interest::READABLE),
    }
}
