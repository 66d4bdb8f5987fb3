//! Client-side caching: who is told what, and what CLIENT TRACKING says.

use super::stage::{play, play_with};
use larder_testkit::Kind;

/// What changes groups and counters of a stream, but no entry, concerns nobody who watches or caches it.
#[test]
fn streams_whose_entries_stay() {
    let changes = [
        "XGROUP CREATE s g 0",
        "XGROUP CREATE new g 0 MKSTREAM",
        "XGROUP SETID s g 1-1",
        "XGROUP CREATECONSUMER s g c",
        "XREADGROUP GROUP g c STREAMS s >",
        "XACK s g 2-1",
        "XCLAIM s g d 0 1-1",
        "XAUTOCLAIM s g c 0 0",
        "XGROUP DELCONSUMER s g c",
        "XGROUP DESTROY s g",
        "XSETID s 9-9",
        "XTRIM s MAXLEN 100",
        "XTRIM s MAXLEN 1",
        "XDEL s 7-7",
        "XDEL s 2-1",
    ];
    let mut script = "w> XADD s 1-1 a b\nw> XADD s 2-1 a b\na3> CLIENT TRACKING ON\n".to_owned();
    for change in changes {
        script += &format!("a3> EXISTS s new\nb> WATCH s new\nb> MULTI\nb> PING\nw> {change}\nb> EXEC\n");
    }
    script += "w> SET k v\na3> EXISTS k l\nw> RENAME k l\na3> EXISTS k l\nw> RENAMENX l k\n";
    play_with(Kind::Valkey, &script, &[]);
}

#[test]
fn keys_that_were_read() {
    play(
        r#"
        a3> CLIENT TRACKING ON
        a3> CLIENT TRACKINGINFO
        a3> GET k
        w> SET k 1
        w> SET k 2
        a3> GET k
        a3> GET k
        b3> CLIENT TRACKING ON
        b3> MGET k l m
        w> DEL k
        w> MSET l 1 m 2
        a3> SET own 1
        a3> GET own
        a3> SET own 2
        a3> INCR own
        b3> HGETALL h
        w> HSET h a 1
        b3> EXISTS x y
        w> RPUSH y a
        b3> LRANGE y 0 -1
        w> LPOP y
        b3> SCARD s
        b3> ZSCORE z a
        w> SADD s a
        w> ZADD z 1 a
        b3> TTL s
        w> EXPIRE s 100
        b3> SINTER s t
        w> SINTERSTORE t s
        w> RENAME s r
        b3> GET r
        b3> GET k
        w> RENAME z k
        w> SELECT 1
        b3> GET other
        w> SET other v
        b3> MULTI
        b3> GET other
        b3> GET more
        b3> EXEC
        w> MSET other 1 more 2
        b3> CLIENT TRACKING OFF
        b3> GET other
        w> SET other 2
        b3> CLIENT TRACKINGINFO
        a3> CLIENT GETREDIR
        b3> CLIENT GETREDIR
        c> CLIENT TRACKING ON
        c> GET k
        w> SET k 3
        c> CLIENT TRACKINGINFO
        a3> GET k
        a3> RESET
        w> SET k 3
        a3> CLIENT TRACKINGINFO
        "#,
        &[],
    );
}

#[test]
fn own_changes() {
    play(
        r#"
        a3> CLIENT TRACKING ON NOLOOP
        a3> CLIENT TRACKINGINFO
        a3> GET k
        a3> SET k 1
        a3> GET k
        w> SET k 2
        b3> CLIENT TRACKING ON
        b3> GET k
        b3> MULTI
        b3> SET k 1
        b3> GET k
        b3> SET k 2
        b3> EXEC
        b3> FLUSHALL
        "#,
        &[],
    );
}

#[test]
fn data_that_is_loaded_again() {
    play(
        r#"
        a3> CLIENT TRACKING ON
        a3> GET k
        b3> CLIENT TRACKING ON BCAST
        w> SET k 1
        a3> GET k
        w> DEBUG RELOAD
        a3> PING
        b3> PING
        a3> GET k
        w> SET k 2
        "#,
        &["--enable-debug-command", "yes"],
    );
}

#[test]
fn everything_at_once() {
    play(
        r#"
        a3> CLIENT TRACKING ON
        a3> GET k
        b3> CLIENT TRACKING ON BCAST
        c> SUBSCRIBE x
        d> CLIENT TRACKING ON REDIRECT @c
        w> FLUSHALL
        w> SET k 1
        a3> GET k
        w> FLUSHDB
        a3> FLUSHDB
        w> SET k 2
        "#,
        &[],
    );
}

#[test]
fn opting() {
    play(
        r#"
        a3> CLIENT TRACKING ON OPTIN
        a3> CLIENT TRACKINGINFO
        a3> GET k
        w> SET k 1
        a3> CLIENT CACHING YES
        a3> CLIENT TRACKINGINFO
        a3> GET k
        a3> CLIENT TRACKINGINFO
        a3> GET l
        w> MSET k 2 l 2
        a3> CLIENT CACHING NO
        a3> CLIENT CACHING MAYBE
        a3> CLIENT CACHING YES
        a3> MULTI
        a3> GET k
        a3> GET l
        a3> EXEC
        a3> GET m
        w> MSET k 2 l 2 m 2
        a3> CLIENT CACHING YES
        a3> PING
        a3> GET k
        w> SET k 1
        a3> CLIENT TRACKING ON OPTOUT
        a3> CLIENT TRACKING OFF
        a3> CLIENT CACHING YES
        a3> CLIENT TRACKING ON OPTOUT
        a3> CLIENT TRACKINGINFO
        a3> GET k
        a3> CLIENT CACHING NO
        a3> CLIENT TRACKINGINFO
        a3> GET l
        a3> CLIENT CACHING YES
        w> MSET k 1 l 1
        a3> CLIENT TRACKING ON OPTIN
        "#,
        &[],
    );
}

#[test]
fn prefixes() {
    play(
        r#"
        a3> CLIENT TRACKING ON BCAST PREFIX a PREFIX b
        a3> CLIENT TRACKINGINFO
        b3> CLIENT TRACKING ON BCAST
        b3> CLIENT TRACKINGINFO
        c3> CLIENT TRACKING ON BCAST NOLOOP PREFIX a
        w> SET a 1
        w> SET c 1
        w> MSET b1 1 a1 1 a2 2 c1 1
        c3> SET a 2
        c3> MSET a3 1 b 1
        a3> SET a 3
        w> MULTI
        w> SET a 1
        w> DEL b
        w> SET a 2
        w> EXEC
        a3> GET a
        w> SET a 5
        a3> CLIENT TRACKING ON BCAST PREFIX z
        a3> CLIENT TRACKINGINFO
        w> SET z 1
        a3> CLIENT TRACKING ON BCAST PREFIX aa
        a3> CLIENT TRACKING ON BCAST PREFIX x PREFIX xy
        a3> CLIENT TRACKING ON BCAST
        a3> CLIENT TRACKING ON
        a3> CLIENT TRACKING OFF
        w> SET a 6
        b3> CLIENT TRACKING OFF
        c3> CLIENT TRACKING OFF
        w> SET a 7
        "#,
        &[],
    );
}

#[test]
fn redirection() {
    play(
        r#"
        i> SUBSCRIBE __redis__:invalidate
        j3> PING
        a> CLIENT TRACKING ON REDIRECT @i
        a> CLIENT TRACKINGINFO
        a> CLIENT GETREDIR
        a> GET k
        a> GET l
        w> SET k 1
        a> SET l 2
        a> GET k
        w> FLUSHALL
        b3> CLIENT TRACKING ON REDIRECT @j3
        b3> GET k
        w> SET k 2
        b3> CLIENT TRACKING ON BCAST REDIRECT @i
        b3> CLIENT TRACKING OFF
        b3> CLIENT TRACKING ON BCAST REDIRECT @i PREFIX p
        w> MSET p1 1 p2 2
        c3> CLIENT TRACKING ON REDIRECT @j3
        c3> GET k
        w> CLIENT KILL ID @j3
        "#,
        &[],
    );
}

#[test]
fn what_is_refused() {
    play(
        r#"
        a3> CLIENT TRACKING
        a3> CLIENT TRACKING MAYBE
        a3> CLIENT TRACKING ON NONSENSE
        a3> CLIENT TRACKING ON PREFIX a
        a3> CLIENT TRACKING ON PREFIX
        a3> CLIENT TRACKING ON BCAST OPTIN
        a3> CLIENT TRACKING ON OPTIN OPTOUT
        a3> CLIENT TRACKING ON REDIRECT 999999
        a3> CLIENT TRACKING ON REDIRECT -1
        a3> CLIENT TRACKING ON REDIRECT x
        a3> CLIENT TRACKING ON REDIRECT @a3 REDIRECT @a3
        a3> CLIENT TRACKING ON BCAST PREFIX a PREFIX a
        a3> CLIENT TRACKING ON BCAST PREFIX "" PREFIX a
        a3> CLIENT CACHING YES
        a3> CLIENT CACHING
        a3> CLIENT TRACKING OFF
        a3> CLIENT TRACKINGINFO
        a3> CLIENT TRACKING ON
        a3> CLIENT CACHING YES
        a3> CLIENT CACHING NO
        a3> CLIENT CACHING MAYBE
        "#,
        &[],
    );
}

#[test]
fn what_expires() {
    play(
        r#"
        w> DEBUG SET-ACTIVE-EXPIRE 0
        w> SET k 1 PX 200
        a3> CLIENT TRACKING ON
        a3> GET k
        b3> CLIENT TRACKING ON BCAST
        w> DEBUG SLEEP 0.22
        w> GET k
        "#,
        &[],
    );
}

/// A script has read what its commands have read: not what it declares, nor what it was refused.
#[test]
fn keys_of_scripts_that_read() {
    for script in [
        "FCALL_RO nosuch 1 k",
        "EVALSHA_RO aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 1 k",
        r#"EVAL_RO "return 1" 1 k"#,
        r#"EVAL_RO "return (" 1 k"#,
        r#"EVAL_RO "return redis.call('get', KEYS[1])" 1 k"#,
        r#"EVAL_RO "return redis.call('get', 'k')" 0"#,
        r#"EVAL "return redis.call('get', KEYS[1])" 1 k"#,
    ] {
        play(&format!("a3> CLIENT TRACKING ON\na3> {script}\nw> SET k 1\nw> SET k 2"), &[]);
    }
}
