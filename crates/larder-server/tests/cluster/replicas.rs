//! Replicas whose data is not that of the primary they follow: what they claim, and who takes a
//! dead primary's place. Valkey does the same wherever it is among the kinds.
//! `larder-cluster/tests/simulation/replicas.rs` has many more cases.

use crate::node::{Node, join, meet, replicate, routed, settle, tag, text, until, until_equal};
use larder_testkit::{Kind, Value};

/// Refuses replicas that ask for data.
const REFUSE: &str = "ACL SETUSER default -psync -sync";

/// Three primaries and two more nodes of a kind, of which the first is a replica of the first
/// primary.
struct Five {
    nodes: Vec<Node>,
}

impl Five {
    fn start(kind: Kind, more: &[&str]) -> Five {
        let nodes: Vec<Node> = (0..5).map(|_| Node::start(kind, more)).collect();
        let five = Five { nodes };
        let all = five.all();
        join(&all[..3]);
        meet(&[all[0], all[3], all[4]]);
        settle(&all);
        replicate(all[3], all[0], &all);
        five
    }

    fn all(&self) -> Vec<&Node> {
        self.nodes.iter().collect()
    }
}

/// The offset and the health of a node, as another one shows it in CLUSTER SHARDS.
fn standing(from: &Node, id: &str) -> Option<(i64, String)> {
    let shards = from.client().ask("CLUSTER SHARDS");
    let field = |node: &Value, name: &str| {
        let at = node.items().iter().step_by(2).position(|item| item.text() == name)?;
        Some(node.items()[2 * at + 1].clone())
    };
    let nodes = shards.items().iter().flat_map(|shard| shard.items()[3].items().to_vec());
    let node = nodes.into_iter().find(|node| field(node, "id").is_some_and(|found| found.text() == id))?;
    Some((field(&node, "replication-offset")?.int(), field(&node, "health")?.text()))
}

/// The primary dies, its replica takes its place, and dies before the other replica has synced with
/// it.
#[test]
fn the_second_failover_happens_before_the_first_sync() {
    for kind in [Kind::Larder, Kind::Valkey] {
        let mut five = Five::start(kind, &[]);
        let all = five.all();
        let [p, q, _, a, b] = all[..] else { panic!("there are five") };
        replicate(b, p, &all);
        let key = tag("k", |slot| slot < 5461);
        p.must(&format!("SET {key} kept"));
        let (a_id, b_id) = (a.id(), b.id());
        until("both have it", || [a, b].iter().all(|node| node.ask("DBSIZE") == "1"));
        b.must("CONFIG SET cluster-replica-no-failover yes");
        a.must(REFUSE);
        until("that one stands back", || q.line_about(&b_id)[2].contains("nofailover"));
        five.nodes[0].server.kill();
        let all = five.all();
        let [_, q, _, _, b] = all[..] else { panic!("there are five") };
        until("the first one leads", || q.knows(&a_id, "master"));
        until("the second one follows it", || b.line_about(&b_id)[3] == a_id);
        until("it has no link", || b.replication("master_link_status") == "down");
        let down_s = b.replication("master_link_down_since_seconds");
        assert_ne!(down_s, "-1", "{kind:?}: it has lost a link before");
        let (offset, health) = standing(q, &b_id).expect("it is shown");
        assert!(offset > 0 && health == "online", "{kind:?}: {offset} {health}");
        b.must("CONFIG SET cluster-replica-no-failover no");
        five.nodes[3].server.kill();
        let all = five.all();
        until("the second one leads", || all[1].knows(&b_id, "master"));
        assert_eq!(text(&routed(all[1], &["GET", &key])), "kept", "{kind:?}");
    }
}

/// A replica of another shard is told to follow a primary, which refuses it, and dies.
#[test]
fn a_replica_that_never_synced_does_not_win() {
    for (kind, factor) in [(Kind::Larder, "0"), (Kind::Larder, "10"), (Kind::Valkey, "0")] {
        let mut five = Five::start(kind, &["--cluster-replica-validity-factor", factor]);
        let all = five.all();
        let [p, q, _, a, b] = all[..] else { panic!("there are five") };
        replicate(b, q, &all);
        // The other shard has written more.
        let (key, other) = (tag("k", |slot| slot < 5461), tag("k", |slot| (5461..10_922).contains(&slot)));
        p.must(&format!("SET {key} kept"));
        let value = "x".repeat(100_000);
        assert_eq!(text(&q.client().cmd(&["SET", &other, &value])), "OK");
        let (p_id, a_id, b_id) = (p.id(), a.id(), b.id());
        until("both have synced", || [a, b].iter().all(|node| node.ask("DBSIZE") == "1"));
        p.must(REFUSE);
        b.must(&format!("CLUSTER REPLICATE {p_id}"));
        let nothing = Some((0, "loading".to_owned()));
        until_equal("it claims nothing", &nothing, || standing(b, &b_id));
        until_equal("the others know", &nothing, || standing(q, &b_id));
        // What a client reads there is not of this shard.
        let slots = q.client().ask("CLUSTER SLOTS");
        let shown = slots.items().iter().flat_map(|range| range.items()[2..].to_vec());
        assert!(!shown.into_iter().any(|node| node.items()[2].text() == b_id), "{kind:?}");
        until("its primary knows it as its replica", || a.line_about(&b_id)[3] == p_id);
        five.nodes[0].server.kill();
        let all = five.all();
        until("the one with the data leads", || all[1].knows(&a_id, "master"));
        until("the other one follows it", || all[4].line_about(&b_id)[3] == a_id);
        assert_eq!(text(&routed(all[1], &["GET", &key])), "kept", "{kind:?} {factor}");
    }
}

/// What the file of a replica has is judged by the shard that it is of when it starts again: Valkey
/// claims the offset of the file.
#[test]
fn a_restart_makes_no_data_of_it() {
    let mut five = Five::start(Kind::Larder, &["--cluster-replica-validity-factor", "0"]);
    let all = five.all();
    let [p, q, _, a, b] = all[..] else { panic!("there are five") };
    replicate(b, q, &all);
    let other = tag("k", |slot| (5461..10_922).contains(&slot));
    assert_eq!(text(&q.client().cmd(&["SET", &other, &"x".repeat(100_000)])), "OK");
    let (p_id, a_id, b_id) = (p.id(), a.id(), b.id());
    until("it has synced", || b.ask("DBSIZE") == "1");
    b.must("SAVE");
    p.must(REFUSE);
    b.must(&format!("CLUSTER REPLICATE {p_id}"));
    until("the others know", || q.line_about(&b_id)[3] == p_id);
    five.nodes[4].server.kill();
    assert!(five.nodes[4].start_again());
    let all = five.all();
    let [_, q, _, _, b] = all[..] else { panic!("there are five") };
    assert_eq!(b.ask("DBSIZE"), "1", "its file is that of the other shard");
    until("it is back", || q.knows(&b_id, "slave") && b.knows(&p_id, "master"));
    assert_eq!(standing(b, &b_id), Some((0, "loading".to_owned())));
    five.nodes[0].server.kill();
    let all = five.all();
    until("the one with the data leads", || all[1].knows(&a_id, "master"));
    until("the other one follows it", || all[4].line_about(&b_id)[3] == a_id);
}

/// A replica that has synced has an offset, also if nothing was ever written: 0 is that of one
/// without data.
#[test]
fn an_idle_shard_shows_its_replicas() {
    for kind in [Kind::Larder, Kind::Valkey] {
        let five = Five::start(kind, &["--repl-ping-replica-period", "3600"]);
        let all = five.all();
        let (q, id) = (all[1], all[3].id());
        let is_online = |from: &Node| {
            standing(from, &id).is_some_and(|(offset, health)| offset > 0 && health == "online")
        };
        until("it is shown as online", || [q, all[3]].into_iter().all(is_online));
    }
}

/// Clients that compare the topologies of nodes take another order for a change.
#[test]
fn all_nodes_show_replicas_in_one_order() {
    for kind in [Kind::Larder, Kind::Valkey] {
        let nodes: Vec<Node> = (0..5).map(|_| Node::start(kind, &[])).collect();
        let all: Vec<&Node> = nodes.iter().collect();
        join(&all[..1]);
        meet(&all);
        let mut ids: Vec<String> = all[1..].iter().map(|node| node.id()).collect();
        ids.sort_unstable();
        for id in ids.iter().rev() {
            let replica = all.iter().find(|node| node.id() == *id).expect("it is one of them");
            replicate(replica, all[0], &all);
        }
        let shown = |node: &Node| {
            let slots = node.client().ask("CLUSTER SLOTS");
            slots.items()[0].items()[3..].iter().map(|node| node.items()[2].text()).collect::<Vec<_>>()
        };
        let lines = |node: &Node| {
            let lines = node.client().ask(&format!("CLUSTER REPLICAS {}", all[0].id()));
            lines.items().iter().map(|line| line.text()[..40].to_owned()).collect::<Vec<_>>()
        };
        for node in &all {
            until_equal("CLUSTER SLOTS", &ids, || shown(node));
            assert_eq!(lines(node), ids, "{kind:?}");
        }
    }
}
