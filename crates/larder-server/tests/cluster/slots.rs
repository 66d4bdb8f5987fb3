//! The keys of slots: counted, named, deleted, found by walks; clients that wait or listen when a slot leaves.

use crate::node::{Node, join, settle, tag, text, until};
use larder_cluster::key_slot;
use larder_testkit::{Client, Value};
use std::collections::{BTreeMap, BTreeSet};

fn alone() -> Node {
    let node = Node::larder();
    node.must("CLUSTER ADDSLOTSRANGE 0 16383");
    until("it is well", || node.info("cluster_state") == "ok");
    node
}

fn fill(client: &mut Client, count: usize) -> BTreeMap<u16, BTreeSet<String>> {
    let mut model: BTreeMap<u16, BTreeSet<String>> = BTreeMap::new();
    for number in 0..count {
        // Half of them in few slots.
        let key =
            if number % 2 == 0 { format!("key{number}") } else { format!("{{tag{}}}{number}", number % 7) };
        assert_eq!(text(&client.cmd(&["SET", &key, "v"])), "OK");
        model.entry(key_slot(key.as_bytes())).or_default().insert(key);
    }
    model
}

fn names(value: &Value) -> BTreeSet<String> {
    value.items().iter().map(Value::text).collect()
}

#[test]
fn slots_are_counted_named_and_emptied() {
    let node = alone();
    let mut client = node.server.client();
    let model = fill(&mut client, 4000);
    for slot in (0..16_384).step_by(97).chain(model.keys().copied().take(40)).chain([0, 16_383]) {
        let known = model.get(&slot).cloned().unwrap_or_default();
        assert_eq!(text(&client.ask(&format!("CLUSTER COUNTKEYSINSLOT {slot}"))), known.len().to_string());
        assert_eq!(names(&client.ask(&format!("CLUSTER GETKEYSINSLOT {slot} 100000"))), known);
        let some = names(&client.ask(&format!("CLUSTER GETKEYSINSLOT {slot} 2")));
        assert!(some.len() == known.len().min(2) && some.is_subset(&known));
    }
    // Walks and chance find what there is.
    let (mut cursor, mut walked) = ("0".to_owned(), BTreeSet::new());
    loop {
        let step = client.ask(&format!("SCAN {cursor} COUNT 100"));
        walked.extend(names(&step.items()[1]));
        cursor = step.items()[0].text();
        if cursor == "0" {
            break;
        }
    }
    let all: BTreeSet<String> = model.values().flatten().cloned().collect();
    assert!(walked == all && all.contains(&text(&client.ask("RANDOMKEY"))));
    let full = *model.iter().max_by_key(|(_, keys)| keys.len()).expect("there are some").0;
    assert_eq!(text(&client.ask(&format!("CLUSTER FLUSHSLOT {full}"))), "OK");
    assert_eq!(text(&client.ask(&format!("CLUSTER COUNTKEYSINSLOT {full}"))), "0");
    let left = all.len() - model[&full].len();
    assert_eq!(text(&client.ask("DBSIZE")), left.to_string());
}

#[test]
fn a_file_of_keys_is_read_into_the_slots() {
    let mut node = Node::start(larder_testkit::Kind::Larder, &["--appendonly", "yes"]);
    node.must("CLUSTER ADDSLOTSRANGE 0 16383");
    until("it is well", || node.info("cluster_state") == "ok");
    let mut client = node.server.client();
    let model = fill(&mut client, 500);
    node.server.kill();
    assert!(node.start_again());
    for (slot, keys) in model {
        assert_eq!(node.ask(&format!("CLUSTER COUNTKEYSINSLOT {slot}")), keys.len().to_string());
    }
}

/// Slots of which there are keys and no owner are taken at the start; those of others are emptied.
#[test]
fn keys_of_other_slots_do_not_stay() {
    let (mut a, b) = (Node::start(larder_testkit::Kind::Larder, &["--appendonly", "yes"]), Node::larder());
    join(&[&a, &b]);
    let own = tag("own", |slot| slot < 8192);
    a.must(&format!("SET {own} 1"));
    let slot = key_slot(own.as_bytes());
    a.server.stop();
    // While it is away its file says that the slot is the other's.
    let path = a.server.dir().join("nodes.conf");
    let text = std::fs::read_to_string(&path).expect("it is there");
    let moved: Vec<String> = text
        .lines()
        .map(|line| match line.contains("myself") {
            true => line.replace("0-8191", &format!("0-{} {}-8191", slot - 1, slot + 1)),
            false => line.replace("8192-16383", &format!("{slot} 8192-16383")),
        })
        .collect();
    std::fs::write(&path, moved.join("\n") + "\n").expect("it is writable");
    assert!(a.start_again());
    until("the key is gone", || a.ask("DBSIZE") == "0");
}

#[test]
fn clients_that_wait_or_listen_are_sent_on_when_a_slot_leaves() {
    let (a, b) = (Node::larder(), Node::larder());
    join(&[&a, &b]);
    let own = tag("own", |slot| slot < 8192);
    let slot = key_slot(own.as_bytes());
    let mut waits = a.server.client();
    waits.send(&["BLPOP", &own, "0"]);
    let mut listens = a.server.client();
    assert_eq!(listens.ask(&format!("SSUBSCRIBE {own}")).items()[2], Value::Int(1));
    until("it waits", || a.ask("INFO clients").contains("blocked_clients:1"));
    let id = b.id();
    a.must(&format!("CLUSTER SETSLOT {slot} NODE {id}"));
    b.must(&format!("CLUSTER SETSLOT {slot} NODE {id}"));
    let told = waits.read().expect("it is told");
    assert_eq!(told, Value::Error(format!("MOVED {slot} {}", b.address())));
    let push = listens.read().expect("it is told");
    let words: Vec<String> = push.items().iter().map(text).collect();
    assert_eq!(words, ["sunsubscribe", &own, "0"]);
    settle(&[&a, &b]);
}
