//! The handlers of the replication commands, by the names of `command::tables::replication`.

use crate::context::Handler;

/// `name` or `container|name`, and the code.
pub(crate) const HANDLERS: &[(&str, Handler)] = &[
    ("failover", super::failover::failover),
    ("psync", super::psync::psync),
    ("replconf", super::replconf::replconf),
    ("replicaof", super::role::replicaof),
    ("role", super::role::role),
    ("slaveof", super::role::replicaof),
    ("sync", super::psync::sync),
];
