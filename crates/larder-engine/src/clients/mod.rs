//! Clients: who is connected, as whom, in which state.

pub(crate) mod access;
pub(crate) mod describe;
pub(crate) mod login;
pub(crate) mod memory;
pub(crate) mod pause;
pub(crate) mod queue;
pub(crate) mod registrations;
pub(crate) mod registry;
pub(crate) mod session;
pub(crate) mod subscriptions;
pub(crate) mod sums;
pub(crate) mod tracking;
