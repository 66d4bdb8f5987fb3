//! CLUSTER SLOT-STATS beside Valkey: what commands on the keys of a slot have brought and taken.

use crate::node::{Node, join, meet, replicate, until};
use larder_cluster::key_slot;
use larder_testkit::{Client, Kind, Value};

/// What the connections say, by number. Each case begins at zero.
const CASES: &[&[Step]] = &[
    &[Ask(0, "SET k v")],
    &[Ask(0, "SET k v"), Ask(0, "GET k"), Ask(1, "GET nope")],
    &[Ask(0, "MSET {k}a 1 {k}b 2"), Ask(0, "MGET {k}a {k}b {k}c"), Ask(0, "DEL {k}a {k}b")],
    &[Ask(0, "MSET a 1 b 2")],
    &[Ask(0, "LPUSH k v")],
    &[Ask(0, "GET k k"), Ask(0, "GETT k"), Ask(0, "PING")],
    &[Ask(0, "MULTI"), Ask(0, "SET k v"), Ask(0, "DISCARD")],
    &[Ask(0, "MULTI"), Ask(0, "EXEC")],
    &[Ask(0, "MULTI"), Ask(0, "SET k v"), Ask(0, "GET"), Ask(0, "EXEC")],
    &[Ask(0, "WATCH k"), Ask(0, "UNWATCH")],
    &[Ask(0, "EVAL #!lua\nreturn(1) 1 k"), Ask(0, "EVAL return(1) 0")],
    &[Send(0, "CLIENT REPLY SKIP"), Send(0, "SET k v"), Ask(0, "PING")],
    &[Ask(0, "HELLO 3"), Ask(0, "HSET h a b"), Ask(0, "HGETALL h")],
    &[
        Ask(0, "SSUBSCRIBE k"),
        Ask(1, "SPUBLISH k hello"),
        Ask(1, "SPUBLISH k 0123456789"),
        Ask(1, "PUBLISH k x"),
    ],
    &[Ask(0, "SSUBSCRIBE k"), Ask(0, "SUNSUBSCRIBE k"), Ask(1, "SPUBLISH k hello")],
    &[
        Ask(0, "OBJECT ENCODING h"),
        Ask(0, "XADD x 1-1 f v"),
        Ask(0, "XREAD STREAMS x 0"),
        Ask(0, "CLUSTER KEYSLOT k"),
    ],
    &[Ask(0, "BLPOP l 0.01")],
    &[Wait(0, "BLPOP l 0"), Ask(1, "RPUSH l v"), Read(0)],
    &[Wait(0, "BLMOVE {l} {l}x LEFT LEFT 0"), Ask(1, "RPUSH {l} v"), Read(0), Ask(1, "LLEN {l}x")],
    &[Ask(0, "RPUSH l a b c"), Ask(0, "BLPOP l 0")],
    &[Ask(0, "SADD many a b c"), Ask(0, "SORT many ALPHA"), Ask(0, "SMISMEMBER many a x")],
];

#[derive(Clone, Copy, Debug)]
enum Step {
    /// A connection asks and gets its reply.
    Ask(usize, &'static str),
    /// It sends a command that gets none.
    Send(usize, &'static str),
    /// It sends one that waits.
    Wait(usize, &'static str),
    /// It gets the reply to what has waited.
    Read(usize),
}
use Step::{Ask, Read, Send, Wait};

/// Slots with the bytes that came and went.
type Used = Vec<(i64, i64, i64)>;

struct Tried(Node);

impl Tried {
    fn start(kind: Kind) -> Tried {
        let node = Node::start(kind, &["--cluster-slot-stats-enabled", "yes"]);
        node.must("CLUSTER ADDSLOTSRANGE 0 16383");
        until("it is well", || node.info("cluster_state") == "ok");
        Tried(node)
    }

    fn used(&self) -> Used {
        let reply = self.0.client().ask("CLUSTER SLOT-STATS ORDERBY network-bytes-in LIMIT 4");
        let slots = reply.items().iter().map(|slot| (slot.items()[0].int(), slot.items()[1].items()));
        let bytes = slots.map(|(slot, figures)| (slot, figures[5].int(), figures[7].int()));
        bytes.filter(|&(_, bytes_in, bytes_out)| bytes_in + bytes_out > 0).collect()
    }

    /// What a case uses.
    fn run(&self, case: &[Step]) -> Used {
        until("no connection of another case listens", || {
            self.0.client().ask("PUBSUB SHARDCHANNELS").items().is_empty()
        });
        self.0.must("CONFIG RESETSTAT");
        let mut clients = [(); 2].map(|()| self.0.client());
        let words = |line: &'static str| line.split(' ').collect::<Vec<_>>();
        for &step in case {
            match step {
                Ask(client, line) => drop(clients[client].cmd(&words(line))),
                Send(client, line) => clients[client].send(&words(line)),
                Wait(client, line) => {
                    clients[client].send(&words(line));
                    until("it waits", || self.0.ask("INFO clients").contains("blocked_clients:1"));
                }
                Read(client) => drop(clients[client].read().expect("a reply")),
            }
        }
        self.used()
    }
}

#[test]
fn bytes_are_counted_as_in_valkey() {
    let (ours, theirs) = (Tried::start(Kind::Larder), Tried::start(Kind::Valkey));
    for case in CASES {
        assert_eq!(ours.run(case), theirs.run(case), "{case:?}");
    }
}

/// Valkey counts replies within a transaction more than once.
#[test]
fn a_transaction_counts_what_it_brings_and_takes_once() {
    let tried = Tried::start(Kind::Larder);
    let case = [Ask(0, "MULTI"), Ask(0, "PING"), Ask(0, "SET k v"), Ask(0, "GET k"), Ask(0, "EXEC")];
    let brought = [
        "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n",
        "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n",
        "*1\r\n$5\r\nMULTI\r\n",
        "*1\r\n$4\r\nEXEC\r\n",
    ];
    let taken = ["*3\r\n+PONG\r\n+OK\r\n$1\r\nv\r\n"];
    let bytes = |texts: &[&str]| texts.iter().map(|text| text.len() as i64).sum::<i64>();
    assert_eq!(tried.run(&case), [(i64::from(key_slot(b"k")), bytes(&brought), bytes(&taken))]);
}

/// What replicas are sent counts for each of them.
#[test]
fn what_replicas_are_sent_is_counted_as_in_valkey() {
    let used = [Kind::Larder, Kind::Valkey].map(|kind| {
        let tried = Tried::start(kind);
        let mut replicas = [(); 2].map(|()| tried.0.client());
        for replica in &mut replicas {
            replica.send(&["SYNC"]);
        }
        until("they are sent what is new", || tried.0.replication("slave1").contains("state=online"));
        let case = [Ask(0, "SET k v"), Ask(0, "GET k"), Ask(0, "HSET h a b"), Ask(1, "DEL k")];
        tried.run(&case)
    });
    assert_eq!(used[0], used[1]);
}

#[test]
fn times_are_counted_and_all_is_forgotten_with_the_slot() {
    let tried = Tried::start(Kind::Larder);
    let mut client = tried.0.client();
    let slot = i64::from(key_slot(b"busy"));
    let mut first = |metric: &str| {
        let reply = client.ask(&format!("CLUSTER SLOT-STATS ORDERBY {metric} LIMIT 1"));
        let [found, figures] = reply.items()[0].items() else { panic!("{reply:?}") };
        (found.int(), figures.items().iter().skip(1).step_by(2).map(Value::int).collect::<Vec<_>>())
    };
    tried.0.client().cmd(&["SET", "busy", "v"]);
    tried.0.client().cmd(&[
        "EVAL",
        "#!lua\nlocal n = 0 for i = 1, 300000 do n = n + i end return n",
        "1",
        "busy",
    ]);
    let (busiest, figures) = first("cpu-usec");
    assert!(busiest == slot && figures[0] == 1 && figures[1] > 100, "{busiest} {figures:?}");
    assert_eq!(first("KEY-COUNT").0, slot);
    assert_eq!(first("network-bytes-out").0, slot);
    // Another node could have had the slot meanwhile.
    tried.0.must(&format!("CLUSTER DELSLOTS {slot}"));
    tried.0.must(&format!("CLUSTER ADDSLOTS {slot}"));
    assert_eq!(tried.used(), []);
    let figures = tried.0.client().ask(&format!("CLUSTER SLOT-STATS SLOTSRANGE {slot} {slot}"));
    assert_eq!(figures.items()[0].items()[1].items()[3].int(), 0);
    // Who does not count shows nothing but the keys.
    tried.0.must("CONFIG SET cluster-slot-stats-enabled no");
    let refused = tried.0.ask("CLUSTER SLOT-STATS ORDERBY cpu-usec");
    assert!(refused.contains("Unrecognized sort metric"), "{refused}");
    let reply = tried.0.client().ask("CLUSTER SLOT-STATS SLOTSRANGE 0 0");
    assert_eq!(reply.items()[0].items()[1].items().len(), 2);
}

/// A replica counts what its primary sends, as that came from clients. Nobody is answered.
#[test]
fn a_replica_counts_what_its_primary_sends() {
    let used = [Kind::Larder, Kind::Valkey].map(|kind| {
        let more = ["--cluster-slot-stats-enabled", "yes"];
        let nodes = [(); 2].map(|()| Node::start(kind, &more));
        let all = [&nodes[0], &nodes[1]];
        join(&all[..1]);
        meet(&all);
        replicate(all[1], all[0], &all);
        all[1].must("CONFIG RESETSTAT");
        let mut client = all[0].client();
        for line in ["SET k v", "MULTI", "SET k w", "SET k x", "EXEC", "RPUSH l a b c", "SET k last"] {
            client.ask(line);
        }
        let stats = |slot: &[u8]| {
            let slot = key_slot(slot);
            let reply = all[1].client().ask(&format!("CLUSTER SLOT-STATS SLOTSRANGE {slot} {slot}"));
            let figures = reply.items()[0].items()[1].items().iter().skip(1).step_by(2).map(Value::int);
            let [_, time, bytes_in, bytes_out] = figures.collect::<Vec<_>>()[..] else { panic!("{reply:?}") };
            (time > 0, bytes_in, bytes_out)
        };
        assert_eq!(client.ask("WAIT 1 0").int(), 1);
        [stats(b"k"), stats(b"l")].map(|(time, bytes_in, _)| (time, bytes_in))
    });
    assert_eq!(used[0], used[1]);
}

/// Valkey counts the replies to what a script calls as well.
#[test]
fn a_script_without_keys_counts_for_the_slot_that_it_keeps_to() {
    let tried = Tried::start(Kind::Larder);
    let mut client = tried.0.client();
    let run = |client: &mut Client, script: &'static str| {
        tried.0.must("CONFIG RESETSTAT");
        client.cmd(&["EVAL", script, "0"]);
        tried.used()
    };
    let script = "#!lua\nreturn redis.call('set', 'k', 'v')";
    let brought = larder_resp::encoded_bytes([&b"EVAL"[..], script.as_bytes(), b"0"].into_iter()) as i64;
    assert_eq!(run(&mut client, script), [(i64::from(key_slot(b"k")), brought, 5)]);
    // Not one that may use any, nor one that uses none.
    let any = "#!lua flags=allow-cross-slot-keys\nreturn redis.call('set', 'k', 'v')";
    for script in [any, "#!lua\nreturn 1", "return redis.call('set', 'k', 'v')"] {
        assert_eq!(run(&mut client, script), [], "{script}");
    }
}

#[test]
fn waiting_takes_no_time() {
    for kind in [Kind::Larder, Kind::Valkey] {
        let tried = Tried::start(kind);
        let slot = key_slot(b"l");
        let mut client = tried.0.client();
        client.send(&["BLPOP", "l", "0"]);
        until("it waits", || tried.0.ask("INFO clients").contains("blocked_clients:1"));
        let stats = tried.0.client().ask(&format!("CLUSTER SLOT-STATS SLOTSRANGE {slot} {slot}"));
        let figures = stats.items()[0].items()[1].items();
        assert_eq!(figures.iter().skip(1).step_by(2).map(Value::int).sum::<i64>(), 0, "{kind:?}");
    }
}
