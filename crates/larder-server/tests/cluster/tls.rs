//! Clusters whose bus is TLS (`tls-cluster yes`).

use crate::migration::{migrate, newest};
use crate::node::{Node, join, meet, replicate, routed, settle, tag, text, until};
use larder_testkit::tls::{Authority, Identity};
use larder_testkit::{Client, Kind};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

/// A node that can be reached by TLS alone.
fn tls_alone(kind: Kind, authority: &Authority, identity: &Identity) -> Node {
    let node = Node::over_tls(kind, authority, identity, &[]);
    node.must("CONFIG SET port 0");
    node
}

/// What `redis-cli --cluster check` says of a cluster.
fn check(node: &Node, authority: &Authority, identity: &Identity) -> String {
    let (address, ca) = (node.address(), authority.certificate());
    let output = Command::new("redis-cli")
        .args(["--tls", "--cacert", &ca, "--cert", &identity.certificate, "--key", &identity.key])
        .args(["--cluster", "check", &address])
        .output();
    String::from_utf8_lossy(&output.expect("it is installed").stdout).into_owned()
}

#[test]
fn a_cluster_of_larder_and_valkey_that_speaks_nothing_but_tls() {
    let authority = Authority::new("authority");
    let identity = authority.issue("everybody");
    let [a, b, r] = [(); 3].map(|()| tls_alone(Kind::Larder, &authority, &identity));
    let mut v = tls_alone(Kind::Valkey, &authority, &identity);
    join(&[&a, &b, &v]);
    meet(&[&a, &r]);
    settle(&[&a, &b, &v, &r]);
    replicate(&r, &v, &[&a, &b, &v, &r]);
    until("the tool finds it well", || {
        let said = check(&a, &authority, &identity);
        said.contains("All 16384 slots covered") && said.contains("All nodes agree")
    });
    for number in 0..60 {
        assert_eq!(text(&routed(&a, &["SET", &format!("key{number}"), "one"])), "OK");
    }
    // By agreement, and back.
    for (replica, primary) in [(&r, &v), (&v, &r)] {
        let (id, old) = (replica.id(), primary.id());
        until("it can begin", || replica.replication("master_link_status") == "up");
        replica.must("CLUSTER FAILOVER");
        until("the roles are exchanged", || {
            [&a, &b, &v, &r].iter().all(|node| node.knows(&id, "master") && node.knows(&old, "slave"))
        });
    }
    // A message of a channel goes by the bus.
    let mut subscriber = b.client();
    subscriber.ask("SUBSCRIBE news");
    a.ask("PUBLISH news one");
    assert_eq!(subscriber.read().expect("it comes").items()[2].text(), "one");
    // By force.
    until("the replica has the data", || r.replication("master_link_status") == "up");
    let heir = r.id();
    v.server.kill();
    until("the replica is elected", || [&a, &b, &r].iter().all(|node| node.knows(&heir, "master")));
    until("the cluster is well", || [&a, &b, &r].iter().all(|node| node.info("cluster_state") == "ok"));
    for number in 0..60 {
        assert_eq!(text(&routed(&b, &["GET", &format!("key{number}")])), "one");
    }
    assert!(v.start_again());
    until("it follows its heir", || v.replication("master_link_status") == "up");
}

/// Migrations go to the port for TLS where replication does.
#[test]
fn slots_move_over_tls() {
    let authority = Authority::new("authority");
    let identity = authority.issue("everybody");
    for (first, second) in
        [(Kind::Larder, Kind::Larder), (Kind::Larder, Kind::Valkey), (Kind::Valkey, Kind::Larder)]
    {
        let [a, b] = [first, second].map(|kind| tls_alone(kind, &authority, &identity));
        join(&[&a, &b]);
        let keys: Vec<String> =
            (0..40).map(|number| tag(&format!("k{number}"), |slot| slot < 4000)).collect();
        for key in &keys {
            assert_eq!(text(&a.client().cmd(&["SET", key, &key.repeat(5000)])), "OK");
        }
        migrate(&a, &b, 0, 4000);
        for key in &keys {
            assert_eq!(text(&routed(&a, &["GET", key])), key.repeat(5000), "{first:?} to {second:?}");
        }
    }
}

/// A certificate that the source does not trust is told as the reason.
#[test]
fn a_migration_to_a_stranger_fails() {
    let (authority, other) = (Authority::new("authority"), Authority::new("other"));
    let (identity, stranger) = (authority.issue("everybody"), other.issue("stranger"));
    let plain_bus = ["--tls-cluster", "no"];
    let a = Node::over_tls(Kind::Larder, &authority, &identity, &plain_bus);
    let b = Node::over_tls(Kind::Larder, &other, &stranger, &plain_bus);
    for (at, node) in [&a, &b].into_iter().enumerate() {
        node.must(&format!("CLUSTER ADDSLOTSRANGE {} {}", at * 8192, at * 8192 + 8191));
        node.must(&format!("CLUSTER SET-CONFIG-EPOCH {}", at + 1));
    }
    a.must(&format!("CLUSTER MEET 127.0.0.1 {} {}", b.server.port(), b.bus_port()));
    settle(&[&a, &b]);
    a.must(&format!("CLUSTER MIGRATESLOTS SLOTSRANGE 0 10 NODE {}", b.id()));
    until("it has failed", || newest(&a, "state") == "failed");
    let message = newest(&a, "message");
    assert!(
        message.starts_with("Unable to connect to target node: ") && message.contains("ertificate"),
        "{message}"
    );
}

#[test]
fn nobody_comes_in_without_a_certificate() {
    let (authority, other) = (Authority::new("authority"), Authority::new("other"));
    let (identity, stranger) = (authority.issue("everybody"), other.issue("stranger"));
    // What clients need not show, nodes must.
    let node = Node::over_tls(Kind::Larder, &authority, &identity, &["--tls-auth-clients", "no"]);
    let plain = Node::larder();
    let foreign = Node::over_tls(Kind::Larder, &other, &stranger, &[]);
    let meet = format!("CLUSTER MEET 127.0.0.1 {} {}", node.port(), node.bus_port());
    for unwanted in [&plain, &foreign] {
        unwanted.must(&meet);
        node.must(&unwanted.meet_command());
    }
    let is_alone = |node: &Node| node.info("cluster_known_nodes") == "1";
    until("nobody has met anybody", || [&node, &plain, &foreign].into_iter().all(is_alone));
    let counts = |node: &Node| node.info("cluster_stats_messages_received");
    assert_eq!([&node, &plain, &foreign].map(counts), ["0", "0", "0"]);
    // A packet of the bus in plain text, and half a greeting, end the connection or wait for the rest.
    let mut stream = TcpStream::connect(("127.0.0.1", node.bus_port())).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a socket has a timeout");
    stream.write_all(b"RCmb").and_then(|()| stream.write_all(&[0; 3000])).expect("it takes it");
    let mut answer = Vec::new();
    // Whether it ends in order or not: nothing is answered, and it ends.
    let ended = stream.read_to_end(&mut answer);
    assert!(
        answer.is_empty()
            && ended.map_or_else(|error| error.kind() != std::io::ErrorKind::WouldBlock, |_| true)
    );
    node.must("CONFIG SET loglevel verbose");
    let mut half = TcpStream::connect(("127.0.0.1", node.bus_port())).expect("it listens");
    half.write_all(&[22, 3, 1, 2]).expect("it takes it");
    drop(half);
    node.server.wait_for_log("The TLS handshake with a node failed: ");
}

/// The nodes as clients see them: ports of the kind that a client uses.
#[test]
fn clients_are_told_the_ports_of_their_kind() {
    let authority = Authority::new("authority");
    let identity = authority.issue("everybody");
    let [a, v] = [Kind::Larder, Kind::Valkey].map(|kind| Node::over_tls(kind, &authority, &identity, &[]));
    join(&[&a, &v]);
    let (first, second) = (tag("a", |slot| slot < 8192), tag("v", |slot| slot >= 8192));
    let ports = [(a.server.port(), a.port()), (v.server.port(), v.port())];
    for is_tls in [false, true] {
        let client = |node: &Node| if is_tls { node.client() } else { node.server.client() };
        let of = |at: usize| if is_tls { ports[at].1 } else { ports[at].0 };
        let (mut ours, mut theirs) = (client(&a), client(&v));
        let moved = ours.ask(&format!("GET {second}")).text();
        assert!(moved.starts_with("MOVED") && moved.ends_with(&format!("127.0.0.1:{}", of(1))), "{moved}");
        let moved = theirs.ask(&format!("GET {first}")).text();
        assert!(moved.ends_with(&format!("127.0.0.1:{}", of(0))), "{moved}");
        let ports_of = |client: &mut Client| -> Vec<Vec<String>> {
            let nodes = client.ask("CLUSTER NODES").text();
            let mut lines: Vec<String> =
                nodes.lines().map(|line| line.split(' ').nth(1).unwrap_or_default().to_owned()).collect();
            lines.sort();
            let slots = client.ask("CLUSTER SLOTS");
            let slots: Vec<String> =
                slots.items().iter().map(|range| text(&range.items()[2].items()[1])).collect();
            let mut shards: Vec<String> = client
                .ask("CLUSTER SHARDS")
                .items()
                .iter()
                .map(|shard| {
                    let node = &shard.items()[3].items()[0];
                    let fields: Vec<String> = node.items().iter().map(text).collect();
                    let has = |name: &str| {
                        let at = fields.iter().position(|field| field == name);
                        at.map_or_else(String::new, |at| fields[at + 1].clone())
                    };
                    format!("{} {}", has("port"), has("tls-port"))
                })
                .collect();
            shards.sort();
            vec![lines, slots, shards]
        };
        let told = ports_of(&mut ours);
        assert_eq!(told, ports_of(&mut theirs), "TLS: {is_tls}");
        assert_eq!(told[1], [of(0).to_string(), of(1).to_string()]);
    }
    // What stands in the files, the ports for TLS first.
    a.must("CLUSTER SAVECONFIG");
    let file = std::fs::read_to_string(a.server.dir().join("nodes.conf")).expect("it is there");
    for (plain, tls) in ports {
        let line = file.lines().find(|line| line.contains(&format!(":{tls}@")));
        assert!(line.is_some_and(|line| line.contains(&format!(",tcp-port={plain},"))), "{file}");
    }
}

/// A cluster that runs goes over to TLS: connections that are there stay, and those that are made from then on are secure.
#[test]
fn the_option_is_taken_over_for_new_links() {
    let authority = Authority::new("authority");
    let identity = authority.issue("everybody");
    let [a, b] =
        [(); 2].map(|()| Node::over_tls(Kind::Larder, &authority, &identity, &["--tls-cluster", "no"]));
    for (at, node) in [&a, &b].into_iter().enumerate() {
        let mut client = node.server.client();
        assert_eq!(text(&client.ask(&format!("CLUSTER SET-CONFIG-EPOCH {}", at + 1))), "OK");
        let from = at * 8192;
        assert_eq!(text(&client.ask(&format!("CLUSTER ADDSLOTSRANGE {from} {}", from + 8191))), "OK");
    }
    let meet = format!("CLUSTER MEET 127.0.0.1 {} {}", b.server.port(), b.bus_port());
    a.must(&meet);
    settle(&[&a, &b]);
    for node in [&a, &b] {
        node.must("CONFIG SET tls-cluster yes");
    }
    let mut plain = TcpStream::connect(("127.0.0.1", a.bus_port())).expect("it listens");
    plain.set_read_timeout(Some(Duration::from_secs(30))).expect("a socket has a timeout");
    plain.write_all(&[b'x'; 100]).expect("it takes it");
    assert!(plain.read(&mut [0; 10]).map_or(true, |len| len == 0), "it is not spoken to");
    settle(&[&a, &b]);
    assert_eq!(text(&routed(&a, &["SET", "key", "value"])), "OK");
    assert_eq!(text(&routed(&b, &["GET", "key"])), "value");
}
