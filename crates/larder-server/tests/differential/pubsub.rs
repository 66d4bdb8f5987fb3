//! Publish and subscribe.

use super::stage::play;

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
