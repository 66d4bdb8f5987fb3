//! What happens in situations that can be named.

use crate::chaos::{make, meet};
use crate::settle::{settle, unsettled, views};
use crate::world::{self, World};
use larder_cluster::packet::NodeFlags;
use larder_cluster::{NodeId, Reply, SlotSet, promises_as_much};

const TIMEOUT: u64 = 1000;
const BOUND: u64 = 30_000;

/// Lets time pass until a condition holds; the time that it took.
pub fn until(world: &mut World, what: &str, mut holds: impl FnMut(&mut World) -> bool) -> u64 {
    let begin = world.now;
    while !holds(world) {
        assert!(world.now - begin < BOUND, "not within {BOUND} ms: {what}\n{}", views(world));
        world.run(1);
    }
    world.now - begin
}

pub fn is_primary(world: &World, at: usize) -> bool {
    world.is_up(at) && world.cluster(at).me().is_primary()
}

fn primary_of(world: &World, at: usize) -> Option<NodeId> {
    world::primary_of(world.cluster(at))
}

/// What a node thinks of another.
fn flags(world: &World, at: usize, of: NodeId) -> Option<NodeFlags> {
    let table = world.cluster(at).table();
    table.find(&of).map(|key| table[key].flags())
}

#[test]
fn a_replica_takes_the_place_of_a_primary_that_died() {
    for seed in 0..10 {
        let mut world = make(3, 1, seed, TIMEOUT);
        let dead = world.id(0);
        let slots = world.cluster(0).me().slots().clone();
        world.crash(0);
        let took = until(&mut world, "its replica is primary", |world| is_primary(world, 3));
        assert!(took < 4 * TIMEOUT, "{took} ms");
        assert_eq!(world.cluster(3).me().slots(), &slots);
        until(&mut world, "all find the cluster well", |world| (1..6).all(|at| !world.cluster(at).is_down()));
        assert!(flags(&world, 1, dead).is_some_and(|flags| flags.has(NodeFlags::FAIL)));
        world.start(0);
        settle(&mut world, BOUND);
        assert_eq!(
            (primary_of(&world, 0), world.nodes[0].server.following),
            (Some(world.id(3)), Some(world.id(3)))
        );
    }
}

#[test]
fn the_replica_with_more_of_the_data_is_elected() {
    let (mut best, rounds) = (0, 10);
    for seed in 0..rounds {
        let mut world = make(3, 2, seed, TIMEOUT);
        // One replica gets nothing any more, but is a member all the same.
        let (stale, fresh) = if world.rng.bool() { (3, 6) } else { (6, 3) };
        let before = world.nodes[stale].server.offset;
        world.run(500);
        world.nodes[stale].server.offset = before;
        world.crash(0);
        until(&mut world, "one is primary", |world| is_primary(world, 3) || is_primary(world, 6));
        best += u64::from(is_primary(&world, fresh));
    }
    // The other one may not have said yet how much it has.
    assert!(best >= rounds - 1, "{best} of {rounds}");
}

#[test]
fn a_minority_is_down_and_a_majority_goes_on() {
    let mut world = make(3, 1, 5, TIMEOUT);
    // The first primary is alone with the second one's replica.
    for at in [0, 4] {
        world.network.sides[at] = 1;
    }
    let took = until(&mut world, "the minority is down", |world| world.cluster(0).is_down());
    assert!(took <= 3 * TIMEOUT, "{took} ms");
    assert!(world.nodes[0].map.as_ref().expect("it has one").is_down);
    until(&mut world, "the replica of the first is primary", |world| is_primary(world, 3));
    until(&mut world, "the majority is well", |world| {
        !world.cluster(1).is_down() && !world.cluster(3).is_down()
    });
    assert!(is_primary(&world, 0) && world.cluster(0).is_down());
    world.nodes[0].server.keys.insert(5);
    world.network.heal();
    settle(&mut world, BOUND);
    assert_eq!(primary_of(&world, 0), Some(world.id(3)));
}

#[test]
fn a_manual_failover_loses_nothing() {
    for seed in 0..10 {
        let mut world = make(3, 1, seed, TIMEOUT);
        let reply = world.command(3, "FAILOVER");
        assert_eq!(reply, Ok(Reply::Ok));
        let mut paused_at = None;
        let took = until(&mut world, "the replica is primary", |world| {
            if world.nodes[0].server.is_paused {
                paused_at.get_or_insert(world.nodes[0].server.offset);
            }
            is_primary(world, 3)
        });
        assert!(took < 2000, "{took} ms");
        let offset = paused_at.expect("the primary has paused");
        assert_eq!(world.nodes[0].server.offset, offset);
        assert!(world.nodes[3].server.offset >= offset);
        settle(&mut world, BOUND);
        assert_eq!(primary_of(&world, 0), Some(world.id(3)));
        assert!(!world.nodes[0].server.is_paused);
    }
}

#[test]
fn a_manual_failover_that_fails_ends_the_pause() {
    let mut world = make(3, 1, 2, TIMEOUT);
    world.must(3, "FAILOVER");
    until(&mut world, "the primary has paused", |world| world.nodes[0].server.is_paused);
    world.crash(3);
    let took = until(&mut world, "the primary goes on", |world| !world.nodes[0].server.is_paused);
    assert!((9000..11_000).contains(&took), "{took} ms");
    assert!(is_primary(&world, 0));
}

#[test]
fn a_takeover_needs_nobody() {
    let mut world = make(3, 1, 3, TIMEOUT);
    for at in [1, 2, 4, 5] {
        world.crash(at);
    }
    until(&mut world, "the cluster is down", |world| world.cluster(3).is_down());
    world.must(3, "FAILOVER TAKEOVER");
    assert!(is_primary(&world, 3) && world.cluster(3).me().config_epoch > 6);
    for at in [1, 2, 4, 5] {
        world.start(at);
    }
    settle(&mut world, BOUND);
    assert_eq!(primary_of(&world, 0), Some(world.id(3)));
}

#[test]
fn forgetting_at_one_node_is_forgetting_at_all() {
    let mut world = make(3, 1, 4, TIMEOUT);
    let gone = world.id(3);
    world.must(0, &format!("FORGET {gone}"));
    until(&mut world, "nobody knows it", |world| {
        [0, 1, 2, 4, 5].iter().all(|&at| flags(world, at, gone).is_none())
    });
    world.run(30_000);
    assert!([0, 1, 2, 4, 5].iter().all(|&at| flags(&world, at, gone).is_none()), "it is banned");
    // It still knows the others, and is let in again after the ban.
    world.run(40_000);
    meet(&mut world, 1, 3);
    settle(&mut world, BOUND);
}

#[test]
fn epochs_that_collide_become_different() {
    let mut world = World::new(5, 6, TIMEOUT);
    for at in 0..5 {
        let (start, end) = (at * 3000, if at == 4 { 16_383 } else { at * 3000 + 2999 });
        world.must(at, &format!("ADDSLOTSRANGE {start} {end}"));
    }
    for at in 1..5 {
        meet(&mut world, at, at - 1);
    }
    settle(&mut world, BOUND);
    let mut epochs: Vec<u64> = (0..5).map(|at| world.cluster(at).me().config_epoch).collect();
    epochs.sort_unstable();
    epochs.dedup();
    assert_eq!(epochs.len(), 5);
}

#[test]
fn slots_move_in_the_old_way() {
    let mut world = make(3, 0, 7, TIMEOUT);
    let (source, target) = (world.id(0), world.id(1));
    world.must(1, &format!("SETSLOT 5 IMPORTING {source}"));
    world.must(0, &format!("SETSLOT 5 MIGRATING {target}"));
    let map = world.nodes[0].map.clone().expect("it has one");
    assert!(map.is_mine(5) && map.migrating.contains_key(&5));
    assert!(world.nodes[1].map.as_ref().is_some_and(|map| map.importing.contains_key(&5)));
    world.nodes[0].server.keys.insert(5);
    assert!(
        world
            .command(0, &format!("SETSLOT 5 NODE {target}"))
            .is_err_and(|error| error.contains("still hold keys"))
    );
    world.nodes[0].server.keys.remove(5);
    let epoch = world.cluster(1).me().config_epoch;
    world.must(1, &format!("SETSLOT 5 NODE {target}"));
    assert!(world.cluster(1).me().config_epoch > epoch);
    world.must(0, &format!("SETSLOT 5 NODE {target}"));
    settle(&mut world, BOUND);
    for at in 0..3 {
        let map = world.nodes[at].map.clone().expect("it has one");
        assert_eq!(map.owner(5).map(|node| node.id), Some(target));
        assert!(map.migrating.is_empty() && map.importing.is_empty());
    }
}

#[test]
fn a_primary_that_loses_its_last_slot_follows_the_winner() {
    let mut world = make(3, 1, 8, TIMEOUT);
    let target = world.id(1);
    let all: Vec<u16> = world.cluster(0).me().slots().iter().collect();
    let source = world.id(0);
    for slot in all {
        world.must(1, &format!("SETSLOT {slot} IMPORTING {source}"));
        world.must(1, &format!("SETSLOT {slot} NODE {target}"));
    }
    settle(&mut world, BOUND);
    // So does its replica, which would else follow a replica.
    for at in [0, 3] {
        assert_eq!(primary_of(&world, at), Some(target));
    }
}

#[test]
fn keys_of_single_slots_that_are_lost_are_dropped() {
    let mut world = make(3, 0, 9, TIMEOUT);
    let (source, target) = (world.id(0), world.id(1));
    world.nodes[0].server.keys.insert(7);
    world.nodes[0].server.keys.insert(8);
    world.must(1, &format!("SETSLOT 7 IMPORTING {source}"));
    world.must(1, &format!("SETSLOT 7 NODE {target}"));
    until(&mut world, "its key is gone", |world| !world.nodes[0].server.keys.contains(7));
    assert!(world.nodes[0].server.keys.contains(8));
}

#[test]
fn an_import_goes_on_from_the_replica_that_was_promoted() {
    let mut world = make(3, 1, 10, TIMEOUT);
    let (source, heir) = (world.id(0), world.id(3));
    world.must(1, &format!("SETSLOT 5 IMPORTING {source}"));
    world.must(3, "FAILOVER");
    until(&mut world, "the replica is primary", |world| is_primary(world, 3));
    settle(&mut world, BOUND);
    let map = world.nodes[1].map.clone().expect("it has one");
    let from = map.importing.get(&5).map(|&at| map.nodes[usize::from(at)].id);
    assert_eq!(from, Some(heir));
}

#[test]
fn slots_are_taken_at_once() {
    let mut world = make(3, 0, 11, TIMEOUT);
    let slots: SlotSet = (10..20).collect();
    world.nodes[0].server.keys.insert(15);
    world.input(1, |cluster, _| cluster.hide_slots(&slots));
    assert_eq!(world.nodes[1].map.as_ref().expect("it has one").hidden, slots);
    let prepared = world.input(1, |cluster, env| cluster.text_if_taken(&slots, env.now)).expect("it is up");
    assert!(!promises_as_much(&prepared, &world.nodes[1].saved));
    world.run(1);
    world.input(1, |cluster, env| cluster.take_slots(&slots, env));
    assert!(promises_as_much(&prepared, &world.nodes[1].saved), "{prepared}\n{}", world.nodes[1].saved);
    assert!(world.nodes[1].map.as_ref().is_some_and(|map| map.is_mine(15) && map.hidden.is_empty()));
    until(&mut world, "the old owner has dropped the keys", |world| world.nodes[0].server.keys.is_empty());
    settle(&mut world, BOUND);
    assert!(slots.iter().all(|slot| world.cluster(2).table().owner(slot).is_some()));
}

#[test]
fn a_replica_moves_to_a_primary_that_lost_its_own() {
    let mut world = make(3, 2, 12, TIMEOUT);
    // Primary 0 has the replicas 3 and 6. Both of the second one's die, and stay dead.
    world.crash(4);
    world.crash(7);
    let orphan = world.id(1);
    let takes = until(&mut world, "it gets one", |world| {
        [3, 6, 5, 8].iter().any(|&at| primary_of(world, at) == Some(orphan))
    });
    assert!(takes >= 5000, "{takes} ms");
    world.run(20_000);
    let moved: Vec<usize> =
        [3, 6, 5, 8].into_iter().filter(|&at| primary_of(&world, at) == Some(orphan)).collect();
    assert_eq!(moved.len(), 1, "exactly one moves");
    let smallest = [3, 6, 5, 8].into_iter().min_by_key(|&at| world.id(at));
    assert_eq!(smallest, Some(moved[0]));
}

#[test]
fn a_reset_node_is_new() {
    let mut world = make(3, 1, 13, TIMEOUT);
    world.laws.may_go_back = true;
    let old = world.id(3);
    world.nodes[3].server.keys.insert(1);
    world.must(3, "RESET HARD");
    assert_ne!(world.id(3), old);
    assert!(world.nodes[3].server.keys.is_empty() && world.nodes[3].server.following.is_none());
    assert_eq!((world.cluster(3).table().len(), world.cluster(3).current_epoch()), (1, 0));
    until(&mut world, "the old name is without an address", |world| {
        (0..3).all(|at| flags(world, at, old).is_some_and(|flags| flags.has(NodeFlags::NOADDR)))
    });
    world.must(0, &format!("FORGET {old}"));
    until(&mut world, "it is forgotten", |world| (0..6).all(|at| flags(world, at, old).is_none()));
    meet(&mut world, 2, 3);
    settle(&mut world, BOUND);
}

#[test]
fn a_replica_that_leaves_is_an_empty_primary() {
    let mut world = make(3, 1, 14, TIMEOUT);
    let shard = world.cluster(3).me().shard;
    world.nodes[3].server.keys.insert(1);
    world.must(3, "REPLICATE NO ONE");
    assert!(is_primary(&world, 3) && world.nodes[3].server.keys.is_empty());
    assert_ne!(world.cluster(3).me().shard, shard);
    settle(&mut world, BOUND);
    let id = world.id(3);
    assert!((0..6).all(|at| flags(&world, at, id).is_some_and(|flags| flags.has(NodeFlags::PRIMARY))));
}

#[test]
fn a_node_that_moves_is_found_again() {
    let mut world = make(3, 1, 15, TIMEOUT);
    for at in [0, 4, 2] {
        world.move_node(at);
        let (ip, id) = (world.nodes[at].ip.clone(), world.id(at));
        until(&mut world, "all know where it is", |world| {
            (0..6).filter(|&other| other != at).all(|other| {
                let table = world.cluster(other).table();
                *table[table.find(&id).expect("it is known")].address.ip == *ip
            })
        });
        settle(&mut world, BOUND);
    }
}

#[test]
fn clocks_that_differ_do_no_harm() {
    let mut world = make(3, 1, 16, TIMEOUT);
    for at in 0..6 {
        world.nodes[at].skew = at as i64 * 1_000_000 - 3_000_000;
    }
    for _ in 0..200 {
        world.run(100);
        assert_eq!(unsettled(&world), None);
        let at = world.rng.usize(..6);
        world.nodes[at].skew = world.rng.i64(-1_000_000..1_000_000);
    }
}

/// One node takes another in, and is not taken in by it: that one has given its handshake up. It is asked again.
#[test]
fn a_node_that_has_given_a_handshake_up_is_met_again() {
    for seed in 0..10 {
        let mut world = World::new(2, seed, TIMEOUT);
        for (at, slots) in [(0, "0 8191"), (1, "8192 16383")] {
            world.must(at, &format!("SET-CONFIG-EPOCH {}", at + 1));
            world.must(at, &format!("ADDSLOTSRANGE {slots}"));
        }
        meet(&mut world, 0, 1);
        let [first, other] = [0, 1].map(|at| world.id(at));
        until(&mut world, "the first one knows the other", |world| {
            flags(world, 0, other).is_some_and(|flags| !flags.has(NodeFlags::HANDSHAKE))
        });
        until(&mut world, "the other one has given up", |world| {
            for id in world.network.of(Some(1)) {
                if world.network.connections[&id].ends[0].node == 1 {
                    world.break_connection(id);
                }
            }
            world.cluster(1).table().len() == 1
        });
        assert_eq!(flags(&world, 1, first), None);
        settle(&mut world, BOUND);
    }
}
