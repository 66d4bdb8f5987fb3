//! Scripts: what all threads share of them, and each thread's interpreter.
//!
//! A thread compiles the scripts that it runs into a Lua state of its own; the texts are shared. `redis.call` goes the
//! way of every command from the check of its arguments on; what it writes as its reply becomes a Lua value.
//!
//! **Atomicity.** A script holds the shards of its declared keys, as every command does, so that commands on other keys
//! go on. One that touches a key it has not declared locks all other shards at that moment ([`Shards::widen`]): it has
//! done half its work and cannot start again, so everybody else gives way. That can work for one script at a time only,
//! therefore scripts take turns: a [`ScriptTurn`] is taken before the shards, and by nobody who holds one.
//!
//! **Long scripts.** After `busy-reply-threshold` ms other commands are refused with `-BUSY` ([`running`]); the thread of
//! the script looks after its clients now and then (`Context::rounds`), so that somebody can send SCRIPT KILL.
//!
//! [`Shards::widen`]: crate::locks::Shards::widen
//! [`ScriptTurn`]: crate::locks::ScriptTurn

mod api;
mod beside;
mod cache;
mod convert;
mod debug;
mod header;
mod interpreter;
mod library;
mod load;
mod run;
mod running;

pub use beside::{Beside, Received};
pub(crate) use cache::{Script, ScriptCache, Sha, digest, sha_of};
pub(crate) use debug::{CopiedBytes, Mode, session as debug_session, wants_copy};
pub use debug::{Copy, Twin};
pub(crate) use header::{of_script, says_it_only_reads};
pub(crate) use library::{Clash, Libraries, Library};
pub(crate) use load::{find_library, load_library};
pub(crate) use run::{Invocation, Program, UNKNOWN, compile, run};
pub(crate) use running::Running;

use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What the threads share of scripts and functions.
#[derive(Default)]
pub(crate) struct Scripts {
    /// The script that runs.
    pub running: Running,
    cache: RwLock<ScriptCache>,
    libraries: RwLock<Arc<Libraries>>,
    /// Goes up whenever a script or a library goes away: threads then look at what they have compiled.
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
        *self.cache.write() = ScriptCache::default();
        self.generation.fetch_add(1, Relaxed);
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

    /// Goes up when something that threads may have compiled goes away.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Relaxed)
    }
}
