//! What test suites and operators ask a server about itself.

use crate::{run_script, stage::play};

#[test]
fn debug_for_test_suites() {
    run_script(
        r#"
        DEBUG CHANGE-REPL-ID
        DEBUG ERROR hello
        DEBUG ERROR "two words"
        DEBUG LOG hello
        DEBUG PROTOCOL string
        DEBUG PROTOCOL integer
        DEBUG PROTOCOL double
        DEBUG PROTOCOL null
        DEBUG PROTOCOL array
        DEBUG PROTOCOL set
        DEBUG PROTOCOL map
        DEBUG PROTOCOL verbatim
        DEBUG PROTOCOL true
        DEBUG PROTOCOL FALSE
        DEBUG PROTOCOL bignum
        DEBUG PROTOCOL wrong
        DEBUG PROTOCOL
        DEBUG SET-DISABLE-DENY-SCRIPTS 0
        DEBUG SET-ACTIVE-EXPIRE 1
        DEBUG REPLICATE 0 x
        DEBUG QUICKLIST-PACKED-THRESHOLD 100
        DEBUG QUICKLIST-PACKED-THRESHOLD x
        DEBUG QUICKLIST-PACKED-THRESHOLD 0
        DEBUG LISTPACK none
        DEBUG PAUSE-CRON 1
        DEBUG PAUSE-CRON 0
        DEBUG REPLYBUFFER PEAK-RESET-TIME NEVER
        DEBUG REPLYBUFFER PEAK-RESET-TIME RESET
        DEBUG REPLYBUFFER PEAK-RESET-TIME 100
        DEBUG REPLYBUFFER RESIZING 1
        DEBUG POPULATE 5
        DBSIZE
        GET key:0
        GET key:4
        SET pre:1 mine
        DEBUG POPULATE 3 pre 10
        GET pre:0
        GET pre:1
        GET pre:2
        DEBUG POPULATE 2 long 300
        GET long:1
        DEBUG POPULATE x
        DEBUG POPULATE -1
        DEBUG DIGEST
        DEBUG DIGEST-VALUE pre:1 none
        DEBUG HTSTATS-KEY none
        DEBUG HTSTATS-KEY pre:1
        DEBUG HTSTATS 100
        DEBUG CLIENT-EVICTION
        DEBUG OBJECT none
        DEBUG SLEEP 0
        DEBUG WRONG
        DEBUG
        "#,
        &[],
    );
}

#[test]
fn pushes_and_attributes() {
    // One connection each, as what is pushed comes beside the replies.
    play("a3> DEBUG PROTOCOL push\na3> PING\na> DEBUG PROTOCOL push\na> DEBUG PROTOCOL attrib", &[]);
}

#[test]
fn clients_latency_and_memory() {
    run_script(
        r"
        CLIENT NO-EVICT ON
        CLIENT NO-EVICT WRONG
        CLIENT NO-EVICT OFF
        CLIENT PAUSE 1
        CLIENT PAUSE x
        CLIENT PAUSE -1
        CLIENT PAUSE 9223372036854775807
        CLIENT PAUSE 9223372036854775808 WRITE
        CLIENT PAUSE 1 WRONG
        CLIENT PAUSE 1 WRITE
        CLIENT UNPAUSE
        CLIENT UNPAUSE x
        CLIENT REPLY WRONG
        CLIENT KILL
        CLIENT KILL 1.2.3.4:5
        CLIENT KILL ID 999
        CLIENT KILL ID x
        CLIENT KILL ID -1
        CLIENT KILL TYPE normal
        CLIENT KILL TYPE wrong
        CLIENT KILL TYPE master
        CLIENT KILL TYPE pubsub SKIPME no
        CLIENT KILL USER none
        CLIENT KILL USER default
        CLIENT KILL ADDR 1.2.3.4:5 LADDR 1.2.3.4:6
        CLIENT KILL SKIPME yes
        CLIENT KILL SKIPME wrong
        CLIENT KILL WRONG x
        CLIENT LIST TYPE wrong
        CLIENT LIST TYPE pubsub
        CLIENT LIST ID
        CLIENT LIST ID x
        CLIENT LIST ID 0
        CLIENT LIST ID 1000 1001
        CLIENT LIST WRONG
        CLIENT UNBLOCK 1000
        CLIENT UNBLOCK x
        CLIENT UNBLOCK 1 WRONG
        CLIENT GETNAME
        CLIENT SETNAME ab
        CLIENT GETNAME
        CLIENT GETREDIR
        SLOWLOG GET 0
        SLOWLOG GET -2
        SLOWLOG GET x
        SLOWLOG RESET
        SLOWLOG LEN
        SLOWLOG WRONG
        LATENCY LATEST
        LATENCY HISTORY
        LATENCY HISTORY x
        LATENCY GRAPH x
        LATENCY RESET
        LATENCY RESET x
        LATENCY HISTOGRAM wrong
        LATENCY WRONG
        MEMORY USAGE none
        SET k v
        MEMORY USAGE k SAMPLES x
        MEMORY USAGE k SAMPLES -1
        MEMORY USAGE k SAMPLES
        MEMORY USAGE k WRONG 1
        MEMORY USAGE
        MEMORY PURGE
        MEMORY PURGE x
        MEMORY WRONG
        OBJECT FREQ
        OBJECT IDLETIME a b
        COMMAND COUNT x
        MONITOR x
        CONFIG SET maxmemory 1x
        CONFIG SET maxmemory-clients 101%
        CONFIG SET maxmemory-clients 5%
        CONFIG GET maxmemory-clients
        CONFIG SET maxmemory-clients 0
        CONFIG SET maxmemory-samples 0
        CONFIG SET lfu-decay-time -1
        ",
        &[],
    );
}

/// Commands that were refused before they ran, and those that failed.
#[test]
fn errors_are_counted_by_code() {
    run_script(
        r"
        CONFIG RESETSTAT
        SET k v
        LPUSH k x
        LPUSH k
        GET
        INCR k
        CONFIG SET maxmemory 1
        SET k v
        APPEND k v
        MULTI
        SET k v
        EXEC
        NOSUCH
        CONFIG SET maxmemory 0
        INFO errorstats
        CONFIG RESETSTAT
        INFO errorstats
        ",
        &[],
    );
}
