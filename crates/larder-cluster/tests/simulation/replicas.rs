//! Who takes a primary's place, with servers whose data is not always that of the primary they
//! follow: L6, and that somebody does.
//!
//! Node 0 to 2 are primaries; 3, 4, 5, then 6, 7, 8, and so on are their replicas. What the servers
//! do, `replication.rs` says.

use crate::chaos::make;
use crate::scenarios::{is_primary, until};
use crate::settle::settle;
use crate::world::World;

const TIMEOUT: u64 = 1000;
/// `cluster-replica-validity-factor`: data of any age will do; the default.
const FACTORS: [u64; 2] = [0, 10];
/// Longer than any election takes.
const LONG: u64 = 30_000;

/// A cluster in which `replica` is told to follow node 0, which does not answer it. Its own data is
/// of more bytes than node 0 has.
fn with_newcomer(seed: u64, factor: u64, replica: usize) -> World {
    let mut world = make(3, 2, seed, TIMEOUT);
    (0..9).for_each(|at| set_factor(&mut world, at, factor));
    for at in [1, 4, 7] {
        world.nodes[at].server.offset += 1_000_000;
    }
    world.run(2000);
    world.nodes[replica].server.save();
    world.nodes[replica].server.hangs = true;
    let primary = world.id(0);
    world.must(replica, &format!("REPLICATE {primary}"));
    world.run(2000);
    world
}

fn set_factor(world: &mut World, at: usize, factor: u64) {
    world.nodes[at].settings.replica_validity_factor = factor;
    let settings = world.nodes[at].settings.clone();
    world.input(at, |cluster, _| cluster.configure(settings));
}

/// Who of some nodes is a primary, after a long time.
pub fn leader(world: &mut World, nodes: &[usize]) -> Option<usize> {
    let end = world.now + LONG;
    while world.now < end {
        if let Some(&leader) = nodes.iter().find(|&&at| is_primary(world, at)) {
            return Some(leader);
        }
        world.run(10);
    }
    None
}

#[test]
fn the_second_failover_of_a_shard_happens_before_the_first_sync() {
    for seed in 0..20 {
        let mut world = make(3, 2, seed, TIMEOUT);
        world.crash(0);
        let hang = |world: &mut World| (3..9).for_each(|at| world.nodes[at].server.hangs = true);
        hang(&mut world);
        let first = leader(&mut world, &[3, 6]).expect("one of them leads");
        world.run(world.nodes[0].settings.node_timeout_ms);
        world.crash(first);
        let second = if first == 3 { 6 } else { 3 };
        let took = until(&mut world, "the other one leads", |world| is_primary(world, second));
        assert!(took < 4 * TIMEOUT, "{took} ms");
    }
}

#[test]
fn a_replica_of_another_shard_that_has_not_synced_yet_never_wins_against_one_that_has() {
    for (seed, factor) in (0..20).flat_map(|seed| FACTORS.map(|factor| (seed, factor))) {
        let mut world = with_newcomer(seed, factor, 4);
        // One of the others is enough, however late it stands.
        world.crash(6);
        world.crash(0);
        assert_eq!(leader(&mut world, &[3, 4]), Some(3));
    }
}

#[test]
fn a_replica_without_data_leaves_the_place_empty_if_the_one_that_has_the_data_may_not_be_elected() {
    for factor in FACTORS {
        let mut world = with_newcomer(5, factor, 4);
        world.crash(6);
        world.nodes[3].settings.no_failover = true;
        set_factor(&mut world, 3, factor);
        world.run(2000);
        world.crash(0);
        assert_eq!(leader(&mut world, &[3, 4]), None);
    }
}

#[test]
fn a_replica_that_is_alone_and_never_synced_leads_only_where_any_data_will_do() {
    for (factor, leads) in [(0, Some(4)), (10, None)] {
        let mut world = with_newcomer(6, factor, 4);
        [3, 6, 0].into_iter().for_each(|at| world.crash(at));
        assert_eq!(leader(&mut world, &[4]), leads);
    }
}

/// The primary is alive and agrees to the failover, and has the replica wait for its offset, which
/// one without a link never reaches.
#[test]
fn a_manual_failover_to_a_replica_that_never_synced_comes_to_nothing() {
    for seed in 0..20 {
        let mut world = with_newcomer(seed, FACTORS[(seed % 2) as usize], 4);
        let reply = world.command(4, "FAILOVER");
        world.run(LONG);
        assert!(is_primary(&world, 0) && !is_primary(&world, 4), "{reply:?}");
        assert!(!world.nodes[0].server.is_paused);
    }
}

/// It waits for the offset that the primary has named, and the primary dies meanwhile.
#[test]
fn a_manual_failover_that_waits_is_no_reason_to_pass_over_a_replica_with_the_data() {
    for seed in 0..20 {
        let mut world = with_newcomer(seed, 0, 4);
        world.crash(6);
        world.nodes[3].settings.no_failover = true;
        set_factor(&mut world, 3, 0);
        world.run(2000);
        world.must(4, "FAILOVER");
        world.run(500);
        world.crash(0);
        assert_eq!(leader(&mut world, &[3, 4]), None);
    }
}

#[test]
fn a_restart_makes_no_data_of_it() {
    for seed in 0..20 {
        let mut world = with_newcomer(seed, 0, 4);
        world.crash(4);
        world.run(100);
        world.start(4);
        world.run(2000);
        assert!(world.nodes[4].server.offset > 1_000_000, "its file is that of the other shard");
        world.crash(6);
        world.crash(0);
        assert_eq!(leader(&mut world, &[3, 4]), Some(3));
    }
}

#[test]
fn after_a_restart_of_all_the_replica_with_more_of_the_data_leads() {
    for seed in 0..20 {
        let mut world = make(3, 2, seed, TIMEOUT);
        (0..9).for_each(|at| set_factor(&mut world, at, 0));
        let (fresh, stale) = if seed % 2 == 0 { (3, 6) } else { (6, 3) };
        for at in [fresh, stale] {
            world.nodes[at].server.writes_through = false;
        }
        world.nodes[stale].server.save();
        world.nodes[stale].server.hangs = true;
        world.nodes[0].server.write(5000, &mut fastrand::Rng::with_seed(seed));
        world.run(1000);
        world.nodes[fresh].server.save();
        (0..9).for_each(|at| world.crash(at));
        for at in 1..9 {
            world.nodes[at].server.hangs = true;
            world.start(at);
        }
        assert_eq!(leader(&mut world, &[3, 6]), Some(fresh));
    }
}

#[test]
fn a_replica_keeps_its_claim_while_a_snapshot_comes_and_loses_it_when_the_data_is_dropped() {
    for (seed, is_loading) in (0..20).flat_map(|seed| [(seed, false), (seed, true)]) {
        let mut world = make(3, 1, seed, TIMEOUT);
        // The primary writes more than its backlog holds while the replica is cut off.
        world.nodes[3].server.hangs = true;
        world.nodes[3].server.lose_link();
        world.nodes[0].server.write(10_000, &mut fastrand::Rng::with_seed(seed));
        world.nodes[3].server.hangs = false;
        until(&mut world, "the snapshot is on its way", |world| {
            let server = &world.nodes[3].server;
            if is_loading { server.is_loading() } else { server.is_receiving() }
        });
        world.nodes[3].server.hangs = true;
        world.crash(0);
        assert_eq!(leader(&mut world, &[3]), if is_loading { None } else { Some(3) });
    }
}

#[test]
fn replicas_of_a_node_that_took_over_without_data_start_from_its_data() {
    for seed in 0..20 {
        let mut world = with_newcomer(seed, 10, 4);
        world.must(4, "FAILOVER TAKEOVER");
        world.nodes[4].server.hangs = false;
        // One of the old replicas follows, the other one cannot.
        world.nodes[6].server.hangs = true;
        until(&mut world, "one has synced", |world| {
            let synced_with = world.nodes[3].server.synced_with.map(|(id, _)| id);
            synced_with == Some(world.id(4)) && world.nodes[3].server.is_following()
        });
        world.run(2000);
        world.crash(4);
        world.crash(0);
        assert_eq!(leader(&mut world, &[3, 6]), Some(3));
    }
}

#[test]
fn what_a_replica_has_beyond_the_takeover_counts_for_nothing() {
    for seed in 0..20 {
        let mut world = make(3, 3, seed, TIMEOUT);
        // The new primary, and the one that follows it, have less than the one that does not.
        let (new, follower, other) = (3, 6, 9);
        for at in [new, follower] {
            world.nodes[at].server.hangs = true;
        }
        world.nodes[0].server.write(1000, &mut fastrand::Rng::with_seed(seed));
        world.run(2000);
        for at in [follower, other] {
            world.nodes[at].settings.no_failover = true;
            set_factor(&mut world, at, 10);
        }
        world.nodes[other].server.hangs = true;
        world.crash(0);
        until(&mut world, "the new one leads", |world| is_primary(world, new));
        world.nodes[follower].server.hangs = false;
        until(&mut world, "one follows it", |world| world.nodes[follower].server.is_following());
        world.run(100);
        assert!(world.nodes[follower].server.offset < world.nodes[other].server.offset);
        for at in [follower, other] {
            world.nodes[at].settings.no_failover = false;
            set_factor(&mut world, at, 10);
        }
        world.run(2000);
        world.nodes[follower].server.hangs = true;
        world.crash(new);
        assert_eq!(leader(&mut world, &[follower, other]), Some(follower));
    }
}

/// One thing that may happen to servers and their roles.
fn disturb(world: &mut World) {
    let at = world.rng.usize(..9);
    let primary = world.rng.usize(..9);
    match world.rng.u8(..12) {
        9 | 10 => lead_astray(world, at, primary),
        11 => {
            world.nodes[at].settings.no_failover ^= true;
            let factor = world.nodes[at].settings.replica_validity_factor;
            set_factor(world, at, factor);
        }
        0 | 1 if (0..9).filter(|&at| world.is_up(at)).count() > 6 => {
            world.crash(at);
            let after = world.rng.u64(1..20_000);
            world.restart_after(at, after);
        }
        2 | 3 => world.nodes[at].server.hangs = true,
        4 => world.nodes[at].server.hangs = false,
        5 if world.is_up(primary) && world.is_up(at) => {
            let id = world.id(primary);
            let is_replica = world.cluster(at).me().is_replica();
            if is_replica {
                let _ = world.command(at, &format!("REPLICATE {id}"));
            }
        }
        6 => drop(world.command(at, "FAILOVER")),
        7 => drop(world.command(at, "FAILOVER FORCE")),
        _ if world.is_up(at) => world.nodes[at].server.lose_link(),
        _ => (),
    }
}

/// A replica is told to follow a primary that does not answer it, and that crashes.
fn lead_astray(world: &mut World, at: usize, primary: usize) {
    let is_replica = world.is_up(at) && world.cluster(at).me().is_replica();
    if !is_replica || !is_primary(world, primary) || (0..9).filter(|&at| world.is_up(at)).count() < 7 {
        return;
    }
    world.nodes[at].server.hangs = true;
    let id = world.id(primary);
    let _ = world.command(at, &format!("REPLICATE {id}"));
    let pause = world.rng.u64(100..4000);
    world.run(pause);
    world.crash(primary);
    let after = world.rng.u64(10_000..30_000);
    world.restart_after(primary, after);
}

#[test]
fn whatever_happens_to_the_data_who_has_it_comes_first() {
    let mut wins = 0;
    for seed in larder_testkit::seeds(60, 3000) {
        let mut world = make(3, 2, seed, TIMEOUT);
        let factor = FACTORS[(seed % 2) as usize];
        (0..9).for_each(|at| set_factor(&mut world, at, factor));
        for _ in 0..40 {
            disturb(&mut world);
            let pause = world.rng.u64(10..3000);
            world.run(pause);
        }
        wins += world.wins;
        for at in 0..9 {
            world.nodes[at].server.hangs = false;
            world.nodes[at].settings.no_failover = false;
            if !world.is_up(at) {
                world.start(at);
            }
            set_factor(&mut world, at, factor);
        }
        settle(&mut world, 60_000);
    }
    println!("{wins} primaries were replaced");
}
