//! Commands that make or take away much at once.

use super::data::{HASH, KEYS_100K, VICTIM_HASH, VICTIM_LIST, VICTIM_SET, VICTIM_STREAM, VICTIM_ZSET};
use crate::isolation::answer::{Wanted, exactly, n};
use crate::isolation::heavy::{CLEAN, Heavy, Step};

const ONE: Wanted = Wanted::Number(exactly(1));

const FRESH: &[Step] = &[CLEAN];
const A_HASH: &[Step] = &[CLEAN, Step::Load(&VICTIM_HASH)];
const A_SET: &[Step] = &[CLEAN, Step::Load(&VICTIM_SET)];
const A_ZSET: &[Step] = &[CLEAN, Step::Load(&VICTIM_ZSET)];
const A_LIST: &[Step] = &[CLEAN, Step::Load(&VICTIM_LIST)];
const A_STREAM: &[Step] = &[CLEAN, Step::Load(&VICTIM_STREAM)];
const KEYS: &[Step] = &[Step::Load(&KEYS_100K)];

/// Commands that write much, whose requests are long.
pub fn writes() -> Vec<Heavy> {
    let half = Wanted::Number(n(500_000));
    let many = n(100_000);
    vec![
        Heavy::new("RPUSH of 500k", &[], "RPUSH dest ~500000*{word}", half).before(FRESH),
        Heavy::new("SADD of 500k", &[], "SADD dest ~500000*member:{all}", half).before(FRESH),
        Heavy::new("HSET of 500k", &[], "HSET dest ~500000*field:{all},{v:16}", half).before(FRESH),
        Heavy::new("ZADD of 500k", &[], "ZADD dest ~500000*{score},member:{all}", half).before(FRESH),
        Heavy::new("PFADD of 500k", &[], "PFADD dest ~500000*{all}", ONE).before(FRESH),
        Heavy::new("MSET of 100k", &[&KEYS_100K], "MSET ~100000*key:{all},{v:20}", Wanted::Status("OK")),
        Heavy::new("MGET of 100k", &[&KEYS_100K], "MGET ~100000*key:{all}", Wanted::Items(many)),
        Heavy::new("EXISTS of 100k", &[&KEYS_100K], "EXISTS ~100000*key:{all}", Wanted::Number(many)),
        Heavy::new("COPY of a hash of 1M", &[&HASH], "COPY hash dest", ONE).before(FRESH),
        Heavy::new("COPY of a hash of 1M and a write", &[&HASH], "COPY hash dest | HSET dest new x", ONE)
            .before(FRESH),
        Heavy::new("RESTORE of a hash of 1M", &[&HASH], "RESTORE dest 0 {dump:hash}", Wanted::Status("OK"))
            .before(FRESH),
    ]
}

/// Commands that take much away.
pub fn removals() -> Vec<Heavy> {
    let half = n(500_000);
    let many = Wanted::Number(n(100_000));
    let ok = Wanted::Status("OK");
    vec![
        Heavy::new("DEL of a hash of 1M", &[], "DEL victim", ONE).before(A_HASH),
        Heavy::new("DEL of a set of 1M", &[], "DEL victim", ONE).before(A_SET),
        Heavy::new("DEL of a sorted set of 1M", &[], "DEL victim", ONE).before(A_ZSET),
        Heavy::new("DEL of a list of 1M", &[], "DEL victim", ONE).before(A_LIST),
        Heavy::new("DEL of a stream of 1M", &[], "DEL victim", ONE).before(A_STREAM),
        Heavy::new("UNLINK of a hash of 1M", &[], "UNLINK victim", ONE).before(A_HASH),
        Heavy::new("PEXPIRE 0 of a hash of 1M", &[], "PEXPIRE victim 0", ONE).before(A_HASH),
        Heavy::new("SET over a hash of 1M", &[], "SET victim x", ok).before(A_HASH),
        Heavy::new("RENAME over a hash of 1M", &[], "RENAME dest victim", ok).before(&[
            CLEAN,
            Step::Load(&VICTIM_HASH),
            Step::Ask("SET dest x"),
        ]),
        Heavy::new("DEL of 100k keys", &[], "DEL ~100000*key:{all}", many).before(KEYS),
        Heavy::new("UNLINK of 100k keys", &[], "UNLINK ~100000*key:{all}", many).before(KEYS),
        Heavy::new("HDEL of 100k", &[], "HDEL victim ~100000*field:{all}", many).before(A_HASH),
        Heavy::new("SREM of 100k", &[], "SREM victim ~100000*member:{all}", many).before(A_SET),
        Heavy::new("ZREM of 100k", &[], "ZREM victim ~100000*member:{all}", many).before(A_ZSET),
        Heavy::new("SPOP of 500k", &[], "SPOP victim {n:500000}", Wanted::Items(half)).before(A_SET),
        Heavy::new("LPOP of 500k", &[], "LPOP victim {n:500000}", Wanted::Items(half)).before(A_LIST),
        Heavy::new("LTRIM of 1M to one", &[], "LTRIM victim 0 0", ok).before(A_LIST),
        Heavy::new("ZPOPMIN of 500k", &[], "ZPOPMIN victim {n:500000}", Wanted::Items(half.times(2)))
            .before(A_ZSET),
        Heavy::new("ZREMRANGEBYRANK of 1M", &[], "ZREMRANGEBYRANK victim 0 -1", Wanted::Number(n(1_000_000)))
            .before(A_ZSET),
        Heavy::new(
            "ZREMRANGEBYSCORE of 1M",
            &[],
            "ZREMRANGEBYSCORE victim -inf +inf",
            Wanted::Number(n(1_000_000)),
        )
        .before(A_ZSET),
        Heavy::new("XTRIM of 1M", &[], "XTRIM victim MAXLEN 0", Wanted::Number(n(1_000_000)))
            .before(A_STREAM),
    ]
}
