//! What MEMORY USAGE says beside what the allocator says, and the limit on the memory of connections.

use larder_testkit::{Client, Server, Value};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How far the sum of MEMORY USAGE may be from the growth of the memory in use.
const TOLERANCE: f64 = 0.05;

fn info(client: &mut Client) -> HashMap<String, String> {
    let text = client.ask("INFO all").text();
    text.lines().filter_map(|line| line.split_once(':')).map(|(a, b)| (a.to_owned(), b.to_owned())).collect()
}

fn number(client: &mut Client, field: &str) -> i64 {
    info(client)[field].parse().unwrap_or_else(|_| panic!("{field} is a number"))
}

/// Has the commands executed by a connection of their own, whose buffers are gone when this returns: `client` is the only one then.
fn pipe_apart(server: &Server, client: &mut Client, commands: &[Vec<String>]) -> Vec<Value> {
    let replies = pipe(&mut server.client(), commands);
    wait_for_clients(client, 1);
    replies
}

/// Sends the commands and reads the replies.
fn pipe(client: &mut Client, commands: &[Vec<String>]) -> Vec<Value> {
    let mut replies = Vec::new();
    for some in commands.chunks(200) {
        some.iter().for_each(|words| client.send(words));
        replies.extend(some.iter().map(|_| client.read().expect("the server replies")));
    }
    replies
}

fn command(name: &str, key: &str, words: impl IntoIterator<Item = String>) -> Vec<String> {
    [name.to_owned(), key.to_owned()].into_iter().chain(words).collect()
}

fn pairs(count: usize, pair: impl Fn(usize) -> [String; 2]) -> impl Iterator<Item = String> {
    (0..count).flat_map(pair)
}

/// Makes one key of a kind.
type Make = fn(&str) -> Vec<Vec<String>>;

const KINDS: &[(&str, usize, Make)] = &[
    ("a short string", 10_000, |key| vec![command("SET", key, ["v".repeat(20)])]),
    ("one that expires", 10_000, |key| {
        vec![command("SET", key, ["v".repeat(20), "EX".into(), "1000".into()])]
    }),
    ("a number", 10_000, |key| vec![command("SET", key, ["12345".to_owned()])]),
    ("a string of 200 bytes", 10_000, |key| vec![command("SET", key, ["v".repeat(200)])]),
    ("a string of 5000 bytes", 2_000, |key| vec![command("SET", key, ["v".repeat(5000)])]),
    ("a small list", 10_000, |key| vec![command("RPUSH", key, (0..5).map(|n| format!("e{n}")))]),
    ("a list", 400, |key| vec![command("RPUSH", key, (0..2000).map(|n| format!("element number {n}")))]),
    ("a small hash", 10_000, |key| {
        vec![command("HSET", key, pairs(5, |n| [format!("f{n}"), format!("v{n}")]))]
    }),
    ("a hash", 400, |key| {
        vec![command("HSET", key, pairs(2000, |n| [format!("field{n}"), format!("value{n}")]))]
    }),
    ("a hash of long values", 400, |key| {
        vec![command("HSET", key, pairs(20, |n| [format!("field{n}"), "v".repeat(1000)]))]
    }),
    ("a small set", 10_000, |key| vec![command("SADD", key, (0..5).map(|n| format!("m{n}")))]),
    ("a set", 400, |key| vec![command("SADD", key, (0..2000).map(|n| format!("member{n}")))]),
    ("a small set of integers", 10_000, |key| {
        vec![command("SADD", key, (0..60).map(|n| (n * 7).to_string()))]
    }),
    ("a set of integers", 400, |key| vec![command("SADD", key, (0..5000).map(|n| (n * 7).to_string()))]),
    ("a small sorted set", 10_000, |key| {
        vec![command("ZADD", key, pairs(5, |n| [n.to_string(), format!("m{n}")]))]
    }),
    ("a sorted set", 400, |key| {
        vec![command("ZADD", key, pairs(2000, |n| [format!("{n}.5"), format!("member{n}")]))]
    }),
    ("a small stream", 10_000, |key| {
        (1..5).map(|n| command("XADD", key, [format!("{n}-1"), "a".into(), "1".into()])).collect()
    }),
    ("a stream", 100, |key| {
        (1..1000).map(|n| command("XADD", key, [format!("{n}-1"), "a".into(), "1".into()])).collect()
    }),
    ("a HyperLogLog", 400, |key| vec![command("PFADD", key, (0..3000).map(|n| format!("e{n}")))]),
];

#[test]
fn usage_is_what_keys_cost() {
    let server = Server::larder(&["--threads", "1"]);
    let mut client = server.client();
    let mut wrong = String::new();
    // The first keys of all make the server warm.
    let first = (0..10_000).flat_map(|n| KINDS[0].2(&format!("first{n}"))).collect::<Vec<_>>();
    pipe_apart(&server, &mut client, &first);
    let mut empty = None;
    for (kind, count, make) in KINDS {
        for prefix in ["k".to_owned(), "key:".repeat(80)] {
            let names: Vec<String> = (0..*count).map(|n| format!("{prefix}{n:08}")).collect();
            client.ask("FLUSHALL SYNC");
            client.ask("MEMORY PURGE");
            let before = used_when_empty(&mut client, empty);
            empty = Some(before);
            let commands: Vec<_> = names.iter().flat_map(|name| make(name)).collect();
            assert!(pipe_apart(&server, &mut client, &commands).iter().all(|reply| !reply.is_error()));
            let real = number(&mut client, "used_memory") - before;
            let usage: Vec<_> = names.iter().map(|name| command("MEMORY", "USAGE", [name.clone()])).collect();
            let told: i64 = pipe_apart(&server, &mut client, &usage).iter().map(Value::int).sum();
            let error = (told - real) as f64 / real as f64;
            println!(
                "{kind}, key of {}: {} told, {} real, {:+.1} %",
                names[0].len(),
                told,
                real,
                error * 100.0
            );
            // What the server takes and gives for itself between two readings is not the keys'.
            if error.abs() > TOLERANCE && (told - real).abs() > 64 << 10 {
                wrong += &format!("{kind}, key of {}: {told} told, {real} real\n", names[0].len());
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Bytes that a server takes and gives for itself.
const SLACK: i64 = 256 << 10;

/// Memory in use without keys, as soon as it is about as much as it was.
fn used_when_empty(client: &mut Client, was: Option<i64>) -> i64 {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let used = number(client, "used_memory");
        if was.is_none_or(|was| used <= was + SLACK) {
            return used;
        }
        let stats = client.ask("MEMORY STATS");
        assert!(Instant::now() < deadline, "{used} bytes without keys, {was:?} before: {stats}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until no more than this many connections are there.
fn wait_for_clients(client: &mut Client, most: i64) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while number(client, "connected_clients") > most {
        assert!(Instant::now() < deadline, "connections are not closed");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A connection that has sent a part of a big command.
fn with_input(server: &Server, bytes: usize) -> Client {
    let mut client = server.client();
    client.ask("PING");
    let mut request = format!("*2\r\n$4\r\nECHO\r\n${}\r\n", bytes * 2).into_bytes();
    request.extend(std::iter::repeat_n(b'x', bytes));
    client.send_raw(&request).expect("it takes that");
    client
}

#[test]
fn the_biggest_connections_go_first() {
    let server = Server::larder(&["--threads", "2"]);
    let mut client = server.client();
    let mut small = with_input(&server, 100_000);
    let mut big = with_input(&server, 3_000_000);
    let mut exempt = server.client();
    exempt.ask("CLIENT NO-EVICT ON");
    let queue = ["ECHO".to_owned(), "x".repeat(4_000_000)];
    exempt.ask("MULTI");
    exempt.cmd(&queue);
    let deadline = Instant::now() + Duration::from_secs(20);
    while number(&mut client, "mem_clients_normal") < 7_000_000 {
        assert!(Instant::now() < deadline, "what connections hold is not seen");
    }
    client.ask("CONFIG SET maxmemory-clients 6mb");
    wait_for_clients(&mut client, 3);
    assert_eq!(number(&mut client, "evicted_clients"), 1);
    assert!(big.read_to_end().expect("it was closed").is_empty());
    assert!(exempt.ask("EXEC").items()[0].bytes().len() == 4_000_000, "the biggest of all is exempt");
    small.send_raw(&vec![b'x'; 100_000]).expect("it is open");
    small.send_raw(b"\r\n").expect("it is open");
    assert_eq!(small.read().expect("it is answered").bytes().len(), 200_000);
    // With a queue, while the limit is there already.
    let mut queued = server.client();
    queued.ask("MULTI");
    let request = format!("*2\r\n$4\r\nECHO\r\n$7000000\r\n{}\r\n", "x".repeat(7_000_000));
    // It may be closed while this is still on its way.
    let _ = queued.send_raw(request.as_bytes());
    assert!(queued.read().is_err() || queued.read().is_err(), "it was closed");
    assert_eq!(number(&mut client, "evicted_clients"), 2);
}

#[test]
fn a_share_of_maxmemory_and_connections_that_do_not_read() {
    let server = Server::larder(&["--threads", "2", "--maxmemory", "100mb", "--maxmemory-clients", "5%"]);
    let mut client = server.client();
    client.cmd(&["SET", "k", &"v".repeat(1_000_000)]);
    // Each is served until some MB wait for it.
    let mut idle: Vec<Client> = (0..8).map(|_| server.client()).collect();
    for reader in &mut idle {
        (0..10).for_each(|_| reader.send(&["GET", "k"]));
    }
    wait_for_clients(&mut client, 7);
    drop(idle);
    wait_for_clients(&mut client, 1);
    let evicted = number(&mut client, "evicted_clients");
    assert_eq!(client.ask("EXISTS k"), Value::Int(1));
    // Subscriptions count.
    let mut subscriber = server.client();
    let names: Vec<String> = (0..90_000).map(|n| format!("channel number {n}")).collect();
    subscriber.send(&[&["SUBSCRIBE".to_owned()], &names[..]].concat());
    let _ = subscriber.read_to_end();
    wait_for_clients(&mut client, 1);
    assert_eq!(number(&mut client, "evicted_clients"), evicted + 1);
}

/// Names and kinds of what MEMORY STATS replies, databases included.
fn shape(value: &Value) -> Vec<String> {
    let kind = |value: &Value| match value {
        Value::Bulk(text) if value.text().parse::<f64>().is_ok() && !text.is_empty() => "number".to_owned(),
        Value::Map(_) | Value::Array(_) => shape(value).join(" "),
        Value::Int(_) => "int".to_owned(),
        Value::Double(_) => "double".to_owned(),
        other => format!("{other}"),
    };
    value.items().chunks(2).map(|pair| format!("{}={}", pair[0].text(), kind(&pair[1]))).collect()
}

#[test]
fn stats_have_valkeys_shape() {
    let [ours, theirs] = [Server::larder(&[]), Server::valkey(&[])].map(|server| {
        let mut client = server.client();
        let mut shapes = Vec::new();
        for protocol in ["2", "3"] {
            client.cmd(&["HELLO", protocol]);
            client.ask("SET k v EX 100");
            client.ask("SELECT 3");
            client.ask("SET k v");
            let mut shape = shape(&client.ask("MEMORY STATS"));
            shape.retain(|figure| !figure.starts_with("cold."));
            shapes.push(shape);
        }
        shapes
    });
    assert_eq!(ours, theirs);
}

/// INFO keysizes counts every key once, of its type and size, and only for those who ask for it.
#[test]
fn sizes_of_keys_are_counted_on_demand() {
    let server = Server::larder(&["--databases", "3"]);
    let mut client = server.client();
    assert_eq!(client.ask("INFO keysizes").text(), "# Keysizes\r\n");
    let strings: Vec<_> =
        (0..20_000).map(|n| command("SET", &format!("s{n}"), ["v".repeat(n % 8 + 1)])).collect();
    pipe(&mut client, &strings);
    client.cmd(&["SET", "empty", ""]);
    client.cmd(&["SET", "long", &"v".repeat(5000)]);
    client.ask("SELECT 2");
    for (count, key) in [(1, "a"), (3, "b"), (2048, "c")] {
        let numbers = || (0..count).map(|n| n.to_string());
        client.cmd(&command("RPUSH", &format!("list{key}"), numbers()));
        client.cmd(&command("SADD", &format!("set{key}"), numbers()));
        client.cmd(&command("ZADD", &format!("zset{key}"), numbers().flat_map(|n| [n.clone(), n])));
        client.cmd(&command("HSET", &format!("hash{key}"), numbers().flat_map(|n| [n.clone(), n])));
    }
    client.ask("XADD stream * f v");
    let items = "1=1,2=1,2K=1";
    let expected = format!(
        "# Keysizes\r\ndb0_distrib_strings_sizes:0=1,1=2500,2=5000,4=10000,8=2500,4K=1\r\n\
         db2_distrib_lists_items:{items}\r\ndb2_distrib_sets_items:{items}\r\n\
         db2_distrib_zsets_items:{items}\r\ndb2_distrib_hashes_items:{items}\r\n"
    );
    assert_eq!(client.ask("INFO keysizes").text(), expected);
    for question in ["INFO", "INFO all", "INFO default", "INFO everything"] {
        assert!(!client.ask(question).text().contains("Keysizes"), "{question} needs no walk");
    }
    client.ask("MULTI");
    client.ask("INFO keysizes");
    assert_eq!(client.ask("EXEC").items()[0].text(), expected);
    assert_eq!(client.cmd(&["EVAL", "return redis.call('INFO', 'keysizes')", "0"]).text(), expected);
}
