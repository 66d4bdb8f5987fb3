//! CLUSTERSCAN beside Valkey: all keys are found once, and what is refused is refused in the same words.

use crate::node::{Node, join, text};
use larder_testkit::{Client, Kind, Value};
use std::collections::BTreeSet;

const KEYS: usize = 3000;

struct Pair([Node; 2]);

impl Pair {
    fn start(kind: Kind) -> Pair {
        let nodes = [(); 2].map(|()| Node::start(kind, &["--cluster-databases", "2"]));
        join(&[&nodes[0], &nodes[1]]);
        Pair(nodes)
    }

    /// A connection to the node that a cursor is for. The halves of the slots are the nodes'.
    fn client_for(&self, cursor: &str) -> Client {
        self.0[usize::from(larder_cluster::key_slot(cursor.as_bytes()) >= 8192)].server.client()
    }

    fn fill(&self) {
        for number in 0..KEYS {
            let key = format!("key:{number}");
            let mut client = self.client_for(&key);
            let kind = if number % 3 == 0 { ["RPUSH", &key, "v"] } else { ["SET", &key, "v"] };
            assert!(!text(&client.cmd(&kind)).starts_with("MOVED"));
        }
    }

    /// All keys of a walk, with what stands after the cursor, and the number of calls.
    fn walk(&self, options: &str) -> (Vec<String>, usize) {
        let (mut cursor, mut keys, mut calls) = ("0".to_owned(), Vec::new(), 0);
        loop {
            let reply = self.client_for(&cursor).ask(&format!("CLUSTERSCAN {cursor} {options}"));
            let [next, found] = reply.items() else { panic!("{reply:?}") };
            keys.extend(found.items().iter().map(|key| key.text()));
            (cursor, calls) = (next.text(), calls + 1);
            assert!(calls < 60_000);
            if cursor == "0" {
                keys.sort();
                return (keys, calls);
            }
        }
    }
}

#[test]
fn walks_find_every_key_once_as_in_valkey() {
    let (ours, theirs) = (Pair::start(Kind::Larder), Pair::start(Kind::Valkey));
    ours.fill();
    theirs.fill();
    let of_slot = larder_cluster::key_slot(b"key:7");
    let one_slot = format!("SLOT {of_slot} COUNT 1");
    let elsewhere = format!("SLOT {} MATCH key:7", (of_slot + 1) % 16_384);
    for options in [
        "COUNT 100",
        "COUNT 1000 TYPE list",
        "COUNT 1000 TYPE stream",
        "COUNT 500 MATCH key:1*",
        "COUNT 2 MATCH key:7",
        "MATCH {key:7}*",
        &one_slot,
        &elsewhere,
    ] {
        let ((keys, calls), (expected, their_calls)) = (ours.walk(options), theirs.walk(options));
        assert_eq!(keys, expected, "{options}");
        // A call of ours may end between slots where one of theirs does, and in others.
        assert!(calls <= their_calls * 2 + 4, "{options}: {calls} calls, {their_calls} in Valkey");
        let unique: BTreeSet<&String> = keys.iter().collect();
        assert_eq!(unique.len(), keys.len(), "{options}");
    }
    assert_eq!(ours.walk("COUNT 77").0.len(), KEYS);
}

/// Lines on the node that has the slot of the cursor, and on the other one.
#[test]
fn replies_are_those_of_valkey() {
    let (ours, theirs) = (Pair::start(Kind::Larder), Pair::start(Kind::Valkey));
    for line in [
        "0",
        "0 SLOT 16384",
        "0 SLOT -1",
        "0 SLOT abc",
        "0 SLOT 1 SLOT 1",
        "0 SLOT 1 COUNT 5 SLOT x",
        "0 SLOT x SLOT 1",
        "0 SLOT 1 SLOT",
        "0 COUNT 1 COUNT 2 SLOT 0",
        "0 SLOT",
        "0 COUNT 0",
        "0 COUNT abc",
        "0 COUNT -1",
        "0 TYPE foo",
        "0 TYPE",
        "0 foo",
        "0 NOVALUES",
        "0 MATCH {06S}* SLOT 3",
        "00",
        "1",
        "abc",
        "0-{06S}-0 SLOT 5",
        "0-{06S}-x",
        "0-{06S}",
        "0-{a}x-0",
        "0--{06S}-0",
        "0-{06S}--1",
        "0-{06S}-18446744073709551616",
        "0-{06S}-0 COUNT 0",
        "0-{06S}-0 TYPE foo",
        "0-{06S}-0 SLOT 0",
        "0-{06S}-0 MATCH {06S}* SLOT 0",
        "0-{06S}-0 MATCH {06S}*",
        "0-{06S}-0 MATCH x SLOT 0",
        "x-{06S}-99 SLOT 0",
        "-{06S}-0 SLOT 0",
        "0-{06S}-0 SLOT 16384",
        "0-{06S}-0 NOSCORES",
        "0-{06S}-x SLOT 5 COUNT",
        "0-{06S}-0 SLOT 16384 FOO",
    ] {
        for at in 0..2 {
            let replies = [&ours, &theirs].map(|pair| {
                let reply = pair.0[at].server.client().ask(&format!("CLUSTERSCAN {line}"));
                let items = |value: &Value| value.items().iter().map(|item| item.text()).collect::<Vec<_>>();
                let reply = match &reply {
                    Value::Array(parts) => format!("{} {:?}", parts[0].text(), items(&parts[1])),
                    other => text(other),
                };
                let other = format!(":{}", pair.0[1 - at].server.port());
                // Tags differ; their slots do not.
                let tag = reply.split_once("-{").and_then(|(_, rest)| rest.split_once("}-"));
                let slot = tag
                    .map(|(tag, _)| (tag.to_owned(), larder_cluster::key_slot(tag.as_bytes()).to_string()));
                let reply = reply.replace(&other, ":other");
                slot.map_or(reply.clone(), |(tag, slot)| reply.replace(&tag, &slot))
            });
            assert_eq!(replies[0], replies[1], "{line} on node {at}");
        }
    }
}
