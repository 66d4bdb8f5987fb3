//! Connections, transactions, and the server itself.

use crate::run_script;

#[test]
fn transactions_and_connection() {
    run_script(
        r#"
        EXEC
        DISCARD
        MULTI
        MULTI
        SET a 1
        INCR a
        LPUSH a x
        GET a
        EXEC
        MULTI
        SET a
        SET a 5
        EXEC
        GET a
        MULTI
        NOSUCH
        EXEC
        MULTI
        SET a 7
        DISCARD
        GET a
        WATCH a
        WATCH a b
        MULTI
        WATCH c
        GET a
        EXEC
        WATCH a
        SET a 8
        MULTI
        GET a
        EXEC
        WATCH a
        SET a 9
        UNWATCH
        MULTI
        GET a
        SELECT 1
        SET in1 x
        SELECT 0
        EXEC
        MULTI
        EXEC
        MULTI
        PING
        PING hello
        ECHO x
        EXEC
        PING
        PING a b
        ECHO
        ECHO a
        CLIENT GETNAME
        CLIENT SETNAME me
        CLIENT GETNAME
        CLIENT SETNAME "with space"
        CLIENT SETNAME ""
        CLIENT GETNAME
        CLIENT NOSUCH
        CLIENT
        CLIENT REPLY FOO
        CLIENT UNBLOCK 99999
        CLIENT UNBLOCK x
        CLIENT UNBLOCK 1 FOO
        CLIENT KILL 1.2.3.4:5
        CLIENT KILL ID 99999
        CLIENT KILL ID x
        CLIENT KILL ID 0
        CLIENT KILL FOO 1
        CLIENT KILL TYPE foo
        CLIENT KILL ID
        CLIENT LIST TYPE foo
        CLIENT NO-EVICT ON
        CLIENT NO-EVICT FOO
        CLIENT PAUSE x
        CLIENT PAUSE -1
        CLIENT PAUSE 1 FOO
        CLIENT UNPAUSE
        CLIENT GETREDIR
        CLIENT TRACKINGINFO
        CLIENT CACHING YES
        HELLO 4
        HELLO x
        HELLO 2 FOO
        HELLO 2 AUTH
        HELLO 2 AUTH default
        HELLO 2 AUTH bad bad
        AUTH x
        AUTH default x
        AUTH nobody x
        AUTH a b c
        RESET
        NOSUCHCOMMAND
        NOSUCHCOMMAND a "b\x00c" d
        nosuch aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa b
        GET
        GET a b
        "#,
        &[],
    );
}

#[test]
fn server() {
    run_script(
        r#"
        CONFIG GET maxmemory
        CONFIG GET nosuchoption
        CONFIG GET
        CONFIG SET
        CONFIG SET foo
        CONFIG SET nosuch 1
        CONFIG SET maxmemory abc
        CONFIG SET maxmemory 100mb
        CONFIG GET maxmemory
        CONFIG SET maxmemory 0 maxmemory 1
        CONFIG SET port abc
        CONFIG SET databases 5
        CONFIG SET list-compress-depth 2
        CONFIG GET list-compress-depth
        CONFIG SET list-max-listpack-size 7
        CONFIG GET list-max-*
        CONFIG SET list-max-ziplist-size -2
        CONFIG SET appendfsync foo
        CONFIG SET maxmemory-policy foo
        CONFIG SET slowlog-log-slower-than -1
        CONFIG GET slowlog-log*
        CONFIG SET save "1 2 3"
        CONFIG SET client-output-buffer-limit "normal 0"
        CONFIG SET timeout -1
        CONFIG NOSUCH
        CONFIG
        CONFIG HELP
        CONFIG RESETSTAT
        CONFIG REWRITE
        SLOWLOG RESET
        SLOWLOG LEN
        SLOWLOG GET
        SLOWLOG GET -2
        SLOWLOG GET x
        SLOWLOG GET 1 2
        SLOWLOG NOSUCH
        SLOWLOG HELP
        LATENCY RESET
        LATENCY LATEST
        LATENCY HISTORY foo
        LATENCY GRAPH foo
        LATENCY NOSUCH
        LATENCY HISTOGRAM nosuch
        MEMORY USAGE none
        MEMORY USAGE
        MEMORY USAGE a SAMPLES
        MEMORY USAGE a SAMPLES x
        MEMORY NOSUCH
        MEMORY PURGE
        COMMAND COUNT x
        COMMAND GETKEYS GET a
        COMMAND GETKEYS MSET a 1 b 2
        COMMAND GETKEYS LMPOP 2 a b LEFT
        COMMAND GETKEYS BLMPOP 0 2 a b LEFT
        COMMAND GETKEYS RENAME a b
        COMMAND GETKEYS BLPOP a b 0
        COMMAND INFO nosuch
        COMMAND NOSUCH
        COMMAND LIST FILTERBY PATTERN xyz*
        COMMAND LIST FILTERBY
        DEBUG NOSUCH
        DEBUG SLEEP 0
        DEBUG SET-ACTIVE-EXPIRE 1
        DEBUG OBJECT none
        SET a hello
        SET b 123 EXAT 9999999999
        RPUSH l a 1 b -2 c
        DEBUG DIGEST
        DEBUG DIGEST-VALUE a b l none
        SELECT 3
        SET x y
        DEBUG DIGEST
        SELECT 0
        FLUSHALL
        DEBUG DIGEST
        SHUTDOWN FOO
        SHUTDOWN SAVE NOSAVE
        SHUTDOWN ABORT
        MONITOR X
        TIME X
        LOLWUT VERSION x
        INFO nosuchsection
        "#,
        &[],
    );
}

#[test]
fn passwords() {
    run_script(
        r#"
        AUTH wrong
        AUTH secret
        RESET
        GET a
        PING
        HELLO 3
        NOSUCH
        HELLO 2 AUTH default wrong
        AUTH secret
        CLIENT SETNAME me
        GET a
        CLIENT GETNAME
        CONFIG GET requirepass
        CONFIG SET requirepass ""
        RESET
        PING
        CONFIG SET requirepass secret
        "#,
        &["--requirepass", "secret"],
    );
}
