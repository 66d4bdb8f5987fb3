//! MIGRATE between Larder and redis-server.

use crate::samples::fill;
use crate::{digest, ok, wait_for};
use larder_testkit::{Client, Kind, Server, Value};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
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

/// How many connections a server has accepted.
fn accepted(client: &mut Client) -> u64 {
    let stats = client.ask("INFO stats").text();
    let count = stats.lines().find_map(|line| line.strip_prefix("total_connections_received:"));
    count.and_then(|count| count.parse().ok()).expect("INFO has it")
}

#[test]
fn a_connection_is_used_again() {
    for kind in [Kind::Larder, Kind::Valkey] {
        let (source, target) = (Server::of(kind, &[]), Server::larder(&[]));
        let (mut client, mut there) = (source.client(), target.client());
        let port = port(&target);
        let mut go = |key: &str, db: u32| {
            client.cmd(&["SET", key, "v"]);
            client.ask(&format!("MIGRATE 127.0.0.1 {port} {key} {db} 5000"))
        };
        let before = accepted(&mut there);
        for number in 0..20 {
            assert_eq!(go(&format!("key:{number}"), number % 2 * 3), ok());
        }
        assert_eq!(accepted(&mut there) - before, 1, "{}", kind.name());
        assert_eq!(there.ask("DBSIZE").int(), 10);
        // An error of the target is a reply like any other.
        assert!(go("key:0", 0).text().contains("BUSYKEY"));
        assert!(go("key:0", 99).text().contains("out of range"));
        assert_eq!(go("key:20", 0), ok());
        assert_eq!((accepted(&mut there) - before, there.ask("DBSIZE").int()), (1, 11), "{}", kind.name());
        // One that the target has closed is replaced.
        assert_eq!(there.ask("CLIENT KILL TYPE normal").int(), 1);
        assert_eq!(go("key:22", 0), ok());
        assert_eq!(accepted(&mut there) - before, 2, "{}", kind.name());
        assert!(client.ask("INFO stats").text().contains("migrate_cached_sockets:1\r\n"));
        wait_for(&mut client, "INFO stats", "migrate_cached_sockets:0\r\n");
        assert_eq!(there.ask("CLIENT KILL TYPE normal").int(), 0, "it is closed after ten seconds");
    }
}

/// Reads up to a RESTORE; what answers it and a SELECT before it.
fn read_restore(stream: &mut TcpStream) -> &'static [u8] {
    let mut seen = Vec::new();
    let contains = |seen: &[u8], word: &[u8]| seen.windows(word.len()).any(|part| part == word);
    while !contains(&seen, b"RESTORE") {
        let mut part = [0; 4096];
        let n = stream.read(&mut part).expect("it sends");
        assert!(n > 0, "it closed the connection");
        seen.extend_from_slice(&part[..n]);
    }
    if contains(&seen, b"SELECT") { b"+OK\r\n+OK\r\n" } else { b"+OK\r\n" }
}

/// A target that ends a connection just when it is used again is asked once more, over a new one; not a third time, and not when
/// it takes too long.
#[test]
fn a_connection_that_ends_when_it_is_used_again_is_replaced() {
    for kind in [Kind::Larder, Kind::Valkey] {
        let target = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = target.local_addr().expect("it has one").port().to_string();
        let server = Server::of(kind, &[]);
        let mut client = server.client();
        let migrate = |client: &mut Client, timeout_ms: &str| {
            client.ask("SET k v");
            client.send(&["MIGRATE", "127.0.0.1", &port, "k", "0", timeout_ms]);
        };
        let accept = || {
            let (mut stream, _) = target.accept().expect("it connects");
            (read_restore(&mut stream), stream)
        };
        let accept_and_answer = |client: &mut Client| {
            let (answer, mut stream) = accept();
            stream.write_all(answer).expect("it reads");
            assert_eq!(client.read().expect("an answer"), ok(), "{}", kind.name());
            stream
        };
        migrate(&mut client, "20000");
        let mut stream = accept_and_answer(&mut client);

        migrate(&mut client, "20000");
        read_restore(&mut stream);
        drop(stream);
        let mut stream = accept_and_answer(&mut client);

        migrate(&mut client, "20000");
        read_restore(&mut stream);
        drop(stream);
        drop(accept());
        assert!(client.read().expect("an answer").text().starts_with("IOERR"), "{}", kind.name());

        migrate(&mut client, "20000");
        let mut stream = accept_and_answer(&mut client);
        migrate(&mut client, "100");
        read_restore(&mut stream);
        assert!(client.read().expect("an answer").text().starts_with("IOERR"), "{}", kind.name());
        target.set_nonblocking(true).expect("it can be");
        assert!(target.accept().is_err(), "{} tried again", kind.name());
    }
}

/// Who does not give the password does not speak over the connection of one who did.
#[test]
fn a_connection_is_used_again_with_the_same_password_only() {
    let (source, target) = (Server::larder(&[]), Server::larder(&["--requirepass", "secret"]));
    let (mut client, mut there) = (source.client(), target.client());
    there.ask("AUTH secret");
    let before = accepted(&mut there);
    let port = port(&target);
    for (with, moves, connections) in [
        ("AUTH secret", true, 1),
        ("AUTH2 default secret", true, 2),
        ("", false, 3),
        ("AUTH wrong", false, 4),
        ("AUTH secret", true, 4),
    ] {
        client.ask("SET k v");
        let reply = client.ask(&format!("MIGRATE 127.0.0.1 {port} k 0 5000 REPLACE {with}"));
        assert_eq!(reply == ok(), moves, "{with}: {reply}");
        assert_eq!(accepted(&mut there) - before, connections, "{with}");
    }
}

/// While a key is on its way, it is read and not changed; what has been put off then finds what has become of it.
#[test]
fn a_key_on_its_way_is_not_changed() {
    let target = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = target.local_addr().expect("it has one").port();
    let server = Server::larder(&["--threads", "2"]);
    let (mut mover, mut reader) = (server.client(), server.client());
    let writes = ["INCR k", "DEL k", "FLUSHALL", "MULTI", "RENAME other k"];
    for (answer, is_there) in [("+OK\r\n", false), ("-ERR no\r\n", true)] {
        for write in writes {
            reader.ask("MSET k 5 other 7 third 1");
            let mut writer = server.client();
            // Before: it may have the thread that the mover will keep busy.
            if write == "MULTI" {
                writer.ask("MULTI");
                writer.ask("APPEND k x");
            }
            mover.send(&["MIGRATE", "127.0.0.1", &port.to_string(), "k", "0", "20000"]);
            let (mut stream, _) = target.accept().expect("it connects");
            read_restore(&mut stream);
            let command = if write == "MULTI" { "EXEC" } else { write };
            writer.send(&command.split(' ').collect::<Vec<_>>());
            // Others are served, and see the key.
            assert_eq!(reader.ask("GET k").text(), "5", "{write}");
            assert_eq!(reader.ask("INCR third").int(), 2, "{write}");
            assert!(!writer.has_reply(), "{write} has not waited");
            stream.write_all(format!("+OK\r\n{answer}").as_bytes()).expect("it reads");
            assert_eq!(mover.read().expect("an answer").is_error(), is_there, "{write}");
            let done = writer.read().expect("an answer");
            match write {
                "INCR k" => assert_eq!(done.int(), if is_there { 6 } else { 1 }),
                "DEL k" => assert_eq!(done.int(), i64::from(is_there)),
                "MULTI" => assert_eq!(done.items()[0].int(), if is_there { 2 } else { 1 }),
                _ => assert_eq!(done, ok()),
            }
        }
    }
}
