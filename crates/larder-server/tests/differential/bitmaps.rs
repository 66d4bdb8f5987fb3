//! Scripts of the bitmap commands, and random ones.

use crate::{Pair, compare, run_script, words};
use fastrand::Rng;
use larder_testkit::{full_run, seed};

#[test]
fn single_bits() {
    run_script(
        r#"
        SETBIT b 7 1
        GET b
        SETBIT b 7 1
        SETBIT b 7 0
        SETBIT b 100 1
        STRLEN b
        GETBIT b 100
        GETBIT b 99
        GETBIT b 5000000
        GETBIT none 3
        SETBIT none 3 0
        GET none
        OBJECT ENCODING none
        SETBIT b -1 1
        SETBIT b x 1
        SETBIT b #1 1
        SETBIT b 4294967296 1
        SETBIT b 4294967295 2
        SETBIT b 1 2
        SETBIT b 1 -1
        SETBIT b 1 x
        SETBIT b 1
        GETBIT b -1
        GETBIT b 4294967296
        GETBIT b 4294967295
        GETBIT b x
        GETBIT b
        SET e abc
        OBJECT ENCODING e
        SETBIT e 1 1
        OBJECT ENCODING e
        GET e
        SET n 12345
        OBJECT ENCODING n
        SETBIT n 0 0
        OBJECT ENCODING n
        GETBIT n 2
        GET n
        SETBIT n 0 1
        GET n
        SETBIT long 1000 1
        SETBIT long 999 1
        SETBIT long 1300 0
        STRLEN long
        COPY long long2
        SETBIT long2 0 1
        GETBIT long 0
        GETBIT long2 0
        OBJECT ENCODING long
        EXPIRE e 1000
        SETBIT e 2000 1
        TTL e
        PERSIST e
        RPUSH list a
        SETBIT list 1 1
        GETBIT list 1
        BITCOUNT list
        BITPOS list 1
        BITFIELD list GET u8 0
        BITFIELD list SET u8 0 1
        BITFIELD_RO list GET u8 0
        BITOP AND d list
        BITOP OR list b
        TYPE list
        DEBUG DIGEST
        "#,
        &[],
    );
}

#[test]
fn counting_and_finding() {
    run_script(
        r#"
        SET s foobar
        BITCOUNT s
        BITCOUNT s 0 0
        BITCOUNT s 1 1
        BITCOUNT s 1 1 BYTE
        BITCOUNT s 5 30 BIT
        BITCOUNT s 5 30 bit
        BITCOUNT s -100 -1
        BITCOUNT s -100 -50
        BITCOUNT s -1 -5
        BITCOUNT s -1 -5 NOSUCH
        BITCOUNT s 3 1
        BITCOUNT s 3 1 NOSUCH
        BITCOUNT s 0 1 NOSUCH
        BITCOUNT s 0 1 BIT x
        BITCOUNT s x 1
        BITCOUNT s 0 x
        BITCOUNT s 0 5 BIT
        BITCOUNT s -7 -2 BIT
        BITCOUNT s -1000 -1 BIT
        BITCOUNT s 40 5000 BIT
        BITCOUNT s 48 5000 BIT
        BITCOUNT s 9223372036854775807 9223372036854775807 BIT
        BITCOUNT s -9223372036854775808 9223372036854775807
        BITCOUNT none
        BITCOUNT none 0 1 NOSUCH
        BITCOUNT none x y
        SET empty ""
        BITCOUNT empty
        BITCOUNT empty 0 -1
        BITCOUNT empty 0 -1 BIT
        SET num 123
        BITCOUNT num
        SET ones "\xff\xff\xff"
        SET zeros "\x00\x00\x00"
        SET mixed "\x00\xff\xf0\x00"
        BITPOS ones 0
        BITPOS ones 1
        BITPOS ones 0 1
        BITPOS ones 0 0 -1
        BITPOS ones 0 3
        BITPOS ones 0 0 100 BIT
        BITPOS zeros 1
        BITPOS zeros 0
        BITPOS zeros 1 0 -1
        BITPOS zeros 0 2
        BITPOS mixed 1
        BITPOS mixed 0
        BITPOS mixed 0 1
        BITPOS mixed 0 1 1
        BITPOS mixed 1 2
        BITPOS mixed 1 3
        BITPOS mixed 1 -2 -1
        BITPOS mixed 1 2 -1 BYTE
        BITPOS mixed 1 7 15 BIT
        BITPOS mixed 0 8 15 BIT
        BITPOS mixed 0 8 20 BIT
        BITPOS mixed 0 10 11 BIT
        BITPOS mixed 1 10 11 BIT
        BITPOS mixed 1 20 -3 BIT
        BITPOS mixed 1 -20 -15 BIT
        BITPOS mixed 1 5 4 BIT
        BITPOS mixed 2
        BITPOS mixed x
        BITPOS mixed 1 x
        BITPOS mixed 1 0 x
        BITPOS mixed 1 0 1 NOSUCH
        BITPOS mixed 1 0 x NOSUCH
        BITPOS mixed 1 0 1 BIT x
        BITPOS none 1
        BITPOS none 0
        BITPOS none 0 0 -1 NOSUCH
        BITPOS none 3
        BITPOS empty 0
        BITPOS empty 1
        BITPOS empty 0 0
        BITPOS mixed
        "#,
        &[],
    );
}

#[test]
fn combining() {
    run_script(
        r#"
        SET a foobar
        SET b abcdef
        SET c "\xff\x0f"
        BITOP AND d a b
        GET d
        OBJECT ENCODING d
        BITOP OR d a b c
        GET d
        BITOP xor d a b c
        GET d
        BITOP NOT d c
        GET d
        BITOP NOT d a b
        BITOP AND d a c
        GET d
        BITOP AND d a none
        GET d
        BITOP OR d none c
        GET d
        BITOP OR d none
        EXISTS d
        BITOP AND a a b
        GET a
        BITOP NOT none none
        BITOP XOR a a a
        GET a
        BITOP NOSUCH d a
        BITOP AND d
        SET e ""
        BITOP OR d e
        EXISTS d
        SET n 5
        BITOP OR d n
        OBJECT ENCODING d
        GET d
        RPUSH l x
        BITOP OR l a
        TYPE l
        SET ttl x EX 1000
        BITOP OR ttl b
        TTL ttl
        SETRANGE long 300 tail
        BITOP NOT long2 long
        BITOP XOR long3 long long2
        BITCOUNT long3
        BITOP OR long3 long2
        GET long3
        EXPIRE long3 1000
        BITOP XOR long3 long long2
        TTL long3
        BITCOUNT long3
        BITOP NOT long3 a
        GET long3
        BITOP AND long long long2
        BITCOUNT long
        DEBUG DIGEST
        "#,
        &[],
    );
}

#[test]
fn fields() {
    run_script(
        r#"
        BITFIELD f
        EXISTS f
        BITFIELD f GET u8 0
        EXISTS f
        BITFIELD f SET u8 0 255 GET u8 0 GET i8 0
        BITFIELD f INCRBY u8 0 1 INCRBY i5 100 -1 GET u4 0
        GET f
        BITFIELD f SET u8 #2 65 SET i16 #3 -2 GET u8 #2 GET i16 #3
        GET f
        BITFIELD f OVERFLOW SAT INCRBY u2 100 3 OVERFLOW FAIL INCRBY u2 100 1 OVERFLOW WRAP INCRBY u2 100 1
        BITFIELD f OVERFLOW FAIL SET u4 0 16 SET i4 0 8 SET i4 0 -9 SET i4 0 -8
        BITFIELD f OVERFLOW SAT SET u4 0 16 GET u4 0 SET i4 0 8 GET i4 0 SET i4 0 -9 GET i4 0
        BITFIELD f OVERFLOW SAT SET u4 0 -1 GET u4 0
        BITFIELD f OVERFLOW WRAP SET u4 0 -1 GET u4 0 SET i4 0 23 GET i4 0
        BITFIELD f SET i64 0 9223372036854775807 INCRBY i64 0 1 OVERFLOW SAT INCRBY i64 0 -1 OVERFLOW FAIL INCRBY i64 0 -1
        BITFIELD f SET u63 1 9223372036854775807 INCRBY u63 1 1 GET u63 1
        BITFIELD f OVERFLOW SAT SET i8 0 -9223372036854775808 GET i8 0
        BITFIELD f OVERFLOW SAT SET i8 0 9223372036854775807 GET i8 0
        BITFIELD f OVERFLOW SAT INCRBY i8 0 -9223372036854775808 GET i8 0
        BITFIELD f OVERFLOW SAT INCRBY i8 0 9223372036854775807 GET i8 0
        BITFIELD f OVERFLOW SAT INCRBY u8 0 -9223372036854775808 GET u8 0
        BITFIELD f OVERFLOW SAT INCRBY u63 0 9223372036854775807 GET u8 0
        BITFIELD f GET u64 0
        BITFIELD f GET i65 0
        BITFIELD f GET i0 0
        BITFIELD f GET u0 0
        BITFIELD f GET x8 0
        BITFIELD f GET u 0
        BITFIELD f GET "" 0
        BITFIELD f GET u08 0
        BITFIELD f GET u8 -1
        BITFIELD f GET u8 x
        BITFIELD f GET u8 #x
        BITFIELD f GET u8 #-1
        BITFIELD f GET u8 #536870911
        BITFIELD f GET u8 #536870912
        BITFIELD f GET u8 4294967295
        BITFIELD f GET u8 4294967296
        BITFIELD f GET u8
        BITFIELD f SET u8 0
        BITFIELD f SET u8 0 x
        BITFIELD f INCRBY u8 0
        BITFIELD f OVERFLOW
        BITFIELD f OVERFLOW NOSUCH
        BITFIELD f OVERFLOW SAT
        BITFIELD f NOSUCH
        BITFIELD f get U8 0
        BITFIELD fresh OVERFLOW FAIL SET u2 50 9
        STRLEN fresh
        BITFIELD fresh SET u2 50 1 GET u8 4294967290
        STRLEN fresh
        BITFIELD_RO f GET u8 0 GET i8 #1
        BITFIELD_RO f SET u8 0 1
        BITFIELD_RO f OVERFLOW SAT GET u8 0
        BITFIELD_RO none GET u8 0
        BITFIELD_RO none
        SET n 12345
        BITFIELD n GET u8 0
        OBJECT ENCODING n
        BITFIELD n SET u8 0 50
        OBJECT ENCODING n
        GET n
        STRLEN f
        DEBUG DIGEST
        "#,
        &[],
    );
}

/// A command over five keys, of which one may be of another type.
fn random_command(rng: &mut Rng) -> String {
    fn key(rng: &mut Rng) -> String {
        format!("k{}", rng.u8(..5))
    }
    fn unit(rng: &mut Rng) -> &'static str {
        ["", " BIT", " BYTE"][rng.usize(..3)]
    }
    let k = key(rng);
    let at = |rng: &mut Rng| rng.i64(-4000..4000);
    match rng.u8(..14) {
        0..3 => format!("SETBIT {k} {} {}", rng.u32(..3000), rng.u8(..2)),
        3 => format!("GETBIT {k} {}", rng.u32(..4000)),
        4 => format!("BITCOUNT {k}"),
        5 => format!("BITCOUNT {k} {} {}{}", at(rng), at(rng), unit(rng)),
        6 => format!("BITPOS {k} {} {} {}{}", rng.u8(..2), at(rng), at(rng), unit(rng)),
        7 => format!("BITPOS {k} {} {}", rng.u8(..2), at(rng)),
        8 | 9 => format!(
            "BITOP {} {k} {} {} {}",
            ["AND", "OR", "XOR"][rng.usize(..3)],
            key(rng),
            key(rng),
            key(rng)
        ),
        10 => format!("BITOP NOT {k} {}", key(rng)),
        11 | 12 => {
            let mut line = format!("BITFIELD {k}");
            for _ in 0..rng.u8(1..5) {
                let sign = ["i", "u"][rng.usize(..2)];
                let (width, offset) = (rng.u8(1..=63), rng.u32(..3000));
                let value = rng.i64(..) >> rng.u8(..64);
                line += &match rng.u8(..4) {
                    0 => format!(" GET {sign}{width} {offset}"),
                    1 => format!(" SET {sign}{width} {offset} {value}"),
                    2 => format!(" INCRBY {sign}{width} {offset} {value}"),
                    _ => format!(" OVERFLOW {}", ["WRAP", "SAT", "FAIL"][rng.usize(..3)]),
                };
            }
            line
        }
        _ => [format!("DEL {k}"), format!("SETRANGE {k} {} x", rng.u8(..200)), format!("SADD {k} a")]
            [rng.usize(..3)]
        .clone(),
    }
}

#[test]
fn random_commands() {
    let mut pair = Pair::start(1, &[]);
    for version in ["2", "3"] {
        pair.reset(version);
        let seed = seed(41);
        let mut rng = Rng::with_seed(seed);
        for step in 0..if full_run() { 200_000 } else { 6000 } {
            let line = if step % 500 == 499 { "DEBUG DIGEST".to_owned() } else { random_command(&mut rng) };
            let difference = compare(&line, &pair.both(&words(&line)));
            assert!(difference.is_none(), "SEED={seed} step {step}: {}", difference.unwrap_or_default());
        }
    }
}
