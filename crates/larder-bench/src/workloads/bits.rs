//! Server CPU of the bitmap commands on strings of 1 MB.

use super::operations::{CONNECTIONS, timed};
use crate::context::Context;
use crate::data::SEED;
use crate::figure::{Target, median_cost};
use crate::resp;
use crate::session::Session;
use fastrand::Rng;
use std::io;

const PIPELINE: usize = 16;
/// Bytes of a bitmap.
const SIZE: usize = 1 << 20;

/// Loads two bitmaps of random bits, and one without any.
fn start(context: &Context) -> io::Result<Session> {
    let session = context.start()?;
    let mut loader = session.loader()?;
    let mut rng = Rng::with_seed(SEED);
    for key in [b"bits:0", b"bits:1"] {
        let bytes: Vec<u8> = (0..SIZE).map(|_| rng.u8(..)).collect();
        loader.send(&[b"SET", key, &bytes])?;
    }
    loader.send(&[b"SET", b"zeros", &vec![0; SIZE]])?;
    loader.finish()?;
    Ok(session)
}

/// Commands that look at every byte, without a pipeline. Many connections, as one alone would have the server fall asleep
/// after every command, which costs it as much as a command of these.
pub fn whole(context: &mut Context) -> io::Result<()> {
    let mut session = start(context)?;
    let mut pool = session.pool(CONNECTIONS)?;
    for (line, target) in [
        ("BITCOUNT bits:0", Target::OfRedis(0.5)),
        ("BITCOUNT bits:0 13 8388000 BIT", Target::OfRedis(0.5)),
        ("BITOP AND target bits:0 bits:1", Target::OfRedis(0.5)),
        ("BITOP NOT target bits:0", Target::OfRedis(0.9)),
        ("BITPOS zeros 1", Target::OfRedis(0.9)),
    ] {
        context.stage(line);
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        let mut command = |out: &mut Vec<u8>| resp::command(out, &words);
        let rounds = pool.rounds(context.scaled(3000, 50), 1);
        pool.run(rounds.div_ceil(10), 1, &mut command)?;
        let mut costs = Vec::new();
        for _ in 0..context.rounds(3) {
            costs.push(timed(&mut session, &mut pool, rounds, 1, &mut command)?.0);
        }
        context.cost(format!("{line}, 1 MB"), median_cost(&costs), target);
    }
    Ok(())
}

/// Commands on single bits, at random places.
pub fn single(context: &mut Context) -> io::Result<()> {
    let mut session = start(context)?;
    let mut pool = session.pool(CONNECTIONS)?;
    let rounds = pool.rounds(context.scaled(400_000, 800), PIPELINE);
    for verb in ["SETBIT", "GETBIT", "BITFIELD INCRBY"] {
        context.stage(verb);
        let mut rng = Rng::with_seed(SEED);
        let mut command = |out: &mut Vec<u8>| {
            let offset = rng.usize(..SIZE * 8 - 64).to_string();
            let offset = offset.as_bytes();
            match verb {
                "SETBIT" => resp::command(out, &[b"SETBIT", b"bits:0", offset, &[b'0' + rng.u8(..2)]]),
                "GETBIT" => resp::command(out, &[b"GETBIT", b"bits:0", offset]),
                _ => resp::command(out, &[b"BITFIELD", b"bits:0", b"INCRBY", b"u16", offset, b"3"]),
            }
        };
        pool.run(rounds.div_ceil(20), PIPELINE, &mut command)?;
        let (cost, _) = timed(&mut session, &mut pool, rounds, PIPELINE, command)?;
        context.cost(format!("{verb}, 1 MB"), cost, Target::OfRedis(0.9));
    }
    Ok(())
}
