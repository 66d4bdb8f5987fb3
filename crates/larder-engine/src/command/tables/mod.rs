//! What every command is called, takes and touches, by family.

mod acl;
mod bitmap;
mod cluster;
mod connection;
mod generic;
mod geo;
mod hash;
mod hyperloglog;
mod introspection;
mod list;
mod persistence;
mod pubsub;
mod replication;
mod scripting;
mod server;
mod set;
mod sorted_set;
mod stream;
mod string;
mod transaction;

use crate::command::spec::Command;

/// The tables of all families.
pub(crate) const ALL: &[&[Command]] = &[
    acl::TABLE,
    bitmap::TABLE,
    cluster::TABLE,
    connection::TABLE,
    generic::TABLE,
    geo::TABLE,
    hash::TABLE,
    hyperloglog::TABLE,
    introspection::TABLE,
    list::TABLE,
    persistence::TABLE,
    pubsub::TABLE,
    replication::TABLE,
    scripting::TABLE,
    server::TABLE,
    set::TABLE,
    sorted_set::TABLE,
    stream::TABLE,
    string::TABLE,
    transaction::TABLE,
];
