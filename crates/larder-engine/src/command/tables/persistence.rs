//! The table of the commands on files: what each is called and takes.

use crate::command::spec::{Command, Group, Scope, flags::*};

/// The commands of this family.
pub(crate) const TABLE: &[Command] = &[
    Command {
        name: "bgrewriteaof",
        arity: 1,
        flags: ADMIN | NOSCRIPT | NO_ASYNC_LOADING,
        scope: Scope::None,
        keys: &[],
        group: Group::Server,
        since: "1.0.0",
        summary: "Rewrites the append-only file in the background.",
        complexity: "O(1)",
        ..Command::DEFAULT
    },
    Command {
        name: "bgsave",
        arity: -1,
        flags: ADMIN | NOSCRIPT | NO_ASYNC_LOADING,
        scope: Scope::None,
        keys: &[],
        group: Group::Server,
        since: "1.0.0",
        history: &[("3.2.2", "Takes `SCHEDULE`."), ("8.1.0", "Takes `CANCEL`.")],
        summary: "Saves the databases to disk in the background.",
        complexity: "O(1)",
        args: "operation:oneof?(schedule:pure-token=SCHEDULE@3.2.2 cancel:pure-token=CANCEL@8.1.0)",
        ..Command::DEFAULT
    },
    Command {
        name: "lastsave",
        arity: 1,
        flags: FAST | LOADING | STALE,
        acl: "admin dangerous",
        scope: Scope::None,
        keys: &[],
        group: Group::Server,
        since: "1.0.0",
        summary: "Returns when the databases were last saved.",
        complexity: "O(1)",
        tips: &["nondeterministic_output"],
        ..Command::DEFAULT
    },
    Command {
        name: "save",
        arity: 1,
        flags: ADMIN | NOSCRIPT | NO_ASYNC_LOADING | NO_MULTI,
        scope: Scope::None,
        keys: &[],
        group: Group::Server,
        since: "1.0.0",
        summary: "Saves the databases to disk and waits until that is done.",
        complexity: "O(n) for n keys",
        ..Command::DEFAULT
    },
    Command {
        name: "wait",
        arity: 3,
        flags: BLOCKING,
        acl: "connection",
        scope: Scope::None,
        keys: &[],
        group: Group::Generic,
        since: "3.0.0",
        summary: "Waits until replicas have received the client's writes.",
        complexity: "O(1)",
        args: "numreplicas:integer timeout:integer",
        tips: &["request_policy:all_shards", "response_policy:agg_min"],
        ..Command::DEFAULT
    },
    Command {
        name: "waitaof",
        arity: 4,
        flags: BLOCKING,
        acl: "connection",
        scope: Scope::None,
        keys: &[],
        group: Group::Generic,
        since: "7.2.0",
        summary: "Waits until the client's writes are on disk, here and on replicas.",
        complexity: "O(1)",
        args: "numlocal:integer numreplicas:integer timeout:integer",
        tips: &["request_policy:all_shards", "response_policy:agg_min"],
        ..Command::DEFAULT
    },
];
