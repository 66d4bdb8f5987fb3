//! Thresholds and codecs of the data types.

use super::row::*;
use crate::config::choices::{Choice, ListCompressCodec};
use crate::config::special::Special;

pub(super) static OPTIONS: &[Opt] = &[
    int("list-max-listpack-size", i32::MIN as i128, INT_MAX, "-2")
        .alias(&["list-max-ziplist-size"])
        .hot_int(|h| &h.list_max_listpack_size)
        .does("Size of a list block: -1 to -5 for 4 to 64 KB, or a number of elements.", "common/samples.rs"),
    int("list-compress-depth", 0, INT_MAX, "0").hot_int(|h| &h.list_compress_depth).does(
        "Number of uncompressed blocks at each end of a list; 0 disables compression.",
        "common/samples.rs",
    ),
    one_of("list-compress-codec", ListCompressCodec::NAMES, "zstd")
        .hot_int(|h| h.list_compress_codec.number())
        .does("Codec of compressed list blocks: `zstd`, `lz4` or `lzf`. Not in Valkey.", "options/data.rs"),
    int("hash-max-listpack-entries", 0, LONG_MAX, "512")
        .alias(&["hash-max-ziplist-entries"])
        .hot_int(|h| &h.hash_max_listpack_entries)
        .does(
            "Maximum number of fields for which `OBJECT ENCODING` reports `listpack`.",
            "common/samples.rs",
        ),
    memory("hash-max-listpack-value", 0, LONG_MAX, "64")
        .alias(&["hash-max-ziplist-value"])
        .hot_int(|h| &h.hash_max_listpack_value)
        .does(
            "Maximum bytes of a field or value for which `OBJECT ENCODING` reports `listpack`.",
            "differential/hashes.rs",
        ),
    yes_no("hash-shared-fields", "yes").hot_bool(|h| &h.hash_shared_fields).does(
        "Stores field names once for all small hashes that have the same names in the same order. Not in Valkey.",
        "options/data.rs",
    ),
    int("set-max-intset-entries", 0, LONG_MAX, "512").hot_int(|h| &h.set_max_intset_entries).does(
        "Maximum number of integers for which `OBJECT ENCODING` reports `intset`.",
        "common/samples.rs",
    ),
    int("set-max-listpack-entries", 0, LONG_MAX, "128").hot_int(|h| &h.set_max_listpack_entries).does(
        "Maximum number of set members for which `OBJECT ENCODING` reports `listpack`.",
        "differential/sorted_sets.rs",
    ),
    int("set-max-listpack-value", 0, LONG_MAX, "64").hot_int(|h| &h.set_max_listpack_value).does(
        "Maximum bytes of a set member for which `OBJECT ENCODING` reports `listpack`.",
        "differential/sorted_sets.rs",
    ),
    int("zset-max-listpack-entries", 0, LONG_MAX, "128")
        .alias(&["zset-max-ziplist-entries"])
        .hot_int(|h| &h.zset_max_listpack_entries)
        .does(
            "Maximum number of sorted set members for which `OBJECT ENCODING` reports `listpack`.",
            "differential/sorted_sets.rs",
        ),
    memory("zset-max-listpack-value", 0, LONG_MAX, "64")
        .alias(&["zset-max-ziplist-value"])
        .hot_int(|h| &h.zset_max_listpack_value)
        .does(
            "Maximum bytes of a sorted set member for which `OBJECT ENCODING` reports `listpack`.",
            "differential/sorted_sets.rs",
        ),
    memory("stream-node-max-bytes", 0, LONG_MAX, "4096")
        .hot_int(|h| &h.stream_node_max_bytes)
        .does("Maximum bytes of a stream node.", "differential/streams/entries.rs"),
    int("stream-node-max-entries", 0, LONG_MAX, "100")
        .hot_int(|h| &h.stream_node_max_entries)
        .does("Maximum number of entries of a stream node.", "differential/streams/entries.rs"),
    memory("hll-sparse-max-bytes", 0, LONG_MAX, "3000")
        .hot_int(|h| &h.hll_sparse_max_bytes)
        .does("Maximum bytes of a sparse HyperLogLog.", "differential/hyperloglogs.rs"),
    text("hash-seed", "")
        .immutable()
        .sensitive()
        .does("Seed of all hashes, for the same scan order on several servers.", "options/data.rs"),
    special("notify-keyspace-events", Special::Notify, "")
        .hot_int(|h| &h.notify_keyspace_events)
        .does("Classes of keyspace events to publish, as letters.", "differential/notifications.rs"),
];
