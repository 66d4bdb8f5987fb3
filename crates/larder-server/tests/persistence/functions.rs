//! Libraries of functions in files and payloads.

use crate::{carry, ok, wait_for};
use larder_testkit::{Client, Server};

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
                let end = bytes.len() - 8;
                bytes[end..].fill(0);
            }
        }
        client.cmd(&[b"FUNCTION".as_slice(), b"RESTORE", &bytes]);
        client.cmd(&[b"FUNCTION".as_slice(), b"DELETE", b"extra"]);
    }
    check(&mut client);
}
