//! What workers send to each other and to clients: replies, messages, invalidations.

mod changes;
pub(crate) mod invalidation;
pub(crate) mod invalidations;
pub(crate) mod mailbox;
pub(crate) mod publish;
pub(crate) mod unblock;
