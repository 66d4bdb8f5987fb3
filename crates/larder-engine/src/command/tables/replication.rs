//! The table of the replication commands: what each is called, takes and touches.

use crate::command::spec::{Command, Deprecated, Group, Scope, flags::*};

/// The commands of this family.
pub(crate) const TABLE: &[Command] = &[
    Command {
        name: "failover",
        arity: -1,
        flags: ADMIN | NOSCRIPT | STALE,
        acl: "",
        scope: Scope::All,
        keys: &[],
        group: Group::Server,
        since: "6.2.0",
        summary: "Starts a failover to one of the replicas.",
        complexity: "O(1)",
        args: "target:block=TO?(host:string port:integer force:pure-token=FORCE?) abort:pure-token=ABORT? milliseconds:integer=TIMEOUT?",
        ..Command::DEFAULT
    },
    Command {
        name: "psync",
        arity: -3,
        flags: ADMIN | NOSCRIPT | NO_ASYNC_LOADING | NO_MULTI,
        acl: "",
        scope: Scope::None,
        keys: &[],
        group: Group::Server,
        since: "2.8.0",
        summary: "Requests the replication stream of a primary from an offset.",
        args: "replicationid:string offset:integer",
        ..Command::DEFAULT
    },
    Command {
        name: "replconf",
        arity: -1,
        flags: ADMIN | ALLOW_BUSY | LOADING | NOSCRIPT | STALE,
        acl: "",
        scope: Scope::None,
        keys: &[],
        group: Group::Server,
        since: "3.0.0",
        is_internal: true,
        summary: "Configures the replication link; used by replicas.",
        complexity: "O(1)",
        ..Command::DEFAULT
    },
    Command {
        name: "replicaof",
        arity: 3,
        flags: ADMIN | NOSCRIPT | NO_ASYNC_LOADING | STALE,
        acl: "",
        scope: Scope::All,
        keys: &[],
        group: Group::Server,
        since: "5.0.0",
        summary: "Makes the server a replica of another one, or of none.",
        complexity: "O(1)",
        args: "args:oneof(host-port:block(host:string port:integer) no-one:block(no:pure-token=NO one:pure-token=ONE))",
        ..Command::DEFAULT
    },
    Command {
        name: "role",
        arity: 1,
        flags: FAST | LOADING | NOSCRIPT | STALE,
        acl: "admin dangerous",
        scope: Scope::None,
        keys: &[],
        group: Group::Server,
        since: "2.8.12",
        summary: "Returns the role of the server in replication.",
        complexity: "O(1)",
        ..Command::DEFAULT
    },
    Command {
        name: "slaveof",
        arity: 3,
        flags: ADMIN | NOSCRIPT | NO_ASYNC_LOADING | STALE,
        acl: "",
        scope: Scope::All,
        keys: &[],
        group: Group::Server,
        since: "1.0.0",
        deprecated: Some(Deprecated { since: "5.0.0", replaced_by: "REPLICAOF" }),
        summary: "Makes the server a replica of another one, or of none.",
        complexity: "O(1)",
        args: "args:oneof(host-port:block(host:string port:integer) no-one:block(no:pure-token=NO one:pure-token=ONE))",
        ..Command::DEFAULT
    },
    Command {
        name: "sync",
        arity: 1,
        flags: ADMIN | NOSCRIPT | NO_ASYNC_LOADING | NO_MULTI,
        acl: "",
        scope: Scope::None,
        keys: &[],
        group: Group::Server,
        since: "1.0.0",
        summary: "Requests the data and the replication stream of a primary.",
        ..Command::DEFAULT
    },
];
