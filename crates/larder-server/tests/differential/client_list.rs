//! What CLIENT LIST says of connections in different states, and what a connection in MONITOR is.

use super::words;
use larder_testkit::{Client, Kind, Server, Value, wait_until};
use std::collections::BTreeMap;

/// The fields of a named connection.
fn fields(admin: &mut Client, name: &str) -> BTreeMap<String, String> {
    let list = admin.ask("CLIENT LIST").text();
    let line = list.lines().find(|line| line.contains(&format!(" name={name} "))).expect("it is connected");
    let field = |word: &str| word.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
    line.split(' ').filter_map(field).collect()
}

/// What is shown of a connection that has sent commands, once it has.
fn shown(server: &Server, admin: &mut Client, lines: &[&str]) -> String {
    let mut client = server.client();
    client.ask("CLIENT SETNAME shown");
    let (last, first) = lines.split_last().expect("there are commands");
    first.iter().for_each(|line| drop(client.ask(line)));
    client.send(&words(last));
    let waits = ["BLPOP", "WAIT", "XREAD"].iter().any(|word| last.starts_with(word));
    if waits {
        wait_until("it waits", || fields(admin, "shown")["flags"].contains('b'));
    } else {
        let _ = client.read();
    }
    let seen = fields(admin, "shown");
    let part = |name: &str| format!("{name}={}", seen[name]);
    let parts = ["flags", "db", "sub", "multi", "watch", "cmd", "argv-mem", "user"].map(part);
    client.end();
    wait_until("it is gone", || !admin.ask("CLIENT LIST").text().contains("name=shown"));
    format!("{lines:?}: {}", parts.join(" "))
}

#[test]
fn states_of_connections() {
    const CASES: &[&[&str]] = &[
        &["NOSUCHCMD"],
        &["PING", "NOSUCHCMD"],
        &["GET"],
        &["CONFIG nosuch"],
        &["MULTI"],
        &["MULTI", "SET a 1"],
        &["MULTI", "SET a 1", "GET a"],
        &["MULTI", "NOSUCH"],
        &["MULTI", "SET a 1", "NOSUCH"],
        &["MULTI", "SET a 1", "EXEC"],
        &["MULTI", "SET a 1", "DISCARD"],
        &["WATCH z"],
        &["WATCH z", "MULTI", "GET z"],
        &["WATCH z", "SET z 1", "MULTI", "GET z"],
        &["WATCH z", "UNWATCH"],
        &["BLPOP none other 0"],
        &["WAIT 9 0"],
        &["SUBSCRIBE c"],
        &["MONITOR"],
        &["SELECT 3"],
    ];
    let table = |kind| -> Vec<String> {
        let server = Server::of(kind, &[]);
        let mut admin = server.client();
        CASES.iter().map(|lines| shown(&server, &mut admin, lines)).collect()
    };
    let theirs = table(Kind::Valkey);
    for (ours, theirs) in table(Kind::Larder).iter().zip(&theirs) {
        assert_eq!(ours, theirs);
    }
}

/// A monitor is a normal client: it is not closed with the replicas. It touches no key.
#[test]
fn a_monitor_is_no_replica() {
    let replies = [Kind::Larder, Kind::Valkey].map(|kind| {
        let server = Server::of(kind, &[]);
        let (mut admin, mut monitor) = (server.client(), server.client());
        monitor.ask("CLIENT SETNAME m");
        assert_eq!(monitor.ask("MONITOR").text(), "OK");
        assert!(admin.ask("CLIENT LIST TYPE normal").text().contains("name=m "), "{}", kind.name());
        assert!(!admin.ask("CLIENT LIST TYPE replica").text().contains("name=m "), "{}", kind.name());
        assert_eq!(admin.ask("CLIENT KILL TYPE replica").int(), 0, "{}", kind.name());
        const LINES: [&str; 9] = [
            "SET k 1",
            "GET k",
            "PING",
            "PUBLISH c m",
            "DBSIZE",
            "MONITOR",
            "SYNC",
            "NOSUCH",
            "ECHO the-end",
        ];
        LINES.iter().for_each(|line| monitor.send(&words(line)));
        let mut replies = Vec::new();
        while replies.last().is_none_or(|last| last != "the-end") {
            match monitor.read().expect("it is connected") {
                // What it is shown.
                Value::Simple(text) if text.starts_with(|first: char| first.is_ascii_digit()) => {}
                value => replies.push(value.text()),
            }
        }
        assert_eq!(admin.ask("EXISTS k").int(), 0, "{}", kind.name());
        replies
    });
    let [ours, theirs] = replies;
    assert_eq!(ours, theirs);
    assert_eq!(ours[..2], ["ERR Replica can't interact with the keyspace"; 2]);
}
