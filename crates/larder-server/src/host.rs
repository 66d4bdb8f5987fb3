//! What the engine asks of the process.

use crate::banner;
use crate::files;
use crate::listen::{self, CannotListen, Place, Security};
use crate::log::Role;
use crate::server::Server;
use crate::settings;
use crate::supervise::Supervisor;
use crate::tls::NotChanged;
use crate::{memory, process, sys};
use larder_engine::{
    ApplyError, ConfigHost, CpuTimes, Exchange, ExchangeError, Fragmentation, HostMemory, LogHost, LogLevel,
    Logged, MemoryHost, NoShards, PeerHost, ProcessHost, ReloadError, ReloadOptions, RewriteError,
    SavingHost, ShutdownFlags, SystemError, TlsCertificates,
};
use larder_persist::Persist;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// The process around the engine.
pub struct ServerHost {
    server: Arc<Server>,
}

impl ServerHost {
    /// Speaks for the process.
    pub fn new(server: Arc<Server>) -> ServerHost {
        ServerHost { server }
    }

    /// Listens by TCP again. The old sockets must go first, since the new ones may want the same port; when the new
    /// ones fail, the old ones come back.
    fn listen_again(&self, securities: &[Security], failure: ApplyError) -> Result<(), ApplyError> {
        let shared = &self.server.shared;
        let mut listeners = shared.listeners.lock();
        let before: Vec<Place> = securities.iter().map(|&security| listeners.close_tcp(security)).collect();
        let wanted = securities.iter().map(|&security| Place::of(&shared.config, security));
        let opened = wanted.map(|place| listen::tcp(&place, &shared.log).map(|opened| (place, opened)));
        let (opened, failure) = match opened.collect::<Result<Vec<_>, _>>() {
            Ok(opened) => (opened, None),
            Err(CannotListen) => {
                let old = before.into_iter().filter_map(|place| {
                    let opened = listen::tcp(&place, &shared.log).ok()?;
                    Some((place, opened))
                });
                (old.collect(), Some(failure))
            }
        };
        for (place, opened) in opened {
            listeners.add_tcp(place, opened)?;
        }
        failure.map_or(Ok(()), Err)
    }

    /// Follows the options of TLS, and opens its port.
    fn open_tls_port(&self) -> Result<(), ApplyError> {
        let shared = &self.server.shared;
        shared.tls.begin(&shared.config, &shared.log).map_err(|NotChanged| ApplyError::Tls)?;
        self.listen_again(&[Security::Tls], ApplyError::Port)
    }

    /// Saving and loading, which are there before the first command.
    fn persist(&self) -> &Arc<Persist> {
        self.server.persist().expect("made with the engine")
    }
}

impl ConfigHost for ServerHost {
    fn apply_config(&self, name: &str, value: &str) -> Result<(), ApplyError> {
        let config = &self.server.shared.config;
        if let Some(warning) = config.why_ignored(name) {
            self.server.shared.log.warning(&warning);
        }
        match name {
            "port" => self.listen_again(&[Security::Plain], ApplyError::Port),
            "tls-port" => self.open_tls_port(),
            "bind" => self.listen_again(&[Security::Plain, Security::Tls], ApplyError::Addresses),
            // Asked for with every connection.
            "tls-auth-clients" | "tls-auth-clients-user" => Ok(()),
            name if name.starts_with("tls-") => {
                let shared = &self.server.shared;
                shared.tls.follow(config, &shared.log).map_err(|NotChanged| ApplyError::Tls)
            }
            "dir" => {
                let enter = || settings::enter_dir(config);
                files::use_dir(&self.server.shared, Path::new(value), enter).map_err(ApplyError::System)
            }
            "crash-log-enabled" => {
                crate::crash::fault::catch_signals(value == "yes");
                Ok(())
            }
            "use-exit-on-panic" => {
                crate::crash::fault::EXIT_ON_PANIC.store(value == "yes", Relaxed);
                Ok(())
            }
            "proc-title-template" => {
                crate::supervise::show_title(config, &self.config_file());
                Ok(())
            }
            "jemalloc-bg-thread" => {
                memory::set_background_thread(value == "yes");
                Ok(())
            }
            "appendonly" => self.persist().keep_log(value == "yes"),
            "loglevel" => {
                self.server.shared.log.set_level(config.choice("loglevel"));
                Ok(())
            }
            "log-format" | "log-timestamp-format" => {
                let log = &self.server.shared.log;
                log.set_form(config.choice("log-format"), config.choice("log-timestamp-format"));
                Ok(())
            }
            "maxclients" => process::raise_clients(config.number("maxclients") as u64),
            "oom-score-adj" | "oom-score-adj-values" => process::apply_oom_score(config),
            _ => Ok(()),
        }
    }

    fn config_file(&self) -> String {
        self.server
            .shared
            .config_file
            .as_ref()
            .map_or_else(String::new, |path| path.to_string_lossy().into_owned())
    }

    fn rewrite_config(&self, users: &[String], all: bool) -> Result<(), RewriteError> {
        let shared = &self.server.shared;
        let Some(path) = &shared.config_file else { return Err(RewriteError::NoFile) };
        settings::rewrite(&shared.config, path, users, all).map_err(|error| {
            let error = SystemError(error);
            shared.log.warning(&format!("CONFIG REWRITE failed: {error}"));
            RewriteError::System(error)
        })?;
        shared.log.notice("CONFIG REWRITE executed with success.");
        Ok(())
    }

    fn read_acl_file(&self, path: &str) -> Result<Vec<u8>, SystemError> {
        Ok(std::fs::read(path)?)
    }

    fn write_acl_file(&self, path: &str, text: &[u8]) -> Result<(), SystemError> {
        Ok(settings::replace(Path::new(path), text)?)
    }

    fn tls_certificates(&self) -> TlsCertificates {
        let shared = &self.server.shared;
        shared.tls.certificates(&shared.config)
    }
}

impl LogHost for ServerHost {
    fn log(&self, level: LogLevel, text: &str) {
        self.server.shared.log.write(level, text);
    }

    fn set_log_role(&self, is_replica: bool) {
        self.server.shared.log.set_role(if is_replica { Role::Replica } else { Role::Primary });
    }
}

impl MemoryHost for ServerHost {
    fn memory(&self) -> HostMemory {
        memory::read()
    }

    fn thread_growth(&self) -> i64 {
        memory::thread_growth()
    }

    fn purge(&self) {
        memory::purge();
    }

    fn fragmentation(&self) -> Fragmentation {
        memory::fragmentation()
    }

    fn release_caches(&self) {
        memory::release_caches();
        self.server.shared.wake_workers();
    }

    fn prepare_to_move(&self) {
        memory::prepare_to_move();
    }

    fn malloc_stats(&self) -> String {
        memory::report()
    }
}

impl PeerHost for ServerHost {
    fn exchange(&self, exchange: &Exchange<'_>) -> Result<Vec<String>, ExchangeError> {
        self.server.shared.peers.exchange(exchange, &self.server.shared.tls)
    }

    fn kept_connections(&self) -> usize {
        self.server.shared.peers.len()
    }
}

impl ProcessHost for ServerHost {
    fn cpu(&self) -> CpuTimes {
        let (sys, user) = sys::cpu_seconds();
        let thread = self.server.shared.posts().first().map_or(0, |post| post.thread.load(Relaxed));
        let (first_sys, first_user) = sys::thread_cpu_seconds(thread);
        CpuTimes { sys, user, first_sys, first_user }
    }

    fn os(&self) -> String {
        sys::system_name()
    }

    fn executable(&self) -> String {
        std::env::current_exe().map_or_else(|_| String::new(), |path| path.to_string_lossy().into_owned())
    }

    fn build(&self) -> (&'static str, &'static str) {
        (banner::COMMIT, banner::BUILD)
    }

    fn supervisor(&self) -> &'static str {
        match self.server.shared.supervisor() {
            Supervisor::None => "no",
            Supervisor::Systemd => "systemd",
            Supervisor::Upstart => "upstart",
        }
    }

    fn segfault(&self) {
        crate::crash::fault::segfault();
    }
}

impl SavingHost for ServerHost {
    fn save(&self, no_shards: NoShards<'_>) -> Result<(), Logged> {
        self.persist().save_for_client(no_shards).map_err(|_| Logged)
    }

    fn save_in_background(&self, no_shards: Option<NoShards<'_>>) {
        self.persist().save_in_background(no_shards);
    }

    fn flushed(&self, no_shards: NoShards<'_>) {
        self.persist().save_emptiness(no_shards);
    }

    fn rewrite_log_in_background(&self) {
        self.persist().rewrite_in_background();
    }

    fn reload(&self, options: ReloadOptions, no_shards: NoShards<'_>) -> Result<(), ReloadError> {
        self.persist().reload(options, no_shards)
    }

    fn reload_log(&self, no_shards: NoShards<'_>) -> Result<(), ReloadError> {
        self.persist().load_log_again(no_shards)
    }

    fn shutdown(&self, flags: ShutdownFlags, no_shards: NoShards<'_>) -> Result<(), Logged> {
        crate::shutdown::shut_down(&self.server, flags, no_shards)
    }

    fn shutdown_in_background(&self, flags: ShutdownFlags) {
        crate::shutdown::begin(&self.server, flags);
    }
}
