//! Keyspace notifications that redis-server 7.0 does not have, and their order with several threads.

use larder_testkit::{Client, Server};
use std::thread;

/// A connection that listens to the events of one pattern of channels.
fn listener(server: &Server, classes: &str, pattern: &str) -> Client {
    let mut client = server.client();
    client.cmd(&["CONFIG", "SET", "notify-keyspace-events", classes]);
    client.cmd(&["PSUBSCRIBE", pattern]);
    client
}

/// The next events, as `event key`.
fn events<const N: usize>(client: &mut Client) -> [String; N] {
    std::array::from_fn(|_| {
        let message = client.read().expect("events arrive");
        let event = message.items()[2].text();
        format!("{} {}", event.trim_start_matches("__keyevent@0__:"), message.items()[3].text())
    })
}

#[test]
fn fields_of_hashes() {
    let server = Server::larder(&["--threads", "2"]);
    let mut listener = listener(&server, "KEA", "__keyevent@0__:*");
    let mut client = server.client();
    client.ask("DEBUG SET-ACTIVE-EXPIRE 0");
    let mut expect = |line: &str, expected: &[&str]| {
        client.ask(line);
        client.ask("SET end x");
        let mut got = Vec::new();
        loop {
            let [event] = events(&mut listener);
            if event == "set end" {
                break;
            }
            got.push(event);
        }
        assert_eq!(got, expected, "{line}");
    };
    expect("HSET h a 1 b 2 c 3 d 4 e 5 f 6", &["hset h"]);
    expect("HEXPIRE h 100 FIELDS 2 a b", &["hexpire h"]);
    expect("HEXPIRE h 100 FIELDS 1 none", &[]);
    expect("HPERSIST h FIELDS 2 a c", &["hpersist h"]);
    expect("HPERSIST h FIELDS 1 c", &[]);
    expect("HPEXPIREAT h 1 FIELDS 1 a", &["hexpired h"]);
    expect("HGETDEL h FIELDS 2 b none", &["hdel h"]);
    expect("HGETEX h EX 100 FIELDS 1 c", &["hexpire h"]);
    expect("HGETEX h PERSIST FIELDS 1 c", &["hpersist h"]);
    expect("HGETEX h FIELDS 1 c", &[]);
    expect("HSETEX h EX 100 FIELDS 1 g 7", &["hset h", "hexpire h"]);
    expect("HSETEX h FIELDS 1 g 7", &["hset h"]);
    expect("HDEL h d e f g", &["hdel h"]);
    expect("HGETEX h PXAT 1 FIELDS 1 c", &["hexpired h", "del h"]);
    expect("HSETEX v PX 1 FIELDS 1 a 1", &["hset v", "hexpire v"]);
    expect("DEBUG SLEEP 0.005", &[]);
    expect("HSET v b 1", &["hexpired v", "hset v"]);
    expect("HPEXPIRE v 1 FIELDS 1 b", &["hexpire v"]);
    expect("DEBUG SLEEP 0.005", &[]);
    expect("HDEL v b", &["hexpired v", "del v"]);
}

#[test]
fn what_expires_by_itself() {
    let server = Server::larder(&["--threads", "2"]);
    let mut listener = listener(&server, "Exhg", "__keyevent@0__:*");
    let mut client = server.client();
    client.ask("SET k v PX 5");
    client.ask("HSETEX h PX 50 FIELDS 1 a 1");
    let mut got: [String; 6] = events(&mut listener);
    got.sort();
    assert_eq!(got, ["del h", "expire k", "expired k", "hexpire h", "hexpired h", "hset h"]);
}

/// Whoever sets and deletes a key, its events tell of a state that changes each time.
#[test]
fn events_of_a_key_come_in_the_order_of_the_changes() {
    for threads in ["2", "4"] {
        let server = Server::larder(&["--threads", threads]);
        let mut listeners: Vec<Client> =
            (0..3).map(|_| listener(&server, "KEA", "__keyspace@0__:k")).collect();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut client = server.client();
                    for _ in 0..300 {
                        client.ask("SET k v NX");
                        client.ask("DEL k");
                    }
                });
            }
        });
        let mut client = server.client();
        client.ask("RPUSH k end");
        for listener in &mut listeners {
            let mut exists = false;
            loop {
                let event = listener.read().unwrap().items()[3].text();
                if event == "rpush" {
                    break;
                }
                assert_eq!(event, if exists { "del" } else { "set" });
                exists = !exists;
            }
            assert!(!exists);
        }
    }
}
