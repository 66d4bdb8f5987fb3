//! LINDEX: what it costs to get to the middle of a long list.

use super::operations::{CONNECTIONS, timed};
use crate::context::Context;
use crate::data::SEED;
use crate::figure::{Target, median_cost};
use crate::resp;
use fastrand::Rng;
use std::io;

const LENGTH: usize = 10_000_000;
const PIPELINE: usize = 16;

/// Measures three places in turn on one server and takes medians.
pub fn run(context: &mut Context) -> io::Result<()> {
    let mut session = context.start()?;
    let length = context.scaled(LENGTH, 5000);
    context.stage("loading");
    let mut loader = session.loader()?;
    loader.push_all("long", (0..length).map(|n| format!("element-{n:08}")), 500)?;
    loader.finish()?;
    let mut pool = session.pool(CONNECTIONS)?;
    let rounds = pool.rounds(context.scaled(50_000, 800), PIPELINE);
    // The head is the yardstick of the other places: it must not pay for a cold start.
    pool.run(rounds.div_ceil(4), PIPELINE, |out| resp::command(out, &[b"LINDEX", b"long", b"0"]))?;
    let mut rng = Rng::with_seed(SEED);
    let places = ["LINDEX 0", "LINDEX in the middle", "LINDEX anywhere"];
    let (mut costs, turns) = (vec![Vec::new(); places.len()], context.rounds(5));
    for turn in 0..turns {
        context.progress("places", turn, turns);
        for (place, costs) in costs.iter_mut().enumerate() {
            let lindex = |out: &mut Vec<u8>| {
                let at = [0, length / 2, rng.usize(..length)][place].to_string();
                resp::command(out, &[b"LINDEX", b"long", at.as_bytes()]);
            };
            costs.push(timed(&mut session, &mut pool, rounds, PIPELINE, lindex)?.0);
        }
    }
    for (row, costs) in places.iter().zip(&costs) {
        let target = if *row == places[1] { Target::OfRow(3.0, places[0].to_owned()) } else { Target::None };
        context.cost(*row, median_cost(costs), target);
    }
    Ok(())
}
