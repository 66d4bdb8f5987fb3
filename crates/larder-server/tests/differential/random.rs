//! Random commands over a few keys: types clash, keys come and go, lists grow and shrink.

use crate::{Pair, compare};
use fastrand::Rng;
use larder_testkit::{full_run, seed};
use std::fmt::Write;

/// What an argument is drawn from.
#[derive(Clone, Copy)]
enum Arg {
    Word(&'static str),
    Key,
    Field,
    Value,
    Index,
    Count,
    End,
    /// A score, or an end of a range of scores.
    Score,
    /// One of few members.
    Member,
}

use Arg::{Count, End, Field, Index, Key, Member, Score, Value, Word};

/// Commands with their arguments; `Count` is a small positive number.
const COMMANDS: &[(&str, &[Arg])] = &[
    ("SET", &[Key, Value]),
    ("SET", &[Key, Value, Word("NX"), Word("GET")]),
    ("SET", &[Key, Value, Word("XX"), Word("KEEPTTL")]),
    ("SET", &[Key, Value, Word("EXAT"), Word("9999999999")]),
    ("GET", &[Key]),
    ("GETSET", &[Key, Value]),
    ("GETDEL", &[Key]),
    ("GETRANGE", &[Key, Index, Index]),
    ("SETRANGE", &[Key, Count, Value]),
    ("APPEND", &[Key, Value]),
    ("STRLEN", &[Key]),
    ("INCR", &[Key]),
    ("INCRBY", &[Key, Index]),
    ("DECRBY", &[Key, Index]),
    ("INCRBYFLOAT", &[Key, Word("1.25")]),
    ("INCRBYFLOAT", &[Key, Word("-0.3")]),
    ("MSET", &[Key, Value, Key, Value]),
    ("MSETNX", &[Key, Value, Key, Value]),
    ("MGET", &[Key, Key, Key]),
    ("LCS", &[Key, Key, Word("IDX"), Word("WITHMATCHLEN")]),
    ("LCS", &[Key, Key]),
    ("LPUSH", &[Key, Value, Value]),
    ("RPUSH", &[Key, Value, Value, Value]),
    ("RPUSH", &[Key, Value]),
    ("LPUSH", &[Key, Value]),
    ("LPUSHX", &[Key, Value]),
    ("RPUSHX", &[Key, Value]),
    ("LPOP", &[Key]),
    ("RPOP", &[Key]),
    ("LPOP", &[Key, Count]),
    ("RPOP", &[Key, Count]),
    ("LLEN", &[Key]),
    ("LINDEX", &[Key, Index]),
    ("LRANGE", &[Key, Index, Index]),
    ("LSET", &[Key, Index, Value]),
    ("LINSERT", &[Key, Word("BEFORE"), Value, Value]),
    ("LINSERT", &[Key, Word("AFTER"), Value, Value]),
    ("LREM", &[Key, Index, Value]),
    ("LTRIM", &[Key, Index, Index]),
    ("LPOS", &[Key, Value]),
    ("LPOS", &[Key, Value, Word("COUNT"), Word("0"), Word("RANK"), Word("-1")]),
    ("LPOS", &[Key, Value, Word("COUNT"), Count, Word("MAXLEN"), Count]),
    ("LMOVE", &[Key, Key, End, End]),
    ("RPOPLPUSH", &[Key, Key]),
    ("LMPOP", &[Word("2"), Key, Key, End, Word("COUNT"), Count]),
    ("BLPOP", &[Key, Word("0.001")]),
    ("BLMOVE", &[Key, Key, End, End, Word("0.001")]),
    ("ZADD", &[Key, Score, Member]),
    ("ZADD", &[Key, Score, Member, Score, Member, Score, Member, Score, Value]),
    ("ZADD", &[Key, Word("CH"), Score, Member, Score, Member]),
    ("ZADD", &[Key, Word("GT"), Word("CH"), Score, Member, Score, Member]),
    ("ZADD", &[Key, Word("NX"), Score, Member]),
    ("ZADD", &[Key, Word("XX"), Word("INCR"), Score, Member]),
    ("ZINCRBY", &[Key, Score, Member]),
    ("ZREM", &[Key, Member, Member]),
    ("ZSCORE", &[Key, Member]),
    ("ZMSCORE", &[Key, Member, Member]),
    ("ZCARD", &[Key]),
    ("ZRANK", &[Key, Member]),
    ("ZREVRANK", &[Key, Member]),
    ("ZCOUNT", &[Key, Score, Score]),
    ("ZRANGE", &[Key, Index, Index, Word("WITHSCORES")]),
    ("ZRANGE", &[Key, Index, Index, Word("REV")]),
    ("ZRANGE", &[Key, Score, Score, Word("BYSCORE"), Word("LIMIT"), Count, Count]),
    ("ZREVRANGEBYSCORE", &[Key, Score, Score, Word("WITHSCORES")]),
    ("ZRANGESTORE", &[Key, Key, Index, Index]),
    ("ZREMRANGEBYRANK", &[Key, Index, Index]),
    ("ZREMRANGEBYSCORE", &[Key, Score, Score]),
    ("ZPOPMIN", &[Key]),
    ("ZPOPMAX", &[Key, Count]),
    ("ZMPOP", &[Word("2"), Key, Key, Word("MIN"), Word("COUNT"), Count]),
    ("BZPOPMAX", &[Key, Key, Word("0.001")]),
    ("ZUNIONSTORE", &[Key, Word("2"), Key, Key, Word("WEIGHTS"), Word("1"), Word("2")]),
    ("ZINTERSTORE", &[Key, Word("2"), Key, Key]),
    ("ZDIFF", &[Word("2"), Key, Key, Word("WITHSCORES")]),
    ("ZINTERCARD", &[Word("2"), Key, Key]),
    ("HSET", &[Key, Field, Value]),
    ("HSET", &[Key, Field, Value, Field, Value, Field, Value]),
    ("HMSET", &[Key, Field, Value, Field, Value]),
    ("HSETNX", &[Key, Field, Value]),
    ("HGET", &[Key, Field]),
    ("HMGET", &[Key, Field, Field]),
    ("HDEL", &[Key, Field, Field]),
    ("HLEN", &[Key]),
    ("HSTRLEN", &[Key, Field]),
    ("HEXISTS", &[Key, Field]),
    ("HINCRBY", &[Key, Field, Index]),
    ("HINCRBYFLOAT", &[Key, Field, Word("0.75")]),
    ("HGETALL", &[Key]),
    ("HKEYS", &[Key]),
    ("HVALS", &[Key]),
    ("DEL", &[Key]),
    ("EXISTS", &[Key, Key]),
    ("TYPE", &[Key]),
    ("RENAME", &[Key, Key]),
    ("RENAMENX", &[Key, Key]),
    ("COPY", &[Key, Key]),
    ("COPY", &[Key, Key, Word("REPLACE")]),
    ("EXPIREAT", &[Key, Word("9999999999")]),
    ("EXPIREAT", &[Key, Word("9999999998"), Word("LT")]),
    ("PERSIST", &[Key]),
    ("PEXPIRETIME", &[Key]),
    ("DBSIZE", &[]),
    ("DEBUG", &[Word("DIGEST-VALUE"), Key, Key]),
    ("MULTI", &[]),
    ("EXEC", &[]),
    ("DISCARD", &[]),
    ("WATCH", &[Key]),
];

fn value(rng: &mut Rng) -> Vec<u8> {
    match rng.u8(..10) {
        0..3 => rng.i64(-100..100).to_string().into_bytes(),
        3 => rng.i64(..).to_string().into_bytes(),
        4 => vec![b'x'; rng.usize(..300)],
        5 if rng.u8(..10) == 0 => vec![b'y'; rng.usize(..20_000)],
        6 => (0..rng.usize(..12)).map(|_| rng.u8(..)).collect(),
        _ => format!("v{}", rng.u8(..20)).into_bytes(),
    }
}

fn argument(arg: Arg, rng: &mut Rng) -> Vec<u8> {
    match arg {
        Arg::Word(word) => word.as_bytes().to_vec(),
        Arg::Key => format!("k{}", rng.u8(..8)).into_bytes(),
        Arg::Field => format!("f{}", rng.u8(..30)).into_bytes(),
        Arg::Value => value(rng),
        Arg::Index if rng.u8(..20) == 0 => b"notanumber".to_vec(),
        Arg::Index => rng.i64(-30..30).to_string().into_bytes(),
        Arg::Count => rng.i64(0..40).to_string().into_bytes(),
        Arg::Score if rng.u8(..30) == 0 => [&b"inf"[..], b"-inf", b"x"][rng.usize(..3)].to_vec(),
        Arg::Score => (f64::from(rng.i8(-40..40)) / 4.0 + 0.0).to_string().into_bytes(),
        Arg::Member => format!("m{}", rng.u8(..60)).into_bytes(),
        Arg::End => [&b"LEFT"[..], b"RIGHT"][rng.usize(..2)].to_vec(),
    }
}

fn command(rng: &mut Rng) -> Vec<Vec<u8>> {
    let (name, args) = COMMANDS[rng.usize(..COMMANDS.len())];
    let args = args.iter().map(|arg| argument(*arg, rng));
    std::iter::once(name.as_bytes().to_vec()).chain(args).collect()
}

fn show(command: &[Vec<u8>]) -> String {
    command.iter().fold(String::new(), |mut text, word| {
        let _ = write!(text, "{} ", &word[..word.len().min(80)].escape_ascii());
        text
    })
}

fn run(threads: usize, own_seed: u64, args: &[&str]) {
    let seed = seed(own_seed);
    let mut rng = Rng::with_seed(seed);
    let rounds = if full_run() { 200_000 } else { 6000 };
    let mut pair = Pair::start(threads, args);
    for version in ["2", "3"] {
        pair.reset(version);
        for round in 0..rounds {
            let command = command(&mut rng);
            let line = show(&command);
            let difference = compare(&line, &pair.both(&command));
            assert!(
                difference.is_none(),
                "SEED={seed} RESP{version} round {round}\n{}",
                difference.unwrap_or_default()
            );
        }
        let digest = vec![b"DEBUG".to_vec(), b"DIGEST".to_vec()];
        let difference = compare("DEBUG DIGEST", &pair.both(&digest));
        assert!(difference.is_none(), "SEED={seed} {}", difference.unwrap_or_default());
    }
}

#[test]
fn random_commands() {
    run(1, 1, &[]);
}

#[test]
fn random_commands_with_small_blocks() {
    run(2, 2, &["--list-max-listpack-size", "3", "--list-compress-depth", "1"]);
}

#[test]
fn random_commands_with_large_blocks() {
    run(4, 3, &["--list-max-listpack-size", "-5"]);
}
