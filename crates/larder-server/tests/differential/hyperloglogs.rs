//! Scripts of the HyperLogLog commands, and the bytes of the strings they leave behind.

use crate::{Pair, compare, run_script, words};
use fastrand::Rng;
use larder_testkit::{full_run, seed};

#[test]
fn adding_counting_and_merging() {
    run_script(
        r#"
        PFADD h
        PFADD h
        GET h
        PFCOUNT h
        GET h
        PFADD h a b c d e f g
        PFADD h a b
        PFCOUNT h
        GET h
        OBJECT ENCODING h
        PFDEBUG DECODE h
        PFDEBUG ENCODING h
        PFADD i x y z a
        PFCOUNT h i
        PFCOUNT none
        PFCOUNT none none2
        PFCOUNT h none i
        GET i
        PFMERGE m h i
        GET m
        PFCOUNT m
        PFDEBUG DECODE m
        PFMERGE fresh
        GET fresh
        PFCOUNT fresh
        PFMERGE m none
        GET m
        PFDEBUG TODENSE i
        PFDEBUG TODENSE i
        PFDEBUG ENCODING i
        PFDEBUG DECODE i
        GET i
        PFMERGE m h i
        PFDEBUG ENCODING m
        GET m
        PFCOUNT m
        PFDEBUG GETREG h
        PFDEBUG ENCODING h
        PFDEBUG NOSUCH h
        PFDEBUG DECODE none
        PFDEBUG NOSUCH none
        PFDEBUG DECODE
        COPY h h2
        PFADD h2 more
        GET h
        GET h2
        EXPIRE h2 1000
        PFADD h2 even more
        TTL h2
        TYPE h
        STRLEN h
        RPUSH l a
        PFADD l a
        PFCOUNT l
        PFCOUNT h l
        PFMERGE h l
        PFMERGE l h
        PFDEBUG GETREG l
        SET s notone
        PFADD s a
        PFCOUNT s
        PFCOUNT h s
        PFMERGE h s
        PFMERGE s h
        SET n 12345
        PFCOUNT n
        PFADD
        PFCOUNT
        PFMERGE
        PFSELFTEST
        PFADD empty ""
        PFDEBUG DECODE empty
        DEBUG DIGEST
        "#,
        &[],
    );
}

#[test]
fn damaged() {
    run_script(
        r#"
        PFADD h a b c
        APPEND h hello
        PFCOUNT h
        PFCOUNT h h
        PFMERGE m h
        EXISTS m
        PFDEBUG TODENSE h
        PFDEBUG GETREG h
        PFDEBUG DECODE h
        PFADD h d
        PFADD i a b c
        SETRANGE i 0 0123
        PFCOUNT i
        PFADD i a
        PFADD j a
        SETRANGE j 4 x
        PFCOUNT j
        SET k "HYLL\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x7f\xff"
        PFCOUNT k
        SET o "HYLL\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x7f\xff"
        PFCOUNT o
        PFCOUNT o
        SET o "HYLL\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x7f\xfe"
        PFCOUNT o
        PFADD o a
        SET o "HYLL\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80"
        PFCOUNT o
        PFADD o a
        PFDEBUG DECODE o
        SET o "HYLL\x01\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00"
        PFCOUNT o
        SET o "HYLL\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\xff\xff\xff"
        PFCOUNT o
        PFCOUNT o o
        SET o "HYLL\x01\x00\x00"
        PFCOUNT o
        "#,
        &[],
    );
}

/// Adds random elements to a few keys and compares the strings.
fn run(seed_own: u64, commands: usize, elements: u32, args: &[&str]) {
    let mut pair = Pair::start(1, args);
    pair.reset("3");
    let seed = seed(seed_own);
    let mut rng = Rng::with_seed(seed);
    for step in 0..commands {
        let mut key = || format!("k{}", rng.u8(..4));
        let (a, b, c) = (key(), key(), key());
        let line = match rng.u8(..40) {
            0 => format!("PFMERGE {a} {b} {c}"),
            1 => format!("DEL {a}"),
            2 | 3 => format!("PFCOUNT {a}"),
            4 | 5 => format!("PFCOUNT {a} {b}"),
            6..9 => format!("GET {a}"),
            9 => "DEBUG DIGEST".to_owned(),
            _ => (0..rng.u8(1..20))
                .fold(format!("PFADD {a}"), |line, _| line + &format!(" e{}", rng.u32(..elements))),
        };
        let difference = compare(&line, &pair.both(&words(&line)));
        assert!(difference.is_none(), "SEED={seed} step {step}: {}", difference.unwrap_or_default());
    }
}

#[test]
fn the_same_bytes() {
    let scale = if full_run() { 20 } else { 1 };
    run(51, 1500 * scale, 3000, &[]);
    run(52, 1500 * scale, 1_000_000, &["--hll-sparse-max-bytes", "300"]);
    run(53, 300 * scale, 50, &["--hll-sparse-max-bytes", "0"]);
    run(54, 1000 * scale, 30_000, &["--hll-sparse-max-bytes", "16000"]);
}
