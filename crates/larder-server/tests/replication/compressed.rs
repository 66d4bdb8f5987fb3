//! `repl-compression`: links between Larder servers, and what becomes of the wish elsewhere.

use crate::faults::answer_handshake;
use crate::followers::check_pair;
use crate::{follow, info, start, wait_for_link, wait_for_same_data, wait_until};
use larder_testkit::{Client, Kind, Server, Value};
use std::io::Write;
use std::net::TcpListener;

/// What a client stores: an object of some 300 bytes, no two alike.
fn object(i: usize) -> String {
    let n = i.wrapping_mul(2_654_435_761) % 1_000_003;
    format!(
        "{{\"id\":{i},\"user\":\"user{n}\",\"mail\":\"user{n}@example.org\",\"active\":{},\"balance\":{}.{:02},\"tags\":[\"t{}\",\"t{}\"],\
         \"address\":{{\"street\":\"Road {}\",\"city\":\"City {}\",\"country\":\"Country\"}},\"created\":\"2026-0{}-1{}T10:{:02}:00Z\",\
         \"session\":\"{:016x}\"}}",
        n.is_multiple_of(2),
        n % 9999,
        n % 100,
        n % 13,
        n % 17,
        n % 331,
        n % 57,
        n % 9 + 1,
        n % 10,
        n % 60,
        (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    )
}

fn fill(client: &mut Client, from: usize, to: usize) {
    for i in from..to {
        assert_eq!(client.cmd(&["SET", &format!("object:{i}"), &object(i)]).text(), "OK");
    }
}

/// Bytes that a primary has sent to replicas.
fn sent(client: &mut Client) -> u64 {
    info(client, "stats", "total_net_repl_output_bytes").parse().expect("a number")
}

/// Bytes of the snapshot and of the stream for a replica that asks for this.
fn bytes_on_the_wire(compression: &str) -> (u64, u64) {
    const OBJECTS: usize = 5000;
    let primary = start(Kind::Larder, &[]);
    let replica = start(Kind::Larder, &["--repl-compression", compression]);
    let mut client = primary.client();
    fill(&mut client, 0, OBJECTS);
    follow(&mut replica.client(), &primary);
    wait_for_same_data(compression, &primary, &replica);
    let snapshot = sent(&mut client);
    fill(&mut client, OBJECTS, 2 * OBJECTS);
    wait_for_same_data(compression, &primary, &replica);
    (snapshot, sent(&mut client) - snapshot)
}

#[test]
fn fewer_bytes_are_sent() {
    let plain = bytes_on_the_wire("no");
    for (compression, most) in [("lz4", 0.6), ("zstd", 0.4)] {
        let compressed = bytes_on_the_wire(compression);
        let ratios = (compressed.0 as f64 / plain.0 as f64, compressed.1 as f64 / plain.1 as f64);
        println!("{compression}: {ratios:?} of {plain:?}");
        assert!(ratios.0 < most && ratios.1 < most, "{compression}: {ratios:?}");
    }
}

#[test]
fn servers_that_compress_follow_each_other() {
    for compression in ["lz4", "zstd"] {
        let wish = ["--repl-compression", compression, "--threads", "2"];
        check_pair((Kind::Larder, &["--threads", "2"]), (Kind::Larder, &wish));
        let by_file = ["--repl-diskless-load", "swapdb", "--repl-compression", compression];
        check_pair((Kind::Larder, &["--repl-diskless-sync", "no"]), (Kind::Larder, &by_file));
    }
    for kind in [Kind::Redis, Kind::Redis8, Kind::Valkey] {
        check_pair((kind, &[]), (Kind::Larder, &["--repl-compression", "zstd"]));
    }
}

/// Replicas that join at once and want different things, and one that comes back to a stream without a snapshot.
#[test]
fn each_gets_what_it_asks_for() {
    let primary = Server::larder(&["--repl-diskless-sync-delay", "1", "--enable-debug-command", "yes"]);
    let mut ours = primary.client();
    fill(&mut ours, 0, 1000);
    let replicas: Vec<Server> = ["zstd", "no", "lz4", "zstd"]
        .iter()
        .map(|compression| start(Kind::Larder, &["--repl-compression", compression]))
        .chain([start(Kind::Valkey, &[])])
        .collect();
    replicas.iter().for_each(|replica| follow(&mut replica.client(), &primary));
    for replica in &replicas {
        wait_for_same_data("at first", &primary, replica);
    }
    for (replica, to) in replicas.iter().zip(["lz4", "zstd", "no", "zstd"]) {
        let mut theirs = replica.client();
        assert_eq!(theirs.cmd(&["CONFIG", "SET", "repl-compression", to]).text(), "OK");
        theirs.cmd(&["CLIENT", "KILL", "TYPE", "primary"]);
    }
    fill(&mut ours, 1000, 2000);
    for replica in &replicas {
        wait_for_link(&mut replica.client());
        wait_for_same_data("after all have come back", &primary, replica);
    }
    wait_until("they came back without a snapshot", || info(&mut ours, "stats", "sync_partial_ok") == "4");
}

/// Bytes that are no messages end the link, and nothing else.
#[test]
fn what_is_no_message_is_refused() {
    let head = format!("+FULLRESYNC {} 0 zstd\r\n", "a".repeat(40));
    let lies: [&[u8]; 4] = [
        b"$EOF:",
        &[0xff; 100],
        &[9, 0, 0, 0x80, 1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
        &[0x10, 0, 0, 0, 1, 0, 0, 0],
    ];
    let replica = start(Kind::Larder, &["--repl-compression", "zstd", "--repl-timeout", "2"]);
    let mut client = replica.client();
    client.ask("SET kept 1");
    for lie in lies {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        client.ask(&format!("REPLICAOF 127.0.0.1 {}", listener.local_addr().unwrap().port()));
        let (mut link, _) = listener.accept().unwrap();
        assert!(answer_handshake(&mut link));
        link.write_all(head.as_bytes()).unwrap();
        let _ = link.write_all(lie);
        drop(link);
        drop(listener.accept().unwrap());
        assert_eq!(client.ask("GET kept"), Value::Bulk(b"1".to_vec()));
    }
    assert!(replica.log().contains("invalid compressed message"), "{}", replica.log());
}

/// Replicas of every kind come and go, and take the places of those that left: each gets the stream in the form that it asked
/// for.
#[test]
fn replicas_of_every_kind_come_and_go() {
    const KINDS: [(Kind, &[&str]); 5] = [
        (Kind::Larder, &["--repl-compression", "zstd"]),
        (Kind::Larder, &["--repl-compression", "lz4"]),
        (Kind::Larder, &[]),
        (Kind::Valkey, &[]),
        (Kind::Redis, &[]),
    ];
    for seed in larder_testkit::seeds(1, 12) {
        let mut rng = fastrand::Rng::with_seed(seed);
        let threads = ["1", "3"][rng.usize(..2)];
        let primary = start(Kind::Larder, &["--threads", threads]);
        let mut client = primary.client();
        let servers: Vec<Server> = KINDS.iter().map(|(kind, args)| start(*kind, args)).collect();
        let mut following = [false; KINDS.len()];
        let mut written = 0;
        for step in 0..16 {
            let at = rng.usize(..KINDS.len());
            let mut replica = servers[at].client();
            match (following[at], rng.u8(..3)) {
                (false, _) => follow(&mut replica, &primary),
                // It comes back by a partial resync.
                (true, 0) => drop(client.ask("CLIENT KILL TYPE replica")),
                (true, _) => {
                    assert_eq!(replica.ask("REPLICAOF NO ONE").text(), "OK");
                }
            }
            following[at] = if following[at] { rng.bool() && is_replica(&mut replica) } else { true };
            if !following[at] {
                replica.ask("REPLICAOF NO ONE");
            }
            // The one that left may not have been noticed yet.
            fill(&mut client, written, written + 20);
            written += 20;
            for (at, (kind, args)) in KINDS.iter().enumerate().filter(|(at, _)| following[*at]) {
                let what = format!("SEED={seed}, {threads} threads, step {step}, {kind:?} {args:?}");
                wait_for_same_data(&what, &primary, &servers[at]);
            }
        }
    }
}

fn is_replica(client: &mut Client) -> bool {
    info(client, "replication", "role") == "slave"
}

/// A link that is cut goes on with one partial resync.
#[test]
fn a_compressed_link_that_is_cut_goes_on_at_once() {
    let primary = start(Kind::Larder, &["--threads", "1"]);
    let replica = start(Kind::Larder, &["--repl-compression", "zstd"]);
    let mut client = primary.client();
    follow(&mut replica.client(), &primary);
    fill(&mut client, 0, 50);
    wait_for_same_data("before", &primary, &replica);
    for cut in 1..=3 {
        assert_eq!(client.ask("CLIENT KILL TYPE replica").int(), 1);
        wait_until("the link is cut", || info(&mut client, "stats", "sync_partial_ok") == cut.to_string());
        fill(&mut client, cut * 50, cut * 50 + 50);
        wait_for_same_data("after a cut", &primary, &replica);
        assert_eq!(info(&mut client, "stats", "sync_partial_ok"), cut.to_string());
        assert_eq!(info(&mut client, "stats", "sync_full"), "1");
    }
}
