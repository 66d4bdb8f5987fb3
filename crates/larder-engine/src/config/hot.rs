//! The options that commands and event loops read all the time, as atomics: a reader takes no lock and sees a CONFIG
//! SET at its next look. All loads and stores are relaxed; no option orders another.

use super::choices::{
    AppendFsync, Choice, ListCompressCodec, MaxmemoryPolicy, RdbVersionCheck, TlsAuthClients, TlsUserField,
};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};

/// `client-output-buffer-limit` of one class of clients; 0 is "no limit".
#[derive(Debug, Default)]
pub struct OutputLimit {
    /// Bytes at which the client is closed at once.
    pub hard_bytes: AtomicU64,
    /// Bytes that may be exceeded for `soft_seconds` only.
    pub soft_bytes: AtomicU64,
    /// See `soft_bytes`.
    pub soft_seconds: AtomicU64,
}

/// An option that is one of several names.
#[derive(Debug)]
pub struct HotChoice<T> {
    number: AtomicI64,
    choice: PhantomData<T>,
}

impl<T: Choice> HotChoice<T> {
    /// The present choice.
    #[inline]
    pub fn get(&self) -> T {
        T::of(self.number.load(Relaxed))
    }

    /// Where its number is.
    pub(crate) fn number(&self) -> &AtomicI64 {
        &self.number
    }
}

impl<T> Default for HotChoice<T> {
    fn default() -> Self {
        HotChoice { number: AtomicI64::new(0), choice: PhantomData }
    }
}

macro_rules! hot {
    ($($(#[$doc:meta])* $name:ident: $kind:ty,)*) => {
        /// Hot options. A field is named like its option, with the unit after it where the option has one. They are on cache lines of
        /// their own, which are only read, mostly.
        #[derive(Debug, Default)]
        #[repr(align(128))]
        pub struct Hot {
            $($(#[$doc])* pub $name: $kind,)*
        }
    };
}

hot! {
    /// Bytes (negative: -1..-5 are 4..64 KB) or elements of a list's block.
    list_max_listpack_size: AtomicI64,
    /// Blocks at each end of a list that stay uncompressed; 0 compresses none.
    list_compress_depth: AtomicI64,
    /// How blocks of lists are compressed.
    list_compress_codec: HotChoice<ListCompressCodec>,
    /// Entries up to which a hash is one listpack.
    hash_max_listpack_entries: AtomicI64,
    /// Bytes of a field or value up to which a hash is one listpack.
    hash_max_listpack_value: AtomicI64,
    /// Hashes with the same field names share them.
    hash_shared_fields: AtomicBool,
    /// Whether blocks are moved out of sparse slabs.
    activedefrag: AtomicBool,
    /// Percent of a core that this takes at the lower threshold.
    active_defrag_cycle_min: AtomicI64,
    /// Percent of a core that this takes at the upper threshold.
    active_defrag_cycle_max: AtomicI64,
    /// Microseconds of work between two pauses.
    active_defrag_cycle_us: AtomicI64,
    /// Percent of fragmentation below which nothing is moved.
    active_defrag_threshold_lower: AtomicI64,
    /// Percent of fragmentation from which on most time is taken.
    active_defrag_threshold_upper: AtomicI64,
    /// Bytes of fragmentation below which nothing is moved.
    active_defrag_ignore_bytes: AtomicU64,
    /// Seconds without a use after which a value is compressed; 0 compresses none.
    compress_idle_time_s: AtomicI64,
    /// Values of files are compressed before they are put into the keyspace.
    compress_on_load: AtomicBool,
    /// Entries up to which a set of integers is an intset.
    set_max_intset_entries: AtomicI64,
    /// Entries up to which a set is one listpack.
    set_max_listpack_entries: AtomicI64,
    /// Bytes of a member up to which a set is one listpack.
    set_max_listpack_value: AtomicI64,
    /// Entries up to which a sorted set is one listpack.
    zset_max_listpack_entries: AtomicI64,
    /// Bytes of a member up to which a sorted set is one listpack.
    zset_max_listpack_value: AtomicI64,
    /// Bytes of a stream's node.
    stream_node_max_bytes: AtomicI64,
    /// Entries of a stream's node.
    stream_node_max_entries: AtomicI64,
    /// Bytes up to which a HyperLogLog stays sparse.
    hll_sparse_max_bytes: AtomicI64,
    /// Databases.
    databases: AtomicI64,
    /// Connected clients.
    maxclients: AtomicI64,
    /// Idle seconds until a client is closed; 0 never.
    timeout_s: AtomicI64,
    /// Seconds between keepalive probes; 0 none.
    tcp_keepalive_s: AtomicI64,
    /// Bytes of one argument.
    proto_max_bulk_len: AtomicU64,
    /// Bytes of a client's pending input.
    client_query_buffer_limit: AtomicU64,
    /// Limits of normal clients, replicas and subscribers, in this order.
    output_limits: [OutputLimit; 3],
    /// Refuse clients from elsewhere while there is no password and no explicit bind.
    protected_mode: AtomicBool,
    /// Background rounds a second.
    hz: AtomicI64,
    /// Cleared by DEBUG SET-ACTIVE-EXPIRE 0; no option of its own.
    active_expire_enabled: AtomicBool,
    /// 1..10.
    active_expire_effort: AtomicI64,
    /// Microseconds; -1 logs nothing.
    slowlog_log_slower_than: AtomicI64,
    /// Entries kept.
    slowlog_max_len: AtomicI64,
    /// Bytes of a request; -1 logs nothing.
    commandlog_request_larger_than: AtomicI64,
    /// Entries kept.
    commandlog_large_request_max_len: AtomicI64,
    /// Bytes of a reply; -1 logs nothing.
    commandlog_reply_larger_than: AtomicI64,
    /// Entries kept.
    commandlog_large_reply_max_len: AtomicI64,
    /// Milliseconds; 0 turns the monitor off.
    latency_monitor_threshold: AtomicI64,
    /// Whether commands keep latency histograms.
    latency_tracking: AtomicBool,
    /// Whether commands are counted by slot.
    cluster_slot_stats_enabled: AtomicBool,
    /// Bytes; 0 is no limit.
    maxmemory: AtomicU64,
    /// Connections accepted in one turn of the event loop.
    max_new_connections_per_cycle: AtomicI64,
    /// Those of TLS among them have a limit of their own.
    max_new_tls_connections_per_cycle: AtomicI64,
    /// Whether clients are asked for a certificate.
    tls_auth_clients: HotChoice<TlsAuthClients>,
    /// What part of it names the user.
    tls_auth_clients_user: HotChoice<TlsUserField>,
    /// Writes are refused with fewer replicas, unless this or the next is 0.
    min_replicas_to_write: AtomicI64,
    /// Seconds after which a replica does not count.
    min_replicas_max_lag: AtomicI64,
    /// Whether keys live on beyond their time, for clients that import.
    import_mode: AtomicBool,
    /// Whether strings of payloads and files are compressed.
    rdbcompression: AtomicBool,
    /// The version that payloads and files are written in.
    rdb_target_version: AtomicI64,
    /// Which versions of payloads and files are read.
    rdb_version_check: HotChoice<RdbVersionCheck>,
    /// What is evicted, and in which order.
    maxmemory_policy: HotChoice<MaxmemoryPolicy>,
    /// Keys sampled for one eviction.
    maxmemory_samples: AtomicI64,
    /// 0..100.
    maxmemory_eviction_tenacity: AtomicI64,
    /// Bytes, or a negative percentage of `maxmemory`.
    maxmemory_clients: AtomicI64,
    /// Free evicted values in the background.
    lazyfree_lazy_eviction: AtomicBool,
    /// Free expired values in the background.
    lazyfree_lazy_expire: AtomicBool,
    /// Free overwritten values in the background.
    lazyfree_lazy_server_del: AtomicBool,
    /// DEL works like UNLINK.
    lazyfree_lazy_user_del: AtomicBool,
    /// FLUSHALL works like FLUSHALL ASYNC.
    lazyfree_lazy_user_flush: AtomicBool,
    /// How slowly the access counter grows.
    lfu_log_factor: AtomicI64,
    /// Minutes for the access counter to lose one.
    lfu_decay_time: AtomicI64,
    /// Milliseconds after which a script is called slow.
    busy_reply_threshold: AtomicI64,
    /// Keys that client tracking remembers.
    tracking_table_max_keys: AtomicU64,
    /// Flags, see [`notify`](super::notify).
    notify_keyspace_events: AtomicI64,
    /// Entries of ACL LOG.
    acllog_max_len: AtomicI64,
    /// When the append-only file is synced.
    appendfsync: HotChoice<AppendFsync>,
    /// Whether the append-only file notes the time.
    aof_timestamp_enabled: AtomicBool,
    /// Whether writes are refused while snapshots fail.
    stop_writes_on_bgsave_error: AtomicBool,
    /// Leave arguments out of logs.
    hide_user_data_from_log: AtomicBool,
    /// Whether clients are told that the server is Redis.
    extended_redis_compatibility: AtomicBool,
    /// Whether scripts have `getfenv`, `setfenv` and `newproxy`.
    lua_enable_insecure_api: AtomicBool,
}

/// The longest string that is stored, whatever `proto-max-bulk-len` says: offsets within blocks have 32 bits.
const STRING_BYTES_MAX: u64 = 1 << 30;

impl Hot {
    /// Bytes that an argument and a string may have.
    #[inline]
    pub fn string_bytes_max(&self) -> u64 {
        self.proto_max_bulk_len.load(Relaxed).min(STRING_BYTES_MAX)
    }
}

/// Finds an option's hot value.
#[derive(Clone, Copy)]
pub(crate) enum Slot {
    Bool(fn(&Hot) -> &AtomicBool),
    Int(fn(&Hot) -> &AtomicI64),
    Unsigned(fn(&Hot) -> &AtomicU64),
}

impl Slot {
    pub(crate) fn store(self, hot: &Hot, value: i128) {
        match self {
            Slot::Bool(cell) => cell(hot).store(value != 0, Relaxed),
            Slot::Int(cell) => cell(hot).store(value as i64, Relaxed),
            Slot::Unsigned(cell) => cell(hot).store(value as u64, Relaxed),
        }
    }
}

impl OutputLimit {
    /// Whether a client must be closed because this many bytes wait for it: at once above the hard limit, after some seconds above the soft
    /// one. The hard limit counts as `hard_bytes_min` if it is less. `soft_since_ms` is the caller's to keep from one call to the next.
    pub fn is_exceeded(
        &self,
        bytes: u64,
        hard_bytes_min: u64,
        soft_since_ms: &mut Option<u64>,
        now_ms: u64,
    ) -> bool {
        let soft = self.soft_bytes.load(Relaxed);
        let hard = match self.hard_bytes.load(Relaxed) {
            0 => 0,
            hard => hard.max(hard_bytes_min),
        };
        if soft == 0 || bytes <= soft {
            *soft_since_ms = None;
        } else if soft_since_ms.is_none() {
            *soft_since_ms = Some(now_ms);
        }
        let soft_ms = self.soft_seconds.load(Relaxed).saturating_mul(1000);
        hard > 0 && bytes > hard || soft_since_ms.is_some_and(|since| now_ms.saturating_sub(since) > soft_ms)
    }

    pub(crate) fn store(&self, [hard, soft, seconds]: [u64; 3]) {
        self.hard_bytes.store(hard, Relaxed);
        self.soft_bytes.store(soft, Relaxed);
        self.soft_seconds.store(seconds, Relaxed);
    }
}
