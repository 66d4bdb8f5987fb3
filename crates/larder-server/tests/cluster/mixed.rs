//! Clusters of Larder and Valkey: each follows the other, and takes the other's place.

use crate::node::{Node, PATIENT, join, meet, replicate, routed, settle, tag, text, until, until_equal};
use larder_testkit::{Kind, Value};

/// Two primaries, one of each kind, and a replica of the other kind for each.
fn mixed() -> [Node; 5] {
    let nodes = [Kind::Larder, Kind::Valkey, Kind::Valkey, Kind::Larder, Kind::Larder]
        .map(|kind| Node::start(kind, &[]));
    let [a, b, c, d, e] = &nodes;
    join(&[a, b, e]);
    meet(&[a, c, d]);
    settle(&[a, b, c, d, e]);
    replicate(c, a, &[a, b, c, d, e]);
    replicate(d, b, &[a, b, c, d, e]);
    nodes
}

fn fill(from: &Node, value: &str) {
    for number in 0..60 {
        assert_eq!(text(&routed(from, &["SET", &format!("key{number}"), value])), "OK");
    }
}

fn check(from: &Node, value: &str) {
    for number in 0..60 {
        assert_eq!(text(&routed(from, &["GET", &format!("key{number}")])), value, "key{number}");
    }
}

#[test]
fn larder_and_valkey_take_each_others_place() {
    let nodes = mixed();
    let all: Vec<&Node> = nodes.iter().collect();
    let [a, b, c, d, e] = &nodes;
    fill(e, "one");
    let pairs = [(c, a), (d, b), (a, c), (b, d)];
    for (at, (replica, primary)) in pairs.into_iter().enumerate() {
        until("the replica follows", || replica.replication("master_link_status") == "up");
        let (id, old) = (replica.id(), primary.id());
        replica.must("CLUSTER FAILOVER");
        until("the roles are exchanged", || {
            all.iter().all(|node| node.knows(&id, "master") && node.knows(&old, "slave"))
        });
        settle(&all);
        check(e, if at == 0 { "one" } else { "more" });
        fill(e, "more");
    }
}

/// Valkey takes over when it has come to exactly the position at which its primary has paused: nothing may follow, no signs of life and no
/// keys that expire.
#[test]
fn nothing_follows_the_pause_of_a_failover() {
    let often = ["--repl-ping-replica-period", "1", "--enable-debug-command", "yes"];
    let (a, b) = (Node::start(Kind::Larder, &often), Node::start(Kind::Larder, &[]));
    let c = Node::start(Kind::Valkey, &often);
    join(&[&a, &b]);
    meet(&[&a, &c]);
    let all = [&a, &b, &c];
    settle(&all);
    replicate(&c, &a, &all);
    // All are over soon, and go when somebody asks for them.
    a.must("DEBUG SET-ACTIVE-EXPIRE 0");
    let tag = tag("t", |slot| slot < 8192);
    let names: Vec<String> = (0..40_000).map(|number| format!("{{{tag}}}{number}")).collect();
    let mut client = a.client();
    for name in &names {
        client.send(&["SET", name, "x", "PX", "1"]);
    }
    for _ in &names {
        assert_eq!(text(&client.read().expect("a reply")), "OK");
    }
    until("the replica follows", || c.replication("master_link_status") == "up");
    assert_eq!(a.ask("DBSIZE"), "40000");
    let (id, old) = (c.id(), a.id());
    std::thread::scope(|scope| {
        for names in names.chunks(20_000) {
            let mut client = a.client();
            scope.spawn(move || names.iter().for_each(|name| drop(client.cmd(&["GET", name]))));
        }
        c.must("CLUSTER FAILOVER");
        until("the roles are exchanged", || {
            all.iter().all(|node| node.knows(&id, "master") && node.knows(&old, "slave"))
        });
    });
}

#[test]
fn a_primary_that_was_killed_is_replaced_by_one_of_the_other_kind() {
    for (dead, heir) in [(0, 2), (1, 3)] {
        let mut nodes = mixed();
        fill(&nodes[4], "one");
        let replicas = [2, 3];
        for at in replicas {
            until("the replica has the data", || {
                let of = if at == 2 { 0 } else { 1 };
                nodes[at].ask("DBSIZE") == nodes[of].ask("DBSIZE")
            });
        }
        nodes[dead].server.kill();
        let id = nodes[heir].id();
        until("the replica is elected", || {
            (0..5).filter(|&at| at != dead).all(|at| nodes[at].knows(&id, "master"))
        });
        until("the cluster is well", || {
            (0..5).filter(|&at| at != dead).all(|at| nodes[at].info("cluster_state") == "ok")
        });
        check(&nodes[4], "one");
        assert!(nodes[dead].start_again());
        until("it follows its heir", || nodes[dead].replication("master_link_status") == "up");
    }
}

/// Slots go from one kind to the other, key by key.
#[test]
fn slots_move_between_the_kinds() {
    // The tool gives up when a node finds another one failed.
    let (a, b) = (Node::start(Kind::Larder, &PATIENT), Node::start(Kind::Valkey, &PATIENT));
    join(&[&a, &b]);
    fill(&a, "one");
    let (first, second) = (a.id(), b.id());
    for (from, to) in [(&first, &second), (&second, &first)] {
        let tool = larder_testkit::peer_path("valkey-cli");
        let args = ["--cluster", "reshard", &a.address(), "--cluster-from", from, "--cluster-to", to];
        let more = ["--cluster-slots", "2000", "--cluster-yes"];
        let output = std::process::Command::new(&tool).args(args).args(more).output().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        settle(&[&a, &b]);
        check(&b, "one");
    }
}

/// Nodes of Redis 7.0 do not say which shard they are of. Whichever replica of Larder is asked, it
/// stands with its primary and the others.
#[test]
fn replicas_stand_with_a_primary_of_redis_7() {
    let nodes = [Kind::Redis, Kind::Larder, Kind::Larder].map(|kind| Node::start(kind, &[]));
    let all: Vec<&Node> = nodes.iter().collect();
    join(&all[..1]);
    meet(&all);
    for replica in &all[1..] {
        replicate(replica, all[0], &all);
    }
    let mut ids: Vec<String> = all.iter().map(|node| node.id()).collect();
    ids.sort_unstable();
    for replica in &all[1..] {
        until_equal("they are one shard", &vec![ids.clone()], || {
            let shards = replica.client().ask("CLUSTER SHARDS");
            let ids_of = |shard: &Value| {
                let mut ids: Vec<String> =
                    shard.items()[3].items().iter().map(|node| node.items()[1].text()).collect();
                ids.sort_unstable();
                ids
            };
            shards.items().iter().map(ids_of).collect::<Vec<_>>()
        });
    }
}
