//! Connections by slot; the slot is the token of the connection's events.

use crate::connection::Connection;

/// All connections of a worker.
#[derive(Default)]
pub(super) struct Slots {
    all: Vec<Option<Box<Connection>>>,
    free: Vec<usize>,
    /// Freed in this iteration.
    freed: Vec<usize>,
}

impl Slots {
    /// A slot for a new connection, empty until `put`.
    pub(super) fn reserve(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.all.push(None);
            self.all.len() - 1
        })
    }

    pub(super) fn get_mut(&mut self, slot: usize) -> Option<&mut Connection> {
        self.all.get_mut(slot)?.as_deref_mut()
    }

    /// Takes a connection out to work on it; `put` it back, or `free` the slot.
    pub(super) fn take(&mut self, slot: usize) -> Option<Box<Connection>> {
        self.all.get_mut(slot)?.take()
    }

    pub(super) fn put(&mut self, slot: usize, connection: Box<Connection>) {
        debug_assert!(self.all[slot].is_none());
        self.all[slot] = Some(connection);
    }

    /// The slot is empty for good; it can be reserved again after `release`.
    pub(super) fn free(&mut self, slot: usize) {
        debug_assert!(self.all[slot].is_none());
        self.freed.push(slot);
    }

    /// The iteration is over: slots freed in it may be used again.
    pub(super) fn release(&mut self) {
        self.free.append(&mut self.freed);
    }

    /// One past the highest slot.
    pub(super) fn end(&self) -> usize {
        self.all.len()
    }
}
