//! Thresholds and codecs of the data types.

use super::row::*;
use crate::config::choices::{Choice, ListCompressCodec};
use crate::config::special::Special;

pub(super) static OPTIONS: &[Opt] = &[
    int("list-max-listpack-size", i32::MIN as i128, INT_MAX, "-2")
        .alias(&["list-max-ziplist-size"])
        .hot_int(|h| &h.list_max_listpack_size)
        .does("Bytes (-1 to -5: 4 to 64 KB) or elements of a block of a list.", "common/samples.rs"),
    int("list-compress-depth", 0, INT_MAX, "0")
        .hot_int(|h| &h.list_compress_depth)
        .does("Blocks at each end of a list that stay uncompressed; 0 compresses none.", "common/samples.rs"),
    one_of("list-compress-codec", ListCompressCodec::NAMES, "zstd")
        .hot_int(|h| h.list_compress_codec.number())
        .does("Larder's own: how inner blocks of lists are compressed.", "options/data.rs"),
    int("hash-max-listpack-entries", 0, LONG_MAX, "512")
        .alias(&["hash-max-ziplist-entries"])
        .hot_int(|h| &h.hash_max_listpack_entries)
        .does("Fields up to which `OBJECT ENCODING` of a hash is listpack.", "common/samples.rs"),
    memory("hash-max-listpack-value", 0, LONG_MAX, "64")
        .alias(&["hash-max-ziplist-value"])
        .hot_int(|h| &h.hash_max_listpack_value)
        .does(
            "Bytes of a field or value up to which `OBJECT ENCODING` of a hash is listpack.",
            "differential/hashes.rs",
        ),
    int("set-max-intset-entries", 0, LONG_MAX, "512")
        .hot_int(|h| &h.set_max_intset_entries)
        .does("Integers up to which `OBJECT ENCODING` of a set is intset.", "common/samples.rs"),
    int("set-max-listpack-entries", 0, LONG_MAX, "128")
        .hot_int(|h| &h.set_max_listpack_entries)
        .does("Members up to which `OBJECT ENCODING` of a set is listpack.", "differential/sorted_sets.rs"),
    int("set-max-listpack-value", 0, LONG_MAX, "64").hot_int(|h| &h.set_max_listpack_value).does(
        "Bytes of a member up to which `OBJECT ENCODING` of a set is listpack.",
        "differential/sorted_sets.rs",
    ),
    int("zset-max-listpack-entries", 0, LONG_MAX, "128")
        .alias(&["zset-max-ziplist-entries"])
        .hot_int(|h| &h.zset_max_listpack_entries)
        .does(
            "Members up to which `OBJECT ENCODING` of a sorted set is listpack.",
            "differential/sorted_sets.rs",
        ),
    memory("zset-max-listpack-value", 0, LONG_MAX, "64")
        .alias(&["zset-max-ziplist-value"])
        .hot_int(|h| &h.zset_max_listpack_value)
        .does(
            "Bytes of a member up to which `OBJECT ENCODING` of a sorted set is listpack.",
            "differential/sorted_sets.rs",
        ),
    memory("stream-node-max-bytes", 0, LONG_MAX, "4096")
        .hot_int(|h| &h.stream_node_max_bytes)
        .does("Bytes of a node of a stream.", "differential/streams/entries.rs"),
    int("stream-node-max-entries", 0, LONG_MAX, "100")
        .hot_int(|h| &h.stream_node_max_entries)
        .does("Entries of a node of a stream.", "differential/streams/entries.rs"),
    memory("hll-sparse-max-bytes", 0, LONG_MAX, "3000")
        .hot_int(|h| &h.hll_sparse_max_bytes)
        .does("Bytes up to which a HyperLogLog is sparse.", "differential/hyperloglogs.rs"),
    text("hash-seed", "")
        .immutable()
        .sensitive()
        .does("Seed of all hashes, for those who want the same order everywhere.", "options/data.rs"),
    special("notify-keyspace-events", Special::Notify, "")
        .hot_int(|h| &h.notify_keyspace_events)
        .does("Classes of events of keys that are published, as letters.", "differential/notifications.rs"),
];
