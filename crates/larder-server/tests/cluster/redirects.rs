//! What clients are told: commands times states of a slot, on Larder and on Valkey, reply by reply.
//!
//! Both clusters have two primaries A and B and a replica R of A. Slots in four states are asked for on A: two of its own, one that goes to B, one
//! that comes from B, and one of B. Keys `x1` of the slots on the way are there, keys `x2` are not.

use crate::node::{Node, join, meet, replicate, settle, tag, text, until};
use larder_testkit::{Client, Kind, Value};

/// Words of commands that stand for tags: of A, on its way to B, on its way from B, of B, of A in another slot.
const TAGS: [(&str, bool); 5] = [("OWN", true), ("OUT", true), ("IN", false), ("FAR", false), ("ALSO", true)];

struct Setup {
    kind: Kind,
    nodes: [Node; 3],
    tags: Vec<String>,
}

impl Setup {
    fn new(kind: Kind, more: &[&str]) -> Setup {
        let nodes = [(); 3].map(|()| Node::start(kind, more));
        let [a, b, r] = &nodes;
        join(&[a, b]);
        meet(&[a, r]);
        settle(&[a, b, r]);
        replicate(r, a, &[a, b, r]);
        let of_a = |slot: u16| slot < 8192;
        let tags: Vec<String> =
            TAGS.iter().map(|(name, is_own)| tag(name, |slot| of_a(slot) == *is_own)).collect();
        let setup = Setup { kind, nodes, tags };
        setup.open_slots();
        setup
    }

    /// The states of the slots, and the keys that are there.
    fn open_slots(&self) {
        let [a, b, r] = &self.nodes;
        let slot = |at: usize| larder_cluster::key_slot(self.tags[at].as_bytes());
        let key = |at: usize, number: u8| format!("{{{}}}x{number}", self.tags[at]);
        a.must(&format!("SET {} 1", key(0, 1)));
        a.must(&format!("SET {} 1", key(1, 1)));
        a.must(&format!("SET {} 1", key(4, 1)));
        a.must(&format!("CLUSTER SETSLOT {} MIGRATING {}", slot(1), b.id()));
        a.must(&format!("CLUSTER SETSLOT {} IMPORTING {}", slot(2), b.id()));
        let mut client = a.server.client();
        client.ask("ASKING");
        assert_eq!(text(&client.ask(&format!("SET {} 1", key(2, 1)))), "OK");
        until("the replica has the keys", || r.ask("DBSIZE") == "4");
    }

    /// A line with its words in place.
    fn line(&self, line: &str) -> String {
        TAGS.iter().zip(&self.tags).fold(line.to_owned(), |line, ((name, _), tag)| {
            line.replace(&format!("{name}:"), &format!("{{{tag}}}"))
        })
    }

    /// Replies with the addresses of nodes by their names.
    fn named(&self, reply: &str) -> String {
        let names = self.nodes.iter().zip(["A", "B", "R"]);
        names.fold(reply.to_owned(), |reply, (node, name)| {
            let port = format!(":{}", node.server.port());
            reply.replace(&port, &format!(":{name}")).replace(&node.id(), name)
        })
    }

    /// The replies to lines on one new connection to a node. A line of several commands has `;` between them.
    fn replies(&self, node: usize, script: &str) -> String {
        let mut client = self.nodes[node].server.client();
        let replies: Vec<String> =
            script.split("; ").map(|line| reply(&mut client, &self.line(line))).collect();
        self.named(&replies.join(" | "))
    }
}

/// Words are parted by blanks; `'` holds some together.
fn reply(client: &mut Client, line: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for (at, part) in line.split('\'').enumerate() {
        match at % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_owned)),
            _ => words.push(part.to_owned()),
        }
    }
    shown(&client.cmd(&words))
}

/// A reply with its kinds.
fn shown(reply: &Value) -> String {
    match reply {
        Value::Bulk(bytes) => format!("\"{}\"", String::from_utf8_lossy(bytes)),
        Value::Int(number) => format!(":{number}"),
        Value::Array(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(", ")),
        Value::Map(items) => format!("{{{}}}", items.iter().map(shown).collect::<Vec<_>>().join(", ")),
        other => format!("{other:?}"),
    }
}

/// Runs scripts of commands on a node of both; an empty string if all replies are the same.
fn differences(ours: &Setup, theirs: &Setup, node: usize, scripts: &[&str]) -> String {
    let mut differences = String::new();
    for script in scripts {
        let (ours, theirs) = (ours.replies(node, script), theirs.replies(node, script));
        if ours != theirs {
            differences += &format!("{script}\n  valkey: {theirs}\n  larder: {ours}\n");
        }
    }
    differences
}

fn compare(ours: &Setup, theirs: &Setup, node: usize, scripts: &[&str]) {
    let differences = differences(ours, theirs, node, scripts);
    theirs.kind.judge(&mut theirs.nodes[0].server.client(), &differences);
}

/// One key in every state.
const SINGLE: &[&str] = &[
    "GET OWN:x1",
    "GET OUT:x1",
    "GET OUT:x2",
    "GET IN:x1",
    "GET IN:x2",
    "GET FAR:x1",
    "ASKING; GET OWN:x1",
    "ASKING; GET OUT:x2",
    "ASKING; GET IN:x1",
    "ASKING; GET IN:x2; GET IN:x2",
    "ASKING; GET FAR:x1",
    "ASKING; PING; GET IN:x1",
    "SET FAR:x1 v",
    "SET OUT:x2 v",
    "OBJECT ENCODING FAR:x1",
    "TYPE OUT:x2",
    "WATCH FAR:x1",
    "DUMP FAR:x1",
    "SORT FAR:x1",
    "SORT OWN:l BY OWN:w* GET OWN:d* GET #",
    "SORT OWN:l BY w*",
    "SORT OWN:l BY w",
    "SORT OWN:l GET FAR:d*",
    "BLPOP FAR:x1 1",
    "BLPOP OUT:x2 1",
    "XREAD BLOCK 10 STREAMS FAR:x1 0",
    "GETX FAR:x1",
    "GET",
    "GET FAR:x1 FAR:x2",
    "RESTORE-ASKING IN:x3 0 bad",
];

const SEVERAL: &[&str] = &[
    "MGET OWN:x1 OWN:x2",
    "MGET OWN:x1 FAR:x2",
    "MGET FAR:x1 OWN:x2",
    "MGET FAR:x1 FAR:x2",
    "MGET OUT:x1 OUT:x1",
    "MGET OUT:x1 OUT:x2",
    "MGET OUT:x2 OUT:x3",
    "ASKING; MGET IN:x1 IN:x1",
    "ASKING; MGET IN:x1 IN:x2",
    "ASKING; MGET IN:x2 IN:x2",
    "ASKING; MGET IN:x2 IN:x3",
    "MGET IN:x1 IN:x2",
    "MSET OWN:a 1 OWN:b 2",
    "MSET OWN:a 1 FAR:b 2",
    "RENAME OWN:a FAR:a",
    "SINTERSTORE FAR:a FAR:b OWN:c",
    "COPY OUT:x1 OUT:x1",
    "COPY OUT:x1 OUT:x9 DB 1",
    "COPY OWN:a OWN:z DB 1",
    "MOVE OUT:x1 1",
    "MOVE OWN:z 0",
    "MIGRATE 127.0.0.1 1 OUT:x2 0 100",
    "MIGRATE 127.0.0.1 1 '' 0 100 KEYS OUT:x2 OUT:x3",
    "MIGRATE 127.0.0.1 1 FAR:x2 0 100",
];

const TRANSACTIONS: &[&str] = &[
    "MULTI; GET OWN:x1; EXEC",
    "MULTI; GET FAR:x1; GET OWN:x1; EXEC",
    "MULTI; GET OWN:x1; GET OUT:x1; EXEC",
    "MULTI; GET OUT:x1; GET OUT:x2; EXEC",
    "MULTI; GET OUT:x1; GET OUT:x1; EXEC; PING",
    "MULTI; MGET OWN:x1 FAR:x1; EXEC",
    "ASKING; MULTI; GET IN:x1; GET IN:x1; EXEC; GET IN:x1",
    "ASKING; MULTI; GET IN:x1; GET IN:x2; EXEC",
    "ASKING; GET IN:x1; MULTI; GET IN:x1; EXEC",
    "MULTI; PING; EXEC",
    "MULTI; SELECT 1; GET OUT:x1; EXEC",
];

const SCRIPTS: &[&str] = &[
    "EVAL 'return 1' 0",
    "EVAL 'return redis.call(\"get\", KEYS[1])' 1 OWN:x1",
    "EVAL 'return redis.call(\"get\", KEYS[1])' 1 FAR:x1",
    "EVAL 'return redis.call(\"get\", KEYS[1])' 1 OUT:x2",
    "EVAL 'return 1' 2 OWN:x1 FAR:x1",
    "EVAL 'return redis.call(\"get\", ARGV[1])' 0 OWN:x1",
    "EVAL 'return redis.call(\"get\", ARGV[1])' 0 FAR:x1",
    "EVAL 'return redis.pcall(\"get\", ARGV[1])' 0 FAR:x1",
    "EVAL 'return redis.call(\"get\", ARGV[1])' 0 OUT:x2",
    "EVAL 'redis.call(\"get\", ARGV[1]) return redis.call(\"get\", ARGV[2])' 0 OWN:x1 ALSO:x1",
    "EVAL '#!lua\nredis.call(\"get\", ARGV[1]) return redis.call(\"get\", ARGV[2])' 0 OWN:x1 ALSO:x1",
    "EVAL '#!lua\nreturn redis.call(\"get\", ARGV[1])' 1 OWN:x1 ALSO:x1",
    "EVAL '#!lua flags=allow-cross-slot-keys\nredis.call(\"get\", ARGV[1]) return redis.call(\"get\", ARGV[2])' 0 OWN:x1 ALSO:x1",
    "EVAL '#!lua flags=no-cluster\nreturn 1' 0",
    "EVAL '#!lua flags=no-writes\nreturn redis.call(\"get\", ARGV[1])' 0 FAR:x1",
    // The last ones: a Valkey that was asked for keys of several slots by a script refuses what scripts ask for afterwards.
    "EVAL 'return redis.call(\"mget\", ARGV[1], ARGV[2])' 0 OWN:x1 FAR:x1",
    "EVAL 'return redis.call(\"mget\", ARGV[1], ARGV[2])' 0 OWN:x1 ALSO:x1",
];

const CHANNELS: &[&str] = &[
    "SPUBLISH OWN:c hi",
    "SPUBLISH FAR:c hi",
    "SPUBLISH OUT:c hi",
    "SPUBLISH IN:c hi",
    "SSUBSCRIBE FAR:c",
    "SSUBSCRIBE OWN:c FAR:c",
    "SSUBSCRIBE OUT:c",
    "SUNSUBSCRIBE FAR:c",
    "SUNSUBSCRIBE",
    "MULTI; SPUBLISH OWN:c hi; EXEC",
    "MULTI; SPUBLISH OWN:c hi; GET OUT:x1; EXEC",
    "PUBLISH FAR:c hi",
];

/// What needs no key, or is refused on nodes.
const OTHERS: &[&str] = &[
    "SELECT 1; SELECT 4; SELECT -1; SELECT x; SELECT 0",
    "SWAPDB 0 1",
    "REPLICAOF 127.0.0.1 1",
    "REPLICAOF NO ONE",
    "FAILOVER",
    "FAILOVER ABORT",
    "READONLY; READWRITE; ASKING",
    "DBSIZE",
    "CLUSTER COUNTKEYSINSLOT x",
    "CLUSTER COUNTKEYSINSLOT -1",
    "CLUSTER COUNTKEYSINSLOT 16384",
    "CLUSTER GETKEYSINSLOT x 1",
    "CLUSTER GETKEYSINSLOT 1 x",
    "CLUSTER GETKEYSINSLOT 16384 1",
    "CLUSTER GETKEYSINSLOT 1 -1",
    "CLUSTER GETKEYSINSLOT 1 0",
    "CLUSTER FLUSHSLOT x",
    "CLUSTER FLUSHSLOT 1 x",
    "CLUSTER FLUSHSLOT 1 SYNC x",
    "CLUSTER FLUSHSLOT 1 ASYNC",
    "CLUSTER SLOT-STATS SLOTSRANGE 0 x",
    "CLUSTER SLOT-STATS SLOTSRANGE 5 1",
    "CLUSTER SLOT-STATS SLOTSRANGE 0 2",
    "CLUSTER SLOT-STATS SLOTSRANGE 8190 8193",
    "CLUSTER SLOT-STATS SLOTSRANGE 0 2 3",
    "CLUSTER SLOT-STATS ORDERBY x",
    "CLUSTER SLOT-STATS ORDERBY KEY-COUNT LIMIT 3",
    "CLUSTER SLOT-STATS ORDERBY key-count ASC LIMIT 2",
    "CLUSTER SLOT-STATS ORDERBY key-count DESC ASC",
    "CLUSTER SLOT-STATS ORDERBY key-count LIMIT 0",
    "CLUSTER SLOT-STATS ORDERBY key-count LIMIT x",
    "CLUSTER SLOT-STATS FOO BAR",
    "CLUSTER KEYSLOT a",
    "CLUSTER GETSLOTMIGRATIONS",
    "CLUSTER CANCELSLOTMIGRATIONS",
    "CLUSTER HELP",
    "CLUSTER NOSUCH",
    "CLUSTER",
    "CLUSTER REPLICAS x",
    "CLUSTER COUNT-FAILURE-REPORTS x",
    "CLUSTER ADDSLOTS 1",
    "CLUSTER SETSLOT 1 FOO",
    "CLUSTER RESET x",
    "CLUSTER FAILOVER",
];

/// On the replica.
const REPLICA: &[&str] = &[
    "GET OWN:x1",
    "READONLY; GET OWN:x1; READWRITE; GET OWN:x1",
    "READONLY; SET OWN:x1 v",
    "READONLY; GET FAR:x1",
    "READONLY; GET OUT:x1",
    "READONLY; GET OUT:x2",
    "READONLY; GET IN:x1",
    "READONLY; MGET OWN:x1 FAR:x1",
    "READONLY; MULTI; GET OWN:x1; EXEC",
    "READONLY; MULTI; GET OWN:x1; SET OWN:x1 v; EXEC",
    "READONLY; BLPOP OWN:x9 1",
    "READONLY; EVAL 'return redis.call(\"get\", KEYS[1])' 1 OWN:x1",
    "READONLY; EVAL '#!lua\nreturn redis.call(\"get\", KEYS[1])' 1 OWN:x1",
    "READONLY; EVAL_RO 'return redis.call(\"get\", KEYS[1])' 1 OWN:x1",
    "EVAL_RO 'return redis.call(\"get\", KEYS[1])' 1 OWN:x1",
    "EVAL 'return redis.call(\"get\", ARGV[1])' 0 OWN:x1",
    "READONLY; EVAL 'return redis.call(\"get\", ARGV[1])' 0 OWN:x1",
    "SSUBSCRIBE OWN:c",
    "SSUBSCRIBE FAR:c",
    "SPUBLISH OWN:c hi",
    "CLUSTER SETSLOT 1 STABLE",
    "CLUSTER REPLICATE x",
    "FLUSHALL",
    "CLUSTER FLUSHSLOT 1",
    "CLUSTER SLOT-STATS SLOTSRANGE 0 2",
    "READONLY; RESET; GET OWN:x1",
];

const DOWN: &[&str] = &[
    "GET OWN:x1",
    "SET OWN:x1 1",
    "GET FAR:x1",
    "GET GONE",
    "MGET OWN:x1 FAR:x1",
    "PING",
    "DBSIZE",
    "SPUBLISH OWN:c hi",
    "SSUBSCRIBE OWN:c",
    "MULTI; GET OWN:x1; EXEC",
    "EVAL 'return 1' 0",
    "EVAL 'return redis.call(\"get\", KEYS[1])' 1 OWN:x1",
    "EVAL 'return redis.call(\"get\", ARGV[1])' 0 OWN:x1",
    "EVAL 'return redis.call(\"set\", ARGV[1], 1)' 0 OWN:x1",
];

#[test]
fn clients_are_told_what_valkey_tells_them() {
    let more = ["--cluster-databases", "4"];
    let (ours, theirs) = (Setup::new(Kind::Larder, &more), Setup::new(Kind::Valkey, &more));
    let mut all = String::new();
    for scripts in [SINGLE, SEVERAL, TRANSACTIONS, SCRIPTS, CHANNELS, OTHERS] {
        all += &differences(&ours, &theirs, 0, scripts);
    }
    all += &differences(&ours, &theirs, 2, REPLICA);
    theirs.kind.judge(&mut theirs.nodes[0].server.client(), &all);
}

#[test]
fn a_cluster_that_is_down_says_so_as_valkey_does() {
    let (ours, theirs) = (Setup::new(Kind::Larder, &[]), Setup::new(Kind::Valkey, &[]));
    let gone = tag("GONE", |slot| slot >= 8192);
    let slot = larder_cluster::key_slot(gone.as_bytes());
    for setup in [&ours, &theirs] {
        let line = format!("CLUSTER DELSLOTS {slot}");
        setup.nodes[1].must(&line);
        until("it is down", || {
            // A packet that the other node has sent before says that the slot is its.
            if setup.nodes[0].info("cluster_slots_assigned") == "16384" {
                setup.nodes[0].must(&line);
            }
            setup.nodes[0].info("cluster_state") == "fail"
        });
    }
    let scripts: Vec<String> = DOWN.iter().map(|script| script.replace("GONE", &gone)).collect();
    let scripts: Vec<&str> = scripts.iter().map(String::as_str).collect();
    for (option, value) in [
        ("cluster-allow-pubsubshard-when-down", "yes"),
        ("cluster-allow-pubsubshard-when-down", "no"),
        ("cluster-allow-reads-when-down", "yes"),
    ] {
        for setup in [&ours, &theirs] {
            setup.nodes[0].must(&format!("CONFIG SET {option} {value}"));
        }
        compare(&ours, &theirs, 0, &scripts);
    }
    for setup in [&ours, &theirs] {
        setup.nodes[0].must("CONFIG SET cluster-require-full-coverage no");
        until("it is well", || setup.nodes[0].info("cluster_state") == "ok");
    }
    compare(&ours, &theirs, 0, &scripts);
}

#[test]
fn clients_are_told_the_endpoint_that_is_preferred() {
    let setups = [Kind::Larder, Kind::Valkey].map(|kind| {
        let setup = Setup::new(kind, &[]);
        setup.nodes[1].must("CONFIG SET cluster-announce-hostname b.example");
        until("the name is known", || setup.nodes[0].ask("CLUSTER NODES").contains("b.example"));
        // One that has no data yet is left out.
        until("the replica is shown", || setup.replies(0, "CLUSTER SLOTS").contains(":R"));
        setup
    });
    for preferred in ["hostname", "unknown-endpoint", "ip"] {
        for setup in &setups {
            setup.nodes[0].must(&format!("CONFIG SET cluster-preferred-endpoint-type {preferred}"));
        }
        let [ours, theirs] = &setups;
        compare(ours, theirs, 0, &["GET FAR:x1", "GET OUT:x2"]);
        let shown = |setup: &Setup| setup.replies(0, "CLUSTER SLOTS");
        assert_eq!(shown(ours), shown(theirs), "{preferred}");
    }
}
