//! `rdb_changes_since_last_save`: each command counts as many changes as Valkey's does.

use larder_testkit::{Client, Kind, Server};

const SETUP: [&str; 16] = [
    "FLUSHALL",
    "SET s 1",
    "SET s2 abc",
    "RPUSH l a b c d e",
    "SADD st a b c 1 2",
    "SADD st2 b c x",
    "ZADD z 1 a 2 b 3 c",
    "ZADD z2 1 a 5 e",
    "HSET h a 1 b 2 c 3",
    "SET ttl 1 EX 100",
    "XADD x 1-1 a 1",
    "XADD x 2-1 b 1",
    "XGROUP CREATE x g 0",
    "PFADD p a b c",
    "PFADD p2 x y",
    "GEOADD g 13 38 a 15 37 b",
];

const COMMANDS: &str = r#"
    SET k v
    SET k v ex 100
    SET k v pxat 1
    SET s 2 nx
    SET s 2 get
    SETNX nk 1
    SETNX s 1
    SETEX k 10 v
    PSETEX k 1000 v
    GETSET s 2
    GETDEL s
    GETEX s ex 10
    GETEX s persist
    GETEX ttl persist
    GETEX s
    MSET a 1 b 2 c 3
    MSETNX a 1 b 2
    MSETNX s 1 q 2
    APPEND s x
    APPEND nk x
    APPEND nk ""
    SETRANGE s 0 xx
    SETRANGE nk 0 ""
    SETRANGE nk 2 a
    INCR s
    DECRBY s 3
    INCRBYFLOAT s 1.5
    SETBIT bm 3 1
    SETBIT bm 5 1
    BITFIELD bm set u8 0 255 incrby u8 8 1
    BITFIELD bm get u8 0
    BITOP and d bm s
    BITOP and d nk1 nk2
    BITOP and s nk1 nk2
    RPUSH l a b c
    LPUSH l a
    LPUSHX l a b
    LINSERT l before c x
    LINSERT l before zz x
    LSET l 0 q
    LREM l 0 a
    LREM l 0 zz
    LTRIM l 1 2
    LTRIM l 0 -1
    LTRIM l 9 10
    LPOP l
    LPOP l 2
    LPOP l 100
    LPOP l 0
    RPOP l 3
    LMPOP 1 l left count 2
    RPOPLPUSH l l2
    LMOVE l l left right
    LMOVE l l2 left right
    BRPOP l 1
    BLMPOP 1 1 l left count 3
    SADD st a b z y
    SREM st a b q
    SREM st a b c 1 2
    SPOP st
    SPOP st 2
    SPOP st 100
    SMOVE st st2 a
    SMOVE st st2 b
    SMOVE st st2 nope
    SUNIONSTORE d st st2
    SINTERSTORE d st st2
    SINTERSTORE s nk nk2
    SDIFFSTORE d st st2
    SDIFFSTORE d nk st2
    ZADD z 1 a 5 q
    ZADD z 1 a
    ZADD z xx 9 a 9 b
    ZINCRBY z 1 a
    ZINCRBY z 0 a
    ZREM z a b q
    ZREMRANGEBYRANK z 0 1
    ZREMRANGEBYSCORE z 0 10
    ZREMRANGEBYLEX z - +
    ZPOPMIN z
    ZPOPMIN z 2
    ZPOPMAX z 100
    ZMPOP 1 z min count 2
    BZPOPMIN z 1
    BZMPOP 1 1 z max count 2
    ZUNIONSTORE d 2 z z2
    ZINTERSTORE d 2 z z2
    ZDIFFSTORE d 2 z z2
    ZINTERSTORE d 2 z nk
    ZINTERSTORE s 2 z nk
    ZRANGESTORE d z 0 -1
    ZRANGESTORE d z 5 9
    ZRANGESTORE s z 5 9
    HSET h a 1 d 4 e 5
    HSET h a 1
    HMSET h a 1 q 1
    HSETNX h a 1
    HSETNX h zz 1
    HDEL h a b qq
    HDEL h a b c
    HINCRBY h a 1
    HINCRBYFLOAT h a 1.5
    HEXPIRE h 100 fields 2 a b
    HEXPIRE h 0 fields 2 a b
    HEXPIRE h -1 fields 1 a
    HSETEX h ex 100 fields 2 a 1 b 2
    HSETEX h fields 2 a 1 b 2
    HSETEX h pxat 1 fields 2 a 1 b 2
    HGETEX h ex 100 fields 2 a b
    HGETEX h persist fields 1 a
    HGETEX h pxat 1 fields 2 a b
    HGETDEL h fields 2 a b
    HGETDEL h fields 2 q r
    XADD x * a 1
    XADD x maxlen 1 * a 1
    XADD nk nomkstream * a 1
    XDEL x 1-1 9-9
    XDEL x 1-1 2-1
    XTRIM x maxlen 1
    XTRIM x maxlen 10
    XTRIM x minid 2
    XSETID x 9-9
    XGROUP create x g2 0
    XGROUP createconsumer x g c
    XGROUP delconsumer x g c
    XGROUP setid x g 0
    XGROUP destroy x g
    XGROUP destroy x nog
    XREADGROUP group g c streams x >
    XREADGROUP group g c count 1 streams x >
    XREADGROUP group g c noack streams x >
    XREADGROUP group g c streams x 0
    XACK x g 1-1
    PFADD p a b
    PFADD p q
    PFADD p new1 new2
    PFADD newp
    PFADD newp a b
    PFADD newp a
    PFMERGE p p2
    PFMERGE newp p p2
    PFCOUNT p
    PFCOUNT p p2
    GEOADD g 13 38 a 1 1 z
    GEOSEARCHSTORE d g fromlonlat 13 38 byradius 500 km
    GEOSEARCHSTORE s g fromlonlat 1 1 byradius 1 m
    GEORADIUS g 13 38 500 km store d
    DEL s l st nk
    UNLINK s l
    EXPIRE s 100
    EXPIRE nk 100
    EXPIRE s -1
    PEXPIRE s 100
    EXPIREAT s 1
    PERSIST ttl
    PERSIST s
    RENAME s q
    RENAME s s
    RENAMENX s s2
    RENAMENX s q
    COPY s q
    COPY s s2 replace
    COPY l q
    MOVE s 1
    SORT l alpha store d
    SORT st alpha store d
    SORT nk store d
    SORT nk store s
    SWAPDB 0 0
    FUNCTION flush
    MSET s 1
    MSETEX 2 a 1 b 2 ex 10
    DELIFEQ s 1
    SET s 3 ifeq 1
    SET s 3 ifeq 7
    FLUSHALL
    EVAL "redis.call('RPUSH',KEYS[1],1,2,3)" 1 nl
    HSETEX new pxat 1 fields 2 a 1 b 2
    SET s v pxat 1
    SET new v pxat 1
    FLUSHDB
    SWAPDB 0 0
"#;

fn changes(client: &mut Client) -> i64 {
    let info = client.ask("INFO persistence").text();
    let count = info.lines().find_map(|line| line.strip_prefix("rdb_changes_since_last_save:"));
    count.expect("it is there").parse().expect("it is a number")
}

#[test]
fn changes_are_counted_alike() {
    let counts = [Kind::Larder, Kind::Valkey].map(|kind| {
        let server = Server::of(kind, &[]);
        let mut client = server.client();
        let mut counts = Vec::new();
        for command in COMMANDS.lines().map(str::trim).filter(|line| !line.is_empty()) {
            SETUP.iter().for_each(|setup| drop(client.ask(setup)));
            let before = changes(&mut client);
            client.ask(command);
            counts.push(format!("{command}: {}", changes(&mut client) - before));
        }
        counts
    });
    let differences: Vec<_> =
        counts[0].iter().zip(&counts[1]).filter(|(ours, theirs)| ours != theirs).collect();
    assert!(differences.is_empty(), "larder, valkey: {differences:#?}");
}
