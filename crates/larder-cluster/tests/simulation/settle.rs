//! When a cluster has settled: all nodes are linked, agree, and find everybody well.

use crate::world::World;
use larder_cluster::packet::NodeFlags;
use larder_cluster::{Moment, Node, NodeId, SlotSet, Viewer};

/// Why a node thinks that the cluster has not settled, or differs from the first node.
pub fn unsettled(world: &World) -> Option<String> {
    let up: Vec<usize> = (0..world.nodes.len()).filter(|&at| world.is_up(at)).collect();
    let first = up[0];
    let expected = roles(world, first);
    for &at in &up {
        let cluster = world.cluster(at);
        if cluster.is_down() {
            return Some(format!("node {at} finds the cluster down"));
        }
        if cluster.table().len() != world.nodes.len() {
            return Some(format!("node {at} knows {} nodes", cluster.table().len()));
        }
        let bad = NodeFlags::FAILURE | NodeFlags::HANDSHAKE | NodeFlags::NOADDR;
        if let Some((_, node)) = cluster.table().iter().find(|(_, node)| node.flags().has(bad)) {
            return Some(format!("node {at} finds {:?} {:?}", node.id, node.flags()));
        }
        if roles(world, at) != expected {
            return Some(format!("nodes {first} and {at} differ in slots, roles or epochs"));
        }
    }
    None
}

/// The nodes by their names: of whom each is a replica, its epoch and its slots.
fn roles(world: &World, at: usize) -> Vec<(NodeId, Option<NodeId>, u64, &SlotSet)> {
    let table = world.cluster(at).table();
    let role = |node: &'_ Node| {
        let primary = node.primary().map(|primary| table[primary].id);
        let epoch = if node.slots().is_empty() { 0 } else { node.config_epoch };
        (node.id, primary, epoch)
    };
    let mut roles: Vec<_> = table
        .iter()
        .map(|(_, node)| {
            let (id, primary, epoch) = role(node);
            (id, primary, epoch, node.slots())
        })
        .collect();
    roles.sort_by_key(|&(id, ..)| id);
    roles
}

/// Lets time pass until the cluster has settled; the time that it took.
pub fn settle(world: &mut World, bound_ms: u64) -> u64 {
    let begin = world.now;
    while let Some(why) = unsettled(world) {
        let passed = world.now - begin;
        assert!(passed < bound_ms, "not settled after {passed} ms: {why}\n{}", views(world));
        world.run(200);
    }
    world.now - begin
}

/// CLUSTER NODES of all.
pub fn views(world: &World) -> String {
    let mut out = String::new();
    for at in (0..world.nodes.len().min(12)).filter(|&at| world.is_up(at)) {
        let now = Moment { mono_ms: world.now, wall_ms: world.now };
        out += &format!("--- node {at}\n{}", world.cluster(at).nodes_text(Viewer::default(), now));
    }
    out
}
