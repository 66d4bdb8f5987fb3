//! Publish and subscribe.

use super::stage::play;
use super::words;
use larder_testkit::{Kind, Server};

#[test]
fn subscriptions_and_messages() {
    play(
        r#"
        a> SUBSCRIBE one two one
        b3> SUBSCRIBE two
        b3> PSUBSCRIBE t* "[no]ne" t*
        p> PUBLISH one hello
        p> PUBLISH two "with \r\n in it"
        p> PUBLISH three ""
        p> PUBLISH four nobody
        p> PUBLISH one
        p> PUBSUB NUMSUB one two three
        p> PUBSUB NUMSUB
        p> PUBSUB NUMPAT
        ~p> PUBSUB CHANNELS
        p> PUBSUB CHANNELS o*
        p> PUBSUB CHANNELS a b
        p> PUBSUB NOPE
        p> PUBSUB
        p> PUBSUB NUMPAT x
        a> UNSUBSCRIBE two nothing
        p> PUBLISH two again
        a> UNSUBSCRIBE
        a> UNSUBSCRIBE
        a> PUNSUBSCRIBE
        a> SUNSUBSCRIBE
        a> UNSUBSCRIBE none
        a> GET k
        b3> PUNSUBSCRIBE t*
        b3> PUNSUBSCRIBE nothing
        p> PUBLISH two last
        p> PUBSUB NUMPAT
        b3> UNSUBSCRIBE
        b3> PUNSUBSCRIBE
        p> PUBLISH two unheard
        p> PUBSUB CHANNELS
        "#,
        &[],
    );
}

#[test]
fn what_a_listener_may_call() {
    play(
        r#"
        a> SUBSCRIBE c
        a> PING
        a> PING text
        a> PING too many
        a> GET k
        a> CONFIG GET maxmemory
        a> CLIENT ID
        a> HELLO 3
        a> MULTI
        a> PUBLISH c x
        a> SLOWLOG RESET
        a> NOTACOMMAND
        a> GET
        a> SUBSCRIBE
        a> PSUBSCRIBE p*
        a> SSUBSCRIBE s
        p> PUBLISH pc x
        p> SPUBLISH s x
        p> SPUBLISH c x
        p> PUBLISH s x
        a> RESET
        p> PUBLISH c x
        a> GET k
        a> SSUBSCRIBE s
        a> GET k
        a> PING
        a> SUNSUBSCRIBE s
        a> GET k
        b3> SUBSCRIBE c
        b3> GET k
        b3> PING
        b3> PING text
        b3> HELLO 2
        b3> GET k
        b3> PING
        p> PUBLISH c now-resp2
        b3> RESET
        b3> HELLO 3
        p> PUBLISH c gone
        "#,
        &[],
    );
}

#[test]
fn shard_channels() {
    play(
        r#"
        a> SSUBSCRIBE one two
        b3> SSUBSCRIBE one
        b3> SUBSCRIBE one
        b3> PSUBSCRIBE o*
        p> SPUBLISH one x
        p> PUBLISH one y
        p> PUBSUB SHARDNUMSUB one two three
        ~p> PUBSUB SHARDCHANNELS
        p> PUBSUB SHARDCHANNELS t*
        p> PUBSUB NUMSUB one two
        a> SUNSUBSCRIBE one
        p> SPUBLISH one x
        a> SUNSUBSCRIBE
        b3> SUNSUBSCRIBE one one
        b3> UNSUBSCRIBE
        p> PUBSUB SHARDCHANNELS
        "#,
        &[],
    );
}

#[test]
fn transactions() {
    play(
        r#"
        a> SUBSCRIBE c
        b3> SUBSCRIBE c
        p> MULTI
        p> PUBLISH c first
        p> SET k v
        p> PUBLISH c second
        p> EXEC
        p> MULTI
        p> PUBLISH c never
        p> DISCARD
        d3> MULTI
        d3> SUBSCRIBE e
        d3> PSUBSCRIBE e*
        d3> SSUBSCRIBE e
        d3> GET k
        d3> EXEC
        p> PUBLISH e x
        e> MULTI
        e> SUBSCRIBE f
        e> GET k
        e> EXEC
        e> GET k
        p> PUBLISH f x
        "#,
        &[],
    );
}

/// A client that sends messages to itself gets them right after the reply of the command that sent them, whatever follows.
#[test]
fn messages_to_oneself() {
    const CASES: &[&[&str]] = &[
        &["PUBLISH c m", "PING", "QUIT"],
        &["PUBLISH c m", "UNSUBSCRIBE c", "QUIT"],
        &["PUBLISH c m", "RESET", "PING", "QUIT"],
        &["PUBLISH c m", "QUIT"],
        &["PUBLISH c 1", "PUBLISH c 2", "GET k", "QUIT"],
        &["SPUBLISH s m", "SUNSUBSCRIBE", "PING", "QUIT"],
        &["SET k 1", "DEL k", "PUNSUBSCRIBE", "PING", "QUIT"],
        &["MULTI", "PUBLISH c m", "UNSUBSCRIBE c", "PING", "EXEC", "PING", "QUIT"],
        &["MULTI", "PUBLISH c m", "SET k 2", "EXEC", "PUBLISH other m", "QUIT"],
        &["EVAL \"redis.call('publish', 'c', 'm') redis.call('set', 'k', '3') return 7\" 0", "PING", "QUIT"],
        &["CLIENT REPLY SKIP", "PUBLISH c m", "PING", "QUIT"],
        &["PEXPIRE k 1", "DEBUG SLEEP 0.01", "GET k", "PING", "QUIT"],
    ];
    let table = |kind, own: &[&str]| -> Vec<String> {
        let args = [own, &["--notify-keyspace-events", "KA", "--enable-debug-command", "yes"]].concat();
        CASES
            .iter()
            .map(|lines| {
                let server = Server::of(kind, &args);
                server.client().ask("DEBUG SET-ACTIVE-EXPIRE 0");
                let mut client = server.client();
                for line in ["HELLO 3", "SUBSCRIBE c", "SSUBSCRIBE s", "PSUBSCRIBE __key*"] {
                    client.ask(line);
                }
                let commands: Vec<_> = lines.iter().map(|line| words(line)).collect();
                client.send_all(&commands.iter().map(Vec::as_slice).collect::<Vec<_>>());
                let bytes = client.read_to_end().expect("the connection ends");
                format!("{lines:?}: {}", String::from_utf8_lossy(&bytes))
            })
            .collect()
    };
    let wanted = table(Kind::Valkey, &[]);
    for threads in ["1", "3"] {
        for (found, wanted) in table(Kind::Larder, &["--threads", threads]).iter().zip(&wanted) {
            assert_eq!(found, wanted, "{threads} threads");
        }
    }
}
