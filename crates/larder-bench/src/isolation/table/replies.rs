//! Commands that read a collection of a million elements: long replies, and long walks with short ones.

use super::data::{GEO, HASH, LIST, SET, STREAM, ZSET};
use crate::isolation::answer::{Wanted, exactly, n};
use crate::isolation::heavy::{Heavy, Step};

/// A group of consumers that has read nothing.
const GROUP: &[Step] = &[Step::Ask("XGROUP DESTROY stream group"), Step::Ask("XGROUP CREATE stream group 0")];
/// One that has read everything and acknowledged nothing.
const PENDING: &[Step] = &[
    Step::Ask("XGROUP DESTROY stream group"),
    Step::Ask("XGROUP CREATE stream group 0"),
    Step::Ask("XREADGROUP GROUP group alice COUNT {n:1000000} STREAMS stream >"),
];

/// The commands.
pub fn commands() -> Vec<Heavy> {
    let million = n(1_000_000);
    let items = Wanted::Items(million);
    let pairs = Wanted::Items(million.times(2));
    let page = Wanted::Page(million);
    vec![
        Heavy::new("HGETALL of 1M", &[&HASH], "HGETALL hash", pairs),
        Heavy::new("HKEYS of 1M", &[&HASH], "HKEYS hash", items),
        Heavy::new("HVALS of 1M", &[&HASH], "HVALS hash", items),
        Heavy::new("HRANDFIELD, all of 1M", &[&HASH], "HRANDFIELD hash {n:1000000}", items),
        Heavy::new("HRANDFIELD, 1M times", &[&HASH], "HRANDFIELD hash -{n:1000000} WITHVALUES", pairs),
        Heavy::new(
            "HSCAN, 1M at once",
            &[&HASH],
            "HSCAN hash 0 COUNT {n:1000000}",
            Wanted::Page(million.times(2)),
        ),
        Heavy::new("MEMORY USAGE of 1M", &[&HASH], "MEMORY USAGE hash SAMPLES 0", Wanted::Integer),
        Heavy::new("DUMP of a hash of 1M", &[&HASH], "DUMP hash", Wanted::SomeBytes),
        Heavy::new("SMEMBERS of 1M", &[&SET], "SMEMBERS set", items),
        Heavy::new("SRANDMEMBER, all of 1M", &[&SET], "SRANDMEMBER set {n:1000000}", items),
        Heavy::new("SRANDMEMBER, 1M times", &[&SET], "SRANDMEMBER set -{n:1000000}", items),
        Heavy::new("SSCAN, 1M at once", &[&SET], "SSCAN set 0 COUNT {n:1000000}", page),
        Heavy::new("ZRANGE of 1M", &[&ZSET], "ZRANGE zset 0 -1", items),
        Heavy::new("ZRANGE WITHSCORES of 1M", &[&ZSET], "ZRANGE zset 0 -1 WITHSCORES", pairs),
        Heavy::new("ZRANGE BYSCORE of 1M", &[&ZSET], "ZRANGE zset -inf +inf BYSCORE", items),
        Heavy::new("ZREVRANGE of 1M", &[&ZSET], "ZREVRANGE zset 0 -1", items),
        Heavy::new("ZRANDMEMBER, 1M times", &[&ZSET], "ZRANDMEMBER zset -{n:1000000}", items),
        Heavy::new(
            "ZSCAN, 1M at once",
            &[&ZSET],
            "ZSCAN zset 0 COUNT {n:1000000}",
            Wanted::Page(million.times(2)),
        ),
        Heavy::new(
            "GEOSEARCH that finds 500k",
            &[&GEO],
            "GEOSEARCH geo FROMLONLAT 0 0 BYRADIUS 30000 km ASC",
            Wanted::Items(n(500_000)),
        ),
        Heavy::new("LRANGE of 1M", &[&LIST], "LRANGE list 0 -1", items),
        Heavy::new("LPOS in 1M, no such element", &[&LIST], "LPOS list no-such-word", Wanted::Null),
        Heavy::new(
            "LINSERT in 1M, no such pivot",
            &[&LIST],
            "LINSERT list BEFORE no-such-word x",
            Wanted::Integer,
        ),
        Heavy::new(
            "LREM in 1M, no such element",
            &[&LIST],
            "LREM list 0 no-such-word",
            Wanted::Number(exactly(0)),
        ),
        Heavy::new(
            "SORT of 1M, the first 10",
            &[&LIST],
            "SORT list ALPHA LIMIT 0 10",
            Wanted::Items(exactly(10)),
        ),
        Heavy::new("DUMP of a list of 1M", &[&LIST], "DUMP list", Wanted::SomeBytes),
        Heavy::new("XRANGE of 1M", &[&STREAM], "XRANGE stream - +", items),
        Heavy::new(
            "XREAD of 1M",
            &[&STREAM],
            "XREAD COUNT {n:1000000} STREAMS stream 0",
            Wanted::Items(exactly(1)),
        ),
        Heavy::new(
            "XREADGROUP of 1M",
            &[&STREAM],
            "XREADGROUP GROUP group alice COUNT {n:1000000} STREAMS stream >",
            Wanted::Items(exactly(1)),
        )
        .before(GROUP),
        Heavy::new("XPENDING of 1M", &[&STREAM], "XPENDING stream group - + {n:1000000}", items)
            .before(PENDING),
        Heavy::new(
            "XAUTOCLAIM of 1M",
            &[&STREAM],
            "XAUTOCLAIM stream group bob 0 0-0 COUNT {n:1000000}",
            Wanted::Items(exactly(3)),
        )
        .before(PENDING),
        Heavy::new(
            "XGROUP DESTROY with 1M pending",
            &[&STREAM],
            "XGROUP DESTROY stream group",
            Wanted::Number(exactly(1)),
        )
        .before(PENDING),
    ]
}
