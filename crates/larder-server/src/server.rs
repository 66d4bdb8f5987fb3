//! The server as far as it is known before it has an engine. The thread that catches signals and the engine's
//! host hold it: both are made first.

use crate::shared::Shared;
use larder_persist::Persist;
use std::sync::{Arc, OnceLock};

/// What the threads share, and what keeps the data.
pub struct Server {
    /// Shared by all threads.
    pub shared: Arc<Shared>,
    persist: OnceLock<Arc<Persist>>,
}

impl Server {
    /// A server without an engine.
    pub fn new(shared: Arc<Shared>) -> Server {
        Server { shared, persist: OnceLock::new() }
    }

    /// The engine is there. Panics if it was before.
    pub fn complete(&self, persist: Arc<Persist>) {
        let is_new = self.shared.engine.set(Arc::clone(persist.engine())).is_ok();
        assert!(is_new && self.persist.set(persist).is_ok(), "it is made once");
    }

    /// Saving and loading; `None` before the engine is there.
    pub fn persist(&self) -> Option<&Arc<Persist>> {
        self.persist.get()
    }
}
