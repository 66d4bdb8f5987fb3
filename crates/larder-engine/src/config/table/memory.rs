//! Memory limits, eviction, expiry, freeing in the background.

use super::row::*;
use crate::config::choices::{Choice, MaxmemoryPolicy};

/// What these options shape.
const DEFRAG: &str = "active defragmentation";

pub(super) static OPTIONS: &[Opt] = &[
    memory("maxmemory", 0, ULONG_MAX, "0").hot_unsigned(|h| &h.maxmemory),
    one_of("maxmemory-policy", MaxmemoryPolicy::NAMES, "noeviction").hot_int(|h| h.maxmemory_policy.number()),
    int("maxmemory-samples", 1, 64, "5").hot_int(|h| &h.maxmemory_samples),
    int("maxmemory-eviction-tenacity", 0, 100, "10").hot_int(|h| &h.maxmemory_eviction_tenacity),
    int("lfu-log-factor", 0, INT_MAX, "10").hot_int(|h| &h.lfu_log_factor),
    int("lfu-decay-time", 0, INT_MAX, "1").hot_int(|h| &h.lfu_decay_time),
    int("active-expire-effort", 1, 10, "1").hot_int(|h| &h.active_expire_effort),
    yes_no("lazyfree-lazy-eviction", "yes").hot_bool(|h| &h.lazyfree_lazy_eviction),
    yes_no("lazyfree-lazy-expire", "yes").hot_bool(|h| &h.lazyfree_lazy_expire),
    yes_no("lazyfree-lazy-server-del", "yes").hot_bool(|h| &h.lazyfree_lazy_server_del),
    yes_no("lazyfree-lazy-user-del", "yes").hot_bool(|h| &h.lazyfree_lazy_user_del),
    yes_no("lazyfree-lazy-user-flush", "yes").hot_bool(|h| &h.lazyfree_lazy_user_flush),
    yes_no("activerehashing", "yes").dormant("rehashing: tables grow a segment at a time"),
    yes_no("activedefrag", "no").absent("Active defragmentation"),
    int("active-defrag-cycle-min", 1, 99, "1").dormant(DEFRAG),
    int("active-defrag-cycle-max", 1, 99, "25").dormant(DEFRAG),
    int("active-defrag-cycle-us", 0, 100_000, "500").dormant(DEFRAG),
    int("active-defrag-threshold-lower", 0, 1000, "10").dormant(DEFRAG),
    int("active-defrag-threshold-upper", 0, 1000, "100").dormant(DEFRAG),
    memory("active-defrag-ignore-bytes", 1, LONG_MAX, "104857600").dormant(DEFRAG),
    int("active-defrag-max-scan-fields", 1, LONG_MAX, "1000").dormant(DEFRAG),
];
