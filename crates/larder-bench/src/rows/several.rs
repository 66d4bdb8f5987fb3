//! Commands of several keys, fields or members, and commands that handle a whole collection.

use super::data::{
    BIG_HASH, BIG_SET, BIG_ZSET, HASHES_100, INTS_10K, LISTS_1000, SETS_10, SETS_15, SETS_100, STRINGS,
    ZSETS_100,
};
use super::reply::Expected::{Exactly, Integer, Items, Nulls, SomeBytes, Status};
use super::row::{Row, target};

/// Replies of ten elements, with a pipeline of 16.
const REPLIES: &[Row] = &[
    Row::new("MGET of 10, no keys", &[&STRINGS], "MGET 10*none:{some:100000}", Nulls(10)).of(10),
    Row::new("HMGET of 10", &[&HASHES_100], "HMGET hash100:{any:100} 10*field:{any:100}", Items(10)).of(10),
    Row::new("HMGET of 10, one big hash", &[&BIG_HASH], "HMGET bighash 10*field:{some:1000000}", Items(10))
        .of(10),
    Row::new(
        "HMGET of 10, no fields",
        &[&HASHES_100],
        "HMGET hash100:{any:100} 10*none:{any:100}",
        Nulls(10),
    )
    .of(10),
    Row::new("SMISMEMBER of 10", &[&SETS_100], "SMISMEMBER set100:{any:100} 10*member:{any:100}", Items(10))
        .of(10),
    Row::new(
        "SMISMEMBER of 10, one big set",
        &[&BIG_SET],
        "SMISMEMBER bigset 10*member:{some:1000000}",
        Items(10),
    )
    .of(10),
    Row::new("ZMSCORE of 10", &[&ZSETS_100], "ZMSCORE zset100:{any:100} 10*member:{any:100}", Items(10))
        .of(10),
    Row::new(
        "ZMSCORE of 10, one big set",
        &[&BIG_ZSET],
        "ZMSCORE bigzset 10*member:{some:1000000}",
        Items(10),
    )
    .of(10),
    Row::new("LPOP of 10", &[], "LPOP list:{c%8} 10", Items(10)).of(10).refill("RPUSH list:{c%8} 10*{v:20}"),
    Row::new(
        "SINTER of 10 and 15",
        &[&SETS_10, &SETS_15],
        "SINTER set10:{any:100} set15:{any:100}",
        Items(10),
    )
    .of(10),
    Row::new(
        "SUNION of 10 and 15",
        &[&SETS_10, &SETS_15],
        "SUNION set10:{any:100} set15:{any:100}",
        Items(15),
    )
    .of(10),
    Row::new(
        "SDIFF of 100 and 10",
        &[&SETS_10, &SETS_100],
        "SDIFF set100:{any:100} set10:{any:100}",
        Items(90),
    )
    .of(100),
];

/// Short replies, with a pipeline of 16.
const SHORT: &[Row] = &[
    Row::new("MSET of 10", &[&STRINGS], "MSET 10*key:{some:100000},{v:20}", Status("OK")).of(10),
    Row::new("EXISTS of 10", &[&STRINGS], "EXISTS 10*key:{some:100000}", Exactly(10)).of(10),
    Row::new("DEL of 10", &[], "DEL 10*gone:{all}", Exactly(10)).of(10).refill("MSET 10*gone:{all},{v:20}"),
    Row::new("UNLINK of 10", &[], "UNLINK 10*gone:{all}", Exactly(10))
        .of(10)
        .refill("MSET 10*gone:{all},{v:20}"),
    Row::new("DEL of 10, no keys", &[], "DEL 10*none:{all}", Exactly(0)).of(10),
    Row::new("HSET of 10", &[&HASHES_100], "HSET hash100:{any:100} 10*field:{any:100},{v:16}", Exactly(0))
        .of(10),
    Row::new("SADD of 10", &[], "SADD set:{c%8} 10*member:{all}", Exactly(10))
        .of(10)
        .after("DEL set:{c%8}", 8),
    Row::new("ZADD of 10", &[], "ZADD zset:{c%8} 10*{score},member:{all}", Exactly(10))
        .of(10)
        .after("DEL zset:{c%8}", 8),
    Row::new("RPUSH of 10", &[], "RPUSH list:{c%8} 10*{v:20}", Integer).of(10).after("DEL list:{c%8}", 8),
];

/// Whole collections; RESTORE and SORT are called by a script.
const WHOLE: &[Row] = &[
    Row::new("DUMP of a hash of 100", &[&HASHES_100], "DUMP hash100:{any:100}", SomeBytes).of(100),
    Row::new("DUMP of a list of 1,000", &[&LISTS_1000], "DUMP list1000:{any:20}", SomeBytes).of(1000),
    Row::new(
        "DUMP, RESTORE of a hash of 100",
        &[&HASHES_100],
        "EVAL {copy} 2 hash100:{any:100} copy:{c%8}",
        Status("OK"),
    )
    .of(100)
    .after("DEL copy:{c%8}", 8),
    Row::new(
        "DUMP, RESTORE of a sorted set of 100",
        &[&ZSETS_100],
        "EVAL {copy} 2 zset100:{any:100} copy:{c%8}",
        Status("OK"),
    )
    .of(100)
    .after("DEL copy:{c%8}", 8),
    Row::new(
        "DUMP, RESTORE of a list of 1,000",
        &[&LISTS_1000],
        "EVAL {copy} 2 list1000:{any:20} copy:{c%8}",
        Status("OK"),
    )
    .of(1000)
    .after("DEL copy:{c%8}", 8),
    Row::new("SORT STORE of 10,000 ints", &[&INTS_10K], "EVAL {sort} 2 ints10k sorted", Exactly(10_000))
        .of(10_000)
        .pipeline(1)
        .after("DEL sorted", 1),
];

/// The rows of both sections.
pub fn rows() -> Vec<Row> {
    let several = |share: f64| move |row: &Row| row.clone().section("several").target(share);
    let mut rows: Vec<Row> = REPLIES.iter().map(several(target::REPLIES)).collect();
    rows.extend(SHORT.iter().map(several(target::PIPELINE_16)));
    rows.extend(WHOLE.iter().cloned().map(|row| row.section("whole").target(target::ANY)));
    rows
}
