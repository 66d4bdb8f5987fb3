//! A cluster is made as redis-cli makes one, and then disturbed at random.

use crate::settle::settle;
use crate::world::World;
use larder_cluster::{SLOTS, SlotSet};

/// A cluster of primaries with as many replicas each, that has settled, and in which the replicas
/// have synced.
pub fn make(primaries: usize, replicas: usize, seed: u64, node_timeout_ms: u64) -> World {
    let nodes = primaries * (replicas + 1);
    let mut world = World::new(nodes, seed, node_timeout_ms);
    for at in 0..nodes {
        world.must(at, &format!("SET-CONFIG-EPOCH {}", at + 1));
    }
    world.laws.epochs_are_unique = true;
    for at in 0..primaries {
        let bound = |at: usize| at * usize::from(SLOTS) / primaries;
        world.must(at, &format!("ADDSLOTSRANGE {} {}", bound(at), bound(at + 1) - 1));
    }
    for at in 1..nodes {
        meet(&mut world, 0, at);
    }
    settle(&mut world, 20_000 + 10 * node_timeout_ms);
    for at in primaries..nodes {
        let primary = world.id(at % primaries);
        world.must(at, &format!("REPLICATE {primary}"));
    }
    settle(&mut world, 20_000 + 10 * node_timeout_ms);
    while !(primaries..nodes).all(|at| world.nodes[at].server.is_following()) {
        world.run(10);
    }
    // All have heard how much the others have.
    world.run(node_timeout_ms);
    world
}

/// A node meets another.
pub fn meet(world: &mut World, at: usize, other: usize) {
    let ip = world.nodes[other].ip.clone();
    world.must(at, &format!("MEET {ip} {} {}", 6000 + other, 16_000 + other));
}

/// What may be done to a cluster.
#[derive(Clone, Copy)]
pub struct Chaos {
    /// For how long, in ms.
    pub time_ms: u64,
    /// What operators do meanwhile.
    pub operators: Operators,
}

/// What operators do beside manual failovers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Operators {
    Nothing,
    /// They begin epochs without votes, and move slots by SETSLOT.
    BumpAndMove,
    /// They have slots migrate atomically. Machines may be lost as well: what is written and not synced is gone.
    Migrate,
}

pub fn disturb(world: &mut World, chaos: Chaos) {
    if chaos.operators != Operators::Nothing {
        world.laws.epochs_are_unique = false;
    }
    // A slot that SETSLOT moves may be lost with the machine.
    world.loses_machines = chaos.operators != Operators::BumpAndMove;
    if world.rng.bool() {
        world.crash_one_in = Some(world.rng.u32(200..4000));
    }
    let end = world.now + chaos.time_ms;
    while world.now < end {
        let pause = world.rng.u64(10..4000);
        world.run(pause);
        disturb_once(world, chaos);
    }
    // All is well from here on.
    world.crash_one_in = None;
    world.network.heal();
    for at in 0..world.nodes.len() {
        if !world.is_up(at) {
            world.start(at);
        }
    }
}

/// An operator who has told only the source of a slot looks at it when all is well again. The target may have lost its place to a replica that did
/// not know of the slot: nobody serves it then, as in Valkey, until the new primary is told.
pub fn finish_moves(world: &mut World, wait_ms: u64) {
    let told = std::mem::take(&mut world.told_sources);
    if !told.is_empty() {
        world.run(wait_ms);
    }
    for (slot, source) in told {
        let owner = world.owner_of(source, slot);
        let Some(at) = (0..world.nodes.len()).find(|&at| Some(world.id(at)) == owner) else { continue };
        if world.cluster(at).me().is_primary() && world.owner_of(at, slot) != owner {
            let id = world.id(at);
            world.must(at, &format!("SETSLOT {slot} NODE {id}"));
        }
    }
}

fn disturb_once(world: &mut World, chaos: Chaos) {
    let at = world.rng.usize(..world.nodes.len());
    let kinds = if chaos.operators == Operators::Nothing { 13 } else { 16 };
    match world.rng.u8(..kinds) {
        0 => {
            for side in 0..world.nodes.len() {
                world.network.sides[side] = world.rng.u8(..2);
            }
        }
        1 => world.network.isolated[at] = true,
        2 | 3 => world.network.heal(),
        4 => {
            world.crash(at);
            let after = world.rng.u64(1..10_000);
            world.restart_after(at, after);
        }
        5 => break_some(world, Some(at)),
        6 => break_some(world, None),
        7 => world.nodes[at].skew = world.rng.i64(-100_000..100_000),
        8 => world.network.delay_max = world.rng.u64(1..700),
        9 => drop(world.command(at, "FAILOVER")),
        10 => drop(world.command(at, "FAILOVER FORCE")),
        11 => write(world, at),
        // One node alone: if all move while they are cut off, nobody can find anybody.
        12 if world.is_up(0) => world.move_node(0),
        12 => (),
        13.. if chaos.operators == Operators::Migrate => take_slots(world, at),
        13 => drop(world.command(at, "BUMPEPOCH")),
        14 => drop(world.command(at, "FAILOVER TAKEOVER")),
        _ => move_slot(world, at),
    }
}

fn break_some(world: &mut World, of: Option<usize>) {
    for id in world.network.of(of) {
        if world.rng.u8(..4) == 0 {
            world.break_connection(id);
        }
    }
}

/// A key for a slot of a primary.
fn write(world: &mut World, at: usize) {
    if world.is_up(at) && world.cluster(at).me().is_primary() {
        let slots: Vec<u16> = world.cluster(at).me().slots().iter().collect();
        if let Some(&slot) = slots.first() {
            world.nodes[at].server.keys.insert(slot);
        }
    }
}

/// Slots change hands by an atomic migration: the source is there, and has granted it.
fn take_slots(world: &mut World, to: usize) {
    let slot = world.rng.u16(..SLOTS);
    if !world.is_up(to) || !world.cluster(to).me().is_primary() {
        return;
    }
    let table = world.cluster(to).table();
    let owner = table.owner(slot).map(|owner| table[owner].id);
    let from = (0..world.nodes.len()).find(|&at| world.is_up(at) && Some(world.id(at)) == owner);
    let Some(from) = from.filter(|&from| from != to) else { return };
    let has = |slot: &u16| world.cluster(from).me().slots().contains(*slot);
    let is_known = |slot: &u16| table.owner(*slot).map(|owner| table[owner].id) == owner;
    let slots: SlotSet = (slot..SLOTS).take(100).filter(has).filter(is_known).collect();
    if !slots.is_empty() && world.cluster(from).me().is_primary() {
        world.input(to, |cluster, env| cluster.take_slots(&slots, env));
    }
}

/// Moves a slot in the old way, as far as it goes.
fn move_slot(world: &mut World, to: usize) {
    let slot = world.rng.u16(..SLOTS);
    if !world.is_up(to) {
        return;
    }
    let owner = world.owner_of(to, slot);
    let from = (0..world.nodes.len()).find(|&at| world.is_up(at) && Some(world.id(at)) == owner);
    let Some(from) = from.filter(|&from| from != to) else { return };
    let (source, target) = (world.id(from), world.id(to));
    if world.command(to, &format!("SETSLOT {slot} IMPORTING {source}")).is_err() {
        return;
    }
    let _ = world.command(from, &format!("SETSLOT {slot} MIGRATING {target}"));
    world.nodes[from].server.keys.remove(slot);
    let pause = world.rng.u64(1..2000);
    world.run(pause);
    if world.rng.u8(..4) == 0 {
        // Only the source is told, and the target learns from it.
        if world.is_up(from) && world.command(from, &format!("SETSLOT {slot} NODE {target}")).is_ok() {
            world.told_sources.push((slot, from));
        }
        return;
    }
    // An operator who gets no reply of the new owner does not go on.
    if world.is_up(to)
        && world.command(to, &format!("SETSLOT {slot} NODE {target}")).is_ok()
        && world.is_up(to)
    {
        let _ = world.command(from, &format!("SETSLOT {slot} NODE {target}"));
    }
}
