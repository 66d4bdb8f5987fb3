//! Values that nobody uses are compressed, and no client notices but by the memory.

use larder_testkit::{Client, Server, Value};
use std::time::{Duration, Instant};

/// A figure of INFO.
fn figure(client: &mut Client, section: &str, name: &str) -> String {
    let text = client.ask(&format!("INFO {section}")).text();
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name}:")));
    line.unwrap_or_else(|| panic!("{name} is in {section}")).to_owned()
}

const COMPRESSING: [&str; 6] = ["--compress-idle-time", "1", "--save", "", "--enable-debug-command", "yes"];

/// Waits until at least so many values are compressed, or none if that is 0.
fn wait_for_cold(client: &mut Client, count: u64) {
    let deadline = Instant::now() + Duration::from_secs(240);
    loop {
        let values: u64 = figure(client, "memory", "cold_values").parse().expect("a number");
        if values >= count && (count > 0 || values == 0) {
            return;
        }
        assert!(Instant::now() < deadline, "{values} values are compressed");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What texts are made of, as Lua: a short one of a number, and the beginning of a document.
const TEXTS: &str = "
        local words = {'alpha', 'beta', 'gamma', 'delta', 'epsilon'}
        local function text(i) return words[i % 5 + 1] .. '-' .. i .. '-' .. words[i % 3 + 1] end
        local function document(i)
            local json = '{\"id\":' .. i
            for j = 1, 12 do json = json .. ',\"field' .. j .. '\":\"' .. text(i * j) .. '\"' end
            return json
        end";

/// Values of every type that is compressed, a thousand of each; a hundred lists in several blocks, and one that is compressed block by
/// block.
fn fill(client: &mut Client) {
    let script = "
        for i = 1, 1000 do
            local json = document(i)
            redis.call('SET', 'session:' .. i, json .. '}')
            redis.call('SET', 'short:' .. i, 'a record of ' .. text(i) .. ' and ' .. text(i * 7) .. ', with a mark: ' .. text(i * 3) .. ', and an end: ' .. i)
            redis.call('RPUSH', 'big', json)
            redis.call('XADD', 'log', i .. '-0', 'level', 'info', 'text', text(i), 'more', text(i * 7))
            for j = 0, 9 do redis.call('RPUSH', 'recent:' .. i % 100, text(i * j) .. ' was seen by ' .. text(i + j)) end
            for j = 1, 10 do
                redis.call('HSET', 'profile:' .. i, 'name' .. j, text(i + j))
                redis.call('RPUSH', 'list:' .. i, text(i * j))
                redis.call('SADD', 'set:' .. i, text(i * j))
                redis.call('ZADD', 'zset:' .. i, i * j, text(i + j))
            end
        end";
    client.cmd(&["EVAL", &format!("{TEXTS}{script}"), "0"]);
}

/// Hashes, sets and sorted sets that are too large for a record, 128 of each.
fn fill_with_larger(client: &mut Client) {
    let script = "
        for i = 1, 1000 do
            local json = document(i)
            redis.call('HSET', 'doc:' .. i % 128, 'id:' .. i, json .. '}')
            for j = 1, 6 do
                redis.call('SADD', 'group:' .. i % 128, 'a member of it: ' .. text(i * j))
                redis.call('ZADD', 'board:' .. i % 128, i * j / 8, 'a player: ' .. text(i + j * 7))
            end
        end";
    client.cmd(&["EVAL", &format!("{TEXTS}{script}"), "0"]);
}

#[test]
fn values_of_large_hashes_are_compressed_one_by_one() {
    let server = Server::larder(&COMPRESSING);
    let mut client = server.client();
    client.ask("CONFIG SET compress-idle-time 0");
    let script = "
        for i = 1, 3000 do redis.call('HSET', 'users', 'id:' .. i, document(i) .. '}') end
        redis.call('HSET', 'sessions', 'a', document(1), 'b', document(2) .. string.rep('-', 300))
        redis.call('HEXPIRE', 'sessions', 10000, 'FIELDS', 1, 'a')";
    client.cmd(&["EVAL", &format!("{TEXTS}{script}"), "0"]);
    let digest = client.ask("DEBUG DIGEST");
    let dump = client.cmd(&["DUMP", "users"]);
    let value = client.ask("HGET users id:7");
    let usage = |client: &mut Client| client.ask("MEMORY USAGE users").int();
    let before = usage(&mut client);
    client.ask("CONFIG SET compress-idle-time 1");
    wait_for_cold(&mut client, 3002);
    let after = usage(&mut client);
    assert!(after * 2 < before, "{before} bytes before, {after} after");
    assert_eq!(client.ask("HGET users id:7"), value);
    assert_eq!(client.ask("HSTRLEN users id:7").int() as usize, value.text().len());
    assert_eq!(client.ask("HKEYS users").items().len(), 3000);
    assert_eq!(client.ask("DEBUG DIGEST"), digest);
    assert_eq!(client.cmd(&["DUMP", "users"]), dump);
    // Those who copied it have left all as it is; one value was read.
    assert_eq!(usage(&mut client), after);
    client.ask("COPY users others");
    client.ask("HSET others id:1 changed");
    assert_eq!(client.ask("HGET users id:1"), client.ask("HMGET users id:1").items()[0]);
    assert_eq!(client.ask("HINCRBY others id:1000000 5").int(), 5);
    assert_eq!(client.ask("HDEL users id:3 id:4").int(), 2);
    assert!((1..=10_000).contains(&client.ask("HTTL sessions FIELDS 1 a").items()[0].int()));
    client.ask("FLUSHALL");
    wait_for_cold(&mut client, 0);
    assert_eq!(figure(&mut client, "memory", "cold_dictionaries"), "0");
}

#[test]
fn segments_of_large_sets_and_hashes_are_compressed_one_by_one() {
    let server = Server::larder(&COMPRESSING);
    let mut client = server.client();
    client.ask("CONFIG SET compress-idle-time 0");
    let script = "
        local function url(i) return 'https://www.example.com/products/' .. i .. '/page.html' end
        for i = 1, 20000 do
            redis.call('SADD', 'visited', url(i))
            redis.call('HSET', 'views', url(i), i)
        end
        redis.call('SADD', 'visited', 1, 2, 3)
        redis.call('HPEXPIREAT', 'views', 99999999999999, 'FIELDS', 1, url(7))";
    client.cmd(&["EVAL", script, "0"]);
    let digest = client.ask("DEBUG DIGEST");
    let dumps = ["visited", "views"].map(|key| client.cmd(&["DUMP", key]));
    let usage =
        |client: &mut Client| ["visited", "views"].map(|key| client.cmd(&["MEMORY", "USAGE", key]).int());
    let before = usage(&mut client);
    client.ask("CONFIG SET compress-idle-time 1");
    wait_for_cold(&mut client, 400);
    let deadline = Instant::now() + Duration::from_secs(240);
    let small = loop {
        let after = usage(&mut client);
        if (0..2).all(|at| after[at] * 2 < before[at]) {
            break after;
        }
        assert!(Instant::now() < deadline, "{before:?} bytes before, {after:?} after");
        std::thread::sleep(Duration::from_millis(20));
    };
    // Who copies or reads all of them leaves them as they are.
    assert_eq!(client.ask("DEBUG DIGEST"), digest);
    assert_eq!(["visited", "views"].map(|key| client.cmd(&["DUMP", key])), dumps);
    assert_eq!(client.ask("SMEMBERS visited").items().len(), 20_003);
    assert_eq!(client.ask("HGETALL views").items().len(), 40_000);
    let after = usage(&mut client);
    assert!((0..2).all(|at| after[at] <= small[at]), "{small:?} bytes before, {after:?} after");
    let url = |at: usize| format!("https://www.example.com/products/{at}/page.html");
    assert_eq!(client.cmd(&["SISMEMBER", "visited", &url(77)]).int(), 1);
    assert_eq!(client.cmd(&["SISMEMBER", "visited", &url(20_001)]).int(), 0);
    assert_eq!(client.cmd(&["HGET", "views", &url(77)]).text(), "77");
    assert_eq!(
        client.cmd(&["HPEXPIRETIME", "views", "FIELDS", "1", &url(7)]).items()[0].int(),
        99_999_999_999_999
    );
    assert_eq!(client.cmd(&["SREM", "visited", &url(5), &url(6), "1"]).int(), 3);
    assert_eq!(client.cmd(&["HINCRBY", "views", &url(9), "1"]).int(), 10);
    assert_eq!(client.ask("SCARD visited").int(), 20_000);
    client.ask("COPY visited others");
    assert_eq!(client.ask("SDIFFSTORE none visited others").int(), 0);
    client.ask("DEBUG RELOAD");
    assert_eq!(client.ask("SDIFFSTORE none visited others").int(), 0);
    assert_eq!(client.cmd(&["HGET", "views", &url(9)]).text(), "10");
}

#[test]
fn long_strings_are_compressed_up_to_a_megabyte() {
    let server = Server::larder(&COMPRESSING);
    let mut client = server.client();
    let text = |len: usize| {
        let mut text: String = (0..len / 8).map(|at| format!("row {at}; ")).collect();
        text.truncate(len);
        text
    };
    let lens = [60_000, 66_000, 300_000, 1 << 20, (1 << 20) + 1];
    // The classes need samples.
    (0..100).for_each(|at| drop(client.cmd(&["SET", &format!("page:few:{at}"), &text(5000 + at)])));
    for len in lens {
        client.cmd(&["SET", &format!("page:{len}"), &text(len)]);
    }
    wait_for_cold(&mut client, 104);
    for len in lens {
        let (key, text) = (format!("page:{len}"), text(len));
        let ask = |client: &mut Client, command: &str| client.cmd(&[command, &key]);
        assert_eq!(ask(&mut client, "STRLEN").int() as usize, len);
        let used = client.cmd(&["MEMORY", "USAGE", &key]).int() as usize;
        assert_eq!(used * 2 < len, len <= 1 << 20, "{len} bytes take {used}");
        assert_eq!(client.cmd(&["GETRANGE", &key, "55000", "55999"]).text(), text[55_000..56_000]);
        assert_eq!(client.cmd(&["APPEND", &key, "and more"]).int() as usize, len + 8);
        assert_eq!(ask(&mut client, "GET").text(), text + "and more");
    }
}

#[test]
fn many_compressed_values_are_read_apart() {
    let server = Server::larder(&COMPRESSING);
    let mut client = server.client();
    client.ask("CONFIG SET compress-idle-time 0");
    let text = |at: usize| format!("row {at}; ").repeat(3000);
    (0..100).for_each(|at| drop(client.cmd(&["SET", &format!("page:{at}"), &text(at)])));
    client.ask("LPUSH page:list a");
    client.ask("SET page:short b");
    client.ask("CONFIG SET compress-idle-time 1");
    wait_for_cold(&mut client, 100);
    // Whoever reads now would bring back what is read twice.
    client.ask("CONFIG SET compress-idle-time 10000");
    let names: Vec<String> = (0..100).rev().map(|at| format!("page:{at}")).collect();
    let mut words = vec!["MGET", "page:list", "page:short", "none"];
    words.extend(names.iter().map(|name| &name[..]));
    let hits =
        |client: &mut Client| figure(client, "stats", "keyspace_hits").parse::<u64>().expect("a number");
    let before = hits(&mut client);
    let is_cold = |client: &mut Client, at: usize| {
        client.cmd(&["MEMORY", "USAGE", &format!("page:{at}")]).int() as usize * 4 < text(at).len()
    };
    for left in [40, 0] {
        let reply = client.cmd(&words);
        let items = reply.items();
        assert_eq!(
            (&items[0], &items[1], &items[2]),
            (&Value::NullBulk, &Value::Bulk("b".into()), &Value::NullBulk)
        );
        assert!((0..100).all(|at| items[3 + at].text() == text(99 - at)));
        // Those of the first megabyte come back, since they were written within the window. The others were read by another thread and stay.
        assert!((0..100).filter(|&at| is_cold(&mut client, at)).count() > left);
    }
    assert_eq!(hits(&mut client), before + 2 * 102);
    assert!(client.ask("INFO commandstats").text().contains("cmdstat_mget:calls=2,"));
    // In a transaction and in a script they are read where they are.
    client.ask("MULTI");
    client.cmd(&words);
    assert_eq!(client.ask("EXEC").items()[0].items().len(), 103);
    let mut script = vec!["EVAL", "return #redis.call('MGET', unpack(KEYS))", "103"];
    script.extend(&words[1..]);
    assert_eq!(client.cmd(&script).int(), 103);
}

fn encodings(client: &mut Client) -> Vec<String> {
    [
        "session:7",
        "profile:7",
        "list:7",
        "set:7",
        "zset:7",
        "short:7",
        "recent:7",
        "big",
        "doc:7",
        "group:7",
        "board:7",
    ]
    .map(|key| client.ask(&format!("OBJECT ENCODING {key}")).text())
    .to_vec()
}

#[test]
fn all_values_are_as_before_and_take_less_memory() {
    let server = Server::larder(&COMPRESSING);
    let mut client = server.client();
    client.ask("CONFIG SET compress-idle-time 0");
    fill(&mut client);
    fill_with_larger(&mut client);
    let plain = Server::larder(&["--save", "", "--enable-debug-command", "yes"]);
    let mut known = plain.client();
    fill(&mut known);
    fill_with_larger(&mut known);
    let memory = |client: &mut Client| {
        figure(client, "memory", "used_memory_dataset").parse::<u64>().expect("a number")
    };
    let before = memory(&mut client);
    client.ask("CONFIG SET compress-idle-time 1");
    wait_for_cold(&mut client, 5984);
    let after = memory(&mut client);
    assert!(after * 4 < before * 3, "{before} bytes before, {after} after");
    assert_eq!(encodings(&mut client), encodings(&mut known));
    assert!(client.ask("MEMORY USAGE session:9").int() * 2 < known.ask("MEMORY USAGE session:9").int());
    for line in [
        "INFO keysizes",
        "STRLEN session:5",
        "STRLEN short:5",
        "GET short:6",
        "LRANGE recent:5 0 -1",
        "LLEN recent:6",
        "LINDEX recent:7 55",
        "LINDEX big 500",
        "LRANGE big 300 320",
        "XLEN log",
        "XRANGE log 300 500",
        "XREVRANGE log + - COUNT 5",
        "XRANGE log 555-0 555-0",
        "XREAD COUNT 3 STREAMS log 700",
        "TYPE profile:5",
        "GETRANGE session:5 3 40",
        "HMGET profile:5 name1 name9 none",
        "HGETALL profile:6",
        "LRANGE list:5 0 -1",
        "SMEMBERS set:5",
        "SINTER set:5 set:6",
        "ZRANGE zset:5 0 -1 WITHSCORES",
        "ZRANGEBYSCORE zset:6 10 40",
        "MGET session:1 session:2 profile:1",
        "SORT list:8 ALPHA",
        "HGET doc:3 id:131",
        "HGETALL doc:4",
        "HSCAN doc:5 0 COUNT 100",
        "SISMEMBER group:3 none",
        "SMEMBERS group:4",
        "ZRANK board:3 none",
        "ZRANGE board:4 0 -1 WITHSCORES",
        "ZRANGEBYSCORE board:5 10 40",
        "DUMP board:6",
        "DUMP session:8",
        "DUMP set:8",
        "GET profile:9",
        "LCS session:1 session:2 LEN",
    ] {
        assert_eq!(client.ask(line), known.ask(line), "{line}");
    }
    assert_eq!(client.ask("DEBUG DIGEST"), known.ask("DEBUG DIGEST"));
}

#[test]
fn changes_are_made_to_the_whole_value() {
    let (server, plain) =
        (Server::larder(&COMPRESSING), Server::larder(&["--save", "", "--enable-debug-command", "yes"]));
    let (mut client, mut known) = (server.client(), plain.client());
    fill(&mut client);
    fill_with_larger(&mut client);
    fill(&mut known);
    fill_with_larger(&mut known);
    wait_for_cold(&mut client, 5984);
    for line in [
        "APPEND session:1 more",
        "SETRANGE session:2 5 xyz",
        "SETBIT session:3 9 1",
        "GETSET session:4 new",
        "HSET doc:1 id:1 other none new",
        "HDEL doc:2 id:2 id:130",
        "HEXPIRE doc:3 1000 FIELDS 1 id:3",
        "SADD group:1 new",
        "SPOP group:2 100",
        "SMOVE group:3 group:4 none",
        "ZINCRBY board:1 5 new",
        "ZPOPMIN board:2 3",
        "ZREMRANGEBYRANK board:3 2 9",
        "APPEND short:1 more",
        "SETRANGE short:2 5 xyz",
        "RENAME short:3 short:renamed",
        "COPY short:4 short:copied",
        "LSET recent:1 55 other",
        "LINSERT recent:2 BEFORE none none",
        "RPUSH recent:3 more",
        "LPOP recent:4 70",
        "LSET big 500 other",
        "LTRIM big 100 900",
        "XADD log 5000-0 a b",
        "XDEL log 500-0 501-0",
        "XTRIM log MAXLEN 800",
        "XGROUP CREATE log g 300",
        "XREADGROUP GROUP g c COUNT 20 STREAMS log >",
        "XCLAIM log g d 0 305-0",
        "XAUTOCLAIM log g e 0 0 COUNT 5",
        "XPENDING log g",
        "GETDEL session:5",
        "SET session:6 other GET",
        "GETEX session:7 PERSIST",
        "HSET profile:1 name1 changed more field",
        "HDEL profile:2 name3",
        "HINCRBY profile:3 count 4",
        "LPUSH list:1 first",
        "LSET list:2 3 third",
        "LMOVE list:3 list:4 LEFT RIGHT",
        "RPOP list:5 4",
        "SADD set:1 more",
        "SMOVE set:2 set:3 none",
        "SPOP set:4 100",
        "ZADD zset:1 7 more",
        "ZINCRBY zset:2 5 none",
        "ZPOPMIN zset:3 4",
        "RENAME session:8 elsewhere",
        "COPY session:9 session:9 DB 1",
        "MOVE profile:9 1",
        "EXPIRE session:10 1000",
        "INCR session:11",
        "LPUSH session:12 x",
        "SINTERSTORE all set:5 set:6",
        "ZUNIONSTORE zall 2 zset:5 zset:6",
    ] {
        assert_eq!(client.ask(line), known.ask(line), "{line}");
    }
    // In the other database, too.
    for side in [&mut client, &mut known] {
        side.ask("SELECT 1");
    }
    assert_eq!(client.ask("GET session:9"), known.ask("GET session:9"));
    assert_eq!(client.ask("HGETALL profile:9"), known.ask("HGETALL profile:9"));
    assert_eq!(client.ask("DEBUG DIGEST"), known.ask("DEBUG DIGEST"));
}

#[test]
fn what_is_read_twice_is_kept_as_it_is_used() {
    let server = Server::larder(&["--compress-idle-time", "5", "--save", ""]);
    let mut client = server.client();
    fill(&mut client);
    wait_for_cold(&mut client, 5600);
    let usage = |client: &mut Client| client.ask("MEMORY USAGE session:3").int();
    let cold = usage(&mut client);
    let value = client.ask("GET session:3");
    assert_eq!(usage(&mut client), cold, "one read leaves it");
    assert_eq!(client.ask("GET session:3"), value);
    assert!(usage(&mut client) > cold, "the second brings it back");
    client.ask("CONFIG SET compress-idle-time 0");
    client.ask("GET session:4");
    assert!(usage(&mut client) > cold);
}

#[test]
fn dictionaries_go_with_the_data() {
    let server = Server::larder(&COMPRESSING);
    let mut client = server.client();
    let dictionaries = |client: &mut Client| figure(client, "memory", "cold_dictionaries");
    for flush in ["FLUSHALL", "FLUSHDB ASYNC"] {
        fill(&mut client);
        wait_for_cold(&mut client, 5600);
        assert_ne!(dictionaries(&mut client), "0");
        client.ask(flush);
        wait_for_cold(&mut client, 0);
        let deadline = Instant::now() + Duration::from_secs(20);
        while dictionaries(&mut client) != "0" {
            assert!(Instant::now() < deadline, "{flush}: {} dictionaries", dictionaries(&mut client));
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn files_and_replicas_get_values_as_they_are_used() {
    let mut server = Server::larder(&[
        "--compress-idle-time",
        "1",
        "--enable-debug-command",
        "yes",
        "--appendonly",
        "yes",
    ]);
    let mut client = server.client();
    fill(&mut client);
    wait_for_cold(&mut client, 5600);
    let digest = client.ask("DEBUG DIGEST").text();
    let replica = Server::larder(&["--enable-debug-command", "yes"]);
    let mut follower = replica.client();
    follower.ask(&format!("REPLICAOF 127.0.0.1 {}", server.port()));
    let deadline = Instant::now() + Duration::from_secs(240);
    while follower.ask("DEBUG DIGEST").text() != digest {
        assert!(Instant::now() < deadline, "the replica has the data");
        std::thread::sleep(Duration::from_millis(20));
    }
    client.ask("BGREWRITEAOF");
    while figure(&mut client, "persistence", "aof_rewrite_in_progress") != "0"
        || figure(&mut client, "persistence", "aof_rewrite_scheduled") != "0"
    {
        assert!(Instant::now() < deadline, "the log is rewritten");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(server.stop().success());
    assert!(
        server.start_again(&["--appendonly", "yes", "--enable-debug-command", "yes"]),
        "{}",
        server.log()
    );
    assert_eq!(server.client().ask("DEBUG DIGEST"), Value::Simple(digest));
}

#[test]
fn what_cannot_be_compressed_stays() {
    let server = Server::larder(&COMPRESSING);
    let mut client = server.client();
    let mut rng = fastrand::Rng::with_seed(larder_testkit::seed(61));
    let mut sum = 0;
    for at in 0..2000 {
        let noise: Vec<u8> = (0..3000).map(|_| rng.u8(..)).collect();
        sum += noise.iter().map(|&byte| u64::from(byte)).sum::<u64>();
        client.cmd(&[b"SET".as_slice(), format!("noise:{at}").as_bytes(), &noise]);
    }
    fill(&mut client);
    wait_for_cold(&mut client, 5600);
    let values: u64 = figure(&mut client, "memory", "cold_values").parse().expect("a number");
    assert!(values <= 6100, "{values}");
    assert!(client.ask("MEMORY USAGE noise:3").int() > 300);
    let report = client.ask("MEMORY DOCTOR").text();
    assert!(report.contains("begin with \"noise:\" in database 0 stay uncompressed"), "{report}");
    let read = (0..2000).map(|at| {
        client.ask(&format!("GET noise:{at}")).bytes().iter().map(|&byte| u64::from(byte)).sum::<u64>()
    });
    assert_eq!(read.sum::<u64>(), sum);
}

#[test]
fn blocks_of_large_lists_are_compressed() {
    let server = Server::larder(&COMPRESSING);
    let mut client = server.client();
    fill(&mut client);
    let plain = client.ask("MEMORY USAGE big SAMPLES 0").int();
    let deadline = Instant::now() + Duration::from_secs(240);
    while client.ask("MEMORY USAGE big SAMPLES 0").int() * 2 > plain {
        assert!(Instant::now() < deadline, "{plain} bytes before, {:?} now", client.ask("MEMORY USAGE big"));
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(client.ask("LLEN big").int(), 1000);
}

#[test]
fn nodes_of_streams_are_compressed_while_the_stream_grows() {
    let server = Server::larder(&COMPRESSING);
    let mut client = server.client();
    fill(&mut client);
    let usage = |client: &mut Client| client.ask("MEMORY USAGE log SAMPLES 0").int();
    let (plain, deadline, mut added) = (usage(&mut client), Instant::now() + Duration::from_secs(240), 0);
    while usage(&mut client) * 2 > plain {
        assert!(Instant::now() < deadline, "{plain} bytes before, {} now", usage(&mut client));
        added += 1;
        client.ask(&format!("XADD log {}-0 level info", 10_000 + added));
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(client.ask("XLEN log").int(), 1000 + added);
    assert_eq!(client.ask("XRANGE log - + COUNT 100000").items().len() as i64, 1000 + added);
}

#[test]
fn values_are_compressed_while_they_are_loaded() {
    let mut server = Server::larder(&["--enable-debug-command", "yes"]);
    let mut client = server.client();
    fill(&mut client);
    client.ask("CONFIG SET compress-idle-time 0");
    let digest = client.ask("DEBUG DIGEST");
    let memory = |client: &mut Client| {
        figure(client, "memory", "used_memory_dataset").parse::<u64>().expect("a number")
    };
    let before = memory(&mut client);
    client.ask("SAVE");
    assert!(server.stop().success());
    // Nothing is idle for that long: what is compressed was compressed while it was loaded.
    let compressing =
        ["--enable-debug-command", "yes", "--compress-idle-time", "100000", "--compress-on-load", "yes"];
    assert!(server.start_again(&compressing), "{}", server.log());
    let mut client = server.client();
    let after = memory(&mut client);
    assert!(after * 5 < before * 4, "{before} bytes before, {after} after");
    assert_eq!(client.ask("DEBUG DIGEST"), digest);
}

#[test]
fn values_are_compressed_before_keys_are_evicted() {
    let server = Server::larder(&["--save", "", "--maxmemory-policy", "allkeys-lru"]);
    let mut client = server.client();
    let script = "for i = 1, 40000 do
        local json = '{\"id\":' .. i
        for j = 1, 12 do json = json .. ',\"field' .. j .. '\":\"alpha-' .. i * j .. '-beta\"' end
        redis.call('SET', 'session:' .. i, json .. '}')
    end";
    client.cmd(&["EVAL", script, "0"]);
    client.ask("CONFIG SET compress-idle-time 1000");
    let used: u64 = figure(&mut client, "memory", "used_memory").parse().expect("a number");
    client.ask(&format!("CONFIG SET maxmemory {}", used + used / 20));
    wait_for_cold(&mut client, 39_000);
    assert_eq!(figure(&mut client, "stats", "evicted_keys"), "0");
}

#[test]
fn the_anatomy_shows_what_is_saved_and_would_be() {
    let server = Server::larder(&["--save", ""]);
    let mut client = server.client();
    fill(&mut client);
    let script = "
        for i = 1, 20000 do
            redis.call('SADD', 'visits:1', 'https://www.example.com/products/' .. i .. '/page.html')
            redis.call('HSET', 'views:1', 'https://www.example.com/products/' .. i, 'by alpha and beta')
        end
        for i = 1, 15000 do redis.call('XADD', 'events:1', i .. '-1', 'level', 'info', 'text', 'message ' .. i) end";
    client.cmd(&["EVAL", script, "0"]);
    let of_pattern = |client: &mut Client, pattern: &str| {
        let reply = client.ask("MEMORY ANATOMY");
        let of = |map: &Value, name: &str| -> Value {
            let found = map.items().chunks(2).find(|pair| pair[0].text() == name);
            found.unwrap_or_else(|| panic!("{name} is in {map:?}"))[1].clone()
        };
        let patterns = of(&reply, "patterns");
        let group = patterns.items().iter().find(|group| of(group, "pattern").text() == pattern);
        let group = group.expect("there are such keys");
        let cold = of(group, "cold");
        let would_save = of(&cold, "would-save");
        let would_save = if would_save == Value::NullBulk { 0 } else { would_save.int() };
        (of(&cold, "values").int(), of(&cold, "saves").int(), would_save, of(group, "bytes").int())
    };
    let patterns = ["session:*", "visits:*", "views:*", "events:*"];
    let before = patterns.map(|pattern| of_pattern(&mut client, pattern));
    for (pattern, (values, saves, would_save, bytes)) in patterns.iter().zip(before) {
        assert_eq!((values, saves), (0, 0), "{pattern}");
        assert!((bytes / 3..bytes).contains(&would_save), "{pattern}: {would_save} of {bytes}");
    }
    client.ask("CONFIG SET compress-idle-time 1");
    let deadline = Instant::now() + Duration::from_secs(240);
    for (at, least) in [990, 150, 150, 100].into_iter().enumerate() {
        let (.., before) = before[at];
        loop {
            let (values, saves, would_save, after) = of_pattern(&mut client, patterns[at]);
            if values > least && saves * 2 > before && after * 2 < before && would_save * 10 < before {
                break;
            }
            let figures = format!("{}: {values} {saves} {would_save} {before} {after}", patterns[at]);
            assert!(Instant::now() < deadline, "{figures}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
