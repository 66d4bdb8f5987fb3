//! CLUSTER with arguments at the ends of their ranges: plain and in transactions beside Valkey; in scripts, by clients without rights, and
//! beside a script that does not end.

use crate::node::{Node, join, settle, text, until};
use larder_testkit::{Client, Kind, Value};
use std::time::{Duration, Instant};

/// Subcommands; @me is the name of the node, @nobody one that no node has. Each is refused, or changes what the next ones see.
const LINES: &str = "\
CLUSTER
CLUSTER NOSUCH
CLUSTER ADDSLOTS
CLUSTER ADDSLOTS -1
CLUSTER ADDSLOTS 16384
CLUSTER ADDSLOTS 99999999999999999999
CLUSTER ADDSLOTS 0 0
CLUSTER ADDSLOTS 0 16383
CLUSTER ADDSLOTS 16383
CLUSTER ADDSLOTS 5 x
CLUSTER ADDSLOTSRANGE
CLUSTER ADDSLOTSRANGE 1
CLUSTER ADDSLOTSRANGE 5 4
CLUSTER ADDSLOTSRANGE 5 16384
CLUSTER ADDSLOTSRANGE -1 4
CLUSTER ADDSLOTSRANGE 10 20 15 25
CLUSTER ADDSLOTSRANGE 0 0
CLUSTER ADDSLOTSRANGE 10 20 30
CLUSTER ADDSLOTSRANGE 10 20 30 40
CLUSTER DELSLOTS
CLUSTER DELSLOTS 16384
CLUSTER DELSLOTS 9
CLUSTER DELSLOTS 10 10
CLUSTER DELSLOTSRANGE 10 41
CLUSTER DELSLOTSRANGE 20 10
CLUSTER DELSLOTSRANGE 10 20
CLUSTER COUNTKEYSINSLOT
CLUSTER COUNTKEYSINSLOT -1
CLUSTER COUNTKEYSINSLOT 16384
CLUSTER COUNTKEYSINSLOT 0
CLUSTER GETKEYSINSLOT 0
CLUSTER GETKEYSINSLOT 0 -1
CLUSTER GETKEYSINSLOT 16384 1
CLUSTER GETKEYSINSLOT 0 9223372036854775807
CLUSTER GETKEYSINSLOT 0 9223372036854775808
CLUSTER GETKEYSINSLOT 0 0
CLUSTER KEYSLOT
CLUSTER KEYSLOT {}
CLUSTER KEYSLOT a b
CLUSTER COUNT-FAILURE-REPORTS
CLUSTER COUNT-FAILURE-REPORTS @nobody
CLUSTER COUNT-FAILURE-REPORTS x
CLUSTER COUNT-FAILURE-REPORTS @me
CLUSTER REPLICAS @nobody
CLUSTER REPLICAS @me
CLUSTER SLAVES x
CLUSTER REPLICATE @me
CLUSTER REPLICATE @nobody
CLUSTER REPLICATE
CLUSTER REPLICATE NO TWO
CLUSTER REPLICATE NO ONE
CLUSTER FORGET @me
CLUSTER FORGET @nobody
CLUSTER FORGET x
CLUSTER FORGET
CLUSTER FAILOVER
CLUSTER FAILOVER FORCE
CLUSTER FAILOVER TAKEOVER
CLUSTER FAILOVER NONSENSE
CLUSTER FAILOVER FORCE REPLICAID @me
CLUSTER FAILOVER FORCE REPLICAID
CLUSTER MEET
CLUSTER MEET 127.0.0.1
CLUSTER MEET 127.0.0.1 0
CLUSTER MEET 127.0.0.1 -1
CLUSTER MEET 127.0.0.1 65536
CLUSTER MEET 127.0.0.1 65535
CLUSTER MEET 127.0.0.1 1 0
CLUSTER MEET 127.0.0.1 1 65536
CLUSTER MEET 127.0.0.1 x
CLUSTER MEET 127.0.0.1 1 x
CLUSTER MEET localhost 1 1
CLUSTER MEET 256.0.0.1 1 1
CLUSTER MEET 1.2.3 1 1
CLUSTER MEET 127.0.0.1 9223372036854775807
CLUSTER MEET 127.0.0.1 1 2 3
CLUSTER SETSLOT
CLUSTER SETSLOT 0
CLUSTER SETSLOT 0 STABLE
CLUSTER SETSLOT 16384 STABLE
CLUSTER SETSLOT -1 STABLE
CLUSTER SETSLOT 0 NODE
CLUSTER SETSLOT 0 NODE @nobody
CLUSTER SETSLOT 0 NODE x
CLUSTER SETSLOT 0 MIGRATING @me
CLUSTER SETSLOT 0 MIGRATING @nobody
CLUSTER SETSLOT 1 MIGRATING @me
CLUSTER SETSLOT 0 IMPORTING @me
CLUSTER SETSLOT 1 IMPORTING @me
CLUSTER SETSLOT 1 IMPORTING @nobody
CLUSTER SETSLOT 0 NONSENSE @me
CLUSTER SETSLOT 0 STABLE TIMEOUT
CLUSTER SETSLOT 0 STABLE TIMEOUT x
CLUSTER SETSLOT 0 STABLE TIMEOUT -1
CLUSTER SETSLOT 0 STABLE TIMEOUT 9223372036854775808
CLUSTER SETSLOT 0 NODE @me
CLUSTER SET-CONFIG-EPOCH
CLUSTER SET-CONFIG-EPOCH -1
CLUSTER SET-CONFIG-EPOCH x
CLUSTER SET-CONFIG-EPOCH 99999999999999999999
CLUSTER SET-CONFIG-EPOCH 0
CLUSTER SET-CONFIG-EPOCH 9223372036854775806
CLUSTER SET-CONFIG-EPOCH 1
CLUSTER BUMPEPOCH
CLUSTER BUMPEPOCH x
CLUSTER SAVECONFIG
CLUSTER SAVECONFIG x
CLUSTER FLUSHSLOT
CLUSTER FLUSHSLOT 16384
CLUSTER FLUSHSLOT -1
CLUSTER FLUSHSLOT 0 NOW
CLUSTER FLUSHSLOT 0 SYNC
CLUSTER FLUSHSLOTS x
CLUSTER INFO x
CLUSTER NODES x
CLUSTER SLOTS x
CLUSTER SHARDS x
CLUSTER LINKS x
CLUSTER LINKS
CLUSTER MYID x
CLUSTER MYSHARDID x
CLUSTER RESET NONSENSE
CLUSTER RESET HARD SOFT
CLUSTER FLUSHSLOTS
CLUSTER RESET
CLUSTER RESET HARD
ASKING x
READONLY x
READWRITE
ASKING";

fn lines(node: &Node) -> Vec<String> {
    let (id, nobody) = (node.id(), "f".repeat(40));
    LINES.lines().map(|line| line.replace("@me", &id).replace("@nobody", &nobody)).collect()
}

/// A node alone that meets nobody: MEET of this list leads nowhere.
fn alone(kind: Kind) -> Node {
    Node::start(kind, &[])
}

/// The name of a node stands for itself in errors.
fn shown(node: &str, reply: &Value) -> String {
    format!("{reply:?}").replace(node, "@me")
}

/// Asks for each line of the list, on both servers, in a way; what is answered must be the same.
fn compare(ask: impl Fn(&mut Client, &str) -> Vec<Value>) {
    let nodes = [Kind::Larder, Kind::Valkey].map(alone);
    let (ids, all) = (nodes.each_ref().map(Node::id), nodes.each_ref().map(lines));
    let mut clients = nodes.each_ref().map(Node::client);
    let mut differences = String::new();
    for (at, line) in LINES.lines().enumerate() {
        let [ours, theirs] = [0, 1].map(|side| {
            let replies = ask(&mut clients[side], &all[side][at]);
            replies.iter().map(|reply| shown(&ids[side], reply)).collect::<Vec<_>>()
        });
        if ours != theirs {
            differences += &format!("{line}\n  larder: {ours:?}\n  valkey: {theirs:?}\n");
        }
    }
    Kind::Valkey.judge(&mut clients[1], &differences);
}

#[test]
fn ends_of_ranges_are_those_of_valkey() {
    compare(|client, line| vec![client.ask(line)]);
}

#[test]
fn transactions_of_them_are_those_of_valkey() {
    compare(|client, line| {
        ["MULTI", line, "CLUSTER KEYSLOT a", "EXEC"].iter().map(|line| client.ask(line)).collect()
    });
}

/// RESET itself is executed in a transaction; subcommands of that name are queued.
#[test]
fn subcommands_called_reset_are_queued() {
    let nodes = [Kind::Larder, Kind::Valkey].map(alone);
    let mut clients = nodes.each_ref().map(|node| node.client());
    for line in ["SLOWLOG RESET", "LATENCY RESET", "CLUSTER RESET", "RESET", "QUIT"] {
        let said = clients.each_mut().map(|client| {
            ["MULTI", line, "EXEC"].map(|line| {
                client.send_raw(format!("{line}\r\n").as_bytes()).and_then(|()| client.read()).ok()
            })
        });
        assert_eq!(said[0], said[1], "{line}");
    }
}

/// In a script each is answered or refused by name, and nothing waits for ever.
#[test]
fn scripts_of_them_end() {
    let node = alone(Kind::Larder);
    let mut client = node.client();
    let code = "return redis.pcall(unpack(ARGV))";
    for line in lines(&node) {
        let words: Vec<&str> = line.split(' ').collect();
        client.cmd(&[&["EVAL", code, "0"], &words[..]].concat());
        // With a shard in its hands.
        let touching = "redis.call('GET', KEYS[1]) return redis.pcall(unpack(ARGV))";
        client.cmd(&[&["EVAL", touching, "1", "a"], &words[..]].concat());
    }
    assert_eq!(node.ask("PING"), "PONG");
}

#[test]
fn a_client_without_rights_is_refused() {
    let nodes = [Kind::Larder, Kind::Valkey].map(alone);
    let (ids, all) = (nodes.each_ref().map(Node::id), nodes.each_ref().map(lines));
    let mut clients = nodes.each_ref().map(|node| {
        let mut client = node.client();
        assert_eq!(text(&client.ask("ACL SETUSER guest on nopass ~* &* +@all -cluster -asking")), "OK");
        assert_eq!(text(&client.ask("AUTH guest x")), "OK");
        client
    });
    for (ours, theirs) in all[0].iter().zip(&all[1]) {
        let replies = [clients[0].ask(ours), clients[1].ask(theirs)];
        assert_eq!(shown(&ids[0], &replies[0]), shown(&ids[1], &replies[1]), "{ours}");
        let said = replies[0].text();
        let is_harmless = said.starts_with("ERR") || said == "OK" && ours.starts_with("READ");
        assert!(said.starts_with("NOPERM") || is_harmless, "{ours}: {said}");
    }
}

/// With a script that does not end a node answers, and stays a member: the bus waits for no shard.
fn is_answered_beside_a_script(threads: &str) {
    let options = ["--threads", threads, "--busy-reply-threshold", "20"];
    let (a, b) = (Node::start(Kind::Larder, &options), Node::larder());
    join(&[&a, &b]);
    let (id, other) = (a.id(), b.id());
    let code = "while true do end";
    let mut spinner = a.client();
    let request = format!("*3\r\n$4\r\nEVAL\r\n${}\r\n{code}\r\n$1\r\n0\r\n", code.len());
    spinner.send_raw(request.as_bytes()).expect("it is sent");
    until("it is busy", || a.ask("PING").starts_with("BUSY"));
    let begun = Instant::now();
    let lines: Vec<String> = lines(&b)
        .iter()
        .map(|line| line.replace(&other, &id))
        .filter(|line| !line.starts_with("CLUSTER RESET"))
        .collect();
    for line in &lines {
        // BUSY, or what it says; within the patience of a client.
        assert!(!a.ask(line).is_empty() || line.contains("SLOTS"), "{line}");
    }
    while begun.elapsed() < Duration::from_millis(4000) {
        assert!(b.knows(&id, "master"), "it is held for dead");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(a.ask("SCRIPT KILL"), "OK");
    assert!(spinner.read().expect("it is told").text().contains("SCRIPT KILL"));
    settle(&[&a, &b]);
}

#[test]
fn beside_a_script_that_does_not_end_with_one_thread() {
    is_answered_beside_a_script("1");
}

#[test]
fn beside_a_script_that_does_not_end_with_more_threads() {
    is_answered_beside_a_script("2");
    is_answered_beside_a_script("4");
}
