//! Large clusters: that they settle, and what they cost.

use crate::chaos::meet;
use crate::settle::settle;
use crate::world::World;
use std::time::Instant;

/// Slots go to the first nodes, one range each.
fn large(nodes: usize, primaries: usize, node_timeout_ms: u64) -> World {
    let mut world = World::new(nodes, 1, node_timeout_ms);
    world.laws.is_off = true;
    world.check_one_in = 100_000;
    world.gather_ms = 20;
    let bound = |at: usize| at * 16_384 / primaries;
    for at in 0..nodes {
        world.must(at, &format!("SET-CONFIG-EPOCH {}", at + 1));
        if at < primaries {
            world.must(at, &format!("ADDSLOTSRANGE {} {}", bound(at), bound(at + 1) - 1));
        }
    }
    for at in 1..nodes {
        meet(&mut world, 0, at);
    }
    let settled = settle(&mut world, 300_000);
    println!("{nodes} nodes have settled after {settled} ms");
    world
}

/// What a node of a cluster costs in ns for each simulated second, the simulation of its network included.
fn cost_per_second(world: &mut World, seconds: u64) -> u64 {
    let (begin, inputs) = (Instant::now(), world.inputs);
    world.run(seconds * 1000);
    let nodes = world.nodes.len() as u64;
    let cost = begin.elapsed().as_nanos() as u64 / seconds / nodes;
    println!(
        "{nodes} nodes: {} inputs a second, {cost} ns a second",
        (world.inputs - inputs) / seconds / nodes
    );
    cost
}

/// The share of a core that a member may take, in ns a second: 2 %.
const BUDGET_NS: u64 = 20_000_000;

#[test]
fn a_member_of_200_nodes_costs_little() {
    let mut world = large(200, 100, 15_000);
    let cost = cost_per_second(&mut world, 20);
    assert!(cost < BUDGET_NS, "{cost} ns");
}

#[test]
#[ignore = "takes minutes"]
fn a_thousand_nodes_settle() {
    let mut world = large(1000, 300, 60_000);
    cost_per_second(&mut world, 5);
}
