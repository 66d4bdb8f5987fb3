//! Server CPU of the hash commands, on one hash of a million fields and on ten thousand hashes of a hundred.

use super::operations::{CONNECTIONS, timed};
use crate::context::Context;
use crate::data::SEED;
use crate::figure::{Target, median_cost};
use crate::loader::Loader;
use crate::resp;
use crate::session::Session;
use fastrand::Rng;
use std::io;

const PIPELINE: usize = 16;
/// Fields of a hash that HGETALL reads.
const SMALL: usize = 100;

/// The hashes of one run.
#[derive(Clone, Copy)]
pub enum Many {
    /// One, of a million fields.
    One,
    /// Ten thousand, of a hundred fields each.
    TenThousand,
}

/// How many hashes, and fields of each.
struct HashSizes {
    name: &'static str,
    hashes: usize,
    fields: usize,
}

impl HashSizes {
    fn of(context: &Context, many: Many) -> Self {
        match many {
            Many::One => HashSizes { name: "one hash", hashes: 1, fields: context.scaled(1_000_000, 2000) },
            Many::TenThousand => {
                HashSizes { name: "many hashes", hashes: context.scaled(10_000, 20), fields: SMALL }
            }
        }
    }

    fn key(&self, rng: &mut Rng) -> String {
        key(rng.usize(..self.hashes))
    }

    fn field(&self, rng: &mut Rng) -> String {
        field(rng.usize(..self.fields))
    }
}

fn key(n: usize) -> String {
    format!("hash:{n}")
}

fn field(n: usize) -> String {
    format!("field:{n:010}")
}

/// Loads the hashes, and measures each command in three turns.
pub fn run(context: &mut Context, many: Many) -> io::Result<()> {
    let mut session = context.start()?;
    let sizes = HashSizes::of(context, many);
    load(context, &mut session, &sizes)?;
    let mut pool = session.pool(CONNECTIONS)?;
    let mut commands = vec!["HSET", "HGET", "HINCRBY", "HSET new, HDEL"];
    if sizes.fields == SMALL {
        commands.push("HGETALL");
    }
    let mut rng = Rng::with_seed(SEED);
    for command in commands {
        let operations = if command == "HGETALL" { 100_000 } else { 400_000 };
        let rounds = pool.rounds(context.scaled(operations, 2000), PIPELINE);
        context.stage(command);
        let mut next = 0;
        let mut write = |out: &mut Vec<u8>| {
            let (key, field) = (sizes.key(&mut rng), sizes.field(&mut rng));
            next += 1;
            match command {
                "HSET" => resp::command(out, &[b"HSET", key.as_bytes(), field.as_bytes(), &value(next)]),
                "HGET" => resp::command(out, &[b"HGET", key.as_bytes(), field.as_bytes()]),
                "HINCRBY" => {
                    let counter = format!("{field}c");
                    resp::command(out, &[b"HINCRBY", key.as_bytes(), &counter.as_bytes()[8..], b"1"]);
                }
                "HGETALL" => resp::command(out, &[b"HGETALL", key.as_bytes()]),
                _ => add_and_remove(out, &sizes, next),
            }
        };
        pool.run(rounds.div_ceil(10), PIPELINE, &mut write)?;
        let mut costs = Vec::new();
        for _ in 0..context.rounds(3) {
            costs.push(timed(&mut session, &mut pool, rounds, PIPELINE, &mut write)?.0);
        }
        context.cost(format!("{command}, {}", sizes.name), median_cost(&costs), Target::OfRedis(0.9));
    }
    Ok(())
}

/// A new field and the removal of an older one in turn, so that the size stays.
fn add_and_remove(out: &mut Vec<u8>, sizes: &HashSizes, next: usize) {
    let n = next / 2;
    let (n, command) = if next.is_multiple_of(2) { (n, "HSET") } else { (n.saturating_sub(1000), "HDEL") };
    let (key, field) = (key(n % sizes.hashes), format!("new:{n:012}"));
    match command {
        "HSET" => resp::command(out, &[b"HSET", key.as_bytes(), field.as_bytes(), &value(n)]),
        _ => resp::command(out, &[b"HDEL", key.as_bytes(), field.as_bytes()]),
    }
}

fn load(context: &Context, session: &mut Session, sizes: &HashSizes) -> io::Result<()> {
    let mut loader = session.loader()?;
    for hash in 0..sizes.hashes {
        context.progress("loading", hash, sizes.hashes);
        let key = key(hash);
        for first in (0..sizes.fields).step_by(SMALL) {
            let fields = first..sizes.fields.min(first + SMALL);
            loader.set_fields(&key, fields.map(|n| (field(n), value(n))))?;
        }
    }
    loader.finish()
}

fn value(n: usize) -> Vec<u8> {
    format!("value:{:010}", n * 7919 % 10_000_000_000).into_bytes()
}

/// Replaces every field of a hash ten times over: memory afterwards, against a fresh load.
pub fn churn(context: &mut Context) -> io::Result<()> {
    const VALUE: &str = "0123456789abcdef";
    let count = context.scaled(1_000_000, 1000);
    let load = |loader: &mut Loader| {
        (0..count).step_by(100).try_for_each(|start| {
            let fields = (start..count.min(start + 100)).map(|n| (field(n), VALUE));
            loader.set_fields("hash:0", fields).map(drop)
        })
    };
    let replace = |loader: &mut Loader, n: usize| {
        loader.send(&[b"HDEL", b"hash:0", field(n).as_bytes()])?;
        loader.send(&[b"HSET", b"hash:0", field(n + count).as_bytes(), VALUE.as_bytes()])
    };
    let row = "hash, memory after churn over fresh";
    super::churn::run(context, row, 10 * count, Target::Most(1.2), load, replace)
}
