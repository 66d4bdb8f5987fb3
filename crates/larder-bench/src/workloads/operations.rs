//! Server CPU of the everyday commands at 50 connections.

use crate::context::Context;
use crate::data::SEED;
use crate::figure::{Cost, Target};
use crate::pool::ConnectionPool;
use crate::resp;
use crate::session::Session;
use fastrand::Rng;
use std::io;

/// Connections of a busy server in these measurements.
pub const CONNECTIONS: usize = 50;
/// Keys that SET and GET draw from.
const KEYS: usize = 100_000;
/// Lists that pushes and pops go to in turn.
const LISTS: usize = 8;

/// Measures the six commands at one depth of pipeline.
pub fn run(context: &mut Context, pipeline: usize) -> io::Result<()> {
    let mut session = context.start()?;
    let mut pool = session.pool(CONNECTIONS)?;
    let target = Target::OfRedis(if pipeline == 1 { 0.9 } else { 0.6 });
    let rounds = pool.rounds(context.scaled(if pipeline == 1 { 200_000 } else { 1_000_000 }, 2000), pipeline);
    let values = values();
    let mut rng = Rng::with_seed(SEED);
    let keys = context.scaled(KEYS, 1000);
    let mut next = 0;
    pool.run(keys.div_ceil(CONNECTIONS * 16), 16, |out| {
        resp::command(out, &[b"SET", key(next % keys).as_bytes(), &values[next % values.len()]]);
        next += 1;
    })?;
    let mut measure = |context: &mut Context, verb: &str, command: &mut dyn FnMut(&mut Vec<u8>)| {
        context.stage(verb);
        // The first operations warm caches and buffers up.
        pool.run(rounds.div_ceil(20), pipeline, &mut *command)?;
        let (cost, nulls) = timed(&mut session, &mut pool, rounds, pipeline, command)?;
        context.cost(format!("{verb}, pipeline {pipeline}"), cost, target.clone());
        if nulls > 0 { Err(io::Error::other(format!("{verb}: {nulls} null replies"))) } else { Ok(()) }
    };
    let mut value = {
        let mut rng = rng.fork();
        move || values[rng.usize(..values.len())].clone()
    };
    measure(context, "SET", &mut |out| {
        resp::command(out, &[b"SET", key(rng.usize(..keys)).as_bytes(), &value()]);
    })?;
    measure(context, "GET", &mut |out| resp::command(out, &[b"GET", key(rng.usize(..keys)).as_bytes()]))?;
    for (push, pop) in [("LPUSH", "LPOP"), ("RPUSH", "RPOP")] {
        let mut at = Turns::new("list", LISTS);
        measure(context, push, &mut |out| resp::command(out, &[push.as_bytes(), at.next(), &value()]))?;
        let mut at = Turns::new("list", LISTS);
        measure(context, pop, &mut |out| resp::command(out, &[pop.as_bytes(), at.next()]))?;
    }
    Ok(())
}

/// The cost of rounds of commands, and the null replies among them.
pub fn timed(
    session: &mut Session,
    pool: &mut ConnectionPool,
    rounds: usize,
    pipeline: usize,
    command: impl FnMut(&mut Vec<u8>),
) -> io::Result<(Cost, u64)> {
    let operations = (rounds * pipeline * pool.len()) as u64;
    let mut nulls = 0;
    let cost = session.cost(operations, || {
        nulls = pool.run(rounds, pipeline, command)?;
        Ok(())
    })?;
    Ok((cost, nulls))
}

/// Keys taken in turn from the first, so that as many pops as pushes empty every list and meet none empty.
pub struct Turns {
    keys: Vec<String>,
    at: usize,
}

impl Turns {
    /// This many keys with a common name.
    pub fn new(name: &str, count: usize) -> Self {
        Turns { keys: (0..count).map(|n| format!("{name}:{n}")).collect(), at: 0 }
    }

    /// The next key.
    pub fn next(&mut self) -> &[u8] {
        let at = self.at;
        self.at = (at + 1) % self.keys.len();
        self.keys[at].as_bytes()
    }
}

fn key(n: usize) -> String {
    format!("key:{n:012}")
}

/// Values of 3 to 40 bytes.
fn values() -> Vec<Vec<u8>> {
    let mut rng = Rng::with_seed(SEED);
    let mut value = || (0..rng.usize(3..=40)).map(|_| rng.lowercase() as u8).collect();
    (0..1000).map(|_| value()).collect()
}
