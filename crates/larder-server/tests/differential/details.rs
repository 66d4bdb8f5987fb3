//! Details of arguments and refusals that commands of one kind share, or that are easily got wrong.

use crate::run_script;

#[test]
fn order_of_checks() {
    run_script(
        r#"
        SET s a
        RPUSH l a b
        BITCOUNT none 1 x
        BITCOUNT none 1 2 x
        BITCOUNT none 1 2 BIT
        BITCOUNT none 1 2 BIT x
        BITPOS none 1 x
        BITPOS none 1 1 2 x
        SWAPDB 44 a
        SWAPDB a 44
        SWAPDB 0 44
        MSETEX 0 a b
        MSETEX x a b
        MSETEX 2 a b
        MSETEX 1 a b EX 0
        MSETEX 1 a b EX x
        MSETEX 1 a b NX XX
        MSETEX 1 a b FOO
        MSETEX 9223372036854775807 a b
        GETEX none EX 0
        GETEX none EX x
        GETEX l EX 0
        GETEX l
        LPOS l a RANK -9223372036854775808
        LPOS none a RANK -9223372036854775808
        LPOS l a RANK 0
        LPOS l a COUNT -1
        SCAN 0 TYPE nosuch
        SCAN 0 TYPE ""
        BLMPOP x 0 l left
        BLMPOP x 1 l foo
        BLMPOP x 1 l left count 0
        LMPOP 1 l left count x
        LMPOP 1 l left count 1 count 2
        BZMPOP x 0 l min
        BZMPOP x 1 l foo
        BZMPOP x 1 l min count x
        CLIENT LIST ID 1 x
        CLIENT LIST ID -1
        CLIENT LIST USER nosuch
        CLIENT LIST DB 99
        CLIENT LIST IDLE -1
        CLIENT LIST FLAGS Q
        CLIENT KILL ID 99999 x
        XADD x 1-1 f v
        XREAD BLOCK 9223372036854775807 STREAMS x 0
        XREAD BLOCK -1 STREAMS x 0
        "#,
        &[],
    );
}

#[test]
fn numbers_with_a_fraction() {
    run_script(
        r#"
        ZADD z 1e21 a 1.5e21 b 123456.789e3 c 0.000001 d 1.5e-7 e 1e-7 f 4611686018427387904 g 9e18 h
        ZADD z 1e19 i 1.25e18 j 123456789.125 k 0.1234567890123456789 l 1.7976931348623157e308 m 1e-5 o 0.00012 p
        ZADD z 12345.678901234567 q 1234.5678901234567 r 0.0001234567890123456 s
        ZRANGE z 0 -1 WITHSCORES
        DEBUG DIGEST-VALUE z
        ZADD z 0x10 a
        ZADD z " 1" a
        ZCOUNT z " 1" 5
        ZCOUNT z "" 5
        ZCOUNT z ( 5
        ZUNION 1 z WEIGHTS 0x2
        GEOADD g 0x1 1 a
        INCRBYFLOAT f 0x10
        BLPOP nokey 0x1
        "#,
        &["--enable-debug-command", "yes"],
    );
}

#[test]
fn databases_of_users() {
    run_script(
        r#"
        ACL SETUSER u on nopass ~* &* +@all db=9,3,2,2
        ACL GETUSER u
        ACL LIST
        ACL DRYRUN u get a
        ACL DRYRUN u move a 5
        ACL DRYRUN u select 5
        ACL DRYRUN u select 2
        ACL DRYRUN u select 99
        ACL DRYRUN u select x
        ACL DRYRUN u swapdb 2 3
        ACL DRYRUN u swapdb 2 5
        ACL DRYRUN u copy a b replace db 6
        ACL DRYRUN u flushall
        ACL DRYRUN u cluster flushslot 1
        ACL DRYRUN u ping
        ACL DRYRUN u publish a b
        ACL DRYRUN u spublish a b
        ACL DRYRUN u eval x 0
        ACL DRYRUN u function flush
        ACL DRYRUN u debug object a
        SELECT 2
        ACL DRYRUN u get a
        ACL DRYRUN u move a 3
        ACL DRYRUN u flushdb
        ACL DRYRUN u copy a b db x
        SELECT 0
        ACL SETUSER u db=x
        ACL SETUSER u db=
        ACL SETUSER u db=0,
        ACL SETUSER u db=1x
        ACL SETUSER u db=-1
        ACL SETUSER u db=99999999999
        ACL SETUSER u db=16
        ACL SETUSER u resetdbs
        ACL GETUSER u
        ACL LIST
        ACL SETUSER u alldbs (+get ~b* db=1)
        ACL GETUSER u
        ACL LIST
        ACL SETUSER u clearselectors db=0
        AUTH u x
        SELECT 1
        SET a 1
        EVAL "return redis.call('get','a')" 0
        MULTI
        SELECT 1
        EXEC
        AUTH default x
        ACL DELUSER u
        "#,
        &[],
    );
}

#[test]
fn keys_of_commands() {
    run_script(
        r#"
        COMMAND GETKEYS MIGRATE h 1 "" 0 5 KEYS k1 k2
        COMMAND GETKEYS MIGRATE h 1 k0 0 5
        COMMAND GETKEYS MIGRATE h 1 "" 0 5 COPY AUTH keys KEYS k1 k2
        COMMAND GETKEYSANDFLAGS MIGRATE h 1 "" 0 5 KEYS k1 k2
        COMMAND GETKEYS EVAL x 0
        COMMAND GETKEYS EVAL x -1
        COMMAND GETKEYS EVAL x a
        COMMAND GETKEYS EVAL x 3 a
        COMMAND GETKEYSANDFLAGS SET k v
        COMMAND GETKEYSANDFLAGS SET k v GET
        COMMAND GETKEYSANDFLAGS SET k v NX
        COMMAND GETKEYSANDFLAGS SET k v EX 10
        COMMAND GETKEYSANDFLAGS GETEX k
        COMMAND GETKEYSANDFLAGS BITFIELD k GET u8 0
        COMMAND GETKEYSANDFLAGS BITFIELD k SET u8 0 1
        COMMAND GETKEYSANDFLAGS EVAL "return 1" 1 a
        COMMAND GETKEYSANDFLAGS EVAL_RO "return 1" 1 a
        COMMAND GETKEYS SORT a STORE b STORE c BY w_* GET foo
        COMMAND GETKEYSANDFLAGS SORT a STORE b
        COMMAND GETKEYS GET
        COMMAND GETKEYS nosuch a
        COMMAND GETKEYS PING
        COMMAND GETKEYS ZUNIONSTORE d 2 a b
        COMMAND GETKEYS ZUNIONSTORE d 3 a b
        COMMAND GETKEYS XREAD STREAMS a b 1 2
        COMMAND GETKEYS XREADGROUP GROUP g c STREAMS a b 1
        COMMAND GETKEYS GEORADIUS a 1 2 3 m STORE x STOREDIST y
        COMMAND GETKEYS OBJECT HELP
        COMMAND GETKEYS OBJECT ENCODING a
        COMMAND GETKEYS MSETEX 2 a b c d EX 1
        COMMAND GETKEYS LMPOP 2 a b LEFT
        COMMAND GETKEYS BLMPOP 0 2 a b LEFT
        COMMAND GETKEYS FCALL f 2 a b
        COMMAND GETKEYS MEMORY USAGE a
        COMMAND GETKEYS SUBSCRIBE a
        COMMAND GETKEYS SPUBLISH a b
        COMMAND GETKEYS SSUBSCRIBE a b
        ACL SETUSER u on nopass +@all %R~r* %W~w*
        ACL DRYRUN u EVAL "" 3 ra wa rb
        ACL DRYRUN u EVAL "" 1 ra
        ACL DRYRUN u EVAL_RO "" 1 ra
        ACL DRYRUN u SORT ra STORE wa
        ACL DRYRUN u SORT ra STORE ra
        ACL DRYRUN u MIGRATE h 1 "" 0 5 KEYS ra wa
        ACL DRYRUN u BITFIELD ra GET u8 0
        ACL DRYRUN u BITFIELD wa SET u8 0 1
        ACL DRYRUN u SET wa v
        ACL DRYRUN u SET wa v GET
        ACL DRYRUN u GETSET wa v
        ACL DRYRUN u EVAL "" 3 ra
        ACL DRYRUN u COPY ra wa
        "#,
        &[],
    );
}

#[test]
fn fields_that_end_at_once() {
    run_script(
        r#"
        HSET h a 1 b 2 c 3
        HEXPIRE h 0 FIELDS 1 c
        HGETALL h
        HEXPIRE h 100 FIELDS 1 c
        HEXPIREAT h 0 FIELDS 1 a
        HEXPIREAT h 1 FIELDS 1 b
        HPEXPIRE h 0 FIELDS 1 b
        HTTL h FIELDS 3 a b c
        HGETALL h
        EXISTS h
        HSETEX h2 EX 0 FIELDS 1 f v
        EXISTS h2
        HSET h3 a 1 b 2
        HSETEX h3 PX 0 FIELDS 1 a 3
        HGETALL h3
        HSETEX h3 EXAT 0 FIELDS 1 a 3
        HGETALL h3
        HSETEX h3 EXAT 1 FIELDS 2 b 3 c 4
        HGETALL h3
        HSET h4 a 1 b 2
        HGETEX h4 EX 0 FIELDS 1 a
        HGETALL h4
        HGETEX h4 EXAT 0 FIELDS 1 b
        HGETALL h4
        EXISTS h4
        HSET h5 a 1
        HSETEX h5 EX 100 FIELDS 1 a 1
        HTTL h5 FIELDS 1 a
        HSETEX h5 FIELDS 1 a 1
        HTTL h5 FIELDS 1 a
        HSETEX h5 KEEPTTL FIELDS 1 a 1
        SET s v EX 0
        GETEX s EX 0
        SET s v
        GETEX s EX 0
        GETEX s EX -1
        EXPIRE s 0
        EXISTS s
        SETEX s 0 v
        PSETEX s -1 v
        SET s v PXAT 1
        EXISTS s
        RESTORE s 0 x
        MSETEX 1 a b EX 0
        "#,
        &[],
    );
}

#[test]
fn ranges_of_members_with_different_scores() {
    run_script(
        r#"
        ZADD zd 0 b 5 a 2 c 1 d
        ZRANGE zd [b + BYLEX
        ZRANGE zd - [b BYLEX
        ZRANGE zd [c [a BYLEX REV
        ZRANGE zd [d [b BYLEX REV
        ZRANGE zd + (a BYLEX REV LIMIT 1 2
        ZREVRANGEBYLEX zd [d [a
        ZLEXCOUNT zd (a +
        ZLEXCOUNT zd - +
        ZLEXCOUNT zd - [b
        ZLEXCOUNT zd [b -
        ZLEXCOUNT zd + -
        ZRANGESTORE zs zd [b [d BYLEX
        ZRANGESTORE zs zd - [b BYLEX
        ZRANGE zs 0 -1
        ZREMRANGEBYLEX zd - [b
        ZRANGE zd 0 -1
        ZADD ze 1 b 2 a 2 c 3 d 0 e
        ZRANGEBYLEX ze [a [c
        ZRANGEBYLEX ze [a [e
        ZRANGEBYLEX ze (b (e
        ZRANGEBYLEX ze [a (d
        ZRANGEBYLEX ze - (z
        ZREVRANGEBYLEX ze (z -
        ZREVRANGEBYLEX ze + [c
        ZREVRANGEBYLEX ze [d -
        "#,
        &[],
    );
}

#[test]
fn reset_forgets_what_the_client_said() {
    run_script(
        r#"
        CONFIG SET import-mode yes
        CLIENT IMPORT-SOURCE ON
        CLIENT KILL FLAGS N SKIPME no
        RESET
        CLIENT KILL FLAGS I SKIPME no
        CLIENT LIST FLAGS I
        CLIENT IMPORT-SOURCE ON
        CONFIG SET import-mode no
        CLIENT IMPORT-SOURCE ON
        CLIENT IMPORT-SOURCE maybe
        CLIENT KILL FLAGS N SKIPME no
        CLIENT IMPORT-SOURCE OFF
        CLIENT LIST FLAGS I
        "#,
        &[],
    );
}
