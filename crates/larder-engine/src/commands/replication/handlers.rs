//! The handlers of the replication commands, by the names of `command::tables::replication`.

use crate::context::Handler;

/// `name` or `container|name`, and the code.
pub(crate) const HANDLERS: &[(&str, Handler)] = &[
    ("failover", super::failover),
    ("psync", super::no_stream),
    ("replconf", super::replconf),
    ("replicaof", super::replicaof),
    ("role", super::role),
    ("slaveof", super::replicaof),
    ("sync", super::no_stream),
];
