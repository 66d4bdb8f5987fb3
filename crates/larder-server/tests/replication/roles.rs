//! What a role allows, and how it changes: compared with Valkey where that says something.

use crate::{follow, info, start, wait_for_link, wait_for_same_data, wait_until};
use larder_testkit::{Client, Kind, Port, Server, Value};
use std::time::{Duration, Instant};

/// A primary and a replica of a kind.
fn pair(kind: Kind, args: &[&str]) -> (Server, Server) {
    let (primary, replica) = (start(kind, args), start(kind, args));
    let mut theirs = replica.client();
    follow(&mut theirs, &primary);
    wait_for_link(&mut theirs);
    let mut ours = primary.client();
    wait_until("the replica is online", || ours.ask("ROLE").items()[2].items().len() == 1);
    (primary, replica)
}

/// Commands to a replica, with the answers that Valkey gives.
const ON_A_REPLICA: &[&str] = &[
    "SET a 1",
    "GET a",
    "DEL none",
    "EXPIRE none 1",
    "FLUSHALL",
    "GETEX none",
    "SORT none",
    "XREADGROUP GROUP g c STREAMS x >",
    "BLPOP l 1",
    "PFCOUNT p",
    "SCRIPT LOAD \"return 1\"",
    "PUBLISH c m",
    "EVAL \"return redis.call('set','a',1)\" 0",
    "EVAL \"return redis.pcall('set','a',1)['err']\" 0",
    "EVAL_RO \"return redis.call('get','a')\" 0",
    "EVAL \"#!lua flags=no-writes\\nreturn 1\" 0",
    "EVAL \"#!lua\\nreturn 1\" 0",
    "FUNCTION LOAD \"#!lua name=l\\nredis.register_function('f', function() end)\"",
    "MULTI",
    "SET a 1",
    "EXEC",
    "MULTI",
    "GET a",
    "EXEC",
    "WAIT 0 0",
    "WAIT 1 10",
    "WAITAOF 0 1 10",
    "WAITAOF 1 0 10",
    "FAILOVER",
    "FAILOVER ABORT",
    "REPLICAOF 127.0.0.1 x",
    "REPLICAOF 127.0.0.1 70000",
    "REPLICAOF 127.0.0.1",
    "SLAVEOF no",
    "REPLCONF",
    "REPLCONF capa",
    "REPLCONF what ever",
    "REPLCONF listening-port x",
    "REPLCONF version 1.2",
    "REPLCONF rdb-only 2",
    "REPLCONF rdb-filter-only x",
    "REPLCONF listening-port 5 capa eof",
    "CONFIG SET replicaof \"a 1\"",
    "INFO commandstats2",
    "PSYNC",
    "MULTI",
    "REPLICAOF NO ONE",
    "GET a",
    "EXEC",
    "ROLE",
    "SET a 5",
    "REPLICAOF NO ONE",
];

#[test]
fn a_replica_answers_as_valkey_does() {
    let (_valkey, theirs) = pair(Kind::Valkey, &[]);
    let (_larder, ours) = pair(Kind::Larder, &[]);
    let (mut theirs, mut ours) = (theirs.client(), ours.client());
    let mut differences = String::new();
    for command in ON_A_REPLICA {
        let words = larder_testkit::words(command);
        let (expected, reply) = (theirs.cmd(&words), ours.cmd(&words));
        let is_same = if *command == "ROLE" {
            expected.items().first() == reply.items().first()
        } else {
            expected == reply
        };
        if !is_same {
            differences += &format!("{command}\n  valkey {expected}\n  larder {reply}\n");
        }
    }
    Kind::Valkey.judge(&mut theirs, &differences);
}

/// The fields of INFO replication and their order.
#[test]
fn info_has_the_fields_of_valkey() {
    let fields = |server: &Server| -> Vec<String> {
        let text = server.client().ask("INFO replication").text();
        text.lines().filter_map(|line| line.split_once(':').map(|(name, _)| name.to_owned())).collect()
    };
    let ((primary, replica), (ours, our_replica)) = (pair(Kind::Valkey, &[]), pair(Kind::Larder, &[]));
    assert_eq!(fields(&ours), fields(&primary));
    assert_eq!(fields(&our_replica), fields(&replica));
    drop((primary, ours));
    let is_down = |server: &Server| info(&mut server.client(), "replication", "master_link_status") == "down";
    wait_until("both links are down", || is_down(&replica) && is_down(&our_replica));
    assert_eq!(fields(&our_replica), fields(&replica));
}

/// Clients that wait when the server becomes a replica are told so, and closed.
#[test]
fn who_waits_is_sent_away() {
    let primary = start(Kind::Larder, &[]);
    let server = start(Kind::Larder, &["--threads", "2"]);
    let mut waiting: Vec<Client> = (0..4).map(|_| server.client()).collect();
    for (at, client) in waiting.iter_mut().enumerate() {
        client.send(
            &[["BLPOP", "l", "0"], ["BZPOPMIN", "z", "0"], ["WAIT", "1", "0"], ["BRPOP", "m", "0"]][at],
        );
    }
    let mut client = server.client();
    wait_until("they wait", || info(&mut client, "clients", "blocked_clients") == "4");
    follow(&mut client, &primary);
    for client in &mut waiting {
        assert!(client.read().unwrap().text().starts_with("UNBLOCKED force unblock"));
        assert!(client.read().is_err());
    }
}

#[test]
fn writes_need_enough_replicas() {
    let (primary, mut replica) =
        pair(Kind::Larder, &["--min-replicas-to-write", "1", "--min-replicas-max-lag", "3"]);
    let mut client = primary.client();
    assert_eq!(client.ask("SET a 1").text(), "OK");
    assert_eq!(client.ask("WAIT 1 5000").int(), 1);
    assert_eq!(client.ask("WAITAOF 0 1 10").items()[1].int(), 0);
    assert_eq!(info(&mut client, "replication", "min_slaves_good_slaves"), "1");
    replica.kill();
    wait_until("writes are refused", || client.ask("SET a 1").text().starts_with("NOREPLICAS"));
    client.ask("CONFIG SET min-replicas-to-write 0");
    assert_eq!(client.ask("SET a 1").text(), "OK");
    assert_eq!(client.ask("WAIT 1 20").int(), 0);
}

/// A replica with an append-only file says what it has on its disk.
#[test]
fn waitaof_counts_the_disks_of_replicas() {
    for kind in [Kind::Larder, Kind::Valkey] {
        let primary = start(Kind::Larder, &["--appendonly", "yes", "--appendfsync", "always"]);
        let replica = start(kind, &["--appendonly", "yes", "--appendfsync", "always"]);
        let (mut ours, mut theirs) = (primary.client(), replica.client());
        follow(&mut theirs, &primary);
        wait_for_link(&mut theirs);
        ours.ask("SET a 1");
        let reply = ours.ask("WAITAOF 1 1 20000");
        assert_eq!(reply, Value::Array(vec![Value::Int(1), Value::Int(1)]), "{}", kind.name());
    }
}

#[test]
fn without_its_primary_a_replica_serves_what_it_may() {
    let (primary, replica) = pair(Kind::Larder, &[]);
    primary.client().ask("SET a 1");
    let mut client = replica.client();
    wait_until("it has come", || client.ask("GET a").text() == "1");
    client.ask("CONFIG SET replica-serve-stale-data no");
    assert_eq!(client.ask("GET a").text(), "1");
    drop(primary);
    wait_until("the data is not served", || client.ask("GET a").text().starts_with("MASTERDOWN"));
    assert!(client.ask("PING").text().starts_with("MASTERDOWN"));
    assert!(!client.ask("INFO").is_error() && !client.ask("ROLE").is_error());
    client.ask("CONFIG SET replica-serve-stale-data yes");
    assert_eq!(client.ask("GET a").text(), "1");
}

/// FAILOVER: the replica leads, the primary follows it, and nothing is copied.
#[test]
fn a_primary_hands_over() {
    for kind in [Kind::Larder, Kind::Valkey] {
        let (primary, replica) = (start(Kind::Larder, &["--threads", "2"]), start(kind, &[]));
        let (mut ours, mut theirs) = (primary.client(), replica.client());
        follow(&mut theirs, &primary);
        wait_for_link(&mut theirs);
        (0..500).for_each(|n| drop(ours.ask(&format!("RPUSH list {n}"))));
        let begun = Instant::now();
        assert_eq!(ours.ask(&format!("FAILOVER TO 127.0.0.1 {} TIMEOUT 10000", replica.port())).text(), "OK");
        wait_until("the replica leads", || theirs.ask("SET by-the-new 1").text() == "OK");
        let took = begun.elapsed();
        wait_for_same_data(kind.name(), &replica, &primary);
        assert!(ours.ask("SET a 1").text().starts_with("READONLY"));
        assert_eq!(info(&mut theirs, "stats", "sync_full"), "0");
        assert_eq!(info(&mut theirs, "stats", "sync_partial_ok"), "1");
        println!("{}: {took:?}", kind.name());
    }
}

#[test]
fn a_failover_that_cannot_be_is_given_up() {
    let (primary, replica) = (start(Kind::Larder, &[]), start(Kind::Valkey, &[]));
    let (mut client, mut theirs) = (primary.client(), replica.client());
    follow(&mut theirs, &primary);
    wait_for_link(&mut theirs);
    wait_until("the replica is online", || client.ask("ROLE").items()[2].items().len() == 1);
    for (command, error) in [
        ("FAILOVER TO 127.0.0.1 1", "ERR FAILOVER target HOST and PORT is not a replica."),
        (
            "FAILOVER TO 127.0.0.1 1 FORCE",
            "ERR FAILOVER with force option requires both a timeout and target HOST and IP.",
        ),
        ("FAILOVER TIMEOUT 0", "ERR FAILOVER timeout must be greater than 0"),
        ("FAILOVER ABORT", "ERR No failover in progress."),
    ] {
        assert_eq!(client.ask(command).text(), error);
    }
    // A replica that does not go on has not everything.
    let mut stopped = replica.client();
    stopped.send(&["DEBUG", "SLEEP", "5"]);
    wait_until("it sleeps", || {
        client.ask("SET a 1");
        client.ask("WAIT 1 100").int() == 0
    });
    assert_eq!(client.ask("FAILOVER TIMEOUT 300").text(), "OK");
    // As Valkey tells it.
    assert_eq!(info(&mut client, "clients", "paused_reason"), "failover_in_progress");
    assert_eq!(info(&mut client, "clients", "paused_actions"), "write");
    assert_eq!(client.ask("FAILOVER").text(), "ERR FAILOVER already in progress.");
    assert_eq!(info(&mut client, "replication", "master_failover_state"), "waiting-for-sync");
    // Writes wait, and go on when it is given up.
    assert_eq!(client.ask("SET a 2").text(), "OK");
    assert_eq!(info(&mut client, "replication", "master_failover_state"), "no-failover");
    assert_eq!(info(&mut client, "clients", "paused_reason"), "none");
    assert_eq!(client.ask("ROLE").items()[0].text(), "master");
}

/// What is written between CONFIG REWRITE and a restart survives.
#[test]
fn the_role_is_kept_by_config_rewrite() {
    let dir = std::env::temp_dir().join(format!("larder-role-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let file = dir.join("larder.conf");
    std::fs::write(&file, "masterauth secret\n").unwrap();
    let program = Kind::Larder.program();
    let server = Server::start(&[&program.to_string_lossy(), &file.to_string_lossy()], &[]);
    let mut client = server.client();
    assert_eq!(client.ask("REPLICAOF 127.0.0.1 7").text(), "OK");
    assert_eq!(client.ask("REPLICAOF 127.0.0.1 7").text(), "OK Already connected to specified master");
    assert_eq!(client.ask("CONFIG GET replicaof").items()[1].text(), "127.0.0.1 7");
    assert_eq!(client.ask("CONFIG REWRITE").text(), "OK");
    assert!(std::fs::read_to_string(&file).unwrap().contains("replicaof 127.0.0.1 7\n"));
    client.ask("REPLICAOF NO ONE");
    assert_eq!(client.ask("CONFIG REWRITE").text(), "OK");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(!text.contains("replicaof"), "{text}");
    std::fs::remove_dir_all(&dir).unwrap();
}

/// A primary with a password, and a user for replicas alone.
#[test]
fn replicas_log_in() {
    let primary = start(Kind::Larder, &["--requirepass", "secret"]);
    let mut ours = primary.client();
    ours.ask("AUTH secret");
    ours.ask("ACL SETUSER repl on >pw +psync +replconf +ping");
    ours.ask("SET a 1");
    for args in [&["--masterauth", "secret"][..], &["--masteruser", "repl", "--masterauth", "pw"]] {
        let replica = start(Kind::Larder, args);
        let mut theirs = replica.client();
        follow(&mut theirs, &primary);
        wait_for_link(&mut theirs);
        assert_eq!(theirs.ask("GET a").text(), "1");
    }
    let replica = start(Kind::Larder, &["--masterauth", "wrong"]);
    follow(&mut replica.client(), &primary);
    replica.wait_for_log("Unable to AUTH to PRIMARY");
    assert_eq!(info(&mut replica.client(), "replication", "master_link_status"), "down");
    assert!(!replica.log().contains("wrong\""), "the password is not in the log");
}

#[test]
fn options_do_what_they_say() {
    let primary = Server::larder(&[
        "--repl-diskless-sync-delay",
        "1000",
        "--repl-diskless-sync-max-replicas",
        "1",
        "--repl-ping-replica-period",
        "1",
        "--repl-backlog-ttl",
        "1",
        "--repl-disable-tcp-nodelay",
        "yes",
    ]);
    let replica = Server::larder(&[
        "--replica-announce-ip",
        "10.1.2.3",
        "--replica-announce-port",
        "77",
        "--replica-priority",
        "7",
        "--replica-announced",
        "no",
        "--rdb-del-sync-files",
        "yes",
        "--replica-read-only",
        "no",
        "--replica-lazy-flush",
        "no",
        "--maxmemory",
        "100kb",
        "--maxmemory-policy",
        "allkeys-lru",
    ]);
    let (mut ours, mut theirs) = (primary.client(), replica.client());
    (0..100).for_each(|n| drop(ours.ask(&format!("SET key:{n} {n}"))));
    follow(&mut theirs, &primary);
    wait_for_link(&mut theirs);
    wait_until("the replica is online", || ours.ask("ROLE").items()[2].items().len() == 1);
    assert!(info(&mut ours, "replication", "slave0").starts_with("ip=10.1.2.3,port=77,"));
    let field = |client: &mut Client, name| info(client, "replication", name);
    assert_eq!(field(&mut theirs, "slave_priority"), "7");
    assert_eq!(field(&mut theirs, "replica_announced"), "0");
    assert_eq!(field(&mut theirs, "slave_read_only"), "0");
    // replica-ignore-maxmemory: nothing is evicted, and nothing refused.
    assert_eq!(theirs.ask("SET local 1").text(), "OK");
    assert_eq!(theirs.ask("DBSIZE").int(), 101);
    assert!(!replica.dir().join("dump.rdb").exists());
    let before = crate::offset(&mut ours);
    wait_until("there are signs of life in the stream", || crate::offset(&mut ours) > before);
    drop(replica);
    wait_until("the backlog is given up", || field(&mut ours, "repl_backlog_active") == "0");
}

/// A replica that does not answer keeps its primary for `shutdown-timeout` and no longer; SHUTDOWN ABORT lets it live.
#[test]
fn the_end_waits_for_replicas_as_long_as_it_may() {
    let (mut primary, replica) =
        (start(Kind::Larder, &["--shutdown-timeout", "100"]), start(Kind::Valkey, &[]));
    let (mut ours, mut theirs) = (primary.client(), replica.client());
    follow(&mut theirs, &primary);
    wait_for_link(&mut theirs);
    wait_until("the replica is online", || ours.ask("ROLE").items()[2].items().len() == 1);
    theirs.send(&["DEBUG", "SLEEP", "20"]);
    std::thread::sleep(Duration::from_millis(100));
    ours.ask("SET a 1");
    let mut ending = primary.client();
    ending.send(&["SHUTDOWN"]);
    primary.wait_for_log("Waiting for replicas");
    let mut other = primary.client();
    wait_until("it can be aborted", || other.ask("SHUTDOWN ABORT").text() == "OK");
    assert_eq!(ending.read().unwrap().text(), "ERR Errors trying to SHUTDOWN. Check logs.");
    assert_eq!(ours.ask("SET a 2").text(), "OK");
    ours.ask("CONFIG SET shutdown-timeout 1");
    ours.send(&["SHUTDOWN"]);
    primary.wait();
}

/// The link is a client of the replica: clients list it, and may close it, after which it comes again.
#[test]
fn the_link_is_a_client_of_the_replica() {
    let (primary, replica) = (start(Kind::Larder, &[]), start(Kind::Larder, &[]));
    let mut client = replica.client();
    assert_eq!(client.ask("CLIENT LIST TYPE master").text(), "");
    follow(&mut client, &primary);
    wait_for_link(&mut client);
    // A sign of life of the primary may come after it.
    let mut line = String::new();
    wait_until("a write is the last thing that came", || {
        primary.client().ask("INCR a");
        line = client.ask("CLIENT LIST TYPE master").text();
        line.contains(" cmd=incr ")
    });
    let has = |field: &str| line.split_whitespace().any(|other| other == field);
    assert!(has("flags=M") && has("user=(superuser)"), "{line}");
    assert!(has(&format!("addr=127.0.0.1:{}", primary.port())), "{line}");
    // Its age goes on meanwhile.
    let id = |line: &str| line.split_whitespace().next().map(str::to_owned);
    assert_eq!(id(&line), id(&client.ask("CLIENT LIST TYPE primary").text()));
    assert_eq!(client.ask("CLIENT KILL USER default SKIPME yes").int(), 0);
    assert_eq!(client.ask("CLIENT KILL TYPE master").int(), 1);
    replica.wait_for_log("a client killed the connection");
    wait_for_link(&mut client);
    assert_ne!(line, client.ask("CLIENT LIST TYPE master").text());
    assert_eq!(info(&mut primary.client(), "stats", "sync_partial_ok"), "1");
    let figure = |name: &str, server: &Server| -> u64 {
        info(&mut server.client(), "stats", name).parse().expect("a number")
    };
    assert!(figure("total_net_repl_output_bytes", &primary) > 100);
    assert!(figure("total_net_repl_input_bytes", &replica) > 100);
    client.ask("REPLICAOF NO ONE");
    wait_until("the link is gone", || client.ask("CLIENT LIST TYPE master").text().is_empty());
    // Lines of the log say what the server was.
    let log = replica.wait_for_log("PRIMARY MODE enabled");
    let said_by = |text: &str, role: &str| {
        log.lines().filter(|line| line.contains(text)).all(|line| line.contains(&format!(":{role} ")))
    };
    assert!(said_by("a client killed the connection", "S") && said_by("PRIMARY MODE enabled", "M"), "{log}");
}

/// `propagation-error-behavior` on a replica: a command of the primary that fails ends it, or is counted.
#[test]
fn failing_commands_of_the_primary() {
    for (behavior, ends) in [("ignore", false), ("panic", true), ("panic-on-replicas", true)] {
        let primary = start(Kind::Larder, &[]);
        let mut replica = start(
            Kind::Larder,
            &[
                "--propagation-error-behavior",
                behavior,
                "--replica-read-only",
                "no",
                "--use-exit-on-panic",
                "yes",
            ],
        );
        let mut theirs = replica.client();
        follow(&mut theirs, &primary);
        wait_for_link(&mut theirs);
        assert_eq!(theirs.ask("SET a text").text(), "OK");
        assert_eq!(theirs.ask("CONFIG SET replica-read-only yes").text(), "OK");
        primary.client().ask("INCR a");
        replica.wait_for_log("== CRITICAL == This replica is sending an error to its primary");
        if ends {
            assert!(!replica.wait().success());
            continue;
        }
        primary.client().ask("SET b 1");
        wait_until("the stream goes on", || theirs.ask("GET b").text() == "1");
        assert_eq!(info(&mut theirs, "stats", "unexpected_error_replies"), "1");
    }
}

/// Writes that are under way when writes are paused: what is over is over for them, here and on the replica.
#[test]
fn a_write_that_a_pause_finds_under_way_begins_anew_after_what_is_over() {
    let args = ["--enable-debug-command", "yes"];
    let (primary, replica) = pair(Kind::Larder, &args);
    let (mut client, mut theirs) = (primary.client(), replica.client());
    client.ask("DEBUG SET-ACTIVE-EXPIRE 0");
    for line in [
        "SET n 5",
        "HSET h f 5 g 5",
        "SET probe 1",
        "HPEXPIRE h 1 FIELDS 1 f",
        "PEXPIRE n 1",
        "PEXPIRE probe 1",
    ] {
        client.ask(line);
    }
    // What is over goes when it is looked up: the others stay.
    wait_until("they are over", || client.ask("EXISTS probe").int() == 0);
    for line in ["MULTI", "CLIENT PAUSE 60000 WRITE", "INCR n", "HINCRBY h f 1"] {
        client.ask(line);
    }
    let replies = client.ask("EXEC");
    assert_eq!(replies.items()[1..], [Value::Int(1), Value::Int(1)]);
    client.ask("CLIENT UNPAUSE");
    wait_for_same_data("the replica", &primary, &replica);
    assert_eq!((theirs.ask("GET n").text(), theirs.ask("HGET h f").text()), ("1".to_owned(), "1".to_owned()));
}

/// CONFIG RESETSTAT forgets what Valkey's does: what INFO tells of before is 0 afterwards.
#[test]
fn resetstat_forgets_what_valkey_forgets() {
    let [ours, theirs] = [Kind::Larder, Kind::Valkey].map(|kind| {
        let args = ["--appendonly", "yes", "--latency-tracking", "yes"];
        let (primary, replica) = pair(kind, &args);
        let mut client = primary.client();
        for n in 0..600 {
            client.ask(&format!("SET key:{n} {n} PX 100000000"));
            client.ask(&format!("EVAL 'return {n}' 0"));
        }
        for line in
            ["GET none", "GET key:1", "NOSUCH", "AUTH nobody x", "SET e 1 PX 1", "SAVE", "BGREWRITEAOF"]
        {
            client.ask(line);
        }
        client.ask("CLIENT KILL TYPE replica");
        wait_until("it comes again", || info(&mut client, "stats", "sync_partial_ok") == "1");
        wait_until("the log is rewritten", || info(&mut client, "persistence", "aof_rewrites") == "1");
        wait_until("a key is gone", || info(&mut client, "stats", "expired_keys") == "1");
        let mut is_zero = Vec::new();
        for server in [&primary, &replica] {
            let mut client = server.client();
            let figures = |client: &mut Client| {
                let text = client.ask("INFO everything").text();
                let figure = |line: &str| {
                    let (name, value) = line.split_once(':')?;
                    Some((name.to_owned(), value.parse::<f64>().ok()? == 0.0))
                };
                text.lines().filter_map(figure).collect::<std::collections::BTreeMap<_, _>>()
            };
            let before = figures(&mut client);
            assert_eq!(client.ask("CONFIG RESETSTAT").text(), "OK");
            let after = figures(&mut client);
            let was_there = before.into_iter().filter(|(_, was_zero)| !was_zero);
            is_zero
                .push(was_there.map(|(name, _)| (after.get(&name) == Some(&true), name)).collect::<Vec<_>>());
        }
        is_zero
    });
    for (ours, theirs) in ours.iter().zip(&theirs) {
        let forgets =
            |name: &str| ours.iter().find(|(_, own)| own == name).is_none_or(|(is_zero, _)| *is_zero);
        // What goes on by itself may have gone on since, or have ended.
        let goes_on = |name: &str| {
            ["instantaneous_", "eventloop_", "aof_pending", "aof_buffer", "mem_", "used_", "rdb_changes"]
                .iter()
                .any(|start| name.starts_with(start))
        };
        let wrong: Vec<_> =
            theirs.iter().filter(|(is_zero, name)| *is_zero && !goes_on(name) && !forgets(name)).collect();
        assert!(wrong.is_empty(), "not forgotten: {wrong:?}");
        assert!(theirs.iter().filter(|(is_zero, _)| *is_zero).count() > 3, "{theirs:?}");
    }
}

/// How long a replica has been without a link does not depend on which primary it is told to follow
/// meanwhile.
#[test]
fn the_link_is_down_since_it_was_lost() {
    for kind in [Kind::Valkey, Kind::Larder] {
        let (primary, replica) = pair(kind, &[]);
        let mut theirs = replica.client();
        let since = |client: &mut Client| {
            info(client, "replication", "master_link_down_since_seconds").parse::<i64>().ok()
        };
        assert_eq!(since(&mut theirs), None, "{kind:?}: it is up");
        // Nobody listens there.
        let [dead, other] = [0; 2].map(|_| Port::reserve());
        for port in [&dead, &other] {
            theirs.ask(&format!("REPLICAOF 127.0.0.1 {}", port.number()));
            wait_until("the link is down", || {
                info(&mut theirs, "replication", "master_link_status") == "down"
            });
            assert!(since(&mut theirs).is_some_and(|since| since >= 0), "{kind:?}");
        }
        wait_until("it counts on", || since(&mut theirs).is_some_and(|since| since >= 2));
        theirs.ask(&format!("REPLICAOF 127.0.0.1 {}", dead.number()));
        assert!(since(&mut theirs).is_some_and(|since| since >= 2), "{kind:?}: another primary");
        // A primary has lost no link.
        theirs.ask("REPLICAOF NO ONE");
        theirs.ask(&format!("REPLICAOF 127.0.0.1 {}", dead.number()));
        assert_eq!(since(&mut theirs), Some(-1), "{kind:?}: it never had one");
        drop(primary);
    }
}

#[test]
fn a_replica_comes_from_the_address_that_it_is_told() {
    for kind in [Kind::Valkey, Kind::Larder] {
        let primary = start(kind, &[]);
        let replica = start(kind, &["--bind-source-addr", "127.0.0.2"]);
        let mut theirs = replica.client();
        let seen = |theirs: &mut Client, ip: &str| {
            follow(theirs, &primary);
            wait_for_link(theirs);
            let mut ours = primary.client();
            wait_until("it comes from there", || {
                info(&mut ours, "replication", "slave0").starts_with(&format!("ip={ip},"))
            });
            theirs.ask("REPLICAOF NO ONE");
            wait_until("it is gone", || info(&mut ours, "replication", "connected_slaves") == "0");
        };
        seen(&mut theirs, "127.0.0.2");
        // What is no address of this machine, or of another kind, is left out.
        for source in ["::1", "192.0.2.1", "nonsense"] {
            theirs.ask(&format!("CONFIG SET bind-source-addr {source}"));
            seen(&mut theirs, "127.0.0.1");
        }
    }
}
