//! Scripts of the set commands and of SORT.

use crate::{Pair, compare, run_script, words};
use fastrand::Rng;
use larder_testkit::{full_run, seed};

#[test]
fn members() {
    run_script(
        r#"
        SADD
        SADD s
        SADD s a b c a
        SADD s a d
        SCARD s
        SMEMBERS s
        SISMEMBER s a
        SISMEMBER s z
        SISMEMBER none a
        SISMEMBER s
        SMISMEMBER s a z b
        SMISMEMBER none a z
        SMISMEMBER s
        SREM s a z a
        SREM s
        SREM none a
        SCARD s
        SCARD none
        TYPE s
        SADD i 3 1 2 1 -5
        SMEMBERS i
        OBJECT ENCODING i
        SADD i 9223372036854775807 -9223372036854775808
        SMEMBERS i
        SREM i 1 01 +2 2.0
        SMEMBERS i
        SISMEMBER i 03
        SISMEMBER i 3
        DEBUG DIGEST-VALUE i
        DEBUG DIGEST-VALUE s
        SADD i abc
        SMEMBERS i
        SADD i "" "with blank" "\x00\xff\xfe"
        SISMEMBER i ""
        SMISMEMBER i "\x00\xff\xfe" "\x00\xff" ""
        SMEMBERS i
        DEBUG DIGEST-VALUE i
        SREM i abc "" "with blank" "\x00\xff\xfe" 3 -5 9223372036854775807 -9223372036854775808
        EXISTS i
        SADD gone x
        SREM gone x
        EXISTS gone
        TYPE gone
        SET str v
        SADD str a
        SREM str a
        SCARD str
        SMEMBERS str
        SISMEMBER str a
        SMISMEMBER str a
        GET s
        LPUSH s a
        INCR s
        APPEND s x
        SMEMBERS none
        EXPIRE s 1000
        SADD s more
        TTL s
        DEBUG DIGEST
        COPY s s2
        SADD s2 only
        SMEMBERS s2
        SMEMBERS s
        RENAME s2 s3
        SMEMBERS s3
        SCAN 0 TYPE set COUNT 1000
        OBJECT REFCOUNT s3
        "#,
        &[],
    );
}

#[test]
fn moves_and_random_members() {
    run_script(
        r#"
        SADD a 1 2 x
        SADD b 2 y
        SMOVE a b 1
        SMOVE a b 2
        SMOVE a b none
        SMOVE none b x
        SMOVE a a x
        SMOVE a a none
        SMOVE a new x
        SMEMBERS a
        SMEMBERS b
        SMEMBERS new
        SET str v
        SMOVE str b x
        SMOVE b str y
        SMOVE b str none
        SMOVE none str x
        SMOVE b
        SADD one 7
        SPOP one
        EXISTS one
        SPOP none
        SPOP none 5
        SPOP none 0
        SPOP b 0
        SPOP b -1
        SPOP b x
        SPOP b 1 2
        SPOP str
        SPOP str 1
        SPOP b 100
        EXISTS b
        SADD c 1 2 3
        SPOP c 3
        EXISTS c
        SADD c z
        SRANDMEMBER c
        SRANDMEMBER c 1
        SRANDMEMBER c 5
        SRANDMEMBER c 0
        SRANDMEMBER c -3
        SRANDMEMBER c x
        SRANDMEMBER c -9223372036854775808
        SRANDMEMBER c 1 2
        SRANDMEMBER none
        SRANDMEMBER none 5
        SRANDMEMBER none -5
        SRANDMEMBER str
        SRANDMEMBER str 2
        SADD d 1 2 3 a b c
        SRANDMEMBER d 6
        SRANDMEMBER d 60
        "#,
        &[],
    );
}

#[test]
fn algebra() {
    run_script(
        r#"
        SADD a 1 2 3 4 x y
        SADD b 2 3 5 y z
        SADD i 1 2 3 4 5 6
        SADD j 4 5 6 7
        SET str v
        SINTER a b
        SINTER a
        SINTER a none
        SINTER none
        SINTER a str
        SINTER none str
        SINTER str none
        SINTER i j
        SINTER i a
        SINTER a i b
        SINTER
        SUNION a b
        SUNION a none b a
        SUNION none
        SUNION i j
        SUNION a str
        SDIFF a b
        SDIFF b a
        SDIFF a none
        SDIFF none a
        SDIFF i j
        SDIFF i a b
        SDIFF a a
        SDIFF a str
        SDIFF str a
        SINTERCARD 2 a b
        SINTERCARD 2 a b LIMIT 1
        SINTERCARD 2 a b LIMIT 0
        SINTERCARD 2 a b limit 100
        SINTERCARD 2 a b LIMIT -1
        SINTERCARD 2 a b LIMIT x
        SINTERCARD 2 a b LIMIT
        SINTERCARD 2 a b LIMIT 1 LIMIT 2
        SINTERCARD 2 a b JUNK 1
        SINTERCARD 3 a b
        SINTERCARD 0 a
        SINTERCARD -1 a
        SINTERCARD x a
        SINTERCARD 1 a b
        SINTERCARD 1 none
        SINTERCARD 2 a str
        SINTERCARD 1
        SINTERSTORE d a b
        SMEMBERS d
        SINTERSTORE d a none
        EXISTS d
        SINTERSTORE d none none
        SUNIONSTORE d a b
        SMEMBERS d
        SUNIONSTORE d none
        EXISTS d
        SDIFFSTORE d a b
        SMEMBERS d
        SDIFFSTORE a a b
        SMEMBERS a
        SUNIONSTORE i i j
        SMEMBERS i
        OBJECT ENCODING i
        SINTERSTORE str i j
        TYPE str
        SMEMBERS str
        SET str v
        SINTERSTORE x str i
        SUNIONSTORE x i str
        SDIFFSTORE x i str
        SDIFFSTORE x str none
        EXISTS x
        SUNIONSTORE
        SUNIONSTORE x
        EXPIRE i 100
        SUNIONSTORE i i
        TTL i
        DEBUG DIGEST
        "#,
        &[],
    );
}

#[test]
fn scans() {
    run_script(
        r#"
        SADD i 1 2 3 40 41
        SSCAN i 0
        SSCAN i 0 MATCH 4*
        SSCAN i 0 COUNT 1
        SSCAN i 0 COUNT 0
        SSCAN i 0 COUNT -1
        SSCAN i 0 COUNT x
        SSCAN i 0 COUNT
        SSCAN i 0 JUNK 1
        SSCAN i x
        SSCAN i 99999999999999999999999
        SSCAN none 0
        SSCAN none 0 COUNT 0
        SSCAN none 5
        SSCAN none x
        SADD m a b 1
        SSCAN m 0 COUNT 100 MATCH *
        SSCAN m 0 COUNT 100 MATCH [ab]
        SET str v
        SSCAN str 0
        SSCAN str 0 COUNT 0
        SSCAN i
        "#,
        &[],
    );
}

#[test]
fn sorting() {
    run_script(
        r#"
        RPUSH l 3 1 2 10 -1 2.5
        SORT l
        SORT l DESC
        SORT l ASC LIMIT 1 2
        SORT l LIMIT 0 0
        SORT l LIMIT -5 3
        SORT l LIMIT 2 -1
        SORT l LIMIT 100 5
        SORT l LIMIT 2 100
        SORT l LIMIT 1
        SORT l LIMIT a b
        SORT l LIMIT 9223372036854775807 9223372036854775807
        SORT l ALPHA
        SORT l ALPHA DESC
        SORT l JUNK
        SORT l BY
        SORT none
        SORT none STORE x
        SORT
        SORT l STORE d
        LRANGE d 0 -1
        SORT l DESC LIMIT 0 2 STORE d
        LRANGE d 0 -1
        SORT l LIMIT 0 0 STORE d
        EXISTS d
        SORT_RO l DESC
        SORT_RO l STORE d
        RPUSH t b a c "" aa
        SORT t
        SORT t ALPHA
        SORT t BY nosort
        SORT t BY nosort DESC
        SORT t BY nosort LIMIT 1 2
        SORT t BY nosort DESC LIMIT 1 2
        SADD s 5 3 9 1
        SORT s
        SORT s DESC LIMIT 0 2
        SORT s BY nosort
        SORT s BY nosort STORE d
        LRANGE d 0 -1
        SADD w x 5 y
        SORT w
        SORT w ALPHA
        MSET w_1 3 w_2 1 w_3 2 w_5 -1 w_9 zz
        RPUSH u 1 2 3 4
        SORT u BY w_*
        SORT u BY w_* DESC
        SORT u BY w_* ALPHA
        SORT u BY w_* ALPHA DESC
        SORT u BY w_* LIMIT 1 2
        SORT s BY w_*
        SORT u BY w_* GET #
        SORT u BY w_* GET # GET w_*
        SORT u GET w_*
        SORT u GET none_* GET constant
        SORT u BY nosort GET w_*
        SORT u BY w_* GET # GET w_* STORE d
        LRANGE d 0 -1
        SORT u GET none_* STORE d
        LRANGE d 0 -1
        SORT u BY none_*
        SORT u BY none_* DESC
        SORT u BY l_*
        SORT u BY w_*->f
        SORT u GET w_*->f
        SORT u BY w_*->
        SET str 5
        SORT str
        SORT str STORE d
        RPUSH blank "" 0 1
        SORT blank
        RPUSH odd " 1" 0x10 1e2 inf -inf +7
        SORT odd
        RPUSH bad 1 "2 "
        SORT bad
        RPUSH nan 1 nan
        SORT nan
        RPUSH equal 1.0 1 1.00 0x1
        SORT equal
        SORT equal DESC
        SORT l STORE l
        SORT l STORE by STORE y
        SORT l STORE STORE
        SORT l LIMIT STORE x
        SORT l STORE a STORE b
        SORT l STORE
        SORT l GET STORE
        SORT l STORE c* BY x
        LRANGE c* 0 -1
        EXISTS by y a b STORE
        COMMAND GETKEYS SORT l STORE d
        COMMAND GETKEYS SORT l BY w_* STORE a STORE b GET STORE
        COMMAND GETKEYS SORT l
        COMMAND GETKEYS SORT_RO l BY x_*
        LRANGE l 0 -1
        MULTI
        SORT u BY w_* GET w_*
        SORT u STORE d2
        EXEC
        LRANGE d2 0 -1
        EXPIRE d2 100
        SORT u STORE d2
        TTL d2
        DEBUG DIGEST
        "#,
        &[],
    );
}

#[test]
fn sorting_by_fields_and_of_sorted_sets() {
    run_script(
        r#"
        ZADD z 3 c 1 a 2 b 2 bb 10 9
        SORT z
        SORT z ALPHA
        SORT z ALPHA DESC LIMIT 1 2
        SORT z BY nosort
        SORT z BY nosort DESC
        SORT z BY nosort LIMIT 1 3
        SORT z BY nosort DESC LIMIT 1 3
        SORT z BY nosort DESC LIMIT 0 2
        SORT z BY nosort DESC LIMIT 3 -1
        SORT z BY nosort LIMIT 4 10
        SORT z BY nosort LIMIT 100 10
        SORT z BY nosort GET # STORE d
        LRANGE d 0 -1
        ZADD n 5 30 1 4 9 -1
        SORT n
        SORT n DESC STORE d
        LRANGE d 0 -1
        RPUSH l 1 2 3 4
        HSET h_1 w 5 name one
        HSET h_2 w -1 name two
        HSET h_3 w 2.5
        HSET h_4x w 0
        SORT l BY h_*->w
        SORT l BY h_*->w DESC GET # GET h_*->name GET h_*->none
        SORT l BY h_*->name ALPHA
        SORT l BY h_*x->w
        SORT l BY h_*->
        SORT l GET h_*
        SORT l GET h_*->
        SORT l BY h_*->w GET h_*->name STORE d
        LRANGE d 0 -1
        SORT l BY h_*->name
        SADD s 1 2 3
        SORT s BY h_*->w GET #
        SORT h_1
        SORT z STORE z
        SORT n STORE n
        TYPE n
        LRANGE n 0 -1
        SUNION z l
        SADD z x
        SUNIONSTORE d z s
        SINTERSTORE d h_1 s
        SMOVE s z 1
        SMOVE s h_1 1
        ZUNION 2 s n
        ZINTERSTORE d 2 s z
        ZRANGE d 0 -1 WITHSCORES
        ZADD q 1 1 2 2
        ZUNIONSTORE d 2 q s
        ZRANGE d 0 -1 WITHSCORES
        "#,
        &[],
    );
}

/// Larder names encodings as Redis 7.2 and later do: 7.0 knows no listpack of members.
#[test]
fn encodings_of_newer_versions() {
    let server = larder_testkit::Server::larder(&[]);
    let mut client = server.client();
    let encoding =
        |client: &mut larder_testkit::Client, key: &str| client.ask(&format!("OBJECT ENCODING {key}")).text();
    client.ask("SADD s 1 2 3");
    assert_eq!(encoding(&mut client, "s"), "intset");
    client.ask("SADD s x");
    assert_eq!(encoding(&mut client, "s"), "listpack");
    assert_eq!(client.ask("DEBUG LISTPACK s").text(), "Listpack structure printed on stdout");
    client.ask(&format!("SADD s {}", "y".repeat(65)));
    assert_eq!(encoding(&mut client, "s"), "hashtable");
    assert!(client.ask("DEBUG LISTPACK s").text().contains("Not a listpack"));
    let many: Vec<String> = (0..513).map(|n| n.to_string()).collect();
    client.ask(&format!("SADD i {}", many[..512].join(" ")));
    assert_eq!(encoding(&mut client, "i"), "intset");
    client.ask("SADD i 1000");
    assert_eq!(encoding(&mut client, "i"), "hashtable");
    client.ask(&format!("SREM i {}", many.join(" ")));
    assert_eq!((encoding(&mut client, "i").as_str(), client.ask("SCARD i").int()), ("hashtable", 1));
    client.ask("CONFIG SET set-max-listpack-entries 2 set-max-intset-entries 1");
    client.ask("SADD a x y z");
    client.ask("SADD b 1");
    client.ask("SADD b 2");
    assert_eq!(
        (encoding(&mut client, "a"), encoding(&mut client, "b")),
        ("hashtable".into(), "hashtable".into())
    );
}

/// Commands over a few keys that hold sets, mostly.
const TEMPLATES: &[&str] = &[
    "SADD k m m m",
    "SADD k m m m m m m m m m m",
    "SADD k m",
    "SADD k n n n n",
    "SREM k m m",
    "SREM k n n",
    "SISMEMBER k m",
    "SMISMEMBER k m n m",
    "SCARD k",
    "SMEMBERS k",
    "SMOVE k k m",
    "SPOP k 1000000",
    "SRANDMEMBER k 1000000",
    "SINTER k k",
    "SINTER k k k",
    "SUNION k k k",
    "SDIFF k k",
    "SDIFF k k k",
    "SINTERCARD 2 k k LIMIT 3",
    "SINTERSTORE k k k",
    "SUNIONSTORE k k k",
    "SDIFFSTORE k k k",
    "SORT k ALPHA",
    "SORT k",
    "SORT k ALPHA DESC LIMIT 1 5 STORE l",
    "SORT k BY w_* GET # GET w_*",
    "SORT k BY nosort STORE l",
    "LRANGE l 0 -1",
    "SET w_n m",
    "COPY k k REPLACE",
    "RENAME k k",
    "DEL k",
    "SET k m",
    "DEBUG DIGEST-VALUE k k",
    "DBSIZE",
];

fn fill(template: &str, rng: &mut Rng) -> String {
    let word = |word: &str, rng: &mut Rng| match word {
        "k" => format!("k{}", rng.u8(..6)),
        "n" => rng.i64(-20..300).to_string(),
        "w_n" => format!("w_{}", rng.i64(-20..300)),
        "m" => match rng.u8(..6) {
            0 => rng.i64(-20..300).to_string(),
            1 => rng.i64(..).to_string(),
            2 => format!("0{}", rng.u8(..30)),
            3 if rng.u8(..8) == 0 => "long".repeat(rng.usize(10..100)),
            _ => format!("m{}", rng.u16(..300)),
        },
        other => other.to_owned(),
    };
    let words: Vec<String> = template.split(' ').map(|part| word(part, rng)).collect();
    words.join(" ")
}

#[test]
fn random_set_commands() {
    let seed = seed(4);
    let mut rng = Rng::with_seed(seed);
    let rounds = if full_run() { 200_000 } else { 8000 };
    let mut pair = Pair::start(2, &[]);
    for version in ["2", "3"] {
        pair.reset(version);
        for round in 0..rounds {
            let line = fill(TEMPLATES[rng.usize(..TEMPLATES.len())], &mut rng);
            let difference = compare(&line, &pair.both(&words(&line)));
            assert!(
                difference.is_none(),
                "SEED={seed} RESP{version} round {round}\n{}",
                difference.unwrap_or_default()
            );
        }
        let difference = compare("DEBUG DIGEST", &pair.both(&words("DEBUG DIGEST")));
        assert!(difference.is_none(), "SEED={seed} {}", difference.unwrap_or_default());
    }
}

#[test]
fn types_together() {
    run_script(
        r#"
        ZADD z 3 c 1 a 2 b 5 10 4 9
        SADD s a b 9 x
        SADD ints 9 10 11
        HSET w_a v 3 n x
        HSET w_b v 1
        HSET w_c v 2
        SORT z
        SORT z ALPHA
        SORT z ALPHA DESC LIMIT 1 2
        SORT z BY nosort
        SORT z BY nosort DESC
        SORT z BY nosort LIMIT 1 2
        SORT z BY nosort DESC LIMIT 1 2
        SORT z BY nosort DESC LIMIT 0 100
        SORT z BY nosort LIMIT 7 2
        SORT z BY w_*->v
        SORT z BY w_*->v GET # GET w_*->v GET w_*->none
        SORT z BY w_*->n ALPHA GET w_*->n
        SORT z BY nosort STORE sorted
        LRANGE sorted 0 -1
        SORT_RO z BY nosort DESC
        SORT w_a
        ZUNION 2 z s WITHSCORES
        ZUNION 2 s ints WITHSCORES
        ZUNION 2 z s WEIGHTS 2 10 AGGREGATE MAX WITHSCORES
        ZINTER 2 z s WITHSCORES
        ZINTER 3 s ints z WITHSCORES
        ZINTER 2 s w_a
        ZDIFF 2 z s WITHSCORES
        ZDIFF 2 s z WITHSCORES
        ZINTERCARD 2 s z
        ZINTERCARD 2 s z LIMIT 1
        ZUNIONSTORE d 2 s ints WEIGHTS 2 3
        ZRANGE d 0 -1 WITHSCORES
        ZINTERSTORE s 2 s ints
        TYPE s
        ZRANGESTORE s z 0 1
        TYPE s
        SINTER z s
        SADD z a
        HGET s a
        "#,
        &[],
    );
}
