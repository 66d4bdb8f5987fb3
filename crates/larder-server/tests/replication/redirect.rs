//! Clients that have said `CLIENT CAPA redirect`: what a replica sends to its primary, compared with Valkey.

use crate::{follow, info, start, wait_for_link};
use larder_testkit::{Client, Kind, Server, wait_until, words};
use std::fmt::Write;

/// What a client says before, and then asks: each pair on a connection of its own.
const CASES: &[(&[&str], &[&str])] = &[
    (
        &[],
        &["GET a", "SET a 1", "PING", "PUBLISH c x", "KEYS *", "DBSIZE", "SCAN 0", "RANDOMKEY", "BLPOP q 0"],
    ),
    (
        &[],
        &[
            "XREAD STREAMS st 0",
            "XREAD BLOCK 0 STREAMS st $",
            "FLUSHALL",
            "SCRIPT FLUSH",
            "FUNCTION FLUSH",
            "TYPE a",
        ],
    ),
    (
        &[],
        &[
            "WATCH a",
            "UNWATCH",
            "SORT a",
            "SORT_RO a",
            "GETEX a",
            "EVAL_RO x 0",
            "EVALSHA x 0",
            "FCALL f 0",
            "FCALL_RO f 0",
        ],
    ),
    (&[], &["MEMORY USAGE a", "DUMP a", "TOUCH a", "SWAPDB 0 1", "GET", "NOSUCH", "SELECT 1", "GET a"]),
    (
        &["READONLY"],
        &[
            "GET a",
            "SET a 1",
            "KEYS *",
            "BLPOP q 0",
            "XREAD STREAMS st 0",
            "SORT a",
            "SORT_RO a",
            "GETEX a",
            "DUMP a",
        ],
    ),
    (&["READONLY"], &["EVALSHA_RO x 0", "FLUSHALL", "XREAD BLOCK 1 STREAMS st $", "READWRITE", "GET a"]),
    (&[], &["MULTI", "GET a", "EXEC", "PING"]),
    (&[], &["MULTI", "PING", "EXEC"]),
    (&[], &["MULTI", "PING", "SET a 1", "PING", "EXEC", "PING"]),
    (&["READONLY"], &["MULTI", "GET a", "READWRITE", "GET a", "EXEC", "GET a"]),
    (&["READONLY"], &["MULTI", "GET a", "SET a 1", "EXEC"]),
    (&["RESET"], &["GET a"]),
    (&["HELLO 3"], &["GET a"]),
    (&["SUBSCRIBE c"], &["GET a", "PING"]),
];

/// What waits for a key when the role changes, and what the client said before.
const WAITING: &[(&[&str], &str)] = &[
    (&["CLIENT CAPA redirect"], "BLPOP q 0"),
    (&["CLIENT CAPA redirect"], "BLMPOP 0 1 q LEFT"),
    (&["CLIENT CAPA redirect"], "BZPOPMIN z 0"),
    (&["CLIENT CAPA redirect"], "XREAD BLOCK 0 STREAMS st $"),
    (&["CLIENT CAPA redirect", "READONLY"], "XREAD BLOCK 0 STREAMS st $"),
    (&["CLIENT CAPA redirect", "READONLY"], "BLPOP q 0"),
    (&["CLIENT CAPA redirect"], "WAIT 1 0"),
    (&[], "BLPOP q 0"),
];

/// A client that has said this.
fn client_after(server: &Server, said: &[&str]) -> Client {
    let mut client = server.client();
    for line in said {
        assert!(!client.ask(line).is_error(), "{line}");
    }
    client
}

fn is_blocked(admin: &mut Client, clients: usize) -> bool {
    info(admin, "clients", "blocked_clients") == clients.to_string()
}

/// Replies as they are on every server.
fn plain(text: &str, ports: [u16; 2]) -> String {
    text.replace(&ports[0].to_string(), "PRIMARY").replace(&ports[1].to_string(), "REPLICA")
}

#[test]
fn a_replica_sends_clients_to_its_primary() {
    let [ours, theirs] = [Kind::Larder, Kind::Valkey].map(|kind| {
        let (primary, replica) = (start(kind, &[]), start(kind, &[]));
        let ports = [primary.port(), replica.port()];
        let mut admin = replica.client();
        let mut waiting: Vec<_> = WAITING.iter().map(|(said, _)| client_after(&replica, said)).collect();
        waiting.iter_mut().zip(WAITING).for_each(|(client, (_, line))| client.send(&words(line)));
        wait_until("all wait", || is_blocked(&mut admin, WAITING.len()));
        let mut queued = client_after(&replica, &["CLIENT CAPA redirect", "MULTI", "GET a"]);
        follow(&mut admin, &primary);
        wait_for_link(&mut admin);
        let mut said = String::new();
        for (client, (before, line)) in waiting.iter_mut().zip(WAITING) {
            // One that only reads, and is content with a replica, waits on.
            let stays = before.contains(&"READONLY") && line.starts_with("XREAD");
            let reply = if stays {
                client.has_reply().to_string()
            } else {
                client.read().expect("it is answered").to_string()
            };
            writeln!(said, "{before:?} {line}: {reply}").expect("to a string");
        }
        writeln!(said, "{} {}", queued.ask("EXEC"), queued.ask("EXEC")).expect("to a string");
        for (before, lines) in CASES {
            let mut client = client_after(&replica, &[&["CLIENT CAPA redirect"], *before].concat());
            let replies: Vec<_> = lines.iter().map(|line| client.ask(line).to_string()).collect();
            writeln!(said, "{before:?} {lines:?}: {replies:?}").expect("to a string");
        }
        let mut client = client_after(&replica, &["CLIENT CAPA redirect"]);
        for line in [
            "CONFIG SET replica-read-only no",
            "CONFIG SET replica-serve-stale-data no",
            "REPLICAOF 127.0.0.1 1",
        ] {
            assert_eq!(admin.ask(line).text(), "OK");
            writeln!(said, "{line}: {} {}", client.ask("GET a"), client.ask("SET a 1")).expect("to a string");
        }
        assert_eq!(admin.ask("REPLICAOF NO ONE").text(), "OK");
        writeln!(said, "{} {}", client.ask("SET a 1"), client.ask("GET a")).expect("to a string");
        plain(&said, ports)
    });
    assert_eq!(ours, theirs);
}

/// While the other server has not taken over, each would send clients to the other: they wait.
#[test]
fn clients_wait_while_a_failover_is_in_progress() {
    for aborts in [false, true] {
        let [ours, theirs] = [Kind::Larder, Kind::Valkey].map(|kind| during_failover(kind, aborts));
        assert_eq!(ours, theirs, "aborts: {aborts}");
    }
}

fn during_failover(kind: Kind, aborts: bool) -> String {
    let (primary, replica) = (start(kind, &[]), start(kind, &[]));
    let ports = [primary.port(), replica.port()];
    let (mut ours, mut theirs) = (primary.client(), replica.client());
    follow(&mut theirs, &primary);
    wait_for_link(&mut theirs);
    wait_until("it is online", || ours.ask("INFO replication").text().contains("state=online"));
    let by_key = &WAITING[..6];
    let mut waiting: Vec<_> = by_key.iter().map(|(said, _)| client_after(&primary, said)).collect();
    waiting.iter_mut().zip(by_key).for_each(|(client, (_, line))| client.send(&words(line)));
    let follower = |more: &[&str]| client_after(&primary, &[&["CLIENT CAPA redirect"], more].concat());
    let lines = ["GET b", "SET c 1", "EVAL_RO x 0", "EXEC", "EXEC"];
    let mut put_off = [
        follower(&[]),
        follower(&[]),
        follower(&[]),
        follower(&["MULTI", "GET b"]),
        follower(&["MULTI", "SET c 1"]),
    ];
    let mut reader = follower(&["READONLY"]);
    replica.signal("STOP");
    assert_eq!(ours.ask("SET b 1").text(), "OK");
    let ask = format!("FAILOVER TO 127.0.0.1 {} FORCE TIMEOUT 100", replica.port());
    assert_eq!(ours.ask(&ask).text(), "OK");
    wait_until("the other one is asked", || {
        info(&mut ours, "replication", "master_failover_state") == "failover-in-progress"
    });
    put_off.iter_mut().zip(lines).for_each(|(client, line)| client.send(&words(line)));
    wait_until("all wait", || is_blocked(&mut ours, by_key.len() + lines.len()));
    let mut said = format!("{} {}\n", reader.ask("GET b"), reader.ask("PING"));
    if aborts {
        assert_eq!(ours.ask("FAILOVER ABORT").text(), "OK");
    }
    replica.signal("CONT");
    wait_until("it is over", || info(&mut ours, "replication", "master_failover_state") == "no-failover");
    for (client, line) in put_off.iter_mut().zip(lines) {
        // What an error of a script says is not the question.
        let reply = client.read().expect("it is answered").to_string();
        writeln!(said, "{line}: {}", reply.chars().take(40).collect::<String>()).expect("to a string");
    }
    for (client, (before, line)) in waiting.iter_mut().zip(by_key) {
        let stays = aborts || before.contains(&"READONLY") && line.starts_with("XREAD");
        let reply = if stays {
            client.has_reply().to_string()
        } else {
            client.read().expect("it is answered").to_string()
        };
        writeln!(said, "{before:?} {line}: {reply}").expect("to a string");
    }
    plain(&said, ports)
}
