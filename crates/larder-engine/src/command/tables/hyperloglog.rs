//! The table of the HyperLogLog commands: what each is called, takes and touches.

use crate::command::spec::{Command, Group, KeySpec, Scope, flags::*};

/// The commands of this family.
pub(crate) const TABLE: &[Command] = &[
    Command {
        name: "pfadd",
        arity: -2,
        flags: DENYOOM | FAST | WRITE,
        acl: "hyperloglog",
        scope: Scope::Keys,
        keys: &[KeySpec::one(1, "RW INSERT")],
        group: Group::HyperLogLog,
        since: "2.8.9",
        summary: "Adds elements to a HyperLogLog. Creates it if it does not exist.",
        complexity: "O(1) for each element",
        args: "key:key#0 element:string?*",
        ..Command::DEFAULT
    },
    Command {
        name: "pfcount",
        arity: -2,
        flags: MAY_REPLICATE | READONLY,
        acl: "hyperloglog",
        scope: Scope::Keys,
        keys: &[KeySpec::rest(1, "RW ACCESS").noting("It may store the count in the value.")],
        group: Group::HyperLogLog,
        since: "2.8.9",
        summary: "Estimates the number of different elements of a HyperLogLog, or of the union of several.",
        complexity: "O(1) for one key, as long as its cached count is valid; O(k) for k keys",
        args: "key:key*#0",
        ..Command::DEFAULT
    },
    Command {
        name: "pfdebug",
        arity: 3,
        flags: ADMIN | DENYOOM | WRITE,
        acl: "hyperloglog",
        scope: Scope::Keys,
        keys: &[KeySpec::one(2, "RW ACCESS")],
        group: Group::HyperLogLog,
        since: "2.8.9",
        is_internal: true,
        summary: "Shows how a HyperLogLog is stored.",
        complexity: "O(1)",
        args: "subcommand:string key:key#0",
        ..Command::DEFAULT
    },
    Command {
        name: "pfmerge",
        arity: -2,
        flags: DENYOOM | WRITE,
        acl: "hyperloglog",
        scope: Scope::Keys,
        keys: &[KeySpec::one(1, "RW ACCESS INSERT"), KeySpec::rest(2, "RO ACCESS")],
        group: Group::HyperLogLog,
        since: "2.8.9",
        summary: "Merges HyperLogLogs into one.",
        complexity: "O(k) for k keys",
        args: "destkey:key#0 sourcekey:key?*#1",
        ..Command::DEFAULT
    },
    Command {
        name: "pfselftest",
        arity: 1,
        flags: ADMIN,
        acl: "hyperloglog",
        scope: Scope::None,
        keys: &[],
        group: Group::HyperLogLog,
        since: "2.8.9",
        is_internal: true,
        summary: "Tests the counting of HyperLogLogs.",
        complexity: "O(1), about 0.1 seconds",
        ..Command::DEFAULT
    },
];
