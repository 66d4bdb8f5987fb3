//! How data is kept and goes, and what is measured of commands.

use crate::figure;
use larder_testkit::{Client, Kind, Server, Value, wait_until};

const KINDS: [Kind; 2] = [Kind::Larder, Kind::Valkey];

#[test]
fn keys_go_by_themselves_at_every_effort() {
    for kind in KINDS {
        let server = Server::of(kind, &["--active-expire-effort", "10"]);
        let mut client = server.client();
        let fill = "for i = 1, 20000 do redis.call('SET', i, 'v', 'PX', 1) end";
        for effort in ["10", "1"] {
            assert_eq!(client.ask(&format!("CONFIG SET active-expire-effort {effort}")).text(), "OK");
            client.ask("CONFIG RESETSTAT");
            client.cmd(&["EVAL", fill, "0"]);
            wait_until("expiry", || client.ask("DBSIZE").int() == 0);
            assert_eq!(figure(&mut client, "stats", "expired_keys"), "20000", "{} {effort}", kind.name());
        }
        for wrong in ["0", "11", "x"] {
            assert!(client.ask(&format!("CONFIG SET active-expire-effort {wrong}")).is_error(), "{wrong}");
        }
    }
}

/// Hashes with the same field names share them, or those that are there already come to, and answer as before.
#[test]
fn hashes_share_field_names() {
    let shapes =
        |client: &mut Client| figure(client, "memory", "hash_shapes_users").parse::<u64>().expect("a number");
    for threads in ["1", "3"] {
        let args = [
            "--hash-shared-fields",
            "no",
            "--threads",
            threads,
            "--save",
            "3600 1000000",
            "--enable-debug-command",
            "yes",
        ];
        let mut server = Server::larder(&args);
        let mut client = server.client();
        let fill = "for i = 1, 3000 do redis.call('HSET', 'h' .. i, 'name', 'n' .. i, 'mail', 'm' .. i % 7, 'age', i) end";
        client.cmd(&["EVAL", fill, "0"]);
        let (digest, before) = (client.ask("DEBUG DIGEST"), client.ask("MEMORY USAGE h77").int());
        assert_eq!(shapes(&mut client), 0);
        assert_eq!(client.ask("CONFIG SET hash-shared-fields yes").text(), "OK");
        wait_until("the hashes share their names", || shapes(&mut client) == 3000);
        client.cmd(&["EVAL", &fill.replace("'h' ..", "'again' .."), "0"]);
        wait_until("all hashes share their names", || shapes(&mut client) == 6000);
        assert!(client.ask("MEMORY USAGE h77").int() < before);
        client.cmd(&["EVAL", "for i = 1, 3000 do redis.call('DEL', 'again' .. i) end", "0"]);
        assert_eq!(client.ask("DEBUG DIGEST").text(), digest.text());
        assert_eq!(
            client.ask("HGETALL h5").items().iter().map(Value::text).collect::<Vec<_>>(),
            ["name", "n5", "mail", "m5", "age", "5"]
        );
        assert_eq!(client.ask("OBJECT ENCODING h5").text(), "listpack");
        // After a restart they share them from the first moment on.
        assert!(server.stop().success());
        let args: Vec<&str> = args.iter().map(|&arg| if arg == "no" { "yes" } else { arg }).collect();
        assert!(server.start_again(&args), "{}", server.log());
        let mut client = server.client();
        assert_eq!(client.ask("DEBUG DIGEST").text(), digest.text());
        wait_until("all hashes share their names", || shapes(&mut client) == 3000);
        // One that gets another field has other names.
        client.ask("HSET h5 more 1");
        wait_until("one has left", || shapes(&mut client) == 2999);
        client.ask("FLUSHALL");
        assert_eq!(shapes(&mut client), 0);
    }
}

/// A large value that is evicted, freed in the background or not.
#[test]
fn evicted_values_are_freed_in_the_background() {
    for (value, freed) in [("yes", "1"), ("no", "0")] {
        for kind in KINDS {
            let server = Server::of(kind, &["--lazyfree-lazy-eviction", value]);
            let mut client = server.client();
            let fill = "for i = 1, 8000 do redis.call('HSET', KEYS[1], i, string.rep('x', 60)) end";
            client.cmd(&["EVAL", fill, "1", "big"]);
            client.ask("CONFIG RESETSTAT");
            client.ask("CONFIG SET maxmemory-policy allkeys-random maxmemory 1");
            client.ask("SET small v");
            client.ask("CONFIG SET maxmemory 0");
            assert_eq!(client.ask("DBSIZE").int(), 0, "{}", kind.name());
            wait_until("freeing", || figure(&mut client, "memory", "lazyfree_pending_objects") == "0");
            let lazily = figure(&mut client, "memory", "lazyfreed_objects");
            assert_eq!(lazily, freed, "{} {value}", kind.name());
        }
    }
}

/// Inner blocks take less memory with any codec, and hold the same.
#[test]
fn inner_blocks_of_lists_are_compressed() {
    let list = |depth: &str, codec: &str| {
        let args = ["--list-compress-depth", depth, "--list-compress-codec", codec];
        let server = Server::larder(&args);
        let mut client = server.client();
        let fill =
            "for i = 1, 20000 do redis.call('RPUSH', KEYS[1], 'an element that is like the others '..i) end";
        client.cmd(&["EVAL", fill, "1", "l"]);
        wait_until("packing", || figure(&mut client, "memory", "lists_waiting_for_compression") == "0");
        (client.ask("MEMORY USAGE l SAMPLES 0").int(), client.ask("DEBUG DIGEST").text())
    };
    let (plain, digest) = list("0", "lzf");
    let mut sizes = Vec::new();
    for codec in ["lzf", "lz4", "zstd"] {
        let (size, same) = list("1", codec);
        assert!(size < plain / 2 && same == digest, "{codec}: {size} of {plain}");
        assert!(!sizes.contains(&size), "{codec} is another codec's");
        sizes.push(size);
    }
}

#[test]
fn a_seed_gives_the_same_order() {
    let order = |seed: &str| {
        let server = Server::larder(&["--hash-seed", seed]);
        let mut client = server.client();
        client.cmd(&[
            "EVAL",
            "for i = 1, 300 do redis.call('SET', i, 'v') redis.call('SADD', 's', 'm'..i) end",
            "0",
        ]);
        (client.ask("KEYS *").to_string(), client.ask("SMEMBERS s").to_string())
    };
    let one = order("one seed");
    assert_eq!(one, order("one seed"));
    let other = order("another seed");
    assert!(one.0 != other.0 && one.1 != other.1);
}

fn latencies(client: &mut Client) -> (bool, bool) {
    client.ask("CONFIG RESETSTAT");
    client.ask("SET k v");
    let histogram = client.ask("LATENCY HISTOGRAM set");
    let info = client.ask("INFO latencystats").text();
    (!histogram.items().is_empty(), info.contains("latency_percentiles_usec_set:"))
}

#[test]
fn times_of_commands_are_kept_if_wanted() {
    for kind in KINDS {
        let server = Server::of(kind, &["--latency-tracking", "no"]);
        let mut client = server.client();
        assert_eq!(latencies(&mut client), (false, false), "{}", kind.name());
        client.ask("CONFIG SET latency-tracking yes");
        assert_eq!(latencies(&mut client), (true, true), "{}", kind.name());
        client.ask("CONFIG SET latency-tracking no");
        assert_eq!(latencies(&mut client), (false, false), "{}", kind.name());
    }
}

#[test]
fn percentiles_are_those_that_are_wanted() {
    let [ours, theirs] = KINDS.map(|kind| {
        let server = Server::of(kind, &["--latency-tracking-info-percentiles", "50 99.99 0"]);
        let mut client = server.client();
        let mut shown = |value: Option<&str>| {
            let set = ["CONFIG", "SET", "latency-tracking-info-percentiles"];
            let answer = value.map(|value| client.cmd(&[&set[..], &[value]].concat()).to_string());
            client.ask("SET k v");
            let info = client.ask("INFO latencystats").text();
            let line = info.lines().find(|line| line.contains("usec_set:")).unwrap_or_default().to_owned();
            let names: Vec<String> = line
                .split([':', ','])
                .skip(1)
                .filter_map(|part| part.split('=').next())
                .map(str::to_owned)
                .collect();
            let value =
                client.ask("CONFIG GET latency-tracking-info-percentiles").items().last().map(Value::text);
            (answer, names, value)
        };
        ["", "100", "33.333 66.666", "101", "-1", "x", "50 x"]
            .map(|value| shown(Some(value)))
            .into_iter()
            .chain([shown(None)])
            .collect::<Vec<_>>()
    });
    assert_eq!(ours, theirs);
    assert_eq!(ours[1].1, ["p100"]);
}

/// Payloads of later versions, when they are checked and when they are not.
#[test]
fn versions_of_payloads() {
    for kind in KINDS {
        let server = Server::of(kind, &[]);
        let mut client = server.client();
        client.ask("DEBUG SET-SKIP-CHECKSUM-VALIDATION 1");
        // A string; version 99; no checksum.
        let payload = b"\x00\x01v\x63\x00\0\0\0\0\0\0\0\0";
        let mut restore = |value: &str| {
            assert_eq!(client.ask(&format!("CONFIG SET rdb-version-check {value}")).text(), "OK");
            client.cmd(&[&b"RESTORE"[..], b"k", b"0", payload, b"REPLACE"]).text()
        };
        let answers = ["strict", "relaxed", "strict"].map(&mut restore);
        assert!(answers[0].contains("version or checksum"), "{}: {answers:?}", kind.name());
        assert_eq!((answers[1].as_str(), &answers[2]), ("OK", &answers[0]), "{}", kind.name());
    }
}
