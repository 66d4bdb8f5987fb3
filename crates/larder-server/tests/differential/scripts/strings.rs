//! Strings.

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
