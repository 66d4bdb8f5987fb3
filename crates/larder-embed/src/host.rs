//! The process around the engine: a program that has no files, sockets or log for it.

use larder_engine::{
    ApplyError, ConfigHost, CpuTimes, Exchange, ExchangeError, HostMemory, LogHost, LogLevel, Logged,
    MemoryHost, PeerHost, ProcessHost, ReloadError, RewriteError, SavingHost, ShutdownFlags, SystemError,
};
use std::io;

/// Says what can be said, and refuses the rest.
pub struct EmbeddedHost;

fn no_files() -> SystemError {
    io::Error::new(io::ErrorKind::Unsupported, "there are no files in a library").into()
}

impl ConfigHost for EmbeddedHost {
    fn apply_config(&self, _name: &str, _value: &str) -> Result<(), ApplyError> {
        Err(ApplyError::System(no_files()))
    }

    fn config_file(&self) -> String {
        String::new()
    }

    fn rewrite_config(&self, _users: &[String], _all: bool) -> Result<(), RewriteError> {
        Err(RewriteError::NoFile)
    }

    fn read_acl_file(&self, _path: &str) -> Result<Vec<u8>, SystemError> {
        Err(no_files())
    }

    fn write_acl_file(&self, _path: &str, _text: &[u8]) -> Result<(), SystemError> {
        Err(no_files())
    }
}

impl LogHost for EmbeddedHost {
    fn log(&self, _level: LogLevel, _text: &str) {}
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

impl PeerHost for EmbeddedHost {
    fn exchange(&self, _exchange: &Exchange<'_>) -> Result<Vec<String>, ExchangeError> {
        Err(ExchangeError::Connecting)
    }
}

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
    fn save(&self) -> Result<(), Logged> {
        Err(Logged)
    }

    fn save_in_background(&self, _now: bool) {}

    fn flushed(&self) {}

    fn rewrite_log_in_background(&self) {}

    fn reload(&self, _save: bool, _flush: bool, _merge: bool) -> Result<(), ReloadError> {
        Err(ReloadError::RdbFile)
    }

    fn reload_log(&self) -> Result<(), ReloadError> {
        Err(ReloadError::AppendOnlyFile)
    }

    fn shutdown(&self, _flags: ShutdownFlags) -> Result<(), Logged> {
        Err(Logged)
    }
}
