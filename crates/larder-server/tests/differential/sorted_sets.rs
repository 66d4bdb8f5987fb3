//! Scripts of the sorted set commands, chosen for their edges.

use crate::run_script;

#[test]
fn adding() {
    run_script(
        r#"
        ZADD z
        ZADD z 1
        ZADD z 1 a
        ZADD z 1 a 2
        ZADD z x a
        ZADD z 1 a x b
        ZSCORE z b
        ZADD z nan a
        ZADD z 1 a 2 b 3 c
        ZADD z NX 5 a 4 d
        ZADD z XX 5 a 4 e
        ZADD z XX CH 6 a 4 e
        ZADD z CH 6 a 7 b 1 new
        ZADD z GT 1 a 100 b
        ZADD z GT CH 1 a 101 b
        ZADD z LT CH 1 a 102 b
        ZADD z GT LT 1 a
        ZADD z NX GT 1 a
        ZADD z NX XX 1 a
        ZADD z XX GT 500 a
        ZADD z INCR 5 a
        ZADD z INCR 5 a 6 b
        ZADD z NX INCR 5 a
        ZADD z NX INCR 5 fresh
        ZADD z XX INCR 5 none
        ZADD z GT INCR -5 a
        ZADD z LT INCR -5 a
        ZADD none XX 1 a
        ZADD none XX INCR 1 a
        EXISTS none
        ZADD none XX GT
        ZADD z inf i -inf j +inf k Infinity l
        ZADD z INCR -inf i
        ZSCORE z i
        ZINCRBY z inf j
        ZINCRBY z 1.5 a
        ZINCRBY z abc a
        ZINCRBY z 0.1 a
        ZINCRBY new 0.1 a
        ZINCRBY new 0.2 a
        ZINCRBY new 1e300 a
        ZINCRBY z nx a
        ZADD hex 0x10 a
        ZSCORE hex a
        ZADD p 1e-5 a 0.00001234 b 123456789012345678 c 1e17 d 99999999999999999 e 0.1 f 3.0 g -0.5 h 1.7976931348623157e308 i 5e-324 j
        ZRANGE p 0 -1 WITHSCORES
        ZADD p 2.5 "" 2.5 "\x00\xff" 2.5 "long member with blanks"
        ZRANGE p 0 -1 WITHSCORES
        SET s x
        ZADD s 1 a
        ZADD s XX 1 a
        ZINCRBY s 1 a
        ZADD z CH CH 1 a
        ZADD z nosuch 1 a
        ZADD z ch
        DEBUG DIGEST-VALUE z p new
        TYPE z
        OBJECT ENCODING z
        "#,
        &[],
    );
}

#[test]
fn reading() {
    run_script(
        r#"
        ZADD z 1 a 2 b 3 c 3 d 4.5 e
        ZCARD z
        ZCARD none
        ZSCORE z c
        ZSCORE z none
        ZSCORE none c
        ZMSCORE z a none c
        ZMSCORE none a b
        ZRANK z a
        ZRANK z d
        ZRANK z none
        ZRANK none a
        ZREVRANK z a
        ZREVRANK z e
        ZREVRANK none e
        ZCOUNT z -inf +inf
        ZCOUNT z 2 3
        ZCOUNT z (2 3
        ZCOUNT z 2 (3
        ZCOUNT z (3 (3
        ZCOUNT z 5 1
        ZCOUNT z a b
        ZCOUNT z 1 (
        ZCOUNT z nan 1
        ZCOUNT none 1 2
        ZLEXCOUNT z - +
        ZLEXCOUNT z a c
        ZLEXCOUNT none - +
        SET s x
        ZCARD s
        ZSCORE s a
        ZMSCORE s a
        ZRANK s a
        ZCOUNT s 1 2
        ZLEXCOUNT s - +
        ZRANGE s 0 -1
        ZSCAN s 0
        ZRANDMEMBER s
        ZSCAN none 0
        ZSCAN z 0
        ZSCAN z 0 COUNT 1
        ZSCAN z 0 MATCH [ab]
        ZSCAN z 0 COUNT 0
        ZSCAN z 0 COUNT x
        ZSCAN z 0 NOSUCH
        ZSCAN none 0 NOSUCH
        ZSCAN z x
        ZRANDMEMBER none
        ZRANDMEMBER none 3
        ZRANDMEMBER none -3 WITHSCORES
        ZRANDMEMBER z 0
        ZRANDMEMBER z 5
        ZRANDMEMBER z 10 WITHSCORES
        ZRANDMEMBER z x
        ZRANDMEMBER z 3 NOSUCH
        ZRANDMEMBER z 3 WITHSCORES x
        ZRANDMEMBER z -9223372036854775808
        ZRANDMEMBER z -9223372036854775807 WITHSCORES
        ZRANDMEMBER z 9223372036854775807 WITHSCORES
        ZADD one 1.5 only
        ZRANDMEMBER one
        ZRANDMEMBER one -3
        ZRANDMEMBER one -2 WITHSCORES
        "#,
        &[],
    );
}

#[test]
fn ranges() {
    run_script(
        r#"
        ZADD z 1 a 2 b 3 c 3 d 4.5 e 6 f
        ZRANGE z 0 -1
        ZRANGE z 0 -1 WITHSCORES
        ZRANGE z 1 2
        ZRANGE z -2 -1 withscores
        ZRANGE z 3 1
        ZRANGE z -100 100
        ZRANGE z 6 10
        ZRANGE z a b
        ZRANGE z 0 -1 REV
        ZRANGE z 0 1 REV WITHSCORES
        ZRANGE z 0 1 REV REV
        ZRANGE z 0 1 LIMIT 0 1
        ZRANGE z 0 1 LIMIT 0 -1
        ZRANGE z 1 3 BYSCORE
        ZRANGE z 3 1 BYSCORE
        ZRANGE z 3 1 BYSCORE REV
        ZRANGE z (3 1 BYSCORE REV WITHSCORES
        ZRANGE z 1 3 BYSCORE LIMIT 1 2
        ZRANGE z 1 3 BYSCORE LIMIT 1 -1
        ZRANGE z 1 3 BYSCORE LIMIT -1 2
        ZRANGE z 1 3 BYSCORE LIMIT 0 0
        ZRANGE z 1 3 BYSCORE LIMIT 10 10
        ZRANGE z 1 3 BYSCORE LIMIT x 10
        ZRANGE z 1 3 BYSCORE LIMIT 1
        ZRANGE z 9 0 BYSCORE REV LIMIT 1 2 WITHSCORES
        ZRANGE z 1 3 BYSCORE BYLEX
        ZRANGE z 1 3 NOSUCH
        ZRANGE z - + BYLEX WITHSCORES
        ZRANGE z - + BYLEX
        ZRANGE z + - BYLEX REV
        ZRANGE none 0 -1
        ZRANGE none x y
        ZREVRANGE z 0 1
        ZREVRANGE z 0 1 WITHSCORES
        ZREVRANGE z 0 1 REV
        ZREVRANGE z 0 1 BYSCORE
        ZRANGEBYSCORE z -inf +inf
        ZRANGEBYSCORE z 2 4 WITHSCORES
        ZRANGEBYSCORE z (1 (3 WITHSCORES LIMIT 0 1
        ZRANGEBYSCORE z 4 2
        ZRANGEBYSCORE z x 2
        ZRANGEBYSCORE z 1 2 REV
        ZREVRANGEBYSCORE z 4 2 WITHSCORES
        ZREVRANGEBYSCORE z +inf (2 LIMIT 1 2
        ZREVRANGEBYSCORE z 2 4
        ZADD l 0 a 0 b 0 c 0 cc 0 d 0 e
        ZRANGEBYLEX l - +
        ZRANGEBYLEX l [b [d
        ZRANGEBYLEX l (b (d
        ZRANGEBYLEX l - (c
        ZRANGEBYLEX l [c +
        ZRANGEBYLEX l + -
        ZRANGEBYLEX l [d [b
        ZRANGEBYLEX l b d
        ZRANGEBYLEX l "" +
        ZRANGEBYLEX l [ +
        ZRANGEBYLEX l +x +
        ZRANGEBYLEX l - + LIMIT 1 2
        ZRANGEBYLEX l - + LIMIT 4 20
        ZREVRANGEBYLEX l + -
        ZREVRANGEBYLEX l [d (b
        ZREVRANGEBYLEX l + - LIMIT 0 2
        ZLEXCOUNT l [b (d
        ZLEXCOUNT l [zz [zzz
        ZRANGE l [b (d BYLEX
        ZRANGE l (d [b BYLEX REV LIMIT 0 1
        ZRANGESTORE dst z 0 2
        ZRANGE dst 0 -1 WITHSCORES
        ZRANGESTORE dst z 2 4 BYSCORE LIMIT 0 2
        ZRANGE dst 0 -1 WITHSCORES
        ZRANGESTORE dst z 0 1 REV
        ZRANGE dst 0 -1 WITHSCORES
        ZRANGESTORE dst l [b + BYLEX
        ZRANGE dst 0 -1
        ZRANGESTORE dst z 0 1 WITHSCORES
        ZRANGESTORE dst none 0 1
        EXISTS dst
        SET s x
        ZRANGESTORE s z 0 0
        TYPE s
        SET s x
        ZRANGESTORE dst s 0 0
        ZRANGESTORE z z 1 2
        ZRANGE z 0 -1 WITHSCORES
        "#,
        &[],
    );
}

#[test]
fn removing() {
    run_script(
        r#"
        ZADD z 1 a 2 b 3 c 3 d 4.5 e 6 f 7 g 8 h
        ZREM z a none b
        ZREM none a
        ZREM z
        ZREMRANGEBYRANK z 0 0
        ZREMRANGEBYRANK z -1 -1
        ZREMRANGEBYRANK z 5 1
        ZREMRANGEBYRANK z x 1
        ZREMRANGEBYSCORE z 4 5
        ZREMRANGEBYSCORE z (3 (6
        ZREMRANGEBYSCORE z x 5
        ZRANGE z 0 -1 WITHSCORES
        ZREMRANGEBYSCORE z -inf inf
        EXISTS z
        ZREMRANGEBYSCORE z -inf inf
        ZADD l 0 a 0 b 0 c 0 d
        ZREMRANGEBYLEX l [b (d
        ZREMRANGEBYLEX l b d
        ZRANGE l 0 -1
        ZREMRANGEBYLEX l - +
        EXISTS l
        ZADD p 1 a 2 b 3 c 4 d 5 e
        ZPOPMIN p
        ZPOPMAX p
        ZPOPMIN p 0
        ZPOPMIN p 2
        ZPOPMAX p 5
        ZPOPMIN p
        ZPOPMIN p 2
        ZPOPMIN p -1
        ZPOPMIN p x
        ZPOPMIN p 1 2
        ZADD p 1 a 2 b 3 c 4 d 5 e
        ZMPOP 1 p MIN
        ZMPOP 2 none p MAX COUNT 2
        ZMPOP 2 none p MAX COUNT 0
        ZMPOP 2 none p MAX COUNT x
        ZMPOP 2 none p NOSUCH
        ZMPOP 0 p MIN
        ZMPOP x p MIN
        ZMPOP 5 p MIN
        ZMPOP 1 p MIN COUNT 1 COUNT 2
        ZMPOP 1 p MIN NOSUCH 1
        ZMPOP 1 none MIN
        BZPOPMIN p 1
        BZPOPMAX none p 1
        EXISTS p
        BZPOPMIN p 0.01
        BZPOPMIN p x
        BZPOPMIN p -1
        BZMPOP 0.01 1 p MIN
        ZADD p 1 a 2 b 3 c
        BZMPOP 1 2 none p MAX COUNT 2
        BZMPOP x 1 p MIN
        BZMPOP 1 0 p MIN
        BZMPOP 1 1 p MIN COUNT 0
        SET s x
        ZREM s a
        ZPOPMIN s
        ZPOPMIN s 0
        ZMPOP 2 s p MIN
        BZPOPMIN s 1
        BZMPOP 1 1 s MIN
        ZREMRANGEBYRANK s 0 1
        MULTI
        BZPOPMIN none 0
        BZMPOP 0 1 none MAX
        BZPOPMAX p 0
        EXEC
        "#,
        &[],
    );
}

#[test]
fn combining() {
    run_script(
        r#"
        ZADD a 1 x 2 y 3 z
        ZADD b 10 y 20 z 30 w
        ZADD c 5 z 5 q
        ZUNION 2 a b
        ZUNION 2 a b WITHSCORES
        ZUNION 3 a b c WEIGHTS 1 2 3 WITHSCORES
        ZUNION 3 a b c AGGREGATE MAX WITHSCORES
        ZUNION 3 a b c AGGREGATE MIN WEIGHTS 1 -1 0.5 WITHSCORES
        ZUNION 2 a none WITHSCORES
        ZUNION 1 none
        ZUNION 0 a
        ZUNION -1 a
        ZUNION x a
        ZUNION 3 a b
        ZUNION 2 a b WEIGHTS 1
        ZUNION 2 a b WEIGHTS 1 x
        ZUNION 2 a b AGGREGATE
        ZUNION 2 a b AGGREGATE avg
        ZUNION 2 a b NOSUCH
        ZUNION 2 a a WITHSCORES
        ZINTER 2 a b WITHSCORES
        ZINTER 3 a b c WITHSCORES
        ZINTER 3 a b c WEIGHTS 2 3 4 AGGREGATE MIN WITHSCORES
        ZINTER 2 a none
        ZINTER 2 a a WITHSCORES
        ZDIFF 2 a b WITHSCORES
        ZDIFF 3 a b c
        ZDIFF 2 none a
        ZDIFF 1 a WITHSCORES
        ZDIFF 2 a b WEIGHTS 1 2
        ZDIFF 2 a a
        ZINTERCARD 2 a b
        ZINTERCARD 2 a b LIMIT 1
        ZINTERCARD 2 a b LIMIT 0
        ZINTERCARD 2 a b LIMIT -1
        ZINTERCARD 2 a b LIMIT x
        ZINTERCARD 2 a b LIMIT
        ZINTERCARD 2 a b WITHSCORES
        ZINTERCARD 2 a none
        ZINTERCARD 0 a
        ZUNIONSTORE d 2 a b WEIGHTS 2 3
        ZRANGE d 0 -1 WITHSCORES
        ZUNIONSTORE d 2 a b WITHSCORES
        ZINTERSTORE d 2 a b AGGREGATE MAX
        ZRANGE d 0 -1 WITHSCORES
        ZDIFFSTORE d 2 a b
        ZRANGE d 0 -1 WITHSCORES
        ZDIFFSTORE d 1 none
        EXISTS d
        ZINTERSTORE d 0 a
        ZUNIONSTORE a 2 a b
        ZRANGE a 0 -1 WITHSCORES
        ZADD i inf p -inf m 0 o
        ZUNION 2 i i WEIGHTS 1 -1 WITHSCORES
        ZUNION 1 i WEIGHTS 0 WITHSCORES
        ZINTER 2 i i WEIGHTS 1 -1 WITHSCORES
        SET s x
        ZUNION 2 a s
        ZUNIONSTORE s 1 a
        TYPE s
        SET s x
        ZINTER 2 a s NOSUCH
        ZDIFFSTORE d 2 a s
        ZADD f1 0.1 a 1e16 b
        ZADD f2 0.2 a 1 b 3 c
        ZADD f3 0.3 a 1 b
        ZUNION 3 f1 f2 f3 WITHSCORES
        OBJECT ENCODING a
        "#,
        &[],
    );
}

#[test]
fn encodings() {
    run_script(
        r#"
        CONFIG SET zset-max-listpack-entries 3
        ZADD z 1 a 2 b 3 c
        OBJECT ENCODING z
        ZADD z 4 d
        OBJECT ENCODING z
        ZREM z c d
        OBJECT ENCODING z
        ZRANGE z 0 -1 WITHSCORES
        CONFIG SET zset-max-listpack-value 5
        ZADD y 1 abcdef
        OBJECT ENCODING y
        ZADD x 1 abcde
        OBJECT ENCODING x
        ZADD x 1 abcdef
        OBJECT ENCODING x
        ZUNIONSTORE u 1 z
        OBJECT ENCODING u
        ZRANGESTORE r z 0 -1
        OBJECT ENCODING r
        ZRANGESTORE r y 0 -1
        OBJECT ENCODING r
        COPY z copy
        OBJECT ENCODING copy
        DEBUG DIGEST-VALUE copy z x y u
        RENAME copy z2
        ZRANGE z2 0 -1
        CONFIG SET zset-max-listpack-entries 0
        ZADD w 1 a
        OBJECT ENCODING w
        CONFIG SET zset-max-listpack-entries 128
        CONFIG SET zset-max-listpack-value 64
        DEBUG LISTPACK w
        DEBUG LISTPACK r
        "#,
        &["--enable-debug-command", "yes"],
    );
}

#[test]
fn zeros_with_a_sign() {
    run_script(
        r#"
        CONFIG SET zset-max-listpack-entries 3
        ZADD small -0 a 0 b -1 c
        ZRANGE small 0 -1 WITHSCORES
        ZSCORE small a
        ZINCRBY small -0 d
        ZINCRBY small -0 a
        ZRANGE small 0 -1 WITHSCORES
        DEBUG DIGEST-VALUE small
        DEL small
        ZADD z 5 e -0 b 1 d -0.0 c -0 a
        OBJECT ENCODING z
        ZRANGE z 0 -1 WITHSCORES
        ZADD z CH 0 a -0 b 0 c
        ZADD z CH -0 f 0 g -0 h
        ZRANGE z 0 -1 WITHSCORES
        ZRANGE z 0 -1 REV WITHSCORES
        ZRANGEBYSCORE z -0 0 WITHSCORES
        ZRANGEBYSCORE z (-0 1 WITHSCORES
        ZRANGEBYSCORE z -1 (0 WITHSCORES
        ZREVRANGEBYSCORE z 0 -0 WITHSCORES LIMIT 1 2
        ZRANGEBYLEX z - [g
        ZCOUNT z -0 -0
        ZMSCORE z a b c f g h
        ZRANK z h
        DEBUG DIGEST-VALUE z
        ZADD z NX -0 d
        ZADD z GT CH -0 g
        ZADD z LT CH -0 g
        ZADD z XX CH -0 d e
        ZADD z XX CH -0 d 7 h
        ZADD z INCR -0 f
        ZADD z INCR 0 f
        ZSCORE z f
        ZADD z INCR 1 f
        ZADD z INCR -1 f
        ZSCORE z f
        ZINCRBY z -0 new
        ZINCRBY z -0 new
        ZSCORE z new
        ZRANGE z 0 -1 WITHSCORES
        COPY z copy
        ZREM copy b d
        ZRANGE copy 0 -1 WITHSCORES
        ZADD copy 0 b 0 d
        ZRANGE copy 0 -1 WITHSCORES
        ZRANGE z 0 -1 WITHSCORES
        DEBUG DIGEST
        DEBUG RELOAD
        DEBUG DIGEST
        ZRANGE z 0 -1 WITHSCORES
        ZUNION 2 z copy WITHSCORES
        ZUNION 2 z copy AGGREGATE MIN WITHSCORES
        ZUNION 2 z copy AGGREGATE MAX WITHSCORES
        ZUNION 1 z WEIGHTS -1 WITHSCORES
        ZUNION 1 z WEIGHTS 0 WITHSCORES
        ZUNION 1 z WEIGHTS -0 WITHSCORES
        ZINTER 2 z copy WITHSCORES
        ZINTER 1 z WEIGHTS -0 WITHSCORES
        ZDIFF 1 z WITHSCORES
        ZDIFF 2 z none WITHSCORES
        ZUNIONSTORE u 1 z
        ZRANGE u 0 -1 WITHSCORES
        ZUNIONSTORE u 1 z WEIGHTS -0
        ZRANGE u 0 -1 WITHSCORES
        ZINTERSTORE u 2 z copy AGGREGATE MIN
        ZRANGE u 0 -1 WITHSCORES
        ZDIFFSTORE u 1 z
        ZRANGE u 0 -1 WITHSCORES
        ZADD few 1 b -0 c
        ZINTERSTORE u 2 z few AGGREGATE MIN
        ZRANGE u 0 -1 WITHSCORES
        ZRANGESTORE r z 0 -1
        ZRANGE r 0 -1 WITHSCORES
        ZRANGESTORE r z 0 1
        ZRANGE r 0 -1 WITHSCORES
        ZRANGESTORE r z 0 2
        ZADD r -0 fresh
        ZRANGE r 0 -1 WITHSCORES
        ZRANGESTORE r z -inf +inf BYSCORE
        ZRANGE r 0 -1 WITHSCORES
        ZRANGESTORE r z - + BYLEX
        ZRANGE r 0 -1 WITHSCORES
        DEBUG DIGEST
        ZADD one 1 a 2 b 3 c 4 d
        ZREM one a b c
        ZADD one -0 d
        ZSCORE one d
        ZADD one 3 d
        ZADD one -0 d
        ZADD one 0 d
        ZINCRBY one -0 d
        ZPOPMIN one
        EXISTS one
        ZADD one -0 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
        ZPOPMAX one
        ZPOPMIN z 3
        ZMPOP 1 z MAX COUNT 3
        BZPOPMIN z 1
        BZPOPMAX copy 1
        ZREMRANGEBYRANK copy 0 1
        ZREMRANGEBYSCORE copy -0 -0
        ZRANGE copy 0 -1 WITHSCORES
        ZRANGE z 0 -1 WITHSCORES
        ZADD scan -0 a 2 b 3 c 4 d -0 e
        ZSCAN scan 0 MATCH e
        ZRANDMEMBER scan -0 WITHSCORES
        SORT scan BY nosort
        GEORADIUS scan 0 0 1 m
        DEBUG DIGEST
        "#,
        &["--enable-debug-command", "yes"],
    );
}
