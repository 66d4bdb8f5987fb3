//! Pushes and pops at the ends of lists that are compressed in between, against lists that are not.

use super::ends::{VERBS, cycle};
use super::operations::{CONNECTIONS, timed};
use crate::context::Context;
use crate::data;
use crate::figure::{Cost, Target, median_cost};
use crate::pool::ConnectionPool;
use crate::resp;
use crate::session::Session;
use std::io;

const FILLS: [i32; 3] = [-2, -5, 128];

/// Pairs of a push and a pop in turn, on lists that stay long: a stack, and a queue.
const PAIRS: [[&str; 2]; 2] = [["LPUSH", "LPOP"], ["LPUSH", "RPOP"]];

/// Measures depth 0 and 1 in turn on one server, with text that compresses as text does.
pub fn run(context: &mut Context, size: usize, pipeline: usize) -> io::Result<()> {
    let mut session = context.start()?;
    let mut pool = session.pool(CONNECTIONS)?;
    let rounds = pool.rounds(context.scaled(if pipeline == 1 { 40_000 } else { 160_000 }, 200), pipeline);
    let values = data::values(size, 1024, true);
    let turns = context.rounds(3);
    for (which, fill) in FILLS.iter().enumerate() {
        session.configure(&[("list-max-listpack-size", &fill.to_string())])?;
        let mut costs = vec![Vec::new(); 2];
        cycle(&mut session, &mut pool, "warm", rounds.div_ceil(4), pipeline, &values)?;
        for turn in 0..turns {
            context.progress("fills", which * turns + turn, FILLS.len() * turns);
            for (depth, costs) in costs.iter_mut().enumerate() {
                session.configure(&[("list-compress-depth", &depth.to_string())])?;
                let name = format!("depth{depth}");
                let mut one = cycle(&mut session, &mut pool, &name, rounds, pipeline, &values)?;
                for pair in PAIRS {
                    one.push(in_turn(&mut session, &mut pool, pair, rounds, pipeline, &values)?);
                }
                costs.push(one);
            }
        }
        let names =
            VERBS.map(str::to_owned).into_iter().chain(PAIRS.map(|[a, b]| format!("{a}, {b} in turn")));
        for (verb, name) in names.enumerate() {
            let row = |state| format!("{name} {size} bytes, pipeline {pipeline}, fill {fill}, {state}");
            let cost =
                |depth: usize| median_cost(&costs[depth].iter().map(|one| one[verb]).collect::<Vec<_>>());
            context.cost(row("plain"), cost(0), Target::None);
            context.cost(row("compressed"), cost(1), Target::WorkerOfRow(1.05, row("plain")));
        }
    }
    Ok(())
}

/// Pushes and pops in turn on a list that is long already, and compressed if it is to be.
fn in_turn(
    session: &mut Session,
    pool: &mut ConnectionPool,
    pair: [&str; 2],
    rounds: usize,
    pipeline: usize,
    values: &[Vec<u8>],
) -> io::Result<Cost> {
    let (key, mut next) = (b"backlog", 0);
    let mut push = |out: &mut Vec<u8>| {
        next = (next + 1) % values.len();
        resp::command(out, &[pair[0].as_bytes(), key, &values[next]]);
    };
    pool.run(rounds, pipeline, &mut push)?;
    session.wait_compressed()?;
    let mut pop = false;
    let (cost, _) = timed(session, pool, rounds, pipeline, |out| {
        if pop {
            resp::command(out, &[pair[1].as_bytes(), key]);
        } else {
            push(out);
        }
        pop = !pop;
    })?;
    session.ask("DEL backlog")?;
    Ok(cost)
}
