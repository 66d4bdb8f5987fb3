//! The process around the engine: a program that has no sockets for it, and files only where a store has a directory.

use crate::store::options::{Listener, is_known};
use larder_engine::{
    ApplyError, ConfigHost, CpuTimes, HostMemory, LogHost, LogLevel, Logged, MemoryHost, NoShards, PeerHost,
    ProcessHost, SavingHost, ShutdownFlags,
};
use larder_persist::Persist;
use std::io;
use std::sync::{Arc, OnceLock, Weak};

/// Says what can be said, and refuses the rest.
pub struct EmbeddedHost {
    listener: Option<Listener>,
    /// The files of the store, which hold the engine and thereby this.
    persist: OnceLock<Weak<Persist>>,
}

impl EmbeddedHost {
    /// Without files. `listener` hears what goes to the log.
    pub fn new(listener: Option<Listener>) -> EmbeddedHost {
        EmbeddedHost { listener, persist: OnceLock::new() }
    }

    /// There are files. Only the first call counts.
    pub fn set_files(&self, persist: &Arc<Persist>) {
        let _ = self.persist.set(Arc::downgrade(persist));
    }

    fn persist(&self) -> Option<Arc<Persist>> {
        self.persist.get()?.upgrade()
    }
}

impl ConfigHost for EmbeddedHost {
    /// CONFIG SET may be called where there are files, and may set what may be set when a store is opened.
    fn apply_config(&self, name: &str, value: &str) -> Result<(), ApplyError> {
        match (name, self.persist()) {
            ("appendonly", Some(persist)) => persist.keep_log(value == "yes"),
            (name, Some(_)) if is_known(name) => Ok(()),
            _ => Err(io::Error::new(io::ErrorKind::Unsupported, "it is not supported in a library").into()),
        }
    }
}

impl LogHost for EmbeddedHost {
    fn log(&self, level: LogLevel, text: &str) {
        if let Some(Listener(hear)) = &self.listener {
            hear(level, text);
        }
    }
}

impl MemoryHost for EmbeddedHost {
    /// What is resident counts as used: the allocator is the program's, and so may be the memory.
    fn memory(&self) -> HostMemory {
        let rss = resident_bytes();
        let system_total = rustix::system::sysinfo();
        HostMemory {
            used: rss,
            rss,
            allocated: rss,
            active: rss,
            resident: rss,
            system_total: system_total.totalram.saturating_mul(u64::from(system_total.mem_unit)),
        }
    }

    fn purge(&self) {}

    fn malloc_stats(&self) -> String {
        String::new()
    }
}

/// Resident memory of the process, as the kernel says.
fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: Option<u64> = text.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0) * rustix::param::page_size() as u64
}

impl PeerHost for EmbeddedHost {}

impl ProcessHost for EmbeddedHost {
    fn cpu(&self) -> CpuTimes {
        CpuTimes::default()
    }

    fn os(&self) -> String {
        std::env::consts::OS.to_owned()
    }

    fn executable(&self) -> String {
        std::env::current_exe().map_or_else(|_| String::new(), |path| path.to_string_lossy().into_owned())
    }
}

impl SavingHost for EmbeddedHost {
    fn save(&self, no_shards: NoShards<'_>) -> Result<(), Logged> {
        let persist = self.persist().ok_or(Logged)?;
        persist.save_for_client(no_shards).map_err(|_| Logged)
    }

    fn save_in_background(&self, no_shards: Option<NoShards<'_>>) {
        if let Some(persist) = self.persist() {
            persist.save_in_background(no_shards);
        }
    }

    fn flushed(&self, no_shards: NoShards<'_>) {
        if let Some(persist) = self.persist() {
            persist.save_emptiness(no_shards);
        }
    }

    fn rewrite_log_in_background(&self) {
        if let Some(persist) = self.persist() {
            persist.rewrite_in_background();
        }
    }

    fn shutdown(&self, _flags: ShutdownFlags, _no_shards: NoShards<'_>) -> Result<(), Logged> {
        Err(Logged)
    }
}
