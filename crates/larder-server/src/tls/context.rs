//! The TLS that is in force. It is made again when an option changes or, with `tls-auto-reload-interval`, when a file does; what
//! cannot be made changes nothing. Connections keep what they began with.

use super::active::{Active, TlsError};
use super::options::Options;
use crate::log::Log;
use larder_engine::TlsCertificates;
use larder_engine::config::{Config, TlsAuthClients};
use parking_lot::{Mutex, RwLock};
use rustls::{ClientConfig, ServerConfig};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What all threads know of TLS.
#[derive(Default)]
pub struct Context {
    active: RwLock<Option<Arc<Active>>>,
    /// When the files were last looked at.
    looked: Mutex<Option<Instant>>,
}

/// TLS stays what it was; the reason has been logged.
#[derive(Debug)]
pub struct NotChanged;

impl Context {
    /// Follows the options, if anything is done by TLS.
    pub fn follow(&self, config: &Config, log: &Log) -> Result<(), NotChanged> {
        if Options::is_in_use(config) { self.build(config, log) } else { Ok(()) }
    }

    /// Follows the options if it never has: before a port is opened.
    pub fn begin(&self, config: &Config, log: &Log) -> Result<(), NotChanged> {
        if self.active.read().is_some() { Ok(()) } else { self.build(config, log) }
    }

    fn build(&self, config: &Config, log: &Log) -> Result<(), NotChanged> {
        let active = Active::build(&Options::of(config)).map_err(|error| report(&error, log))?;
        active.notices.iter().for_each(|notice| log.warning(notice));
        larder_tls::gather_entropy();
        *self.looked.lock() = Some(Instant::now());
        *self.active.write() = Some(Arc::new(active));
        Ok(())
    }

    /// Looks whether files have changed, if that is due, and follows them. Called `hz` times a second.
    pub fn reload_if_due(&self, config: &Config, log: &Log) {
        let interval = Duration::from_secs(config.number("tls-auto-reload-interval") as u64);
        if interval.is_zero() || !Options::is_in_use(config) {
            return;
        }
        let is_due = self.looked.lock().is_none_or(|looked| looked.elapsed() >= interval);
        let Some(active) = self.active().filter(|_| is_due) else { return };
        *self.looked.lock() = Some(Instant::now());
        // While nobody changes options: what is made here must not replace something later.
        config.between_changes(|| {
            let options = Options::of(config);
            let Ok(files) = options.read_files().map_err(|error| report(&TlsError::File(error), log)) else {
                return;
            };
            if files == active.files {
                return;
            }
            log.notice("TLS materials changed, reloading in background");
            match Active::of_files(&options, files) {
                Ok(active) => {
                    active.notices.iter().for_each(|notice| log.warning(notice));
                    *self.active.write() = Some(Arc::new(active));
                    log.notice("TLS materials reloaded successfully");
                }
                Err(error) => {
                    report(&error, log);
                    log.warning("Background TLS reload failed");
                }
            }
        });
    }

    fn active(&self) -> Option<Arc<Active>> {
        self.active.read().clone()
    }

    /// For accepting a client, of whom a certificate is asked as `clients` says; `None` before TLS is configured.
    pub fn server(&self, clients: TlsAuthClients) -> Option<Arc<ServerConfig>> {
        self.active.read().as_ref().map(|active| Arc::clone(active.server(clients)))
    }

    /// For connecting to another server.
    pub fn client(&self) -> Option<Arc<ClientConfig>> {
        self.active.read().as_ref().map(|active| Arc::clone(active.client()))
    }

    /// What INFO tells of the certificates, while anything is done by TLS.
    pub fn certificates(&self, config: &Config) -> TlsCertificates {
        let active = self.active().filter(|_| Options::is_in_use(config));
        active.map(|active| active.certificates().clone()).unwrap_or_default()
    }
}

fn report(error: &TlsError, log: &Log) -> NotChanged {
    log.warning(&error.to_string());
    NotChanged
}
