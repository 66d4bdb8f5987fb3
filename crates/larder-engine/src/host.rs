//! What the engine asks of the process around it.

mod error;

pub use error::{ApplyError, ExchangeError, Logged, ReloadError, RewriteError, SystemError};

use crate::ledger::NoShards;
use std::time::Duration;

/// A level of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// `.`
    Debug,
    /// `-`
    Verbose,
    /// `*`
    Notice,
    /// `#`
    Warning,
}

/// Memory as the allocator and the kernel see it, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct HostMemory {
    /// In use by the program.
    pub used: u64,
    /// Resident.
    pub rss: u64,
    /// Given out by the allocator.
    pub allocated: u64,
    /// Pages with something given out.
    pub active: u64,
    /// Pages mapped by the allocator.
    pub resident: u64,
    /// Memory of the machine.
    pub system_total: u64,
}

/// Memory that moving blocks could give back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fragmentation {
    /// Bytes of slabs that would not be needed if all blocks lay side by side.
    pub sparse: u64,
    /// Bytes in use by the program.
    pub used: u64,
}

/// Processor time in seconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct CpuTimes {
    /// In the kernel.
    pub sys: f64,
    /// In the program.
    pub user: f64,
    /// Of the first thread that serves clients: in the kernel.
    pub first_sys: f64,
    /// In the program.
    pub first_user: f64,
}

/// How DEBUG RELOAD loads the snapshot file again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReloadOptions {
    /// Whether the keyspace is saved first.
    pub save: bool,
    /// Whether the keyspace is emptied before the file is loaded.
    pub flush: bool,
    /// Whether libraries of functions that are there already are replaced by those of the file.
    pub merge: bool,
}

/// How to shut down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShutdownFlags {
    /// Save even when no save points are configured.
    pub save: bool,
    /// Do not save.
    pub nosave: bool,
    /// Do not wait for replicas.
    pub now: bool,
    /// Go on when saving fails.
    pub force: bool,
    /// Go on unless the server is a primary with slots in a cluster.
    pub safe: bool,
    /// Have a replica take the place of a primary in a cluster.
    pub failover: bool,
}

/// Commands for another server.
#[derive(Clone, Copy, Debug)]
pub struct Exchange<'a> {
    /// Host and port.
    pub address: &'a str,
    /// The words of AUTH, if there is one among the commands: who has the same may use the same connection.
    pub credentials: &'a [&'a [u8]],
    /// Whether the other server is talked to by TLS.
    pub tls: bool,
    /// For connecting, and for each time that nothing is sent or comes.
    pub timeout: Duration,
    /// The commands, which say themselves what database they are for.
    pub request: &'a [u8],
    /// How many replies will come, of one line each.
    pub replies: usize,
}

/// What INFO tells of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateFacts {
    /// The serial number in hexadecimal digits.
    pub serial: String,
    /// When it expires, in seconds since 1970.
    pub expires_s: i64,
}

/// The certificates that TLS is done with.
#[derive(Clone, Debug, Default)]
pub struct TlsCertificates {
    /// The server's own.
    pub server: Option<CertificateFacts>,
    /// The one for connections to other servers, if it is another.
    pub client: Option<CertificateFacts>,
    /// Of the authorities' the one that expires first.
    pub authority: Option<CertificateFacts>,
}

/// The process around the engine: everything that the engine asks of it.
pub trait Host: ConfigHost + LogHost + MemoryHost + PeerHost + ProcessHost + SavingHost {}

impl<T: ConfigHost + LogHost + MemoryHost + PeerHost + ProcessHost + SavingHost> Host for T {}

/// The options: their effect on the process, and the files that hold them and the users. By default there are no files.
pub trait ConfigHost: Send + Sync {
    /// Puts an option into effect that concerns sockets, the log or the process.
    fn apply_config(&self, name: &str, value: &str) -> Result<(), ApplyError>;
    /// Path of the configuration file; empty when there is none.
    fn config_file(&self) -> String {
        String::new()
    }
    /// Writes the configuration file again. `users` are the lines of the users, if they belong there. `all`: with the
    /// options that are as they are by default.
    fn rewrite_config(&self, _users: &[String], _all: bool) -> Result<(), RewriteError> {
        Err(RewriteError::NoFile)
    }
    /// Reads the ACL file.
    fn read_acl_file(&self, _path: &str) -> Result<Vec<u8>, SystemError> {
        Err(SystemError::no_files())
    }
    /// Writes the ACL file again, whole or not at all.
    fn write_acl_file(&self, _path: &str, _text: &[u8]) -> Result<(), SystemError> {
        Err(SystemError::no_files())
    }
    /// The certificates that TLS is done with.
    fn tls_certificates(&self) -> TlsCertificates {
        TlsCertificates::default()
    }
}

/// The server's log.
pub trait LogHost: Send + Sync {
    /// Writes to the log.
    fn log(&self, level: LogLevel, text: &str);

    /// Lines of the log say from now on whether they are a replica's.
    fn set_log_role(&self, _is_replica: bool) {}
}

/// The memory of the process.
pub trait MemoryHost: Send + Sync {
    /// Memory now.
    fn memory(&self) -> HostMemory;
    /// By how many bytes the calling thread has made the memory in use grow since it began: it is asked before every command
    /// while there is a limit, so it must be a matter of a few loads. 0 where that is not known.
    fn thread_growth(&self) -> i64 {
        0
    }
    /// Gives unused memory back to the kernel.
    fn purge(&self);
    /// Memory that moving blocks could give back. Nothing where that is not known.
    fn fragmentation(&self) -> Fragmentation {
        Fragmentation::default()
    }
    /// Has all threads give the free blocks back that they keep at hand: one of them can keep a whole slab.
    fn release_caches(&self) {}
    /// Prepares the calling thread for moving blocks: what it frees is not what it gets next.
    fn prepare_to_move(&self) {}
    /// The allocator's own report.
    fn malloc_stats(&self) -> String;
}

/// Other servers. By default none can be reached.
pub trait PeerHost: Send + Sync {
    /// Sends commands to another server, and returns the lines that it replies.
    fn exchange(&self, _exchange: &Exchange<'_>) -> Result<Vec<String>, ExchangeError> {
        Err(ExchangeError::Connecting)
    }
    /// How many connections to other servers are kept for the next exchange.
    fn kept_connections(&self) -> usize {
        0
    }
}

/// Facts about the process.
pub trait ProcessHost: Send + Sync {
    /// Processor time of the process.
    fn cpu(&self) -> CpuTimes;
    /// Name, release and processor of the operating system.
    fn os(&self) -> String;
    /// Path of the program.
    fn executable(&self) -> String;
    /// The commit that the program was built from, in hexadecimal digits, and the number of the build.
    fn build(&self) -> (&'static str, &'static str) {
        ("00000000", "0000000000000000")
    }
    /// Who supervises the process, as INFO shows it.
    fn supervisor(&self) -> &'static str {
        "no"
    }
    /// Accesses memory that is nobody's, which ends the process.
    fn segfault(&self) {
        std::process::abort();
    }
}

/// The files that hold the data, and the end of the process. By default there are no files.
pub trait SavingHost: Send + Sync {
    /// Saves the keyspace on this thread; the state says already that it is being saved.
    fn save(&self, _no_shards: NoShards<'_>) -> Result<(), Logged> {
        Err(Logged)
    }
    /// The same on another thread: the keyspace as it is now, if the caller holds no shard; else, as it is soon.
    fn save_in_background(&self, _no_shards: Option<NoShards<'_>>) {}
    /// FLUSHALL was executed.
    fn flushed(&self, _no_shards: NoShards<'_>) {}
    /// Rewrites the append-only file on another thread; the state says already that it is being rewritten.
    fn rewrite_log_in_background(&self) {}
    /// Loads the snapshot file again.
    fn reload(&self, _options: ReloadOptions, _no_shards: NoShards<'_>) -> Result<(), ReloadError> {
        Err(ReloadError::RdbFile)
    }
    /// Empties the keyspace and loads the append-only file.
    fn reload_log(&self, _no_shards: NoShards<'_>) -> Result<(), ReloadError> {
        Err(ReloadError::AppendOnlyFile)
    }
    /// Saves what must be saved and asks all loops to stop. After an error the server goes on.
    fn shutdown(&self, flags: ShutdownFlags, no_shards: NoShards<'_>) -> Result<(), Logged>;
    /// The same on another thread, after replicas have got what they lack, or `shutdown-timeout` is over. After an error,
    /// `Engine::shutdown_failed` is called.
    fn shutdown_in_background(&self, flags: ShutdownFlags) {
        let _: Result<(), Logged> = self.shutdown(flags, NoShards::outside_commands());
    }
}
