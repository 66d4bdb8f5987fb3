//! The options of the types as configured now, copied once an iteration so that commands need not read atomics.

use crate::config::{Hot, ListCompressCodec};
use larder_collections::hash::HashLimits;
use larder_collections::list::{Fill, ListOptions};
use larder_collections::set::SetLimits;
use larder_collections::sorted_set::Limits;
use larder_collections::stream::Limits as StreamLimits;
use larder_packed::codec::Codec;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

/// Up to where a collection counts as small: OBJECT ENCODING calls it listpack or intset until it exceeds one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Small {
    /// Elements, fields or members.
    pub count_max: u64,
    /// Bytes of the longest field, value or member.
    pub bytes_max: usize,
}

impl Small {
    fn load(count: &AtomicI64, bytes: &AtomicI64) -> Small {
        Small {
            count_max: count.load(Relaxed).max(0) as u64,
            bytes_max: usize::try_from(bytes.load(Relaxed)).unwrap_or(0),
        }
    }
}

/// The thresholds of all types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Thresholds {
    pub hash: Small,
    pub set: Small,
    pub sorted_set: Small,
    /// Members up to which a set of integers is an intset.
    pub intset_count_max: u64,
    /// A node of a stream: its entries, and its bytes in all (not those of one entry).
    stream_node: Small,
}

impl Thresholds {
    pub(crate) fn load(hot: &Hot) -> Thresholds {
        Thresholds {
            hash: Small::load(&hot.hash_max_listpack_entries, &hot.hash_max_listpack_value),
            set: Small::load(&hot.set_max_listpack_entries, &hot.set_max_listpack_value),
            sorted_set: Small::load(&hot.zset_max_listpack_entries, &hot.zset_max_listpack_value),
            intset_count_max: hot.set_max_intset_entries.load(Relaxed).max(0) as u64,
            stream_node: Small::load(&hot.stream_node_max_entries, &hot.stream_node_max_bytes),
        }
    }

    /// Those of hashes.
    pub(crate) fn hash_limits(&self) -> HashLimits {
        HashLimits { count_max: self.hash.count_max, bytes_max: self.hash.bytes_max }
    }

    /// Those of sorted sets.
    pub(crate) fn sorted_set_limits(&self) -> Limits {
        Limits { entries: self.sorted_set.count_max, member_len: self.sorted_set.bytes_max }
    }

    /// Those of streams.
    pub(crate) fn stream_limits(&self) -> StreamLimits {
        let Small { count_max, bytes_max } = self.stream_node;
        StreamLimits { node_entries_max: count_max, node_bytes_max: bytes_max }
    }

    /// Those of sets.
    pub(crate) fn set_limits(&self) -> SetLimits {
        SetLimits {
            intset_count_max: self.intset_count_max,
            listpack_count_max: self.set.count_max,
            listpack_bytes_max: self.set.bytes_max,
        }
    }
}

/// What files, and snapshots of primaries, are read with.
pub(crate) fn rdb_options(hot: &Hot) -> larder_rdb::read::Options {
    rdb_options_of(&Thresholds::load(hot), list_options(hot))
}

/// What dumps are read with, by a thread that has a copy of the options.
pub(crate) fn rdb_options_of(thresholds: &Thresholds, list: ListOptions) -> larder_rdb::read::Options {
    larder_rdb::read::Options {
        hash: thresholds.hash_limits(),
        list,
        set: thresholds.set_limits(),
        sorted_set: thresholds.sorted_set_limits(),
        blocks: larder_rdb::BLOCKS_TRAVEL,
    }
}

/// The options of lists.
pub(crate) fn list_options(hot: &Hot) -> ListOptions {
    let codec = match hot.list_compress_codec.get() {
        ListCompressCodec::Lzf => Codec::Lzf,
        ListCompressCodec::Lz4 => Codec::Lz4,
        ListCompressCodec::Zstd => Codec::Zstd,
    };
    ListOptions {
        fill: Fill::new(hot.list_max_listpack_size.load(Relaxed) as i32),
        compress_depth: hot.list_compress_depth.load(Relaxed) as u32,
        codec,
    }
}
