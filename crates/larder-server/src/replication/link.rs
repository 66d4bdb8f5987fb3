//! The link to the primary, as a thread of the server.

use super::receive;
use crate::shared::Shared;
use crate::tls::Fault;
use larder_engine::{LogLevel, MayWait, spawn_background};
use larder_link::{LinkError, Process, TakeSnapshot, Transfer, Wire};
use larder_persist::Persist;
use larder_tls::PeerLink;
use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

/// Starts the thread of the link, which sleeps while the server follows nobody.
pub fn start(shared: &Arc<Shared>, persist: &Arc<Persist>) -> io::Result<()> {
    let engine = Arc::clone(persist.engine());
    let around = Arc::new(Around { shared: Arc::clone(shared), persist: Arc::clone(persist) });
    spawn_background("larder-link", move |may_wait| larder_link::run(&around, &engine, may_wait)).map(drop)
}

/// The server around a link.
struct Around {
    shared: Arc<Shared>,
    persist: Arc<Persist>,
}

impl Process for Around {
    fn is_stopping(&self) -> bool {
        self.shared.is_stopping()
    }

    fn log(&self, level: LogLevel, text: &str) {
        self.shared.log.write(level, text);
    }

    fn secure(
        &self,
        socket: TcpStream,
        host: &str,
        timeout: Duration,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Arc<dyn Wire>, LinkError> {
        if !self.shared.config.is_yes("tls-replication") {
            let link = Arc::new(PeerLink::plain(socket));
            *self.shared.upstream.lock() = Arc::downgrade(&link);
            return Ok(link);
        }
        let config = self.shared.tls.client().ok_or_else(|| io::Error::other("TLS is not configured"))?;
        let link = PeerLink::secure(socket, config, host, timeout, goes_on).map_err(|error| {
            LinkError::Refused(format!("The TLS handshake with the primary failed: {}", Fault(&error)))
        })?;
        let link = Arc::new(link);
        *self.shared.upstream.lock() = Arc::downgrade(&link);
        Ok(link)
    }
}

impl TakeSnapshot for Around {
    fn take_snapshot(
        &self,
        transfer: &mut Transfer<'_>,
        may_wait: &MayWait,
        on_loaded: &mut dyn FnMut(usize),
    ) -> Result<(), LinkError> {
        receive::receive(&self.persist, transfer, may_wait, on_loaded)
    }
}
