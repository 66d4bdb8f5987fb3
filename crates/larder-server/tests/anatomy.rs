//! MEMORY ANATOMY: its sums are those of MEMORY USAGE, its client waits and nobody else, and it ends when it is not wanted.

use larder_testkit::{Client, Kind, Server, Value, wait_until};
use std::collections::BTreeMap;

/// The reply as a map of texts: in RESP2 maps are flat.
fn map(reply: &Value) -> BTreeMap<String, &Value> {
    reply.items().chunks(2).map(|pair| (pair[0].text(), &pair[1])).collect()
}

fn patterns(reply: &Value) -> BTreeMap<String, BTreeMap<String, &Value>> {
    let all = map(reply)["patterns"].items();
    all.iter().map(|group| (map(group)["pattern"].text(), map(group))).collect()
}

/// Every type, with names of several forms: `(pattern, keys)`.
fn fill(client: &mut Client) -> Vec<(&'static str, Vec<String>)> {
    let names = |form: fn(usize) -> String, count: usize| (0..count).map(form).collect::<Vec<String>>();
    let sets = vec![
        ("user:*", names(|n| format!("user:{n}"), 300)),
        ("user:*:cart", names(|n| format!("user:{n}:cart"), 200)),
        ("queue:*", names(|n| format!("queue:{n}"), 40)),
        ("board", vec!["board".to_owned()]),
        ("tags/*/all", names(|n| format!("tags/{n}/all"), 50)),
        ("events:log", vec!["events:log".to_owned()]),
    ];
    for (at, name) in sets[0].1.iter().enumerate() {
        client.cmd(&["SET", name, &"x".repeat(at % 150)]);
        if at % 3 == 0 {
            client.cmd(&["EXPIRE", name, "10000"]);
        }
    }
    for name in &sets[1].1 {
        client.cmd(&["HSET", name, "apples", "2", "pears", "3"]);
    }
    let text = "the same words again and again, which compress well. ".repeat(20);
    for name in &sets[2].1 {
        (0..30).for_each(|_| drop(client.cmd(&["RPUSH", name, &text])));
    }
    (0..1000).for_each(|n| drop(client.cmd(&["ZADD", "board", &n.to_string(), &format!("player{n}")])));
    for name in &sets[4].1 {
        client.cmd(&["SADD", name, "1", "2", "3"]);
    }
    (0..10).for_each(|_| drop(client.cmd(&["XADD", "events:log", "*", "a", "b"])));
    sets
}

fn usage(client: &mut Client, names: &[String]) -> i64 {
    names.iter().map(|name| client.cmd(&["MEMORY", "USAGE", name]).int()).sum()
}

#[test]
fn sums_are_those_of_memory_usage() {
    let server = Server::larder(&["--threads", "2"]);
    let mut client = server.client();
    let sets = fill(&mut client);
    // The first carts share the names of their fields a little later, and take less then.
    let carts = format!("hash_shapes_users:{}\r", sets[1].1.len());
    wait_until("all carts share their names", || client.ask("INFO memory").text().contains(&carts));
    for protocol in ["2", "3"] {
        client.cmd(&["HELLO", protocol]);
        let reply = client.ask("MEMORY ANATOMY");
        let found = patterns(&reply);
        assert_eq!(found.len(), sets.len(), "{:?}", found.keys());
        let mut bytes = 0;
        for (pattern, names) in &sets {
            let group = &found[*pattern];
            assert_eq!(group["keys"].int(), names.len() as i64, "{pattern}");
            assert_eq!(group["bytes"].int(), usage(&mut client, names), "{pattern}");
            bytes += group["bytes"].int();
            let per_key: f64 = group["bytes-per-key"].text().parse().expect("a number");
            assert!((per_key * names.len() as f64 - group["bytes"].int() as f64).abs() < 0.01, "{pattern}");
        }
        let all = map(&reply);
        assert_eq!(all["bytes"].int(), bytes);
        assert_eq!(all["keys"].int(), client.ask("DBSIZE").int());
        assert_eq!(
            (all["keys-looked-at"].int(), all["keys-matched"].int()),
            (all["keys"].int(), all["keys"].int())
        );
        facts(&found);
    }
}

fn facts(found: &BTreeMap<String, BTreeMap<String, &Value>>) {
    let elements = |pattern: &str| found[pattern]["elements"].int();
    assert_eq!(
        ["user:*", "user:*:cart", "queue:*", "board", "tags/*/all", "events:log"].map(elements),
        [0, 400, 1200, 1000, 150, 10]
    );
    let encodings = |pattern: &str| -> Vec<String> {
        found[pattern]["encodings"].items().iter().map(|part| part.to_string()).collect()
    };
    assert_eq!(encodings("board"), ["\"zset/skiplist\"", ":1"]);
    assert_eq!(encodings("tags/*/all"), ["\"set/intset\"", ":50"]);
    assert_eq!(encodings("user:*")[0], "\"string/embstr\"");
    let share: f64 = found["user:*"]["expiring"].text().parse().expect("a number");
    assert!((share - 1.0 / 3.0).abs() < 0.001, "{share}");
    let ttl = found["user:*"]["ttl-seconds"].items();
    assert!(ttl.len() == 3 && ttl.iter().all(|ttl| (8_750..=11_250).contains(&ttl.int())), "{ttl:?}");
    assert!(found["board"]["ttl-seconds"].items().is_empty());
    assert!(found["board"]["idle-seconds"].items().iter().all(|idle| idle.int() < 60));
    let compression = map(found["queue:*"]["compression"]);
    let [plain, lzf, zstd] = ["plain-bytes", "lzf-saves", "zstd-saves"].map(|name| compression[name].int());
    // 30 elements of 1 KB in each of 40 lists, nearly all of which goes.
    assert!(
        plain > 1_200_000 && lzf > plain * 3 / 4 && zstd > plain * 3 / 4 && zstd < plain,
        "{plain} {lzf} {zstd}"
    );
    assert!(found["board"]["compression"].items().is_empty());
}

#[test]
fn shared_field_names_are_shown() {
    let server = Server::larder(&[]);
    let mut client = server.client();
    for n in 0..200 {
        client.cmd(&["HSET", &format!("user:{n}"), "name", "x", "mail", "y", "city", "z"]);
        client.cmd(&["HSET", &format!("cart:{n}"), &format!("product {n}"), "1"]);
    }
    let reply = client.ask("MEMORY ANATOMY");
    let found = patterns(&reply);
    let shared = map(found["user:*"]["shared-names"]);
    let (hashes, saves) = (shared["hashes"].int(), shared["saves"].int());
    // The first hashes of a list of names may still have names of their own.
    assert!((185..=200).contains(&hashes), "{hashes}");
    // Three names of four bytes, and a length for each.
    assert_eq!(saves, hashes * (3 * 4 + 3));
    assert!(found["cart:*"]["shared-names"].items().is_empty());
}

#[test]
fn patterns_parts_and_samples_choose() {
    let server = Server::larder(&[]);
    let mut client = server.client();
    for n in 0..5000 {
        client.cmd(&["SET", &format!("a:{n}:x:{n}:y"), "v"]);
        client.cmd(&["SET", &format!("b:{n}"), "v"]);
    }
    let names = |reply: &Value| patterns(reply).into_keys().collect::<Vec<String>>();
    assert_eq!(names(&client.ask("MEMORY ANATOMY")), ["a:*:x:*:*", "b:*"]);
    assert_eq!(names(&client.ask("MEMORY ANATOMY DEPTH 5")), ["a:*:x:*:y", "b:*"]);
    assert_eq!(names(&client.ask("MEMORY ANATOMY DEPTH 1")), ["a:*", "b:*"]);
    let some = client.ask("MEMORY ANATOMY PATTERN b:1* DEPTH 2");
    assert_eq!(names(&some), ["b:*"]);
    assert_eq!((map(&some)["keys"].int(), map(&some)["keys-matched"].int()), (10_000, 1111));
    let sample = client.ask("MEMORY ANATOMY SAMPLE 1000");
    let all = map(&sample);
    let looked = all["keys-looked-at"].int();
    assert!((1000..1300).contains(&looked), "{looked}");
    assert_eq!((all["keys"].int(), all["keys-matched"].int()), (10_000, 10_000));
    let keys = patterns(&sample)["b:*"]["keys"].int();
    assert!((4000..6000).contains(&keys), "{keys}");
    client.ask("SELECT 1");
    assert_eq!(map(&client.ask("MEMORY ANATOMY"))["keys"].int(), 0);
    for (line, error) in [
        ("MEMORY ANATOMY DEPTH 0", "ERR DEPTH must be between 1 and 16"),
        ("MEMORY ANATOMY DEPTH 17", "ERR DEPTH must be between 1 and 16"),
        ("MEMORY ANATOMY DEPTH x", "ERR value is not an integer or out of range"),
        ("MEMORY ANATOMY SAMPLE 0", "ERR SAMPLE must be at least 1"),
        ("MEMORY ANATOMY SAMPLE -1", "ERR SAMPLE must be at least 1"),
        ("MEMORY ANATOMY PATTERN", "ERR syntax error"),
        ("MEMORY ANATOMY SIZE 1", "ERR syntax error"),
    ] {
        assert_eq!(client.ask(line).text(), error, "{line}");
    }
}

#[test]
fn it_is_no_part_of_transactions_and_scripts() {
    let server = Server::larder(&[]);
    let mut client = server.client();
    client.ask("MULTI");
    let refused = client.ask("MEMORY ANATOMY").text();
    assert_eq!(refused, "ERR Command 'memory|anatomy' not allowed inside a transaction");
    client.ask("DISCARD");
    let refused = client.cmd(&["EVAL", "return redis.call('MEMORY', 'ANATOMY')", "0"]).text();
    assert!(refused.contains("not allowed from script"), "{refused}");
}

/// A script holds a shard, so that the walk does not end.
#[test]
fn one_walk_at_a_time_ends_with_its_client() {
    let server = Server::larder(&["--threads", "4", "--busy-reply-threshold", "60000"]);
    let mut other = server.client();
    other.ask("SET k v");
    // INFO would wait for the shard.
    let until_it = |other: &mut Client, id: i64, waits: bool| {
        while other.ask(&format!("CLIENT LIST ID {id}")).text().contains(" flags=b ") != waits {}
    };
    let mut script = server.client();
    let line = "redis.call('GET', KEYS[1]) redis.log(redis.LOG_WARNING, 'k is held') while true do end";
    script.send(&["EVAL", line, "1", "k"]);
    server.wait_for_log("k is held");
    let mut first = server.client();
    let id = first.ask("CLIENT ID").int();
    first.send(&["MEMORY", "ANATOMY"]);
    until_it(&mut other, id, true);
    // While it waits for the shard, others are served.
    assert_eq!(other.ask("PING").text(), "PONG");
    assert_eq!(other.ask("MEMORY ANATOMY").text(), "ERR Another MEMORY ANATOMY is in progress");
    other.ask(&format!("CLIENT UNBLOCK {id}"));
    assert!(first.read().expect("it is unblocked").items().is_empty());
    until_it(&mut other, id, false);
    assert_eq!(other.ask("SCRIPT KILL").text(), "OK");
    assert!(script.read().expect("the script ends").is_error());
    // The one that nobody wants any more ends, and then another may begin.
    let mut reply = other.ask("MEMORY ANATOMY");
    while reply.is_error() {
        reply = other.ask("MEMORY ANATOMY");
    }
    assert_eq!(map(&reply)["keys"].int(), 1);
    first.send(&["MEMORY", "ANATOMY"]);
    first.end();
    let mut reply = other.ask("MEMORY ANATOMY");
    while reply.is_error() {
        reply = other.ask("MEMORY ANATOMY");
    }
    assert_eq!(patterns(&reply)["k"]["keys"].int(), 1);
}

/// MEMORY HELP is Valkey's, with lines about MEMORY ANATOMY before.
#[test]
fn help_has_three_lines_more_than_valkeys() {
    let help = |server: &Server| -> Vec<String> {
        server.client().ask("MEMORY HELP").items().iter().map(Value::text).collect()
    };
    let (mut ours, theirs) = (help(&Server::larder(&[])), help(&Server::of(Kind::Valkey, &[])));
    let added: Vec<String> = ours.drain(1..4).collect();
    assert!(added[0].starts_with("ANATOMY "), "{added:?}");
    assert_eq!(ours, theirs);
}

/// Patterns that hold a large part of the memory are shown, however many small ones there are.
#[test]
fn large_keys_are_shown_among_many_small_ones() {
    let server = Server::larder(&[]);
    let mut client = server.client();
    (0..300).for_each(|n| drop(client.cmd(&["SET", &format!("key:{n}"), "v"])));
    let prefixes: Vec<String> = ('a'..='o').map(|c| format!("prefix{c}{c}")).collect();
    for prefix in &prefixes {
        client.cmd(&["SET", &format!("{prefix}:string"), &"x".repeat(100_000)]);
    }
    let expect = |client: &mut Client| {
        let reply = client.ask("MEMORY ANATOMY");
        let found = patterns(&reply);
        for prefix in &prefixes {
            let group =
                found.get(&format!("{prefix}:string")).unwrap_or_else(|| panic!("{:?}", found.keys()));
            assert!(group["bytes"].int() > 100_000, "{prefix}");
        }
        assert_eq!(found["key:*"]["keys"].int(), 300);
    };
    expect(&mut client);
    (1..=10).for_each(|n| drop(client.cmd(&["SET", &format!("w{n}"), "v"])));
    expect(&mut client);
    client.cmd(&["SET", "video:string", &"x".repeat(20_000_000)]);
    // The others hold less than 1 % each now.
    let reply = client.ask("MEMORY ANATOMY");
    assert!(patterns(&reply)["video:string"]["bytes"].int() > 20_000_000);
    let largest = map(&reply)["largest-keys"].items();
    assert_eq!(largest.len(), 20);
    let first = map(&largest[0]);
    assert_eq!((first["key"].text(), first["type"].text()), ("video:string".to_owned(), "string".to_owned()));
    assert_eq!(first["bytes"].int(), usage(&mut client, &["video:string".to_owned()]));
}
