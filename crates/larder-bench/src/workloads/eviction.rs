//! What it costs to write into a full server: SET of new keys with a limit, beside the same without.

use super::operations::{CONNECTIONS, timed};
use crate::context::Context;
use crate::data::SEED;
use crate::figure::Target;
use crate::resp;
use fastrand::Rng;
use std::io;

/// Keys that fit.
const KEYS: usize = 1_000_000;

/// Measures SET of new keys without a limit, and with one at what is in use, by two policies.
pub fn run(context: &mut Context, pipeline: usize) -> io::Result<()> {
    for policy in ["noeviction", "allkeys-lru", "allkeys-lfu"] {
        one(context, policy, pipeline)?;
    }
    Ok(())
}

fn one(context: &mut Context, policy: &str, pipeline: usize) -> io::Result<()> {
    let mut session = context.start()?;
    session.configure(&[("maxmemory-policy", policy)])?;
    let mut pool = session.pool(CONNECTIONS)?;
    let keys = context.scaled(KEYS, 5000);
    let mut rng = Rng::with_seed(SEED);
    let mut set = |out: &mut Vec<u8>| {
        let key = format!("key:{:012}", rng.u64(..1_000_000_000_000));
        resp::command(out, &[b"SET", key.as_bytes(), b"a value of 20 bytes."]);
    };
    context.stage("filling");
    pool.run(keys.div_ceil(CONNECTIONS * 16), 16, &mut set)?;
    if policy != "noeviction" {
        let used = session.info("used_memory")?.unwrap_or(0).to_string();
        session.configure(&[("maxmemory", used.as_str())])?;
    }
    let rounds = pool.rounds(context.scaled(if pipeline == 1 { 200_000 } else { 1_000_000 }, 2000), pipeline);
    // Until every size of every segment has had its turn.
    context.stage(policy);
    pool.run(keys.div_ceil(CONNECTIONS * 32), 16, &mut set)?;
    let (cost, _) = timed(&mut session, &mut pool, rounds, pipeline, &mut set)?;
    context.cost(format!("SET of new keys, {policy}, pipeline {pipeline}"), cost, Target::OfRedis(0.9));
    Ok(())
}
