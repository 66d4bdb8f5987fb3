//! Pushes and pops at the ends of lists that are compressed in between, against lists that are not.

use super::ends::{VERBS, cycle};
use super::operations::CONNECTIONS;
use crate::context::Context;
use crate::data;
use crate::figure::{Target, median_cost};
use std::io;

const FILLS: [i32; 3] = [-2, -5, 128];

/// Measures depth 0 and 1 in turn on one server, with text that compresses as text does.
pub fn run(context: &mut Context, size: usize, pipeline: usize) -> io::Result<()> {
    let mut session = context.start();
    let mut fleet = session.fleet(CONNECTIONS)?;
    let rounds = fleet.rounds(context.scaled(if pipeline == 1 { 40_000 } else { 160_000 }, 200), pipeline);
    let values = data::values(size, 1024, true);
    let turns = context.rounds(3);
    for (which, fill) in FILLS.iter().enumerate() {
        session.configure(&[("list-max-listpack-size", &fill.to_string())])?;
        cycle(&mut session, &mut fleet, "warm", rounds.div_ceil(4), pipeline, &values)?;
        let mut costs = vec![vec![Vec::new(); VERBS.len()]; 2];
        for turn in 0..turns {
            context.progress("fills", which * turns + turn, FILLS.len() * turns);
            for (depth, costs) in costs.iter_mut().enumerate() {
                session.configure(&[("list-compress-depth", &depth.to_string())])?;
                let name = format!("depth{depth}");
                let cycle = cycle(&mut session, &mut fleet, &name, rounds, pipeline, &values)?;
                costs.iter_mut().zip(cycle).for_each(|(costs, cost)| costs.push(cost));
            }
        }
        for (verb, name) in VERBS.iter().enumerate() {
            let row = |state| format!("{name} {size} bytes, pipeline {pipeline}, fill {fill}, {state}");
            context.cost(row("plain"), median_cost(&costs[0][verb]), Target::None);
            let target = Target::WorkerOfRow(1.05, row("plain"));
            context.cost(row("compressed"), median_cost(&costs[1][verb]), target);
        }
    }
    Ok(())
}
