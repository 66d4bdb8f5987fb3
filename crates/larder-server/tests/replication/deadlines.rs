//! Deadlines that pass while a server is down, loads, or is sent data: who deletes what is over, and that everybody else hears of it. The
//! cells of the table in `docs/design/replication.md`, with servers of every kind beside each other.
//!
//! After each event primary and replicas have the same data, with the same deadlines, and what is written then finds the same on all of
//! them: an element pushed to a list whose time is over begins a new list.

use crate::{follow, info, offset, start, wait_for_link, wait_until};
use larder_testkit::{Client, Kind, Server, Value, wait_until_rewritten};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The event is a restart with a snapshot that the end of the server has saved.
const SAVED: &[&str] = &["--save", "3600 1000000", "--repl-ping-replica-period", "3600"];
const LOGGED: &[&str] = &["--appendonly", "yes", "--repl-ping-replica-period", "3600"];

/// Keys and fields whose time is over at once. They stay, as nothing looks for them.
fn fill(client: &mut Client) {
    client.ask("DEBUG SET-ACTIVE-EXPIRE 0");
    for line in [
        "SET keep 1",
        "SET text 41",
        "RPUSH list old",
        "SADD set old",
        "HSET hash keep 1",
        "HSETEX hash PX 1 FIELDS 2 f 41 g 41",
        "HSETEX all PX 1 FIELDS 2 a 1 b 2",
        "PEXPIRE text 1",
        "PEXPIRE list 1",
        "PEXPIRE set 1",
        "SELECT 3",
        "SET text 41",
        "PEXPIRE text 1",
        "SELECT 0",
    ] {
        let reply = client.ask(line);
        assert!(!reply.is_error(), "{line}: {reply}");
    }
    client.ask("DEBUG SLEEP 0.005");
}

/// Writes whose outcome depends on what is there.
fn write(client: &mut Client) {
    for line in [
        "RPUSH list new",
        "INCR text",
        "SADD set new",
        "SET text2 1 NX",
        "HINCRBY hash f 1",
        "HSETNX all a new",
        "APPEND keep 2",
        "SELECT 3",
        "SET text 1 NX",
        "SELECT 0",
    ] {
        let reply = client.ask(line);
        assert!(!reply.is_error(), "{line}: {reply}");
    }
}

/// All keys with their values and deadlines, and the fields of hashes with theirs.
fn state(client: &mut Client) -> BTreeMap<String, String> {
    let mut state = BTreeMap::new();
    for db in [0, 3] {
        client.ask(&format!("SELECT {db}"));
        for name in client.ask("KEYS *").items() {
            let name = name.text();
            let question = match client.ask(&format!("TYPE {name}")).text().as_str() {
                "string" => format!("GET {name}"),
                "list" => format!("LRANGE {name} 0 -1"),
                "set" => format!("SORT_RO {name} ALPHA"),
                _ => format!("HGETALL {name}"),
            };
            let is_hash = question.starts_with("HGETALL");
            let mut value = match client.ask(&question) {
                Value::Array(items) if is_hash => fields(client, &name, &items),
                other => format!("{other:?}"),
            };
            value += &format!(" until {}", client.ask(&format!("PEXPIRETIME {name}")));
            // A hash without a field that can be seen is none.
            if !value.starts_with(" until") {
                state.insert(format!("{db}/{name}"), value);
            }
        }
    }
    client.ask("SELECT 0");
    state
}

fn fields(client: &mut Client, name: &str, items: &[Value]) -> String {
    let mut fields: Vec<String> = Vec::new();
    for pair in items.chunks(2) {
        let field = pair[0].text();
        let until = client.ask(&format!("HPEXPIRETIME {name} FIELDS 1 {field}"));
        fields.push(format!("{field}={}{:?}", pair[1].text(), until.items()));
    }
    fields.sort();
    fields.join(" ")
}

/// What a client cannot see: whether there are keys that are over and not deleted.
fn sizes(client: &mut Client) -> [i64; 2] {
    [0, 3].map(|db| {
        client.ask(&format!("SELECT {db}"));
        let size = client.ask("DBSIZE").int();
        client.ask("SELECT 0");
        size
    })
}

fn wait_for_offsets(what: &str, primary: &Server, replica: &Server) {
    let (mut ours, mut theirs) = (primary.client(), replica.client());
    wait_for_link(&mut theirs);
    wait_until(&format!("{what}: the offsets meet"), || offset(&mut ours) == offset(&mut theirs));
}

/// Primary and replica have the same, and so have they after more writes and after a promotion.
fn check_same(what: &str, primary: &Server, replicas: &[&Server]) -> BTreeMap<String, String> {
    let mut ours = primary.client();
    let mut last = BTreeMap::new();
    for round in ["at first", "after writes", "after what was left has expired"] {
        match round {
            "after writes" => write(&mut ours),
            "after what was left has expired" => {
                ours.ask("DEBUG SET-ACTIVE-EXPIRE 1");
                // Hashes with fields that have expired are counted apart from keys with a deadline.
                let is_clean = |client: &mut Client| {
                    let line = info(client, "keyspace", "db0");
                    line.contains("expires=0,") && line.ends_with("keys_with_volatile_items=0")
                };
                wait_until("nothing is over any more", || is_clean(&mut ours));
            }
            _ => {}
        }
        let expected = state(&mut ours);
        for replica in replicas {
            wait_for_offsets(what, primary, replica);
            let mut theirs = replica.client();
            assert_eq!(state(&mut theirs), expected, "{what}, {round}\n{}", replica.log());
            let (digest, other) = (ours.ask("DEBUG DIGEST"), theirs.ask("DEBUG DIGEST"));
            assert_eq!(digest.text(), other.text(), "{what}, {round}");
            if round != "at first" {
                assert_eq!(sizes(&mut theirs), sizes(&mut ours), "{what}, {round}");
            }
        }
        last = expected;
    }
    for replica in replicas {
        let mut client = replica.client();
        client.ask("REPLICAOF NO ONE");
        assert_eq!(state(&mut client), last, "{what}, promoted");
    }
    last
}

/// A primary with data that is over, and a replica of it that has everything.
fn pair(primary: Kind, replica: Kind, args: &[&str]) -> (Server, Server) {
    let (first, second) = (start(primary, args), start(replica, args));
    follow(&mut second.client(), &first);
    wait_for_link(&mut second.client());
    // A server does not end before its log has a base.
    if args.contains(&"--appendonly") {
        wait_until_rewritten(&mut second.client());
    }
    fill(&mut first.client());
    wait_for_offsets("filled", &first, &second);
    (first, second)
}

fn args_for<'a>(server: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let common = ["--enable-debug-command", "yes", "--repl-diskless-sync-delay", "0"];
    let mut args = [&common[..], more].concat();
    if !server.is_empty() {
        args.extend(["--replicaof", server]);
    }
    args
}

/// Role: primary. Source: RDB file. Moment: start. What is over is dropped, and its replicas, which go on without a snapshot, are told.
#[test]
fn a_primary_that_loads_its_snapshot_tells_what_it_drops() {
    let kinds = [Kind::Larder, Kind::Valkey];
    let mut outcomes = Vec::new();
    for (primary, replica) in kinds.into_iter().flat_map(|kind| kinds.map(|other| (kind, other))) {
        let what = format!("{primary:?} with {replica:?}");
        let (mut first, second) = pair(primary, replica, SAVED);
        assert!(first.stop().success());
        assert!(first.start_again(&args_for("", SAVED)), "{}", first.log());
        first.client().ask("DEBUG SET-ACTIVE-EXPIRE 0");
        wait_for_offsets(&what, &first, &second);
        let mut client = first.client();
        assert_eq!(info(&mut client, "stats", "sync_full"), "0", "{what}: no snapshot was needed");
        assert_eq!(sizes(&mut second.client()), sizes(&mut client), "{what}: nothing is left");
        outcomes.push(check_same(&what, &first, &[&second]));
    }
    assert!(outcomes.windows(2).all(|pair| pair[0] == pair[1]), "{outcomes:?}");
}

/// The deletions are more than the backlog holds: the replica is sent a snapshot.
#[test]
fn a_primary_that_cannot_tell_all_that_it_drops_sends_a_snapshot() {
    let small = [SAVED, &["--repl-backlog-size", "16kb"]].concat();
    let (mut first, second) = (start(Kind::Larder, &small), start(Kind::Larder, &small));
    follow(&mut second.client(), &first);
    wait_for_link(&mut second.client());
    let mut client = first.client();
    client.ask("DEBUG SET-ACTIVE-EXPIRE 0");
    (0..3000).for_each(|i| client.send(&["SET", &format!("key number {i}"), "v", "PX", "1"]));
    (0..3000).for_each(|_| drop(client.read().expect("it answers")));
    wait_for_offsets("filled", &first, &second);
    assert!(first.stop().success());
    assert!(first.start_again(&args_for("", &small)), "{}", first.log());
    wait_until("there is a snapshot", || info(&mut first.client(), "stats", "sync_full") == "1");
    check_same("a small backlog", &first, &[&second]);
}

/// Role: primary. Source: append-only file, with a base of either form. Moment: start. Nothing is dropped while it is loaded.
#[test]
fn a_primary_that_loads_its_log_deletes_afterwards() {
    let mut outcomes = Vec::new();
    for (preamble, primary, replica) in [
        ("yes", Kind::Larder, Kind::Larder),
        ("no", Kind::Larder, Kind::Larder),
        ("yes", Kind::Larder, Kind::Valkey),
        ("yes", Kind::Valkey, Kind::Larder),
        ("no", Kind::Valkey, Kind::Valkey),
    ] {
        let what = format!("{primary:?} with {replica:?}, preamble: {preamble}");
        let args = [LOGGED, &["--aof-use-rdb-preamble", preamble]].concat();
        let (mut first, second) = pair(primary, replica, &args);
        first.client().ask("BGREWRITEAOF");
        wait_until_rewritten(&mut first.client());
        assert!(first.stop().success());
        assert!(first.start_again(&args_for("", &args)), "{}", first.log());
        outcomes.push(check_same(&what, &first, &[&second]));
        if primary == Kind::Larder {
            assert_eq!(info(&mut first.client(), "stats", "sync_full"), "0", "{what}");
        }
        wait_until_rewritten(&mut second.client());
    }
    assert!(outcomes.windows(2).all(|pair| pair[0] == pair[1]), "{outcomes:?}");
}

/// Role: primary. Source: RDB and append-only file. Moment: DEBUG RELOAD, DEBUG LOADAOF. Replicas and the log learn of what is dropped; of what is
/// replayed they get nothing. (After DEBUG RELOAD Valkey's replicas keep what it has dropped.)
#[test]
fn a_primary_that_loads_again_tells_what_it_drops() {
    for replica in [Kind::Larder, Kind::Valkey] {
        for reload in ["DEBUG RELOAD", "DEBUG LOADAOF", "DEBUG RELOAD NOSAVE"] {
            let what = format!("{reload} with {replica:?}");
            let args = [LOGGED, &["--appendfsync", "always"]].concat();
            let (mut first, second) = pair(Kind::Larder, replica, &args);
            let mut client = first.client();
            client.ask("INCR counter");
            assert_eq!(client.ask("SAVE").text(), "OK");
            assert_eq!(client.ask(reload).text(), "OK");
            assert_eq!(client.ask("GET counter").text(), "1", "{what}");
            let before = check_same(&what, &first, &[&second]);
            // What was written since is in the log, and nothing of what was dropped.
            first.kill();
            assert!(first.start_again(&args_for("", &args)), "{}", first.log());
            assert_eq!(state(&mut first.client()), before, "{what}, killed");
        }
    }
}

/// Runs `restart` on a server whose keys have a deadline, which passes meanwhile, and which their primary extends before it does.
fn while_deadlines_are_extended(primary: &Server, restart: &mut dyn FnMut(&mut dyn FnMut())) {
    let mut ttl_ms = 800;
    loop {
        let mut client = primary.client();
        client.ask("FLUSHALL");
        client.ask("DEBUG SET-ACTIVE-EXPIRE 0");
        let begin = Instant::now();
        for line in ["RPUSH list old", "SET text 41", "SADD set old"] {
            client.ask(line);
        }
        client.ask(&format!("HSETEX hash PX {ttl_ms} FIELDS 2 f 41 g 41"));
        client.ask("HSET hash keep 1");
        client.ask(&format!("HSETEX all PX {ttl_ms} FIELDS 1 a 41"));
        for key in ["list", "text", "set"] {
            client.ask(&format!("PEXPIRE {key} {ttl_ms}"));
        }
        let mut was_early = false;
        restart(&mut || {
            for line in ["PEXPIRE list 10000000", "PERSIST text", "PEXPIRE set 10000000"] {
                client.ask(line);
            }
            client.ask("HPEXPIRE hash 10000000 FIELDS 2 f g");
            client.ask("HPERSIST all FIELDS 1 a");
            was_early = begin.elapsed() + Duration::from_millis(50) < Duration::from_millis(ttl_ms);
            let left = Duration::from_millis(ttl_ms + 20).saturating_sub(begin.elapsed());
            std::thread::sleep(left);
        });
        if was_early {
            return;
        }
        // The machine is busy: what was to be extended was over.
        ttl_ms *= 3;
    }
}

/// Role: replica. Source: RDB file, append-only file. Moment: start. It must not judge: the primary has extended what its own file has as over.
#[test]
fn a_replica_that_starts_drops_nothing() {
    let mut outcomes = Vec::new();
    for (primary, replica, args) in [
        (Kind::Larder, Kind::Larder, SAVED),
        (Kind::Larder, Kind::Larder, LOGGED),
        (Kind::Larder, Kind::Valkey, SAVED),
        (Kind::Valkey, Kind::Larder, SAVED),
        (Kind::Valkey, Kind::Larder, LOGGED),
        (Kind::Valkey, Kind::Valkey, SAVED),
    ] {
        let what = format!("{replica:?} follows {primary:?} with {args:?}");
        let (first, mut second) = (start(primary, args), start(replica, args));
        follow(&mut second.client(), &first);
        wait_for_link(&mut second.client());
        if args == LOGGED {
            wait_until_rewritten(&mut second.client());
        }
        let upstream = format!("127.0.0.1 {}", first.port());
        while_deadlines_are_extended(&first, &mut |extend| {
            wait_for_offsets(&what, &first, &second);
            assert!(second.stop().success());
            extend();
            assert!(second.start_again(&args_for(&upstream, args)), "{}", second.log());
        });
        wait_for_offsets(&what, &first, &second);
        let full: i64 = info(&mut first.client(), "stats", "sync_full").parse().expect("a number");
        assert_eq!(full, 1, "{what}: no snapshot was needed");
        let client = &mut first.client();
        assert_eq!(client.ask("RPUSH list new").int(), 2);
        wait_for_offsets(&what, &first, &second);
        let (ours, theirs) = (state(client), state(&mut second.client()));
        assert_eq!(theirs, ours, "{what}");
        assert_eq!(client.ask("DEBUG DIGEST"), second.client().ask("DEBUG DIGEST"), "{what}");
        let without_times: Vec<String> = ours
            .values()
            .map(|value| value.split(" until").next().unwrap_or_default().len().to_string())
            .collect();
        outcomes.push(without_times);
    }
    assert!(outcomes.windows(2).all(|pair| pair[0] == pair[1]), "{outcomes:?}");
}

/// Role: replica of a replica. Its own primary starts again, and has dropped nothing.
#[test]
fn a_replica_in_the_middle_drops_nothing() {
    for (middle, last, args) in [
        (Kind::Larder, Kind::Valkey, SAVED),
        (Kind::Larder, Kind::Larder, LOGGED),
        (Kind::Valkey, Kind::Larder, SAVED),
    ] {
        let what = format!("{middle:?} before {last:?} with {args:?}");
        let (first, mut second, third) = (start(Kind::Larder, args), start(middle, args), start(last, args));
        for (replica, upstream) in [(&second, &first), (&third, &second)] {
            follow(&mut replica.client(), upstream);
            wait_for_link(&mut replica.client());
            wait_until_rewritten(&mut replica.client());
        }
        let upstream = format!("127.0.0.1 {}", first.port());
        while_deadlines_are_extended(&first, &mut |extend| {
            wait_for_offsets(&what, &first, &second);
            wait_for_offsets(&what, &first, &third);
            assert!(second.stop().success());
            extend();
            assert!(second.start_again(&args_for(&upstream, args)), "{}", second.log());
        });
        let client = &mut first.client();
        client.ask("RPUSH list new");
        for replica in [&second, &third] {
            wait_for_offsets(&what, &first, replica);
            assert_eq!(state(&mut replica.client()), state(client), "{what}");
            assert_eq!(client.ask("DEBUG DIGEST"), replica.client().ask("DEBUG DIGEST"), "{what}");
        }
    }
}

/// Role: replica. Source: the snapshot of its primary. Moment: full synchronization, in each way. It has what is over, until it is told.
#[test]
fn a_snapshot_of_the_primary_is_taken_as_it_is() {
    for primary in [Kind::Larder, Kind::Valkey] {
        for load in ["disabled", "on-empty-db", "swapdb", "flush-before-load"] {
            for replica in [Kind::Larder, Kind::Valkey] {
                let what = format!("{replica:?} follows {primary:?} with {load}");
                let (first, second) = (start(primary, &[]), start(replica, &["--repl-diskless-load", load]));
                second.client().ask("SET old data");
                fill(&mut first.client());
                follow(&mut second.client(), &first);
                wait_for_offsets(&what, &first, &second);
                assert_eq!(sizes(&mut second.client()), sizes(&mut first.client()), "{what}");
                check_same(&what, &first, &[&second]);
            }
        }
    }
}

/// Role: replica. Source: its own files. Moment: DEBUG RELOAD, DEBUG LOADAOF, while the primary writes. (Valkey loses writes by DEBUG LOADAOF.)
#[test]
fn a_replica_that_loads_again_misses_nothing() {
    for (replica, reloads) in
        [(Kind::Larder, &["DEBUG RELOAD", "DEBUG LOADAOF"][..]), (Kind::Valkey, &["DEBUG RELOAD"])]
    {
        for &reload in reloads {
            // Of many keys, so that it takes a while.
            let (first, second) = (start(Kind::Larder, &[]), start(replica, LOGGED));
            let mut client = first.client();
            client.ask("SELECT 5");
            client.ask("DEBUG POPULATE 20000 filler 50");
            client.ask("SELECT 0");
            follow(&mut second.client(), &first);
            wait_for_link(&mut second.client());
            wait_until_rewritten(&mut second.client());
            fill(&mut client);
            let stop = AtomicBool::new(false);
            std::thread::scope(|scope| {
                let (first, stop) = (&first, &stop);
                let writer = scope.spawn(move || {
                    let mut client = first.client();
                    while !stop.load(Ordering::Relaxed) {
                        for line in ["INCR counter", "RPUSH numbers 1", "SADD set new", "HINCRBY counts f 1"]
                        {
                            client.ask(line);
                        }
                    }
                });
                let mut theirs = second.client();
                for _ in 0..5 {
                    let reply = theirs.ask(reload);
                    assert_eq!(reply.text(), "OK", "{reload} of {replica:?}: {}", second.log());
                }
                stop.store(true, Ordering::Relaxed);
                writer.join().expect("the writer ends");
            });
            check_same(&format!("{reload} of {replica:?}"), &first, &[&second]);
        }
    }
}

/// What clients write to a writable replica, its primary knows nothing of: the replica deletes it itself. What the primary has set it leaves alone.
#[test]
fn a_writable_replica_deletes_its_own_keys() {
    let outcomes = [Kind::Larder, Kind::Valkey].map(|kind| {
        let args = [LOGGED, &["--appendfsync", "always", "--replica-read-only", "no"]].concat();
        let (first, second) = (start(Kind::Larder, &[]), start(kind, &args));
        let (mut ours, mut theirs) = (first.client(), second.client());
        follow(&mut theirs, &first);
        wait_for_link(&mut theirs);
        wait_until_rewritten(&mut theirs);
        ours.ask("DEBUG SET-ACTIVE-EXPIRE 0");
        for line in ["RPUSH extended 1", "SET overdue 1 PX 1", "SET longer 1 PX 10000000"] {
            ours.ask(line);
        }
        wait_for_offsets("filled", &first, &second);
        for line in [
            "SET plain 1",
            "SET text 1 PX 100",
            "RPUSH list 1",
            "PEXPIRE list 100",
            "PEXPIRE extended 100",
            "SET name 1 PX 100",
            "RENAME name renamed",
            "SET later 1 PX 100",
            "PEXPIRE later 10000000",
            "SET kept 1 PX 100",
            "PERSIST kept",
            "SET longer 2 KEEPTTL",
            "SELECT 3",
            "SET text 1 PX 100",
            "SELECT 0",
        ] {
            let reply = theirs.ask(line);
            assert!(!reply.is_error(), "{line}: {reply}");
        }
        let tracked = |client: &mut Client| info(client, "stats", "slave_expires_tracked_keys");
        wait_until("its own keys go", || sizes(&mut theirs)[1] == 0 && tracked(&mut theirs) == "1");
        let left = state(&mut theirs).into_keys().collect::<Vec<_>>();
        let counted = info(&mut theirs, "stats", "expired_keys");
        let size = sizes(&mut theirs);
        // The log has it, too.
        let mut second = second;
        second.kill();
        assert!(second.start_again(&args_for("", &args)), "{}", second.log());
        let again = state(&mut second.client()).into_keys().collect::<Vec<_>>();
        assert_eq!(again, left, "{kind:?}");
        (left, counted, size)
    });
    assert_eq!(outcomes[0], outcomes[1]);
}

/// RESTORE of a key whose deadline is over, and of a hash with such fields.
#[test]
fn what_is_restored_is_judged_by_the_primary_alone() {
    let mut outcomes = Vec::new();
    for (primary, replica) in [
        (Kind::Larder, Kind::Larder),
        (Kind::Larder, Kind::Valkey),
        (Kind::Valkey, Kind::Larder),
        (Kind::Valkey, Kind::Valkey),
    ] {
        let (first, second) = pair(primary, replica, LOGGED);
        let mut client = first.client();
        client.ask("SET there 1");
        for key in ["keep", "hash", "all"] {
            let Value::Bulk(payload) = client.cmd(&["DUMP", key]) else { panic!("{key} is there") };
            for (name, rest) in [
                ("forever", &["0"][..]),
                ("over", &["1000", "ABSTTL"]),
                ("there", &["1000", "ABSTTL", "REPLACE"]),
            ] {
                let name = format!("{key} {name}");
                let name = if name == "keep there" { "there".to_owned() } else { name.replace(' ', "-") };
                let mut words: Vec<&[u8]> = vec![b"RESTORE", name.as_bytes(), rest[0].as_bytes(), &payload];
                words.extend(rest[1..].iter().map(|word| word.as_bytes()));
                assert_eq!(client.cmd(&words).text(), "OK", "{name}");
            }
        }
        let what = format!("RESTORE by {primary:?} with {replica:?}");
        outcomes.push(check_same(&what, &first, &[&second]));
    }
    assert!(outcomes.windows(2).all(|pair| pair[0] == pair[1]), "{outcomes:?}");
}

/// A server that takes data over from another (`import-mode`) leaves it to that to say what expires. Valkey drops what is over at its start.
#[test]
fn a_server_that_imports_drops_nothing() {
    let mut server = start(Kind::Larder, SAVED);
    fill(&mut server.client());
    let before = sizes(&mut server.client());
    assert!(server.stop().success());
    assert!(
        server.start_again(&args_for("", &[SAVED, &["--import-mode", "yes"]].concat())),
        "{}",
        server.log()
    );
    assert_eq!(sizes(&mut server.client()), before);
    assert_eq!(server.client().ask("DEBUG RELOAD").text(), "OK");
    assert_eq!(sizes(&mut server.client()), before);
    server.client().ask("CONFIG SET import-mode no");
    wait_until("what is over goes", || sizes(&mut server.client()) == [2, 0]);
}

/// A replica that has just come back does not get a PING at once, which Valkey sends once in a period, too.
#[test]
fn a_primary_that_has_started_sends_nothing_by_itself() {
    let check = |kind: Kind| {
        let args = &["--save", "3600 1000000", "--repl-ping-replica-period", "5"];
        let (mut first, second) = (start(kind, args), start(Kind::Larder, args));
        follow(&mut second.client(), &first);
        wait_for_link(&mut second.client());
        first.client().ask("SET a 1");
        wait_for_offsets("filled", &first, &second);
        assert!(first.stop().success());
        assert!(first.start_again(&args_for("", args)), "{}", first.log());
        let at_start = offset(&mut first.client());
        wait_for_link(&mut second.client());
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_millis(1500) {
            assert_eq!(offset(&mut first.client()), at_start, "{kind:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
        wait_until("a PING comes", || offset(&mut first.client()) > at_start);
    };
    std::thread::scope(|scope| {
        [Kind::Larder, Kind::Valkey].map(|kind| drop(scope.spawn(move || check(kind))))
    });
}
