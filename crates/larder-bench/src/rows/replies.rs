//! Replies of 10 to 1,000 elements.

use super::data::{
    FRACTIONS_100, HASHES_10, HASHES_20, HASHES_100, HASHES_200, HASHES_1000, INT_SETS_100, INTS_100,
    INTS_1000, LISTS_10, LISTS_100, LISTS_1000, SETS_10, SETS_100, SETS_1000, STREAMS, STRINGS, ZSETS_10,
    ZSETS_100, ZSETS_1000,
};
use super::reply::Expected::{Items, Page};
use super::row::{Row, target};

const ROWS: &[Row] = &[
    Row::new("LRANGE of 10 words", &[&LISTS_10], "LRANGE list10:{any:100} 0 -1", Items(10)).of(10),
    Row::new("LRANGE of 100 words", &[&LISTS_100], "LRANGE list100:{any:100} 0 -1", Items(100)).of(100),
    Row::new("LRANGE of 1,000 words", &[&LISTS_1000], "LRANGE list1000:{any:20} 0 -1", Items(1000)).of(1000),
    Row::new("LRANGE of 100 ints", &[&INTS_100], "LRANGE ints100:{any:100} 0 -1", Items(100)).of(100),
    Row::new("LRANGE of 1,000 ints", &[&INTS_1000], "LRANGE ints1000:{any:20} 0 -1", Items(1000)).of(1000),
    Row::new("LRANGE of 100 in the middle", &[&LISTS_1000], "LRANGE list1000:{any:20} 450 549", Items(100))
        .of(100),
    Row::new("SMEMBERS of 10", &[&SETS_10], "SMEMBERS set10:{any:100}", Items(10)).of(10),
    Row::new("SMEMBERS of 100", &[&SETS_100], "SMEMBERS set100:{any:100}", Items(100)).of(100),
    Row::new("SMEMBERS of 1,000", &[&SETS_1000], "SMEMBERS set1000:{any:20}", Items(1000)).of(1000),
    Row::new("SMEMBERS of 100 ints", &[&INT_SETS_100], "SMEMBERS intset100:{any:100}", Items(100)).of(100),
    Row::new("HGETALL of 10", &[&HASHES_10], "HGETALL hash10:{any:100}", Items(20)).of(10),
    Row::new("HGETALL of 20", &[&HASHES_20], "HGETALL hash20:{any:100}", Items(40)).of(20),
    Row::new("HGETALL of 100", &[&HASHES_100], "HGETALL hash100:{any:100}", Items(200)).of(100),
    Row::new("HGETALL of 200", &[&HASHES_200], "HGETALL hash200:{any:100}", Items(400)).of(200),
    Row::new("HGETALL of 1,000", &[&HASHES_1000], "HGETALL hash1000:{any:20}", Items(2000)).of(1000),
    Row::new("ZRANGE of 10", &[&ZSETS_10], "ZRANGE zset10:{any:100} 0 -1", Items(10)).of(10),
    Row::new("ZRANGE of 100", &[&ZSETS_100], "ZRANGE zset100:{any:100} 0 -1", Items(100)).of(100),
    Row::new("ZRANGE of 1,000", &[&ZSETS_1000], "ZRANGE zset1000:{any:20} 0 -1", Items(1000)).of(1000),
    Row::new("ZRANGE of 10 WITHSCORES", &[&ZSETS_10], "ZRANGE zset10:{any:100} 0 -1 WITHSCORES", Items(20))
        .of(10),
    Row::new(
        "ZRANGE of 100 WITHSCORES",
        &[&ZSETS_100],
        "ZRANGE zset100:{any:100} 0 -1 WITHSCORES",
        Items(200),
    )
    .of(100),
    Row::new(
        "ZRANGE of 1,000 WITHSCORES",
        &[&ZSETS_1000],
        "ZRANGE zset1000:{any:20} 0 -1 WITHSCORES",
        Items(2000),
    )
    .of(1000),
    Row::new(
        "ZRANGE of 100 WITHSCORES, fractions",
        &[&FRACTIONS_100],
        "ZRANGE fraction100:{any:100} 0 -1 WITHSCORES",
        Items(200),
    )
    .of(100),
    Row::new("MGET of 10", &[&STRINGS], "MGET 10*key:{some:100000}", Items(10)).of(10),
    Row::new("MGET of 100", &[&STRINGS], "MGET 100*key:{some:100000}", Items(100)).of(100),
    Row::new("MGET of 1,000", &[&STRINGS], "MGET 1000*key:{some:100000}", Items(1000)).of(1000),
    Row::new("SCAN COUNT 10", &[&STRINGS], "SCAN 0 COUNT 10", Page(10)).of(10),
    Row::new("SCAN COUNT 100", &[&STRINGS], "SCAN 0 COUNT 100", Page(100)).of(100),
    Row::new("SCAN COUNT 1,000", &[&STRINGS], "SCAN 0 COUNT 1000", Page(1000)).of(1000),
    Row::new("HSCAN COUNT 10", &[&HASHES_1000], "HSCAN hash1000:{any:20} 0 COUNT 10", Page(20)).of(10),
    Row::new("HSCAN COUNT 100", &[&HASHES_1000], "HSCAN hash1000:{any:20} 0 COUNT 100", Page(200)).of(100),
    Row::new("HSCAN COUNT 1,000", &[&HASHES_1000], "HSCAN hash1000:{any:20} 0 COUNT 1000", Page(2000))
        .of(1000),
    Row::new("SSCAN COUNT 10", &[&SETS_1000], "SSCAN set1000:{any:20} 0 COUNT 10", Page(10)).of(10),
    Row::new("SSCAN COUNT 100", &[&SETS_1000], "SSCAN set1000:{any:20} 0 COUNT 100", Page(100)).of(100),
    Row::new("SSCAN COUNT 1,000", &[&SETS_1000], "SSCAN set1000:{any:20} 0 COUNT 1000", Page(1000)).of(1000),
    Row::new("ZSCAN COUNT 10", &[&ZSETS_1000], "ZSCAN zset1000:{any:20} 0 COUNT 10", Page(20)).of(10),
    Row::new("ZSCAN COUNT 100", &[&ZSETS_1000], "ZSCAN zset1000:{any:20} 0 COUNT 100", Page(200)).of(100),
    Row::new("ZSCAN COUNT 1,000", &[&ZSETS_1000], "ZSCAN zset1000:{any:20} 0 COUNT 1000", Page(2000))
        .of(1000),
    Row::new("XRANGE of 10", &[&STREAMS], "XRANGE stream:{any:20} - + COUNT 10", Items(10)).of(10),
    Row::new("XRANGE of 100", &[&STREAMS], "XRANGE stream:{any:20} - + COUNT 100", Items(100)).of(100),
    Row::new("XRANGE of 1,000", &[&STREAMS], "XRANGE stream:{any:20} - +", Items(1000)).of(1000),
];

/// The rows. Long replies fill sockets by themselves: those of 1,000 elements come without a pipeline.
pub fn rows() -> impl Iterator<Item = Row> {
    ROWS.iter().cloned().map(|row| {
        let pipeline = if row.elements >= 1000 { 1 } else { 16 };
        row.section("replies").pipeline(pipeline).target(target::REPLIES)
    })
}
