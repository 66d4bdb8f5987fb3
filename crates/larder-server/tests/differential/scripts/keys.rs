//! Commands on keys of any type.

use crate::run_script;

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
