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
