//! Memory limits, eviction, expiry, freeing in the background.

use super::row::*;
use crate::config::choices::{Choice, MaxmemoryPolicy};

/// What these options shape.
const DEFRAG: &str = "active defragmentation of collections in one piece";

pub(super) static OPTIONS: &[Opt] = &[
    memory("maxmemory", 0, ULONG_MAX, "0")
        .hot_unsigned(|h| &h.maxmemory)
        .does("Maximum bytes of memory for data and connections; 0 is no limit.", "differential/eviction.rs"),
    one_of("maxmemory-policy", MaxmemoryPolicy::NAMES, "noeviction")
        .hot_int(|h| h.maxmemory_policy.number())
        .does("Which keys are evicted at `maxmemory`. `volatile-` policies evict only keys with a time to live, `allkeys-` policies any key: those not used for longest (`lru`), used least often (`lfu`), at random, or next to expire (`ttl`). With `noeviction`, writes get an `OOM` error.", "eviction.rs"),
    int("maxmemory-samples", 1, 64, "5")
        .hot_int(|h| &h.maxmemory_samples)
        .does("Number of keys examined for each key that is evicted: more take longer and find better keys.", "differential/introspection.rs"),
    int("maxmemory-eviction-tenacity", 0, 100, "10")
        .hot_int(|h| &h.maxmemory_eviction_tenacity)
        .does("Time that a command may spend on eviction: 50 microseconds per unit up to 10 (500 microseconds), 15 % more for each unit above, no limit at 100.", "differential/eviction.rs"),
    int("lfu-log-factor", 0, INT_MAX, "10")
        .hot_int(|h| &h.lfu_log_factor)
        .does("How many accesses raise the LFU access counter: a larger factor needs more for each step.", "differential/eviction.rs"),
    int("lfu-decay-time", 0, INT_MAX, "1").hot_int(|h| &h.lfu_decay_time).does(
        "Minutes after which the LFU access counter decreases by one; 0 means never.",
        "differential/introspection.rs",
    ),
    int("active-expire-effort", 1, 10, "1")
        .hot_int(|h| &h.active_expire_effort)
        .does("Time for deleting expired keys in the background, in each run of periodic tasks (`hz`): 25 ms at 1, 2 ms more for each unit.", "options/data.rs"),
    yes_no("lazyfree-lazy-eviction", "yes")
        .hot_bool(|h| &h.lazyfree_lazy_eviction)
        .does("Frees large evicted values in the background.", "options/data.rs"),
    yes_no("lazyfree-lazy-expire", "yes").hot_bool(|h| &h.lazyfree_lazy_expire).does(
        "Frees large expired values in the background; the append-only file and replicas get `UNLINK` instead of `DEL` for them.",
        "options/main.rs",
    ),
    yes_no("lazyfree-lazy-server-del", "yes")
        .hot_bool(|h| &h.lazyfree_lazy_server_del)
        .does("Frees large values in the background when commands replace them.", "options/main.rs"),
    yes_no("lazyfree-lazy-user-del", "yes")
        .hot_bool(|h| &h.lazyfree_lazy_user_del)
        .does("Makes `DEL` free large values in the background, as `UNLINK` does.", "options/main.rs"),
    yes_no("lazyfree-lazy-user-flush", "yes")
        .hot_bool(|h| &h.lazyfree_lazy_user_flush)
        .does("Makes `FLUSHALL` and `FLUSHDB` asynchronous unless `SYNC` is given.", "options/main.rs"),
    yes_no("activerehashing", "yes").dormant("incremental rehashing"),
    yes_no("activedefrag", "no").hot_bool(|h| &h.activedefrag).does(
        "Moves data out of memory pages that are mostly free, so that these go back to the system.",
        "defrag.rs",
    ),
    int("active-defrag-cycle-min", 1, 99, "1")
        .hot_int(|h| &h.active_defrag_cycle_min)
        .does("Percent of a core for active defragmentation at `active-defrag-threshold-lower`.", "defrag.rs"),
    int("active-defrag-cycle-max", 1, 99, "25")
        .hot_int(|h| &h.active_defrag_cycle_max)
        .does("Percent of a core for active defragmentation at `active-defrag-threshold-upper`.", "defrag.rs"),
    int("active-defrag-cycle-us", 0, 100_000, "500").hot_int(|h| &h.active_defrag_cycle_us).does(
        "Microseconds that active defragmentation works at a time, before it pauses. It locks a part of the keys for about 100 microseconds at a time.",
        "defrag.rs",
    ),
    int("active-defrag-threshold-lower", 0, 1000, "10")
        .hot_int(|h| &h.active_defrag_threshold_lower)
        .does("Percent of fragmentation below which active defragmentation does not start: memory that moving data can free, in relation to the memory in use.", "defrag.rs"),
    int("active-defrag-threshold-upper", 0, 1000, "100")
        .hot_int(|h| &h.active_defrag_threshold_upper)
        .does("Percent of fragmentation at which active defragmentation takes `active-defrag-cycle-max` percent of a core.", "defrag.rs"),
    memory("active-defrag-ignore-bytes", 1, LONG_MAX, "104857600")
        .hot_unsigned(|h| &h.active_defrag_ignore_bytes)
        .does("Bytes of fragmentation below which active defragmentation does not start.", "defrag.rs"),
    int("active-defrag-max-scan-fields", 1, LONG_MAX, "1000").dormant(DEFRAG),
];
