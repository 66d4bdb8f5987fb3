//! Memory limits: what clients see of them, and how often keys are used.

use crate::{run_script, stage::play};

#[test]
fn refusals_when_nothing_may_be_evicted() {
    run_script(
        r"
        SET k v
        LPUSH l a b c
        CONFIG SET maxmemory 1
        CONFIG GET maxmemory
        SET k w
        SET new v
        GET k
        LPUSH l d
        LRANGE l 0 -1
        APPEND k x
        DEL none
        EXPIRE k 100
        INCR n
        HSET h a b
        SADD s m
        ZADD z 1 a
        XADD x 1-1 a b
        RPOP l
        MULTI
        GET k
        EXEC
        MULTI
        SET k w
        GET k
        EXEC
        MULTI
        DISCARD
        PING
        CONFIG SET maxmemory 0
        MULTI
        SET k w
        GET k
        CONFIG SET maxmemory 1
        EXEC
        CONFIG SET maxmemory 0
        GET k
        MULTI
        SET k z
        CONFIG SET maxmemory 1
        EXEC
        CONFIG SET maxmemory 0
        SET k v
        ",
        &[],
    );
}

#[test]
fn a_queue_with_writes_is_refused_and_one_without_is_not() {
    play(
        r"
        a> SET k v
        a> MULTI
        a> SET k w
        b> CONFIG SET maxmemory 1
        a> EXEC
        a> GET k
        a> MULTI
        b> CONFIG SET maxmemory 0
        a> GET k
        b> CONFIG SET maxmemory 1
        a> EXEC
        a> WATCH k
        b> CONFIG SET maxmemory 0
        a> MULTI
        a> GET k
        b> CONFIG SET maxmemory 1
        a> GET k
        a> DISCARD
        b> CONFIG SET maxmemory 0
        a> GET k
        ",
        &[],
    );
}

#[test]
fn everything_goes_if_the_limit_is_too_low() {
    for policy in ["allkeys-lru", "allkeys-lfu", "allkeys-random"] {
        run_script(
            r"
            SET a 1
            LPUSH b 1 2 3
            SET c 3 EX 1000
            CONFIG SET maxmemory 1
            SET new v
            DBSIZE
            GET a
            CONFIG SET maxmemory 0
            SET new v
            DBSIZE
            ",
            &["--maxmemory-policy", policy, "--maxmemory-eviction-tenacity", "100"],
        );
    }
}

#[test]
fn volatile_policies_leave_the_others() {
    for policy in ["volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl"] {
        run_script(
            r"
            SET a 1
            LPUSH b 1 2 3
            SET c 3 EX 1000
            SADD d 1 2 3
            EXPIRE d 500
            CONFIG SET maxmemory 1
            SET new v
            DBSIZE
            EXISTS a b c d
            TTL a
            CONFIG SET maxmemory 0
            ",
            &["--maxmemory-policy", policy, "--maxmemory-eviction-tenacity", "100"],
        );
    }
}

#[test]
fn everybody_is_told_of_evicted_keys() {
    play(
        r"
        a> CONFIG SET notify-keyspace-events KEe
        a> CONFIG SET maxmemory-policy volatile-ttl
        a> CONFIG SET maxmemory-eviction-tenacity 100
        e> PSUBSCRIBE __key*
        t3> CLIENT TRACKING ON
        a> SET k v EX 1000
        t3> GET k
        w> WATCH k
        w> MULTI
        w> PING
        a> CONFIG SET maxmemory 1
        a> GET none
        a> CONFIG SET maxmemory 0
        w> EXEC
        a> EXISTS k
        ",
        &[],
    );
}

#[test]
fn idle_times_and_frequencies() {
    let script = r#"
        OBJECT IDLETIME none
        OBJECT FREQ none
        SET k v
        OBJECT IDLETIME k
        OBJECT FREQ k
        GET k
        OBJECT FREQ k
        RESTORE old 0 "\x00\x01v\n\x00\x13\xa5\xbf\xfe\xb4\x8c\xa9\x42" IDLETIME 1000
        RESTORE old2 0 "\x00\x01v\x0a\x00" IDLETIME 1000
        SET d v
        RESTORE x 0 d IDLETIME -1
        RESTORE x 0 d FREQ 256
        RESTORE x 0 d FREQ -1
        RESTORE x 0 d FREQ 1 IDLETIME 1
        OBJECT HELP
        INFO nothing
        CONFIG GET lfu*
        CONFIG SET lfu-log-factor -1
        CONFIG SET maxmemory-policy wrong
        CONFIG GET maxmemory-*s
    "#;
    for policy in ["noeviction", "allkeys-lru", "volatile-lfu"] {
        run_script(script, &["--maxmemory-policy", policy]);
    }
}
