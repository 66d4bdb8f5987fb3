//! Reads that find nothing, of every type: no key, and no such element in a key that is there.

use super::data::{BIG_HASH, BIG_SET, BIG_ZSET, LISTS_100, STREAMS, STRINGS};
use super::reply::Expected::{Bytes, Exactly, Items, Null};
use super::row::{Row, target};

const ROWS: &[Row] = &[
    Row::new("EXISTS, no key", &[&STRINGS], "EXISTS none:{some:100000}", Exactly(0)),
    Row::new("GET, no key", &[&STRINGS], "GET none:{some:100000}", Null),
    Row::new("GETRANGE, no key", &[&STRINGS], "GETRANGE none:{some:100000} 0 9", Bytes(0)),
    Row::new("GETRANGE, past the end", &[&STRINGS], "GETRANGE key:{some:100000} 100 109", Bytes(0)),
    Row::new("HGET, no key", &[&STRINGS], "HGET none:{some:100000} field:0", Null),
    Row::new("HGET, no field", &[&BIG_HASH], "HGET bighash none:{some:1000000}", Null),
    Row::new("SISMEMBER, no key", &[&STRINGS], "SISMEMBER none:{some:100000} member:0", Exactly(0)),
    Row::new("SISMEMBER, no member", &[&BIG_SET], "SISMEMBER bigset none:{some:1000000}", Exactly(0)),
    Row::new("ZSCORE, no key", &[&STRINGS], "ZSCORE none:{some:100000} member:0", Null),
    Row::new("ZSCORE, no member", &[&BIG_ZSET], "ZSCORE bigzset none:{some:1000000}", Null),
    Row::new("ZRANGE, no key", &[&STRINGS], "ZRANGE none:{some:100000} 0 9", Items(0)),
    Row::new("LINDEX, no key", &[&STRINGS], "LINDEX none:{some:100000} 0", Null),
    Row::new("LINDEX, past the end", &[&LISTS_100], "LINDEX list100:{any:100} 100", Null),
    Row::new("LPOP, no key", &[&STRINGS], "LPOP none:{some:100000}", Null),
    Row::new("XRANGE, no key", &[&STRINGS], "XRANGE none:{some:100000} - +", Items(0)),
    Row::new("XRANGE, no entry", &[&STREAMS], "XRANGE stream:{any:20} 5-0 6-0", Items(0)),
    Row::new("DEL, no key", &[&STRINGS], "DEL none:{some:100000}", Exactly(0)),
];

/// The rows: one element each, with a pipeline of 100.
pub fn rows() -> impl Iterator<Item = Row> {
    let row = |row: &Row| row.clone().section("misses").pipeline(100).target(target::PIPELINE_100);
    ROWS.iter().map(row)
}
