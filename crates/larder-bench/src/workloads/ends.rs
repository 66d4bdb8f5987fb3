//! Pushes and pops at both ends, at ten fills. At the head, they may cost with the largest blocks no more
//! than 1.15 times what they do with those of the default fill.

use super::operations::{CONNECTIONS, Turns, timed};
use crate::context::Context;
use crate::data;
use crate::figure::{Cost, Target, median_cost};
use crate::pool::ConnectionPool;
use crate::resp;
use crate::session::Session;
use std::io;

const FILLS: [i32; 10] = [-2, -5, -4, -3, -1, 1, 16, 128, 1024, 16_384];
/// Lists that the operations go to in turn.
const LISTS: usize = 4;
/// Pushes before pops, so that as many pops find an element.
pub const VERBS: [&str; 4] = ["LPUSH", "LPOP", "RPUSH", "RPOP"];

/// Measures all fills in turn on one server, so that what disturbs one disturbs all, and takes medians.
pub fn run(context: &mut Context, size: usize, pipeline: usize) -> io::Result<()> {
    let mut session = context.start()?;
    let mut pool = session.pool(CONNECTIONS)?;
    let rounds = pool.rounds(context.scaled(if pipeline == 1 { 40_000 } else { 160_000 }, 200), pipeline);
    let values = data::values(size, 256, false);
    let mut costs = vec![vec![Vec::new(); VERBS.len()]; FILLS.len()];
    let turns = context.rounds(3);
    // What runs first is the yardstick of the others: it must not pay for cold caches and a small heap.
    cycle(&mut session, &mut pool, "warm", rounds.div_ceil(4), pipeline, &values)?;
    for turn in 0..turns {
        for (which, fill) in FILLS.iter().enumerate() {
            context.progress("fills", turn * FILLS.len() + which, turns * FILLS.len());
            session.configure(&[("list-max-listpack-size", &fill.to_string())])?;
            let name = format!("fill{fill}");
            for (verb, cost) in
                cycle(&mut session, &mut pool, &name, rounds, pipeline, &values)?.iter().enumerate()
            {
                costs[which][verb].push(*cost);
            }
        }
    }
    for (verb, name) in VERBS.iter().enumerate() {
        for (which, fill) in FILLS.iter().enumerate() {
            let row = |fill| format!("{name} {size} bytes, pipeline {pipeline}, fill {fill}");
            let judged = name.starts_with('L') && [-5, 16_384].contains(fill);
            let target = if judged { Target::OfRow(1.15, row(-2)) } else { Target::None };
            context.cost(row(*fill), median_cost(&costs[which][verb]), target);
        }
    }
    Ok(())
}

/// Pushes and pops at each end, in the order of `VERBS`; leaves nothing behind.
pub fn cycle(
    session: &mut Session,
    pool: &mut ConnectionPool,
    name: &str,
    rounds: usize,
    pipeline: usize,
    values: &[Vec<u8>],
) -> io::Result<Vec<Cost>> {
    let mut next = 0;
    let mut one = |verb: &str| {
        let mut keys = Turns::new(name, LISTS);
        let (cost, nulls) = timed(session, pool, rounds, pipeline, |out| {
            next = (next + 1) % values.len();
            if verb.ends_with("PUSH") {
                resp::command(out, &[verb.as_bytes(), keys.next(), &values[next]]);
            } else {
                resp::command(out, &[verb.as_bytes(), keys.next()]);
            }
        })?;
        if nulls > 0 { Err(io::Error::other(format!("{verb}: {nulls} null replies"))) } else { Ok(cost) }
    };
    VERBS.iter().map(|verb| one(verb)).collect()
}
