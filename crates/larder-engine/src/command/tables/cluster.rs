//! The table of the cluster commands: what each is called, takes and touches.

use crate::command::spec::{Command, Deprecated, Group, KeySpec, Scope, flags::*};

/// What most of them have in common: a server that is not part of a cluster does not know them.
const CLUSTER: Command = Command { group: Group::Cluster, ..Command::DEFAULT };

/// The commands of this family.
pub(crate) const TABLE: &[Command] = &[
    Command {
        name: "asking",
        arity: 1,
        flags: FAST,
        acl: "connection",
        since: "3.0.0",
        summary: "Announces that the next command follows an ASK redirection.",
        complexity: "O(1)",
        ..CLUSTER
    },
    Command {
        name: "cluster",
        arity: -2,
        flags: NONE,
        since: "3.0.0",
        summary: "Inspects and manages the cluster that the server is part of.",
        complexity: "Depends on the subcommand",
        subcommands: &[
            Command {
                name: "addslots",
                arity: -3,
                flags: ADMIN | NO_ASYNC_LOADING | STALE,
                since: "3.0.0",
                summary: "Assigns hash slots to the node.",
                complexity: "O(n) for n slots",
                args: "slot:integer*",
                ..CLUSTER
            },
            Command {
                name: "addslotsrange",
                arity: -4,
                flags: ADMIN | NO_ASYNC_LOADING | STALE,
                since: "7.0.0",
                summary: "Assigns ranges of hash slots to the node.",
                complexity: "O(n) for n slots",
                args: "range:block*(start-slot:integer end-slot:integer)",
                ..CLUSTER
            },
            Command {
                name: "bumpepoch",
                arity: 2,
                flags: ADMIN | NO_ASYNC_LOADING | STALE,
                since: "3.0.0",
                summary: "Raises the configuration epoch.",
                complexity: "O(1)",
                tips: &["nondeterministic_output"],
                ..CLUSTER
            },
            Command {
                name: "cancelslotmigrations",
                arity: 2,
                flags: ADMIN | ALL_DBS | NO_ASYNC_LOADING | STALE,
                since: "9.0.0",
                summary: "Cancels the slot migrations of this node.",
                complexity: "O(n) for n migrations",
                ..CLUSTER
            },
            Command {
                name: "count-failure-reports",
                arity: 3,
                flags: ADMIN | STALE,
                since: "3.0.0",
                history: &[("9.0.0", "Does not count reports on a node that has already failed.")],
                summary: "Returns the number of failure reports for a node.",
                complexity: "O(n) for n reports",
                args: "node-id:string",
                tips: &["nondeterministic_output"],
                ..CLUSTER
            },
            Command {
                name: "countkeysinslot",
                arity: 3,
                flags: STALE,
                scope: Scope::Walk,
                since: "3.0.0",
                summary: "Returns the number of keys in a hash slot.",
                complexity: "O(n) with n keys in the slot",
                args: "slot:integer",
                ..CLUSTER
            },
            Command {
                name: "delslots",
                arity: -3,
                flags: ADMIN | NO_ASYNC_LOADING | STALE,
                since: "3.0.0",
                summary: "Removes the assignment of hash slots in the node's view.",
                complexity: "O(n) for n slots",
                args: "slot:integer*",
                ..CLUSTER
            },
            Command {
                name: "delslotsrange",
                arity: -4,
                flags: ADMIN | NO_ASYNC_LOADING | STALE,
                since: "7.0.0",
                summary: "Removes the assignment of ranges of hash slots in the node's view.",
                complexity: "O(n) for n slots",
                args: "range:block*(start-slot:integer end-slot:integer)",
                ..CLUSTER
            },
            Command {
                name: "failover",
                arity: -2,
                flags: ADMIN | NO_ASYNC_LOADING | STALE,
                since: "3.0.0",
                summary: "Promotes a replica in place of its primary.",
                complexity: "O(1)",
                args: "options:oneof?(force:pure-token=FORCE takeover:pure-token=TAKEOVER)",
                ..CLUSTER
            },
            Command {
                name: "flushslot",
                arity: -3,
                flags: ADMIN | ALL_DBS | NO_ASYNC_LOADING | WRITE,
                acl: "keyspace",
                scope: Scope::Walk,
                since: "9.0.0",
                summary: "Removes all keys of a hash slot.",
                complexity: "O(n) for n keys of the slot",
                args: "slot:integer flush-type:oneof?(async:pure-token=ASYNC sync:pure-token=SYNC)",
                ..CLUSTER
            },
            Command {
                name: "flushslots",
                arity: 2,
                flags: ADMIN | NO_ASYNC_LOADING | STALE,
                since: "3.0.0",
                summary: "Removes all hash slots from the node.",
                complexity: "O(1)",
                ..CLUSTER
            },
            Command {
                name: "forget",
                arity: 3,
                flags: ADMIN | NO_ASYNC_LOADING | STALE,
                since: "3.0.0",
                summary: "Removes a node from the list of known nodes.",
                complexity: "O(1)",
                args: "node-id:string",
                ..CLUSTER
            },
            Command {
                name: "getkeysinslot",
                arity: 4,
                flags: STALE,
                scope: Scope::Walk,
                since: "3.0.0",
                summary: "Returns names of keys of a hash slot.",
                complexity: "O(n) for n keys returned",
                args: "slot:integer count:integer",
                tips: &["nondeterministic_output"],
                ..CLUSTER
            },
            Command {
                name: "getslotmigrations",
                arity: 2,
                flags: ADMIN | NO_ASYNC_LOADING | STALE,
                since: "9.0.0",
                summary: "Returns the state of slot migrations.",
                complexity: "O(n) for n migrations",
                ..CLUSTER
            },
            Command {
                name: "help",
                arity: 2,
                flags: LOADING | STALE,
                since: "5.0.0",
                summary: "Lists the subcommands.",
                complexity: "O(1)",
                ..CLUSTER
            },
            Command {
                name: "info",
                arity: 2,
                flags: LOADING | STALE,
                since: "3.0.0",
                summary: "Returns the state of the cluster.",
                complexity: "O(1)",
                tips: &["nondeterministic_output"],
                ..CLUSTER
            },
            Command {
                name: "keyslot",
                arity: 3,
                flags: STALE,
                since: "3.0.0",
                summary: "Returns the hash slot of a key.",
                complexity: "O(n) for n bytes of the key",
                args: "key:string",
                ..CLUSTER
            },
            Command {
                name: "links",
                arity: 2,
                flags: STALE,
                since: "7.0.0",
                summary: "Lists the connections to other nodes.",
                complexity: "O(n) for n nodes",
                tips: &["nondeterministic_output"],
                ..CLUSTER
            },
            Command {
                name: "meet",
                arity: -4,
                flags: ADMIN | NO_ASYNC_LOADING | STALE,
                since: "3.0.0",
                history: &[("4.0.0", "Takes the port of the bus.")],
                summary: "Connects the node to another node of the cluster.",
                complexity: "O(1)",
                args: "ip:string port:integer cluster-bus-port:integer?@4.0.0",
                ..CLUSTER
            },
            Command {
                name: "migrateslots",
                arity: -4,
                flags: ADMIN | ALL_DBS | NO_ASYNC_LOADING | STALE,
                since: "9.0.0",
                summary: "Moves ranges of slots to other nodes.",
                complexity: "O(n) for n slots",
                args: "migration-group:block*(slotsrange-token:pure-token=SLOTSRANGE range:block*(start-slot:integer end-slot:integer) node-token:pure-token=NODE node-id:string)",
                ..CLUSTER
            },
            Command {
                name: "myid",
                arity: 2,
                flags: LOADING | STALE,
                since: "3.0.0",
                summary: "Returns the ID of the node.",
                complexity: "O(1)",
                ..CLUSTER
            },
            Command {
                name: "myshardid",
                arity: 2,
                flags: LOADING | STALE,
                since: "7.2.0",
                summary: "Returns the ID of the shard of the node.",
                complexity: "O(1)",
                tips: &["nondeterministic_output"],
                ..CLUSTER
            },
            Command {
                name: "nodes",
                arity: 2,
                flags: LOADING | STALE,
                since: "3.0.0",
                summary: "Returns the node's view of all nodes.",
                complexity: "O(n) for n nodes",
                tips: &["nondeterministic_output"],
                ..CLUSTER
            },
            Command {
                name: "replicas",
                arity: 3,
                flags: ADMIN | STALE,
                since: "5.0.0",
                summary: "Lists the replicas of a node.",
                complexity: "O(n) for n replicas",
                args: "node-id:string",
                tips: &["nondeterministic_output"],
                ..CLUSTER
            },
            Command {
                name: "replicate",
                arity: -3,
                flags: ADMIN | NO_ASYNC_LOADING | STALE,
                since: "3.0.0",
                history: &[("9.0.0", "`NO ONE` makes a replica an empty primary.")],
                summary: "Makes the node a replica of another one, or of none.",
                complexity: "O(1)",
                args: "args:oneof(node-id:string no-one:block@9.0.0(no:pure-token=NO one:pure-token=ONE))",
                ..CLUSTER
            },
            Command {
                name: "reset",
                arity: -2,
                flags: ADMIN | NOSCRIPT | STALE,
                since: "3.0.0",
                summary: "Resets the node.",
                complexity: "O(n) for n known nodes",
                args: "reset-type:oneof?(hard:pure-token=HARD soft:pure-token=SOFT)",
                ..CLUSTER
            },
            Command {
                name: "saveconfig",
                arity: 2,
                flags: ADMIN | NO_ASYNC_LOADING | STALE,
                since: "3.0.0",
                summary: "Writes the configuration of the cluster to disk.",
                complexity: "O(1)",
                ..CLUSTER
            },
            Command {
                name: "set-config-epoch",
                arity: 3,
                flags: ADMIN | NO_ASYNC_LOADING | STALE,
                since: "3.0.0",
                summary: "Sets the configuration epoch of a new node.",
                complexity: "O(1)",
                args: "config-epoch:integer",
                ..CLUSTER
            },
            Command {
                name: "setslot",
                arity: -4,
                flags: ADMIN | MAY_REPLICATE | NO_ASYNC_LOADING | STALE,
                since: "3.0.0",
                history: &[("8.0.0", "Takes `TIMEOUT`.")],
                summary: "Assigns a hash slot, or marks it as moving.",
                complexity: "O(1)",
                args: "slot:integer subcommand:oneof(importing:string=IMPORTING~node-id migrating:string=MIGRATING~node-id node:string=NODE~node-id stable:pure-token=STABLE) timeout:integer=TIMEOUT?@8.0.0",
                ..CLUSTER
            },
            Command {
                name: "shards",
                arity: 2,
                flags: LOADING | STALE,
                since: "7.0.0",
                history: &[("9.1.0", "Shows the ID of each shard and the availability zone of each node.")],
                summary: "Lists the shards and their hash slots.",
                complexity: "O(n) for n nodes",
                tips: &["nondeterministic_output"],
                ..CLUSTER
            },
            Command {
                name: "slaves",
                arity: 3,
                flags: ADMIN | STALE,
                since: "3.0.0",
                deprecated: Some(Deprecated { since: "5.0.0", replaced_by: "CLUSTER REPLICAS" }),
                summary: "Lists the replicas of a node.",
                complexity: "O(n) for n replicas",
                args: "node-id:string",
                tips: &["nondeterministic_output"],
                ..CLUSTER
            },
            Command {
                name: "slot-stats",
                arity: -4,
                flags: LOADING | STALE,
                scope: Scope::Walk,
                since: "8.0.0",
                summary: "Returns statistics of hash slots.",
                complexity: "O(n log n) for n slots",
                args: "filter:oneof(slotsrange:block=SLOTSRANGE(start-slot:integer end-slot:integer) orderby:block=ORDERBY(metric:string limit:integer=LIMIT? order:oneof?(asc:pure-token=ASC desc:pure-token=DESC)))",
                tips: &["nondeterministic_output", "request_policy:all_shards"],
                ..CLUSTER
            },
            Command {
                name: "slots",
                arity: 2,
                flags: LOADING | STALE,
                since: "3.0.0",
                history: &[
                    ("4.0.0", "Shows the IDs of nodes."),
                    ("7.0.0", "Shows more about the network addresses of each node."),
                    ("9.1.0", "Shows the availability zone of each node."),
                ],
                summary: "Returns the assignment of hash slots to nodes.",
                complexity: "O(n) for n nodes",
                tips: &["nondeterministic_output"],
                ..CLUSTER
            },
            Command {
                name: "syncslots",
                arity: -3,
                flags: ADMIN | MAY_REPLICATE | NO_ASYNC_LOADING | STALE,
                since: "9.0.0",
                is_internal: true,
                summary: "Exchanges messages about a slot migration; used by nodes.",
                complexity: "O(1)",
                ..CLUSTER
            },
        ],
        ..CLUSTER
    },
    Command {
        name: "clusterscan",
        arity: -2,
        flags: READONLY | TOUCHES_ARBITRARY_KEYS,
        acl: "keyspace",
        scope: Scope::Walk,
        keys: &[KeySpec::one(1, "NOT_KEY")],
        since: "9.1.0",
        summary: "Iterates over the keys of a cluster.",
        complexity: "O(1) per call, O(n) for a complete iteration",
        args: "cursor:string match-pattern:pattern=MATCH? count:integer=COUNT? type:string=TYPE? slot:integer=SLOT?",
        tips: &["nondeterministic_output", "request_policy:special", "response_policy:special"],
        ..CLUSTER
    },
    Command {
        name: "readonly",
        arity: 1,
        flags: FAST | LOADING | STALE,
        acl: "connection",
        since: "3.0.0",
        summary: "Allows reads of the connection from a replica of a cluster.",
        complexity: "O(1)",
        ..CLUSTER
    },
    Command {
        name: "readwrite",
        arity: 1,
        flags: FAST | LOADING | STALE,
        acl: "connection",
        since: "3.0.0",
        summary: "Ends the READONLY mode of the connection.",
        complexity: "O(1)",
        ..CLUSTER
    },
];
