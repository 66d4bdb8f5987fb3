//! Arguments that are wrong, one way after the other: which error, and which first.

use crate::run_script;

#[test]
fn of_commands_for_data() {
    run_script(
        r##"
        WAITAOF 2 0 0
        WAITAOF -1 0 0
        WAITAOF a 0 0
        WAITAOF 0 a 0
        WAITAOF 0 0 a
        WAITAOF 0 0 -1
        WAITAOF 1 0 0
        WAIT -1 0
        WAIT 0 a
        HINCRBY h f 9223372036854775807
        HINCRBY h f 1
        HINCRBYFLOAT h f nan
        HINCRBYFLOAT h f inf
        INCRBYFLOAT k 1e400
        INCRBYFLOAT k 3e-400
        INCRBY k 9223372036854775808
        DECRBY k -9223372036854775808
        DECRBY k 9223372036854775807
        DECR k
        SETRANGE k 536870912 a
        SETRANGE k -1 a
        SETBIT k 4294967296 1
        SETBIT k -1 1
        SETBIT k 1 2
        GETBIT k 4294967296
        BITFIELD k GET u64 0
        BITFIELD k GET i65 0
        BITFIELD k GET u8 -1
        BITFIELD k GET u8 #-1
        BITFIELD k SET u8 4294967296 1
        BITFIELD k OVERFLOW x
        BITFIELD k INCRBY u8 0 99999999999999999999
        BITOP NOT d a b
        BITOP DIFF d a
        BITOP ONE d a b
        BITOP DIFF1 d a b
        BITOP ANDOR d a b
        BITOP X d a
        LPOS l a RANK 0
        LINSERT l x a b
        LSET l 0 a
        LSET nosuch a b
        RPUSH l a b c
        LSET l 3 x
        LSET l a x
        LINDEX l x
        LREM l x a
        LTRIM l a b
        LRANGE l a b
        LMPOP 0 l LEFT
        LMPOP 1 l X
        LMPOP 2 l LEFT
        LMPOP 1 l LEFT COUNT 0
        LPOP l -1
        LPOP l 0
        LPOP nosuch 0
        LPOP l a
        LPOP l 1 2
        SPOP s -1
        SPOP s 0
        SPOP s a
        SRANDMEMBER s a
        SMISMEMBER s
        SINTERCARD 0 s
        SINTERCARD 1 s LIMIT -1
        SINTERCARD 1 s LIMIT a
        SINTERCARD 2 s
        SINTERCARD 1 s x
        ZADD z NX XX 1 a
        ZADD z NX GT 1 a
        ZADD z INCR 1 a 2 b
        ZADD z 1
        ZADD z nan a
        ZADD z inf a
        ZINCRBY z -inf a
        ZINCRBY z x a
        ZUNIONSTORE d 0 a
        ZUNIONSTORE d 1 a WEIGHTS
        ZUNIONSTORE d 1 a WEIGHTS x
        ZUNIONSTORE d 1 a AGGREGATE x
        ZUNIONSTORE d 1 a x
        ZUNION 2 a
        ZINTERCARD 1 a LIMIT -1
        ZDIFF 1 a WITHSCORE
        ZDIFFSTORE d x a
        ZRANGE z 0 1 BYSCORE WITHSCORES LIMIT 0
        ZRANGE z 0 1 LIMIT 0 1
        ZRANGE z a b
        ZRANGE z a b BYLEX
        ZRANGE z ( 1 BYSCORE
        ZRANGESTORE d z 0 1 WITHSCORES
        ZRANDMEMBER z a
        ZRANDMEMBER z 1 x
        ZPOPMIN z -1
        ZPOPMIN z a
        ZMPOP 0 z MIN
        ZMPOP 1 z X
        ZREMRANGEBYRANK z a b
        ZRANK z a WITHSCORES
        ZRANK z a WITHSCORE x
        GEOADD g 200 1 a
        GEOADD g x 1 a
        GEOADD g NX XX 1 1 a
        GEODIST g a b x
        GEOPOS g
        GEOHASH g
        GEOSEARCH g FROMMEMBER a BYRADIUS x m
        GEOSEARCH g FROMMEMBER a BYBOX 1 1
        GEOSEARCH g FROMMEMBER a
        GEOSEARCH g FROMLONLAT 1 1 BYRADIUS 1 m COUNT 0
        GEOSEARCH g FROMLONLAT 1 1 BYRADIUS 1 m ANY
        GEOSEARCH g FROMLONLAT 1 1 BYRADIUS -1 m
        GEOSEARCHSTORE d g FROMLONLAT 1 1 BYRADIUS 1 m WITHDIST
        GEORADIUS g 1 1 1 m STORE d WITHDIST
        GEORADIUS_RO g 1 1 1 m STORE d
        XADD x 0-0 a b
        XADD x 1 a
        XADD x MAXLEN a * a b
        XADD x MAXLEN ~ 10 LIMIT a * a b
        XADD x MAXLEN 10 LIMIT 5 * a b
        XADD x MAXLEN = 10 LIMIT 5 * a b
        XADD x NOMKSTREAM * a b
        XADD x MINID 5 MAXLEN 3 * a b
        XADD x 18446744073709551616-0 a b
        XADD x 1-* a b
        XADD x 1-* a b
        XADD x *-1 a b
        XTRIM x MAXLEN -1
        XTRIM x MAXLEN a
        XTRIM x x 1
        XRANGE x a b
        XRANGE x - + COUNT a
        XRANGE x - + COUNT -1
        XRANGE x (- +
        XRANGE x (1-1 +
        XRANGE x (18446744073709551615-18446744073709551615 +
        XREAD COUNT a STREAMS x 0
        XREAD BLOCK a STREAMS x 0
        XREAD STREAMS x
        XREAD STREAMS x >
        XREAD STREAMS x +
        XREAD STREAMS x a
        XREADGROUP GROUP g c STREAMS x
        XREADGROUP GROUP g c STREAMS x $
        XREADGROUP GROUP g c NOACK COUNT 1 STREAMS x >
        XGROUP CREATE nosuch g 0
        XGROUP CREATE x g a
        XGROUP CREATE x g 0 ENTRIESREAD -2
        XGROUP CREATE x g 0 ENTRIESREAD a
        XGROUP CREATE x g 0
        XGROUP CREATE x g 0
        XGROUP SETID x nosuch 0
        XGROUP DELCONSUMER x nosuch c
        XGROUP CREATECONSUMER nosuch g c
        XGROUP nosuch x
        XCLAIM x g c a 1-1
        XCLAIM x g c 0 a
        XCLAIM x g c 0 1-1 IDLE a
        XCLAIM x g c 0 1-1 x
        XAUTOCLAIM x g c a 0
        XAUTOCLAIM x g c 0 a
        XAUTOCLAIM x g c 0 0 COUNT 0
        XPENDING x nosuch
        XPENDING x g IDLE a - + 1
        XPENDING x g - + a
        XPENDING x g - +
        XINFO STREAM nosuch
        XINFO STREAM x FULL COUNT a
        XINFO STREAM x x
        XINFO nosuch x
        XSETID x 0-0
        XSETID x 1-1 ENTRIESADDED -1
        XSETID x a
        XDEL x a
        XDELEX x
        XACK x g a
        OBJECT nosuch k
        EXPIRE k a
        EXPIRE k 9223372036854775807
        EXPIRE k 1 x
        EXPIRE k 1 NX GT
        PEXPIREAT k -9223372036854775808
        SET k v EX a
        SET k v EX 9223372036854775807
        SET k v NX XX
        SET k v EX 1 PX 1
        SET k v KEEPTTL EX 1
        SET k v GET NX
        SET k v IFEQ
        SET k v IFEQ a NX
        GETEX k EX
        GETEX k PERSIST EX 1
        GETDEL
        MSET a
        MSETNX a b c
        MSETEX 2 a b
        LCS a b LEN IDX
        LCS a b MINMATCHLEN x
        LCS a b x
        COPY a b DB a
        COPY a b DB 99
        COPY a a
        COPY a b x
        RENAME nosuch b
        RESTORE k a x
        RESTORE k -1 x
        RESTORE k 0 x IDLETIME -1
        RESTORE k 0 x FREQ 256
        RESTORE k 0 x x
        SORT l LIMIT a b
        SORT l BY
        SORT l x
        SORT l
        SORT set BY nosort GET # LIMIT 0 -1
        TOUCH
        KEYS
        SCAN a
        SCAN 0 COUNT a
        SCAN 0 COUNT 0
        SCAN 0 x
        SCAN -1
        SCAN 18446744073709551616
        PFADD
        PFCOUNT
        PFMERGE k
        SUBSCRIBE
        PUBSUB nosuch
        PUBSUB NUMSUB
        PUBSUB SHARDNUMSUB
        PUBSUB CHANNELS a b
        AUTH a
        AUTH a b
        AUTH a b c
        HELLO 4
        HELLO a
        HELLO 2 AUTH a
        HELLO 2 SETNAME
        HELLO 2 SETNAME "a b"
        HELLO 2 x
        PING a b
        ECHO
        SELECT a
        SELECT 16
        SELECT -1
        RESET x
        EVAL "return 1" a
        EVAL "return 1" -1
        EVAL "return 1" 2 a
        EVALSHA a 0
        FCALL f 0
        FCALL f a
        FUNCTION LOAD x
        FUNCTION LOAD "#!lua name=x\nx"
        FUNCTION DELETE x
        FUNCTION RESTORE x
        FUNCTION RESTORE x y
        FUNCTION LIST LIBRARYNAME
        FUNCTION LIST x
        FUNCTION STATS x
        FUNCTION DUMP x
        FUNCTION FLUSH x
        FUNCTION nosuch
        MULTI
        MULTI x
        WATCH a
        EXEC
        EXEC
        DISCARD
        UNWATCH x
        "##,
        &[],
    );
}

#[test]
fn of_commands_for_the_server() {
    run_script(
        r##"
        OBJECT FREQ nosuch
        OBJECT IDLETIME nosuch
        DEBUG SLEEP 0
        DEBUG QUICKLIST-PACKED-THRESHOLD 1b
        DEBUG DICT-STATS 0
        DEBUG HTSTATS-KEY a
        DEBUG CHANGE-REPL-ID
        DEBUG DICT-RESIZING 0
        DEBUG DICT-RESIZING 1
        DEBUG LISTPACK a
        DEBUG SDSLEN a
        DEBUG ZIPLIST a
        DEBUG REPLYBUFFER PEAK-RESET-TIME 100
        DEBUG PAUSE-CRON 0
        DEBUG SET-ACTIVE-EXPIRE 1
        DEBUG SET-DISABLE-DENY-SCRIPTS 0
        DEBUG REPLICATE all a
        DEBUG CLIENT-EVICTION
        DEBUG AUXDATA
        DEBUG ERROR "x y"
        DEBUG LOG "abc"
        DEBUG POPULATE 3
        DEBUG POPULATE 3 p 10
        DBSIZE
        DEBUG MALLOC-STATS x
        DEBUG nosuch
        DEBUG DIGEST-VALUE nosuch
        LATENCY HISTORY nosuch
        LATENCY RESET
        LATENCY RESET a b
        LATENCY LATEST
        LATENCY GRAPH a
        LATENCY HISTOGRAM nosuch
        LATENCY nosuch
        MEMORY PURGE
        MEMORY USAGE nosuch
        MEMORY USAGE a SAMPLES -1
        MEMORY USAGE a SAMPLES
        MEMORY nosuch
        SLOWLOG GET -2
        SLOWLOG GET a
        SLOWLOG LEN a
        SLOWLOG nosuch
        COMMANDLOG GET 1 slow
        COMMANDLOG GET 1 large-reply
        COMMANDLOG GET 1 nosuch
        COMMANDLOG LEN slow
        COMMANDLOG RESET large-request
        COMMANDLOG RESET
        SCRIPT EXISTS
        SCRIPT FLUSH x
        SCRIPT KILL
        SCRIPT SHOW e0e1f9fabfc9d4800c877a703b823ac0578ff8db
        SCRIPT LOAD "return 1"
        SCRIPT SHOW e0e1f9fabfc9d4800c877a703b823ac0578ff8db
        SCRIPT SHOW x
        SCRIPT nosuch
        WAIT 0 0
        WAIT a 0
        WAIT 0 -1
        WAITAOF 0 0 0
        WAITAOF 1 0 0
        WAITAOF 2 0 0
        WAITAOF 0 -1 0
        SAVE x
        BGSAVE x
        BGSAVE SCHEDULE x
        BGSAVE CANCEL
        SHUTDOWN x
        SHUTDOWN SAVE NOSAVE
        SHUTDOWN ABORT
        FAILOVER
        REPLICAOF NO ONE
        REPLICAOF a b
        TIME x
        DBSIZE x
        SWAPDB 0 0
        SWAPDB 0 16
        FLUSHALL x
        FLUSHALL ASYNC SYNC
        FLUSHDB x
        MOVE a 0
        MOVE a 99
        MOVE a x
        RANDOMKEY x
        COMMAND COUNT x
        COMMAND LIST FILTERBY MODULE nosuch
        COMMAND LIST FILTERBY MODULE lua
        COMMAND LIST FILTERBY ACLCAT nosuch
        COMMAND LIST FILTERBY X y
        COMMAND LIST FILTERBY
        COMMAND DOCS nosuch
        COMMAND INFO nosuch
        COMMAND nosuch
        CONFIG nosuch
        CONFIG GET
        CONFIG SET a
        CONFIG SET nosuch 1
        CONFIG SET maxmemory -1
        CONFIG SET maxmemory 1 maxmemory 2
        CONFIG SET port a
        CONFIG SET port 0
        CONFIG SET appendonly maybe
        CONFIG SET appendfsync never
        CONFIG SET maxmemory-policy x
        CONFIG SET databases 3
        CONFIG SET dir /nosuch
        CONFIG SET dbfilename a/b
        CONFIG SET save "a b"
        CONFIG SET save ""
        CONFIG SET client-output-buffer-limit "x 1 2 3"
        CONFIG SET client-output-buffer-limit "normal 1 2"
        CONFIG SET oom-score-adj-values "1 2"
        CONFIG SET notify-keyspace-events X
        CONFIG SET hz 1000
        CONFIG GET hz
        CONFIG RESETSTAT x
        CONFIG REWRITE
        CONFIG HELP x
        PFDEBUG GETREG nosuch
        PFDEBUG ENCODING nosuch
        PFDEBUG x y
        PFSELFTEST x
        "##,
        &["--enable-debug-command", "yes"],
    );
}
