//! Sockets, clients and what they may send.

use super::row::*;
use crate::config::choices::{AclPubsubDefault, Choice, Permission};
use crate::config::kind::Kind;
use crate::config::number::Unit;
use crate::config::special::Special;

/// What options of threads of input and output shape: a worker reads, executes and writes itself.
const IO_THREADS: &str = "I/O threads and copy avoidance";
const OUTPUT_LIMITS: &str = "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60";

pub(super) static OPTIONS: &[Opt] = &[
    special("bind", Special::Bind, "* -::*")
        .does("Addresses to listen on, separated by spaces. `*` is all IPv4 addresses, `::*` all IPv6 addresses. The server also starts if an address with a leading `-` is not available.", "options/main.rs"),
    text("bind-source-addr", "").does(
        "Local address of connections to the primary and to cluster nodes; empty leaves the choice to the kernel.",
        "replication/roles.rs",
    ),
    int("port", 0, 65535, "6379").does("TCP port for clients; 0 disables it.", "options/main.rs"),
    text("unixsocket", "").immutable().does("Path of the Unix socket for clients; empty creates none.", "options/main.rs"),
    text("unixsocketgroup", "").immutable().does("Group of the Unix socket file; empty keeps the group of the process.", "options/main.rs"),
    option("unixsocketperm", Kind::Int { bounds: (0, 0o777), unit: Unit::Octal }, "0")
        .immutable()
        .does("Permissions of the Unix socket file, in octal; 0 leaves them to the umask.", "options/main.rs"),
    int("tcp-backlog", 0, INT_MAX, "511")
        .immutable()
        .does("Maximum number of connections that wait in the kernel until the server accepts them. The kernel's `net.core.somaxconn` limits it further.", "options/main.rs"),
    int("tcp-keepalive", 0, INT_MAX, "300")
        .hot_int(|h| &h.tcp_keepalive_s)
        .does("Seconds without traffic after which the kernel starts to probe a client connection; 0 disables the probes. Applies to new connections.", "options/connections.rs"),
    int("timeout", 0, INT_MAX, "0")
        .hot_int(|h| &h.timeout_s)
        .does("Seconds without a command after which a client is closed; 0 means never. Blocked clients, subscribers, replicas and `MONITOR` clients stay connected.", "options/main.rs"),
    int("metrics-port", 0, 65535, "0")
        .immutable()
        .does("HTTP port for Prometheus metrics; 0 disables it.", "metrics.rs"),
    text("metrics-bind", "127.0.0.1 -::1")
        .immutable()
        .does("Addresses of the metrics port, separated by spaces. The server also starts if an address with a leading `-` is not available.", "metrics.rs"),
    text("metrics-hosts", "").immutable().does(
        "Names accepted in the `Host` header of metrics requests, separated by spaces; `*` accepts all. IP addresses, `localhost` and the machine's name are always accepted.",
        "metrics.rs",
    ),
    int("console-port", 0, 65535, "0")
        .immutable()
        .does("HTTP port of the web console; 0 disables it.", "console.rs"),
    text("console-bind", "127.0.0.1 -::1")
        .immutable()
        .does("Addresses of the console port, separated by spaces. The server also starts if an address with a leading `-` is not available.", "console.rs"),
    text("console-hosts", "").immutable().does(
        "Names accepted in the `Host` header of console requests, separated by spaces; `*` accepts all. IP addresses, `localhost` and the machine's name are always accepted.",
        "console.rs",
    ),
    yes_no("console-writable", "no")
        .immutable()
        .does("Allows write commands in the console.", "console.rs"),
    int("maxclients", 1, UINT_MAX, "10000")
        .hot_int(|h| &h.maxclients)
        .does("Maximum number of client connections; further ones get an error and are closed.", "clients.rs"),
    int("max-new-connections-per-cycle", 1, 1000, "10")
        .hot_int(|h| &h.max_new_connections_per_cycle)
        .does("Maximum number of connections that a thread accepts in one iteration of its event loop.", "options/main.rs"),
    int("socket-mark-id", 0, UINT_MAX, "0")
        .immutable()
        .does("Mark (`SO_MARK`) of listening sockets, for routing rules; 0 sets none.", "options/main.rs"),
    yes_no("mptcp", "no").immutable().does("Listens with Multipath TCP.", "options/main.rs"),
    yes_no("protected-mode", "yes").hot_bool(|h| &h.protected_mode).does(
        "Refuses clients on other machines while the default user has no password.",
        "options/connections.rs",
    ),
    text("requirepass", "")
        .sensitive()
        .any_byte()
        .does("Password of the default user; empty requires none.", "differential/acl.rs"),
    text("aclfile", "").immutable().does("File with ACL users, read at startup; empty reads them from the configuration file.", "acl.rs"),
    int("acllog-max-len", 0, LONG_MAX, "128")
        .hot_int(|h| &h.acllog_max_len)
        .does("Maximum number of entries in `ACL LOG`.", "options/connections.rs"),
    one_of("acl-pubsub-default", AclPubsubDefault::NAMES, "resetchannels")
        .does("Pub/sub channels that new users can access: all (`allchannels`) or none (`resetchannels`).", "differential/acl.rs"),
    one_of("enable-protected-configs", Permission::NAMES, "no")
        .immutable()
        .does("Which clients can set `dir` and `dbfilename` with `CONFIG SET`: no client (`no`), all clients (`yes`) or clients on this machine (`local`).", "differential/scripting/mod.rs"),
    one_of("enable-debug-command", Permission::NAMES, "no")
        .immutable()
        .does("Which clients can call `DEBUG`: no client (`no`), all clients (`yes`) or clients on this machine (`local`).", "persistence/deadlines.rs"),
    one_of("enable-module-command", Permission::NAMES, "no")
        .immutable()
        .does("Which clients can call `MODULE`: no client (`no`), all clients (`yes`) or clients on this machine (`local`). Modules cannot be loaded.", "options/connections.rs"),
    special("client-output-buffer-limit", Special::OutputLimits, OUTPUT_LIMITS)
        .does("Bytes of unsent output at which a client is closed, by class: at once at the hard limit, or after these seconds above the soft limit; 0 disables a limit.", "clients.rs"),
    memory("client-query-buffer-limit", 1 << 20, LONG_MAX, "1073741824")
        .hot_unsigned(|h| &h.client_query_buffer_limit)
        .does("Bytes of incomplete input and of commands queued for `EXEC` at which a client is closed.", "clients.rs"),
    memory("proto-max-bulk-len", 1 << 20, LONG_MAX, "536870912")
        .hot_unsigned(|h| &h.proto_max_bulk_len)
        .does("Maximum bytes of an argument, and of a string value.", "options/connections.rs"),
    option("maxmemory-clients", Kind::Int { bounds: (-100, LONG_MAX), unit: Unit::MemoryOrPercent }, "0")
        .hot_int(|h| &h.maxmemory_clients)
        .does(
            "Memory of all clients, in bytes or in percent of `maxmemory`, above which the largest clients are closed; 0 is no limit. Other values below 128 KB count as 128 KB.",
            "differential/introspection.rs",
        ),
    int("tracking-table-max-keys", 0, LONG_MAX, "1000000")
        .hot_unsigned(|h| &h.tracking_table_max_keys)
        .does("Maximum number of keys that `CLIENT TRACKING` remembers; 0 is no limit. Above it, the server forgets keys and invalidates them.", "tracking.rs"),
    yes_no("import-mode", "no").hot_bool(|h| &h.import_mode).does(
        "On a primary, stops expiry and eviction while data is imported. Clients with `CLIENT IMPORT-SOURCE ON` see expired keys.",
        "options/main.rs",
    ),
    yes_no("io-threads-always-active", "no").hidden().dormant(IO_THREADS),
    int("min-io-threads-avoid-copy-reply", 0, INT_MAX, "7").hidden().dormant(IO_THREADS),
    int("min-string-size-avoid-copy-reply", 0, INT_MAX, "16384").hidden().dormant(IO_THREADS),
    int("min-string-size-avoid-copy-reply-threaded", 0, INT_MAX, "65536").hidden().dormant(IO_THREADS),
    yes_no("extended-redis-compatibility", "no").hot_bool(|h| &h.extended_redis_compatibility).does(
        "Reports the name and version of Redis in `HELLO`, `LOLWUT` and errors, and `redis_mode` in `INFO`.",
        "options/main.rs",
    ),
];
