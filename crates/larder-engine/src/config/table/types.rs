//! Thresholds and codecs of the data types.

use super::row::*;
use crate::config::choices::{Choice, ListCompressCodec};
use crate::config::special::Special;

pub(super) static OPTIONS: &[Opt] = &[
    int("list-max-listpack-size", i32::MIN as i128, INT_MAX, "-2")
        .alias(&["list-max-ziplist-size"])
        .hot_int(|h| &h.list_max_listpack_size),
    int("list-compress-depth", 0, INT_MAX, "0").hot_int(|h| &h.list_compress_depth),
    one_of("list-compress-codec", ListCompressCodec::NAMES, "zstd")
        .hot_int(|h| h.list_compress_codec.number()),
    int("hash-max-listpack-entries", 0, LONG_MAX, "512")
        .alias(&["hash-max-ziplist-entries"])
        .hot_int(|h| &h.hash_max_listpack_entries),
    memory("hash-max-listpack-value", 0, LONG_MAX, "64")
        .alias(&["hash-max-ziplist-value"])
        .hot_int(|h| &h.hash_max_listpack_value),
    int("set-max-intset-entries", 0, LONG_MAX, "512").hot_int(|h| &h.set_max_intset_entries),
    int("set-max-listpack-entries", 0, LONG_MAX, "128").hot_int(|h| &h.set_max_listpack_entries),
    int("set-max-listpack-value", 0, LONG_MAX, "64").hot_int(|h| &h.set_max_listpack_value),
    int("zset-max-listpack-entries", 0, LONG_MAX, "128")
        .alias(&["zset-max-ziplist-entries"])
        .hot_int(|h| &h.zset_max_listpack_entries),
    memory("zset-max-listpack-value", 0, LONG_MAX, "64")
        .alias(&["zset-max-ziplist-value"])
        .hot_int(|h| &h.zset_max_listpack_value),
    memory("stream-node-max-bytes", 0, LONG_MAX, "4096").hot_int(|h| &h.stream_node_max_bytes),
    int("stream-node-max-entries", 0, LONG_MAX, "100").hot_int(|h| &h.stream_node_max_entries),
    memory("hll-sparse-max-bytes", 0, LONG_MAX, "3000").hot_int(|h| &h.hll_sparse_max_bytes),
    text("hash-seed", "").immutable().sensitive(),
    special("notify-keyspace-events", Special::Notify, "").hot_int(|h| &h.notify_keyspace_events),
];
