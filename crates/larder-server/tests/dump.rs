//! DUMP payloads go both ways between Larder and redis-server 7.0: the same data gives the same DEBUG DIGEST-VALUE.

#[path = "common/samples.rs"]
mod samples;

use larder_rdb::dump;
use larder_rdb::read::{Loaded, Options};
use larder_testkit::{Client, Server, Value};
use samples::{ROUNDS, fill, stream_description};

fn payload(client: &mut Client, key: &str) -> Vec<u8> {
    match client.cmd(&["DUMP", key]) {
        Value::Bulk(bytes) => bytes,
        other => panic!("DUMP {key}: {other}"),
    }
}

/// Takes every key of `from` over to `to` by DUMP and RESTORE, and compares digests and encodings.
fn take_over(from: &mut Client, to: &mut Client, keys: &[String]) {
    to.ask("FLUSHALL");
    for key in keys {
        let bytes = payload(from, key);
        let restored = to.cmd::<&[u8]>(&[b"RESTORE", key.as_bytes(), b"0", &bytes]);
        assert_eq!(restored, Value::Simple("OK".to_owned()), "{key}");
        let digest = |client: &mut Client| client.cmd(&["DEBUG", "DIGEST-VALUE", key]);
        assert_eq!(digest(from), digest(to), "{key}");
        if key.starts_with("stream:") {
            assert_eq!(stream_description(from, key), stream_description(to, key), "{key}");
        }
    }
    assert_eq!(from.ask("DEBUG DIGEST"), to.ask("DEBUG DIGEST"));
}

#[test]
fn payloads_go_both_ways() {
    for args in ROUNDS {
        let larder = Server::larder(&[&["--rdb-target-version", "10"][..], args].concat());
        let (redis, other) = (Server::redis(args), Server::larder(&["--threads", "2"]));
        let (mut larder, mut redis, mut other) = (larder.client(), redis.client(), other.client());
        let keys = fill(&mut redis);
        take_over(&mut redis, &mut larder, &keys);
        take_over(&mut larder, &mut redis, &keys);
        larder.ask("FLUSHALL");
        redis.ask("FLUSHALL");
        fill(&mut larder);
        take_over(&mut larder, &mut redis, &keys);
        take_over(&mut larder, &mut other, &keys);
    }
}

/// Payloads of the blocks of collections: Larder restores them, a replica that is another server gets the standard
/// form, and other servers refuse them.
#[test]
fn blocks_are_restored_as_they_are() {
    let from = Server::larder(&[]);
    let to = Server::larder(&["--rdb-target-version", "10", "--enable-debug-command", "yes"]);
    let replica = Server::redis(&["--replicaof", "127.0.0.1", &to.port().to_string()]);
    let (mut from, mut to, mut redis) = (from.client(), to.client(), replica.client());
    while to.ask("WAIT 1 1000").int() < 1 {}
    let keys = fill(&mut from);
    let mut made = 0;
    for key in &keys {
        let standard = payload(&mut from, key);
        let Some(own) = in_blocks(&standard) else { continue };
        made += 1;
        let restore: [&[u8]; 4] = [b"RESTORE", key.as_bytes(), b"0", &own];
        assert_eq!(to.cmd(&restore), Value::Simple("OK".to_owned()), "{key}");
        let digest = |client: &mut Client| client.cmd(&["DEBUG", "DIGEST-VALUE", key]);
        assert_eq!(digest(&mut from), digest(&mut to), "{key}");
        assert_eq!(to.ask("WAIT 1 60000"), Value::Int(1));
        assert_eq!(digest(&mut from), digest(&mut redis), "{key} on the replica");
        assert_eq!(to.cmd(&restore).text(), "BUSYKEY Target key name already exists.");
        let mut damaged = own.clone();
        damaged[own.len() / 2] ^= 1;
        let restore: [&[u8]; 5] = [b"RESTORE", key.as_bytes(), b"0", &damaged, b"REPLACE"];
        assert!(to.cmd(&restore).is_error(), "{key}");
    }
    assert!(made > 20, "{made} collections");
    redis.ask("REPLICAOF NO ONE");
    let list = keys.iter().find(|key| key.starts_with("list:")).expect("there is a list");
    let own = in_blocks(&payload(&mut from, list)).expect("a list has blocks");
    let restore: [&[u8]; 4] = [b"RESTORE", b"new", b"0", &own];
    assert!(redis.cmd(&restore).is_error());
}

/// The value of a payload as the blocks that it lies in.
fn in_blocks(payload: &[u8]) -> Option<Vec<u8>> {
    match dump::restore(payload, &Options::default()) {
        Ok(Some(Loaded::Value(value))) => dump::of_blocks(&value),
        _ => None,
    }
}

#[test]
fn restore_answers_as_redis_does() {
    let servers = [Server::larder(&["--rdb-target-version", "10"]), Server::redis(&[])];
    let mut replies = servers.iter().map(|server| replies(&mut server.client()));
    let (ours, theirs) = (replies.next(), replies.next());
    assert_eq!(ours, theirs);
}

fn replies(client: &mut Client) -> Vec<Value> {
    client.ask("RPUSH list a b c");
    client.ask("SET string value");
    let good = payload(client, "list");
    let mut replies = vec![client.ask("DUMP none"), client.ask("DUMP"), client.cmd(&["RESTORE", "x", "0"])];
    let mut flipped = good.clone();
    flipped[3] ^= 1;
    let mut newer = good.clone();
    let version = newer.len() - 10;
    newer[version] = 200;
    let payloads: [&[u8]; 6] = [b"", b"short", &good[..good.len() - 1], &flipped, &newer, &good];
    let tails: [&[&str]; 13] = [
        &[],
        &["REPLACE"],
        &["ABSTTL"],
        &["replace", "absttl"],
        &["IDLETIME"],
        &["IDLETIME", "-1"],
        &["IDLETIME", "x"],
        &["IDLETIME", "1000", "REPLACE"],
        &["FREQ", "256"],
        &["FREQ", "255", "REPLACE"],
        &["FREQ", "1", "IDLETIME", "1"],
        &["REPLACE", "REPLACE"],
        &["WHAT"],
    ];
    for payload in payloads {
        for ttl in ["0", "100000", "-1", "abc", "9999999999999"] {
            for tail in tails {
                let mut args: Vec<&[u8]> = vec![b"RESTORE", b"new", ttl.as_bytes(), payload];
                args.extend(tail.iter().map(|word| word.as_bytes()));
                replies.push(client.cmd(&args));
                replies.push(client.ask("LRANGE new 0 -1"));
                replies.push(client.ask("TYPE string"));
            }
        }
    }
    replies.push(client.cmd::<&[u8]>(&[b"RESTORE", b"string", b"1", &good, b"ABSTTL", b"REPLACE"]));
    replies.push(client.ask("EXISTS string"));
    replies.push(client.cmd::<&[u8]>(&[b"RESTORE", b"string", b"9999999999999", &good, b"ABSTTL"]));
    replies.push(client.ask("PEXPIRETIME string"));
    replies
}

#[test]
fn times_of_fields_survive() {
    let server = Server::larder(&["--rdb-target-version", "10"]);
    let mut client = server.client();
    client.ask("HSET h a 1 b 2 c 3");
    client.ask("HPEXPIREAT h 99999999999999 FIELDS 2 a c");
    let bytes = payload(&mut client, "h");
    assert_eq!(bytes[0], 22, "the type of Valkey 9 that keeps them");
    client.cmd::<&[u8]>(&[b"RESTORE", b"again", b"0", &bytes]);
    let times = |client: &mut Client, key: &str| client.ask(&format!("HPEXPIRETIME {key} FIELDS 3 a b c"));
    let expected = vec![Value::Int(99_999_999_999_999), Value::Int(-1), Value::Int(99_999_999_999_999)];
    assert_eq!(times(&mut client, "again"), Value::Array(expected));
    assert_eq!(times(&mut client, "again"), times(&mut client, "h"));
    client.ask("HPERSIST h FIELDS 2 a c");
    assert_eq!(payload(&mut client, "h")[0], 4);
}

#[test]
fn a_restored_list_serves_those_who_wait() {
    let server = Server::larder(&["--threads", "2"]);
    let (mut client, mut waiting) = (server.client(), server.client());
    client.ask("RPUSH list a b");
    let bytes = payload(&mut client, "list");
    waiting.send(&["BLPOP", "other", "0"]);
    while !client.ask("INFO clients").text().contains("blocked_clients:1") {}
    client.cmd::<&[u8]>(&[b"RESTORE", b"other", b"0", &bytes]);
    assert_eq!(waiting.read().expect("it is served").items()[1].text(), "a");
    assert_eq!(client.ask("LLEN other"), Value::Int(1));
}

/// A string of a payload.
fn string(bytes: &[u8]) -> Vec<u8> {
    let head = match bytes.len() {
        len @ 0..64 => vec![len as u8],
        len => (len as u16 | 0x4000).to_be_bytes().to_vec(),
    };
    [head, bytes.to_vec()].concat()
}

/// A ziplist of short strings, with these numbers in its header in place of the right ones.
fn ziplist(entries: &[&str], tail: Option<u32>, count: Option<u16>) -> Vec<u8> {
    let (mut body, mut previous) = (Vec::new(), 0);
    for entry in entries {
        let start = body.len();
        body.extend([previous as u8, entry.len() as u8]);
        body.extend(entry.bytes());
        previous = body.len() - start;
    }
    let last = (10 + body.len() - previous) as u32;
    let mut bytes = ((11 + body.len()) as u32).to_le_bytes().to_vec();
    bytes.extend(tail.unwrap_or(last).to_le_bytes());
    bytes.extend(count.unwrap_or(entries.len() as u16).to_le_bytes());
    [bytes, body, vec![0xFF]].concat()
}

/// A zipmap of one field, with a length of five bytes if it is `long`.
fn zipmap(count: u8, field: &str, long: bool) -> Vec<u8> {
    let mut bytes = vec![count];
    match field.len() {
        len @ 0..254 if !long => bytes.push(len as u8),
        len => {
            bytes.push(254);
            bytes.extend((len as u32).to_le_bytes());
        }
    }
    bytes.extend(field.bytes());
    bytes.extend(b"\x01\x00v\xFF");
    bytes
}

/// Payloads of the old types, sound and damaged: what Valkey refuses is refused, and what it takes is the same value.
#[test]
fn old_types_are_checked_as_in_valkey() {
    const LIST_ZIPLIST: u8 = 10;
    const ZSET_ZIPLIST: u8 = 12;
    const HASH_ZIPLIST: u8 = 13;
    const ZIPMAP: u8 = 9;
    const QUICKLIST: u8 = 14;
    const QUICKLIST_2: u8 = 18;
    let mut bodies: Vec<(u8, Vec<u8>)> = Vec::new();
    let entries = ["hi", "1", "abc", "2"];
    for kind in [LIST_ZIPLIST, ZSET_ZIPLIST, HASH_ZIPLIST] {
        let sound = ziplist(&entries, None, None);
        let tail = u32::from_le_bytes(sound[4..8].try_into().expect("four bytes"));
        for other in [0, 10, tail - 1, tail, tail + 1, tail + 3, 1000, u32::MAX] {
            bodies.push((kind, string(&ziplist(&entries, Some(other), None))));
        }
        for count in [0, 3, 5, u16::MAX - 1, u16::MAX] {
            bodies.push((kind, string(&ziplist(&entries, None, Some(count)))));
        }
        bodies.push((kind, string(&ziplist(&[], None, None))));
    }
    let nodes: [&[Vec<u8>]; 7] = [
        &[],
        &[ziplist(&[], None, None)],
        &[ziplist(&[], None, None), ziplist(&[], None, None)],
        &[ziplist(&["a"], None, None), ziplist(&[], None, None)],
        &[ziplist(&[], Some(0), None), ziplist(&["a"], None, None)],
        &[ziplist(&["a"], None, None)],
        &[ziplist(&["a", "b"], Some(10), None)],
    ];
    for nodes in nodes {
        let body = nodes.iter().flat_map(|node| string(node));
        bodies.push((QUICKLIST, std::iter::once(nodes.len() as u8).chain(body).collect()));
    }
    for (container, node) in
        [(1, &b""[..]), (1, b"a"), (2, b"\x07\0\0\0\0\0\xFF"), (2, b"\x0A\0\0\0\x01\0\x81a\x02\xFF")]
    {
        bodies.push((QUICKLIST_2, [vec![1, container], string(node)].concat()));
    }
    for count in [0, 1, 2, 253, 254, 255] {
        bodies.push((ZIPMAP, string(&zipmap(count, "field", false))));
    }
    for (field, long) in [("field", true), ("", true), (&*"x".repeat(253), true), (&*"x".repeat(254), true)] {
        bodies.push((ZIPMAP, string(&zipmap(1, field, long))));
    }
    let servers = [Server::larder(&[]), Server::valkey(&[])];
    let [mut larder, mut valkey] = servers.each_ref().map(Server::client);
    let mut refused = 0;
    for (kind, body) in bodies {
        let mut payload = [vec![kind], body, vec![11, 0]].concat();
        payload.extend(larder_rdb::Crc64::of(&payload).to_le_bytes());
        let answers = [&mut larder, &mut valkey].map(|client| {
            client.ask("DEL key");
            let reply = client.cmd::<&[u8]>(&[b"RESTORE", b"key", b"0", &payload]).text();
            (reply, client.ask("DEBUG DIGEST-VALUE key").to_string())
        });
        assert_eq!(answers[0], answers[1], "{}", payload.escape_ascii());
        refused += u32::from(answers[0].0 != "OK");
    }
    assert!(refused > 30, "only {refused} are refused");
}
