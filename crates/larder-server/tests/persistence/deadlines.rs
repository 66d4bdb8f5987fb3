//! Deadlines and files: what a log says is done again as it was done, whatever the clock says when it is read.

use crate::ok;
use larder_testkit::{Client, Kind, Server, Value};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const LOGGED: &[&str] = &["--appendonly", "yes", "--appendfsync", "always"];

/// Each line works on keys of its own. `D` is a time to live that is over when the log is read, `L` one that is not.
const KEYS: &[&str] = &[
    "SET a1 41 PX D; PEXPIRE a1 L",
    "SET a2 41 PX D; INCR a2; PERSIST a2",
    "INCR a3; PEXPIRE a3 D; INCR a3",
    "SET a4 v PX D; RENAME a4 a4b",
    "SET a5 v PX D; RENAMENX a5 a5b; PERSIST a5b; APPEND a5b w",
    "SADD a6 a; PEXPIRE a6 D; COPY a6 a6b REPLACE; PERSIST a6b; SADD a6b b",
    "RPUSH a7 a b; PEXPIRE a7 D; LSET a7 0 c; LINSERT a7 BEFORE b x; LPUSHX a7 z; PERSIST a7",
    "RPUSH a8 a b; PEXPIRE a8 D; LMOVE a8 a8b LEFT RIGHT; RPOPLPUSH a8 a8b",
    "XADD a9 1-1 f v; PEXPIRE a9 D; XGROUP CREATE a9 g 0; XREADGROUP GROUP g c STREAMS a9 >; XSETID a9 5-5; PERSIST a9",
    "SET b1 v PX D; GETEX b1 PERSIST",
    "SET b2 v PX D; GETEX b2 PX L",
    "SET b3 v PX L; GETEX b3 PX D",
    "SET b4 v PX D; SET b4 w KEEPTTL; APPEND b4 x",
    "SET b5 v PX D; SET b5 w XX",
    "SET b6 v PX D; SET b6 w NX",
    "SET b7 v PX D; GETSET b7 w",
    "SET b8 v PX D; GETDEL b8; SETNX b8 x",
    "SET b9 v PX D; SETRANGE b9 2 xyz; SETBIT b9 3 1; PERSIST b9",
    "SET c1 abc PX D; BITOP NOT c1b c1",
    "PFADD c2 a b; PEXPIRE c2 D; PFADD c2 c; PFMERGE c2b c2",
    "ZADD c3 1 a; PEXPIRE c3 D; ZADD c3 XX INCR 4 a; ZUNIONSTORE c3b 1 c3; ZRANGESTORE c3c c3 0 -1; PERSIST c3",
    "SADD c4 a b; PEXPIRE c4 D; SMOVE c4 c4b a; SUNIONSTORE c4c c4; SREM c4 b",
    "RPUSH c5 3 1 2; PEXPIRE c5 D; SORT c5 STORE c5b",
    "GEOADD c6 13 38 p; PEXPIRE c6 D; GEOSEARCHSTORE c6b c6 FROMLONLAT 13 38 BYRADIUS 9 km",
    "SET c7 v PX D; MOVE c7 1",
    "HSET c8 f 1; PEXPIRE c8 D; HINCRBY c8 f 4; HSETNX c8 g 1; PERSIST c8",
    "SET c9 v PX D; PEXPIRE c9 L GT; PEXPIRE c9 D LT",
    "SET d1 v PX D; PEXPIRE d1 L NX; PEXPIRE d1 L XX",
    "SET d2 v PX D; EXPIRE d2 -1; SET d2 w NX",
    "SET d3 v PX D; DEL d3; RPUSH d3 a",
    "SET d4 1 PX D; MULTI; INCR d4; RENAME d4 d4b; INCRBYFLOAT d4b 0.5; PERSIST d4b; EXEC",
    "SET d5 v PX D; MULTI; EXPIRE d5 1000; GET d5; EXEC",
    "SETEX d6 1000 v; PSETEX d6 D w; STRLEN d6",
    "MSET d7 1 d8 2; PEXPIRE d7 D; MSETNX d7 5 d9 6; MSET d7 7 d9 8",
    "XADD e1 1-1 f v; PEXPIRE e1 D; XTRIM e1 MAXLEN 0; XADD e1 2-* f w; PEXPIRE e1 L",
    "RPUSH e2 a b c; PEXPIRE e2 D; LTRIM e2 1 1; LREM e2 0 b; RPUSH e2 d",
    "SET e3 v PX D; PERSIST e3; EXPIRE e3 1000",
    "SADD e4 a b c; PEXPIRE e4 D; SINTERSTORE e4b e4 e4; SDIFFSTORE e4 e4b e4; SADD e4 z",
    "ZADD e5 1 a 2 b; PEXPIRE e5 D; ZPOPMIN e5; ZREMRANGEBYRANK e5 0 0; ZADD e5 9 z",
    "SET e6 v PX D; EVAL redis.call('rename',KEYS[1],KEYS[2])redis.call('persist',KEYS[2]) 2 e6 e6b",
];

/// The same for fields.
const FIELDS: &[&str] = &[
    "HSETEX f1 PX D FIELDS 2 a 1 b 2; HPERSIST f1 FIELDS 1 a",
    "HSETEX f2 PX D FIELDS 2 a 1 b 2; HPEXPIRE f2 L FIELDS 2 a c",
    "HSETEX f3 PX D FIELDS 1 a 1; HSETEX f3 KEEPTTL FIELDS 1 a 2; HSET f3 z 1",
    "HSETEX f4 PX D FIELDS 2 a 1 b 2; HGETEX f4 PERSIST FIELDS 2 a z",
    "HSETEX f5 PX D FIELDS 2 a 1 b 2; HGETEX f5 PX L FIELDS 2 a z",
    "HSETEX f6 PX L FIELDS 2 a 1 b 2; HGETEX f6 PX D FIELDS 1 a",
    "HSETEX f7 PX D FIELDS 1 a 1; HSET f7 a 2",
    "HSETEX f8 PX D FIELDS 1 a 1; HINCRBY f8 a 4; HINCRBY f8 b 4; HPERSIST f8 FIELDS 1 a",
    "HSETEX f9 PX D FIELDS 1 a 1; HINCRBYFLOAT f9 a 0.5; HPERSIST f9 FIELDS 1 a",
    "HSETEX g1 PX D FIELDS 1 a 1; HSETNX g1 a 2; HSETNX g1 b 2; HPERSIST g1 FIELDS 1 a",
    "HSETEX g2 PX D FIELDS 1 a 1; HGETDEL g2 FIELDS 2 a b; HSET g2 c 1",
    "HSETEX g3 PX D FIELDS 2 a 1 b 1; HDEL g3 a; HPERSIST g3 FIELDS 2 a b",
    "HSETEX g4 PX D FIELDS 2 a 1 b 1; COPY g4 g4b; HPERSIST g4b FIELDS 1 a; RENAME g4 g4c; HPERSIST g4c FIELDS 1 b",
    "HSETEX g5 FXX PX D FIELDS 1 a 1; HSETEX g5 FNX PX D FIELDS 1 a 1; HSETEX g5 FXX PX L FIELDS 1 a 2",
    "HSETEX g6 PX D FIELDS 1 a 1; HSETEX g6 FNX FIELDS 1 a 2",
    "HSETEX g7 PX D FIELDS 1 a 1; HEXPIRE g7 0 FIELDS 1 a; HSETNX g7 a 5",
    "HSET g8 a 1 b 2; HPEXPIRE g8 D FIELDS 1 a; HPEXPIRE g8 L GT FIELDS 2 a b",
    "HSETEX g9 PX D FIELDS 1 a 1; SET g9b x",
    "HSETEX h1 PX L FIELDS 1 a 1; HGETEX h1 PXAT 5 FIELDS 1 a; HSETEX h1 PXAT 5 FIELDS 1 a 7",
];

/// What a client sees of the keys: names, values, and whether they, and their fields, expire.
fn state(client: &mut Client) -> BTreeMap<String, String> {
    let mut state = BTreeMap::new();
    for db in ["0", "1"] {
        client.cmd(&["SELECT", db]);
        for name in client.ask("KEYS *").items() {
            let name = name.text();
            let (kind, expires) =
                (client.ask(&format!("TYPE {name}")).text(), client.ask(&format!("PTTL {name}")).int() > 0);
            let question = match kind.as_str() {
                "string" => format!("GET {name}"),
                "list" => format!("LRANGE {name} 0 -1"),
                "set" => format!("SORT {name} ALPHA"),
                "zset" => format!("ZRANGE {name} 0 -1 WITHSCORES"),
                "stream" => format!("XINFO STREAM {name}"),
                _ => format!("HGETALL {name}"),
            };
            let reply = client.ask(&question);
            let value = match kind.as_str() {
                "hash" => fields(client, &name, &reply),
                // How it is packed is its own affair.
                "stream" => format!("{:?} {:?}", reply.items()[1], reply.items().last()),
                _ => format!("{reply:?}"),
            };
            // A hash without fields, or what has gone since the names were read, is no key.
            if !(kind == "none" || kind == "hash" && value.is_empty()) {
                state.insert(format!("{db}/{name}"), format!("{value} expires: {expires}"));
            }
        }
    }
    client.cmd(&["SELECT", "0"]);
    state
}

/// Fields and values in the order of their names; those that expire are marked.
fn fields(client: &mut Client, name: &str, reply: &Value) -> String {
    let mut fields: Vec<String> = Vec::new();
    for pair in reply.items().chunks(2) {
        let ttl = client.ask(&format!("HPTTL {name} FIELDS 1 {}", pair[0].text()));
        let mark = matches!(&ttl, Value::Array(items) if items[0].int() > 0);
        fields.push(format!("{}={}{}", pair[0].text(), pair[1].text(), if mark { "!" } else { "" }));
    }
    fields.sort();
    fields.join(" ")
}

/// An error says which command failed first.
fn run(client: &mut Client, lines: &[&str], deadline_ms: u128) -> Result<(), String> {
    for command in lines.iter().flat_map(|line| line.split("; ")) {
        let (short, long) = (deadline_ms.to_string(), "10000000".to_owned());
        let words: Vec<String> = command
            .split(' ')
            .map(|word| match word {
                "D" => short.clone(),
                "L" => long.clone(),
                word => word.to_owned(),
            })
            .collect();
        let reply = client.cmd(&words);
        if reply.is_error() {
            return Err(format!("{command}: {reply}"));
        }
    }
    Ok(())
}

/// Runs the lines in a server that is killed, and started again when the deadlines are over.
fn replayed(kind: Kind, lines: &[&str], args: &[&str]) -> BTreeMap<String, String> {
    let args = [&["--enable-debug-command", "yes"], LOGGED, args].concat();
    let mut deadline_ms = 700;
    loop {
        let mut server = Server::of(kind, &args);
        let mut client = server.client();
        let begin = Instant::now();
        let ran = run(&mut client, lines, deadline_ms);
        let took_ms = begin.elapsed().as_millis();
        server.kill();
        if took_ms + 50 < deadline_ms {
            ran.unwrap_or_else(|failure| panic!("{failure}"));
            std::thread::sleep(Duration::from_millis(deadline_ms as u64 + 20));
            assert!(server.start_again(&args), "{}", server.log());
            let state = state(&mut server.client());
            // It goes on being so when it is read once more.
            server.kill();
            assert!(server.start_again(&args), "{}", server.log());
            assert_eq!(self::state(&mut server.client()), state);
            return state;
        }
        // The machine is busy: nothing must expire before it is used.
        deadline_ms *= 3;
    }
}

#[test]
fn what_a_log_says_does_not_depend_on_when_it_is_read() {
    let larder = replayed(Kind::Larder, KEYS, &["--threads", "2"]);
    assert_eq!(larder, replayed(Kind::Redis, KEYS, &[]), "Redis");
    let all = [KEYS, FIELDS].concat();
    let larder = replayed(Kind::Larder, &all, &["--aof-use-rdb-preamble", "no"]);
    assert_eq!(larder, replayed(Kind::Valkey, &all, &[]), "Valkey");
}

/// What commands did with keys and fields whose time was over, but that were still there.
#[test]
fn what_had_expired_is_not_found_again() {
    let server_args = [LOGGED, &["--enable-debug-command", "yes"]].concat();
    let mut server = Server::larder(&server_args);
    let mut client = server.client();
    assert_eq!(client.ask("DEBUG SET-ACTIVE-EXPIRE 0"), ok());
    for i in 0..20 {
        client.cmd(&["SET", &format!("k{i}"), "5", "PX", "1"]);
        client.cmd(&["HSETEX", &format!("h{i}"), "PX", "1", "FIELDS", "2", "a", "5", "b", "6"]);
        // More than a change cleans up on its way.
        for field in 0..40 {
            client.cmd(&["HSETEX", &format!("h{i}"), "PX", "1", "FIELDS", "1", &format!("f{field}"), "5"]);
        }
        client.cmd(&["HSET", &format!("h{i}"), "keep", "1"]);
        client.cmd(&["HSETEX", &format!("e{i}"), "PX", "1", "FIELDS", "1", "a", "5"]);
    }
    client.ask("DEBUG SLEEP 0.01");
    for line in [
        "SET k0 w KEEPTTL",
        "SET k1 w NX",
        "SET k2 w XX",
        "INCR k3",
        "APPEND k4 x",
        "SETRANGE k5 2 x",
        "RENAMENX k6 other",
        "COPY h6 k7",
        "RPUSH k8 a",
        "EXPIRE k9 1000",
        "PERSIST k10",
        "GETEX k11 PERSIST",
        "MSETNX k12 1 new 2",
        "GETSET k13 v",
        "SETBIT k14 1 1",
        "HSETNX h0 a new",
        "HINCRBY h1 a 1",
        "HINCRBYFLOAT h2 a 1",
        "HSETEX h3 KEEPTTL FIELDS 1 a 1",
        "HSETEX h4 FNX FIELDS 1 a 1",
        "HEXPIRE h5 1000 FIELDS 3 a f39 keep",
        "HPERSIST h7 FIELDS 3 a f39 keep",
        "HGETEX h8 PERSIST FIELDS 3 a f39 keep",
        "HGETEX h9 EX 1000 FIELDS 3 a f39 keep",
        "HSET h10 a 1",
        "HDEL h11 a f39 keep",
        "HGETDEL h12 FIELDS 2 a keep",
        "RENAME h13 moved",
        "HSETNX e0 a 1",
        "HINCRBY e1 a 1",
        "HSETEX e2 KEEPTTL FIELDS 1 a 1",
        "HDEL e3 a",
        "SADD e3 a",
        "HEXPIRE e4 10 FIELDS 1 a",
        "RPUSH e4 a",
        "HSETEX e5 NX FIELDS 1 z 1",
    ] {
        client.ask(line);
    }
    // What cleans up in the background says so as well.
    client.ask("DEBUG SET-ACTIVE-EXPIRE 1");
    let deadline = Instant::now() + Duration::from_secs(30);
    while client.ask("EXISTS e6 e7 k15 k16").int() > 0 {
        assert!(Instant::now() < deadline, "nothing expires");
    }
    for line in ["RPUSH e6 a", "SET e7 x NX", "HSET k15 a b"] {
        assert!(!client.ask(line).is_error(), "{line}");
    }
    let before = state(&mut client);
    server.kill();
    assert!(server.start_again(&server_args), "{}", server.log());
    assert_eq!(state(&mut server.client()), before);
    assert!(!server.log().contains("CRITICAL"), "{}", server.log());
}

/// An RDB file alone is a picture of the past: what is over by now is left out. Below a log it is the state that the commands
/// found.
#[test]
fn files_without_a_log_are_loaded_without_what_is_over() {
    let fill = "SET a 1 PX 1; SET b 1; HSETEX h PX 1 FIELDS 2 f 1 g 1; HSET h keep 1; HSETEX all PX 1 FIELDS 2 f 1 g 2";
    let figures = |client: &mut Client| {
        let info = client.ask("INFO persistence").text();
        let loads = info.lines().filter(|line| line.starts_with("rdb_last_load")).map(str::to_owned);
        let mut figures: Vec<String> = loads.collect();
        figures.extend(["DBSIZE", "HLEN h", "EXISTS all"].map(|line| client.ask(line).to_string()));
        figures
    };
    let outcomes = [Kind::Larder, Kind::Valkey].map(|kind| {
        let mut server = Server::of(kind, &["--enable-debug-command", "yes"]);
        let mut client = server.client();
        client.ask("DEBUG SET-ACTIVE-EXPIRE 0");
        run(&mut client, &[fill], 1).unwrap();
        client.ask("DEBUG SLEEP 0.01");
        assert_eq!(client.ask("DEBUG RELOAD"), ok());
        let reloaded = figures(&mut client);
        run(&mut client, &[fill], 1).unwrap();
        client.ask("DEBUG SLEEP 0.01");
        assert_eq!(client.ask("SAVE"), ok());
        server.kill();
        assert!(server.start_again(&[]));
        (reloaded, figures(&mut server.client()))
    });
    assert_eq!(outcomes[0], outcomes[1]);
    for preamble in ["yes", "no"] {
        let args = [LOGGED, &["--enable-debug-command", "yes", "--aof-use-rdb-preamble", preamble]].concat();
        let server = Server::larder(&args);
        let mut client = server.client();
        client.ask("DEBUG SET-ACTIVE-EXPIRE 0");
        run(&mut client, &[fill], 1).unwrap();
        client.ask("DEBUG SLEEP 0.01");
        client.ask("BGREWRITEAOF");
        crate::wait_for(&mut client, "INFO persistence", "aof_rewrites:1");
        assert_eq!(client.ask("DEBUG LOADAOF"), ok());
        assert_eq!(client.ask("DBSIZE"), Value::Int(4), "nothing is left out");
        assert_eq!(client.ask("HLEN h"), Value::Int(1));
        assert_eq!(client.ask("GET a"), Value::NullBulk);
    }
}
