//! Slots that are on their way, while nodes of both sides change their roles.

use crate::chaos::make;
use crate::replicas::leader;
use crate::scenarios::{is_primary, until};
use crate::settle::settle;
use crate::world::World;
use larder_cluster::{NodeId, Origin};

const TIMEOUT: u64 = 1000;
const BOUND: u64 = 30_000;
/// A slot of node 0.
const SLOT: u16 = 5;

/// Tells a node of a slot, and its replica by its stream.
fn set_slot(world: &mut World, at: usize, state: &str, other: NodeId) {
    let line = format!("SETSLOT {SLOT} {state} {other}");
    world.must(at, &line);
    let args: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
    let reply = world.input(at + 3, |cluster, env| cluster.command(&args, Origin::Primary, env));
    assert!(reply.is_some_and(|reply| reply.is_ok()), "{line}");
}

/// A slot of node 0 is on its way to node 1. Nodes 3 and 4 are their replicas.
fn with_open_slot(seed: u64) -> World {
    let mut world = make(3, 1, seed, TIMEOUT);
    let (source, target) = (world.id(0), world.id(1));
    set_slot(&mut world, 1, "IMPORTING", source);
    set_slot(&mut world, 0, "MIGRATING", target);
    world
}

/// What is open on a node.
fn open(world: &World, at: usize) -> String {
    world.nodes[at].map.as_ref().and_then(|map| map.open_slots_text()).unwrap_or_default()
}

/// What is open on the nodes of both sides if the slot goes from one node to another.
fn way(world: &World, from: usize, to: usize) -> [String; 2] {
    [format!("{SLOT}>{},", world.id(to)), format!("{SLOT}<{},", world.id(from))]
}

/// Waits until some nodes of the source's side and some of the target's say that the slot goes from
/// one node to another.
fn goes(world: &mut World, from: usize, to: usize, sides: [&[usize]; 2]) {
    let wanted = way(world, from, to);
    until(world, "the slot has the new ends", |world| {
        (0..2).all(|side| sides[side].iter().all(|&at| open(world, at) == wanted[side]))
    });
}

fn owner(world: &World, at: usize) -> Option<NodeId> {
    let table = world.cluster(at).table();
    table.owner(SLOT).map(|owner| table[owner].id)
}

fn fail_over(world: &mut World, at: usize) {
    world.must(at, "FAILOVER");
    until(world, "it is primary", |world| is_primary(world, at));
    settle(world, BOUND);
}

#[test]
fn the_ends_of_a_slot_follow_failovers() {
    for seed in 0..10 {
        let mut world = with_open_slot(seed);
        fail_over(&mut world, 4);
        goes(&mut world, 0, 4, [&[0, 3], &[1, 4]]);
        fail_over(&mut world, 3);
        goes(&mut world, 3, 4, [&[0, 3], &[1, 4]]);
        fail_over(&mut world, 0);
        fail_over(&mut world, 1);
        goes(&mut world, 0, 1, [&[0, 3], &[1, 4]]);
    }
}

#[test]
fn the_ends_of_a_slot_follow_elections() {
    for seed in 0..10 {
        let mut world = with_open_slot(seed);
        world.crash(1);
        assert_eq!(leader(&mut world, &[4]), Some(4));
        goes(&mut world, 0, 4, [&[0, 3], &[4]]);
        world.crash(0);
        assert_eq!(leader(&mut world, &[3]), Some(3));
        goes(&mut world, 3, 4, [&[3], &[4]]);
    }
}

#[test]
fn the_target_takes_a_slot_of_which_only_the_source_is_told() {
    for seed in 0..10 {
        let mut world = with_open_slot(seed);
        let target = world.id(1);
        world.must(0, &format!("SETSLOT {SLOT} NODE {target}"));
        settle(&mut world, BOUND);
        for at in 0..6 {
            assert_eq!((owner(&world, at), open(&world, at)), (Some(target), String::new()));
        }
    }
}

#[test]
fn the_targets_heir_takes_a_slot_that_the_source_has_given_away() {
    for seed in 0..10 {
        let mut world = with_open_slot(seed);
        let target = world.id(1);
        world.crash(1);
        world.must(0, &format!("SETSLOT {SLOT} NODE {target}"));
        assert_eq!(leader(&mut world, &[4]), Some(4));
        world.start(1);
        settle(&mut world, BOUND);
        for at in 0..6 {
            assert_eq!((owner(&world, at), open(&world, at)), (Some(world.id(4)), String::new()));
        }
    }
}

#[test]
fn an_import_from_a_node_that_never_had_the_slot_takes_nothing() {
    let mut world = make(3, 1, 1, TIMEOUT);
    let (source, other) = (world.id(0), world.id(2));
    world.must(1, &format!("SETSLOT {SLOT} IMPORTING {other}"));
    let epoch = world.cluster(1).me().config_epoch;
    // It says again which slots it has.
    fail_over(&mut world, 5);
    assert_eq!(open(&world, 1), format!("{SLOT}<{},", world.id(5)));
    for at in 0..6 {
        assert_eq!(owner(&world, at), Some(source));
    }
    assert_eq!(world.cluster(1).me().config_epoch, epoch);
}
