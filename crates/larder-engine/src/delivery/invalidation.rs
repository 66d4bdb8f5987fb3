//! The news that keys have changed, as it is sent to a worker.

use larder_resp::{Protocol, Reply};
use std::sync::Arc;

/// To whom an invalidation applies, of those to whom it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// To those who have tracking on, whatever their mode.
    Everybody,
    /// To those who listen to prefixes.
    Listeners,
    /// To those who read the key; but not to a client that does not want to hear of its own changes, if it is this one.
    Readers {
        /// The client who changed the key, 0 for none.
        writer: u64,
    },
}

/// The news that keys have changed.
#[derive(Debug)]
pub struct Invalidation {
    pub(crate) scope: Scope,
    /// The keys as an array of RESP; `None` for all keys.
    pub(super) keys: Option<Box<[u8]>>,
}

impl Invalidation {
    pub(super) fn of<'k>(scope: Scope, keys: impl ExactSizeIterator<Item = &'k [u8]>) -> Arc<Self> {
        let mut bytes = Vec::new();
        let mut reply = Reply::new(&mut bytes, Protocol::Resp2);
        reply.array(keys.len());
        keys.for_each(|key| reply.bulk(key));
        Arc::new(Invalidation { scope, keys: Some(bytes.into()) })
    }

    /// Bytes that it takes in memory.
    pub(crate) fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.keys.as_deref().map_or(0, <[u8]>::len)
    }

    /// Writes the keys, or null for all.
    pub(crate) fn write_keys(&self, reply: &mut Reply<'_>) {
        match &self.keys {
            Some(keys) => reply.raw(keys),
            None => reply.null(),
        }
    }
}
