//! Commands that lock shards or wait, in transactions and scripts that hold shards already: the server answers.

use larder_testkit::{Client, Kind, Port, Server, wait_until, words};
use std::time::{Duration, Instant};

#[path = "../common/calls.rs"]
mod calls;

/// Commands that need all shards: in a transaction with one of these all are held.
const HOLD_ALL: &[&str] = &["KEYS *", "DBSIZE", "REPLICAOF NO ONE"];

/// Runs every command in a transaction that holds all shards. `waits`: writes wait, also to be queued.
fn every_command_in_transactions(server: &Server, waits: bool, prepare: impl Fn(&mut Client)) {
    let mut admin = server.client();
    let mut run = 0;
    for (number, line) in calls::lines().enumerate() {
        let line = line.rsplit('|').next().unwrap_or(line).trim();
        // These end the server, or the connection, or put it to sleep.
        if ["shutdown", "debug segfault", "debug panic", "debug sleep", "quit", "reset", "sync", "psync"]
            .iter()
            .any(|name| line.to_lowercase().starts_with(name))
        {
            continue;
        }
        prepare(&mut admin);
        let holder = HOLD_ALL[number % HOLD_ALL.len()];
        let mut client = server.client();
        client.ask("MULTI");
        client.send(&words(line));
        if waits && !answers_soon(&mut client) {
            continue;
        }
        client.read().unwrap_or_else(|error| panic!("{line}: {error}"));
        client.ask(holder);
        client.send(&["EXEC"]);
        client.read().unwrap_or_else(|error| panic!("{line} with {holder}: {error}"));
        // Something that needs all shards: none is left held.
        admin.send(&["DBSIZE"]);
        admin.read().unwrap_or_else(|error| panic!("after {line} with {holder}: {error}"));
        run += 1;
    }
    assert!(run > 150, "most commands were run: {run}");
}

/// Whether a reply comes within a moment.
fn answers_soon(client: &mut Client) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(40) {
        if client.has_reply() {
            return true;
        }
        std::thread::yield_now();
    }
    false
}

#[test]
fn every_command_in_transactions_that_hold_all_shards() {
    let server = Server::larder(&["--threads", "2"]);
    every_command_in_transactions(&server, false, |admin| {
        admin.ask("CONFIG SET maxmemory 0");
        admin.ask("CLIENT UNPAUSE");
        admin.ask("FAILOVER ABORT");
        calls::fill(admin);
    });
}

/// The same while a failover cannot come to an end: its target does not answer.
#[test]
fn every_command_in_transactions_while_failing_over() {
    let primary = Server::larder(&["--threads", "2", "--repl-diskless-sync-delay", "0"]);
    let port = primary.port().to_string();
    let replica = Server::larder(&["--replicaof", &format!("127.0.0.1 {port}")]);
    let target = format!("FAILOVER TO 127.0.0.1 {} FORCE TIMEOUT 1", replica.port());
    wait_until("the replica follows", || {
        primary.client().ask("INFO replication").text().contains("state=online")
    });
    replica.signal("STOP");
    let state = |admin: &mut Client| {
        let info = admin.ask("INFO replication").text();
        info.lines().find_map(|line| line.strip_prefix("master_failover_state:")).unwrap_or("").to_owned()
    };
    every_command_in_transactions(&primary, true, |admin| {
        admin.ask("CONFIG SET maxmemory 0");
        admin.ask("CLIENT UNPAUSE");
        if state(admin) == "no-failover" {
            // Without its replica, which comes again only when it has been stopped no more, there is none to begin.
            admin.ask(&target);
        }
    });
    replica.signal("CONT");
}

/// What Sentinel sends to a primary that hands over to a replica which does not answer.
#[test]
fn a_failover_is_called_off_in_a_transaction() {
    for kind in [Kind::Larder, Kind::Valkey] {
        let primary = Server::of(kind, &["--repl-diskless-sync-delay", "0"]);
        let replica = Server::of(kind, &["--replicaof", &format!("127.0.0.1 {}", primary.port())]);
        let mut admin = primary.client();
        wait_until("the replica follows", || admin.ask("INFO replication").text().contains("state=online"));
        replica.signal("STOP");
        let other = Port::reserve();
        for with in ["KEYS *", "DBSIZE", "RANDOMKEY", "INFO", "DEBUG DIGEST"] {
            if admin.ask(&format!("FAILOVER TO 127.0.0.1 {} FORCE TIMEOUT 50", replica.port())).is_error() {
                // The replica has been given up.
                break;
            }
            wait_until("the replica is asked to lead", || {
                admin.ask("INFO replication").text().contains("master_failover_state:failover-in-progress")
            });
            let replies = crate::pipeline(&mut admin, &["MULTI", "FAILOVER ABORT", with, "EXEC"]);
            assert_eq!(replies[3].items()[0].text(), "OK", "{kind:?}, {with}");
            assert!(admin.ask("ROLE").to_string().contains("master"), "{kind:?}, {with}: it leads again");
            let lines =
                ["MULTI", "FAILOVER ABORT", &format!("REPLICAOF 127.0.0.1 {}", other.number()), "EXEC"];
            let replies = crate::pipeline(&mut admin, &lines);
            assert!(replies[3].items()[0].is_error(), "{kind:?}: there is none any more");
            assert_eq!(admin.ask("REPLICAOF NO ONE").text(), "OK");
        }
        replica.signal("CONT");
    }
}
