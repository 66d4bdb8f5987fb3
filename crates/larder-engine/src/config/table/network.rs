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
    special("bind", Special::Bind, "* -::*"),
    text("bind-source-addr", "").dormant("connections of replicas"),
    int("port", 0, 65535, "6379"),
    text("unixsocket", "").immutable(),
    text("unixsocketgroup", "").immutable(),
    option("unixsocketperm", Kind::Int { bounds: (0, 0o777), unit: Unit::Octal }, "0").immutable(),
    int("tcp-backlog", 0, INT_MAX, "511").immutable(),
    int("tcp-keepalive", 0, INT_MAX, "300").hot_int(|h| &h.tcp_keepalive_s),
    int("timeout", 0, INT_MAX, "0").hot_int(|h| &h.timeout_s),
    int("maxclients", 1, UINT_MAX, "10000").hot_int(|h| &h.maxclients),
    int("max-new-connections-per-cycle", 1, 1000, "10").hot_int(|h| &h.max_new_connections_per_cycle),
    int("socket-mark-id", 0, UINT_MAX, "0").immutable(),
    yes_no("mptcp", "no").immutable(),
    yes_no("protected-mode", "yes").hot_bool(|h| &h.protected_mode),
    text("requirepass", "").sensitive(),
    text("aclfile", "").immutable(),
    int("acllog-max-len", 0, LONG_MAX, "128").hot_int(|h| &h.acllog_max_len),
    one_of("acl-pubsub-default", AclPubsubDefault::NAMES, "resetchannels"),
    one_of("enable-protected-configs", Permission::NAMES, "no").immutable(),
    one_of("enable-debug-command", Permission::NAMES, "no").immutable(),
    one_of("enable-module-command", Permission::NAMES, "no").immutable(),
    special("client-output-buffer-limit", Special::OutputLimits, OUTPUT_LIMITS),
    memory("client-query-buffer-limit", 1 << 20, LONG_MAX, "1073741824")
        .hot_unsigned(|h| &h.client_query_buffer_limit),
    memory("proto-max-bulk-len", 1 << 20, LONG_MAX, "536870912").hot_unsigned(|h| &h.proto_max_bulk_len),
    option("maxmemory-clients", Kind::Int { bounds: (-100, LONG_MAX), unit: Unit::MemoryOrPercent }, "0")
        .hot_int(|h| &h.maxmemory_clients),
    int("tracking-table-max-keys", 0, LONG_MAX, "1000000").hot_unsigned(|h| &h.tracking_table_max_keys),
    yes_no("import-mode", "no").hot_bool(|h| &h.import_mode),
    yes_no("io-threads-always-active", "no").hidden().dormant(IO_THREADS),
    int("min-io-threads-avoid-copy-reply", 0, INT_MAX, "7").hidden().dormant(IO_THREADS),
    int("min-string-size-avoid-copy-reply", 0, INT_MAX, "16384").hidden().dormant(IO_THREADS),
    int("min-string-size-avoid-copy-reply-threaded", 0, INT_MAX, "65536").hidden().dormant(IO_THREADS),
    yes_no("extended-redis-compatibility", "no"),
];
