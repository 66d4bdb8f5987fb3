//! The register of all connections, for CLIENT LIST, KILL and the like.

use crate::clients::session::{ClientShared, client_flags};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// All connections by id.
#[derive(Default)]
pub(crate) struct Clients {
    all: Mutex<BTreeMap<u64, Arc<ClientShared>>>,
    count: AtomicUsize,
    monitors: AtomicUsize,
}

impl Clients {
    pub(crate) fn add(&self, client: Arc<ClientShared>) {
        self.all.lock().insert(client.id, client);
        self.count.fetch_add(1, Relaxed);
    }

    /// Takes a connection out, if it is there.
    pub(crate) fn remove(&self, client: &ClientShared) {
        self.set_monitor(client, false);
        if self.all.lock().remove(&client.id).is_some() {
            self.count.fetch_sub(1, Relaxed);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.count.load(Relaxed)
    }

    /// The connection with this id.
    pub(crate) fn find(&self, id: u64) -> Option<Arc<ClientShared>> {
        self.all.lock().get(&id).cloned()
    }

    /// All connections in the order of their ids.
    pub(crate) fn snapshot(&self) -> Vec<Arc<ClientShared>> {
        self.all.lock().values().cloned().collect()
    }

    /// Number of connections for which `predicate` holds.
    pub(crate) fn count(&self, predicate: impl Fn(&ClientShared) -> bool) -> usize {
        self.all.lock().values().filter(|client| predicate(client)).count()
    }

    /// Whether any connection is a monitor.
    #[inline]
    pub(crate) fn has_monitors(&self) -> bool {
        self.monitors.load(Relaxed) > 0
    }

    /// Makes a connection a monitor, or no longer one.
    pub(crate) fn set_monitor(&self, client: &ClientShared, on: bool) {
        if client.has(client_flags::MONITOR) == on {
            return;
        }
        client.set_flag(client_flags::MONITOR, on);
        if on {
            self.monitors.fetch_add(1, Relaxed);
        } else {
            self.monitors.fetch_sub(1, Relaxed);
        }
    }

    /// Calls `each` with every monitor.
    pub(crate) fn each_monitor(&self, each: impl FnMut(&Arc<ClientShared>)) {
        self.all.lock().values().filter(|client| client.has(client_flags::MONITOR)).for_each(each);
    }
}
