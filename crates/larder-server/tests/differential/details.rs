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
