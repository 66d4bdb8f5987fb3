//! XREAD, and those who wait for entries.

use crate::{run_script, words};
use larder_testkit::{Client, Kind, Server, Value};

#[test]
fn reading() {
    run_script(
        r#"
        XADD s 1-1 a b
        XADD s 2-1 a c
        XADD t 1-1 x y
        XREAD STREAMS s 0
        XREAD STREAMS s t 0 0
        XREAD STREAMS s t none 1 1-1 0
        XREAD COUNT 1 STREAMS s t 0 0
        XREAD COUNT 0 STREAMS s 0
        XREAD COUNT -1 STREAMS s 0
        XREAD COUNT x STREAMS s 0
        XREAD COUNT 1 STREAMS s 1-1
        XREAD STREAMS s 2-1
        XREAD STREAMS s $
        XREAD STREAMS none $
        XREAD STREAMS s 18446744073709551615-18446744073709551615
        XREAD STREAMS s >
        XREAD STREAMS s -
        XREAD STREAMS s x
        XREAD STREAMS s
        XREAD STREAMS s t 0
        XREAD STREAMS
        XREAD s 0
        XREAD BLOCK
        XREAD BLOCK x STREAMS s 0
        XREAD BLOCK -1 STREAMS s 0
        XREAD BLOCK 9223372036854775807 STREAMS s 0
        XREAD BLOCK 1 STREAMS s 0
        XREAD BLOCK 1 STREAMS s $
        XREAD BLOCK 1 STREAMS none 0
        XREAD COUNT 1 BLOCK 1 COUNT 2 STREAMS s 0
        XREAD GROUP g c STREAMS s 0
        XREAD NOACK STREAMS s 0
        XREAD NOSUCH STREAMS s 0
        MULTI
        XREAD BLOCK 0 STREAMS s $
        XREAD BLOCK 0 STREAMS s 1-1
        EXEC
        SET str x
        XREAD STREAMS str 0
        XREAD STREAMS s str 0 0
        XREAD BLOCK 1 STREAMS str 0
        XREADGROUP GROUP g c STREAMS s >
        XREADGROUP GROUP g c STREAMS none >
        XREADGROUP GROUP g c STREAMS str >
        XGROUP CREATE s g 0
        XGROUP CREATE s streams 0
        XREADGROUP GROUP g c GROUP streams x STREAMS s 0
        XREADGROUP COUNT 1 GROUP streams streams STREAMS s 0
        XGROUP DESTROY s streams
        XREADGROUP STREAMS s >
        XREADGROUP GROUP g STREAMS s >
        XREADGROUP GROUP g c STREAMS s $
        XREADGROUP GROUP g c STREAMS s x
        XREADGROUP GROUP g c STREAMS s t > >
        XREADGROUP GROUP g c STREAMS s t >
        XREADGROUP GROUP g c COUNT 1 STREAMS s >
        XREADGROUP GROUP g c COUNT 1 NOACK STREAMS s >
        XREADGROUP GROUP g c STREAMS s >
        XREADGROUP GROUP g c BLOCK 1 STREAMS s >
        XREADGROUP GROUP g c STREAMS s 0
        XREADGROUP GROUP g c STREAMS s 1-1
        XREADGROUP GROUP g d STREAMS s 0
        XREADGROUP GROUP g c STREAMS s 18446744073709551615-18446744073709551615
        XINFO GROUPS s
        XDEL s 1-1
        XREADGROUP GROUP g c STREAMS s 0
        XREADGROUP GROUP g c COUNT 1 BLOCK 0 STREAMS s 0
        XPENDING s g
        XACK s g 1-1
        XACK s g 1-1 2-1
        XACK s g x
        XACK s g 1-1 x
        XACK s nosuch 1-1
        XACK s nosuch x
        XACK none g 1-1
        XACK none g x
        XACK str g 1-1
        XPENDING s g
        XREADGROUP GROUP g c STREAMS s 0
        MULTI
        XREADGROUP GROUP g c BLOCK 0 STREAMS s >
        EXEC
        DEBUG DIGEST
        "#,
        &[],
    );
}

/// Waits until a client is blocked.
fn until_blocked(client: &mut Client) {
    while !client.ask("INFO clients").text().contains("blocked_clients:1") {}
}

/// Blocks a client with one command, does others, and returns what it gets.
fn unblocked_by(server: &Server, version: &str, before: &[&str], block: &str, then: &[&str]) -> Value {
    let (mut client, mut waiting) = (server.client(), server.client());
    client.ask("FLUSHALL");
    waiting.cmd(&["HELLO", version]);
    before.iter().for_each(|line| drop(client.ask(line)));
    waiting.send(&words(block));
    until_blocked(&mut client);
    then.iter().for_each(|line| drop(client.ask(line)));
    waiting.read().expect("it is unblocked")
}

#[test]
fn those_who_wait_get_what_valkey_gives_them() {
    const GROUP: &[&str] =
        &["XADD s 1-1 a b", "XGROUP CREATE s g $", "XADD t 1-1 a b", "XGROUP CREATE t g $"];
    const READ: &str = "XREADGROUP GROUP g c COUNT 2 BLOCK 0 STREAMS s t > >";
    let cases: &[(&[&str], &str, &[&str])] = &[
        (&[], "XREAD BLOCK 0 STREAMS s t $ 0", &["XADD t 5-1 a b"]),
        (&["XADD s 1-1 a b"], "XREAD BLOCK 0 STREAMS s s $ 1-5", &["XADD s 1-3 a b", "XADD s 2-0 c d"]),
        (&["XADD s 1-1 a b"], "XREAD BLOCK 0 COUNT 1 STREAMS s 3", &["XADD s 2-1 a b", "XADD s 4-1 x y"]),
        (&[], "XREAD BLOCK 0 STREAMS s 0", &["SET s x", "DEL s", "LPUSH s x", "DEL s", "XADD s 1-1 a b"]),
        (&[], "XREAD BLOCK 0 STREAMS s 0", &["MULTI", "XADD s 1-1 a b", "XADD s 1-2 c d", "EXEC"]),
        (&[], "XREAD BLOCK 0 STREAMS s 0", &["XADD t 1-1 a b", "RENAME t s"]),
        (GROUP, READ, &["XADD t 2-1 a b"]),
        (GROUP, READ, &["MULTI", "XADD s 2-1 a b", "XADD s 2-2 a b", "XADD s 2-3 a b", "EXEC"]),
        (GROUP, READ, &["DEL t"]),
        (GROUP, READ, &["SET s x"]),
        (GROUP, "XREADGROUP GROUP g c BLOCK 0 STREAMS s >", &["FLUSHALL"]),
        (GROUP, "XREADGROUP GROUP g c BLOCK 0 STREAMS s >", &["FLUSHDB"]),
        (GROUP, READ, &["XGROUP DESTROY s g"]),
        (GROUP, READ, &["RENAME s u"]),
        (GROUP, READ, &["PEXPIRE s 1", "TYPE s", "DEBUG SLEEP 0.01", "TYPE s"]),
        (GROUP, READ, &["XGROUP SETID s g 0", "XADD s 3-1 a b"]),
        (GROUP, "XREADGROUP GROUP g c NOACK BLOCK 0 STREAMS s >", &["XADD s 2-1 a b"]),
    ];
    let (larder, peer) = (Server::larder(&["--threads", "2"]), Server::of(Kind::Valkey, &[]));
    for (before, block, then) in cases {
        for version in ["2", "3"] {
            let [ours, theirs] = [&larder, &peer].map(|s| unblocked_by(s, version, before, block, then));
            assert_eq!(ours, theirs, "RESP{version} {before:?} {block} {then:?}");
            let pending = [&larder, &peer].map(|s| s.client().ask("XPENDING s g"));
            assert_eq!(pending[0], pending[1], "{block} {then:?}");
        }
    }
}

#[test]
fn a_consumer_is_active_when_something_becomes_pending() {
    let reads = [
        "XREADGROUP GROUP g c NOACK STREAMS s >",
        "XREADGROUP GROUP g c STREAMS s 0",
        "XREADGROUP GROUP g c NOACK STREAMS s s 0 >",
        "XREADGROUP GROUP g c STREAMS s >",
        "XREADGROUP GROUP g c STREAMS s s 0 >",
    ];
    let (larder, peer) = (Server::larder(&[]), Server::of(Kind::Valkey, &[]));
    for read in reads {
        let [ours, theirs] = [&larder, &peer].map(|server| {
            let mut client = server.client();
            ["FLUSHALL", "XGROUP CREATE s g $ MKSTREAM", "XADD s 1-1 a b"]
                .map(|line| client.ask(line))
                .iter()
                .for_each(|reply| assert!(!matches!(reply, Value::Error(_)), "{reply:?}"));
            client.ask(read);
            client.cmd(&[
                "EVAL",
                "return redis.call('XINFO', 'CONSUMERS', 's', 'g')[1][8] >= 0 and 1 or 0",
                "0",
            ])
        });
        assert_eq!(ours, theirs, "{read}");
        assert!(matches!(ours, Value::Int(_)), "{read}: {ours:?}");
    }
}
