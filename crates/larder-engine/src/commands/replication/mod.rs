//! The commands of replication: what replicas say and ask for, and the role of the server.

mod failover;
mod handlers;
mod psync;
mod replconf;
mod role;

pub(crate) use handlers::HANDLERS;
