//! The table of the transaction commands: what each is called, takes and touches.

use crate::command::spec::{Command, Group, KeySpec, Scope, flags::*};

/// The commands of this family.
pub(crate) const TABLE: &[Command] = &[
    Command {
        name: "discard",
        arity: 1,
        flags: ALLOW_BUSY | FAST | LOADING | NOSCRIPT | STALE,
        acl: "transaction",
        scope: Scope::None,
        keys: &[],
        group: Group::Transactions,
        since: "2.0.0",
        summary: "Discards the commands of the transaction.",
        complexity: "O(n) for n queued commands",
        ..Command::DEFAULT
    },
    Command {
        name: "exec",
        arity: 1,
        flags: LOADING | NOSCRIPT | SKIP_COMMANDLOG | STALE,
        acl: "transaction",
        scope: Scope::Exec,
        keys: &[],
        group: Group::Transactions,
        since: "1.2.0",
        summary: "Runs the commands of the transaction.",
        complexity: "Depends on the commands",
        ..Command::DEFAULT
    },
    Command {
        name: "multi",
        arity: 1,
        flags: ALLOW_BUSY | FAST | LOADING | NOSCRIPT | NO_MULTI | STALE,
        acl: "transaction",
        scope: Scope::None,
        keys: &[],
        group: Group::Transactions,
        since: "1.2.0",
        summary: "Starts a transaction.",
        complexity: "O(1)",
        ..Command::DEFAULT
    },
    Command {
        name: "unwatch",
        arity: 1,
        flags: ALLOW_BUSY | FAST | LOADING | NOSCRIPT | STALE,
        acl: "transaction",
        scope: Scope::None,
        keys: &[],
        group: Group::Transactions,
        since: "2.2.0",
        summary: "Stops watching all keys.",
        complexity: "O(n) for n keys",
        ..Command::DEFAULT
    },
    Command {
        name: "watch",
        arity: -2,
        flags: ALLOW_BUSY | FAST | LOADING | NOSCRIPT | NO_MULTI | STALE,
        acl: "transaction",
        scope: Scope::Keys,
        keys: &[KeySpec::rest(1, "RO")],
        group: Group::Transactions,
        since: "2.2.0",
        summary: "Watches keys: the next transaction runs only if they do not change.",
        complexity: "O(n) for n keys",
        args: "key:key*#0",
        ..Command::DEFAULT
    },
];
