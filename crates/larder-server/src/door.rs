//! When connections are accepted.
//!
//! The sockets listen from the start on, so that connections are not refused, but the first event loop accepts them only when the data has been loaded, or
//! when loading takes long. Until then they wait in the kernel's queue. So it is in Valkey, which looks at its sockets after every
//! `loading-process-events-interval-bytes` of a file: a client that waits for the port meets `LOADING` only if there is much to load.
//!
//! Tested by `tests/start.rs`.

use crate::shared::Shared;
use larder_engine::Engine;
use mio::Registry;
use parking_lot::Mutex;
use std::io;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How often the progress of loading is looked at.
const LOOK: Duration = Duration::from_millis(5);
/// Clients do not wait longer than this to be told that the data is being loaded, also if the disk is slow.
const LONGEST: Duration = Duration::from_secs(1);

/// The event loop that is going to accept connections, until it does.
#[derive(Debug, Default)]
pub struct Door(Mutex<Option<Registry>>);

impl Door {
    /// Of the event loop with this registry.
    pub fn of(registry: Registry) -> Door {
        Door(Mutex::new(Some(registry)))
    }

    /// Accepts connections from now on.
    ///
    /// # Errors
    /// A socket cannot be watched.
    pub fn open(&self, shared: &Shared) -> io::Result<()> {
        match self.0.lock().take() {
            Some(registry) => shared.listeners.lock().set_registry(registry),
            None => Ok(()),
        }
    }

    /// Does `load`, and opens the door before it has ended if that takes long.
    pub fn open_when_it_takes_long<R>(
        &self,
        shared: &Shared,
        engine: &Engine,
        load: impl FnOnce() -> R,
    ) -> R {
        let (loads, is_over) = channel::<()>();
        thread::scope(|scope| {
            scope.spawn(move || self.watch(shared, engine, &is_over));
            let outcome = load();
            drop(loads);
            outcome
        })
    }

    fn watch(&self, shared: &Shared, engine: &Engine, is_over: &Receiver<()>) {
        let begun = Instant::now();
        let interval = shared.config.number("loading-process-events-interval-bytes") as u64;
        while is_over.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
            if engine.persistence().load.loaded_bytes.load(Relaxed) < interval && begun.elapsed() < LONGEST {
                continue;
            }
            if let Err(error) = self.open(shared) {
                shared
                    .log
                    .warning(&format!("Failed to accept connections while the data is loading: {error}"));
            }
            return;
        }
    }
}
