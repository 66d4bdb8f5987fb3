//! What docs/cluster.md says is run as it stands there, with other addresses.

use crate::node::{Node, join, routed, settle, text, until};
use larder_testkit::{Kind, peer_path};
use std::process::Command;
use std::time::{Duration, Instant};

fn document() -> String {
    let path = format!("{}/../../docs/cluster.md", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The blocks of code of a language.
fn blocks(language: &str) -> Vec<String> {
    let (text, fence) = (document(), format!("```{language}\n"));
    let parts = text.split(fence.as_str()).skip(1);
    parts.filter_map(|part| part.split_once("```")).map(|(block, _)| block.to_owned()).collect()
}

/// A node with the options of the document, but for ports.
fn start(kind: Kind) -> Node {
    let conf = &blocks("conf")[0];
    let options = conf.lines().filter_map(|line| line.split_once(' ')).filter(|(name, _)| *name != "port");
    let words: Vec<String> =
        options.flat_map(|(name, value)| [format!("--{name}"), value.to_owned()]).collect();
    Node::start(kind, &words.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Runs the lines of a block with words in their places.
fn run(block: &str, nodes: &[&Node], words: &[(&str, &str)]) {
    for line in block.lines() {
        let mut line = line.to_owned();
        for (at, node) in nodes.iter().enumerate() {
            let ip = format!("10.0.0.{}", at + 1);
            line = line.replace(&format!("{ip}:6379"), &node.address());
            line =
                line.replace(&format!("-h {ip} -p 6379"), &format!("-h 127.0.0.1 -p {}", node.server.port()));
        }
        let line = words.iter().fold(line, |line, (name, value)| line.replace(name, value));
        let mut parts = line.split(' ');
        let tool = peer_path(parts.next().expect("a program"));
        let output = Command::new(&tool).args(parts).output().expect("it is installed");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{line}\n{said}");
        // Whoever reads it takes longer than this for the next line. A node that has given its last slot away follows who has it, and is not
        // reset while it loads.
        until("all nodes agree", || {
            let check = Command::new(peer_path("valkey-cli"))
                .args(["--cluster", "check", &nodes[0].address()])
                .output();
            let check = check.expect("it is installed");
            check.status.success() && String::from_utf8_lossy(&check.stdout).contains("All nodes agree")
        });
        until("nodes have settled", || nodes.iter().all(|node| node.is_settled()));
    }
}

fn write(from: &Node) {
    for number in 0..100 {
        assert_eq!(text(&routed(from, &["SET", &format!("key{number}"), "v"])), "OK");
    }
}

fn read(from: &Node) {
    for number in 0..100 {
        assert_eq!(text(&routed(from, &["GET", &format!("key{number}")])), "v", "key{number}");
    }
}

#[test]
fn six_nodes_grow_and_shrink_as_written() {
    let blocks = blocks("sh");
    let nodes: Vec<Node> = (0..7).map(|_| start(Kind::Larder)).collect();
    let all: Vec<&Node> = nodes.iter().collect();
    run(&blocks[0], &all, &[]);
    settle(&all[..6]);
    write(all[0]);
    for line in blocks[1].lines() {
        run(line, &all, &[]);
        settle(&all);
    }
    until("it has a share", || all[6].ask("DBSIZE") != "0");
    read(all[0]);
    let (leaver, target) = (all[6].id(), all[0].id());
    run(&blocks[2], &all, &[("NODE", &leaver), ("TARGET", &target)]);
    settle(&all[..6]);
    assert_eq!(all[0].info("cluster_known_nodes"), "6");
    read(all[0]);
}

#[test]
fn valkey_is_replaced_node_by_node_as_written() {
    let blocks = blocks("sh");
    let (first, second, new) = (start(Kind::Valkey), start(Kind::Valkey), start(Kind::Larder));
    join(&[&first, &second]);
    write(&first);
    // The new node is the eighth of the document; the second one is to go.
    let places = [&first, &second, &second, &second, &second, &second, &second, &new];
    let old = second.id();
    run(&blocks[3], &places, &[("OLD", &old)]);
    until("the data is there", || new.replication("master_link_status") == "up");
    let id = new.id();
    // A primary does not pause for somebody of whom it has not heard yet that he is its replica.
    until("its primary knows it as its replica", || second.knows(&id, "slave"));
    run(&blocks[4], &places, &[]);
    let mut asked = Instant::now();
    until("it has the place", || {
        let nodes = [&first, &second, &new];
        let has_it = nodes.iter().all(|node| node.knows(&id, "master") && node.knows(&old, "slave"));
        // A vote is lost with a link that is closed and made again at that moment. The failover is given up then, after five seconds.
        if !has_it && asked.elapsed() > Duration::from_secs(8) && second.knows(&id, "slave") {
            run(&blocks[4], &places, &[]);
            asked = Instant::now();
        }
        has_it
    });
    read(&first);
    run(&blocks[5], &places, &[("OLD", &old)]);
    settle(&[&first, &new]);
    assert_eq!(first.info("cluster_known_nodes"), "2");
    read(&first);
}
