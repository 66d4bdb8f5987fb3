//! Commands of one element, with pipelines of 100 and 16 and without.

use super::data::{BIG_HASH, BIG_SET, BIG_ZSET, KILOBYTES, LISTS_100, STREAMS, STRINGS, ZSETS_100};
use super::reply::Expected::{Bytes, Exactly, Integer, Items, SomeBytes, Status};
use super::row::{Row, target};

/// Measured at all three.
const EVERYWHERE: &[Row] = &[
    Row::new("PING", &[], "PING", Status("PONG")),
    Row::new("SET", &[&STRINGS], "SET key:{some:100000} {v:20}", Status("OK")),
    Row::new("GET", &[&STRINGS], "GET key:{some:100000}", Bytes(20)),
    Row::new("INCR", &[], "INCR count:{some:100000}", Integer),
    Row::new("LPUSH", &[], "LPUSH list:{c%8} {v:20}", Integer).after("DEL list:{c%8}", 8),
    Row::new("RPUSH", &[], "RPUSH list:{c%8} {v:20}", Integer).after("DEL list:{c%8}", 8),
    Row::new("LPOP", &[], "LPOP list:{c%8}", Bytes(20)).refill("RPUSH list:{c%8} {v:20}"),
    Row::new("RPOP", &[], "RPOP list:{c%8}", Bytes(20)).refill("RPUSH list:{c%8} {v:20}"),
    Row::new("SADD", &[], "SADD set:{c%8} member:{c}", Exactly(1)).after("DEL set:{c%8}", 8),
    Row::new("HSET, one big hash", &[&BIG_HASH], "HSET bighash field:{some:1000000} {v:16}", Exactly(0)),
    Row::new("ZADD, one big set", &[&BIG_ZSET], "ZADD bigzset {score} member:{some:1000000}", Exactly(0)),
    Row::new("HGET, one big hash", &[&BIG_HASH], "HGET bighash field:{some:1000000}", Bytes(16)),
];

/// Measured with a pipeline of 100.
const AT_100: &[Row] = &[
    Row::new("HSET of a new field", &[], "HSET hash:{c%8} field:{c} {v:16}", Exactly(1))
        .after("DEL hash:{c%8}", 8),
    Row::new("HINCRBY", &[], "HINCRBY counts field:{any:1000} 1", Integer),
    Row::new("HDEL", &[], "HDEL hash:{c%8} field:{c}", Exactly(1)).refill("HSET hash:{c%8} field:{c} {v:16}"),
    Row::new("SADD, one big set", &[&BIG_SET], "SADD bigset member:{some:1000000}", Exactly(0)),
    Row::new("SISMEMBER, one big set", &[&BIG_SET], "SISMEMBER bigset member:{some:1000000}", Exactly(1)),
    Row::new("SREM", &[], "SREM set:{c%8} member:{c}", Exactly(1)).refill("SADD set:{c%8} member:{c}"),
    Row::new("SPOP", &[], "SPOP set:{c%8}", SomeBytes).refill("SADD set:{c%8} member:{c}"),
    Row::new("ZADD of a new member", &[], "ZADD zset:{c%8} {score} member:{c}", Exactly(1))
        .after("DEL zset:{c%8}", 8),
    Row::new("ZINCRBY, one big set", &[&BIG_ZSET], "ZINCRBY bigzset 1 member:{some:1000000}", SomeBytes),
    Row::new("ZSCORE, one big set", &[&BIG_ZSET], "ZSCORE bigzset member:{some:1000000}", SomeBytes),
    Row::new("ZRANK, sets of 100", &[&ZSETS_100], "ZRANK zset100:{any:100} member:{any:100}", Integer),
    Row::new("ZPOPMIN", &[], "ZPOPMIN zset:{c%8}", Items(2)).refill("ZADD zset:{c%8} {score} member:{c}"),
    Row::new("LINDEX, lists of 100", &[&LISTS_100], "LINDEX list100:{any:100} {int:100}", SomeBytes),
    Row::new("LLEN", &[&LISTS_100], "LLEN list100:{any:100}", Exactly(100)),
    Row::new("EXISTS", &[&STRINGS], "EXISTS key:{some:100000}", Exactly(1)),
    Row::new("TTL", &[&STRINGS], "TTL key:{some:100000}", Exactly(-1)),
    Row::new("GETRANGE", &[&STRINGS], "GETRANGE key:{some:100000} 5 9", Bytes(5)),
    Row::new("XADD", &[], "XADD log:{c%8} * temp {int:40} device sensor-1", SomeBytes)
        .after("DEL log:{c%8}", 8),
    Row::new("XLEN", &[&STREAMS], "XLEN stream:{any:20}", Exactly(1000)),
];

/// Measured with a pipeline of 16.
const AT_16: &[Row] = &[
    Row::new("SET of 1 KB", &[&KILOBYTES], "SET kilo:{any:1000} {v:1024}", Status("OK")),
    Row::new("GET of 1 KB", &[&KILOBYTES], "GET kilo:{any:1000}", Bytes(1024)),
    Row::new("EVAL of one GET", &[&STRINGS], "EVAL {get} 1 key:{some:100000}", Bytes(20)),
    Row::new("XADD", &[], "XADD log:{c%8} * temp {int:40} device sensor-1", SomeBytes)
        .after("DEL log:{c%8}", 8),
];

/// The rows of the three sections.
pub fn rows() -> Vec<Row> {
    let at_100 = |row: &Row| {
        let share = if row.title == "PING" { target::PING_100 } else { target::PIPELINE_100 };
        row.clone().section("p100").pipeline(100).target(share)
    };
    let at_16 = |row: &Row| row.clone().section("p16").pipeline(16).target(target::PIPELINE_16);
    let alone = |row: &Row| row.clone().section("p1").pipeline(1).target(target::ANY);
    let mut rows: Vec<Row> = EVERYWHERE.iter().chain(AT_100).map(at_100).collect();
    rows.extend(EVERYWHERE.iter().chain(AT_16).map(at_16));
    rows.extend(EVERYWHERE.iter().map(alone));
    rows
}
