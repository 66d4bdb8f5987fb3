//! A primary fails while slots come to it or go, and a replica takes its place. The migration comes to nothing and can be begun again, and every
//! key is there once, with the value that was acknowledged: what Valkey does is looked at with the same eyes.

use crate::migration::{Source, migrate, newest};
use crate::node::{Node, join, meet, replicate, routed, settle, tag, text, until};
use larder_testkit::Kind;
use std::io::{Read, Write};
use std::net::TcpListener;

/// Three primaries with a third of the slots each, a source, a target and one more that votes; and a replica of one of the first two.
struct Group {
    nodes: [Node; 3],
    replica: Node,
}

impl Group {
    fn start(kind: Kind, replicated: usize, more_of_target: &[&str]) -> Group {
        let nodes = [&[][..], more_of_target, &[]].map(|more| Node::start(kind, more));
        let replica = Node::start(kind, &[]);
        let [a, b, c] = &nodes;
        join(&[a, b, c]);
        meet(&[a, &replica]);
        settle(&[a, b, c, &replica]);
        replicate(&replica, &nodes[replicated], &[a, b, c, &replica]);
        Group { nodes, replica }
    }

    /// Ends a node; waits until the replica has its place.
    fn fail(&mut self, at: usize) {
        self.nodes[at].server.kill();
        let id = self.replica.id();
        let left: Vec<&Node> = (0..3)
            .filter(|&other| other != at)
            .map(|other| &self.nodes[other])
            .chain([&self.replica])
            .collect();
        until("the replica has its primary's place", || {
            left.iter().all(|node| node.knows(&id, "master") && node.info("cluster_state") == "ok")
        });
    }
}

/// Keys of slots that the first node has.
fn fill(node: &Node) -> Vec<String> {
    let keys: Vec<String> = (0..50).map(|number| tag(&format!("k{number}-"), |slot| slot < 4000)).collect();
    keys.iter().for_each(|key| node.must(&format!("SET {key} {key}")));
    keys
}

/// All keys are with one node, and nowhere else.
fn check(keys: &[String], asked: &Node, owner: &Node, others: &[&Node]) {
    for key in keys {
        assert_eq!(text(&routed(asked, &["GET", key])), *key);
    }
    for node in others {
        until("what has gone is deleted", || node.ask("DBSIZE") == "0");
    }
    assert_eq!(owner.ask("DBSIZE"), keys.len().to_string());
}

#[test]
fn a_target_that_fails_leaves_the_keys_to_the_source() {
    for kind in [Kind::Larder, Kind::Valkey] {
        let mut group = Group::start(kind, 1, &[]);
        let keys = fill(&group.nodes[0]);
        let slot = larder_cluster::key_slot(keys[0].as_bytes());
        let count = format!("CLUSTER COUNTKEYSINSLOT {slot}");
        let mut source = Source::establish(&group.nodes[1], &group.nodes[0], 0, 4000);
        keys.iter().for_each(|key| source.say(&format!("SET {key} half")));
        until("the replica has what has come", || group.replica.ask(&count) != "0");
        assert_eq!(newest(&group.replica, "state"), "occurring-on-primary", "{kind:?}");
        group.fail(1);
        let [a, _, c] = &group.nodes;
        let r = &group.replica;
        until("the import has failed", || newest(r, "state") == "failed");
        assert_eq!(newest(r, "message"), "A failover occurred during slot import", "{kind:?}");
        until("what has come is deleted", || r.ask(&count) == "0");
        check(&keys, c, a, &[r]);
        migrate(a, r, 0, 4000);
        check(&keys, c, r, &[a]);
    }
}

#[test]
fn a_source_that_fails_leaves_the_keys_to_its_replica() {
    for kind in [Kind::Larder, Kind::Valkey] {
        // The target's port for clients is a listener's at first, which says yes and then nothing.
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let announced = listener.local_addr().expect("it has one").port().to_string();
        let mut group = Group::start(kind, 0, &["--cluster-announce-port", &announced]);
        let mut keys = fill(&group.nodes[0]);
        let target = group.nodes[1].id();
        group.nodes[0].must(&format!("CLUSTER MIGRATESLOTS SLOTSRANGE 0 4000 NODE {target}"));
        let (mut link, _) = listener.accept().expect("it is connected to");
        let mut asked = [0; 7];
        link.read_exact(&mut asked).expect("it is asked");
        link.write_all(b"+OK\r\n").expect("it takes the answer");
        let sends = ["waiting-to-snapshot", "snapshotting", "waiting-to-pause"];
        until("the keys are sent", || sends.contains(&newest(&group.nodes[0], "state").as_str()));
        let late = tag("late", |slot| slot < 4000);
        group.nodes[0].must(&format!("SET {late} {late}"));
        keys.push(late);
        until("the replica has all", || group.replica.ask("DBSIZE") == keys.len().to_string());
        group.fail(0);
        let [_, b, c] = &group.nodes;
        let r = &group.replica;
        assert_eq!(newest(r, "state"), "", "{kind:?}: it was its primary's");
        check(&keys, c, r, &[b]);
        b.must("CONFIG SET cluster-announce-port 0");
        let (port, theirs) = (format!(":{}", b.server.port()), tag("b", |slot| (6000..7000).contains(&slot)));
        let sends_there = |node: &Node| node.ask(&format!("GET {theirs}")).ends_with(&port);
        until("clients are sent to its port", || [c, r].into_iter().all(sends_there));
        migrate(r, b, 0, 4000);
        check(&keys, c, b, &[r]);
    }
}
