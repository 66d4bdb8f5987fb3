//! Scripts of commands by family, chosen for their edges.

use crate::run_script;

#[test]
fn strings() {
    run_script(
        r#"
        GET none
        SET k v
        GET k
        SET k
        SET k v x
        SET k v NX
        SET k v XX
        SET k v NX XX
        SET k2 v XX
        SET k2 v NX GET
        SET k2 w NX GET
        SET k w GET
        SET k w EX
        SET k w EX 0
        SET k w EX -1
        SET k w EX abc
        SET k w EX 9223372036854775807
        SET k w PX 9223372036854775807
        SET k w EX 10 PX 10
        SET k w EX 10 KEEPTTL
        SET k w KEEPTTL KEEPTTL
        SET k w PXAT 99999999999999
        PEXPIRETIME k
        SET k x KEEPTTL
        EXPIRETIME k
        SET k x
        TTL k
        SET k y EXAT 9999999999
        PEXPIRETIME k
        SET k y EXAT 1
        GET k
        GETSET k z
        GETSET new z
        GETDEL new
        GETDEL new
        SETNX k a
        SETNX fresh a
        SETEX k 100 v
        SETEX k 0 v
        SETEX k -5 v
        SETEX k x v
        PSETEX k 100000 v
        PSETEX k 0 v
        GETEX k
        GETEX k PERSIST
        TTL k
        GETEX k EXAT 9999999999
        EXPIRETIME k
        GETEX k PERSIST EX 10
        GETEX k NX
        GETEX none EX 10
        GETEX k EX 0
        APPEND k abc
        APPEND ap ""
        EXISTS ap
        GET ap
        APPEND ap x
        STRLEN ap
        STRLEN none
        SETRANGE sr 5 hello
        GET sr
        SETRANGE sr 0 ""
        SETRANGE none2 0 ""
        EXISTS none2
        SETRANGE none2 10 ""
        SETRANGE sr -1 x
        SETRANGE sr 536870912 x
        SETRANGE sr 9223372036854775807 x
        SETRANGE sr abc x
        GETRANGE sr 0 -1
        GETRANGE sr 5 100
        GETRANGE sr -3 -1
        GETRANGE sr -1 -3
        GETRANGE sr 3 1
        GETRANGE sr a 1
        GETRANGE none 0 -1
        SUBSTR sr 0 2
        MSET a 1 b 2
        MSET a 1 b
        MSET a 1 a 2
        GET a
        MGET a b none
        MSETNX a 1 c 2
        MSETNX c 1 d 2
        MSETNX c 1 d
        LPUSH list x
        GET list
        MGET list a
        SET list2 v GET
        GETSET list v
        GETDEL list
        GETEX list
        APPEND list x
        STRLEN list
        SETRANGE list 0 x
        GETRANGE list 0 1
        INCR list
        INCRBYFLOAT list 1
        SET list v GET
        SET list v NX GET
        INCR n
        INCRBY n 10
        DECR n
        DECRBY n 3
        INCRBY n abc
        INCRBY n 1.5
        DECRBY n -9223372036854775808
        SET n 9223372036854775807
        INCR n
        INCRBY n 1
        SET n -9223372036854775808
        DECR n
        SET n " 1"
        INCR n
        SET n "1 "
        INCR n
        SET n 01
        INCR n
        SET n -0
        INCR n
        SET n ""
        INCR n
        SET f 10.50
        INCRBYFLOAT f 0.1
        INCRBYFLOAT f -5
        INCRBYFLOAT f abc
        INCRBYFLOAT f nan
        INCRBYFLOAT f inf
        INCRBYFLOAT f -inf
        SET f 5.0e3
        INCRBYFLOAT f 2.0e2
        SET f abc
        INCRBYFLOAT f 1
        SET f 3.0
        INCRBYFLOAT f 1.000000000000000005
        INCRBYFLOAT f 1e-20
        INCRBYFLOAT f 123456789012345678901234567890
        INCRBYFLOAT f 1e300
        INCRBYFLOAT f 0x10
        INCRBYFLOAT hex 0x1.8p3
        INCRBYFLOAT hex 0x
        INCRBYFLOAT hex -0xff
        INCRBYFLOAT fresh2 0.1
        INCRBYFLOAT fresh2 0.2
        INCRBYFLOAT fresh2 " 1"
        OBJECT ENCODING n
        OBJECT ENCODING f
        SET e 123
        OBJECT ENCODING e
        APPEND e 4
        OBJECT ENCODING e
        INCR e
        OBJECT ENCODING e
        SET e 12345678901234567890123
        OBJECT ENCODING e
        SET e aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
        OBJECT ENCODING e
        SET e aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
        OBJECT ENCODING e
        SETRANGE e2 0 abc
        OBJECT ENCODING e2
        OBJECT ENCODING none
        OBJECT REFCOUNT e2
        OBJECT FREQ e
        OBJECT FREQ none
        OBJECT FOO e
        OBJECT ENCODING
        SET x1 ohmytext
        SET x2 mynewtext
        LCS x1 x2
        LCS x1 x2 LEN
        LCS x1 x2 IDX
        LCS x1 x2 IDX MINMATCHLEN 4
        LCS x1 x2 IDX MINMATCHLEN 4 WITHMATCHLEN
        LCS x1 x2 LEN IDX
        LCS x1 x2 FOO
        LCS x1 x2 MINMATCHLEN x
        LCS x1 none
        LCS none none2 IDX
        LPUSH lx a
        LCS x1 lx
        "#,
        &[],
    );
}

#[test]
fn lists() {
    run_script(
        r#"
        LPUSH l a
        LPUSH l b c
        RPUSH l 1 2 3 -5 007 9223372036854775807 -9223372036854775808 9223372036854775808
        LRANGE l 0 -1
        LRANGE l -3 -1
        LRANGE l 5 2
        LRANGE l -100 100
        LRANGE l a 1
        LRANGE none 0 -1
        LLEN l
        LLEN none
        LINDEX l 0
        LINDEX l -1
        LINDEX l 100
        LINDEX l -100
        LINDEX l x
        LINDEX none 0
        LINDEX none x
        LSET l 0 new
        LSET l -1 last
        LSET l 100 x
        LSET l x y
        LSET none 0 x
        LSET none x x
        LINSERT l BEFORE 1 zero
        LINSERT l AFTER 1 one
        LINSERT l after nothere x
        LINSERT l FOO 1 x
        LINSERT none BEFORE a b
        LPUSHX l x y
        RPUSHX l z
        LPUSHX none x
        RPUSHX none x
        LPUSH l
        LRANGE l 0 -1
        RPUSH d a b c 1 2 3 c c
        LPOS d c
        LPOS d c RANK 2
        LPOS d c RANK -1
        LPOS d c RANK 0
        LPOS d c RANK 4
        LPOS d c COUNT 0
        LPOS d c COUNT 1
        LPOS d c COUNT -1
        LPOS d c COUNT 2 RANK -1
        LPOS d c COUNT 0 MAXLEN 3
        LPOS d c MAXLEN 2
        LPOS d c MAXLEN -1
        LPOS d c COUNT 0 MAXLEN 3 RANK -1
        LPOS d 2
        LPOS d x
        LPOS d x COUNT 0
        LPOS none x
        LPOS none x COUNT 0
        LPOS d c FOO 1
        LPOS d c COUNT
        LREM d 1 c
        LREM d -1 c
        LREM d 0 c
        LREM d 0 2
        LREM d x c
        LREM none 1 c
        LRANGE d 0 -1
        LTRIM d 1 2
        LRANGE d 0 -1
        LTRIM d 5 10
        EXISTS d
        LTRIM none 0 1
        LTRIM l x 1
        LPOP l
        RPOP l
        LPOP l 2
        RPOP l 2
        LPOP l 0
        LPOP l -1
        LPOP l x
        LPOP l 1 2
        LPOP none
        LPOP none 0
        LPOP none 5
        LPOP l 100
        EXISTS l
        RPUSH s 1 2 3
        RPOPLPUSH s t
        RPOPLPUSH s s
        LRANGE s 0 -1
        LMOVE s t LEFT RIGHT
        LMOVE s t RIGHT LEFT
        LMOVE s t LEFT LEFT
        LMOVE s t UP LEFT
        LMOVE none t LEFT LEFT
        LRANGE t 0 -1
        LMOVE t t LEFT RIGHT
        LMOVE t t LEFT LEFT
        LRANGE t 0 -1
        LMPOP 1 t LEFT
        LMPOP 2 none t RIGHT COUNT 5
        LMPOP 1 none LEFT
        LMPOP 0 t LEFT
        LMPOP x t LEFT
        LMPOP 2 t LEFT
        LMPOP 1 t UP
        LMPOP 1 t LEFT COUNT 0
        LMPOP 1 t LEFT COUNT x
        LMPOP 1 t LEFT COUNT
        LMPOP 1 t LEFT FOO 1
        RPUSH q a b c
        BLPOP q 0
        BRPOP none q 0
        BLPOP q x
        BLPOP q -1
        BLPOP none 0.01
        BRPOP none 0.01
        BLMPOP 0.01 1 none LEFT
        BLMPOP 0.01 2 none q LEFT COUNT 10
        BLMPOP x 1 q LEFT
        BLMPOP 0 0 q LEFT
        BLMOVE none q LEFT RIGHT 0.01
        BRPOPLPUSH none q 0.01
        RPUSH q 1
        BLMOVE q q2 LEFT RIGHT 0
        BRPOPLPUSH q2 q 1
        BLMOVE q q2 FOO RIGHT 0
        BLMOVE q q2 LEFT RIGHT -1
        SET str x
        LPUSH str a
        LPUSHX str a
        LRANGE str 0 -1
        LLEN str
        LINDEX str 0
        LSET str 0 a
        LINSERT str BEFORE a b
        LPOS str a
        LREM str 0 a
        LTRIM str 0 1
        LPOP str
        LPOP str 1
        RPOPLPUSH q str
        RPOPLPUSH str q
        LMOVE q str LEFT LEFT
        LMPOP 1 str LEFT
        BLPOP str 0
        BLPOP none str 0
        BLMOVE str q LEFT LEFT 0
        BLMOVE none str LEFT LEFT 0.01
        LRANGE q 0 -1
        MULTI
        BLPOP none 0
        BLMOVE none q LEFT LEFT 0
        BRPOPLPUSH none q 0
        BLMPOP 0 1 none LEFT
        RPUSH q 7
        BLPOP q 0
        EXEC
        "#,
        &[],
    );
}

#[test]
fn keys() {
    run_script(
        r#"
        SET a 1
        SET b 2
        RPUSH l x
        EXISTS a b none a
        TYPE a
        TYPE l
        TYPE none
        DEL a none
        UNLINK b none
        DEL
        TOUCH l none l
        SET k v
        EXPIRE k 100
        TTL k
        PERSIST k
        PERSIST k
        PERSIST none
        TTL k
        PTTL k
        TTL none
        PTTL none
        EXPIRETIME k
        PEXPIRETIME none
        EXPIREAT k 9999999999
        EXPIRETIME k
        PEXPIRETIME k
        PEXPIREAT k 9999999999999
        PEXPIRETIME k
        EXPIREAT k 9999999998 GT
        EXPIREAT k 9999999998 LT
        EXPIREAT k 9999999999 NX
        EXPIREAT k 9999999999 XX
        EXPIREAT k 9999999999 XX GT
        EXPIREAT k 9999999999 NX XX
        EXPIREAT k 9999999999 GT LT
        EXPIREAT k 9999999999 NX GT
        EXPIREAT k 9999999999 FOO
        EXPIREAT none 9999999999
        EXPIRE k abc
        EXPIRE k 9223372036854775807
        EXPIRE k -9223372036854775808
        PEXPIRE k 9223372036854775807
        PERSIST k
        EXPIREAT k 9999999999 GT
        EXPIREAT k 9999999999 LT
        EXPIRE k -1
        EXISTS k
        SET k v
        EXPIREAT k 1
        EXISTS k
        SET k v
        PEXPIRE k 0
        EXISTS k
        SET r v EXAT 9999999999
        RENAME r r2
        EXPIRETIME r2
        RENAME none x
        RENAME r2 r2
        RENAMENX r2 r2
        SET r3 x
        RENAMENX r2 r3
        RENAMENX r2 r4
        RENAMENX none r4
        RENAME l r4
        TYPE r4
        COPY r4 c
        COPY r4 c
        COPY r4 c REPLACE
        COPY r4 r4
        COPY r4 r4 DB 1
        COPY r4 c DB 99
        COPY r4 c DB x
        COPY r4 c FOO
        COPY none c
        MOVE c 1
        MOVE c 1
        MOVE r4 0
        MOVE r4 99
        MOVE r4 x
        SELECT 1
        LRANGE c 0 -1
        LRANGE r4 0 -1
        SELECT 99
        SELECT -1
        SELECT x
        SELECT 0
        DBSIZE
        RANDOMKEY x
        SWAPDB 0 1
        DBSIZE
        SWAPDB 0 99
        SWAPDB x 1
        SWAPDB 0 x
        SWAPDB 1 1
        FLUSHDB
        RANDOMKEY
        KEYS *
        SCAN 0
        SCAN x
        SCAN 0 COUNT 0
        SCAN 0 COUNT x
        SCAN 0 FOO
        SCAN 0 MATCH
        SET only x
        KEYS *
        KEYS o?ly
        KEYS [a-z]nly
        KEYS x*
        RANDOMKEY
        SCAN 0 COUNT 10000 TYPE string
        SCAN 0 COUNT 10000 TYPE list
        SCAN 0 COUNT 10000 MATCH on*
        FLUSHALL FOO
        FLUSHALL ASYNC
        FLUSHDB SYNC
        OBJECT HELP
        DUMPX a
        "#,
        &[],
    );
}

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
        MEMORY HELP
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
