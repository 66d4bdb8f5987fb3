//! Server CPU of the HyperLogLog commands, on one dense and on many sparse ones.

use super::operations::{CONNECTIONS, timed};
use crate::context::Context;
use crate::data::SEED;
use crate::figure::Target;
use crate::resp;
use fastrand::Rng;
use std::io;

const PIPELINE: usize = 16;

/// Measures the commands on this many HyperLogLogs, to each of which this many elements are added first.
pub fn run(context: &mut Context, keys: usize, elements: usize) -> io::Result<()> {
    let mut session = context.start()?;
    let keys = if keys == 1 { 1 } else { context.scaled(keys, 10) };
    let key = |n: usize| format!("pf:{n}");
    context.stage("loading");
    let mut loader = session.loader()?;
    let mut rng = Rng::with_seed(SEED);
    for n in 0..keys {
        loader.send_all("PFADD", &key(n), (0..elements).map(|_| element(&mut rng)), 100)?;
    }
    // One more, so that unions have something to merge with.
    loader.send_all("PFADD", "pf:other", (0..elements).map(|_| element(&mut rng)), 100)?;
    loader.finish()?;
    let mut pool = session.pool(CONNECTIONS)?;
    for (verb, operations) in
        [("PFADD", 400_000), ("PFCOUNT", 400_000), ("PFCOUNT of two", 20_000), ("PFMERGE", 20_000)]
    {
        context.stage(verb);
        let rounds = pool.rounds(context.scaled(operations, 800), PIPELINE);
        let mut command = |out: &mut Vec<u8>| {
            let key = key(rng.usize(..keys));
            match verb {
                "PFADD" => resp::command(out, &[b"PFADD", key.as_bytes(), element(&mut rng).as_bytes()]),
                "PFCOUNT" => resp::command(out, &[b"PFCOUNT", key.as_bytes()]),
                "PFMERGE" => resp::command(out, &[b"PFMERGE", b"pf:target", key.as_bytes(), b"pf:other"]),
                _ => resp::command(out, &[b"PFCOUNT", key.as_bytes(), b"pf:other"]),
            }
        };
        pool.run(rounds.div_ceil(20), PIPELINE, &mut command)?;
        let (cost, _) = timed(&mut session, &mut pool, rounds, PIPELINE, command)?;
        context.cost(format!("{verb}, {keys} of {elements}"), cost, Target::OfRedis(0.9));
    }
    Ok(())
}

fn element(rng: &mut Rng) -> String {
    format!("element:{:012}", rng.u64(..1_000_000_000_000))
}
