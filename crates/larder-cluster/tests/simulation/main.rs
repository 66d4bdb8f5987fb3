//! Clusters in one process: a simulated network with delays, breaks and partitions, restarts from the last `nodes.conf`, clocks that jump,
//! manual commands. `laws.rs` says what must never happen; in the end every cluster must settle within a bound.

mod chaos;
mod large;
mod laws;
mod network;
mod open_slots;
mod replicas;
mod replication;
mod scenarios;
mod settle;
mod world;

use chaos::{Chaos, Operators, disturb, finish_moves, make};
use settle::settle;

/// How long a cluster may take to settle once all is well, in node timeouts and ms.
const SETTLE_TIMEOUTS: u64 = 12;
const SETTLE_MS: u64 = 20_000;

fn survive(seed: u64, operators: Operators) -> (u64, u64) {
    let mut rng = fastrand::Rng::with_seed(!seed);
    let (primaries, replicas) = (rng.usize(3..=4), rng.usize(0..=2));
    let node_timeout_ms = rng.u64(600..3000);
    let mut world = make(primaries, replicas, seed, node_timeout_ms);
    disturb(&mut world, Chaos { time_ms: 20_000, operators });
    finish_moves(&mut world, SETTLE_TIMEOUTS * node_timeout_ms);
    let settled = settle(&mut world, SETTLE_MS + SETTLE_TIMEOUTS * node_timeout_ms);
    for at in 0..world.nodes.len() {
        world.cluster(at).check_invariants();
    }
    (settled, world.laws.votes_seen)
}

fn survive_all(quick: u64, full: u64, operators: Operators) {
    let (mut slowest, mut votes) = (0, 0);
    for seed in larder_testkit::seeds(quick, full) {
        let (settled, seen) = survive(seed, operators);
        slowest = slowest.max(settled);
        votes += seen;
    }
    println!("slowest to settle: {slowest} ms, {votes} votes");
}

#[test]
fn clusters_survive_what_a_network_does() {
    survive_all(150, 5000, Operators::Nothing);
}

#[test]
fn clusters_survive_what_operators_do_meanwhile() {
    survive_all(80, 5000, Operators::BumpAndMove);
}

#[test]
fn clusters_survive_migrations_and_the_loss_of_machines() {
    survive_all(80, 5000, Operators::Migrate);
}
