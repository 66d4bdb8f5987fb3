//! What the heavy commands work on.

use crate::rows::data::DataSet;

/// One collection of each type of a million elements.
pub const HASH: DataSet = DataSet::scaled("hash", "HSET hash 100*field:{all},{v:16}", 1_000_000, 100);
/// See above.
pub const SET: DataSet = DataSet::scaled("set", "SADD set 100*member:{all}", 1_000_000, 100);
/// See above.
pub const ZSET: DataSet = DataSet::scaled("zset", "ZADD zset 100*{score},member:{all}", 1_000_000, 100);
/// See above.
pub const LIST: DataSet = DataSet::scaled("list", "RPUSH list 100*{word}", 1_000_000, 100);
/// See above.
pub const STREAM: DataSet = DataSet::scaled("stream", "XADD stream 1{c}-0 temp {int:40}", 1_000_000, 1);
/// Places on the earth.
pub const GEO: DataSet =
    DataSet::scaled("geo", "GEOADD geo 100*{int:180},{int:85},place:{all}", 500_000, 100);

/// The same collections under the key that is taken away.
pub const VICTIM_HASH: DataSet =
    DataSet::scaled("victim, hash", "HSET victim 100*field:{all},{v:16}", 1_000_000, 100);
/// See above.
pub const VICTIM_SET: DataSet =
    DataSet::scaled("victim, set", "SADD victim 100*member:{all}", 1_000_000, 100);
/// See above.
pub const VICTIM_ZSET: DataSet =
    DataSet::scaled("victim, zset", "ZADD victim 100*{score},member:{all}", 1_000_000, 100);
/// See above.
pub const VICTIM_LIST: DataSet = DataSet::scaled("victim, list", "RPUSH victim 100*{word}", 1_000_000, 100);
/// See above.
pub const VICTIM_STREAM: DataSet =
    DataSet::scaled("victim, stream", "XADD victim 1{c}-0 temp {int:40}", 1_000_000, 1);

/// Two sets of 500,000 that have half of their members in common, in two parts each.
pub const SET_PAIR: [DataSet; 4] = [
    DataSet::scaled("a, common", "SADD a 100*common:{all}", 250_000, 100),
    DataSet::scaled("a, own", "SADD a 100*left:{all}", 250_000, 100),
    DataSet::scaled("b, common", "SADD b 100*common:{all}", 250_000, 100),
    DataSet::scaled("b, own", "SADD b 100*right:{all}", 250_000, 100),
];
/// The same as sorted sets.
pub const ZSET_PAIR: [DataSet; 4] = [
    DataSet::scaled("za, common", "ZADD za 100*{score},common:{all}", 250_000, 100),
    DataSet::scaled("za, own", "ZADD za 100*{score},left:{all}", 250_000, 100),
    DataSet::scaled("zb, common", "ZADD zb 100*{score},common:{all}", 250_000, 100),
    DataSet::scaled("zb, own", "ZADD zb 100*{score},right:{all}", 250_000, 100),
];

/// Strings of 100 MB and a byte.
pub const BIG: DataSet = DataSet::exactly("big", "SETRANGE big {n:100000000} x", 1);
/// See above.
pub const BIG_TOO: DataSet = DataSet::exactly("big2", "SETRANGE big2 {n:100000000} x", 1);
/// See above.
pub const VICTIM_BIG: DataSet = DataSet::exactly("victim, big", "SETRANGE victim {n:100000000} x", 1);
/// Two texts to compare.
pub const TEXTS: DataSet = DataSet::exactly("texts", "MSET text1 {x:10000} text2 {x:10000}", 1);

/// Small keys, many of them and fewer.
pub const KEYS_2M: DataSet = DataSet::scaled("2M keys", "MSET 10*key:{all},{v:20}", 2_000_000, 10);
/// See above.
pub const KEYS_100K: DataSet = DataSet::scaled("100k keys", "MSET 10*key:{all},{v:20}", 100_000, 10);
/// The names of 100,000 of them without `key:`.
pub const IDS: DataSet = DataSet::scaled("ids", "RPUSH ids 100*{all}", 100_000, 100);
/// Keys that may be evicted.
pub const KEYS_100_BYTES: DataSet =
    DataSet::scaled("keys of 100 bytes", "MSET 10*filler:{all},{v:100}", 1_000_000, 10);
/// Keys whose deadline has passed by the time they are looked at.
pub const EXPIRING: DataSet = DataSet::scaled("expiring keys", "SET gone:{all} {v:20} PX 1", 1_000_000, 1);
