//! What CLUSTER INFO, NODES, SLOTS, SHARDS and LINKS show, beside what Valkey shows of the same cluster.

use crate::driver::Driver;
use crate::{flags, mixed_cluster};
use larder_cluster::packet::NodeFlags;
use larder_cluster::{Direction, SlotRangeView, Viewer};
use larder_testkit::Value;
use std::collections::BTreeSet;

/// Names and values of lines, without those that count packets and bytes.
fn counts(info: &str) -> Vec<&str> {
    let is_counter = |line: &&str| line.contains("_sent:") || line.contains("_received:");
    info.lines().filter(|line| !is_counter(line) && !line.starts_with("cluster_my_epoch")).collect()
}

/// The names of the counters that are always there.
fn counters(info: &str) -> Vec<&str> {
    let names = info.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name);
    names.filter(|name| name.contains("bytes") || name.ends_with("messages_sent")).collect()
}

/// What all nodes should agree on: name, address, role, primary, epoch, slots.
fn common(nodes: &str) -> BTreeSet<String> {
    let line = |line: &str| {
        let fields: Vec<&str> = line.split(' ').collect();
        let flags = fields[2].trim_start_matches("myself,");
        format!("{} {} {flags} {} {} {}", fields[0], fields[1], fields[3], fields[6], fields[8..].join(" "))
    };
    nodes.lines().map(line).collect()
}

/// A range as CLUSTER SLOTS shows it.
fn range(view: &SlotRangeView) -> Vec<String> {
    let mut words = vec![view.start.to_string(), view.end.to_string()];
    for node in &view.nodes {
        words.extend([node.ip.to_string(), node.port.to_string(), node.id.to_string()]);
    }
    words
}

fn ranges_of(reply: &Value) -> Vec<Vec<String>> {
    let one = |range: &Value| {
        let [start, end, nodes @ ..] = range.items() else { panic!("a range") };
        let mut words = vec![start.int().to_string(), end.int().to_string()];
        for node in nodes {
            let [ip, port, id, ..] = node.items() else { panic!("a node") };
            words.extend([ip.text(), port.int().to_string(), id.text()]);
        }
        words
    };
    let mut ranges: Vec<_> = reply.items().iter().map(one).collect();
    ranges.sort_by_key(|range| range[0].parse::<u16>().expect("a slot"));
    ranges
}

#[test]
fn views_are_valkeys() {
    let ([a, b, r], mut driver) = mixed_cluster();
    assert_eq!(b.ask(&format!("CLUSTER REPLICATE {}", a.id)), "OK");
    driver.until("this node knows the replica", |driver| flags(driver, &b.id).has(NodeFlags::REPLICA));
    let mut client = a.server.client();
    // The replica has an offset as soon as something is written.
    client.ask("CONFIG SET repl-ping-replica-period 1");
    driver.until("the epochs have settled, and all is the same", |driver| {
        common(&driver.nodes()) == common(&a.ask("CLUSTER NODES"))
    });
    driver.until("the third sees the same", |driver| {
        common(&driver.nodes()) == common(&r.ask("CLUSTER NODES"))
    });
    // A replica whose offset is not known yet is not among them, and is "loading" among the shards.
    driver.until("the ranges and their nodes are the same, the replica among them", |driver| {
        let ours = driver.ask(|cluster, env| cluster.slots_view(Viewer::default(), env));
        let ours: Vec<_> = ours.iter().map(range).collect();
        ours == ranges_of(&client.ask("CLUSTER SLOTS")) && ours.iter().flatten().any(|word| *word == b.id)
    });
    let mut infos = |driver: &mut Driver| {
        (driver.ask(|cluster, _| cluster.info_text(0)), client.ask("CLUSTER INFO").text())
    };
    driver.until("the states are the same", |driver| {
        let (ours, theirs) = infos(driver);
        counts(&ours) == counts(&theirs)
    });
    let (ours, theirs) = infos(&mut driver);
    assert_eq!(counters(&ours), counters(&theirs));
    shards_are_valkeys(&driver, &client.ask("CLUSTER SHARDS"), &a.id);
    // A link may be about to be made: the others know this node from each other, too.
    driver.until("all are linked, both ways", |driver| {
        let links = driver.ask(|cluster, _| cluster.links_view());
        let count = |direction| links.iter().filter(|link| link.direction == direction).count();
        (count(Direction::From), count(Direction::To)) == (3, 3)
    });
}

/// The shard of a node is the same: name, slots, and what is said of its nodes.
fn shards_are_valkeys(driver: &Driver, reply: &Value, of: &str) {
    let ours = driver.ask(|cluster, env| cluster.shards_view(Viewer::default(), env));
    let shard = ours.iter().find(|shard| shard.nodes.iter().any(|node| node.id.as_str() == of));
    let shard = shard.expect("the node has a shard");
    let theirs = reply.items().iter().find(|theirs| theirs.to_string().contains(of)).expect("it has one");
    let [_, slots, _, nodes, _, id] = theirs.items() else { panic!("a shard") };
    assert_eq!(id.text(), shard.id.to_string());
    let slots: Vec<i64> = slots.items().iter().map(Value::int).collect();
    let own: Vec<i64> = shard.ranges.iter().flat_map(|&(start, end)| [start.into(), end.into()]).collect();
    assert_eq!(slots, own);
    assert_eq!(nodes.items().len(), shard.nodes.len());
    for (theirs, own) in nodes.items().iter().zip(&shard.nodes) {
        let text = theirs.to_string();
        let role = if own.is_replica { "replica" } else { "master" };
        for part in [own.id.as_str(), &own.ip, role, own.health.name(), &own.port.to_string()] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}
