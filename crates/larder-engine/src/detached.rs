//! An engine of its own, with the options of another and without its data: for what is done beside the keyspace.

use crate::engine::{Engine, EngineOptions};
use crate::host::{
    ApplyError, ConfigHost, CpuTimes, Host, HostMemory, LogHost, LogLevel, Logged, MemoryHost, PeerHost,
    ProcessHost, ReloadError, ReloadOptions, RewriteError, SavingHost, ShutdownFlags, SystemError,
    TlsCertificates,
};
use crate::ledger::NoShards;
use std::sync::Arc;

impl Engine {
    /// An engine with the options and the users of this one, and no data. What it does concerns nobody else. Starts two threads.
    pub fn without_data(&self) -> Arc<Engine> {
        let options = EngineOptions {
            config: Arc::clone(&self.config),
            host: Arc::new(CopyHost(Arc::clone(&self.host))),
            threads: 1,
            names: self.names.clone(),
        };
        Engine::copied(options, Arc::clone(&self.acl))
    }
}

/// The process around such an engine: it answers, and does nothing else but write to the log.
struct CopyHost(Arc<dyn Host>);

impl ConfigHost for CopyHost {
    fn apply_config(&self, _name: &str, _value: &str) -> Result<(), ApplyError> {
        Err(ApplyError::OnCopy)
    }

    fn config_file(&self) -> String {
        self.0.config_file()
    }

    fn rewrite_config(&self, _users: &[String], _all: bool) -> Result<(), RewriteError> {
        Err(RewriteError::OnCopy)
    }

    fn read_acl_file(&self, _path: &str) -> Result<Vec<u8>, SystemError> {
        Err(SystemError::on_copy())
    }

    fn write_acl_file(&self, _path: &str, _text: &[u8]) -> Result<(), SystemError> {
        Err(SystemError::on_copy())
    }

    fn tls_certificates(&self) -> TlsCertificates {
        self.0.tls_certificates()
    }
}

impl LogHost for CopyHost {
    fn log(&self, level: LogLevel, text: &str) {
        self.0.log(level, text);
    }
}

impl MemoryHost for CopyHost {
    fn memory(&self) -> HostMemory {
        self.0.memory()
    }

    fn thread_growth(&self) -> i64 {
        self.0.thread_growth()
    }

    fn purge(&self) {}

    fn malloc_stats(&self) -> String {
        self.0.malloc_stats()
    }
}

impl PeerHost for CopyHost {}

impl ProcessHost for CopyHost {
    fn cpu(&self) -> CpuTimes {
        self.0.cpu()
    }

    fn os(&self) -> String {
        self.0.os()
    }

    fn executable(&self) -> String {
        self.0.executable()
    }
}

impl SavingHost for CopyHost {
    fn reload(&self, _options: ReloadOptions, _no_shards: NoShards<'_>) -> Result<(), ReloadError> {
        Err(ReloadError::OnCopy)
    }

    fn reload_log(&self, _no_shards: NoShards<'_>) -> Result<(), ReloadError> {
        Err(ReloadError::OnCopy)
    }

    fn shutdown(&self, _flags: ShutdownFlags, _no_shards: NoShards<'_>) -> Result<(), Logged> {
        Err(Logged)
    }
}
