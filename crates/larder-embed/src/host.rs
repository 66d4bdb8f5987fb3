//! The process around the engine: a program that has no files, sockets or log for it.

use larder_engine::{
    ApplyError, ConfigHost, CpuTimes, HostMemory, LogHost, LogLevel, Logged, MemoryHost, PeerHost,
    ProcessHost, SavingHost, ShutdownFlags,
};
use std::io;

/// Says what can be said, and refuses the rest.
pub struct EmbeddedHost;

impl ConfigHost for EmbeddedHost {
    fn apply_config(&self, _name: &str, _value: &str) -> Result<(), ApplyError> {
        Err(ApplyError::System(io::Error::from(io::ErrorKind::Unsupported).into()))
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
    fn shutdown(&self, _flags: ShutdownFlags) -> Result<(), Logged> {
        Err(Logged)
    }
}
