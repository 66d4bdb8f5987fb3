//! Where a client is.

/// A client as messages are addressed to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub worker: usize,
    pub client: u64,
}
