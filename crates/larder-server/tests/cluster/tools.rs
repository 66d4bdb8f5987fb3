//! The tools of operators: `--cluster` of the command line clients of Redis and of Valkey, on clusters of Larder.

use crate::node::{Node, join, routed, settle, text, until};
use larder_testkit::{Kind, Server, peer_path};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The two tools.
fn tools() -> [PathBuf; 2] {
    ["redis-cli".into(), peer_path("valkey-cli")]
}

/// Runs a tool, which must succeed; what it says. On a busy machine a node may just be taken for one that has failed: then the tool asks to
/// be run again, and is.
fn run(tool: &PathBuf, args: &[&str]) -> String {
    let mut said = String::new();
    until("the tool succeeds", || {
        let (succeeds, text) = run_once(tool, args);
        said = text;
        assert!(succeeds || said.contains("please retry"), "{tool:?} {args:?}:\n{said}");
        succeeds
    });
    said
}

/// Runs a tool; whether it succeeds, and what it says. It is told yes where it asks.
fn run_once(tool: &PathBuf, args: &[&str]) -> (bool, String) {
    let mut command = Command::new(tool);
    command.arg("--cluster").args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the tool is installed");
    let mut input = child.stdin.take().expect("it has an input");
    // One that does not ask may have ended.
    let _ = input.write_all(b"yes\nyes\n");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.success(), said)
}

fn is_whole(tool: &PathBuf, node: &Node) {
    until("all nodes agree", || {
        let output = Command::new(tool).args(["--cluster", "check", &node.address()]).output();
        let output = output.expect("the tool is installed");
        output.status.success() && String::from_utf8_lossy(&output.stdout).contains("All 16384 slots covered")
    });
}

fn fill(node: &Node, count: usize) {
    for number in 0..count {
        assert_eq!(text(&routed(node, &["SET", &format!("key{number}"), &format!("value{number}")])), "OK");
    }
}

fn check_values(node: &Node, count: usize) {
    for number in 0..count {
        let value = text(&routed(node, &["GET", &format!("key{number}")]));
        assert_eq!(value, format!("value{number}"));
    }
}

#[test]
fn a_cluster_is_made_grows_and_shrinks() {
    for tool in &tools() {
        let nodes: Vec<Node> = (0..6).map(|_| Node::larder()).collect();
        let addresses: Vec<String> = nodes.iter().map(Node::address).collect();
        let mut args: Vec<&str> = vec!["create"];
        args.extend(addresses.iter().map(String::as_str));
        args.extend(["--cluster-replicas", "1", "--cluster-yes"]);
        assert!(run(tool, &args).contains("All 16384 slots covered"));
        is_whole(tool, &nodes[0]);
        settle(&nodes.iter().collect::<Vec<_>>());
        fill(&nodes[0], 300);
        assert!(run(tool, &["info", &addresses[0]]).contains("300 keys in 3 "));
        // A primary, which gets slots, and its replica.
        let more = [Node::larder(), Node::larder()];
        run(tool, &["add-node", &more[0].address(), &addresses[0]]);
        is_whole(tool, &nodes[0]);
        settle(&nodes.iter().chain(&more[..1]).collect::<Vec<_>>());
        let id = more[0].id();
        let from = nodes[0].id();
        let slots = ["--cluster-slots", "700", "--cluster-yes"];
        let ends = ["--cluster-from", &from, "--cluster-to", &id];
        run(tool, &[&["reshard", &addresses[0]], &ends[..], &slots].concat());
        is_whole(tool, &nodes[0]);
        assert_ne!(more[0].ask("DBSIZE"), "0");
        check_values(&nodes[1], 300);
        let as_replica = ["--cluster-slave", "--cluster-master-id", &id];
        run(tool, &[&["add-node", &more[1].address(), &addresses[0]][..], &as_replica].concat());
        until("the replica has the data", || more[1].replication("master_link_status") == "up");
        // It has 700 of 16,384 slots, and is to have a little more.
        let weight = format!("{id}=0.14");
        run(tool, &["rebalance", &addresses[0], "--cluster-threshold", "1", "--cluster-weight", &weight]);
        is_whole(tool, &nodes[0]);
        check_values(&nodes[1], 300);
        // The primary gives its slots away, and leaves.
        let back = ["--cluster-from", &id, "--cluster-to", &from];
        let all = ["--cluster-slots", "16384", "--cluster-yes"];
        run(tool, &[&["reshard", &addresses[0]][..], &back, &all].concat());
        is_whole(tool, &nodes[0]);
        check_values(&nodes[1], 300);
        for node in more.iter().rev() {
            // Without slots they follow who has them now, and a node that loads is not reset.
            until("it has settled", || node.is_settled());
            run(tool, &["del-node", &addresses[0], &node.id()]);
        }
        is_whole(tool, &nodes[0]);
        assert_eq!(nodes[0].info("cluster_known_nodes"), "6");
        check_values(&nodes[1], 300);
    }
}

#[test]
fn slots_are_moved_at_once() {
    let (a, b) = (Node::larder(), Node::larder());
    join(&[&a, &b]);
    fill(&a, 300);
    let (from, to) = (a.id(), b.id());
    let ends = ["--cluster-from", &from, "--cluster-to", &to];
    let how = ["--cluster-slots", "3000", "--cluster-yes", "--cluster-use-atomic-slot-migration"];
    let tool = peer_path("valkey-cli");
    run(&tool, &[&["reshard", &a.address()], &ends[..], &how].concat());
    is_whole(&tool, &a);
    assert!(b.line_about(&to).contains(&"0-2999".to_owned()));
    check_values(&a, 300);
}

#[test]
fn a_slot_that_was_left_open_is_mended() {
    for tool in &tools() {
        let (a, b) = (Node::larder(), Node::larder());
        join(&[&a, &b]);
        fill(&a, 50);
        let slot = larder_cluster::key_slot(b"key1");
        let (from, to) = if slot < 8192 { (&a, &b) } else { (&b, &a) };
        to.must(&format!("CLUSTER SETSLOT {slot} IMPORTING {}", from.id()));
        from.must(&format!("CLUSTER SETSLOT {slot} MIGRATING {}", to.id()));
        run(tool, &["fix", &a.address()]);
        is_whole(tool, &a);
        check_values(&a, 50);
        // A slot that nobody has.
        let free =
            (0..16_384).find(|&slot| a.ask(&format!("CLUSTER COUNTKEYSINSLOT {slot}")) == "0" && slot < 8192);
        let free = free.expect("most are empty");
        for node in [&a, &b] {
            node.must(&format!("CLUSTER DELSLOTS {free}"));
        }
        run(tool, &["fix", &a.address(), "--cluster-yes"]);
        is_whole(tool, &a);
    }
}

#[test]
fn keys_of_a_server_are_taken_into_a_cluster() {
    let (a, b) = (Node::larder(), Node::larder());
    join(&[&a, &b]);
    for kind in [Kind::Larder, Kind::Redis] {
        let alone = Server::of(kind, &[]);
        let mut client = alone.client();
        for number in 0..100 {
            client.ask(&format!("SET key{number} value{number}"));
        }
        let from = format!("127.0.0.1:{}", alone.port());
        let args = ["import", &a.address(), "--cluster-from", &from, "--cluster-replace"];
        run(&"redis-cli".into(), &args);
        assert_eq!(text(&client.ask("DBSIZE")), "0");
        check_values(&b, 100);
    }
}
