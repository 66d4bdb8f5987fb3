//! MIGRATE between Larder and redis-server.

use crate::samples::fill;
use crate::{digest, ok};
use larder_testkit::{Client, Server, Value};
use std::thread;

fn port(server: &Server) -> String {
    server.port().to_string()
}

/// Moves all keys from one server to another.
fn move_all(from: &Server, to: &Server, keys: &[String]) {
    let before = digest(from);
    let port = port(to);
    let mut args = vec!["MIGRATE", "127.0.0.1", &port, "", "0", "5000", "KEYS"];
    args.extend(keys.iter().map(String::as_str));
    assert_eq!(from.client().cmd(&args), ok());
    assert_eq!(from.client().ask("DBSIZE"), Value::Int(0));
    assert_eq!(digest(to), before);
}

#[test]
fn keys_move_both_ways() {
    let (larder, redis, other) =
        (Server::larder(&["--threads", "2"]), Server::redis(&[]), Server::larder(&[]));
    let mut client = larder.client();
    let mut keys = fill(&mut client);
    client.ask("SET expires 1 PX 1000000");
    keys.push("expires".to_owned());
    move_all(&larder, &redis, &keys);
    assert!(redis.client().ask("PTTL expires").int() > 900_000);
    move_all(&redis, &larder, &keys);
    client.ask("HSET fields a 1");
    client.ask("HEXPIRE fields 1000 FIELDS 1 a");
    keys.push("fields".to_owned());
    move_all(&larder, &other, &keys);
    assert!(other.client().ask("HTTL fields FIELDS 1 a").items()[0].int() > 900);
}

fn replies(client: &mut Client, target: &Server) -> Vec<(String, Value)> {
    let port = port(target);
    target.client().ask("FLUSHALL");
    target.client().ask("SET taken 1");
    client.ask("SET k v");
    client.ask("SET taken v");
    let lines = [
        format!("MIGRATE 127.0.0.1 {port} none 0 1000"),
        format!("MIGRATE 127.0.0.1 {port} k 0 1000 COPY"),
        format!("MIGRATE 127.0.0.1 {port} k 0 1000 COPY"),
        format!("MIGRATE 127.0.0.1 {port} k 0 1000 COPY REPLACE"),
        format!("MIGRATE 127.0.0.1 {port} k 3 1000"),
        format!("MIGRATE 127.0.0.1 {port} taken 0 1000"),
        format!("MIGRATE 127.0.0.1 {port} taken 99 1000"),
        format!("MIGRATE 127.0.0.1 {port} taken 0 1000 AUTH secret"),
        format!("MIGRATE 127.0.0.1 {port} taken 0 1000 AUTH2 me secret"),
        format!("MIGRATE 127.0.0.1 {port} taken 0 1000 KEYS a b"),
        format!("MIGRATE 127.0.0.1 {port} taken 0 1000 WHAT"),
        format!("MIGRATE 127.0.0.1 {port} taken x 1000"),
        format!("MIGRATE 127.0.0.1 {port} taken 0 x"),
        "MIGRATE 127.0.0.1 1 taken 0 100".to_owned(),
        "EXISTS k taken".to_owned(),
    ];
    lines.into_iter().map(|line| (line.replace(&port, "PORT"), client.ask(&line))).collect()
}

#[test]
fn it_answers_as_redis_does() {
    let target = Server::redis(&[]);
    let servers = [Server::larder(&[]), Server::redis(&[])];
    let [ours, theirs] = servers.map(|server| replies(&mut server.client(), &target));
    assert_eq!(ours, theirs);
}

#[test]
fn writes_that_come_between_are_not_lost() {
    let (from, to) = (Server::larder(&["--threads", "2", "--appendonly", "yes"]), Server::larder(&[]));
    let (port, mut mover, mut writer) = (port(&to), from.client(), from.client());
    let writing = thread::spawn(move || {
        for _ in 0..3000 {
            writer.ask("INCR count");
        }
    });
    let mut moved = 0;
    while !writing.is_finished() {
        if mover.ask(&format!("MIGRATE 127.0.0.1 {port} count 0 5000")) == ok() {
            moved += to.client().ask("GETDEL count").text().parse::<u64>().expect("it is a number");
        }
    }
    writing.join().expect("the writer ends");
    let left = mover.ask("GET count").text().parse::<u64>().unwrap_or(0);
    assert_eq!(moved + left, 3000);
}
