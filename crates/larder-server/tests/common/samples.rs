//! Data of every type and encoding.

use larder_testkit::{Client, Value};

/// Options of a server that make the encodings of one round.
pub const ROUNDS: [&[&str]; 4] = [
    &[],
    &["--list-max-listpack-size", "3", "--list-compress-depth", "1"],
    &["--rdbcompression", "no", "--list-max-listpack-size", "-1"],
    &["--hash-max-listpack-entries", "0", "--zset-max-listpack-value", "4", "--set-max-intset-entries", "10"],
];

/// Fills a server with values of every type in small and large encodings; the names of the keys.
pub fn fill(client: &mut Client) -> Vec<String> {
    let text = |len: usize| (0..len).map(|i| char::from(b'a' + (i * i % 17) as u8)).collect::<String>();
    let mut keys = Vec::new();
    let strings =
        ["", "0", "-129", "65536", "2147483648", "9223372036854775807", "12345678901234567890", "3.0"];
    for (i, value) in
        strings.iter().map(|s| (*s).to_owned()).chain([text(20), text(21), text(100_000)]).enumerate()
    {
        keys.push(format!("string:{i}"));
        client.cmd(&["SET", keys.last().expect("just pushed"), &value]);
    }
    for (count, len) in [(1, 1), (5, 10), (400, 3), (60, 5000), (2, 100_000), (3000, 0)] {
        keys.push(format!("list:{count}:{len}"));
        let key = keys.last().expect("just pushed").clone();
        let elements =
            (0..count).map(|i| if i % 3 == 0 { (i as i64 * 31 - 7).to_string() } else { text(len + i % 5) });
        let all: Vec<String> = ["RPUSH".to_owned(), key].into_iter().chain(elements).collect();
        assert_eq!(client.cmd(&all), Value::Int(count as i64));
    }
    for (count, len) in [(1, 1), (5, 10), (5, 100), (500, 3), (3000, 20)] {
        let member = |i: usize| format!("{}{i}", text(len));
        let mut put = |name: &str, args: Vec<String>| {
            let key = format!("{name}:{count}:{len}");
            client.cmd(&[vec![name.to_owned(), key.clone()], args].concat());
            keys.push(key);
        };
        put("SADD", (0..count).map(member).collect());
        put("HSET", (0..count).flat_map(|i| [member(i), (i * 7).to_string()]).collect());
        put("ZADD", (0..count).flat_map(|i| [format!("{}", i as f64 / 4.0 - 50.0), member(i)]).collect());
    }
    for (name, first, step, count) in
        [("small", -5, 3, 20), ("wide", 1, 70_000, 300), ("huge", i64::MIN, 1 << 52, 3000)]
    {
        let numbers = (0..count)
            .map(|i| i64::wrapping_add(first, i64::wrapping_mul(step, i)).to_string())
            .collect::<Vec<_>>();
        let sadd = [vec!["SADD".to_owned(), name.to_owned()], numbers].concat();
        client.cmd(&sadd);
        keys.push(name.to_owned());
    }
    client.ask("SADD mixed 1 2 three 4 -5");
    // Scores that Redis 7.0 and Valkey hash alike in DEBUG DIGEST.
    client.ask("ZADD scores inf a -inf b 0 c 3.125 d -0.5 e 17 h 0.25 17");
    client.ask("HSET hash 1 2 3 four five 6");
    // A large set tells -0 from 0.
    client.ask(&format!("ZADD zeros -1 {} 0 a -0 b -0 c 0 d", text(70)));
    keys.extend(["mixed", "scores", "zeros", "hash"].map(str::to_owned));
    keys.extend(fill_streams(client));
    keys
}

/// Streams of one and of many nodes, with deleted entries, groups, consumers and pending entries; their names.
fn fill_streams(client: &mut Client) -> Vec<String> {
    for i in 1..700 {
        client.ask(&format!(
            "XADD stream:long {i}-{} temperature {} humidity {}",
            i % 3,
            i * 7 % 41,
            i % 101
        ));
        if i % 7 == 0 {
            client.ask(&format!("XADD stream:long {i}-9 other {}", "x".repeat(i)));
            client.ask(&format!("XDEL stream:long {}-{}", i / 2, i / 2 % 3));
        }
    }
    client.ask("XTRIM stream:long MAXLEN 500");
    client.ask("XADD stream:one 1-1 a b");
    client.ask("XADD stream:emptied 18446744073709551615-18446744073709551614 a b");
    client.ask("XTRIM stream:emptied MAXLEN 0");
    client.ask("XGROUP CREATE stream:groups first $ MKSTREAM");
    client.ask("XGROUP CREATE stream:long first 0");
    client.ask("XGROUP CREATE stream:long second 300 ENTRIESREAD 17");
    client.ask("XGROUP CREATECONSUMER stream:long second idle");
    for i in 0..30 {
        client.ask(&format!("XREADGROUP GROUP first c{} COUNT 10 STREAMS stream:long >", i % 4));
    }
    client.ask("XREADGROUP GROUP second c COUNT 3 STREAMS stream:long >");
    client.ask("XCLAIM stream:long first c9 0 301-1 302-2 303-0 RETRYCOUNT 9 TIME 1000 JUSTID");
    ["long", "one", "emptied", "groups"].map(|name| format!("stream:{name}")).to_vec()
}

/// All that a server tells of a stream, but for times of consumers, which need not survive.
pub fn stream_description(client: &mut Client, key: &str) -> Vec<Value> {
    let mut all = vec![client.ask(&format!("XRANGE {key} - +")), client.ask(&format!("XINFO GROUPS {key}"))];
    let info = client.ask(&format!("XINFO STREAM {key}"));
    // The number of nodes of Redis's radix tree is its own.
    all.extend(info.items().iter().enumerate().filter(|(at, _)| *at != 5).map(|(_, item)| item.clone()));
    for group in ["first", "second", "g"] {
        all.push(client.ask(&format!("XPENDING {key} {group}")));
        let pending = client.ask(&format!("XPENDING {key} {group} - + 1000"));
        all.extend(pending.items().iter().flat_map(|entry| [0, 1, 3].map(|at| entry.items()[at].clone())));
    }
    all
}
