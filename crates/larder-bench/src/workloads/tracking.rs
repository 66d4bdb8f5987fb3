//! Client-side caching: what it costs to remember who has read what, and to tell them.

use super::operations::{CONNECTIONS, timed};
use crate::context::Context;
use crate::data::SEED;
use crate::figure::Target;
use crate::resp;
use fastrand::Rng;
use std::io;

const KEYS: usize = 100_000;
const PIPELINE: usize = 16;
/// Keys that one client reads for the measurement of memory.
const READ_KEYS: usize = 1_000_000;

/// Measures reads and writes of 50 connections that track, and then the memory of many keys read once.
pub fn run(context: &mut Context) -> io::Result<()> {
    let mut session = context.start()?;
    session.configure(&[("tracking-table-max-keys", "0")])?;
    let mut pool = session.pool(CONNECTIONS)?;
    let mut rng = Rng::with_seed(SEED);
    let keys = context.scaled(KEYS, 1000);
    let rounds = pool.rounds(context.scaled(500_000, 2000), PIPELINE);
    let mut next = 0;
    pool.run(keys.div_ceil(CONNECTIONS * PIPELINE), PIPELINE, |out| {
        resp::command(out, &[b"SET", key(next % keys).as_bytes(), b"value"]);
        next += 1;
    })?;
    // They speak RESP2: what they are told is made up and thrown away at the last moment.
    pool.run(1, 1, |out| resp::command(out, &[b"CLIENT", b"TRACKING", b"ON"]))?;
    let mut read = |out: &mut Vec<u8>| resp::command(out, &[b"GET", key(rng.usize(..keys)).as_bytes()]);
    pool.run(rounds.div_ceil(20), PIPELINE, &mut read)?;
    let (cost, _) = timed(&mut session, &mut pool, rounds, PIPELINE, &mut read)?;
    context.cost("GET with tracking, pipeline 16", cost, Target::OfRedis(0.6));
    let mut rng = Rng::with_seed(SEED + 1);
    let (cost, _) = timed(&mut session, &mut pool, rounds, PIPELINE, |out| {
        let verb: &[&[u8]] = if rng.u32(..4) == 0 { &[b"SET", b"value"] } else { &[b"GET"] };
        let name = key(rng.usize(..keys));
        resp::command(out, &[&[verb[0], name.as_bytes()], &verb[1..]].concat());
    })?;
    context.cost("3 GET and 1 SET with tracking, pipeline 16", cost, Target::OfRedis(0.9));
    memory(context)
}

fn memory(context: &mut Context) -> io::Result<()> {
    let mut session = context.start()?;
    session.configure(&[("tracking-table-max-keys", "0")])?;
    session.ask("CLIENT TRACKING ON")?;
    let mut pool = session.pool(1)?;
    pool.run(1, 1, |out| resp::command(out, &[b"CLIENT", b"TRACKING", b"ON"]))?;
    let keys = context.scaled(READ_KEYS, 10_000);
    let before = session.rss();
    let mut next = 0;
    // None of them exists: the table is all that grows.
    pool.run(keys.div_ceil(PIPELINE), PIPELINE, |out| {
        resp::command(out, &[b"GET", key(next).as_bytes()]);
        next += 1;
    })?;
    session.wait_quiet(context.still())?;
    let each = (session.rss() - before) / keys as f64;
    context.figure("memory of a key of 16 bytes read by one client", "B/key", each, Target::OfRedis(0.6));
    Ok(())
}

fn key(n: usize) -> String {
    format!("key:{n:012}")
}
