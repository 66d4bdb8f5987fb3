//! Commands that take long are executed by threads of their own: they answer as elsewhere, are counted once, see their keys at one moment, and
//! hold up nobody else, not even the clients of their own thread.

use larder_testkit::{Client, Kind, Server, Value, wait_until, wait_until_rewritten};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// More members than are gone through where clients wait.
const MANY: usize = 30_000;

/// Fills keys of every type, with many elements.
fn fill(client: &mut Client) {
    let mut add = |words: &[&str], item: &dyn Fn(usize) -> Vec<String>| {
        for from in (0..MANY).step_by(1000) {
            let mut args: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            args.extend((from..from + 1000).flat_map(item));
            assert!(!client.cmd(&args).is_error());
        }
    };
    add(&["RPUSH", "list"], &|n| vec![(n % 977).to_string()]);
    add(&["SADD", "{s}a"], &|n| vec![format!("m{n}")]);
    add(&["SADD", "{s}b"], &|n| vec![format!("m{}", n + MANY / 2)]);
    add(&["ZADD", "{z}a"], &|n| vec![(n % 101).to_string(), format!("m{n}")]);
    add(&["ZADD", "{z}b"], &|n| vec![n.to_string(), format!("m{}", n * 2)]);
    add(&["GEOADD", "geo"], &|n| {
        let (longitude, latitude) = (n as f64 * 0.005, (n % 997) as f64 * 0.07);
        vec![format!("{longitude:.4}"), format!("{latitude:.4}"), format!("m{n}")]
    });
    add(&["HSET", "hash"], &|n| vec![format!("f{n}"), n.to_string()]);
    for n in 0..MANY / 2 {
        client.send(&["XADD", "stream", &format!("{}-1", n + 1), "f", "v"]);
    }
    (0..MANY / 2).for_each(|_| drop(client.read().expect("a reply")));
    client.ask("XGROUP CREATE stream group 0");
    client.ask("XGROUP CREATE stream late 0");
    assert_eq!(client.ask("XREADGROUP GROUP group one COUNT 14000 STREAMS stream >").items().len(), 1);
    client.cmd(&["SET".to_owned(), "string".to_owned(), "text ".repeat(2 << 20)]);
}

/// Commands that take long on these keys.
const LONG: &str = include_str!("common/long_commands.txt");

/// Sends a command; `LARGE` stands for a large string, `MEMBERS` for many members, `PAIRS` for many pairs of a number and one, and `PLACES` for
/// many of a position and one.
fn ask_long(client: &mut Client, line: &str) -> Value {
    let mut words = Vec::new();
    for word in line.split(' ') {
        match word {
            "LARGE" => words.push("large ".repeat(1 << 20)),
            "MEMBERS" => words.extend((0..12_000).map(|n| format!("m{n}"))),
            "PLACES" => words.extend((0..12_000).flat_map(|n| {
                [format!("{:.3}", n as f64 * 0.01), format!("{:.2}", (n % 80) as f64), format!("m{}", n * 5)]
            })),
            "PAIRS" => words.extend((0..12_000).flat_map(|n| [n.to_string(), format!("m{}", n * 3)])),
            _ => words.push(word.to_owned()),
        }
    }
    client.cmd(&words)
}

/// A reply, or what is in it if its order is not defined.
fn shown(line: &str, reply: &Value) -> String {
    let unordered = [
        "SMEMBERS", "SUNION ", "SINTER ", "SDIFF ", "HGETALL", "HKEYS", "HVALS", "KEYS", "SCAN", "SSCAN",
        "HSCAN", "ZSCAN",
    ];
    let is_step = line.contains("SCAN ") && !reply.is_error();
    let items = if is_step { reply.items()[1].items() } else { reply.items() };
    if reply.is_error() || !unordered.iter().any(|name| line.starts_with(name)) {
        return format!("{reply:?}");
    }
    let mut texts: Vec<String> = items.iter().map(Value::text).collect();
    texts.sort_unstable();
    texts.join(" ")
}

fn info(client: &mut Client, section: &str, name: &str) -> String {
    let text = client.ask(&format!("INFO {section}")).text();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_default().trim().to_owned()
}

/// What has been counted since the counters were reset: calls of a command, hits and misses; and all commands of the client.
fn counted(client: &mut Client, line: &str) -> ([String; 3], u64) {
    let name = line.split(' ').next().unwrap_or_default().to_ascii_lowercase();
    let calls = info(client, "commandstats", &format!("cmdstat_{name}"));
    let calls = calls.split(',').next().unwrap_or_default().to_owned();
    let of_stats = ["keyspace_hits", "keyspace_misses"].map(|name| info(client, "stats", name));
    let [hits, misses] = of_stats;
    let client = client.ask("CLIENT INFO").text();
    let commands = client.split_whitespace().find_map(|word| word.strip_prefix("tot-cmds=")?.parse().ok());
    ([calls, hits, misses], commands.expect("it is told"))
}

/// The same as on Valkey, in replies, effects and counts; also with replicas, which are sent the commands as they were given.
#[test]
fn they_answer_and_count_as_elsewhere() {
    let threads = "2";
    let ours =
        Server::larder(&["--threads", threads, "--appendonly", "yes", "--hash-max-listpack-entries", "0"]);
    let theirs = Server::of(Kind::Valkey, &[]);
    let replica = Server::larder(&["--threads", threads]);
    let (mut a, mut b) = (ours.client(), theirs.client());
    fill(&mut a);
    fill(&mut b);
    replica.client().ask(&format!("REPLICAOF 127.0.0.1 {}", ours.port()));
    for line in LONG.lines() {
        for client in [&mut a, &mut b] {
            client.ask("CONFIG RESETSTAT");
        }
        let before = [&mut a, &mut b].map(|client| counted(client, line));
        let [x, y] = [&mut a, &mut b].map(|client| shown(line, &ask_long(client, line)));
        assert!(x == y, "{line}: {} and {} bytes", x.len(), y.len());
        let after = [&mut a, &mut b].map(|client| counted(client, line));
        assert_eq!(after[0].0, after[1].0, "{line}");
        let [x, y] = [0, 1].map(|at| after[at].1 - before[at].1);
        assert_eq!(x, y, "{line}");
    }
    let digests = |client: &mut Client| {
        let keys = "list {s}a {s}b {s}union {s}inter {s}diff {z}a {z}b {z}union {z}inter {z}diff {z}range hash stream string new {b}not near {s}sorted {s}many {h}many {z}many many";
        client.ask(&format!("DEBUG DIGEST-VALUE {keys}")).items().iter().map(Value::text).collect::<Vec<_>>()
    };
    let here = digests(&mut a);
    assert_eq!(here, digests(&mut b));
    let mut there = replica.client();
    wait_until("the replica has the same", || digests(&mut there) == here);
    a.ask("DEBUG LOADAOF");
    assert_eq!(digests(&mut a), here);
}

/// Keeps a thread for long commands busy: one of the first scripts runs there, and again after it has taken long; on the key `kept`,
/// until it is killed.
const SCRIPT: &str = "local n = 0 for i = 1, tonumber(ARGV[1]) do n = n + i end return n";

fn keep_busy(client: &mut Client) {
    client.send(&["EVAL", SCRIPT, "1", "kept", "1e18"]);
}

fn read(client: &mut Client) -> Value {
    client.read().expect("it is answered")
}

/// Waits until the script runs.
fn wait_for_script(client: &mut Client) {
    wait_until("the script runs", || !client.ask("FUNCTION STATS").items()[1].items().is_empty());
}

/// A server of one thread answers others while a command takes long; what is for the client of that command waits for its end.
#[test]
fn the_clients_of_the_same_thread_are_served() {
    let server = Server::larder(&["--threads", "1", "--busy-reply-threshold", "600000"]);
    let [mut busy, mut other, mut same_key, mut killed] = [(); 4].map(|()| server.client());
    other.ask("SET kept 1");
    assert_eq!(busy.cmd(&["HELLO", "3"]).items().len(), 14);
    busy.ask("SUBSCRIBE news");
    keep_busy(&mut busy);
    busy.send_all(&[&["INCR", "next"], &["PING", "end"]]);
    wait_for_script(&mut other);
    same_key.send(&["INCR", "kept"]);
    for n in 1..=50 {
        assert_eq!(other.ask("INCR other").int(), n);
    }
    assert_eq!(other.ask("PUBLISH news hello").int(), 1);
    // Several commands that take long, more than there are threads for them.
    let mut list: Vec<String> = vec!["RPUSH".to_owned(), "list".to_owned()];
    list.extend((0..20_000).map(|n| n.to_string()));
    killed.send(&list);
    let id = killed_id(&mut other, "rpush");
    assert_eq!(other.ask("EXISTS next").int(), 0);
    assert!(!busy.has_reply(), "{:?}", read(&mut busy));
    assert!(!same_key.has_reply(), "{:?}", read(&mut same_key));
    if let Some(id) = id {
        assert_eq!(other.ask(&format!("CLIENT KILL ID {id}")).int(), 1);
    }
    assert_eq!(other.ask("SCRIPT KILL").text(), "OK");
    assert!(read(&mut busy).text().contains("Script killed by user"));
    assert_eq!(read(&mut same_key).int(), 2);
    // The message may come before or after the replies.
    let rest = [(); 3].map(|()| read(&mut busy));
    let (messages, replies): (Vec<&Value>, Vec<&Value>) =
        rest.iter().partition(|value| matches!(value, Value::Push(_)));
    assert_eq!(messages[0].items()[2].text(), "hello");
    assert_eq!((replies[0].int(), replies[1].text()), (1, "end".to_owned()));
}

/// So is the first transaction of a client, if it has many commands, or slow ones on large values.
#[test]
fn the_clients_of_the_same_thread_are_served_beside_a_transaction() {
    let server = Server::larder(&["--threads", "1", "--busy-reply-threshold", "600000"]);
    let mut other = server.client();
    ask_long(&mut other, "SADD {s}a MEMBERS");
    for (commands, count) in
        [("INCR kept", 2000), ("SUNIONSTORE {s}c {s}a {s}b", 1), ("GETRANGE large 0 1", 1)]
    {
        other.cmd(&["SET".to_owned(), "large".to_owned(), "large ".repeat(1 << 20)]);
        other.ask("DEL kept");
        let mut busy = server.client();
        busy.ask("MULTI");
        for _ in 0..count {
            assert_eq!(busy.ask(commands).text(), "QUEUED");
        }
        assert_eq!(busy.cmd(&["EVAL", SCRIPT, "1", "kept", "1e18"]).text(), "QUEUED");
        busy.send(&["EXEC"]);
        wait_for_script(&mut other);
        // No key: one of 256 is in a shard that the transaction holds.
        assert_eq!(other.ask("PING").text(), "PONG", "beside {commands}");
        assert_eq!(other.ask("SCRIPT KILL").text(), "OK");
        let replies = read(&mut busy);
        assert_eq!(replies.items().len(), count + 1);
        assert!(
            replies.items()[count].text().contains("Script killed by user"),
            "{}",
            replies.items()[count]
        );
    }
}

/// What a client is sent while its command runs elsewhere comes afterwards, in order, and counts against the limit of its output.
#[test]
fn messages_for_who_is_away_have_a_limit() {
    let server = Server::larder(&["--threads", "1", "--busy-reply-threshold", "600000"]);
    let mut other = server.client();
    other.ask("SET kept 1");
    assert_eq!(other.cmd(&["CONFIG", "SET", "client-output-buffer-limit", "pubsub 1mb 0 0"]).text(), "OK");
    let payload = "x".repeat(1000);
    for (count, is_too_much) in [(500, false), (3000, true)] {
        let mut busy = server.client();
        busy.cmd(&["HELLO", "3"]);
        busy.ask("SUBSCRIBE news");
        keep_busy(&mut busy);
        wait_for_script(&mut other);
        for n in 0..count {
            assert_eq!(other.cmd(&["PUBLISH", "news", &format!("{n} {payload}")]).int(), 1);
        }
        assert_eq!(other.ask("SCRIPT KILL").text(), "OK");
        if is_too_much {
            let heard = std::iter::from_fn(|| busy.read().ok()).count();
            assert!(heard <= 1, "{heard} of {count}");
        } else {
            let values: Vec<Value> = (0..=count).map(|_| read(&mut busy)).collect();
            let messages = values.iter().filter(|value| matches!(value, Value::Push(_)));
            let numbers =
                messages.map(|message| message.items()[2].text().split(' ').next().map(str::to_owned));
            assert!(numbers.eq((0..count).map(|n| Some(n.to_string()))));
        }
        let closed = info(&mut other, "stats", "client_output_buffer_limit_disconnections");
        assert_eq!(closed, u8::from(is_too_much).to_string());
    }
}

/// The id of a client whose last command is this one.
fn killed_id(client: &mut Client, name: &str) -> Option<String> {
    let list = client.ask("CLIENT LIST").text();
    let line = list.lines().find(|line| line.contains(&format!(" cmd={name} ")))?;
    line.strip_prefix("id=")?.split(' ').next().map(str::to_owned)
}

/// A command sees its keys at one moment, however long it takes: members go from one set to the other and back meanwhile, one by one.
#[test]
fn what_is_stored_is_made_of_one_moment() {
    for threads in ["1", "3"] {
        let server = Server::larder(&["--threads", threads]);
        let mut client = server.client();
        fill(&mut client);
        client.ask("SDIFFSTORE {s}b {s}b {s}a");
        let (union, inter) = (client.ask("SUNION {s}a {s}b").items().len() as i64, 0);
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut mover = server.client();
                let mut n = 0;
                while !stop.load(Relaxed) {
                    let member = format!("m{}", n % MANY);
                    let (from, to) =
                        if (n / MANY).is_multiple_of(2) { ("{s}a", "{s}b") } else { ("{s}b", "{s}a") };
                    mover.cmd(&["SMOVE", from, to, &member]);
                    n += 1;
                }
            });
            for _ in 0..20 {
                assert_eq!(client.ask("SUNIONSTORE {s}u {s}a {s}b").int(), union, "{threads}");
                assert_eq!(client.ask("SINTERSTORE {s}i {s}a {s}b").int(), inter, "{threads}");
                assert_eq!(client.ask("SCARD {s}u").int(), union);
                assert_eq!(client.ask("SUNION {s}a {s}b").items().len() as i64, union);
                assert_eq!(client.ask("SINTERCARD 2 {s}a {s}b").int(), inter);
            }
            stop.store(true, Relaxed);
        });
        assert_eq!(client.ask("DEBUG DIGEST-VALUE {s}u").items().len(), 1);
        wait_until("no key is watched", || info(&mut client, "clients", "total_watched_keys") == "0");
    }
}

/// What takes elements out of a large value changes a clone of it: what others add meanwhile stays, and nothing is taken out twice.
#[test]
fn what_is_taken_out_meanwhile_is_taken_out_once() {
    for threads in ["1", "3"] {
        let server = Server::larder(&["--threads", threads, "--appendonly", "yes"]);
        let mut client = server.client();
        fill(&mut client);
        for key in ["{s}a", "{z}b"] {
            assert_eq!(client.ask(&format!("EXPIRE {key} 100000")).int(), 1);
        }
        let stop = AtomicBool::new(false);
        let (mut popped, mut removed) = (Vec::new(), 0);
        let added = std::thread::scope(|scope| {
            let adder = scope.spawn(|| {
                let mut adder = server.client();
                let mut n = 0;
                while !stop.load(Relaxed) {
                    assert_eq!(adder.ask(&format!("SADD {{s}}a x{n}")).int(), 1);
                    assert_eq!(adder.ask(&format!("ZADD {{z}}b 1e6 x{n}")).int(), 1);
                    n += 1;
                }
                n
            });
            for _ in 0..2 {
                let reply = client.ask("SPOP {s}a 11000");
                popped.extend(reply.items().iter().map(Value::text));
                removed += client.ask("ZREMRANGEBYRANK {z}b 0 10999").int();
            }
            stop.store(true, Relaxed);
            adder.join().expect("the adder ends")
        });
        assert_eq!((popped.len(), removed), (22_000, 22_000), "{threads}");
        assert_eq!(client.ask("ZCARD {z}b").int() + removed, (MANY + added) as i64, "{threads}");
        popped.extend(client.ask("SMEMBERS {s}a").items().iter().map(Value::text));
        popped.sort_unstable();
        let mut all: Vec<String> =
            (0..MANY).map(|n| format!("m{n}")).chain((0..added).map(|n| format!("x{n}"))).collect();
        all.sort_unstable();
        assert!(popped == all, "{threads}: {} of {} members", popped.len(), all.len());
        for key in ["{s}a", "{z}b"] {
            assert!(client.ask(&format!("TTL {key}")).int() > 0, "{key}");
        }
        let digest = client.ask("DEBUG DIGEST").text();
        client.ask("DEBUG LOADAOF");
        assert_eq!(client.ask("DEBUG DIGEST").text(), digest, "{threads}");
        assert_eq!(client.ask("SPOP {s}a 1000000").items().len(), MANY + added - 22_000);
        assert_eq!(client.ask("EXISTS {s}a").int(), 0);
    }
}

/// Consumers of a group read and claim many entries at once while others acknowledge, and while entries come: each is delivered once, and
/// none is pending that was acknowledged.
#[test]
fn groups_are_read_beside_acknowledgements() {
    for threads in ["1", "3"] {
        let server = Server::larder(&["--threads", threads, "--appendonly", "yes"]);
        let mut client = server.client();
        fill(&mut client);
        client.ask("XGROUP DESTROY stream group");
        client.ask("XGROUP CREATE stream group 0");
        let stop = AtomicBool::new(false);
        let (added, acknowledged) = std::thread::scope(|scope| {
            let adder = scope.spawn(|| {
                let (mut adder, mut n) = (server.client(), 0);
                while !stop.load(Relaxed) {
                    adder.ask("XADD stream * f v");
                    n += 1;
                }
                n
            });
            let acknowledger = scope.spawn(|| {
                let (mut other, mut n) = (server.client(), 0);
                while !stop.load(Relaxed) {
                    let reply = other.ask("XREADGROUP GROUP group other COUNT 1 STREAMS stream >");
                    if reply.items().is_empty() {
                        continue;
                    }
                    let id = reply.items()[0].items()[1].items()[0].items()[0].text();
                    n += other.ask(&format!("XACK stream group {id}")).int();
                }
                n
            });
            for _ in 0..3 {
                client.ask("XREADGROUP GROUP group one COUNT 12000 STREAMS stream >");
                client.ask("XAUTOCLAIM stream group two 0 0 COUNT 11000");
                client.ask("XREADGROUP GROUP group two COUNT 11000 STREAMS stream 0");
                client.ask("XAUTOCLAIM stream group one 0 0 COUNT 11000 JUSTID");
            }
            stop.store(true, Relaxed);
            (adder.join().expect("the adder ends"), acknowledger.join().expect("the acknowledger ends"))
        });
        client.ask("XREADGROUP GROUP group one STREAMS stream >");
        let pending = client.ask("XPENDING stream group").items()[0].int();
        assert_eq!(pending + acknowledged, (MANY / 2 + added) as i64, "{threads}");
        let reply = client.ask("XREADGROUP GROUP group one STREAMS stream 0");
        let of_one = reply.items()[0].items()[1].items().len();
        let reply = client.ask("XREADGROUP GROUP group two STREAMS stream 0");
        let of_two = reply.items()[0].items()[1].items().len();
        assert_eq!((of_one + of_two) as i64, pending, "{threads}");
        let digest = client.ask("DEBUG DIGEST").text();
        client.ask("DEBUG LOADAOF");
        assert_eq!(client.ask("DEBUG DIGEST").text(), digest, "{threads}");
    }
}

/// Nothing but the groups of the stream is changed meanwhile, of which those who watch it are not told.
#[test]
fn entries_that_are_acknowledged_beside_a_claim_stay_so() {
    for threads in ["1", "3"] {
        let server = Server::larder(&["--threads", threads]);
        let mut client = server.client();
        fill(&mut client);
        client.ask("XREADGROUP GROUP late one STREAMS stream >");
        let stop = AtomicBool::new(false);
        let acknowledged = std::thread::scope(|scope| {
            let acknowledger = scope.spawn(|| {
                let (mut other, mut n) = (server.client(), 0);
                while !stop.load(Relaxed) && n < MANY as i64 / 2 {
                    n += 1;
                    assert_eq!(other.ask(&format!("XACK stream late {n}-1")).int(), 1, "{threads}");
                }
                n
            });
            for consumer in ["two", "one", "two", "one"] {
                client.ask(&format!("XAUTOCLAIM stream late {consumer} 0 0 COUNT 15000 JUSTID"));
            }
            stop.store(true, Relaxed);
            acknowledger.join().expect("the acknowledger ends")
        });
        let pending = client.ask("XPENDING stream late").items()[0].int();
        assert_eq!(pending, MANY as i64 / 2 - acknowledged, "{threads}");
    }
}

/// What has many arguments changes a clone: what others do to the key meanwhile stays.
#[test]
fn what_is_added_beside_many_arguments_stays() {
    for threads in ["1", "3"] {
        let server = Server::larder(&["--threads", threads, "--appendonly", "yes"]);
        let mut client = server.client();
        let stop = AtomicBool::new(false);
        let mut sums = [0; 4];
        let added = std::thread::scope(|scope| {
            let adder = scope.spawn(|| {
                let (mut adder, mut n) = (server.client(), 0);
                while !stop.load(Relaxed) {
                    assert_eq!(adder.ask(&format!("SADD set x{n}")).int(), 1);
                    assert_eq!(adder.ask(&format!("ZADD zset 7 x{n}")).int(), 1);
                    assert_eq!(adder.ask(&format!("HSET hash x{n} 1")).int(), 1);
                    assert!(adder.ask("RPUSH list x").int() > 0);
                    n += 1;
                }
                n
            });
            for _ in 0..3 {
                for (at, line) in ["SADD set", "ZADD zset", "HSET hash"].iter().enumerate() {
                    let form = if at == 0 { "MEMBERS" } else { "PAIRS" };
                    sums[at] += ask_long(&mut client, &format!("{line} {form}")).int();
                }
                ask_long(&mut client, "LPUSH list MEMBERS");
                sums[3] += 12_000;
                sums[0] -= ask_long(&mut client, "SREM set MEMBERS").int();
                sums[1] -= ask_long(&mut client, "ZREM zset MEMBERS").int();
                sums[2] -= ask_long(&mut client, "HDEL hash MEMBERS").int();
                sums[3] -= client.ask("LPOP list 12000").items().len() as i64;
            }
            stop.store(true, Relaxed);
            adder.join().expect("the adder ends")
        });
        for (line, sum) in ["SCARD set", "ZCARD zset", "HLEN hash", "LLEN list"].iter().zip(sums) {
            assert_eq!(client.ask(line).int(), sum + added, "{line}, {threads}");
        }
        let digest = client.ask("DEBUG DIGEST").text();
        client.ask("DEBUG LOADAOF");
        assert_eq!(client.ask("DEBUG DIGEST").text(), digest, "{threads}");
    }
}

fn restore(client: &mut Client, options: &str, payload: &[u8]) -> String {
    let mut args: Vec<&[u8]> = vec![b"RESTORE", b"copy", b"0", payload];
    args.extend(options.split_whitespace().map(str::as_bytes));
    client.cmd(&args).text()
}

/// Large payloads are decoded while no shard is held.
#[test]
fn large_payloads_are_restored() {
    let server = Server::larder(&["--threads", "2", "--appendonly", "yes"]);
    let mut client = server.client();
    fill(&mut client);
    for key in ["list", "{s}a", "{z}a", "hash", "string"] {
        let payload = client.ask(&format!("DUMP {key}")).bytes().to_vec();
        assert_eq!(restore(&mut client, "", &payload), "OK", "{key}");
        assert!(restore(&mut client, "", &payload).starts_with("BUSYKEY"), "{key}");
        let mut damaged = payload.clone();
        damaged[payload.len() / 2] ^= 1;
        assert!(
            restore(&mut client, "REPLACE", &damaged).contains("DUMP payload version or checksum"),
            "{key}"
        );
        assert_eq!(restore(&mut client, "REPLACE IDLETIME 1000", &payload), "OK", "{key}");
        assert!(client.ask("OBJECT IDLETIME copy").int() >= 1000, "{key}");
        let digest = client.ask(&format!("DEBUG DIGEST-VALUE {key} copy"));
        assert_eq!(digest.items()[0].text(), digest.items()[1].text(), "{key}");
        assert_eq!(client.ask("DEBUG LOADAOF").text(), "OK");
        assert_eq!(client.ask(&format!("DEBUG DIGEST-VALUE {key} copy")), digest, "{key}");
        assert_eq!(client.ask("DEL copy").int(), 1);
    }
}

/// Valkey has no LSCAN to compare with.
#[test]
fn a_whole_list_is_scanned_in_one_step() {
    let server = Server::larder(&["--threads", "2"]);
    let mut client = server.client();
    fill(&mut client);
    let reply = client.ask("LSCAN list 0 COUNT 1000000");
    assert_eq!(reply.items()[0].text(), "0");
    assert_eq!(reply.items()[1], client.ask("LRANGE list 0 -1"));
    assert!(client.ask("LSCAN list 0 COUNT 0").is_error());
}

/// Large databases are emptied at once, and freed while no shard is held.
#[test]
fn large_databases_are_flushed() {
    let server = Server::larder(&["--threads", "2", "--appendonly", "yes"]);
    let (mut client, mut watcher) = (server.client(), server.client());
    for command in ["FLUSHDB SYNC", "FLUSHALL SYNC", "FLUSHALL ASYNC"] {
        assert_eq!(client.ask("DEBUG POPULATE 200000").text(), "OK");
        for line in ["WATCH key:7", "MULTI", "PING"] {
            assert!(!watcher.ask(line).is_error(), "{line}");
        }
        assert_eq!(client.ask(command).text(), "OK");
        assert_eq!(client.ask("DBSIZE").int(), 0, "{command}");
        assert_eq!(watcher.ask("EXEC"), Value::NullArray, "{command}");
        client.ask("SET after 1");
        assert_eq!(client.ask("DEBUG LOADAOF").text(), "OK");
        assert_eq!(client.ask("KEYS *").items().len(), 1, "{command}");
    }
}

/// Monitors are shown each command once, however often it is tried.
#[test]
fn monitors_see_them_once() {
    let server = Server::larder(&["--threads", "2"]);
    let (mut client, mut monitor) = (server.client(), server.client());
    fill(&mut client);
    assert!(!client.cmd(&["EVAL", SCRIPT, "1", "kept", "10000000"]).is_error());
    assert_eq!(monitor.ask("MONITOR").text(), "OK");
    for n in 0..3 {
        assert!(!client.cmd(&["EVAL", SCRIPT, "1", "kept", &format!("1000000{n}")]).is_error());
        assert!(client.ask(&format!("SUNIONSTORE {{s}}{n} {{s}}a {{s}}b")).int() > 0);
        assert_eq!(client.ask(&format!("LRANGE list {n} -1")).items().len(), MANY - n);
    }
    client.ask("PING the-last");
    let lines: Vec<String> = std::iter::from_fn(|| Some(read(&mut monitor).text()))
        .take_while(|line| !line.contains("the-last"))
        .collect();
    let names: Vec<&str> = lines.iter().filter_map(|line| line.split('"').nth(1)).collect();
    assert_eq!(names, ["EVAL", "SUNIONSTORE", "LRANGE"].repeat(3));
}

/// A long command of a transaction is executed in its place, and one of a client that tracks keys tells of changes.
#[test]
fn transactions_and_tracking_are_as_ever() {
    let server = Server::larder(&["--threads", "2"]);
    let (mut client, mut other) = (server.client(), server.client());
    fill(&mut client);
    for line in ["MULTI", "SUNIONSTORE {s}u {s}a {s}b", "SCARD {s}u", "LRANGE list 0 -1", "EXEC"] {
        client.send(&line.split(' ').collect::<Vec<_>>());
    }
    let replies = [(); 5].map(|()| read(&mut client));
    let items = replies[4].items();
    assert_eq!(items[0].int(), items[1].int());
    assert_eq!(items[2].items().len(), MANY);
    // The next ones of this client are executed elsewhere.
    for _ in 0..3 {
        for line in ["WATCH list", "MULTI", "SUNIONSTORE {s}u {s}a {s}b", "INCR n", "EXEC"] {
            client.send(&line.split(' ').collect::<Vec<_>>());
        }
        let replies = [(); 5].map(|()| read(&mut client));
        assert_eq!(replies[4].items()[0].int(), items[0].int());
    }
    assert_eq!(client.ask("GET n").text(), "3");
    client.ask("WATCH list");
    other.ask("RPUSH list y");
    client.ask("MULTI");
    client.ask("INCR n");
    assert_eq!(client.ask("EXEC"), Value::NullArray);
    other.ask("RPOP list");
    client.cmd(&["HELLO", "3"]);
    client.ask("CLIENT TRACKING ON");
    assert_eq!(client.ask("LRANGE list 0 -1").items().len(), MANY);
    other.ask("RPUSH list x");
    let push = read(&mut client);
    assert_eq!(push.items()[0].text(), "invalidate");
    // Silence and ASKING are for one command, however often that is tried.
    client.ask("CLIENT TRACKING OFF");
    client.send_all(&[&["CLIENT", "REPLY", "SKIP"][..], &["LRANGE", "list", "0", "-1"], &["PING", "after"]]);
    assert_eq!(read(&mut client).text(), "after");
    // What is acknowledged has been written.
    other.ask("CONFIG SET appendonly yes");
    other.ask("CONFIG SET appendfsync always");
    // Without its base the server does not end.
    wait_until_rewritten(&mut other);
    for n in 0..5 {
        assert!(client.ask(&format!("SUNIONSTORE {{s}}{n} {{s}}a {{s}}b")).int() > 0);
        assert_eq!(client.ask(&format!("SCARD {{s}}{n}")).int(), client.ask("SCARD {s}u").int());
    }
}
