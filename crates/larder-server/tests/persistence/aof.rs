//! The append-only file.

use crate::samples::{fill, stream_description};
use crate::{carry, digest, ok, tool, wait_for};
use larder_testkit::{Client, Server, Value, wait_until_rewritten};
use std::fs;

const LOGGED: &[&str] =
    &["--appendonly", "yes", "--enable-debug-command", "yes", "--rdb-target-version", "10"];

/// Commands whose outcome depends on time, chance or waiting.
fn fickle(client: &mut Client) {
    for line in [
        "SET a 1 EX 1000",
        "SETEX b 1000 v",
        "PSETEX c 1000000 v",
        "SET d 1",
        "EXPIRE d 1000",
        "GETEX d PX 500000",
        "SET e 1 EX 10",
        "GETEX e PERSIST",
        "SET f 1",
        "EXPIRE f -1",
        "SET g 10.5",
        "INCRBYFLOAT g 0.1",
        "HSET h f 10.5",
        "HINCRBYFLOAT h f 0.1",
        "SADD s 1 2 3 4 5 6 7 8 9 a b c d e f",
        "SPOP s",
        "SPOP s 5",
        "SADD all 1 2 3",
        "SPOP all 3",
        "RPUSH l 1 2 3 4 5 6",
        "BLPOP l 0",
        "BRPOP l 0",
        "LMPOP 1 l LEFT COUNT 2",
        "BLMOVE l m LEFT RIGHT 0",
        "ZADD z 1 a 2 b 3 c 4 d",
        "BZPOPMIN z 0",
        "ZMPOP 1 z MAX",
        "SETBIT bits 100 1",
        "BITFIELD bits INCRBY u8 0 200 OVERFLOW FAIL INCRBY u8 0 100 SET u4 900 1",
        "BITOP NOT bits2 bits",
        "PFADD pf a b c d",
        "PFCOUNT pf",
        "PFADD pf2 e f g",
        "PFCOUNT pf2",
        "PFMERGE pf3 pf pf2",
        "PFDEBUG TODENSE pf2",
        "GEOADD geo 13.361389 38.115556 Palermo 15.087269 37.502669 Catania",
        "GEOADD geo NX CH 13 38 Palermo 2.35 48.85 Paris",
        "GEOADD geo XX 2.36 48.86 Paris 0 0 none",
        "GEORADIUS geo 15 37 200 km STOREDIST near",
        // Redis 7.0 writes other digits of distances, and so digests them differently.
        "ZADD near XX 1 Palermo 2 Catania",
        "GEOSEARCHSTORE near2 geo FROMMEMBER Palermo BYBOX 400 400 km",
        "XADD auto * a 1",
        "XADD auto * a 2",
        "XADD auto 99999999999999-* a 3",
        "XADD auto MAXLEN ~ 1 * a 4",
        "XTRIM auto MINID ~ 99999999999999",
        "XADD fs 1-1 a 1",
        "XADD fs 1-2 a 2",
        "XADD fs 2-* a 3",
        "XADD fs 3-1 a 4",
        "XADD fs 4-1 a 5",
        "XGROUP CREATE fs g 0",
        "XREADGROUP GROUP g c COUNT 2 STREAMS fs >",
        "XREADGROUP GROUP g d BLOCK 0 NOACK COUNT 1 STREAMS fs >",
        "XREADGROUP GROUP g e STREAMS fs >",
        // A consumer that only reads what it has got is not in the log of Redis.
        "XGROUP CREATECONSUMER fs g f",
        "XREADGROUP GROUP g f STREAMS fs 0",
        "XCLAIM fs g d 0 1-1 4-1",
        "XDEL fs 1-2",
        "XAUTOCLAIM fs g h 0 0 JUSTID COUNT 3",
        "XCLAIM fs g i 1000000 4-1 LASTID 9-9",
        "SET x 1 PX 1",
        "DEBUG SLEEP 0.003",
        "SET x 2 NX",
        "MULTI",
        "SET y 1 EX 100",
        "SELECT 3",
        "INCR n",
        "RPUSH q a",
        "EXEC",
        "MOVE n 4",
        "COPY q q DB 5",
        "SELECT 0",
        "SWAPDB 3 6",
    ] {
        let reply = client.ask(line);
        assert!(!reply.is_error(), "{line}: {reply}");
    }
}

/// What scripts do with time and chance is logged by its effects.
fn scripted(client: &mut Client) {
    for script in [
        "redis.call('sadd','ss',1,2,3,4,5,6,7,8,9) return redis.call('spop','ss',4)",
        "redis.call('set','now',redis.call('time')[2]) return redis.call('expire','now',1000)",
        "redis.call('set','drawn',tostring(math.random())) return redis.call('incrbyfloat','drawn',0.5)",
        "redis.call('select',7) redis.call('set','seven',1) return redis.call('select',0)",
        "redis.call('set','kept',1) redis.pcall('incr','kept','too','many') return 1",
        "redis.set_repl(redis.REPL_NONE) return redis.call('del','not-there')",
        "redis.call('xadd','sx','*','a',1) redis.call('rpush','sl',1,2,3) return redis.call('lpop','sl')",
    ] {
        let reply = client.cmd(&["EVAL", script, "0"]);
        assert!(!reply.is_error(), "{script}: {reply}");
    }
    client.ask("MULTI");
    client.cmd(&["EVAL", "return redis.call('incr',KEYS[1])", "1", "in-multi"]);
    client.ask("INCR in-multi");
    client.ask("EXEC");
    let failing = client.cmd(&["EVAL", "redis.call('incr','half') error('stop')", "0"]);
    assert!(failing.is_error(), "what was done before an error stays");
}

/// Those that redis-server 7.0 does not know.
fn newer(client: &mut Client) {
    for line in [
        "HSET hh a 1 b 2.5 c 3",
        "HEXPIRE hh 1000 FIELDS 2 a b",
        "HINCRBYFLOAT hh b 1",
        "HGETEX hh EX 500 FIELDS 1 c",
        "HSETEX hh EX 700 FIELDS 2 d 4 e 5",
        "HGETDEL hh FIELDS 1 d",
        "HPERSIST hh FIELDS 1 a",
        "MSETEX 2 k1 v1 k2 v2 EX 1000",
        "DELIFEQ k1 v1",
    ] {
        let reply = client.ask(line);
        assert!(!reply.is_error(), "{line}: {reply}");
    }
}

#[test]
fn everything_is_there_after_a_crash() {
    for (threads, policy) in [("1", "always"), ("2", "always"), ("4", "everysec"), ("2", "no")] {
        let args = [LOGGED, &["--threads", threads, "--appendfsync", policy]].concat();
        let mut server = Server::larder(&args);
        let mut client = server.client();
        fill(&mut client);
        fickle(&mut client);
        scripted(&mut client);
        newer(&mut client);
        let (before, streams) = (digest(&server), of_streams(&server));
        if policy != "always" {
            assert_eq!(client.ask("WAITAOF 1 0 0"), Value::Array(vec![Value::Int(1), Value::Int(0)]));
        }
        server.kill();
        assert!(server.start_again(&args));
        assert_eq!(digest(&server), before, "{threads} threads, {policy}");
        assert_eq!(of_streams(&server), streams, "{threads} threads, {policy}");
        assert_eq!(server.client().ask("DEBUG LOADAOF"), ok());
        assert_eq!(digest(&server), before, "{threads} threads, {policy}, again");
    }
}

/// What a server tells of the streams that have groups.
fn of_streams(server: &Server) -> Vec<Vec<Value>> {
    ["fs", "stream:long", "stream:emptied", "stream:groups"]
        .map(|key| stream_description(&mut server.client(), key))
        .to_vec()
}

#[test]
fn deliveries_to_those_who_wait_are_there_after_a_crash() {
    let args = [LOGGED, &["--threads", "2", "--appendfsync", "always"]].concat();
    let mut server = Server::larder(&args);
    let (mut client, mut waiting) = (server.client(), server.client());
    client.ask("XGROUP CREATE fs g 0 MKSTREAM");
    for i in 0..3 {
        waiting.send(&["XREADGROUP", "GROUP", "g", "c", "BLOCK", "0", "STREAMS", "fs", ">"]);
        wait_for(&mut client, "INFO clients", "blocked_clients:1");
        client.ask(&format!("XADD fs * n {i}"));
        assert!(!waiting.read().expect("it is served").is_error());
    }
    let before = stream_description(&mut client, "fs");
    assert_eq!(client.ask("XPENDING fs g").items()[0], Value::Int(3));
    server.kill();
    assert!(server.start_again(&args));
    assert_eq!(stream_description(&mut server.client(), "fs"), before);
}

/// Commands rebuild a large sorted set from a small one, and a small one has no score of -0: in redis-server as well, a
/// base of commands may lose that sign.
fn forget_zeros(client: &mut Client, preamble: &str) {
    if preamble == "no" {
        assert_eq!(client.ask("DEL zeros").int(), 1);
    }
}

#[test]
fn redis_reads_it_and_finds_nothing_wrong() {
    for preamble in ["yes", "no"] {
        let args = [LOGGED, &["--aof-use-rdb-preamble", preamble]].concat();
        let mut server = Server::larder(&args);
        let mut client = server.client();
        fill(&mut client);
        forget_zeros(&mut client, preamble);
        assert!(client.ask("BGREWRITEAOF").text().contains("started"));
        wait_for(&mut client, "INFO persistence", "aof_rewrite_in_progress:0");
        fickle(&mut client);
        let (before, streams) = (digest(&server), of_streams(&server));
        assert!(server.stop().success());
        let manifest = server.dir().join("appendonlydir/appendonly.aof.manifest");
        let check = tool("redis-check-aof", &manifest);
        assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stdout));
        let mut redis = Server::redis(&[]);
        redis.kill();
        carry("appendonlydir", server.dir(), redis.dir());
        assert!(redis.start_again(&["--appendonly", "yes", "--enable-debug-command", "yes"]));
        assert_eq!(digest(&redis), before, "preamble {preamble}");
        assert_eq!(of_streams(&redis), streams, "preamble {preamble}");
    }
}

#[test]
fn it_reads_what_redis_has_written() {
    for preamble in ["yes", "no"] {
        let theirs =
            ["--appendonly", "yes", "--enable-debug-command", "yes", "--aof-use-rdb-preamble", preamble];
        let mut redis = Server::redis(&theirs);
        let mut client = redis.client();
        fill(&mut client);
        forget_zeros(&mut client, preamble);
        client.ask("BGREWRITEAOF");
        wait_for(&mut client, "INFO persistence", "aof_rewrite_in_progress:0");
        fickle(&mut client);
        let (before, streams) = (digest(&redis), of_streams(&redis));
        assert!(redis.stop().success());
        let mut server = Server::larder(&[]);
        server.kill();
        carry("appendonlydir", redis.dir(), server.dir());
        assert!(server.start_again(LOGGED));
        assert_eq!(digest(&server), before, "preamble {preamble}");
        assert_eq!(of_streams(&server), streams, "preamble {preamble}");
    }
}

#[test]
fn a_rewrite_under_load_loses_nothing() {
    for threads in ["1", "2", "4"] {
        let args = [LOGGED, &["--threads", threads]].concat();
        let mut server = Server::larder(&args);
        let mut client = server.client();
        let writers: Vec<_> = (0..3)
            .map(|writer| {
                let mut client = server.client();
                std::thread::spawn(move || {
                    for i in 0..6000 {
                        client.cmd(&["RPUSH", &format!("list:{writer}:{}", i % 50), &i.to_string()]);
                        client.cmd(&["INCR", "count"]);
                        client.cmd(&["HSET", &format!("hash:{}", i % 7), &format!("{writer}:{i}"), "x"]);
                    }
                })
            })
            .collect();
        for _ in 0..4 {
            assert!(client.ask("BGREWRITEAOF").text().contains("started"));
            wait_for(&mut client, "INFO persistence", "aof_rewrite_in_progress:0");
        }
        writers.into_iter().for_each(|writer| writer.join().expect("the writer ends"));
        assert_eq!(client.ask("GET count").text(), "18000");
        let before = digest(&server);
        assert_eq!(client.ask("WAITAOF 1 0 0"), Value::Array(vec![Value::Int(1), Value::Int(0)]));
        server.kill();
        assert!(server.start_again(&args));
        assert_eq!(digest(&server), before, "{threads} threads");
        let files = fs::read_dir(server.dir().join("appendonlydir")).expect("it is there").count();
        assert_eq!(files, 3, "a base, an increment and the manifest");
    }
}

#[test]
fn it_can_be_switched_on_and_off() {
    let mut server = Server::larder(&[]);
    let mut client = server.client();
    client.ask("SET before 1");
    assert!(client.ask("WAITAOF 1 0 0").is_error());
    assert_eq!(client.ask("CONFIG SET appendonly yes"), ok());
    wait_for(&mut client, "INFO persistence", "aof_rewrites:1");
    client.ask("SET during 1");
    assert_eq!(client.ask("CONFIG SET appendonly no"), ok());
    wait_for(&mut client, "INFO persistence", "aof_enabled:0");
    // The log is closed by another thread; a second rewrite passes only after that.
    client.ask("BGSAVE");
    wait_for(&mut client, "INFO persistence", "rdb_saves:1");
    wait_for(&mut client, "INFO persistence", "rdb_bgsave_in_progress:0");
    client.ask("SET after 1");
    server.kill();
    assert!(server.start_again(LOGGED));
    assert_eq!(server.client().ask("EXISTS before during after"), Value::Int(2));
}

#[test]
fn switched_off_and_on_at_once_it_goes_on() {
    let mut server = Server::larder(LOGGED);
    let mut client = server.client();
    for _ in 0..20 {
        client.send(&["CONFIG", "SET", "appendonly", "no"]);
        client.send(&["CONFIG", "SET", "appendonly", "yes"]);
        assert!((0..2).all(|_| client.read().is_ok_and(|reply| reply == ok())));
    }
    // The thread that closes the log saves, too: it has come to the end of its work.
    client.ask("BGSAVE SCHEDULE");
    wait_for(&mut client, "INFO persistence", "rdb_saves:1");
    wait_for(&mut client, "INFO persistence", "rdb_bgsave_in_progress:0");
    assert!(client.ask("INFO persistence").text().contains("aof_enabled:1"));
    wait_until_rewritten(&mut client);
    client.ask("SET after 1");
    server.kill();
    assert!(server.start_again(LOGGED));
    assert_eq!(server.client().ask("EXISTS after"), Value::Int(1));
}

#[test]
fn it_is_rewritten_when_it_has_grown() {
    let args =
        [LOGGED, &["--auto-aof-rewrite-min-size", "10kb", "--auto-aof-rewrite-percentage", "100"]].concat();
    let server = Server::larder(&args);
    let mut client = server.client();
    let mut written = 0;
    while !client.ask("INFO persistence").text().contains("aof_rewrites:1") {
        assert!(written < 100_000, "a log of 10 MB is rewritten");
        client.cmd(&["SET", "one", &format!("{written:0100}")]);
        written += 1;
    }
    wait_for(&mut client, "INFO persistence", "aof_rewrite_in_progress:0");
    let base = server.dir().join("appendonlydir/appendonly.aof.2.base.rdb");
    assert!(fs::metadata(base).expect("it is there").len() < 1000);
    assert!(client.ask("STRLEN one") == Value::Int(100));
}

#[test]
fn times_are_noted_on_demand() {
    let mut server = Server::larder(&[LOGGED, &["--aof-timestamp-enabled", "yes"]].concat());
    server.client().ask("SET a 1");
    assert!(server.stop().success());
    let log = fs::read(server.dir().join("appendonlydir/appendonly.aof.1.incr.aof")).expect("it is there");
    assert!(log.starts_with(b"#TS:"));
    assert!(server.start_again(LOGGED));
    assert_eq!(server.client().ask("GET a").text(), "1");
}

#[test]
fn waiting_for_the_disk() {
    let server = Server::larder(&[LOGGED, &["--appendfsync", "no"]].concat());
    let mut client = server.client();
    let pair = |a, b| Value::Array(vec![Value::Int(a), Value::Int(b)]);
    assert_eq!(client.ask("WAITAOF 0 0 0"), pair(1, 0));
    client.ask("SET a 1");
    assert_eq!(client.ask("WAITAOF 1 0 0"), pair(1, 0));
    assert_eq!(client.ask("WAITAOF 1 1 20"), pair(1, 0));
    assert!(client.ask("WAITAOF 2 0 0").is_error());
}

#[test]
fn an_old_file_is_adopted() {
    let mut server = Server::larder(&[]);
    server.kill();
    let old = "*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n1\r\n";
    fs::write(server.dir().join("appendonly.aof"), old).expect("the directory is writable");
    assert!(server.start_again(LOGGED));
    assert_eq!(server.client().ask("GET a").text(), "1");
    assert!(!server.dir().join("appendonly.aof").exists());
    server.client().ask("SET b 2");
    assert!(server.stop().success());
    assert!(server.start_again(LOGGED));
    assert_eq!(server.client().ask("MGET a b").items().len(), 2);
    assert_eq!(server.client().ask("DBSIZE"), Value::Int(2));
}

/// A process that is killed when a rewrite has written the manifest, but has not yet deleted the old files, leaves them as history. A new
/// file must not get the name of one of these: it would begin with what they hold, or be deleted with them.
#[test]
fn files_of_history_are_neither_read_nor_taken_for_new_ones() {
    let yes = ["--appendonly", "yes"];
    for is_on_at_start in [true, false] {
        let mut server = Server::larder(&yes);
        let mut client = server.client();
        client.ask("SET base 1");
        client.ask("BGREWRITEAOF");
        wait_for(&mut client, "INFO persistence", "aof_rewrites:1");
        server.kill();
        let dir = server.dir().join("appendonlydir");
        let name = |rest: &str| dir.join(format!("appendonly.aof.{rest}"));
        fs::remove_file(name("2.incr.aof")).expect("the rewrite has made it");
        fs::copy(name("2.base.rdb"), name("1.base.rdb")).expect("the rewrite has made it");
        fs::write(name("1.incr.aof"), "*3\r\n$3\r\nSET\r\n$3\r\nold\r\n$1\r\n1\r\n").expect("it is writable");
        let lines = ["2.base.rdb seq 2 type b", "1.base.rdb seq 1 type h", "1.incr.aof seq 1 type h"];
        let manifest: String = lines.map(|line| format!("file appendonly.aof.{line}\n")).concat();
        fs::write(name("manifest"), manifest).expect("it is writable");

        assert!(
            server.start_again(if is_on_at_start { &yes } else { &["--appendonly", "no"] }),
            "{}",
            server.log()
        );
        let mut client = server.client();
        if !is_on_at_start {
            assert_eq!(client.ask("CONFIG SET appendonly yes"), ok());
            wait_for(&mut client, "INFO persistence", "aof_rewrites:1");
        }
        for old in ["1.base.rdb", "1.incr.aof"] {
            assert!(!name(old).exists(), "{old}, on at the start: {is_on_at_start}");
        }
        assert_eq!(client.ask("SET new 1"), ok());
        server.kill();
        assert!(server.start_again(&yes), "on at the start: {is_on_at_start}\n{}", server.log());
        let found = server.client().ask("EXISTS base old new").int();
        let base = server.client().ask("EXISTS base").int();
        assert_eq!((base, found), (is_on_at_start.into(), 1 + i64::from(is_on_at_start)));
    }
}

/// CONFIG SET dir while the file is written again: that rewrite, and what is logged, stay where it began. The next one moves all.
#[test]
fn a_rewrite_ends_in_the_folder_where_it_began() {
    let allowed = ["--enable-debug-command", "yes", "--enable-protected-configs", "yes"];
    let args = [&["--appendonly", "yes", "--appendfsync", "always"][..], &allowed].concat();
    let mut server = Server::larder(&args);
    let mut client = server.client();
    let other = server.dir().join("other");
    fs::create_dir(&other).unwrap();
    let move_there = format!("CONFIG SET dir {}", other.display());
    client.ask("DEBUG POPULATE 300 p 100");
    client.ask("CONFIG SET rdb-key-save-delay 2000");
    client.ask("BGREWRITEAOF");
    server.wait_for_log("on background rewrite");
    assert_eq!(client.ask(&move_there), ok());
    client.ask("SET during 1");
    wait_until_rewritten(&mut client);
    assert!(client.ask("INFO persistence").text().contains("aof_last_bgrewrite_status:ok"));
    client.ask("SET after 1");
    server.kill();
    assert_eq!(fs::read_dir(&other).unwrap().count(), 0);
    assert!(server.start_again(&args));
    let mut client = server.client();
    assert_eq!(client.ask("DBSIZE").int(), 302);
    assert_eq!(client.ask(&move_there), ok());
    client.ask("SET moved 1");
    client.ask("BGREWRITEAOF");
    wait_until_rewritten(&mut client);
    client.ask("SET last 1");
    server.kill();
    let there = other.display().to_string();
    assert!(server.start_again(&[&args[..], &["--dir", &there]].concat()));
    assert_eq!(server.client().ask("DBSIZE").int(), 304);
}
