//! What counts as a use of a key: the counter of accesses, which idle times and eviction follow, and hits and misses.

use super::{Pair, words};
use larder_testkit::{Client, Kind, Server, Value};

/// One key of each type.
const KEYS: &str = r#"
    SET s abc
    SET n 5
    RPUSH l a b c
    SADD set a b c
    SADD ints 1 2 3
    ZADD z 1 a 2 b
    HSET h f v g 2
    XADD x 1-1 a b
    XGROUP CREATE x g 0
    PFADD hll a
    GEOADD geo 1 1 a
"#;

/// The key that is looked at, and a command.
const COMMANDS: &str = r#"
    s GET s
    s TTL s
    s PTTL s
    s EXPIRETIME s
    s TYPE s
    s EXISTS s
    s OBJECT ENCODING s
    s OBJECT IDLETIME s
    s OBJECT REFCOUNT s
    s MEMORY USAGE s
    s DEBUG OBJECT s
    s TOUCH s
    s DUMP s
    s STRLEN s
    s GETRANGE s 0 1
    s APPEND s x
    s SETRANGE s 0 x
    s GETBIT s 1
    s BITCOUNT s
    s BITPOS s 1
    s BITFIELD s GET u8 0
    s BITFIELD_RO s GET u8 0
    s EXPIRE s 100
    s PERSIST s
    s GETEX s
    s GETEX s EX 100
    s GETEX s PERSIST
    s COPY s t REPLACE
    s RENAMENX s t
    s SET s v NX
    s SET s v GET
    s SETNX s v
    s MSETNX s a s1 b
    s GETSET s v
    s MGET s s
    s LCS s s
    s BITOP NOT d s
    s DEBUG DIGEST-VALUE s
    s RANDOMKEY
    s KEYS *
    s SCAN 0
    s SCAN 0 TYPE string
    s WATCH s
    s UNWATCH
    s LPUSH s x
    s SINTERCARD 1 s
    s LLEN s
    n INCR n
    n INCRBYFLOAT n 1
    n DECRBY n 1
    l LLEN l
    l LRANGE l 0 -1
    l LPUSH l x
    l RPOP l
    l LPOS l a
    l LINDEX l 0
    l LSET l 0 q
    l LINSERT l BEFORE a z
    l LREM l 1 z
    l LTRIM l 0 10
    l LMOVE l l2 LEFT RIGHT
    l2 LMOVE l l2 LEFT RIGHT
    l RPUSHX l a
    l SORT l ALPHA
    l SORT l ALPHA STORE l3
    l SORT_RO l ALPHA
    l LMPOP 1 l LEFT
    set SCARD set
    set SMEMBERS set
    set SISMEMBER set a
    set SMISMEMBER set a
    set SRANDMEMBER set
    set SRANDMEMBER set 2
    set SADD set d
    set SADD set d
    set SREM set d
    set SREM set nosuch
    set SPOP set
    set SSCAN set 0
    set SINTER set set
    set SINTERSTORE dd set set
    set SUNION set
    set SDIFF set ints
    set SMOVE set ints a
    ints SMOVE set ints a
    z ZCARD z
    z ZSCORE z a
    z ZADD z 3 c
    z ZADD z 3 c
    z ZINCRBY z 1 a
    z ZRANGE z 0 -1
    z ZRANGEBYSCORE z 0 1
    z ZRANK z a
    z ZREM z nosuch
    z ZREM z c
    z ZCOUNT z 0 1
    z ZLEXCOUNT z - +
    z ZRANDMEMBER z
    z ZRANDMEMBER z 2
    z ZSCAN z 0
    z ZUNIONSTORE zz 1 z
    z ZUNION 1 z
    z ZINTERCARD 1 z
    z ZPOPMIN z
    z ZRANGESTORE zz z 0 -1
    z ZREMRANGEBYRANK z 5 6
    z ZMSCORE z a
    z ZMPOP 1 z MIN
    h HGET h f
    h HGETALL h
    h HLEN h
    h HSET h f v
    h HSETNX h f v
    h HDEL h nosuch
    h HEXISTS h f
    h HKEYS h
    h HVALS h
    h HSTRLEN h f
    h HINCRBY h g 1
    h HINCRBYFLOAT h g 1
    h HMGET h f
    h HRANDFIELD h
    h HRANDFIELD h 2
    h HSCAN h 0
    h HTTL h FIELDS 1 f
    h HEXPIRE h 100 FIELDS 1 f
    h HPERSIST h FIELDS 1 f
    h HGETDEL h FIELDS 1 nosuch
    h HSETEX h EX 100 FIELDS 1 f v
    x XLEN x
    x XADD x 2-1 a b
    x XRANGE x - +
    x XREVRANGE x + -
    x XREAD STREAMS x 0
    x XDEL x 1-1
    x XTRIM x MAXLEN 10
    x XINFO STREAM x
    x XREAD STREAMS x $
    x XREAD STREAMS x +
    x XGROUP CREATE x g 0
    x XGROUP CREATE x g2 0
    x XREADGROUP GROUP g c STREAMS x >
    x XREADGROUP GROUP g c NOACK STREAMS x >
    x XREADGROUP GROUP g c STREAMS x 0
    x XREADGROUP GROUP g c STREAMS x x 0 >
    x XREADGROUP GROUP nosuch c STREAMS x >
    x XACK x g 1-1
    x XPENDING x g
    x XCLAIM x g c 0 2-1
    x XAUTOCLAIM x g c 0 0
    x XINFO GROUPS x
    x XINFO CONSUMERS x g
    x XSETID x 9-9
    x XGROUP DESTROY x g
    hll PFADD hll a
    hll PFCOUNT hll hll
    hll PFMERGE hll2 hll
    geo GEOPOS geo a
    geo GEODIST geo a a
    geo GEOHASH geo a
    geo GEOSEARCH geo FROMMEMBER a BYRADIUS 1 m
    geo GEORADIUS geo 1 1 1 m
    geo GEOADD geo 1 1 a
    s EVAL "return redis.call('TTL','s')" 0
    s EVAL "return 1" 1 s
    s CLIENT NO-TOUCH on
    s GET s
    s CLIENT NO-TOUCH off
    s EXPIREAT s 99999999999 XX
    s OBJECT FREQ s
    s SUBSTR s 0 1
    s SCAN 0 MATCH s TYPE string
    s DELIFEQ s nosuch
    s SET s v IFEQ nosuch
    s MSETEX 1 s v
    s MOVE s 3
    s RENAME t s
    s OBJECT ENCODING nosuch
    s TTL nosuch
    s TYPE nosuch
    s EXISTS nosuch s
    s TOUCH nosuch s
    s COPY nosuch t
    s EXPIRE nosuch 1
    s LCS nosuch s
    s GET nosuch
"#;

/// How often the key was used, and the hits and misses, by one command.
fn use_of(client: &mut Client, key: &str, command: &str) -> [i64; 3] {
    let lines = |client: &mut Client, text: &str| -> Vec<i64> {
        let info = client.ask(text).text();
        let numbers = info.lines().filter(|line| line.starts_with("keyspace_"));
        numbers.map(|line| line.split_once(':').unwrap().1.parse().unwrap()).collect()
    };
    client.ask("FLUSHALL");
    for line in KEYS.lines().filter(|line| !line.is_empty()) {
        assert!(!client.ask(line.trim()).is_error(), "{line}");
    }
    let frequency = |client: &mut Client| match client.ask(&format!("OBJECT FREQ {key}")) {
        Value::Int(count) => count,
        gone => {
            assert_eq!(gone, Value::NullBulk, "{command}");
            0
        }
    };
    let before = frequency(client);
    client.ask("CONFIG RESETSTAT");
    client.cmd(&words(command));
    let hits = lines(client, "INFO stats");
    [frequency(client) - before, hits[0], hits[1]]
}

#[test]
fn what_counts_as_a_use() {
    let pair = Pair::with(Kind::Valkey, 1, &[]);
    let mut clients = pair.servers().map(Server::client);
    // Without decay, which comes when a minute of the clock ends.
    let exact = "CONFIG SET maxmemory-policy allkeys-lfu lfu-log-factor 0 lfu-decay-time 0";
    for client in &mut clients {
        assert_eq!(client.ask(exact).text(), "OK");
    }
    let mut differences = Vec::new();
    for line in COMMANDS.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (key, command) = line.split_once(' ').unwrap();
        let [larder, valkey] = clients.each_mut().map(|client| use_of(client, key, command));
        if larder != valkey {
            differences
                .push(format!("{larder:?} for {valkey:?}: uses of {key}, hits and misses by {command}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
