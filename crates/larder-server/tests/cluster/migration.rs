//! Atomic migrations of slots, between Larders and between Larder and Valkey: nothing that was acknowledged is lost, whoever ends what when.

use crate::node::{Node, PATIENT, field_of, join, replicate, routed, settle, tag, text, until};
use larder_testkit::{Client, Kind, Value};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Two nodes with half of the slots each.
pub fn pair(first: Kind, second: Kind, more: &[&str]) -> [Node; 2] {
    // One of two that hears nothing of the other finds the cluster down: on a slow machine, too.
    let more = [&PATIENT[..], more].concat();
    let nodes = [Node::start(first, &more), Node::start(second, &more)];
    join(&[&nodes[0], &nodes[1]]);
    nodes
}

/// A field of the newest migration of a node.
pub fn newest(node: &Node, field: &str) -> String {
    let reply = node.client().ask("CLUSTER GETSLOTMIGRATIONS");
    let Some(job) = reply.items().first() else { return String::new() };
    let at = job.items().iter().position(|item| text(item) == field).expect("it is there");
    text(&job.items()[at + 1])
}

fn until_over(node: &Node) -> String {
    until("the migration is over", || {
        ["success", "failed", "cancelled"].contains(&newest(node, "state").as_str())
    });
    newest(node, "state")
}

/// Moves slots and waits for it.
pub fn migrate(from: &Node, to: &Node, start: u16, end: u16) {
    from.must(&format!("CLUSTER MIGRATESLOTS SLOTSRANGE {start} {end} NODE {}", to.id()));
    let state = until_over(from);
    assert_eq!(state, "success", "{}", newest(from, "message"));
    until("the target says so", || newest(to, "state") == "success");
}

/// Keys of all types in slots below 8192, with what DUMP is compared by.
fn fill(node: &Node) -> Vec<String> {
    let mut client = node.server.client();
    let mut keys = Vec::new();
    for number in 0..60 {
        let tag = tag(&format!("t{number}"), |slot| slot < 4000);
        let key = |kind: &str| format!("{{{tag}}}{kind}");
        let mut put = |line: &str| {
            let reply = text(&client.ask(line));
            assert!(!reply.starts_with("ERR") && !reply.starts_with("MOVED"), "{line}: {reply}");
        };
        put(&format!("SET {} value{number}", key("s")));
        put(&format!("SET {} {} PX 10000000", key("x"), "long".repeat(100)));
        put(&format!("SADD {} a b {number}", key("u")));
        put(&format!("SADD {} 1 2 {number}", key("i")));
        put(&format!("HSET {} f 1 g {number}", key("h")));
        put(&format!("ZADD {} 1 a 2.5 b {number} c", key("z")));
        put(&format!("XADD {} 5-1 f v", key("m")));
        put(&format!("XGROUP CREATE {} g 0", key("m")));
        for element in 0..number * 20 {
            put(&format!("RPUSH {} element{element}", key("l")));
        }
        keys.extend(["s", "x", "u", "i", "h", "z", "m", "l"].map(key));
    }
    // Too long for one command.
    let mut words = vec!["RPUSH".to_owned(), keys[0].replace("}s", "}big")];
    words.extend((0..30_000).map(|number| format!("element number {number}")));
    client.cmd(&words);
    keys.push(words[1].clone());
    keys
}

/// What is in keys, whatever their encoding.
fn digests(node: &Node, keys: &[String]) -> BTreeMap<String, String> {
    let mut client = node.server.client();
    let mut digest =
        |key: &String| (key.clone(), format!("{:?}", client.cmd(&["DEBUG", "DIGEST-VALUE", key])));
    keys.iter().map(&mut digest).collect()
}

const BOTH_WAYS: [(Kind, Kind); 3] =
    [(Kind::Larder, Kind::Larder), (Kind::Larder, Kind::Valkey), (Kind::Valkey, Kind::Larder)];

#[test]
fn all_types_move_with_their_deadlines_in_both_directions() {
    for (first, second) in BOTH_WAYS {
        let [a, b] = pair(first, second, &["--enable-debug-command", "yes"]);
        let keys = fill(&a);
        let before = digests(&a, &keys);
        let all = a.ask("DBSIZE");
        migrate(&a, &b, 0, 4000);
        settle(&[&a, &b]);
        assert_eq!(digests(&b, &keys), before, "{first:?} to {second:?}");
        let ttl: i64 = text(&b.server.client().cmd(&["PTTL", &keys[1]])).parse().expect("a number");
        assert!((9_000_000..=10_000_000).contains(&ttl));
        assert_eq!(b.ask("DBSIZE"), all);
        until("the source has deleted them", || a.ask("DBSIZE") == "0");
        assert!(a.ask(&format!("GET {}", keys[0])).starts_with("MOVED"));
        migrate(&b, &a, 0, 4000);
        assert_eq!(digests(&a, &keys), before, "{second:?} to {first:?}");
        until("the other has deleted them", || b.ask("DBSIZE") == "0");
    }
}

/// Clients count on their keys through migrations there and back; what was acknowledged is there in the end, once.
#[test]
fn acknowledged_writes_are_not_lost() {
    for (first, second) in BOTH_WAYS {
        let threads: &[&str] = &["--threads", "4"];
        let [a, b] =
            [first, second].map(|kind| Node::start(kind, if kind == Kind::Larder { threads } else { &[] }));
        join(&[&a, &b]);
        // A disk that is busy for seconds, while a node writes down who has the slots, is no reason to give up.
        for node in [&a, &b] {
            node.must("CONFIG SET cluster-manual-failover-timeout 60000");
        }
        let tags: Vec<String> =
            (0..40).map(|number| tag(&format!("w{number}"), |slot| slot < 4000)).collect();
        let (stops, written) = (AtomicBool::new(false), AtomicU64::new(0));
        let counts: Vec<Vec<u64>> = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..4)
                .map(|writer| {
                    let (a, tags, stops, written) = (&a, &tags, &stops, &written);
                    scope.spawn(move || {
                        let mut counts = vec![0; tags.len()];
                        let mut at = writer;
                        while !stops.load(Relaxed) {
                            at = (at + 7) % tags.len();
                            let key = format!("{{{}}}{writer}", tags[at]);
                            let reply = routed(a, &["INCR", &key]);
                            counts[at] += 1;
                            assert_eq!(text(&reply), counts[at].to_string(), "{key}");
                            let list = format!("{{{}}}l{writer}", tags[at]);
                            routed(a, &["RPUSH", &list, &counts[at].to_string()]);
                            written.fetch_add(1, Relaxed);
                        }
                        counts
                    })
                })
                .collect();
            let stop = Stop(&stops);
            for round in 0..4 {
                until("there is something to move", || written.load(Relaxed) > 30 * (round + 1));
                let (from, to) = if round % 2 == 0 { (&a, &b) } else { (&b, &a) };
                migrate(from, to, 0, 4000);
                until("the source has deleted them", || from.ask("DBSIZE") == "0");
            }
            drop(stop);
            writers.into_iter().map(|writer| writer.join().expect("it has not panicked")).collect()
        });
        for (writer, counts) in counts.iter().enumerate() {
            for (tag, count) in tags.iter().zip(counts).filter(|(_, count)| **count > 0) {
                assert_eq!(text(&routed(&a, &["GET", &format!("{{{tag}}}{writer}")])), count.to_string());
                let list = routed(&a, &["LRANGE", &format!("{{{tag}}}l{writer}"), "0", "-1"]);
                let expected: Vec<String> = (1..=*count).map(|number| number.to_string()).collect();
                assert_eq!(list.items().iter().map(Value::text).collect::<Vec<_>>(), expected);
            }
        }
    }
}

/// Ends what looks at it, also when a test fails: else that would be waited for, forever.
pub struct Stop<'s>(pub &'s AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// A source made by hand.
pub struct Source(Client);

impl Source {
    pub fn establish(target: &Node, source: &Node, start: u16, end: u16) -> Source {
        let mut client = target.server.client();
        let line = format!(
            "CLUSTER SYNCSLOTS ESTABLISH SOURCE {} NAME {} SLOTSRANGE {start} {end}",
            source.id(),
            "a".repeat(40)
        );
        assert_eq!(text(&client.ask(&line)), "OK");
        let mut source = Source(client);
        source.say("CLUSTER SYNCSLOTS ACK");
        source
    }

    pub fn say(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        self.0.send(&words);
    }
}

/// What has come is not seen before the end, and is gone if there is no good one.
#[test]
fn keys_that_come_are_hidden_and_go_with_the_connection() {
    for kind in [Kind::Larder, Kind::Valkey] {
        let [a, b] = pair(Kind::Larder, kind, &[]);
        let mine = tag("m", |slot| slot >= 8192);
        let coming = tag("c", |slot| slot < 4000);
        let slot = larder_cluster::key_slot(coming.as_bytes());
        b.must(&format!("SET {mine} 1"));
        let mut source = Source::establish(&b, &a, 0, 4000);
        source.say(&format!("SET {coming} 1 PX 1"));
        source.say(&format!("SET {{{coming}}}2 1"));
        until("they are there", || b.ask(&format!("CLUSTER COUNTKEYSINSLOT {slot}")) == "2");
        assert_eq!(b.ask("DBSIZE"), "1");
        let keys = |line: &str| {
            let reply = b.server.client().ask(line);
            let items = if line.starts_with("SCAN") { &reply.items()[1] } else { &reply };
            items.items().iter().map(Value::text).collect::<Vec<_>>()
        };
        assert_eq!(keys("KEYS *"), [mine.as_str()]);
        assert_eq!(keys("SCAN 0 COUNT 1000"), [mine.as_str()]);
        assert_eq!(b.ask("RANDOMKEY"), mine);
        assert!(b.ask("INFO keyspace").contains("db0:keys=1,"));
        assert!(b.ask(&format!("GET {coming}")).starts_with("MOVED"));
        assert_eq!(
            b.ask(&format!("CLUSTER SETSLOT {slot} IMPORTING {}", a.id())),
            "ERR Slot import in progress."
        );
        assert_eq!(newest(&b, "state"), "receiving-snapshot");
        drop(source);
        assert_eq!(until_over(&b), "failed");
        assert!(newest(&b, "message").starts_with("Connection lost to source."));
        assert_eq!(b.ask(&format!("CLUSTER COUNTKEYSINSLOT {slot}")), "0");
        // Another one may begin.
        drop(Source::establish(&b, &a, 0, 4000));
    }
}

/// Events that end an import, in each of its states.
#[test]
fn whatever_ends_an_import_leaves_nothing() {
    let [a, b] = pair(Kind::Larder, Kind::Larder, &["--repl-timeout", "5"]);
    let coming = tag("c", |slot| slot < 4000);
    let slot = larder_cluster::key_slot(coming.as_bytes());
    let steps: [&[&str]; 3] = [
        &[],
        &["CLUSTER SYNCSLOTS SNAPSHOT-EOF"],
        &["CLUSTER SYNCSLOTS SNAPSHOT-EOF", "CLUSTER SYNCSLOTS PAUSED"],
    ];
    let states = ["receiving-snapshot", "waiting-for-paused", "failover-requested"];
    let foreign = format!("SET {} 1", tag("f", |slot| slot > 5000));
    let wrong_type = format!("LPUSH {coming} 1");
    let events: [(&str, &str); 6] = [
        ("NOSUCHCOMMAND x", "Failed to process command"),
        (&wrong_type, "Failed to process command"),
        (&foreign, "Failed to process command"),
        ("CLUSTER SYNCSLOTS REQUEST-PAUSE", "Failed to process command"),
        ("CLUSTER SYNCSLOTS SNAPSHOT-EOF x", "Failed to process command"),
        ("FLUSHALL", "Data was flushed"),
    ];
    for (steps, state) in steps.into_iter().zip(states) {
        for (event, message) in events {
            let mut source = Source::establish(&b, &a, 0, 4000);
            source.say(&format!("SET {coming} 1"));
            steps.iter().for_each(|step| source.say(step));
            until("it is in that state", || newest(&b, "state") == state);
            if event == "FLUSHALL" {
                b.must(event);
            } else {
                source.say(event);
            }
            assert_eq!(until_over(&b), "failed", "{event} while {state}");
            assert!(newest(&b, "message").starts_with(message), "{event}: {}", newest(&b, "message"));
            assert_eq!(b.ask(&format!("CLUSTER COUNTKEYSINSLOT {slot}")), "0", "{event} while {state}");
        }
    }
    // A source that says nothing more.
    let source = Source::establish(&b, &a, 0, 4000);
    assert_eq!(until_over(&b), "failed");
    assert!(newest(&b, "message").starts_with("Timed out"));
    drop(source);
    settle(&[&a, &b]);
    assert!(a.ask(&format!("SET {coming} 1")) == "OK", "the slot is where it was");
}

/// Events that end an export, before and after the target may take over.
#[test]
fn an_export_ends_when_it_is_cancelled_flushed_or_alone() {
    let [a, b] = pair(Kind::Larder, Kind::Valkey, &["--enable-debug-command", "yes"]);
    let key = tag("k", |slot| slot < 4000);
    a.must(&format!("SET {key} 1"));
    let command = format!("CLUSTER MIGRATESLOTS SLOTSRANGE 0 4000 NODE {}", b.id());
    for (event, state) in [("CLUSTER CANCELSLOTMIGRATIONS", "cancelled"), ("FLUSHALL", "failed")] {
        let mut sleeper = b.server.client();
        sleeper.send(&["DEBUG", "SLEEP", "1"]);
        a.must(&command);
        assert_eq!(a.ask(&command), "ERR I am already migrating slot 0.");
        assert_eq!(a.ask("CLUSTER SETSLOT 5 STABLE"), "ERR Slot export in progress.");
        a.must(event);
        assert_eq!(until_over(&a), state, "{event}");
        a.must(&format!("SET {key} 2"));
        assert_eq!(text(&sleeper.read().expect("it wakes")), "OK");
    }
    assert_eq!(newest(&a, "message"), "Data was flushed");
    // The target does not take over in time: writes wait for that long, and are made here.
    let refused = a.ask("DEBUG SLOTMIGRATION PREVENT-FAILOVER 1");
    assert_eq!(
        refused,
        "ERR unknown subcommand or wrong number of arguments for 'SLOTMIGRATION'. Try DEBUG HELP."
    );
    b.must("DEBUG SLOTMIGRATION PREVENT-FAILOVER 1");
    a.must("CONFIG SET cluster-manual-failover-timeout 1000");
    a.must(&command);
    until("the target may take over", || newest(&a, "state") == "failover-granted");
    let mut writer = a.server.client();
    writer.send(&["SET", &key, "3"]);
    // A key of another slot is not waited for.
    a.must(&format!("SET {} 1", tag("o", |slot| (4001..8192).contains(&slot))));
    assert_eq!(a.ask("CLUSTER CANCELSLOTMIGRATIONS"), "ERR No migrations ongoing");
    assert_eq!(a.ask(&format!("GET {key}")), "2");
    assert_eq!(until_over(&a), "failed");
    assert!(newest(&a, "message").starts_with("Timed out"));
    assert_eq!(text(&writer.read().expect("a reply")), "OK");
    // The target ends.
    until("the target has cleaned up", || newest(&b, "state") == "failed");
    a.must(&command);
    until("the target may take over", || newest(&a, "state") == "failover-granted");
    drop(b);
    assert_eq!(until_over(&a), "failed");
    assert_eq!(a.ask(&format!("GET {key}")), "3");
}

/// A target that does not take what it is sent: more than the output limits of replicas allow is not kept for it.
#[test]
fn an_export_ends_when_the_target_stops_reading() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let announced = listener.local_addr().expect("it has one").port().to_string();
    let [a, b] =
        [&[][..], &["--cluster-announce-port", &announced]].map(|more| Node::start(Kind::Larder, more));
    join(&[&a, &b]);
    let set = a.server.client().cmd(&["CONFIG", "SET", "client-output-buffer-limit", "replica 2mb 0 0"]);
    assert_eq!(text(&set), "OK");
    a.must("CONFIG SET repl-backlog-size 16kb");
    let key = tag("k", |slot| slot < 4000);
    a.must(&format!("CLUSTER MIGRATESLOTS SLOTSRANGE 0 4000 NODE {}", b.id()));
    let (mut target, _) = listener.accept().expect("it is connected to");
    let mut asked = [0; 7];
    target.read_exact(&mut asked).expect("it is asked");
    assert!(asked.starts_with(b"*"));
    target.write_all(b"+OK\r\n").expect("it takes the answer");
    until("the keys are sent", || newest(&a, "state") != "establishing");
    let (mut client, big) = (a.server.client(), vec![b'x'; 1 << 20]);
    // What is on the way between two sockets is less.
    let mut writes = 0;
    while newest(&a, "state") != "failed" {
        assert_eq!(text(&client.cmd(&[b"SET", key.as_bytes(), &big])), "OK");
        writes += 1;
        assert!(writes < 1000, "it goes on: {}", newest(&a, "message"));
    }
    assert!(newest(&a, "message").starts_with("Target is too slow"), "{}", newest(&a, "message"));
    // The other data is where it was, and another migration may begin.
    assert_eq!(a.ask(&format!("STRLEN {key}")), big.len().to_string());
}

/// The replicas of both sides have what their primaries have.
#[test]
fn replicas_follow_a_migration() {
    for (of_target, target) in
        [(Kind::Larder, Kind::Larder), (Kind::Valkey, Kind::Larder), (Kind::Larder, Kind::Valkey)]
    {
        let [a, b] = pair(Kind::Larder, target, &[]);
        let r = Node::start(of_target, &[]);
        crate::node::meet(&[&a, &r]);
        settle(&[&a, &b, &r]);
        replicate(&r, &b, &[&a, &b, &r]);
        let tags: Vec<String> =
            (0..20).map(|number| tag(&format!("w{number}"), |slot| slot < 4000)).collect();
        for tag in &tags {
            a.must(&format!("SET {tag} {tag}"));
        }
        migrate(&a, &b, 0, 4000);
        until("the replica has them", || r.ask("DBSIZE") == "20");
        let mut client = r.server.client();
        client.ask("READONLY");
        for tag in &tags {
            until("it knows whose the slot is", || text(&client.ask(&format!("GET {tag}"))) == *tag);
        }
    }
}

/// A replica that comes in the middle of a migration knows from the snapshot which keys are not to be seen, and is told when they are gone.
#[test]
fn a_replica_comes_during_a_migration() {
    for (of_target, target) in
        [(Kind::Larder, Kind::Larder), (Kind::Valkey, Kind::Larder), (Kind::Larder, Kind::Valkey)]
    {
        let what = format!("{of_target:?} of {target:?}");
        let [a, b] = pair(Kind::Larder, target, &["--repl-diskless-sync-delay", "0"]);
        let r = Node::start(of_target, &[]);
        crate::node::meet(&[&a, &r]);
        settle(&[&a, &b, &r]);
        let (coming, mine) = (tag("c", |slot| slot < 4000), tag("m", |slot| slot >= 8192));
        b.must(&format!("SET {mine} 1"));
        let mut source = Source::establish(&b, &a, 0, 4000);
        source.say(&format!("SET {coming} 1"));
        let slot = larder_cluster::key_slot(coming.as_bytes());
        until("it is there", || b.ask(&format!("CLUSTER COUNTKEYSINSLOT {slot}")) == "1");
        replicate(&r, &b, &[&a, &b, &r]);
        until("the replica has the rest", || r.ask("DBSIZE") == "1");
        assert_eq!(r.ask(&format!("CLUSTER COUNTKEYSINSLOT {slot}")), "1", "{what}");
        assert_eq!(r.server.client().ask("KEYS *").items().len(), 1, "{what}");
        assert_eq!(newest(&r, "state"), "occurring-on-primary", "{what}");
        drop(source);
        until("it has failed", || newest(&r, "state") == "failed");
        until("what came is gone", || r.ask(&format!("CLUSTER COUNTKEYSINSLOT {slot}")) == "0");
        assert_eq!(r.ask("DBSIZE"), "1", "{what}");
    }
}

/// Keys on their way are evicted neither here nor there: the target makes room of its own, and if that is not enough the source keeps them.
#[test]
fn keys_on_their_way_are_not_evicted() {
    for first in [Kind::Larder, Kind::Valkey] {
        for has_room in [true, false] {
            let [a, b] = pair(first, Kind::Larder, &["--enable-debug-command", "yes"]);
            let (coming, own) = (tag("come", |slot| slot < 4000), tag("own", |slot| slot > 9000));
            let fill = |node: &Node, tag: &str, count: usize| {
                let mut client = node.server.client();
                for number in 0..count {
                    let key = format!("{{{tag}}}{number}");
                    assert_eq!(client.cmd(&["SET", &key, &"v".repeat(1000)]).text(), "OK");
                }
            };
            fill(&a, &coming, 3000);
            fill(&b, &own, if has_room { 6000 } else { 100 });
            let used: u64 = field_of(&b.ask("INFO memory"), "used_memory").parse().expect("a number");
            b.must("CONFIG SET maxmemory-policy allkeys-random");
            b.must(&format!("CONFIG SET maxmemory {}", used + (1 << 20)));
            if has_room {
                a.must("DEBUG SLOTMIGRATION PREVENT-PAUSE 1");
            }
            a.must(&format!("CLUSTER MIGRATESLOTS SLOTSRANGE 0 4000 NODE {}", b.id()));
            if has_room {
                until("the keys have come", || newest(&b, "state") == "waiting-for-paused");
                // Once they are the target's own, they may be evicted like others.
                b.must("CONFIG SET maxmemory 0");
                a.must("DEBUG SLOTMIGRATION PREVENT-PAUSE 0");
            }
            let state = until_over(&a);
            let count = |node: &Node| {
                let slot = node.ask(&format!("CLUSTER KEYSLOT {{{coming}}}"));
                node.ask(&format!("CLUSTER COUNTKEYSINSLOT {slot}"))
            };
            if has_room {
                assert_eq!((state.as_str(), count(&b).as_str()), ("success", "3000"), "{first:?}");
                assert!(b.ask("DBSIZE").parse::<u64>().expect("a number") < 9000, "{first:?}");
            } else {
                assert_eq!((state.as_str(), count(&a).as_str()), ("failed", "3000"), "{first:?}");
                until("what came is gone", || newest(&b, "state") == "failed" && count(&b) == "0");
                assert!(newest(&b, "message").starts_with("Ran out of memory"), "{}", newest(&b, "message"));
            }
        }
    }
}

/// `slot-migration-max-failover-repl-bytes` and `cluster-slot-migration-log-max-len`.
#[test]
fn options_of_migrations_are_followed() {
    let more = ["--cluster-slot-migration-log-max-len", "2"];
    for kind in [Kind::Valkey, Kind::Larder] {
        let [a, b] = pair(kind, kind, &more);
        let shown = |node: &Node| node.server.client().ask("CLUSTER GETSLOTMIGRATIONS").items().len();
        for slot in 0..4 {
            migrate(&a, &b, slot, slot);
        }
        for (limit, left) in [("2", 2), ("1", 1), ("0", 0)] {
            a.must(&format!("CONFIG SET cluster-slot-migration-log-max-len {limit}"));
            until(limit, || shown(&a) == left);
        }
        assert_eq!(shown(&b), 2, "{kind:?}");
    }
    let [a, b] = pair(Kind::Larder, Kind::Larder, &more);
    for limit in ["-1", "1mb", "0"] {
        a.must(&format!("CONFIG SET slot-migration-max-failover-repl-bytes {limit}"));
        migrate(&a, &b, 5, 5);
        migrate(&b, &a, 5, 5);
    }
}

/// While the keys of one slot are on their way, no other is moved by SETSLOT, and the keys that
/// have come are not drawn.
#[test]
fn a_migration_that_takes_its_time_is_alone() {
    for kind in [Kind::Valkey, Kind::Larder] {
        let [a, b] = pair(kind, kind, &["--rdb-key-save-delay", "1000"]);
        let (from, here) = (tag("k", |slot| slot == 609), tag("k", |slot| slot > 8192));
        let mut client = a.client();
        for number in 0..3000 {
            client.cmd(&["SET", &format!("{{{from}}}{number}"), "v"]);
        }
        b.must(&format!("SET {here} v"));
        let (a_id, b_id) = (a.id(), b.id());
        a.must(&format!("CLUSTER MIGRATESLOTS SLOTSRANGE 609 609 NODE {b_id}"));
        until("keys are sent", || newest(&a, "state") == "snapshotting");
        until("keys come", || newest(&b, "state") == "receiving-snapshot");
        let mut there = b.client();
        for _ in 0..20 {
            assert_eq!(text(&there.ask("RANDOMKEY")), here, "{kind:?}");
        }
        for line in [format!("10 MIGRATING {b_id}"), "10 STABLE".to_owned(), "99999 STABLE".to_owned()] {
            assert_eq!(a.ask(&format!("CLUSTER SETSLOT {line}")), "ERR Slot export in progress.", "{kind:?}");
            assert_eq!(b.ask(&format!("CLUSTER SETSLOT {line}")), "ERR Slot import in progress.", "{kind:?}");
        }
        assert_eq!(newest(&a, "state"), "snapshotting", "{kind:?}: it was under way all the time");
        a.must("CLUSTER CANCELSLOTMIGRATIONS");
        assert_eq!(until_over(&a), "cancelled");
        until_over(&b);
        b.must(&format!("CLUSTER SETSLOT 10 IMPORTING {a_id}"));
        a.must(&format!("CLUSTER SETSLOT 10 MIGRATING {b_id}"));
    }
}

/// What is refused, in Valkey's words. The nodes have the slots up to 8191, and those from there on.
#[test]
fn refusals_are_those_of_valkey() {
    let pairs = [Kind::Larder, Kind::Valkey].map(|kind| pair(kind, kind, &[]));
    for line in [
        "MIGRATESLOTS SLOTSRANGE 0 10 NODE A",
        "MIGRATESLOTS SLOTSRANGE 9000 9001 NODE B",
        "MIGRATESLOTS SLOTSRANGE 0 10 SLOTSRANGE 5 6 NODE B",
        "MIGRATESLOTS SLOTSRANGE 0 10 NODE B SLOTSRANGE 5 6 NODE B",
        "MIGRATESLOTS SLOTSRANGE 5 4 NODE B",
        "MIGRATESLOTS SLOTSRANGE 5 NODE B",
        "MIGRATESLOTS SLOTSRANGE 5 6 FOO B",
        "MIGRATESLOTS SLOTSRANGE 5 6 NODE xyz",
        "MIGRATESLOTS SLOTSRANGE 5 6 NODE",
        "MIGRATESLOTS SLOTSRANGE 5 16384 NODE B",
        "MIGRATESLOTS FOO 5 6 NODE B",
        "MIGRATESLOTS SLOTSRANGE 5 6 NODE ffffffffffffffffffffffffffffffffffffffff",
        "MIGRATESLOTS SLOTSRANGE 5",
        "MIGRATESLOTS SLOTSRANGE 5 6 7",
        "MIGRATESLOTS SLOTSRANGE x 6 NODE B",
        "MIGRATESLOTS SLOTSRANGE 05 6 NODE B",
        "MIGRATESLOTS SLOTSRANGE 5 x NODE B",
        "MIGRATESLOTS SLOTSRANGE -1 6 NODE B",
        "MIGRATESLOTS SLOTSRANGE 99999999999999999999 6 NODE B",
        "MIGRATESLOTS SLOTSRANGE NODE B",
        "MIGRATESLOTS SLOTSRANGE 5 6 6 7 NODE B",
        "MIGRATESLOTS SLOTSRANGE 5 6 1 2 2 5 NODE B",
        "MIGRATESLOTS SLOTSRANGE 5 9000 NODE B",
        "MIGRATESLOTS SLOTSRANGE 5 6 6 9000 NODE B",
        "MIGRATESLOTS SLOTSRANGE 9000 9001 5 6 NODE B",
        "MIGRATESLOTS SLOTSRANGE 9000 9001",
        "MIGRATESLOTS SLOTSRANGE 9000 9001 9001 9002 NODE B",
        "MIGRATESLOTS SLOTSRANGE 5 6 NODE B SLOTSRANGE",
        "MIGRATESLOTS SLOTSRANGE 5 6 NODE B SLOTSRANGE 6 7",
        "MIGRATESLOTS SLOTSRANGE 5 6 NODE B SLOTSRANGE 6 7 NODE A",
        "MIGRATESLOTS SLOTSRANGE 5 6 NODE B SLOTSRANGE 6 9000 NODE B",
        "SETSLOT 7 MIGRATING B",
        "MIGRATESLOTS SLOTSRANGE 5 6 NODE B",
        "MIGRATESLOTS SLOTSRANGE 9000 9001 NODE B",
        "MIGRATESLOTS SLOTSRANGE x",
        "SETSLOT 7 STABLE",
        "SETSLOT 9000 IMPORTING B",
        "MIGRATESLOTS SLOTSRANGE 5 16384 NODE B",
        "SETSLOT 9000 STABLE",
        "SYNCSLOTS FINISH",
        "SYNCSLOTS FINISH STATE FAILED",
        "SYNCSLOTS FINISH STATE FAILED NAME short",
        "SYNCSLOTS FINISH STATE FAILED NAME aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa MESSAGE",
        "SYNCSLOTS FINISH STATE FAILED NAME aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa MESSAGE x",
        "SYNCSLOTS ACK x",
        "SYNCSLOTS ESTABLISH SOURCE A",
        "SYNCSLOTS ESTABLISH SOURCE ffffffffffffffffffffffffffffffffffffffff NAME x",
        "SYNCSLOTS ESTABLISH SOURCE B SOURCE B",
        "SYNCSLOTS ESTABLISH SOURCE B NAME aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa SLOTSRANGE",
        "SYNCSLOTS ESTABLISH SOURCE B NAME aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa SLOTSRANGE 9000",
        "SYNCSLOTS ESTABLISH SOURCE B NAME aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa SLOTSRANGE 9000 5",
        "SYNCSLOTS ESTABLISH SOURCE B NAME aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa SLOTSRANGE 5 9000",
        "CANCELSLOTMIGRATIONS",
        "CANCELSLOTMIGRATIONS ALL",
        "GETSLOTMIGRATIONS",
        "GETSLOTMIGRATIONS x",
        "SYNCSLOTS FOO",
        "SYNCSLOTS ACK",
        "SYNCSLOTS PAUSED",
        "SYNCSLOTS SNAPSHOT-EOF",
        "SYNCSLOTS REQUEST-PAUSE",
        "SYNCSLOTS FAILOVER-GRANTED",
        "SYNCSLOTS ESTABLISH SOURCE B NAME short SLOTSRANGE 0 1",
        "SYNCSLOTS ESTABLISH SOURCE A NAME aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa SLOTSRANGE 0 1",
        "SYNCSLOTS ESTABLISH SOURCE B NAME aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa SLOTSRANGE 0 1",
        "SYNCSLOTS ESTABLISH SOURCE B NAME aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "SYNCSLOTS ESTABLISH SOURCE B SLOTSRANGE 9000 9001",
        "SYNCSLOTS ESTABLISH SOURCE B NAME aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa SLOTSRANGE 2 1",
        "SYNCSLOTS ESTABLISH SOURCE ffffffffffffffffffffffffffffffffffffffff NAME aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa SLOTSRANGE 9000 9001",
    ] {
        let replies = pairs.each_ref().map(|[a, b]| {
            let words: Vec<String> = line
                .split(' ')
                .map(|word| match word {
                    "A" => a.id(),
                    "B" => b.id(),
                    word => word.to_owned(),
                })
                .collect();
            format!("{:?}", a.ask(&format!("CLUSTER {}", words.join(" "))))
        });
        assert_eq!(replies[0], replies[1], "{line}");
    }
}
