//! Sockets, clients and what they may send.

use super::row::*;
use crate::config::choices::{AclPubsubDefault, Choice, Permission};
use crate::config::kind::Kind;
use crate::config::number::Unit;
use crate::config::special::Special;

/// What options of threads of input and output shape: a worker reads, executes and writes itself.
const IO_THREADS: &str = "threads of input and output, and replies that are not copied";
const OUTPUT_LIMITS: &str = "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60";

pub(super) static OPTIONS: &[Opt] = &[
    special("bind", Special::Bind, "* -::*")
        .does("Addresses to listen on by TCP; one with a leading `-` may be missing.", "options/main.rs"),
    text("bind-source-addr", "").does(
        "The address from which connections to a primary, and to nodes of a cluster, are made.",
        "replication/roles.rs",
    ),
    int("port", 0, 65535, "6379").does("Port to listen on by TCP; 0 is none.", "options/main.rs"),
    text("unixsocket", "").immutable().does("Path of the unix socket.", "options/main.rs"),
    text("unixsocketgroup", "").immutable().does("Group of the unix socket's file.", "options/main.rs"),
    option("unixsocketperm", Kind::Int { bounds: (0, 0o777), unit: Unit::Octal }, "0")
        .immutable()
        .does("Permissions of the unix socket's file, in octal.", "options/main.rs"),
    int("tcp-backlog", 0, INT_MAX, "511")
        .immutable()
        .does("Connections that the kernel keeps waiting.", "options/main.rs"),
    int("tcp-keepalive", 0, INT_MAX, "300")
        .hot_int(|h| &h.tcp_keepalive_s)
        .does("Seconds between probes of silent connections; 0 is none.", "options/connections.rs"),
    int("timeout", 0, INT_MAX, "0")
        .hot_int(|h| &h.timeout_s)
        .does("Seconds after which a silent client is closed; 0 is never.", "options/main.rs"),
    int("metrics-port", 0, 65535, "0")
        .immutable()
        .does("Port on which metrics are served over HTTP, for Prometheus; 0 is none.", "metrics.rs"),
    text("metrics-bind", "127.0.0.1 -::1")
        .immutable()
        .does("Addresses to serve metrics on; one with a leading `-` may be missing.", "metrics.rs"),
    text("metrics-hosts", "").immutable().does(
        "Names by which metrics may be asked for beside the machine's own and addresses; `*` allows all.",
        "metrics.rs",
    ),
    int("console-port", 0, 65535, "0")
        .immutable()
        .does("Port on which the console is served over HTTP; 0 is none.", "console.rs"),
    text("console-bind", "127.0.0.1 -::1")
        .immutable()
        .does("Addresses to serve the console on; one with a leading `-` may be missing.", "console.rs"),
    text("console-hosts", "").immutable().does(
        "Names by which the console may be asked for beside the machine's own and addresses; `*` allows all.",
        "console.rs",
    ),
    yes_no("console-writable", "no")
        .immutable()
        .does("Whether commands may be given in the console that change something.", "console.rs"),
    int("maxclients", 1, UINT_MAX, "10000")
        .hot_int(|h| &h.maxclients)
        .does("Connections that are accepted.", "clients.rs"),
    int("max-new-connections-per-cycle", 1, 1000, "10")
        .hot_int(|h| &h.max_new_connections_per_cycle)
        .does("Connections accepted in one turn of the event loop.", "options/main.rs"),
    int("socket-mark-id", 0, UINT_MAX, "0")
        .immutable()
        .does("Mark of the listening sockets, for the kernel's routing.", "options/main.rs"),
    yes_no("mptcp", "no").immutable().does("Listens by Multipath TCP.", "options/main.rs"),
    yes_no("protected-mode", "yes").hot_bool(|h| &h.protected_mode).does(
        "Refuses clients of other machines while the default user has no password.",
        "options/connections.rs",
    ),
    text("requirepass", "")
        .sensitive()
        .any_byte()
        .does("Password of the default user.", "differential/acl.rs"),
    text("aclfile", "").immutable().does("File of the users.", "acl.rs"),
    int("acllog-max-len", 0, LONG_MAX, "128")
        .hot_int(|h| &h.acllog_max_len)
        .does("Entries that `ACL LOG` keeps.", "options/connections.rs"),
    one_of("acl-pubsub-default", AclPubsubDefault::NAMES, "resetchannels")
        .does("Channels that a new user may use.", "differential/acl.rs"),
    one_of("enable-protected-configs", Permission::NAMES, "no")
        .immutable()
        .does("Who may set `dir` and `dbfilename` by `CONFIG SET`.", "differential/scripting/mod.rs"),
    one_of("enable-debug-command", Permission::NAMES, "no")
        .immutable()
        .does("Who may call `DEBUG`.", "persistence/deadlines.rs"),
    one_of("enable-module-command", Permission::NAMES, "no")
        .immutable()
        .does("Who may call `MODULE`; there is nothing to load.", "options/connections.rs"),
    special("client-output-buffer-limit", Special::OutputLimits, OUTPUT_LIMITS)
        .does("Unsent bytes at which a client of a class is closed.", "clients.rs"),
    memory("client-query-buffer-limit", 1 << 20, LONG_MAX, "1073741824")
        .hot_unsigned(|h| &h.client_query_buffer_limit)
        .does("Unread bytes at which a client is closed.", "clients.rs"),
    memory("proto-max-bulk-len", 1 << 20, LONG_MAX, "536870912")
        .hot_unsigned(|h| &h.proto_max_bulk_len)
        .does("Bytes of one argument, and of a string.", "options/connections.rs"),
    option("maxmemory-clients", Kind::Int { bounds: (-100, LONG_MAX), unit: Unit::MemoryOrPercent }, "0")
        .hot_int(|h| &h.maxmemory_clients)
        .does(
            "Bytes that all clients together may use before the largest are closed.",
            "differential/introspection.rs",
        ),
    int("tracking-table-max-keys", 0, LONG_MAX, "1000000")
        .hot_unsigned(|h| &h.tracking_table_max_keys)
        .does("Keys that `CLIENT TRACKING` remembers.", "tracking.rs"),
    yes_no("import-mode", "no").hot_bool(|h| &h.import_mode).does(
        "Nothing expires by itself or is evicted, and clients with `CLIENT IMPORT-SOURCE ON` see keys beyond their time.",
        "options/main.rs",
    ),
    yes_no("io-threads-always-active", "no").hidden().dormant(IO_THREADS),
    int("min-io-threads-avoid-copy-reply", 0, INT_MAX, "7").hidden().dormant(IO_THREADS),
    int("min-string-size-avoid-copy-reply", 0, INT_MAX, "16384").hidden().dormant(IO_THREADS),
    int("min-string-size-avoid-copy-reply-threaded", 0, INT_MAX, "65536").hidden().dormant(IO_THREADS),
    yes_no("extended-redis-compatibility", "no").hot_bool(|h| &h.extended_redis_compatibility).does(
        "`HELLO`, `LOLWUT` and errors give Redis's name and version, and `INFO` has `redis_mode`.",
        "options/main.rs",
    ),
];
