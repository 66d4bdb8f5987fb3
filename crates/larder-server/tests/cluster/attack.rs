//! Whoever reaches the port of the bus may say anything: strangers change nothing, and keep nobody out. (Those who lie in the name of a
//! node are what TLS is for; that they do no harm to a node itself is shown by `larder-cluster/tests/hostile.rs`.)

use crate::node::{Node, join, meet, settle, text, until, until_equal};
use larder_cluster::packet::{
    Extensions, Gossip, Greeting, Header, Message, MessageFlags, NodeFlags, Slots, encode, encode_greeting,
    encode_light,
};
use larder_cluster::{NodeId, SLOTS, SlotSet};
use larder_testkit::rss_bytes;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A connection to the port of the bus.
fn dial(node: &Node) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", node.bus_port())).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a socket has a timeout");
    stream
}

/// Somebody who says what he likes.
struct Liar {
    id: NodeId,
    slots: SlotSet,
    epoch: u64,
    bus_port: u16,
}

impl Liar {
    /// In this name; everything is his, and his epoch is the last.
    fn named(id: NodeId) -> Liar {
        Liar { id, slots: (0..SLOTS).collect(), epoch: u64::MAX, bus_port: 1 }
    }

    fn stranger() -> Liar {
        Liar::named(NodeId::parse(&[b'e'; 40]).expect("it is a name"))
    }

    fn header(&self) -> Header<'_> {
        Header {
            port: 1,
            other_port: 0,
            bus_port: self.bus_port,
            current_epoch: self.epoch,
            config_epoch: self.epoch,
            offset: 0,
            sender: self.id,
            slots: Slots::Set(&self.slots),
            primary: None,
            ip: "127.0.0.1",
            flags: NodeFlags::PRIMARY,
            is_down: false,
            message_flags: MessageFlags::EXTENSIONS,
        }
    }

    fn greeting(&self, greeting: Greeting) -> Vec<u8> {
        let gossip = Gossip {
            id: NodeId::parse(&[b'd'; 40]).expect("it is a name"),
            ping_sent: 0,
            pong_received: 0,
            ip: "127.0.0.1",
            port: 1,
            bus_port: 2,
            flags: NodeFlags::PRIMARY,
            other_port: 0,
        };
        encode_greeting(&self.header(), greeting, std::iter::once(gossip), &Extensions::default())
    }

    fn say(&self, message: &Message<'_>) -> Vec<u8> {
        encode(&self.header(), message)
    }
}

/// What a node knows, but for times.
fn knowledge(node: &Node) -> Vec<String> {
    let nodes = node.ask("CLUSTER NODES");
    let mut lines: Vec<String> = nodes
        .lines()
        .map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            [&words[..4], &words[6..]].concat().join(" ")
        })
        .collect();
    lines.sort();
    lines.push(node.info("cluster_current_epoch"));
    lines.push(node.info("cluster_my_epoch"));
    lines.push(node.info("cluster_state"));
    lines
}

/// Two nodes that know each other.
fn two() -> [Node; 2] {
    let nodes = [Node::larder(), Node::larder()];
    join(&[&nodes[0], &nodes[1]]);
    until("they know each other's slots and epochs", || {
        let known = nodes.each_ref().map(|node| node.ask("CLUSTER NODES"));
        known
            .iter()
            .all(|text| text.contains(" 1 connected 0-8191") && text.contains(" 2 connected 8192-16383"))
    });
    nodes
}

/// Waits until a node has read all that was sent to it on a link: it answers what comes last.
fn drain(stream: &mut TcpStream, liar: &Liar) {
    stream.write_all(&liar.greeting(Greeting::Ping)).expect("it takes it");
    let mut start = [0; 8];
    stream.read_exact(&mut start).expect("it answers");
    assert_eq!(&start[..4], b"RCmb");
}

#[test]
fn strangers_change_nothing() {
    let [a, b] = two();
    let victim = NodeId::parse(b.id().as_bytes()).expect("it is a name");
    let before = knowledge(&a);
    let mut subscriber = a.client();
    subscriber.ask("SUBSCRIBE news");
    let liar = Liar::stranger();
    let slots: SlotSet = (0..SLOTS).collect();
    let own = Message::Update { config_epoch: u64::MAX, owner: liar.id, slots: Slots::Set(&slots) };
    let others = Message::Update { config_epoch: u64::MAX, owner: victim, slots: Slots::Set(&slots) };
    let publish = Message::Publish { channel: b"news", payload: b"lie", is_sharded: false };
    let packets = [
        liar.greeting(Greeting::Pong),
        liar.say(&Message::Fail(victim)),
        liar.say(&own),
        liar.say(&others),
        liar.say(&publish),
        liar.say(&Message::AuthRequest),
        liar.say(&Message::AuthAck),
        liar.say(&Message::ManualFailoverStart),
    ];
    for packet in &packets {
        let mut stream = dial(&a);
        stream.write_all(packet).expect("it takes it");
        drain(&mut stream, &liar);
    }
    // One that has not shown itself may send no light packet: that ends the connection.
    let mut stream = dial(&a);
    stream.write_all(&encode_light(b"news", b"lie", false)).expect("it takes it");
    assert!(stream.read(&mut [0; 16]).map_or(true, |len| len == 0));
    assert_eq!(knowledge(&a), before);
    b.ask("PUBLISH news truth");
    assert_eq!(subscriber.read().expect("it comes").items()[2].text(), "truth");
}

/// In the name of a node: what it says of slots counts only under a later epoch.
#[test]
fn slots_that_are_claimed_twice_stay_where_they_are() {
    let [a, b] = two();
    let before = knowledge(&a);
    let id = NodeId::parse(b.id().as_bytes()).expect("it is a name");
    let bus_port = b.bus_port();
    // a has the epoch 1, b the epoch 2.
    for epoch in [0, 1] {
        let slots = (0..SLOTS).collect();
        let liar = Liar { id, slots, epoch, bus_port };
        let mut stream = dial(&a);
        stream.write_all(&liar.greeting(Greeting::Ping)).expect("it takes it");
        // It answers, or has closed the link because the node whose name this is has come with a link of its own: the packet was read.
        let _ = stream.read(&mut [0; 8]);
    }
    settle(&[&a, &b]);
    // Who has the epoch of another takes a new one, if its name is the smaller one. Whom the liar speaks of is there as well, as a node that has
    // failed.
    let ids = [a.id(), b.id()];
    let without_epochs = |known: Vec<String>| -> Vec<Vec<String>> {
        let words = |line: &String| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let both = known.iter().map(words).filter(|words| ids.contains(&words[0]));
        both.map(|words| [&words[..4], &words[5..]].concat()).collect()
    };
    let before = without_epochs(before);
    until_equal("it is as before", &before, || without_epochs(knowledge(&a)));
    assert_eq!(a.info("cluster_slots_ok"), "16384");
}

#[test]
fn crowds_keep_nobody_out() {
    let [a, b] = two();
    let open_files = || {
        let folder = format!("/proc/{}/fd", a.server.pid());
        std::fs::read_dir(folder).expect("it runs").count()
    };
    let liar = Liar::stranger();
    let half = liar.greeting(Greeting::Ping)[..700].to_vec();
    let crowd: Vec<TcpStream> = (0..800)
        .map(|number| {
            let mut stream = dial(&a);
            // It may have been closed by then, to make room.
            let _ = stream.write_all(if number % 2 == 0 { &half } else { &half[..number % 9] });
            stream
        })
        .collect();
    let c = Node::larder();
    meet(&[&a, &c]);
    settle(&[&a, &b, &c]);
    assert!(open_files() < 700, "{} files are open", open_files());
    // They say nothing, and are sent away.
    until("the crowd is gone", || open_files() < 100);
    drop(crowd);
    assert_eq!(a.ask("PING"), "PONG");
}

#[test]
fn long_packets_of_strangers_are_not_gathered() {
    let [a, _b] = two();
    let before = rss_bytes(a.server.pid());
    for says in [u32::MAX, 1 << 30, 200_000] {
        let mut stream = dial(&a);
        let mut packet = Liar::stranger().greeting(Greeting::Ping);
        packet[4..8].copy_from_slice(&says.to_be_bytes());
        let megabyte = vec![0; 1 << 20];
        let sent =
            stream.write_all(&packet).and_then(|()| (0..64).try_for_each(|_| stream.write_all(&megabyte)));
        assert!(sent.is_err(), "{says}: it takes everything");
    }
    let grown = rss_bytes(a.server.pid()).saturating_sub(before);
    assert!(grown < 32 << 20, "{grown} bytes more");
}

#[test]
fn answers_that_nobody_reads_are_not_gathered() {
    let [a, _b] = two();
    let before = rss_bytes(a.server.pid());
    let pings = Liar::stranger().greeting(Greeting::Ping).repeat(100);
    let mut stream = dial(&a);
    let sent = (0..1000).try_for_each(|_| stream.write_all(&pings));
    assert!(sent.is_err(), "it answers for ever");
    let grown = rss_bytes(a.server.pid()).saturating_sub(before);
    assert!(grown < 32 << 20, "{grown} bytes more");
}

#[test]
fn strangers_who_want_to_be_met_are_few_at_a_time() {
    let [a, b] = two();
    let mut stream = dial(&a);
    let mut liar = Liar::stranger();
    for port in 1..2000 {
        liar.bus_port = port;
        if stream.write_all(&liar.greeting(Greeting::Meet)).is_err() {
            stream = dial(&a);
        }
    }
    let known: usize = a.info("cluster_known_nodes").parse().expect("a number");
    assert!(known <= 300, "{known}");
    drop(stream);
    until("nobody was there", || a.info("cluster_known_nodes") == "2");
    settle(&[&a, &b]);
}

#[test]
fn a_node_that_meets_itself_or_others_twice_is_as_before() {
    let [a, b] = two();
    for _ in 0..3 {
        a.must(&a.meet_command());
        a.must(&b.meet_command());
        b.must(&a.meet_command());
        // Nobody is there, or nobody who speaks that.
        a.must("CLUSTER MEET 127.0.0.1 1 1");
        a.must(&format!("CLUSTER MEET 127.0.0.1 {} {}", a.port(), a.port()));
        a.must("CLUSTER MEET ::1 65535 65535");
    }
    for node in [&a, &b] {
        until("it knows two nodes", || node.info("cluster_known_nodes") == "2");
    }
    settle(&[&a, &b]);
    assert_eq!(text(&crate::node::routed(&a, &["SET", "key", "value"])), "OK");
}

/// A flood on one link does not keep the bus from the others.
#[test]
fn a_flood_is_not_waited_out() {
    let [a, b] = two();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut stream = dial(&a);
                // Nothing is answered to these.
                let packets = Liar::stranger().say(&Message::AuthRequest).repeat(50);
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    stream.write_all(&packets).expect("it takes it");
                }
            });
        }
        let begun = std::time::Instant::now();
        // Longer than the timeout of nodes.
        while begun.elapsed() < Duration::from_millis(3000) {
            assert_eq!((a.info("cluster_state"), b.info("cluster_state")), ("ok".into(), "ok".into()));
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}
