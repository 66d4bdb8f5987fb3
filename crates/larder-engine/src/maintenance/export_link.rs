//! The connection to the target of a slot migration, which CLIENT LIST shows and CLIENT KILL closes.

use crate::clients::session::{ClientShared, Closing, ConnInfo, client_flags};
use crate::engine::Engine;
use crate::worker::NO_WORKER;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Among the clients while it lives.
pub struct ExportLink {
    engine: Arc<Engine>,
    client: Arc<ClientShared>,
}

impl ExportLink {
    /// Adds a connection that this server has opened to the clients.
    pub fn new(engine: &Arc<Engine>, info: ConnInfo) -> ExportLink {
        let client = Arc::new(ClientShared::new(info, NO_WORKER, crate::clock::wall_ms()));
        client.set_flag(client_flags::SLOT_EXPORT, true);
        engine.clients.add(Arc::clone(&client));
        ExportLink { engine: Arc::clone(engine), client }
    }

    /// Whether a client has asked that the connection be closed.
    pub fn is_killed(&self) -> bool {
        self.client.closing() != Closing::No
    }

    /// Notes bytes that were sent.
    pub fn note_sent(&self, bytes: usize) {
        self.client.add_net_out(bytes);
        self.client.last_active_ms.store(crate::clock::wall_ms(), Relaxed);
    }

    /// Notes bytes that have come.
    pub fn note_received(&self, bytes: usize) {
        self.client.add_net_in(bytes);
        self.client.last_active_ms.store(crate::clock::wall_ms(), Relaxed);
    }
}

impl Drop for ExportLink {
    fn drop(&mut self) {
        self.engine.clients.remove(&self.client);
    }
}
