//! RPOPLPUSH of a list to itself: the length of a list must not matter, nor how full a block may get.

use super::operations::{CONNECTIONS, timed};
use crate::context::Context;
use crate::figure::{Target, median_cost};
use crate::resp;
use std::io;

const LENGTHS: [usize; 6] = [1, 10, 100, 1000, 10_000, 100_000];

/// Measures all lengths in turn on one server and takes medians.
pub fn run(context: &mut Context, pipeline: usize) -> io::Result<()> {
    let mut session = context.start()?;
    session.configure(&[("list-max-listpack-size", "110000")])?;
    let mut loader = session.loader()?;
    for length in LENGTHS {
        loader.push_all(&name(length), (0..length).map(|n| format!("element-{n:06}")), 500)?;
    }
    loader.finish()?;
    let mut pool = session.pool(CONNECTIONS)?;
    let rounds = pool.rounds(context.scaled(if pipeline == 1 { 50_000 } else { 300_000 }, 800), pipeline);
    // The list of one element is the yardstick of the others: it must not pay for a cold start.
    pool.run(rounds.div_ceil(4), pipeline, |out| resp::command(out, &[b"LLEN", b"none"]))?;
    let (mut costs, turns) = (vec![Vec::new(); LENGTHS.len()], context.rounds(5));
    for turn in 0..turns {
        context.progress("lengths", turn, turns);
        for (length, costs) in LENGTHS.iter().zip(&mut costs) {
            let key = name(*length);
            let key = key.as_bytes();
            let rotate = |out: &mut Vec<u8>| resp::command(out, &[b"RPOPLPUSH", key, key]);
            costs.push(timed(&mut session, &mut pool, rounds, pipeline, rotate)?.0);
        }
    }
    for (length, costs) in LENGTHS.iter().zip(&costs) {
        let row = |length| format!("RPOPLPUSH on {length}, pipeline {pipeline}");
        let target = if *length == 100_000 { Target::OfRow(1.1, row(1)) } else { Target::None };
        context.cost(row(*length), median_cost(costs), target);
    }
    Ok(())
}

fn name(length: usize) -> String {
    format!("rotate:{length}")
}
