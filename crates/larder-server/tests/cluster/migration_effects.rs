//! What clients of a slot notice when it goes to another node, by an atomic migration and by hand, beside Valkey.

use crate::migration::{migrate, pair};
use crate::node::{Node, field_of, settle, tag, text, until};
use larder_testkit::{Client, Kind};

/// A client that has given some commands.
fn client_that(node: &Node, lines: &[String]) -> Client {
    let mut client = node.server.client();
    for line in lines {
        let reply = text(&client.ask(line));
        assert!(!reply.starts_with("ERR") && !reply.starts_with("MOVED"), "{line}: {reply}");
    }
    client
}

/// What clients of a slot are told while it goes away, in words that are the same for all nodes.
fn notices(kind: Kind, by_hand: bool) -> Vec<String> {
    let [a, b] = pair(kind, kind, &["--notify-keyspace-events", "KEA"]);
    let tag = tag("t", |slot| slot < 4000);
    let slot = a.ask(&format!("CLUSTER KEYSLOT {{{tag}}}"));
    let key = |name: &str| format!("{{{tag}}}{name}");
    let mut other = client_that(&a, &[format!("MSET {} 1 {} 2 {} 3", key("a"), key("b"), key("c"))]);
    let mut waiting = [
        client_that(&a, &[]),
        client_that(&a, &[format!("SSUBSCRIBE {}", key("channel"))]),
        client_that(&a, &["HELLO 3".into(), "CLIENT TRACKING ON".into(), format!("GET {}", key("a"))]),
    ];
    waiting[0].send(&["BLPOP", &key("list"), "0"]);
    until("it waits", || text(&other.ask("CLIENT LIST")).contains("flags=b"));
    let watching = format!("WATCH {}", key("b"));
    let mut transactions: Vec<Client> = [
        vec![watching.clone(), "MULTI".into(), format!("GET {}", key("a"))],
        vec![watching.clone(), "MULTI".into(), format!("SET {} 5", key("a"))],
        vec![watching, "MULTI".into(), "PING".into()],
        vec!["MULTI".into(), format!("GET {}", key("a"))],
        vec!["MULTI".into(), "PING".into()],
    ]
    .iter()
    .map(|lines| client_that(&a, lines))
    .collect();
    let mut listener = client_that(&a, &["PSUBSCRIBE __key*".into()]);
    if by_hand {
        b.must(&format!("CLUSTER SETSLOT {slot} IMPORTING {}", a.id()));
        b.must(&format!("CLUSTER SETSLOT {slot} NODE {}", b.id()));
    } else {
        let slot = slot.parse().expect("a number");
        migrate(&a, &b, slot, slot);
    }
    until("the keys are gone", || a.ask("DBSIZE") == "0");
    settle(&[&a, &b]);
    let mut notices: Vec<String> =
        waiting.iter_mut().map(|client| client.read().unwrap().to_string()).collect();
    notices.extend(transactions.iter_mut().map(|client| client.ask("EXEC").to_string()));
    other.ask("PUBLISH __keyevent@0__:last one");
    loop {
        let message = listener.read().unwrap().to_string();
        notices.push(message.clone());
        if message.contains("last") {
            break;
        }
    }
    // Sent by the source of a migration, and received by its target, and counted again from zero.
    for (node, name) in [(&a, "export"), (&a, "import"), (&b, "import"), (&b, "export")] {
        let field = format!("total_net_cluster_slot_{name}_bytes");
        let is_counted = || {
            let bytes: u64 = field_of(&node.ask("INFO stats"), &field).parse().expect("a number");
            bytes > 0
        };
        let before = is_counted();
        node.must("CONFIG RESETSTAT");
        notices.push(format!("{name} {before} {}", is_counted()));
    }
    notices.iter().map(|notice| notice.replace(&b.address(), "B").replace(&tag, "TAG")).collect()
}

#[test]
fn clients_of_a_slot_that_goes_are_told_what_valkey_tells_them() {
    for by_hand in [false, true] {
        let [ours, theirs] = [Kind::Larder, Kind::Valkey].map(|kind| notices(kind, by_hand));
        assert_eq!(ours, theirs, "by hand: {by_hand}");
        assert!(ours.iter().any(|notice| notice.contains("MOVED")) && ours.len() >= 13, "{ours:?}");
    }
}
