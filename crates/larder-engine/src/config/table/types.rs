//! Thresholds and codecs of the data types.

use super::row::*;
use crate::config::choices::{Choice, ListCompressCodec};
use crate::config::special::Special;

pub(super) static OPTIONS: &[Opt] = &[
    int("list-max-listpack-size", i32::MIN as i128, INT_MAX, "-2")
        .alias(&["list-max-ziplist-size"])
        .hot_int(|h| &h.list_max_listpack_size)
        .does("Size of a list block: -1, -2, -3, -4 and -5 are 4, 8, 16, 32 and 64 KB; a positive number is a number of elements, with at most 8 KB.", "common/samples.rs"),
    int("list-compress-depth", 0, INT_MAX, "0").hot_int(|h| &h.list_compress_depth).does(
        "Number of blocks at each end of a list that are not compressed; the others are compressed in the background. 0 disables compression.",
        "common/samples.rs",
    ),
    one_of("list-compress-codec", ListCompressCodec::NAMES, "zstd")
        .hot_int(|h| h.list_compress_codec.number())
        .does("Codec of compressed list blocks: `zstd` (smallest), `lz4` (fastest) or `lzf`. Not in Valkey.", "options/data.rs"),
    int("hash-max-listpack-entries", 0, LONG_MAX, "512")
        .alias(&["hash-max-ziplist-entries"])
        .hot_int(|h| &h.hash_max_listpack_entries)
        .does(
            "Maximum number of fields of a hash for which `OBJECT ENCODING` reports `listpack`.",
            "common/samples.rs",
        ),
    memory("hash-max-listpack-value", 0, LONG_MAX, "64")
        .alias(&["hash-max-ziplist-value"])
        .hot_int(|h| &h.hash_max_listpack_value)
        .does(
            "Maximum bytes of a field or value of a hash for which `OBJECT ENCODING` reports `listpack`.",
            "differential/hashes.rs",
        ),
    yes_no("hash-shared-fields", "yes").hot_bool(|h| &h.hash_shared_fields).does(
        "Stores field names once for all small hashes that have the same names in the same order. Not in Valkey.",
        "options/data.rs",
    ),
    yes_no("compress-on-load", "no").hot_bool(|h| &h.compress_on_load).does(
        "Compresses values that are loaded from a file or received in a full synchronization before they are stored; without \
         effect if `compress-idle-time` is 0. Not in Valkey.",
        "cold.rs",
    ),
    int("compress-idle-time", 0, INT_MAX, "0").hot_int(|h| &h.compress_idle_time_s).does(
        "Seconds without a read or a write after which a value is compressed in memory; 0 disables it. Not in Valkey.",
        "cold.rs",
    ),
    int("set-max-intset-entries", 0, LONG_MAX, "512").hot_int(|h| &h.set_max_intset_entries).does(
        "Maximum number of members of a set of integers for which `OBJECT ENCODING` reports `intset`.",
        "common/samples.rs",
    ),
    int("set-max-listpack-entries", 0, LONG_MAX, "128").hot_int(|h| &h.set_max_listpack_entries).does(
        "Maximum number of members of a set for which `OBJECT ENCODING` reports `listpack`.",
        "differential/sorted_sets.rs",
    ),
    int("set-max-listpack-value", 0, LONG_MAX, "64").hot_int(|h| &h.set_max_listpack_value).does(
        "Maximum bytes of a member of a set for which `OBJECT ENCODING` reports `listpack`.",
        "differential/sorted_sets.rs",
    ),
    int("zset-max-listpack-entries", 0, LONG_MAX, "128")
        .alias(&["zset-max-ziplist-entries"])
        .hot_int(|h| &h.zset_max_listpack_entries)
        .does(
            "Maximum number of members of a sorted set for which `OBJECT ENCODING` reports `listpack`.",
            "differential/sorted_sets.rs",
        ),
    memory("zset-max-listpack-value", 0, LONG_MAX, "64")
        .alias(&["zset-max-ziplist-value"])
        .hot_int(|h| &h.zset_max_listpack_value)
        .does(
            "Maximum bytes of a member of a sorted set for which `OBJECT ENCODING` reports `listpack`.",
            "differential/sorted_sets.rs",
        ),
    memory("stream-node-max-bytes", 0, LONG_MAX, "4096")
        .hot_int(|h| &h.stream_node_max_bytes)
        .does("Maximum bytes of a stream node, the block that holds adjacent entries; 0 is no limit.", "differential/streams/entries.rs"),
    int("stream-node-max-entries", 0, LONG_MAX, "100")
        .hot_int(|h| &h.stream_node_max_entries)
        .does("Maximum number of entries in a stream node; 0 is no limit.", "differential/streams/entries.rs"),
    memory("hll-sparse-max-bytes", 0, LONG_MAX, "3000")
        .hot_int(|h| &h.hll_sparse_max_bytes)
        .does("Maximum bytes of a sparse HyperLogLog; a larger one becomes dense, with 12 KB.", "differential/hyperloglogs.rs"),
    text("hash-seed", "")
        .immutable()
        .sensitive()
        .does("Seed of all hashes: servers with the same seed scan keys in the same order. Empty is a random seed.", "options/data.rs"),
    special("notify-keyspace-events", Special::Notify, "")
        .hot_int(|h| &h.notify_keyspace_events)
        .does("Keyspace events to publish, as letters; empty publishes none. `K` publishes to `__keyspace@<db>__` channels, `E` to `__keyevent@<db>__` channels. Events: `g` generic commands, `$` strings, `l` lists, `s` sets, `h` hashes, `z` sorted sets, `t` streams, `d` modules, `x` expired, `e` evicted, `m` missing and `n` new keys; `A` is all but `m` and `n`.", "differential/notifications.rs"),
];
