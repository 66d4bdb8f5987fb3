//! What a node announces: when it takes effect, which values it may have, and who is told which of
//! its addresses.

use crate::node::{Node, join, meet, replicate, settle, tag, text, until, until_equal};
use larder_testkit::{Kind, Port};

/// Everything that names this node's address to its clients: CLUSTER NODES, SLOTS, SHARDS.
fn shown(node: &Node) -> [String; 3] {
    ["NODES", "SLOTS", "SHARDS"].map(|what| {
        let reply = node.client().ask(&format!("CLUSTER {what}"));
        if what == "NODES" { text(&reply) } else { words_of(&reply).join(" ") }
    })
}

/// The texts and numbers of a reply, however deep.
fn words_of(reply: &larder_testkit::Value) -> Vec<String> {
    if reply.items().is_empty() {
        return vec![text(reply)];
    }
    reply.items().iter().flat_map(words_of).collect()
}

/// The endpoint by which a node with slots names itself in CLUSTER SLOTS.
fn endpoint(node: &Node) -> String {
    let (id, slots) = (node.id(), node.client().ask("CLUSTER SLOTS"));
    let mut shown = slots.items().iter().flat_map(|range| range.items()[2..].to_vec());
    let own = shown.find(|shown| shown.items()[2].text() == id).expect("it has slots");
    text(&own.items()[0])
}

/// The next command of a client shows what CONFIG SET has changed, and what is cleared is gone.
#[test]
fn options_take_effect_before_they_are_answered() {
    for kind in [Kind::Valkey, Kind::Larder] {
        let (node, other) = (Node::start(kind, &[]), Node::start(kind, &[]));
        join(&[&node, &other]);
        let own = shown(&node);
        let set = |name: &str, value: &str| {
            assert_eq!(text(&node.client().cmd(&["CONFIG", "SET", name, value])), "OK", "{name} {value}");
        };
        for (name, value, none) in [
            ("cluster-announce-client-ipv4", "192.0.2.7", ""),
            ("cluster-announce-client-port", "7001", "0"),
            ("cluster-announce-ip", "192.0.2.8", ""),
            ("cluster-announce-port", "7002", "0"),
        ] {
            set(name, value);
            for (what, text) in ["NODES", "SLOTS", "SHARDS"].iter().zip(shown(&node)) {
                assert!(text.contains(value), "{kind:?}: {name} in CLUSTER {what}: {text}");
            }
            set(name, none);
            assert!(!shown(&node).join("").contains(value), "{kind:?}: {name}");
        }
        set("cluster-announce-bus-port", "17003");
        assert!(node.ask("CLUSTER NODES").contains("@17003"), "{kind:?}");
        set("cluster-announce-bus-port", "0");
        for option in ["cluster-announce-hostname", "availability-zone"] {
            set(option, "some-name");
            let [nodes, slots, shards] = shown(&node);
            assert!(slots.contains("some-name") && shards.contains("some-name"), "{kind:?}: {option}");
            assert_eq!(nodes.contains("some-name"), option == "cluster-announce-hostname");
            set(option, "");
            assert!(!shown(&node).join("").contains("some-name"), "{kind:?}: {option}");
        }
        set("cluster-preferred-endpoint-type", "hostname");
        set("cluster-announce-hostname", "some-name");
        assert_eq!(endpoint(&node), "some-name", "{kind:?}");
        set("cluster-announce-hostname", "");
        set("cluster-preferred-endpoint-type", "ip");
        // The address is learned again.
        until_equal("all is as it was", &own[1], || shown(&node)[1].clone());
    }
}

#[test]
fn values_are_refused_as_valkey_refuses_them() {
    let long = "x".repeat(46);
    let texts = [
        "",
        "1.2.3.4",
        "::1",
        "2001:db8::1",
        "host",
        "a.b-c_d",
        &long[..45],
        &long,
        "a b",
        "a\tb",
        "a\0b",
        "a,b",
        "a=b",
        "a\nb",
        "1.2.3.4.5",
        "1.2.3",
        "999.1.1.1",
        "::ffff:1.2.3.4",
        "fe80::1%lo",
        "[::1]",
        "a;b",
        "#a",
        ":a",
        "a:b",
        "A/b",
        "\"q\"",
        "'",
        "-",
        "_",
        "~",
        "`",
        "01.2.3.4",
        "\u{e9}",
    ];
    let numbers = ["0", "1", "65535", "65536", "-1", "x", ""];
    let of_texts = ["ip", "hostname", "human-nodename", "client-ipv4", "client-ipv6"];
    let of_numbers = ["port", "tls-port", "bus-port", "client-port", "client-tls-port"];
    let tried = of_texts.iter().flat_map(|name| texts.iter().map(move |value| (*name, *value)));
    let tried =
        tried.chain(of_numbers.iter().flat_map(|name| numbers.iter().map(move |value| (*name, *value))));
    // Valkey takes a name with a zero byte, and drops what follows.
    let tried: Vec<_> = tried.filter(|&(name, value)| (name, value) != ("hostname", "a\0b")).collect();
    let [ours, theirs] = [Kind::Larder, Kind::Valkey].map(|kind| {
        let node = Node::start(kind, &[]);
        let mut client = node.client();
        let replies = tried.iter().map(|(name, value)| {
            // What addresses beyond ASCII are, no packet can say.
            let skipped = *name == "ip" && !value.is_ascii();
            let set = ["CONFIG", "SET", &format!("cluster-announce-{name}"), value];
            let reply = if skipped { String::new() } else { text(&client.cmd(&set)) };
            (format!("{name} {value:?}"), reply)
        });
        replies.collect::<Vec<_>>()
    });
    let differences: Vec<_> = ours.iter().zip(&theirs).filter(|(ours, theirs)| ours != theirs).collect();
    assert!(differences.is_empty(), "{differences:#?}");
}

/// What a node shows of another, its redirections say as well: they name the address that the node
/// announces for clients.
#[test]
fn redirections_name_what_is_announced() {
    for kind in [Kind::Valkey, Kind::Larder] {
        let announced = |last: u8| {
            let [v4, v6] = [format!("192.0.2.{last}"), format!("2001:db8::{last}")];
            let port = format!("70{last:02}");
            let more = [
                ["--cluster-announce-client-ipv4", &v4],
                ["--cluster-announce-client-ipv6", &v6],
                ["--cluster-announce-client-port", &port],
            ];
            Node::start(kind, more.as_flattened())
        };
        let nodes = [announced(1), announced(2), announced(3)];
        let all: Vec<&Node> = nodes.iter().collect();
        let [a, b, r] = all[..] else { panic!("there are three") };
        join(&[a, b]);
        meet(&[a, r]);
        settle(&all);
        replicate(r, b, &all);
        // A node that was just met is known by the address that it was met at, until it says what it announces.
        for (last, node) in (1..).zip(&all) {
            let (id, address) = (node.id(), format!("192.0.2.{last}:{}@", 7000 + last));
            let is_known = |by: &&Node| by.line_about(&id).get(1).is_some_and(|to| to.starts_with(&address));
            until("what it announces is known", || [a, b, r].iter().all(is_known));
        }
        let key = tag("k", |slot| slot > 8191);
        let slot = larder_cluster::key_slot(key.as_bytes());
        let moved = |to: &str| format!("MOVED {slot} {to}");
        for line in [
            format!("GET {key}"),
            format!("BLPOP {key} 0"),
            format!("EVAL return(1) 1 {key}"),
            format!("SSUBSCRIBE {key}"),
            format!("SPUBLISH {key} x"),
        ] {
            assert_eq!(a.ask(&line), moved("192.0.2.2:7002"), "{kind:?}: {line}");
        }
        assert_eq!(r.ask(&format!("GET {key}")), moved("192.0.2.2:7002"), "{kind:?}");
        // It waits, and its slot goes away.
        let mut waiting = b.client();
        waiting.send(&["BLPOP", &key, "0"]);
        until("it waits", || b.ask("INFO clients").contains("blocked_clients:1"));
        r.must("CLUSTER FAILOVER");
        assert_eq!(text(&waiting.read().expect("it is told")), moved("192.0.2.3:7003"), "{kind:?}");
        let (a_id, r_id) = (a.id(), r.id());
        until("all know it", || all.iter().all(|node| node.knows(&r_id, "master")));
        a.must(&format!("CLUSTER SETSLOT {slot} IMPORTING {r_id}"));
        r.must(&format!("CLUSTER SETSLOT {slot} MIGRATING {a_id}"));
        assert_eq!(r.ask(&format!("GET {key}")), format!("ASK {slot} 192.0.2.1:7001"), "{kind:?}");
        // As soon as CLUSTER NODES shows another address, it is the one that clients are sent to.
        r.must("CONFIG SET cluster-announce-client-port 7777");
        until("the port is known", || a.ask("CLUSTER NODES").contains("192.0.2.3:7777@"));
        assert_eq!(a.ask(&format!("GET {key}")), moved("192.0.2.3:7777"), "{kind:?}");
        r.must("CONFIG SET cluster-announce-client-ipv4 192.0.2.9");
        until("the address is known", || a.ask("CLUSTER NODES").contains("192.0.2.9:7777@"));
        assert_eq!(a.ask(&format!("GET {key}")), moved("192.0.2.9:7777"), "{kind:?}");
        let port = Port::reserve().number();
        r.must("CONFIG SET cluster-announce-client-port 0");
        r.must(&format!("CONFIG SET cluster-announce-port {port}"));
        until("the own port is known", || a.ask("CLUSTER NODES").contains(&format!("192.0.2.9:{port}@")));
        assert_eq!(a.ask(&format!("GET {key}")), moved(&format!("192.0.2.9:{port}")), "{kind:?}");
        // A port for TLS is shown of nodes that have one.
        r.must("CONFIG SET cluster-announce-client-tls-port 7443");
        until("it is written down", || {
            let file = std::fs::read_to_string(a.server.dir().join("nodes.conf"));
            file.is_ok_and(|text| text.contains("client-tls-port=7443"))
        });
        assert!(!words_of(&a.client().ask("CLUSTER SHARDS")).contains(&"tls-port".to_owned()), "{kind:?}");
    }
}

/// However a question and a command fall between two packets of the bus: once CLUSTER NODES shows an
/// address, clients are sent there.
#[test]
fn what_is_shown_is_where_clients_are_sent() {
    const CHANGES: u16 = 20;
    let (a, b) = (Node::larder(), Node::larder());
    join(&[&a, &b]);
    let (key, id) = (tag("k", |slot| slot > 8191), b.id());
    let (mut asking, mut changing) = (a.client(), b.client());
    let mut is_shown = |port: u16| {
        asking.send_all(&[&["CLUSTER", "NODES"][..], &["GET", &key]]);
        let [nodes, moved] = [(); 2].map(|()| text(&asking.read().expect("a reply")));
        let is_shown = nodes.lines().any(|line| line.starts_with(&id) && line.contains(&format!(":{port}@")));
        assert!(!is_shown || moved.ends_with(&format!(":{port}")), "{nodes}{moved}");
        is_shown
    };
    for port in 7001..7001 + CHANGES {
        changing.ask(&format!("CONFIG SET cluster-announce-client-port {port}"));
        // Without a pause: the moment between the two is short.
        until("the port is known", || (0..1000).any(|_| is_shown(port)));
    }
}

/// The other node learns the address that a node comes from.
#[test]
fn a_node_comes_from_the_address_that_it_is_told() {
    for kind in [Kind::Valkey, Kind::Larder] {
        let (a, b) = (Node::start(kind, &["--bind-source-addr", "127.0.0.2"]), Node::start(kind, &[]));
        join(&[&a, &b]);
        let id = a.id();
        let address = format!("127.0.0.2:{}@{}", a.port(), a.bus_port());
        until_equal("the other one knows it", &address, || {
            b.line_about(&id).get(1).cloned().unwrap_or_default()
        });
        // So does a migration of slots.
        a.must("CONFIG SET rdb-key-save-delay 10000000");
        a.must(&format!("SET {} v", tag("k", |slot| slot == 5)));
        a.must(&format!("CLUSTER MIGRATESLOTS SLOTSRANGE 5 5 NODE {}", b.id()));
        until("it comes from there", || b.ask("CLIENT LIST").contains(" addr=127.0.0.2:"));
        a.must("CLUSTER CANCELSLOTMIGRATIONS");
    }
}
