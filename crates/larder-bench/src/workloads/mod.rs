//! The workloads, in one table.

mod bits;
mod churn;
mod cluster;
mod cold;
mod copy;
mod ends;
mod eviction;
mod geo;
mod growth;
mod hash;
mod idle;
mod index;
mod load;
mod memory;
mod operations;
mod packing;
mod persistence;
mod pf;
mod pubsub;
mod replication;
mod reshard;
mod rotate;
mod script;
mod set;
mod sizes;
mod small;
mod sorted_sets;
mod startup;
mod stream;
mod tls;
mod tracking;
mod web;

use crate::context::Context;
use crate::rows::{self, Row};
use std::io;

/// Something to measure.
pub struct Workload {
    /// Group and name.
    pub name: String,
    /// One line for the list.
    pub about: String,
    /// How it is measured.
    pub run: Run,
}

/// How a workload is measured.
pub enum Run {
    /// One server after the other, each started for it.
    Alone(fn(&mut Context) -> io::Result<()>),
    /// All servers in turns.
    InTurns(Box<Row>),
}

impl Workload {
    /// The table it belongs to: its name without the last part.
    pub fn group(&self) -> &str {
        self.name.rsplit_once('/').map_or(self.name.as_str(), |(group, _)| group)
    }
}

/// All of them, those of a group together.
pub fn all() -> Vec<Workload> {
    let alone = TABLE.iter().map(|&(name, about, run)| Workload {
        name: name.to_owned(),
        about: about.to_owned(),
        run: Run::Alone(run),
    });
    let in_turns = rows::all().into_iter().map(|row| Workload {
        name: row.name(),
        about: row.full_title(),
        run: Run::InTurns(Box::new(row)),
    });
    alone.chain(in_turns).collect()
}

type Entry = (&'static str, &'static str, fn(&mut Context) -> io::Result<()>);

#[rustfmt::skip]
const TABLE: &[Entry] = &[
    ("memory/ints", "20 lists of 1M sequential integers", |c| memory::run(c, &memory::INTS)),
    ("memory/words", "1 list of 2.3M dictionary words", |c| memory::run(c, &memory::WORDS)),
    ("memory/words-compressed", "the same, list-compress-depth 1", |c| memory::run(c, &memory::WORDS_COMPRESSED)),
    ("memory/json", "30 lists of 800 JSON documents of 2.5 KB", |c| memory::run(c, &memory::JSON)),
    ("memory/json-compressed", "the same, list-compress-depth 1", |c| memory::run(c, &memory::JSON_COMPRESSED)),
    ("memory/x40", "1M elements of 40 bytes of x", |c| memory::run(c, &memory::X40)),
    ("memory/x40-compressed", "the same, list-compress-depth 1", |c| memory::run(c, &memory::X40_COMPRESSED)),
    ("memory/x1k", "1M elements of 1 KB of x", |c| memory::run(c, &memory::X1K)),
    ("memory/x1k-compressed", "the same, list-compress-depth 1", |c| memory::run(c, &memory::X1K_COMPRESSED)),
    ("memory/strings", "5M keys, 16-byte key, 20-byte value", |c| memory::run(c, &memory::STRINGS)),
    ("memory/strings-ttl", "2M of those with a time to live", |c| memory::run(c, &memory::STRINGS_TTL)),
    ("memory/zset-large", "1 sorted set of 2M members of 16 bytes", |c| memory::run(c, &memory::ZSET_LARGE)),
    ("memory/zset-medium", "20,000 sorted sets of 129 to 200 members of 14 bytes", |c| memory::run(c, &memory::ZSET_MEDIUM)),
    ("memory/zset-small", "20,000 sorted sets of 10 to 128 members of 14 bytes", |c| memory::run(c, &memory::ZSET_SMALL)),
    ("memory/hash", "1 hash of 2M fields of 16 bytes, values of 16", |c| memory::run(c, &memory::HASH)),
    ("memory/hashes", "10k hashes of 600-1,000 fields, 10 + 8 bytes", |c| memory::run(c, &memory::HASHES)),
    ("memory/set", "1 set of 2M 16-byte strings", |c| memory::run(c, &memory::SET)),
    ("memory/set-ints", "1 set of 2M integers below 10^9", |c| memory::run(c, &memory::SET_INTS)),
    ("memory/stream", "1 stream of 1M entries of 3 fields", |c| memory::run(c, &memory::STREAM)),
    ("memory/stream-pending", "the same, all of them pending for 10 consumers", |c| memory::run(c, &memory::STREAM_PENDING)),
    ("small/hashes-3", "200,000 hashes of 3 fields, names of 8 bytes, values of 12", |c| memory::run(c, &small::HASHES_3)),
    ("small/hashes-10", "100,000 hashes of 10 such fields", |c| memory::run(c, &small::HASHES_10)),
    ("small/sets-3", "200,000 sets of 3 members of 16 bytes", |c| memory::run(c, &small::SETS_3)),
    ("small/sets-10", "100,000 sets of 10 such members", |c| memory::run(c, &small::SETS_10)),
    ("small/lists-3", "200,000 lists of 3 elements of 20 bytes", |c| memory::run(c, &small::LISTS_3)),
    ("small/lists-10", "100,000 lists of 10 such elements", |c| memory::run(c, &small::LISTS_10)),
    ("small/zsets-3", "200,000 sorted sets of 3 members of 16 bytes", |c| memory::run(c, &small::ZSETS_3)),
    ("small/zsets-10", "100,000 sorted sets of 10 such members", |c| memory::run(c, &small::ZSETS_10)),
    ("small/objects-5", "500,000 objects of 5 fields, 10 lists of names of 13 bytes, values of 8", |c| memory::run(c, &small::OBJECTS_5)),
    ("small/objects-10", "300,000 objects of 10 fields, 20 lists of names, values of 10", |c| memory::run(c, &small::OBJECTS_10)),
    ("small/objects-34", "100,000 objects of 34 fields, 100 lists of names, values of 13", |c| memory::run(c, &small::OBJECTS_34)),
    ("sizes/list", "1M elements of 20 bytes in lists of 10 to 1M: bytes an element", |c| sizes::run(c, sizes::Kind::List)),
    ("sizes/hash", "the same for fields of 8 and values of 12 bytes", |c| sizes::run(c, sizes::Kind::Hash)),
    ("sizes/set", "the same for members of 16 bytes", |c| sizes::run(c, sizes::Kind::Set)),
    ("sizes/zset", "the same for members of 16 bytes with scores", |c| sizes::run(c, sizes::Kind::SortedSet)),
    ("cpu/p1", "SET GET and pushes and pops, 50 connections, no pipeline", |c| operations::run(c, 1)),
    ("cpu/p16", "the same with a pipeline of 16", |c| operations::run(c, 16)),
    ("ends/40-p1", "pushes and pops of 40 bytes at ten fills, no pipeline", |c| ends::run(c, 40, 1)),
    ("ends/40-p16", "the same with a pipeline of 16", |c| ends::run(c, 40, 16)),
    ("ends/1024-p1", "pushes and pops of 1,024 bytes at ten fills, no pipeline", |c| ends::run(c, 1024, 1)),
    ("ends/1024-p16", "the same with a pipeline of 16", |c| ends::run(c, 1024, 16)),
    ("packing/40-p1", "pushes and pops of 40 bytes, compressed against plain, no pipeline", |c| packing::run(c, 40, 1)),
    ("packing/40-p16", "the same with a pipeline of 16", |c| packing::run(c, 40, 16)),
    ("packing/1024-p1", "pushes and pops of 1,024 bytes, compressed against plain, no pipeline", |c| packing::run(c, 1024, 1)),
    ("packing/1024-p16", "the same with a pipeline of 16", |c| packing::run(c, 1024, 16)),
    ("rotate/p1", "RPOPLPUSH on lists of 1 to 100,000 elements at fill 110000, no pipeline", |c| rotate::run(c, 1)),
    ("rotate/p16", "the same with a pipeline of 16", |c| rotate::run(c, 16)),
    ("zset/one", "sorted set commands on 1 set of 1M members", |c| sorted_sets::run(c, &sorted_sets::ONE)),
    ("zset/many", "the same on 10,000 sets of 100", |c| sorted_sets::run(c, &sorted_sets::MANY)),
    ("zset/bands", "100,000 sets of 10-128 members and 80,000 of 129-200: loading, ranges by score", sorted_sets::bands),
    ("zset/churn", "10M insertions and removals at 1M members: memory", sorted_sets::churn),
    ("copy/list", "copying a list of 10,030,000 words in three ways", copy::run),
    ("growth/worst", "the longest insert while collections grow to 5M", growth::run),
    ("hash/churn", "memory after 10M fields were replaced in a hash of 1M", hash::churn),
    ("hash/one", "hash commands on one hash of 1M fields", |c| hash::run(c, hash::Many::One)),
    ("hash/many", "hash commands on 10,000 hashes of 100 fields", |c| hash::run(c, hash::Many::TenThousand)),
    ("persist/files", "SAVE and loading: lists, sorted sets, hashes, strings", persistence::save_and_load),
    ("persist/snapshot", "BGSAVE of 5M keys while a client writes: delays and memory", persistence::snapshot),
    ("persist/always", "appendfsync always: 50 writers and a reader", persistence::always),
    ("persist/everysec", "appendfsync everysec: processor time of SET", persistence::everysec),
    ("replication/primary", "SET with no, one and four replicas that follow", replication::primary),
    ("replication/apply", "what a replica spends on a stream of commands", replication::apply),
    ("replication/sync", "a snapshot of 5M keys for a replica, while a client writes", replication::sync),
    ("replication/lag", "from a write to a read at the replica", replication::lag),
    ("replication/failover", "how long nobody can write during FAILOVER", replication::failover),
    ("cluster/p1", "SET and GET of a node of a cluster, and of a server alone, 50 connections, no pipeline", |c| cluster::run(c, 1)),
    ("cluster/p16", "the same with a pipeline of 16", |c| cluster::run(c, 16)),
    ("cluster/failover", "how long nobody can write after a primary was killed, cluster-node-timeout 2000", cluster::failover),
    ("cluster/reshard", "4,096 slots of a cluster of six with 1M keys change hands under load", reshard::run),
    ("load/hashes", "10,000 hashes of 800 fields: by HSET, by larder-load, by redis-cli --pipe", |c| load::run(c, &load::HASHES)),
    ("load/zset", "1 sorted set of 2M members, by ZADD and so on", |c| load::run(c, &load::ZSET)),
    ("load/lists", "20 lists of 1M integers, by RPUSH and so on", |c| load::run(c, &load::LISTS)),
    ("load/strings", "5M strings, by SET and so on", |c| load::run(c, &load::STRINGS)),
    ("index/list", "LINDEX at the head, the middle and anywhere in 10M elements", index::run),
    ("set/one", "set commands on one set of 1M members, strings and integers", |c| set::run(c, 1, 1_000_000)),
    ("set/many", "set commands on 10,000 sets of 100 members", |c| set::run(c, 10_000, 100)),
    ("set/inter", "SINTER of two sets of 100,000", set::intersect),
    ("set/churn", "memory after 10M members were replaced in a set of 1M", set::churn),
    ("bits/whole", "BITCOUNT, BITOP and BITPOS of 1 MB", bits::whole),
    ("bits/single", "SETBIT, GETBIT and BITFIELD in 1 MB", bits::single),
    ("pf/dense", "HyperLogLog commands on one of 100,000 elements", |c| pf::run(c, 1, 100_000)),
    ("pf/sparse", "HyperLogLog commands on 1,000 of 300 elements", |c| pf::run(c, 1000, 300)),
    ("geo/one", "geo commands on 1M places, searches of 100 results", geo::run),
    ("pubsub/p1", "PUBLISH to nobody and to 50 subscribers, no pipeline", |c| pubsub::run(c, 1)),
    ("pubsub/p16", "the same with a pipeline of 16", |c| pubsub::run(c, 16)),
    ("script/p1", "scripts and functions, no pipeline", |c| script::run(c, 1)),
    ("script/p16", "the same with a pipeline of 16", |c| script::run(c, 16)),
    ("tracking/reads", "reads and writes of 50 connections with tracking, memory of 1M keys read", tracking::run),
    ("eviction/p1", "SET of new keys into a full server, and without a limit, no pipeline", |c| eviction::run(c, 1)),
    ("eviction/p16", "the same with a pipeline of 16", |c| eviction::run(c, 16)),
    ("cold/reads", "GET of 200,000 values of 560 bytes, plain and compressed", cold::reads),
    ("cold/zipf", "GET of 1M such values by Zipf's law, plain and compressed: cost and latency", cold::zipf),
    ("cold/beside", "latency of GET while 1M values are compressed, and the rate of that", cold::beside),
    ("cold/hits", "hit rate of a cache of which half fits, with compression and without", cold::hits),
    ("stream/one", "stream commands on one stream of 1M entries", |c| stream::run(c, 1, 1_000_000)),
    ("stream/many", "stream commands on 10,000 streams of 100", |c| stream::run(c, 10_000, 100)),
    ("tls/p1", "SET and GET by TLS 1.3, AES-256-GCM, 50 connections, no pipeline", |c| tls::run(c, 1, 100)),
    ("tls/p16", "the same with a pipeline of 16", |c| tls::run(c, 16, 100)),
    ("tls/large", "the same with values of 16 KB, no pipeline", |c| tls::run(c, 1, 16_000)),
    ("web/asked", "GET beside a client that asks metrics and console without pause", web::run),
    ("idle/connections", "10,000 idle connections: memory, and latency of another client", idle::run),
    ("startup/empty", "time to accept connections, size of the binary", startup::run),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique_and_groups_are_together() {
        let all = all();
        assert_eq!(all.iter().map(|workload| &workload.name).collect::<HashSet<_>>().len(), all.len());
        let runs = all.chunk_by(|a, b| a.group() == b.group()).count();
        assert_eq!(all.iter().map(Workload::group).collect::<HashSet<_>>().len(), runs);
    }
}
