//! What clients without sockets may call.

use crate::command::spec::{Found, Group, flags};
use crate::command::table::table;
use larder_resp::Args;
use std::sync::LazyLock;

/// Commands that change what a connection is, or depend on what came before on it.
const NEVER: &[&str] = &[
    "asking",
    "auth",
    "client|caching",
    "client|capa",
    "client|import-source",
    "client|reply",
    "client|tracking",
    "discard",
    "exec",
    "hello",
    "monitor",
    "multi",
    "psubscribe",
    "psync",
    "punsubscribe",
    "quit",
    "readonly",
    "readwrite",
    "replconf",
    "reset",
    "script|debug",
    "select",
    "ssubscribe",
    "subscribe",
    "sunsubscribe",
    "sync",
    "unsubscribe",
    "unwatch",
    "watch",
];

/// Of these, what a client may call that keeps its state from command to command: its connection is inside of the process.
const OF_CONNECTIONS: &[&str] = &[
    "auth",
    "client|caching",
    "client|capa",
    "client|reply",
    "client|tracking",
    "discard",
    "exec",
    "hello",
    "multi",
    "psubscribe",
    "punsubscribe",
    "quit",
    "reset",
    "select",
    "ssubscribe",
    "subscribe",
    "sunsubscribe",
    "unsubscribe",
    "unwatch",
    "watch",
];

/// Commands that such a client may call beside those about data and those that change nothing.
const BETWEEN_CLIENTS: &[&str] = &[
    "client|getredir",
    "client|kill",
    "client|no-evict",
    "client|no-touch",
    "client|setinfo",
    "client|setname",
    "client|trackinginfo",
    "client|unblock",
    "config|resetstat",
    "publish",
    "slowlog|reset",
    "spublish",
    "wait",
    "waitaof",
];

/// Commands that change nothing, beside those that the table calls readers of data.
const HARMLESS: &[&str] = &[
    "acl|cat",
    "acl|dryrun",
    "acl|getuser",
    "acl|list",
    "acl|log",
    "acl|users",
    "acl|whoami",
    "client|getname",
    "client|id",
    "client|info",
    "client|list",
    "cluster|countkeysinslot",
    "cluster|info",
    "cluster|keyslot",
    "cluster|links",
    "cluster|myid",
    "cluster|nodes",
    "cluster|replicas",
    "cluster|shards",
    "cluster|slots",
    "command",
    "command|count",
    "command|docs",
    "command|getkeys",
    "command|getkeysandflags",
    "command|info",
    "command|list",
    "commandlog|get",
    "commandlog|len",
    "config|get",
    "echo",
    "function|list",
    "function|stats",
    "info",
    "lastsave",
    "latency|doctor",
    "latency|graph",
    "latency|histogram",
    "latency|history",
    "latency|latest",
    "lolwut",
    "memory|doctor",
    "memory|malloc-stats",
    "memory|stats",
    "module|list",
    "ping",
    "pubsub|channels",
    "pubsub|numpat",
    "pubsub|numsub",
    "pubsub|shardchannels",
    "pubsub|shardnumsub",
    "role",
    "script|exists",
    "slowlog|get",
    "slowlog|len",
    "time",
];

/// Commands of the groups of data that need more than the data of this process.
const BEYOND_DATA: &[&str] = &["migrate", "restore-asking", "wait", "waitaof"];

/// Commands of other groups that are about data alone.
const ABOUT_DATA: &[&str] = &[
    "command",
    "command|count",
    "command|docs",
    "command|getkeys",
    "command|getkeysandflags",
    "command|help",
    "command|info",
    "command|list",
    "config|get",
    "dbsize",
    "echo",
    "flushall",
    "flushdb",
    "info",
    "memory|usage",
    "ping",
    "role",
    "swapdb",
    "time",
];

/// Commands about the files that hold the data, and the options that say how. Which options may be set is the host's business.
const ABOUT_FILES: &[&str] = &["bgrewriteaof", "bgsave", "config|set", "lastsave", "save"];

/// What clients may call, beside what their users may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permit {
    /// What is about data: nothing about connections, files, other servers or the process.
    Data,
    /// The same, and what is about the files that hold the data.
    DataAndFiles,
    /// The same, and what clients with a connection do: subscribe, watch keys, select databases. `files`: whether there are files.
    Connection {
        /// Whether the data is kept in files.
        files: bool,
    },
    /// What changes nothing.
    Reading,
    /// All that answers at once.
    All,
}

/// For the id of every command, whether it is one of [`NEVER`], and whether it is about data, or about its files.
static RULES: LazyLock<Vec<Rule>> =
    LazyLock::new(|| table().all().iter().map(|found| rule(*found)).collect());

#[derive(Clone, Copy)]
pub(super) struct Rule {
    /// One of [`NEVER`].
    pub never: bool,
    pub is_about_data: bool,
    pub is_about_files: bool,
    /// One of [`OF_CONNECTIONS`], [`BETWEEN_CLIENTS`] or [`HARMLESS`].
    pub is_of_connections: bool,
}

/// Whether a command changes what a connection is, or depends on what came before on it. One that is not known does not.
pub fn is_about_connection(name: &[u8], subcommand: Option<&[u8]>) -> bool {
    let Some(found) = table().find(name) else { return false };
    let found = subcommand.and_then(|sub| table().find_sub(found, sub)).unwrap_or(found);
    rule_of(found).never
}

/// What there is to know of a command.
pub(super) fn rule_of(found: Found) -> Rule {
    RULES[usize::from(found.id)]
}

fn rule(found: Found) -> Rule {
    let name = name_of(found);
    let is_of_data = match found.command.group {
        Group::Bitmap
        | Group::Generic
        | Group::Geo
        | Group::Hash
        | Group::HyperLogLog
        | Group::List
        | Group::Scripting
        | Group::Set
        | Group::SortedSet
        | Group::Stream
        | Group::String => !BEYOND_DATA.contains(&&*name),
        Group::Cluster | Group::Connection | Group::PubSub | Group::Server | Group::Transactions => false,
    };
    Rule {
        never: NEVER.contains(&&*name),
        is_about_data: is_of_data || ABOUT_DATA.contains(&&*name),
        is_about_files: ABOUT_FILES.contains(&&*name),
        is_of_connections: [OF_CONNECTIONS, BETWEEN_CLIENTS, HARMLESS]
            .iter()
            .any(|list| list.contains(&&*name))
            || found.command.name == "help",
    }
}

/// `name`, or `container|name`.
pub(super) fn name_of(found: Found) -> String {
    match found.parent {
        Some(parent) => format!("{}|{}", parent.name, found.command.name),
        None => found.command.name.to_owned(),
    }
}

/// Whether a command changes nothing.
pub(super) fn is_harmless(found: Found, name: &str, args: Args<'_>) -> bool {
    if found.command.has_any(flags::WRITE | flags::MAY_REPLICATE) {
        return false;
    }
    let resets_log = name == "acl|log" && args.get(2).is_some_and(|word| word.eq_ignore_ascii_case(b"reset"));
    !resets_log
        && (found.command.has(flags::READONLY) || found.command.name == "help" || HARMLESS.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use larder_resp::OwnedArgs;

    #[test]
    fn the_names_are_those_of_commands() {
        let names: Vec<String> = table().all().iter().map(|found| name_of(*found)).collect();
        assert!(OF_CONNECTIONS.iter().all(|name| NEVER.contains(name)));
        for name in NEVER
            .iter()
            .chain(BETWEEN_CLIENTS)
            .chain(HARMLESS)
            .chain(BEYOND_DATA)
            .chain(ABOUT_DATA)
            .chain(ABOUT_FILES)
        {
            assert!(names.iter().any(|known| known == name), "{name}");
        }
    }

    #[test]
    fn what_is_about_data() {
        let is_about_data = |name: &str| {
            let found = table().find_full(name.as_bytes()).expect("it is a command");
            rule_of(found).is_about_data
        };
        for name in
            ["get", "hset", "blpop", "eval", "scan", "xread", "flushall", "memory|usage", "object|encoding"]
        {
            assert!(is_about_data(name), "{name}");
        }
        for name in [
            "shutdown",
            "save",
            "replicaof",
            "config|set",
            "migrate",
            "cluster|meet",
            "publish",
            "subscribe",
            "multi",
            "wait",
            "acl|setuser",
            "debug",
            "client|kill",
        ] {
            assert!(!is_about_data(name), "{name}");
        }
    }

    #[test]
    fn what_may_change_something_is_not_harmless() {
        for &found in table().all() {
            let name = name_of(found);
            let args: OwnedArgs = name.split('|').map(str::as_bytes).collect();
            let is_harmless = is_harmless(found, &name, args.as_args());
            assert!(!is_harmless || !found.command.has_any(flags::WRITE | flags::DENYOOM), "{name}");
        }
        for name in [
            "config|set",
            "flushall",
            "eval",
            "fcall",
            "debug",
            "shutdown",
            "client|kill",
            "slowlog|reset",
            "save",
        ] {
            let found = table().find_full(name.as_bytes()).expect("it is a command");
            assert!(!is_harmless(found, name, OwnedArgs::default().as_args()), "{name}");
        }
        for name in ["get", "eval_ro", "scan", "memory|usage", "memory|anatomy", "config|help"] {
            let found = table().find_full(name.as_bytes()).expect("it is a command");
            assert!(is_harmless(found, name, OwnedArgs::default().as_args()), "{name}");
        }
        let log = table().find_full(b"acl|log").expect("it is a command");
        let reset: OwnedArgs = [&b"ACL"[..], b"LOG", b"Reset"].into_iter().collect();
        assert!(!is_harmless(log, "acl|log", reset.as_args()));
    }
}
