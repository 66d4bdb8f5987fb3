//! The log of effects: what commands did, in the form in which an append-only file keeps it and replicas get it.

pub(crate) mod effects;
pub(crate) mod log;
pub(crate) mod stream;
