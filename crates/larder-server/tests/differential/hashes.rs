//! Scripts of the hash commands. Keys that begin with `ord` are compared in order; see `compare`.

use crate::run_script;

#[test]
fn fields_and_values() {
    run_script(
        r#"
        HSET ord a 1 b 2 c 3
        HSET ord a 1 b
        HSET ord a
        HSET ord
        HMSET ord a 1 b
        HMSET ord d 4 e 5
        HSET ord b two f 6
        HSET ord a 1 a 2 a 3
        HGETALL ord
        HKEYS ord
        HVALS ord
        HDEL ord c none d
        HSET ord c again
        HGETALL ord
        HLEN ord
        HDEL ord none
        HDEL none a b
        HGET ord a
        HGET ord none
        HGET none a
        HGET ord
        HMGET ord a none b
        HMGET none a b
        HMGET ord
        HEXISTS ord a
        HEXISTS ord none
        HEXISTS none a
        HSTRLEN ord b
        HSTRLEN ord none
        HSTRLEN none a
        HSETNX ord a x
        HSETNX ord new x
        HSETNX fresh a 1
        HGETALL fresh
        HGETALL none
        HKEYS none
        HVALS none
        HLEN none
        HSET ord "" empty
        HSET ord empty ""
        HGET ord ""
        HGETALL ord
        HSET bin "\x00\xff\xfe" "\r\n\x00"
        HGETALL bin
        OBJECT ENCODING ord
        TYPE ord
        DEBUG DIGEST-VALUE ord bin none
        DEBUG LISTPACK ord
        COPY ord ord2
        HSET ord2 more x
        HGETALL ord
        HGETALL ord2
        RENAME ord2 ord3
        HGETALL ord3
        HDEL fresh a
        EXISTS fresh
        SET str x
        RPUSH list x
        HSET str a 1
        HSETNX str a 1
        HMSET str a 1
        HSET str a
        HGET str a
        HMGET str a
        HGETALL str
        HKEYS list
        HVALS list
        HLEN str
        HSTRLEN str a
        HEXISTS str a
        HDEL str a
        HINCRBY str a 1
        HINCRBYFLOAT str a 1
        HRANDFIELD str
        HRANDFIELD str 3
        HSCAN str 0
        LPUSH ord x
        GET ord
        APPEND ord x
        INCR ord
        SCAN 0 TYPE hash COUNT 10000 MATCH bin
        "#,
        &[],
    );
}

#[test]
fn encodings() {
    run_script(
        r#"
        HSET h a 1
        OBJECT ENCODING h
        HSET h b 12345
        OBJECT ENCODING h
        HSET h c 123456
        OBJECT ENCODING h
        HDEL h c
        OBJECT ENCODING h
        HSET n a 1 b 2 c 3
        OBJECT ENCODING n
        HSET n d 4
        OBJECT ENCODING n
        HSET n d 5 a 2
        OBJECT ENCODING n
        HSET n e 5
        OBJECT ENCODING n
        HDEL n a b c d
        OBJECT ENCODING n
        COPY n m
        OBJECT ENCODING m
        HSET i aaaaa 1
        HINCRBY i aaaaa 12344
        OBJECT ENCODING i
        HINCRBY i aaaaa 100000
        OBJECT ENCODING i
        HSET f a 1.5
        HINCRBYFLOAT f a 0.0625
        OBJECT ENCODING f
        HSETNX x aaaaaa 1
        OBJECT ENCODING x
        HMSET y a aaaaaa
        OBJECT ENCODING y
        DEBUG LISTPACK y
        HGETALL y
        "#,
        &["--hash-max-listpack-entries", "4", "--hash-max-listpack-value", "5"],
    );
}

/// Of twenty hashes with the same fields most share the names: they follow the limits as they are when a field is set.
#[test]
fn hashes_that_share_names_follow_the_limits() {
    run_script(
        r#"
        EVAL "for i = 1, 20 do redis.call('HSET', 'h' .. i, 'a', 1, 'b', 2, 'c', 3) end" 0
        OBJECT ENCODING h20
        CONFIG SET hash-max-listpack-entries 2
        HSETNX h20 a 9
        OBJECT ENCODING h20
        HDEL h20 none
        OBJECT ENCODING h20
        HSET h20 a 2
        OBJECT ENCODING h20
        HGETALL h19
        HDEL h19 b
        HSET h19 c 33
        OBJECT ENCODING h19
        HSET h19 b 22
        OBJECT ENCODING h19
        HINCRBY h18 c 1
        OBJECT ENCODING h18
        CONFIG SET hash-max-listpack-entries 512 hash-max-listpack-value 4
        HSET h17 a 12345
        OBJECT ENCODING h17
        HSET h16 a 1234
        OBJECT ENCODING h16
        HGETALL h16
        HDEL h16 a
        HSET h16 a 1
        HGETALL h16
        HEXPIRE h15 100 FIELDS 1 a
        OBJECT ENCODING h15
        HGETALL h15
        HPERSIST h14 FIELDS 2 a x
        HSCAN h14 0
        HGETDEL h14 FIELDS 2 a b
        HGETALL h14
        "#,
        &[],
    );
}

#[test]
fn numbers() {
    run_script(
        r#"
        HINCRBY h n 5
        HINCRBY h n -12
        HINCRBY h n 9223372036854775807
        HINCRBY h n 9223372036854775807
        HINCRBY h n -9223372036854775808
        HINCRBY h n -9223372036854775808
        HINCRBY h n abc
        HINCRBY h n 1.5
        HINCRBY h n " 1"
        HINCRBY h n
        HSET h text abc spaced " 5" float 1.5 zero 007
        HINCRBY h text 1
        HINCRBY h spaced 1
        HINCRBY h float 1
        HINCRBY h zero 1
        HINCRBYFLOAT h text 1
        HINCRBYFLOAT h spaced 1
        HINCRBYFLOAT h float 1.25
        HINCRBYFLOAT h zero 1
        HINCRBYFLOAT h f 10.5
        HINCRBYFLOAT h f 0.1
        HINCRBYFLOAT h f -5
        HINCRBYFLOAT h f 5.0e3
        HINCRBYFLOAT h f 1e30
        HINCRBYFLOAT h f 1e4932
        HINCRBYFLOAT h g 0.1
        HINCRBYFLOAT h g 0.2
        HINCRBYFLOAT h g abc
        HINCRBYFLOAT h g inf
        HINCRBYFLOAT h g -inf
        HINCRBYFLOAT h g nan
        HINCRBYFLOAT h g ""
        HINCRBYFLOAT h big 1e4932
        HINCRBYFLOAT h big 1e4932
        HINCRBYFLOAT none a nan
        HINCRBYFLOAT none a x
        HINCRBY none a x
        EXISTS none
        HINCRBYFLOAT h n 0.5
        HINCRBY h n 1
        HSET h inf inf
        HINCRBYFLOAT h inf 1
        HSET h 18 3.0000000000000000001
        HINCRBYFLOAT h 18 0
        HGETALL h
        "#,
        &[],
    );
}

#[test]
fn random_fields_and_scans() {
    run_script(
        r#"
        HRANDFIELD none
        HRANDFIELD none 5
        HRANDFIELD none 5 WITHVALUES
        HRANDFIELD none x
        HSET one f v
        HRANDFIELD one
        HRANDFIELD one 1
        HRANDFIELD one 5
        HRANDFIELD one 5 WITHVALUES
        HRANDFIELD one -3
        HRANDFIELD one -3 withvalues
        HRANDFIELD one 0
        HRANDFIELD one 0 WITHVALUES
        HRANDFIELD one -0
        HRANDFIELD one x
        HRANDFIELD one 1 VALUES
        HRANDFIELD one 1 WITHVALUES x
        HRANDFIELD one 9223372036854775807
        HRANDFIELD one 9223372036854775808
        HRANDFIELD one -9223372036854775808
        HRANDFIELD one -9223372036854775808 WITHVALUES
        HRANDFIELD one -9223372036854775807 WITHVALUES
        HRANDFIELD one 9223372036854775807 WITHVALUES
        HRANDFIELD one 4611686018427387904 WITHVALUES
        HRANDFIELD one 4611686018427387903 WITHVALUES
        HRANDFIELD one 9223372036854775807 VALUES
        HSCAN none 0
        HSCAN none 0 COUNT
        HSCAN none 0 WRONG x
        HSCAN none x
        HSCAN one 0
        HSCAN one 0 COUNT 5
        HSCAN one 0 COUNT 0
        HSCAN one 0 COUNT -1
        HSCAN one 0 COUNT x
        HSCAN one 0 COUNT
        HSCAN one 0 MATCH f*
        HSCAN one 0 MATCH g*
        HSCAN one 0 MATCH f COUNT 3
        HSCAN one 0 TYPE string
        HSCAN one 0 WRONG x
        HSCAN one x
        HSCAN one
        HSET two a 1 b 2
        HSCAN two 0
        HRANDFIELD two 2
        HRANDFIELD two 9 WITHVALUES
        "#,
        &[],
    );
}
