//! Scripts and libraries of functions as they are kept, and the one that runs.

pub(crate) mod cache;
pub(crate) mod declared;
pub(crate) mod header;
pub(crate) mod library;
pub(crate) mod running;
pub(crate) mod usual;

pub(crate) use cache::{Script, ScriptCache, Sha};
pub(crate) use library::{Clash, Libraries, Library};

use parking_lot::RwLock;
use running::Running;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use usual::FirstTimes;

/// What the threads share of scripts and functions.
#[derive(Default)]
pub(crate) struct Scripts {
    /// The script that runs.
    pub running: Running,
    /// How long those take that have never run.
    pub first_times: FirstTimes,
    cache: RwLock<ScriptCache>,
    libraries: RwLock<Arc<Libraries>>,
    /// What `math.random` draws from, in every thread's interpreter.
    pub generator: larder_lua::Generator,
    /// Goes up when all scripts go, or a library does: threads then look at what they have compiled. It does
    /// not when one script makes room for another.
    generation: AtomicU64,
    /// Bytes that the interpreters of all threads hold.
    pub vm_bytes: AtomicU64,
    /// How much of that the functions of libraries took when they were loaded.
    pub function_bytes: AtomicU64,
}

/// Scripts in the cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CacheUsage {
    /// Their number.
    pub count: usize,
    /// What they take.
    pub bytes: usize,
    /// How many have made place for others.
    pub evicted: u64,
}

impl Scripts {
    /// The script of this digest.
    pub(crate) fn find(&self, sha: &Sha) -> Option<Arc<Script>> {
        self.cache.read().find(sha)
    }

    /// Keeps a script. One that `stays` is kept until SCRIPT FLUSH; of others, the most recently used.
    pub(crate) fn add(&self, script: Script, stays: bool) -> Arc<Script> {
        self.cache.write().add(script, stays)
    }

    /// Forgets all scripts.
    pub(crate) fn flush(&self) {
        self.cache.write().clear();
        self.generation.fetch_add(1, Relaxed);
    }

    /// What CONFIG RESETSTAT forgets.
    pub(crate) fn reset_counters(&self) {
        self.cache.write().forget_evicted();
    }

    /// The scripts, to look at.
    pub(crate) fn with_cache<R>(&self, f: impl FnOnce(&ScriptCache) -> R) -> R {
        f(&self.cache.read())
    }

    /// How many scripts there are, and what they take.
    pub(crate) fn usage(&self) -> CacheUsage {
        let cache = self.cache.read();
        CacheUsage { count: cache.len(), bytes: cache.memory_bytes(), evicted: cache.evicted() }
    }

    /// The libraries as they are now.
    pub(crate) fn libraries(&self) -> Arc<Libraries> {
        Arc::clone(&self.libraries.read())
    }

    /// Adds a library, in the place of one of the same name if `replace`. O(log n) for n libraries, but O(n) if somebody
    /// looks at them at that moment.
    pub(crate) fn add_library(&self, library: Arc<Library>, replace: bool) -> Result<(), Clash> {
        let replaces = Arc::make_mut(&mut self.libraries.write()).add(library, replace)?;
        if replaces {
            self.generation.fetch_add(1, Relaxed);
        }
        Ok(())
    }

    /// Changes the libraries; nothing is changed if `change` fails.
    pub(crate) fn change_libraries<E>(
        &self,
        change: impl FnOnce(&mut Libraries) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut libraries = self.libraries.write();
        let mut new = Libraries::clone(&libraries);
        change(&mut new)?;
        *libraries = Arc::new(new);
        self.generation.fetch_add(1, Relaxed);
        Ok(())
    }

    /// Takes the libraries of another engine in the place of its own.
    pub(crate) fn take_libraries(&self, from: &Scripts) {
        *self.libraries.write() = Arc::clone(&from.libraries.read());
        self.generation.fetch_add(1, Relaxed);
    }

    /// Goes up when all scripts go, or a library does.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Relaxed)
    }
}
