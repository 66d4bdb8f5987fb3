//! Keyspace notifications: the same events in the same order from the same commands.

use super::stage::play;

/// Plays a script with two connections, one of each protocol, that listen to all events of these classes.
fn compare(classes: &str, script: &str) {
    let listen = format!(
        "a> CONFIG SET notify-keyspace-events {classes}\nn> PSUBSCRIBE __key*__:*\nn3> PSUBSCRIBE __key*__:*\n"
    );
    play(&(listen + script), &[]);
}

/// All classes together, and each alone, so that an event of the wrong class shows.
fn compare_all(classes: &[&str], script: &str) {
    for classes in classes {
        compare(classes, script);
    }
}

#[test]
fn strings() {
    compare_all(
        &["KEA", "AKEmn", "E$", "Kg", "Em", "En"],
        r#"
        a> SET k v
        a> SET k v
        a> SET k v EX 100
        a> SET k v KEEPTTL
        a> SET k v XX
        a> SET k v NX
        a> SET new v NX PX 100000
        a> SET missing v GET
        a> SETNX k v
        a> SETNX nx v
        a> SETEX k 100 v
        a> PSETEX k 100000 v
        a> GETSET k w
        a> GETSET gs w
        a> GET nothing
        a> GETDEL k
        a> GETDEL k
        a> SET k v
        a> GETEX k
        a> GETEX k EX 100
        a> GETEX k PERSIST
        a> GETEX k PERSIST
        a> GETEX k PXAT 1
        a> GETEX k EX 10
        a> APPEND ap 1
        a> APPEND ap 2
        a> APPEND ap ""
        a> SETRANGE sr 2 x
        a> SETRANGE sr 0 yy
        a> SETRANGE sr 0 ""
        a> SETRANGE none 5 ""
        a> INCR n
        a> INCRBY n 5
        a> DECR n
        a> DECRBY n 2
        a> INCR ap2
        a> INCRBYFLOAT f 1.5
        a> INCRBYFLOAT f 1.5
        a> INCR f
        a> MSET a 1 b 2 a 3
        a> MSETNX a 1 c 2
        a> MSETNX d 1 e 2
        a> MGET a nope b
        a> STRLEN nope
        a> GETRANGE nope 0 1
        a> LCS a nope
        a> SELECT 3
        a> SET other v
        a> DEL other
        "#,
    );
}

#[test]
fn keys() {
    compare_all(
        &["KEA", "AKEn", "Eg", "Kl"],
        r#"
        a> MSET a 1 b 2 c 3 d 4
        a> DEL a b nothing
        a> UNLINK c nothing
        a> EXPIRE d 100
        a> EXPIRE d 100 NX
        a> PEXPIRE d 100000
        a> EXPIREAT d 99999999999
        a> PEXPIREAT d 99999999999999
        a> PERSIST d
        a> PERSIST d
        a> EXPIRE d 0
        a> EXPIRE d 10
        a> SET d 4
        a> EXPIREAT d 1
        a> SET s 1
        a> SET t 2
        a> RENAME s t
        a> RENAME t t
        a> RENAME s t
        a> SET s 1
        a> RENAMENX s t
        a> RENAMENX s u
        a> MOVE u 1
        a> SET u again
        a> MOVE u 1
        a> MOVE nothing 1
        a> COPY u v
        a> COPY u v
        a> COPY u v REPLACE
        a> COPY u w DB 2
        a> COPY nothing v
        a> RPUSH l 3 1 2
        a> SORT l STORE sorted
        a> SORT l STORE sorted
        a> SORT nothing STORE sorted
        a> SORT nothing STORE sorted
        a> TOUCH u
        a> RENAME l l2
        a> FLUSHDB
        a> FLUSHALL
        a> SWAPDB 0 1
        "#,
    );
}

#[test]
fn restoring() {
    compare_all(
        &["KEA", "AKEn"],
        r#"
        a> RESTORE r 0 "\x00\xc0\x01\n\x00&x\xe7\xb6\xd1\x01\x11\xfc"
        a> RESTORE r 0 "\x00\xc0\x01\n\x00&x\xe7\xb6\xd1\x01\x11\xfc" REPLACE
        a> RESTORE r 1 "\x00\xc0\x01\n\x00&x\xe7\xb6\xd1\x01\x11\xfc" REPLACE ABSTTL
        a> GET r
        "#,
    );
}

#[test]
fn lists() {
    compare_all(
        &["KEA", "AKEn", "El", "Eg"],
        r#"
        a> LPUSH l a b
        a> RPUSH l c
        a> LPUSHX l d
        a> RPUSHX l e
        a> LPUSHX none e
        a> LINSERT l BEFORE a x
        a> LINSERT l BEFORE none x
        a> LSET l 0 y
        a> LPOP l
        a> RPOP l
        a> LPOP l 2
        a> RPOP l 0
        a> LPOP l 100
        a> LPOP l
        a> RPUSH l a b a c a
        a> LREM l 1 a
        a> LREM l 0 none
        a> LTRIM l 0 2
        a> LTRIM l 0 -1
        a> LTRIM l 5 1
        a> LTRIM l 0 -1
        a> RPUSH l a
        a> LREM l 0 a
        a> RPUSH s a b
        a> RPOPLPUSH s t
        a> RPOPLPUSH s s
        a> LMOVE s t LEFT RIGHT
        a> LMOVE s t LEFT RIGHT
        a> LMOVE t t LEFT LEFT
        a> LMPOP 2 s t LEFT COUNT 1
        a> LMPOP 2 s t RIGHT COUNT 10
        a> LMPOP 2 s t RIGHT COUNT 10
        a> RPUSH l a b c
        a> BLPOP l 1
        a> BRPOP l 1
        a> BLMOVE l t LEFT RIGHT 1
        a> RPUSH l a b c
        a> BLMPOP 1 2 nothing l LEFT COUNT 2
        a> BRPOPLPUSH l t 1
        a> LINDEX none 0
        a> LRANGE none 0 1
        "#,
    );
}

#[test]
fn waiting_clients() {
    compare_all(
        &["KEA"],
        r#"
        !w> BLPOP l 0
        a> RPUSH l a b
        w> PING
        !w> BRPOPLPUSH x y 0
        !v> BLMPOP 0 1 y LEFT COUNT 5
        a> RPUSH x a
        w> PING
        v> PING
        !w> BLMPOP 0 1 l RIGHT COUNT 5
        a> RPUSH l a b c
        w> PING
        !w> BLMOVE l t LEFT RIGHT 0
        a> MULTI
        a> RPUSH l a
        a> RPUSH l b
        a> EXEC
        w> PING
        !w> BZPOPMIN z 0
        !v> BZMPOP 0 1 z MAX COUNT 5
        a> ZADD z 1 a 2 b 3 c
        w> PING
        v> PING
        !w> XREAD BLOCK 0 STREAMS x2 $
        a> XADD x2 MAXLEN 1 1-1 f v
        w> PING
        a> XGROUP CREATE x2 g $
        !w> XREADGROUP GROUP g c BLOCK 0 STREAMS x2 >
        !v> XREADGROUP GROUP g d BLOCK 0 NOACK STREAMS x2 >
        a> XADD x2 MAXLEN 1 2-1 f v
        w> PING
        a> XADD x2 3-1 f v
        v> PING
        !w> XREADGROUP GROUP g e BLOCK 0 STREAMS x2 >
        a> XGROUP DESTROY x2 g
        w> PING
        "#,
    );
}

#[test]
fn bitmaps() {
    compare_all(
        &["KEA", "AKEmn", "E$", "Eg"],
        r#"
        a> SETBIT b 7 1
        a> SETBIT b 7 1
        a> SETBIT b 7 0
        a> SETBIT b 100 0
        a> SETBIT zero 0 0
        a> SETBIT b 7 2
        a> SET s v
        a> SETBIT s 6 0
        a> BITFIELD b GET u8 0
        a> BITFIELD b SET u8 0 5 SET u8 8 6
        a> BITFIELD b SET u8 0 5
        a> BITFIELD b SET u8 0 5 SET u8 5000 0
        a> BITFIELD b INCRBY u8 0 1
        a> BITFIELD b INCRBY u8 0 0
        a> BITFIELD b SET u8 0 255
        a> BITFIELD b OVERFLOW FAIL INCRBY u8 0 1
        a> BITFIELD failed OVERFLOW FAIL INCRBY u2 0 5
        a> BITFIELD new SET u8 0 0
        a> BITFIELD none GET u8 0
        a> BITFIELD_RO b GET u8 0
        a> BITOP AND d b s
        a> BITOP OR d b none
        a> BITOP NOT b b
        a> BITOP XOR d none none
        a> BITOP XOR d none none
        a> RPUSH l a
        a> BITOP NOT l s
        a> RPUSH l2 a
        a> BITOP NOT l2 none
        a> BITOP NOT d l3
        a> BITCOUNT s
        a> BITPOS s 1
        "#,
    );
}

#[test]
fn hyperloglogs() {
    compare_all(
        &["KEA", "AKEmn", "E$", "Eg"],
        r#"
        a> PFADD h
        a> PFADD h
        a> PFADD h a b c
        a> PFADD h a
        a> PFADD i d
        a> PFCOUNT h
        a> PFCOUNT h
        a> PFCOUNT h i none
        a> PFMERGE h
        a> PFMERGE h i
        a> PFMERGE new h i none
        a> PFMERGE empty
        a> SET s v
        a> PFADD s a
        a> PFMERGE s h
        a> PFMERGE h s
        "#,
    );
}

#[test]
fn positions() {
    compare_all(
        &["KEA", "AKEmn", "Ez", "Eg"],
        r#"
        a> GEOADD g 13.361389 38.115556 Palermo 15.087269 37.502669 Catania
        a> GEOADD g 13.361389 38.115556 Palermo
        a> GEOADD g CH 13.4 38.115556 Palermo
        a> GEOADD g XX 13.361389 38.115556 Nowhere
        a> GEOSEARCHSTORE d g FROMLONLAT 15 37 BYRADIUS 200 km
        a> GEOSEARCHSTORE d g FROMLONLAT 15 37 BYBOX 400 400 km STOREDIST
        a> GEOSEARCHSTORE d g FROMLONLAT 0 0 BYRADIUS 1 m
        a> GEOSEARCHSTORE d g FROMLONLAT 0 0 BYRADIUS 1 m
        a> GEORADIUS g 15 37 200 km STORE d
        a> GEORADIUS g 15 37 200 km STOREDIST d
        a> GEORADIUSBYMEMBER g Palermo 200 km STORE e
        a> GEORADIUS g 0 0 1 m STORE d
        a> GEORADIUS g 0 0 1 m STORE d
        a> GEORADIUSBYMEMBER none Palermo 200 km STORE e
        a> GEORADIUSBYMEMBER none Palermo 200 km STORE e
        a> SET e string
        a> GEOSEARCHSTORE e none FROMLONLAT 0 0 BYRADIUS 1 m
        a> SET e string
        a> GEOSEARCHSTORE e g FROMMEMBER Palermo BYRADIUS 1 m
        a> GEOSEARCH g FROMMEMBER Palermo BYRADIUS 1 m
        a> GEOSEARCHSTORE g g FROMMEMBER Palermo BYRADIUS 1 m
        "#,
    );
}

#[test]
fn streams() {
    compare_all(
        &["KEA", "AKEmn", "Et", "Eg", "Kn"],
        r#"
        a> XADD none NOMKSTREAM 1-1 f v
        a> XADD s 1-1 f v
        a> XADD s 1-1 f v
        a> XADD s NOMKSTREAM 1-2 f v
        a> XADD s MAXLEN 2 2-1 f v
        a> XADD s MAXLEN 5 2-2 f v
        a> XADD s MINID 2-2 3-1 f v
        a> XADD s MAXLEN ~ 1 4-1 f v
        a> XADD s MAXLEN 0 5-1 f v
        a> XADD t MAXLEN 0 5-1 f v
        ?a> XADD u * f v
        a> XADD s 6-1 f v
        a> XADD s 6-2 f v
        a> XADD s 6-3 f v
        a> XTRIM s MAXLEN 3
        a> XTRIM s MAXLEN 2
        a> XTRIM s MINID 6-1
        a> XTRIM none MAXLEN 0
        a> XDEL s 1-1
        a> XDEL s 6-2 6-2 1-1
        a> XDEL none 1-1
        a> XSETID s 7-1
        a> XSETID s 1-1
        a> XSETID s 7-1 ENTRIESADDED 50 MAXDELETEDID 6-2
        a> XSETID none 1-1
        a> XGROUP CREATE none g $
        a> XGROUP CREATE s g 0
        a> XGROUP CREATE s g 0
        a> XGROUP CREATE made g $ MKSTREAM
        a> XGROUP CREATE made h $ MKSTREAM
        a> XGROUP CREATE made2 g bad MKSTREAM
        a> XGROUP SETID s g 0
        a> XGROUP SETID s none 0
        a> XGROUP CREATECONSUMER s g c
        a> XGROUP CREATECONSUMER s g c
        a> XGROUP DELCONSUMER s g c
        a> XGROUP DELCONSUMER s g c
        a> XREADGROUP GROUP g c STREAMS made >
        a> XREADGROUP GROUP g c STREAMS made 0
        a> XREADGROUP GROUP g c STREAMS made 0
        a> XADD s 8-1 f v
        a> XADD s 8-2 f v
        a> XREADGROUP GROUP g c COUNT 1 STREAMS s >
        a> XREADGROUP GROUP g c COUNT 1 STREAMS s >
        a> XREADGROUP GROUP g d NOACK STREAMS s >
        a> XREADGROUP GROUP g e NOACK STREAMS s >
        a> XGROUP CREATE s both 0
        a> XADD made 1-1 f v
        a> XGROUP CREATE made both 0
        a> XREADGROUP GROUP both x STREAMS s made > >
        a> XCLAIM s g f 0 6-1
        a> XCLAIM s g f 0 6-1
        a> XCLAIM s g i 1000000 6-1
        a> XCLAIM s g i 0 99-1
        a> XCLAIM s g i 0 99-1 FORCE
        a> XCLAIM s g j 0 8-1 FORCE JUSTID
        a> XAUTOCLAIM s g k 1000000 0
        a> XAUTOCLAIM s g k 0 0 COUNT 1
        a> XAUTOCLAIM s g k 0 0
        a> XADD w 1-1 f v
        a> XGROUP CREATE w g 0
        a> XREADGROUP GROUP g a STREAMS w >
        a> XDEL w 1-1
        a> XCLAIM w g b 0 1-1
        a> XADD w 2-1 f v
        a> XREADGROUP GROUP g a STREAMS w >
        a> XDEL w 2-1
        a> XAUTOCLAIM w g b 0 0
        a> XACK s g 8-1
        a> XGROUP DELCONSUMER s g k
        a> XGROUP DESTROY s none
        a> XGROUP DESTROY s g
        a> XGROUP DESTROY none g
        a> XRANGE s - +
        a> XREAD STREAMS s made 0 0
        a> MULTI
        a> XADD m MAXLEN 1 1-1 f v
        a> XADD m MAXLEN 1 1-2 f v
        a> XGROUP CREATE m g 0
        a> XREADGROUP GROUP g a STREAMS m >
        a> EXEC
        a> COPY s s2
        a> DEL s
        "#,
    );
}

#[test]
fn sets() {
    compare_all(
        &["KEA", "AKEn", "Es", "Eg"],
        r#"
        a> SADD s a b c
        a> SADD s a
        a> SADD s a d
        a> SREM s x
        a> SREM s a x
        a> SREM s b c d
        a> SADD s a b
        a> SADD t b
        a> SMOVE s t a
        a> SMOVE s t b
        a> SMOVE s t b
        a> SADD s a
        a> SMOVE s s a
        a> SMOVE s new a
        ?a> SPOP new
        ?a> SPOP new
        a> SADD s a b c d
        ?a> SPOP s 2
        a> SPOP s 0
        ?a> SPOP s 10
        ?a> SPOP s 10
        a> SADD a 1 2 3
        a> SADD b 2 3 4
        a> SINTERSTORE d a b
        a> SUNIONSTORE d a b
        a> SDIFFSTORE d a b
        a> SINTERSTORE d a nothing
        a> SINTERSTORE d a nothing
        a> SET d string
        a> SUNIONSTORE d a b
        a> SDIFFSTORE d a a
        a> SMEMBERS nothing
        "#,
    );
}

#[test]
fn hashes() {
    compare_all(
        &["KEA", "AKEn", "Eh", "Eg"],
        r#"
        a> HSET h a 1 b 2
        a> HSET h a 1
        a> HMSET h a 1 c 3
        a> HSETNX h a 1
        a> HSETNX h d 1
        a> HSETNX h2 d 1
        a> HINCRBY h a 5
        a> HINCRBY h3 a 5
        a> HINCRBYFLOAT h a 1.5
        a> HINCRBY h a 1
        a> HDEL h none
        a> HDEL h a none
        a> HDEL h b c d
        a> HDEL h b
        "#,
    );
}

#[test]
fn sorted_sets() {
    compare_all(
        &["KEA", "AKEn", "Ez", "Eg"],
        r#"
        a> ZADD z 1 a 2 b 3 c
        a> ZADD z 1 a
        a> ZADD z XX 5 a
        a> ZADD z NX 5 a
        a> ZADD none XX 5 a
        a> ZADD z INCR 5 a
        a> ZADD z NX INCR 5 a
        a> ZINCRBY z 1 b
        a> ZINCRBY z 0 b
        a> ZINCRBY new 1 b
        a> ZREM z none
        a> ZREM z a none
        a> ZREM z b c
        a> ZADD z 1 a 2 b 3 c 4 d 5 e 6 f
        a> ZREMRANGEBYRANK z 0 0
        a> ZREMRANGEBYRANK z 50 60
        a> ZREMRANGEBYSCORE z 2 2
        a> ZREMRANGEBYLEX z [c [c
        a> ZPOPMIN z
        a> ZPOPMAX z
        a> ZPOPMAX z 0
        a> ZPOPMIN z 10
        a> ZPOPMIN z 10
        a> ZADD z 1 a 2 b
        a> ZREMRANGEBYRANK z 0 -1
        a> ZADD z 1 a 2 b 3 c
        a> ZMPOP 1 z MIN
        a> BZPOPMIN z 1
        a> BZMPOP 1 2 nothing z MAX COUNT 10
        a> ZADD z 1 a 2 b 3 c
        a> ZADD y 1 a 2 b 3 c
        a> ZUNIONSTORE d 2 z y
        a> ZINTERSTORE d 2 z y
        a> ZDIFFSTORE d 2 z y
        a> ZDIFFSTORE d 2 z y
        a> ZRANGESTORE d z 0 1
        a> ZRANGESTORE d z 5 6
        a> ZRANGESTORE d z 5 6
        a> ZRANGE nothing 0 1
        "#,
    );
}

#[test]
fn expiry() {
    compare_all(
        &["KEA", "AKEmn", "Ex"],
        r#"
        a> DEBUG SET-ACTIVE-EXPIRE 0
        a> SET k v PX 1
        a> SET l v PX 1
        a> RPUSH m v
        a> PEXPIRE m 30
        a> SET o v PX 1
        a> SET p v PX 1
        a> SET q v PX 1
        a> DEBUG SLEEP 0.05
        a> GET k
        a> SET l w
        a> RPUSH m v
        a> DEL o
        a> EXISTS p
        a> RENAME q r
        "#,
    );
}

#[test]
fn transactions_and_selected_classes() {
    compare(
        "Elg$",
        r#"
        a> MULTI
        a> RPUSH l a
        a> SET k v
        a> LPOP l
        a> SADD s x
        a> EXEC
        a> CONFIG SET notify-keyspace-events K
        a> SET k v
        a> CONFIG SET notify-keyspace-events A
        a> SET k v
        a> CONFIG SET notify-keyspace-events KA
        a> SET k v
        a> CONFIG SET notify-keyspace-events ""
        a> SET k v
        "#,
    );
}

#[test]
fn misses() {
    let reads = [
        "TTL k",
        "PTTL k",
        "EXPIRETIME k",
        "TYPE k",
        "DUMP k",
        "EXISTS k k",
        "TOUCH k",
        "COPY k l",
        "SORT k",
        "SORT_RO k",
        "OBJECT ENCODING k",
        "GET k",
        "STRLEN k",
        "GETRANGE k 0 1",
        "SUBSTR k 0 1",
        "MGET k k",
        "LCS k k",
        "LLEN k",
        "LINDEX k 0",
        "LPOS k a",
        "LRANGE k 0 1",
        "SCARD k",
        "SISMEMBER k a",
        "SMISMEMBER k a",
        "SMEMBERS k",
        "SRANDMEMBER k",
        "SRANDMEMBER k 2",
        "SINTER k k",
        "SUNION k k",
        "SDIFF k k",
        "SINTERCARD 1 k",
        "SSCAN k 0",
        "HGET k f",
        "HMGET k f g",
        "HLEN k",
        "HEXISTS k f",
        "HSTRLEN k f",
        "HKEYS k",
        "HVALS k",
        "HGETALL k",
        "HRANDFIELD k",
        "HRANDFIELD k 2",
        "HSCAN k 0",
        "ZCARD k",
        "ZSCORE k a",
        "ZMSCORE k a",
        "ZRANK k a",
        "ZREVRANK k a",
        "ZRANGE k 0 1",
        "ZRANGEBYSCORE k 0 1",
        "ZRANGEBYLEX k - +",
        "ZCOUNT k 0 1",
        "ZLEXCOUNT k - +",
        "ZRANDMEMBER k",
        "ZUNION 2 k k",
        "ZINTER 2 k k",
        "ZDIFF 2 k k",
        "ZINTERCARD 1 k",
        "ZSCAN k 0",
        "GETBIT k 0",
        "BITCOUNT k",
        "BITPOS k 1",
        "BITFIELD k GET u8 0",
        "BITFIELD_RO k GET u8 0",
        "BITOP AND k2 k k",
        "BITOP NOT k2 k",
        "PFCOUNT k",
        "PFCOUNT k k",
        "GEOPOS k a",
        "GEODIST k a b",
        "GEOHASH k a",
        "GEOSEARCH k FROMLONLAT 0 0 BYRADIUS 1 m",
        "GEOSEARCHSTORE k2 k FROMLONLAT 0 0 BYRADIUS 1 m",
        "GEORADIUS k 0 0 1 m",
        "GEORADIUSBYMEMBER_RO k a 1 m",
        "XLEN k",
        "XRANGE k - +",
        "XREVRANGE k + -",
        "XREAD STREAMS k k 0 $",
        "XREADGROUP GROUP g c STREAMS k >",
        "XPENDING k g",
        "XPENDING k g - + 1",
        "XINFO STREAM k",
        "XINFO GROUPS k",
        "XINFO CONSUMERS k g",
        "XACK k g 1-1",
        "XCLAIM k g c 0 1-1",
        "XAUTOCLAIM k g c 0 0",
        "XDEL k 1-1",
        "XTRIM k MAXLEN 1",
        "XSETID k 1-1",
        "XADD k NOMKSTREAM 1-1 f v",
        "XGROUP CREATE k g 0",
        "XGROUP SETID k g 0",
        "XGROUP DESTROY k g",
        "PERSIST k",
        "EXPIRE k 10",
        "DEL k",
        "LPOP k",
        "RPOPLPUSH k k",
        "LTRIM k 0 1",
        "LSET k 0 1",
        "SPOP k",
        "SMOVE k k a",
        "HDEL k f",
        "ZREM k a",
        "ZPOPMIN k",
        "GETDEL k",
        "GETEX k",
        "LMPOP 1 k LEFT",
        "ZMPOP 1 k MIN",
        "RENAME k l",
        "MOVE k 1",
    ];
    compare("Em", &reads.map(|command| format!("a> {command}\n")).concat());
}
