//! Nodes that end in order: SHUTDOWN, and signals, with `failover` and `safe`, beside Valkey.

use crate::node::{Node, PATIENT, join, meet, replicate, settle, tag, text, until};
use larder_testkit::{Kind, Server, Value};
use std::thread;

/// Three primaries, of which the first ends, and a replica of it.
fn four(primary: Kind, replica: Kind, more: &[&str]) -> [Node; 4] {
    let args = [&PATIENT[..], more].concat();
    let nodes = [primary, Kind::Larder, Kind::Valkey, replica].map(|kind| Node::start(kind, &args));
    let [a, b, c, r] = &nodes;
    join(&[a, b, c]);
    meet(&[a, r]);
    settle(&[a, b, c, r]);
    replicate(r, a, &[a, b, c, r]);
    nodes
}

/// Counts until the server is gone; what was acknowledged last.
fn count_until_it_is_gone(node: &Node, key: &str) -> thread::JoinHandle<i64> {
    let (mut client, line) = (node.server.client(), format!("INCR {key}"));
    thread::spawn(move || {
        let mut last = 0;
        while client.send_raw(format!("{line}\r\n").as_bytes()).is_ok() {
            match client.read() {
                Ok(Value::Int(number)) => last = number,
                // It has been told that there is another primary.
                Ok(Value::Error(text)) if text.starts_with("MOVED") => return last,
                Ok(other) => panic!("{other:?}"),
                Err(_) => return last,
            }
        }
        last
    })
}

fn is_replaced_when_it_ends(primary: Kind, replica: Kind, by_signal: bool) {
    let more: &[&str] = if by_signal { &["--shutdown-on-sigterm", "failover"] } else { &[] };
    let [mut a, b, c, r] = four(primary, replica, more);
    let key = tag("k", |slot| slot < 5000);
    let writer = count_until_it_is_gone(&a, &key);
    until("something is written", || r.ask("DBSIZE") == "1");
    let heir = r.id();
    if by_signal {
        a.server.signal("TERM");
    } else {
        let _ = a.server.client().send_raw(b"SHUTDOWN FAILOVER\r\n");
        a.server.wait_for_log(&format!("Perform auto failover to replica {heir} on shutdown."));
    }
    assert!(a.server.wait().success());
    until("its replica has its place", || [&b, &c, &r].iter().all(|node| node.knows(&heir, "master")));
    until("the slots are served", || [&b, &c, &r].iter().all(|node| node.info("cluster_state") == "ok"));
    let last = writer.join().expect("it counts");
    let kept: i64 = r.ask(&format!("GET {key}")).parse().expect("a number");
    // One may have been executed and not answered.
    assert!(last > 0 && (kept == last || kept == last + 1), "{kept} of {last}");
}

#[test]
fn a_replica_takes_the_place_of_a_primary_that_ends() {
    thread::scope(|scope| {
        for (primary, replica) in
            [(Kind::Larder, Kind::Larder), (Kind::Larder, Kind::Valkey), (Kind::Valkey, Kind::Larder)]
        {
            scope.spawn(move || is_replaced_when_it_ends(primary, replica, false));
        }
        scope.spawn(|| is_replaced_when_it_ends(Kind::Larder, Kind::Larder, true));
    });
}

/// What it has on its disk is that of the primary that it was, whatever becomes of the cluster meanwhile.
#[test]
fn it_saves_and_comes_back_as_a_replica() {
    let args = ["--shutdown-on-sigterm", "save failover"];
    let [mut a, b, c, r] = four(Kind::Larder, Kind::Larder, &args);
    let key = tag("k", |slot| slot < 5000);
    a.must(&format!("SET {key} value"));
    let heir = r.id();
    a.server.signal("TERM");
    assert!(a.server.wait().success());
    let log = a.server.log();
    assert!(log.contains("Saving the final RDB snapshot before exiting."), "{log}");
    until("its replica has its place", || [&b, &c, &r].iter().all(|node| node.knows(&heir, "master")));
    assert!(a.start_again());
    until("it follows", || a.replication("master_link_status") == "up");
    assert_eq!(a.line_about(&a.id())[3], heir);
    assert_eq!(r.ask(&format!("GET {key}")), "value");
}

#[test]
fn without_a_replica_it_ends_all_the_same() {
    for kind in [Kind::Larder, Kind::Valkey] {
        let mut node = Node::start(kind, &[]);
        node.must("CLUSTER ADDSLOTS 1");
        let _ = node.server.client().send_raw(b"SHUTDOWN FAILOVER FAILOVER NOW\r\n");
        assert!(node.server.wait().success());
        let log = node.server.log();
        assert!(log.contains("Unable to find a replica to perform the auto failover on shutdown."), "{log}");
    }
}

/// A failure to save keeps it alive. It has told its replica by then, and follows it.
#[test]
fn one_that_cannot_save_follows_its_heir() {
    let [mut a, b, c, r] = four(Kind::Larder, Kind::Larder, &["--enable-protected-configs", "yes"]);
    let (old, heir) = (a.id(), r.id());
    // There is no such folder any more.
    let folder = a.server.dir().join("gone");
    std::fs::create_dir(&folder).expect("it is writable");
    a.must(&format!("CONFIG SET dir {}", folder.display()));
    std::fs::remove_dir(&folder).expect("it is empty");
    assert_eq!(a.ask("SHUTDOWN FAILOVER SAVE"), "ERR Errors trying to SHUTDOWN. Check logs.");
    assert!(a.server.has_ended().is_none());
    until("its replica has its place", || {
        [&a, &b, &c, &r].iter().all(|node| node.knows(&heir, "master") && node.knows(&old, "slave"))
    });
    // It may need the whole of the data, if it has sent a PING meanwhile.
    std::fs::create_dir(&folder).expect("it is gone");
    until("it follows", || a.replication("master_link_status") == "up");
}

/// The log's line for a server that does not end because that would not be safe.
const UNSAFE: &str = "This is a voting primary. Shutting down may cause the cluster to go down. Can't exit.";

#[test]
fn a_primary_with_slots_does_not_end_if_that_is_to_be_safe() {
    for kind in [Kind::Larder, Kind::Valkey] {
        let mut node = Node::start(kind, &["--shutdown-on-sigterm", "safe"]);
        node.must("CLUSTER ADDSLOTS 1");
        for line in ["SHUTDOWN SAFE", "SHUTDOWN SAFE NOW", "SHUTDOWN NOSAVE SAFE FAILOVER"] {
            assert_eq!(node.ask(line), "ERR Errors trying to SHUTDOWN. Check logs.", "{kind:?} {line}");
        }
        assert_eq!(node.server.log().matches(UNSAFE).count(), 3, "{kind:?}");
        node.server.signal("TERM");
        until("it says why", || node.server.log().matches(UNSAFE).count() == 4);
        assert_eq!(node.ask("PING"), "PONG");
        // Without slots it may.
        node.must("CLUSTER DELSLOTS 1");
        until("it does not end by itself", || node.ask("PING") == "PONG");
        node.server.signal("TERM");
        assert!(node.server.wait().success(), "{kind:?}");
        assert!(node.start_again());
        node.must("CLUSTER ADDSLOTS 2");
        let _ = node.server.client().send_raw(b"SHUTDOWN SAFE FORCE\r\n");
        assert!(node.server.wait().success(), "{kind:?}");
    }
}

/// Words that are refused, on nodes and on servers that are none.
#[test]
fn words_are_refused_as_by_valkey() {
    let words = ["SAVE", "NOSAVE", "NOW", "FORCE", "SAFE", "FAILOVER", "ABORT", "x"];
    let nodes = [Kind::Larder, Kind::Valkey].map(|kind| Node::start(kind, &[]));
    let alone = [Kind::Larder, Kind::Valkey].map(|kind| Server::of(kind, &[]));
    let mut pairs = [nodes.each_ref().map(|node| node.server.client()), alone.each_ref().map(Server::client)];
    for (at, pair) in pairs.iter_mut().enumerate() {
        for first in words {
            for second in words {
                for third in ["", "ABORT", "FAILOVER"] {
                    let line = format!("SHUTDOWN {first} {second} {third}");
                    let has = |word: &str| line.split(' ').any(|other| other == word);
                    let is_refused = has("x")
                        || has("ABORT")
                        || has("SAVE") && has("NOSAVE")
                        || at == 1 && has("FAILOVER");
                    if is_refused {
                        let [ours, theirs] = pair.each_mut().map(|client| client.ask(line.trim_end()));
                        assert_eq!(ours, theirs, "{line}, node: {}", at == 0);
                    }
                }
            }
        }
        for option in
            ["auto-failover-on-shutdown yes", "shutdown-on-sigterm x", "shutdown-on-sigint save,failover"]
        {
            let [ours, theirs] = pair.each_mut().map(|client| client.ask(&format!("CONFIG SET {option}")));
            assert_eq!(ours, theirs, "{option}");
        }
        for value in
            ["failover", "save failover safe", "nosave save", "save nosave now", "default default", "default"]
        {
            for option in ["shutdown-on-sigterm", "shutdown-on-sigint"] {
                let said = pair.each_mut().map(|client| {
                    let set = text(&client.cmd(&["CONFIG", "SET", option, value]));
                    (set, client.cmd(&["CONFIG", "GET", option]))
                });
                assert_eq!(said[0], said[1], "{option} {value}");
            }
        }
    }
}

/// A replica says by which name it is known to the other nodes.
#[test]
fn replicas_name_themselves() {
    let nodes = [Kind::Larder, Kind::Valkey].map(|kind| Node::start(kind, &[]));
    let own = nodes.each_ref().map(Node::id);
    let alone = [Kind::Larder, Kind::Valkey].map(|kind| Server::of(kind, &[]));
    let long = "f".repeat(40);
    for name in ["x", "", long.as_str()] {
        let line = ["REPLCONF", "set-cluster-node-id", name];
        let [ours, theirs] = nodes.each_ref().map(|node| node.server.client().cmd(&line));
        assert_eq!(ours, theirs, "{name}");
        let [ours, theirs] = alone.each_ref().map(|server| server.client().cmd(&line));
        assert_eq!(ours, theirs, "{name}");
    }
    for (node, id) in nodes.iter().zip(&own) {
        assert_eq!(text(&node.server.client().cmd(&["REPLCONF", "set-cluster-node-id", id])), "OK");
    }
}
