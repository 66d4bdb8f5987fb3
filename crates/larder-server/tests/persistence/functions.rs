//! Libraries of functions in files and payloads.

use crate::{carry, checked, ok, wait_for};
use larder_testkit::{Client, Kind, Server};

const CODE: &str = "#!lua name=counting
local step = 2
redis.register_function('count', function(keys) return redis.call('incrby', keys[1], step) end)
redis.register_function{function_name='look', callback=function(keys) return redis.call('get', keys[1]) end, \
    flags={'no-writes'}, description='only looks'}";
const OTHER: &str = "#!lua name=other\nredis.register_function('other', function() return 'here' end)";

fn load(client: &mut Client) {
    assert_eq!(client.cmd(&["FUNCTION", "LOAD", CODE]).text(), "counting");
    assert_eq!(client.cmd(&["FUNCTION", "LOAD", OTHER]).text(), "other");
    assert_eq!(client.ask("FCALL count 1 n").int(), 2);
}

fn check(client: &mut Client) {
    assert_eq!(client.ask("FCALL other 0").text(), "here");
    assert_eq!(client.ask("FCALL_RO look 1 n").text(), "2");
    let list = client.ask("FUNCTION LIST LIBRARYNAME counting WITHCODE").to_string();
    assert!(
        list.contains("only looks") && list.contains("no-writes") && list.contains("local step = 2"),
        "{list}"
    );
}

#[test]
fn functions_are_saved() {
    let mut server = Server::larder(&["--threads", "2"]);
    load(&mut server.client());
    assert_eq!(server.client().ask("SAVE"), ok());
    server.kill();
    assert!(server.start_again(&["--threads", "2"]));
    check(&mut server.client());
}

#[test]
fn functions_are_logged() {
    for preamble in ["yes", "no"] {
        let args =
            ["--appendonly", "yes", "--aof-use-rdb-preamble", preamble, "--enable-debug-command", "yes"];
        let mut server = Server::larder(&args);
        let mut client = server.client();
        load(&mut client);
        client.ask("WAITAOF 1 0 0");
        server.kill();
        assert!(server.start_again(&args));
        let mut client = server.client();
        check(&mut client);
        client.ask("BGREWRITEAOF");
        wait_for(&mut client, "INFO persistence", "aof_rewrites:1");
        assert_eq!(client.ask("DEBUG LOADAOF"), ok());
        check(&mut client);
        assert_eq!(client.ask("FUNCTION DELETE other"), ok());
        client.ask("WAITAOF 1 0 0");
        server.kill();
        assert!(server.start_again(&args));
        assert!(server.client().ask("FCALL other 0").is_error());
        assert_eq!(server.client().ask("FCALL count 1 n").int(), 4);
    }
}

/// Between Larder and redis-server, as a file and as a payload, both ways.
#[test]
fn functions_travel() {
    let version = ["--rdb-target-version", "10"];
    type Kind<'a> = (fn(&[&str]) -> Server, &'a [&'a str]);
    let kinds: [Kind<'_>; 2] = [(Server::larder, &version), (Server::redis, &[])];
    for (from, to) in [(kinds[0], kinds[1]), (kinds[1], kinds[0])] {
        let source = from.0(from.1);
        let mut client = source.client();
        load(&mut client);
        let payload = client.ask("FUNCTION DUMP");
        client.ask("SAVE");
        let mut target = to.0(to.1);
        let mut there = target.client();
        assert_eq!(there.cmd(&[b"FUNCTION".as_slice(), b"RESTORE", payload.bytes()]), ok());
        there.ask("SET n 2");
        check(&mut there);
        let again = there.cmd(&[b"FUNCTION".as_slice(), b"RESTORE", payload.bytes()]);
        assert!(again.text().contains("already exists"), "{again}");
        for policy in ["REPLACE", "FLUSH"] {
            let args = [b"FUNCTION".as_slice(), b"RESTORE", payload.bytes(), policy.as_bytes()];
            assert_eq!(there.cmd(&args), ok());
            check(&mut there);
        }
        target.kill();
        carry("dump.rdb", source.dir(), target.dir());
        assert!(target.start_again(to.1));
        check(&mut target.client());
    }
}

#[test]
fn damaged_payloads_change_nothing() {
    let server = Server::larder(&[]);
    let mut client = server.client();
    load(&mut client);
    let payload = client.ask("FUNCTION DUMP").bytes().to_vec();
    let mut rng = fastrand::Rng::with_seed(larder_testkit::seed(5));
    for _ in 0..500 {
        let mut bytes = payload.clone();
        match rng.u8(..3) {
            0 => bytes.truncate(rng.usize(..bytes.len())),
            1 => bytes[rng.usize(..payload.len())] ^= 1 << rng.u8(..8),
            // The footer is right, what is before it is not.
            _ => {
                let body = payload.len() - 10;
                bytes[rng.usize(..body)] ^= 1 << rng.u8(..8);
                bytes.truncate(bytes.len() - 8);
                bytes = checked(bytes);
            }
        }
        client.cmd(&[b"FUNCTION".as_slice(), b"RESTORE", &bytes]);
        client.cmd(&[b"FUNCTION".as_slice(), b"DELETE", b"extra"]);
    }
    check(&mut client);
}

/// A library as it is in a payload.
fn library(code: &str) -> Vec<u8> {
    let len = u16::try_from(code.len()).unwrap() | 1 << 14;
    [&[245][..], &len.to_be_bytes(), code.as_bytes()].concat()
}

/// What is wrong is told in the words of Valkey, in its order, and nothing of such a payload comes.
#[test]
fn payloads_are_judged_as_valkey_does() {
    let code = |name: &str, function: &str| {
        format!("#!lua name={name}\nredis.register_function('{function}', function() return '{name}' end)")
    };
    let of = |libraries: &[(&str, &str)]| -> Vec<u8> {
        libraries.iter().flat_map(|&(name, function)| library(&code(name, function))).collect()
    };
    let good = of(&[("a", "f")]);
    let wrong = library("#!lua name=w\nx y");
    let cut = &library(&code("b", "g"))[..30];
    let payloads: [(&str, Vec<u8>); 16] = [
        ("two of a name", of(&[("a", "f"), ("a", "g")])),
        ("two functions of a name", of(&[("a", "f"), ("b", "f")])),
        ("functions change places", of(&[("a", "g"), ("b", "f")])),
        ("a function of another", of(&[("c", "f")])),
        ("a string", [&good[..], b"\x00\x01x"].concat()),
        ("only a string", b"\x00\x01x".to_vec()),
        ("of a release candidate", [&good[..], b"\xf6\x01x"].concat()),
        ("cut", [&good[..], cut].concat()),
        ("cut at the mark", [&good[..], b"\xf5"].concat()),
        ("wrong, then cut", [&wrong[..], cut].concat()),
        ("longer than the payload", [b"\xf5\x80\xff\xff\xff\xff", &good[..]].concat()),
        ("a number", b"\xf5\xc0\x05".to_vec()),
        ("not compressed", b"\xf5\xc3\x05\x05abcde".to_vec()),
        ("no code", b"\xf5\x00".to_vec()),
        ("nothing", Vec::new()),
        ("good", of(&[("a", "f"), ("b", "g")])),
    ];
    let servers = [Server::of(Kind::Larder, &[]), Server::of(Kind::Valkey, &[])];
    let mut clients = servers.each_ref().map(Server::client);
    let mut same = |what: &str, args: &[&[u8]]| {
        let [ours, theirs] = clients.each_mut().map(|client| client.cmd(args));
        assert_eq!(ours, theirs, "{what}");
    };
    for (what, body) in &payloads {
        for policy in ["APPEND", "REPLACE", "FLUSH"] {
            same("flush", &[b"FUNCTION", b"FLUSH"]);
            // Which of two that are there already is named is a matter of chance.
            let there = [("a", "f"), ("b", "g")];
            for &(name, function) in &there[..1 + usize::from(policy == "REPLACE")] {
                same("load", &[b"FUNCTION", b"LOAD", code(name, function).as_bytes()]);
            }
            let payload = checked([body, &[11, 0][..]].concat());
            same(&format!("{what}, {policy}"), &[b"FUNCTION", b"RESTORE", &payload, policy.as_bytes()]);
            for function in ["f", "g"] {
                same(&format!("after {what}, {policy}"), &[b"FCALL", function.as_bytes(), b"0"]);
            }
        }
    }
    // Footers, of libraries and of values.
    for version in 0_u16..100 {
        let footer = version.to_le_bytes();
        let payload = checked([&good, &footer[..]].concat());
        same(&format!("version {version}"), &[b"FUNCTION", b"RESTORE", &payload, b"REPLACE"]);
        let payload = checked([b"\x00\x01x", &footer[..]].concat());
        same(&format!("version {version}"), &[b"RESTORE", b"key", b"0", &payload, b"REPLACE"]);
    }
    same("no checksum", &[b"RESTORE", b"key", b"0", b"\x00\x01x\x0b\x00\x00\x00\x00\x00\x00\x00\x00\x00"]);
}
