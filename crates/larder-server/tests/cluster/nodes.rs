//! A node: how it starts, what it announces, its file, its links, messages to all nodes.

use crate::node::{Node, join, meet, replicate, settle, text, until};
use larder_testkit::{Kind, Port, Server, Value, failed_start, temp_dir};
use std::io::{Read, Write};
use std::net::TcpStream;

fn start_refused(args: &[&str]) -> String {
    let dir = temp_dir();
    refused_in(&dir, args)
}

fn refused_in(dir: &std::path::Path, args: &[&str]) -> String {
    let (code, out, err) = failed_start(dir, args);
    assert_eq!(code, Some(1), "{out}{err}");
    out + &err
}

#[test]
fn a_node_that_cannot_be_one_does_not_start() {
    let node = Node::larder();
    let port = Port::reserve().number().to_string();
    let file = node.server.dir().join("nodes.conf").to_string_lossy().into_owned();
    let taken = start_refused(&[
        "--port",
        &port,
        "--cluster-enabled",
        "yes",
        "--cluster-port",
        "0",
        "--cluster-config-file",
        &file,
    ]);
    assert!(taken.contains("is already used by a different Cluster node"), "{taken}");
    let dir = temp_dir();
    std::fs::write(dir.join("nodes.conf"), "nonsense\n").expect("it is writable");
    let args = ["--port", &port, "--cluster-enabled", "yes"];
    let corrupt = refused_in(&dir, &args);
    assert!(
        corrupt.contains("Unrecoverable error: corrupted cluster config file \"nodes.conf\"."),
        "{corrupt}"
    );
    let is_free = |port: &u16| std::net::TcpListener::bind(("0.0.0.0", *port)).is_ok();
    let high_port = (55_536..=65_535).rev().find(is_free).expect("one is free").to_string();
    let high = start_refused(&["--port", &high_port, "--cluster-enabled", "yes"]);
    assert!(high.contains("Port number too high"), "{high}");
    let bus = node.bus_port().to_string();
    let busy = start_refused(&["--port", &port, "--cluster-enabled", "yes", "--cluster-port", &bus]);
    assert!(busy.contains(&format!("Failed listening on port {bus} (cluster), aborting")), "{busy}");
    let replica = start_refused(&["--port", &port, "--cluster-enabled", "yes", "--replicaof", "127.0.0.1 1"]);
    assert!(replica.contains("replicaof directive not allowed in cluster mode"), "{replica}");
    let tls = start_refused(&["--port", &port, "--cluster-enabled", "yes", "--tls-cluster", "yes"]);
    assert!(tls.contains("No tls-cert-file configured!"), "{tls}");
}

#[test]
fn a_node_says_that_it_is_one() {
    let node = Node::larder();
    let info = node.ask("INFO");
    for line in ["server_mode:cluster", "cluster_enabled:1"] {
        assert!(info.contains(line), "{line}");
    }
    assert!(node.ask("INFO cluster_info").contains("cluster_known_nodes:1"));
    let hello = node.server.client().ask("HELLO 3");
    assert!(hello.items().iter().any(|item| item.text() == "cluster"));
    let alone = Server::larder(&[]);
    assert!(alone.client().ask("INFO").text().contains("cluster_enabled:0"));
    let reply = alone.client().ask("CLUSTER INFO");
    assert_eq!(reply, Value::Error("ERR This instance has cluster support disabled".to_owned()));
}

#[test]
fn a_node_is_the_same_after_a_restart() {
    let (mut a, b) = (Node::larder(), Node::larder());
    join(&[&a, &b]);
    let (id, epoch) = (a.id(), a.info("cluster_my_epoch"));
    a.must("CLUSTER SAVECONFIG");
    a.server.kill();
    assert!(a.start_again());
    assert_eq!((a.id(), a.info("cluster_my_epoch")), (id, epoch));
    settle(&[&a, &b]);
    // Valkey reads the file.
    let text = std::fs::read_to_string(a.server.dir().join("nodes.conf")).expect("it is there");
    assert!(text.contains("myself,master") && text.contains("vars currentEpoch"), "{text}");
}

#[test]
fn what_is_announced_is_known_to_others() {
    let (a, b) = (Node::larder(), Node::larder());
    join(&[&a, &b]);
    let id = a.id();
    let port = Port::reserve().number().to_string();
    for (option, value) in [
        ("cluster-announce-hostname", "a.example"),
        ("cluster-announce-human-nodename", "first"),
        ("cluster-announce-client-ipv4", "192.0.2.7"),
        ("cluster-announce-client-port", "7001"),
        ("availability-zone", "zone1"),
    ] {
        a.must(&format!("CONFIG SET {option} {value}"));
    }
    until("the name is known", || {
        let line = b.line_about(&id);
        line.get(1)
            .is_some_and(|address| address.starts_with("192.0.2.7:7001@") && address.ends_with(",a.example"))
    });
    until("the zone is known", || {
        let shards = format!("{:?}", b.server.client().ask("CLUSTER SHARDS"));
        let zone = b"zone1".iter().map(u8::to_string).collect::<Vec<_>>().join(", ");
        shards.contains("zone1") || shards.contains(&zone)
    });
    for (option, value) in [("cluster-announce-client-ipv4", ""), ("cluster-announce-client-port", "0")] {
        assert_eq!(text(&a.server.client().cmd(&["CONFIG", "SET", option, value])), "OK");
    }
    // The ports of the node itself: nobody reaches it there, but they are told.
    for (option, place) in [("cluster-announce-port", "port"), ("cluster-announce-bus-port", "bus port")] {
        a.must(&format!("CONFIG SET {option} {port}"));
        let is_told = |address: &String| match place {
            "port" => address.contains(&format!(":{port}@")),
            _ => address.contains(&format!("@{port}")),
        };
        until(place, || b.line_about(&id).get(1).is_some_and(is_told));
        a.must(&format!("CONFIG SET {option} 0"));
    }
    // Options that this machine cannot show: they are kept.
    for (option, value) in [
        ("cluster-announce-ip", "127.0.0.1"),
        ("cluster-announce-client-ipv6", "2001:db8::1"),
        ("cluster-announce-client-tls-port", "7002"),
        ("cluster-announce-tls-port", "7003"),
    ] {
        a.must(&format!("CONFIG SET {option} {value}"));
    }
}

#[test]
fn messages_of_channels_go_to_all_nodes_and_to_the_shard() {
    let (a, b, r) = (Node::larder(), Node::larder(), Node::larder());
    join(&[&a, &b]);
    meet(&[&a, &r]);
    settle(&[&a, &b, &r]);
    replicate(&r, &a, &[&a, &b, &r]);
    // A message goes to whom a node has an open link to.
    let is_linked = |node: &&Node| node.server.client().ask("CLUSTER LINKS").items().len() == 4;
    until("each is linked with the others, both ways", || [&a, &b, &r].iter().all(is_linked));
    let mut all: Vec<_> = [&a, &b, &r].iter().map(|node| node.server.client()).collect();
    for client in &mut all {
        client.ask("SUBSCRIBE news");
    }
    for (node, message) in [(&a, "one"), (&b, "two"), (&r, "three")] {
        node.ask(&format!("PUBLISH news {message}"));
        for client in &mut all {
            assert_eq!(client.read().expect("it comes").items()[2].text(), message);
        }
    }
    // A channel of the shard of a.
    let channel = crate::node::tag("c", |slot| slot < 8192);
    let mut shard: Vec<_> = [&a, &r].iter().map(|node| node.server.client()).collect();
    for client in &mut shard {
        client.ask(&format!("SSUBSCRIBE {channel}"));
    }
    for (node, message) in [(&a, "four"), (&r, "five")] {
        node.ask(&format!("SPUBLISH {channel} {message}"));
        for client in &mut shard {
            assert_eq!(client.read().expect("it comes").items()[2].text(), message);
        }
    }
}

#[test]
fn the_bus_survives_whatever_comes() {
    let node = Node::larder();
    let mut rng = fastrand::Rng::with_seed(larder_testkit::seed(1));
    for _ in 0..50 {
        let mut stream = TcpStream::connect(("127.0.0.1", node.bus_port())).expect("it listens");
        let mut bytes: Vec<u8> = (0..rng.usize(..5000)).map(|_| rng.u8(..)).collect();
        if rng.bool() {
            bytes.splice(..bytes.len().min(4), *b"RCmb");
        }
        let _ = stream.write_all(&bytes);
        if rng.bool() {
            let _ = stream.shutdown(std::net::Shutdown::Write);
            let _ = stream.read(&mut [0; 16]);
        }
    }
    assert_eq!(node.info("cluster_known_nodes"), "1");
    assert_eq!(node.ask("PING"), "PONG");
}

#[test]
fn links_are_shown_and_closed_when_too_much_waits_for_them() {
    let (a, b) = (Node::larder(), Node::larder());
    join(&[&a, &b]);
    until("both ways are linked", || a.server.client().ask("CLUSTER LINKS").items().len() == 2);
    // The other node takes nothing: what is sent to it waits.
    a.must("CONFIG SET cluster-link-sendbuf-limit 1000000");
    b.server.signal("STOP");
    let message = "x".repeat(100_000);
    let mut client = a.server.client();
    until("the link is closed", || {
        client.cmd(&["PUBLISH", "c", &message]);
        a.info("total_cluster_links_buffer_limit_exceeded") != "0"
    });
    b.server.signal("CONT");
    settle(&[&a, &b]);
}

/// Nodes tell others whom to forget, and a tool that goes from node to node comes later.
#[test]
fn who_was_told_by_others_agrees_to_forget() {
    for kind in [Kind::Larder, Kind::Valkey] {
        let nodes = [0; 3].map(|_| Node::start(kind, &[]));
        let [a, b, c] = &nodes;
        join(&[a, b, c]);
        settle(&[a, b, c]);
        let third = c.id();
        a.must(&format!("CLUSTER FORGET {third}"));
        until("the other has been told", || b.line_about(&third).len() < 2);
        for node in [a, b] {
            assert_eq!(node.ask(&format!("CLUSTER FORGET {third}")), "OK", "{kind:?}");
            let nobody = "0".repeat(40);
            assert_eq!(node.ask(&format!("CLUSTER FORGET {nobody}")), format!("ERR Unknown node {nobody}"));
        }
    }
}

#[test]
fn nodes_are_forgotten_and_begin_anew() {
    let (a, b) = (Node::start(Kind::Larder, &["--cluster-blacklist-ttl", "60"]), Node::larder());
    join(&[&a, &b]);
    let (first, second) = (a.id(), b.id());
    a.must(&format!("CLUSTER FORGET {second}"));
    assert!(a.line_about(&second).len() < 2, "it is forgotten");
    b.must("CLUSTER RESET HARD");
    assert_ne!(b.id(), second);
    assert_eq!((b.info("cluster_known_nodes"), b.info("cluster_slots_assigned")), ("1".into(), "0".into()));
    assert_eq!(a.id(), first);
}

#[test]
fn subcommands_run_in_transactions_that_touch_no_key() {
    let node = Node::larder();
    let mut client = node.server.client();
    client.ask("MULTI");
    for line in [
        "CLUSTER ADDSLOTS 1 2",
        "CLUSTER ADDSLOTS 2",
        "CLUSTER SETSLOT 3 STABLE",
        "CLUSTER MYID",
        "CLUSTER NODES",
    ] {
        assert_eq!(text(&client.ask(line)), "QUEUED");
    }
    let replies = client.ask("EXEC");
    let replies: Vec<String> = replies.items().iter().map(text).collect();
    assert_eq!(replies[..3], ["OK", "ERR Slot 2 is already busy", "OK"]);
    assert!(replies[4].contains(&replies[3]) && replies[4].ends_with("connected 1-2\n"), "{replies:?}");
    let refused = node.ask("EVAL return(redis.pcall('cluster','info')) 0");
    assert_eq!(refused, "ERR CLUSTER INFO is not allowed inside of a script");
}

/// Options whose effect a simulation shows (`larder-cluster/tests/simulation`) are taken over while the server runs.
#[test]
fn options_are_taken_over() {
    let node = Node::larder();
    for (option, value) in [
        ("cluster-node-timeout", "3000"),
        ("cluster-replica-validity-factor", "0"),
        ("cluster-migration-barrier", "2"),
        ("cluster-allow-replica-migration", "no"),
        ("cluster-manual-failover-timeout", "1000"),
        ("cluster-config-save-behavior", "best-effort"),
    ] {
        node.must(&format!("CONFIG SET {option} {value}"));
        assert_eq!(node.server.client().ask(&format!("CONFIG GET {option}")).items()[1].text(), value);
    }
    node.must("CONFIG SET cluster-replica-no-failover yes");
    until("it says so", || node.line_about(&node.id())[2].contains("nofailover"));
    for option in ["cluster-databases", "cluster-config-file", "cluster-port", "cluster-enabled"] {
        let reply = node.ask(&format!("CONFIG SET {option} 1"));
        assert!(reply.contains("can't set immutable config") || reply.starts_with("ERR"), "{reply}");
    }
}

/// Tools wait for these lines.
#[test]
fn the_log_says_when_the_cluster_is_up_and_when_it_is_down() {
    for kind in [Kind::Valkey, Kind::Larder] {
        let node = Node::start(kind, &[]);
        node.must("CLUSTER ADDSLOTSRANGE 0 16383");
        node.server.wait_for_log("Cluster state changed: ok");
        let count = |line: &str| node.server.log().matches(line).count();
        assert_eq!(count("Cluster state changed: fail"), 0, "{kind:?}: it is down at first");
        node.must("CLUSTER DELSLOTS 5");
        node.server.wait_for_log("Cluster state changed: fail");
        node.must("CLUSTER ADDSLOTS 5");
        until("it is up again", || count("Cluster state changed: ok") == 2);
        assert_eq!(count("Cluster state changed: fail"), 1, "{kind:?}");
    }
}

/// The time at which a link was made is one, whenever it is asked for.
#[test]
fn links_were_made_at_one_time() {
    let (a, b) = (Node::larder(), Node::larder());
    join(&[&a, &b]);
    until("both ways are linked", || a.server.client().ask("CLUSTER LINKS").items().len() == 2);
    let mut client = a.client();
    let mut times = || {
        let links = client.ask("CLUSTER LINKS");
        links.items().iter().map(|link| link.items()[5].int()).collect::<Vec<_>>()
    };
    let first = times();
    let begun = std::time::Instant::now();
    while begun.elapsed().as_millis() < 50 {
        assert_eq!(times(), first);
    }
}

/// Of two lines of a file that claim a slot, the first has it: the node starts, as Valkey's does.
#[test]
fn a_slot_with_two_owners_in_the_file_is_the_first_ones() {
    for kind in [Kind::Valkey, Kind::Larder] {
        let mut node = Node::start(kind, &[]);
        node.must("CLUSTER ADDSLOTSRANGE 0 5460");
        node.must("CLUSTER SAVECONFIG");
        node.server.kill();
        let path = node.server.dir().join("nodes.conf");
        let mut text = std::fs::read_to_string(&path).expect("it is there");
        let other = "b".repeat(40);
        let at = text.find("vars").expect("it ends so");
        text.insert_str(at, &format!("{other} 10.0.0.2:7002@17002 master - 0 0 2 connected 5000-16383\n"));
        std::fs::write(&path, text).expect("it is writable");
        assert!(node.start_again(), "{kind:?}");
        let own = node.line_about(&node.id());
        assert_eq!(
            (own[8..].join(" "), node.line_about(&other)[8].clone()),
            ("0-5460".into(), "5461-16383".into())
        );
    }
}

/// What a replica's lineage is, other servers pass over: the file is theirs as well.
#[test]
fn valkey_and_redis_start_from_the_file_of_a_replica() {
    let (a, mut r) = (Node::larder(), Node::larder());
    join(&[&a]);
    meet(&[&a, &r]);
    replicate(&r, &a, &[&a, &r]);
    let path = r.server.dir().join("nodes.conf");
    let text = || std::fs::read_to_string(&path).expect("it is there");
    until("the file says that it has synced", || text().contains(" larder-history "));
    let (id, primary) = (r.id(), a.id());
    r.server.kill();
    for kind in [Kind::Valkey, Kind::Redis8, Kind::Larder] {
        let mut other = Node::start(kind, &[]);
        other.server.kill();
        std::fs::write(other.server.dir().join("nodes.conf"), text()).expect("it is writable");
        assert!(other.start_again(), "{kind:?}");
        let line = other.line_about(&id);
        assert!(line[2].contains("myself,slave") && line[3] == primary, "{kind:?}: {line:?}");
    }
}
