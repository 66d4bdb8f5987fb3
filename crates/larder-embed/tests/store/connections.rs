//! Connections: their state, commands that wait, messages, and scripts.

use super::store;
use larder_embed::{Connection, Error, Reply};
use std::thread;
use std::time::{Duration, Instant};

/// The time that another thread may take.
const PATIENCE: Duration = Duration::from_secs(30);

fn ask(connection: &mut Connection, line: &str) -> Reply {
    let words: Vec<&str> = line.split(' ').collect();
    connection.command(&words).unwrap_or_else(|error| panic!("{line}: {error}"))
}

fn next(connection: &mut Connection) -> String {
    let bytes = connection.receive(PATIENCE).expect("it is open").expect("something comes");
    bytes.escape_ascii().to_string()
}

#[test]
fn transactions_and_watched_keys() {
    let store = store();
    let (mut one, mut other) = (store.connect().unwrap(), store.connect().unwrap());
    ask(&mut one, "WATCH k");
    ask(&mut one, "MULTI");
    assert_eq!(ask(&mut one, "SET k 1"), Reply::Status("QUEUED".to_owned()));
    ask(&mut other, "SET k 2");
    assert_eq!(ask(&mut one, "EXEC"), Reply::Null);
    assert_eq!(store.get("k").unwrap().as_deref(), Some(&b"2"[..]));
    for line in ["MULTI", "INCR k", "EVAL return(redis.call('INCR','k')) 0"] {
        ask(&mut one, line);
    }
    assert_eq!(ask(&mut one, "EXEC"), Reply::Array(vec![Reply::Int(3), Reply::Int(4)]));
    assert!(matches!(one.command(&["EXEC"]), Err(Error::Command(_))));
}

#[test]
fn databases_and_protocols_are_those_of_the_connection() {
    let store = store();
    store.database(3).set("k", "3").unwrap();
    let mut connection = store.database(3).connect().unwrap();
    assert_eq!(ask(&mut connection, "GET k"), Reply::Bytes(b"3".to_vec()));
    ask(&mut connection, "SELECT 0");
    assert_eq!(ask(&mut connection, "GET k"), Reply::Null);
    ask(&mut connection, "HSET h f v");
    assert!(matches!(ask(&mut connection, "HGETALL h"), Reply::Array(_)));
    assert!(matches!(ask(&mut connection, "HELLO 3"), Reply::Map(_)));
    assert!(matches!(ask(&mut connection, "HGETALL h"), Reply::Map(_)));
    // The next connection has the worker of the closed one, and none of its state.
    drop(connection);
    let mut connection = store.connect().unwrap();
    assert!(matches!(ask(&mut connection, "HGETALL h"), Reply::Array(_)));
}

#[test]
fn commands_wait() {
    let store = store();
    let mut connection = store.connect().unwrap();
    let begun = Instant::now();
    assert_eq!(ask(&mut connection, "BLPOP q 0.05"), Reply::Null);
    // The engine's clock counts whole milliseconds.
    assert!(begun.elapsed() > Duration::from_millis(49));
    let pusher = store.clone();
    let waiter = thread::spawn(move || {
        connection.send(&["BLPOP", "q", "0"]).unwrap();
        // Executed when the first one has its reply.
        connection.send(&["SET", "after", "1"]).unwrap();
        (next(&mut connection), next(&mut connection))
    });
    let deadline = Instant::now() + PATIENCE;
    let info = || {
        let reply = pusher.command(&["INFO", "clients"]).unwrap();
        String::from_utf8_lossy(reply.as_bytes().expect("a text")).into_owned()
    };
    while !info().contains("blocked_clients:1") {
        assert!(Instant::now() < deadline, "{}", info());
        thread::sleep(Duration::from_millis(1));
    }
    assert!(!pusher.exists("after").unwrap());
    pusher.rpush("q", &["a"]).unwrap();
    let (popped, set) = waiter.join().unwrap();
    assert_eq!((popped.as_str(), set.as_str()), (r"*2\r\n$1\r\nq\r\n$1\r\na\r\n", r"+OK\r\n"));
}

#[test]
fn messages_come_to_subscribers() {
    let store = store();
    let (mut one, mut other) = (store.connect().unwrap(), store.connect().unwrap());
    one.send(&["SUBSCRIBE", "a", "b"]).unwrap();
    assert_eq!(next(&mut one), r"*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n");
    assert_eq!(next(&mut one), r"*3\r\n$9\r\nsubscribe\r\n$1\r\nb\r\n:2\r\n");
    assert_eq!(ask(&mut other, "PUBLISH b hi"), Reply::Int(1));
    assert_eq!(next(&mut one), r"*3\r\n$7\r\nmessage\r\n$1\r\nb\r\n$2\r\nhi\r\n");
    assert_eq!(one.receive(Duration::ZERO).unwrap(), None);
    drop(one);
    assert_eq!(ask(&mut other, "PUBLISH b hi"), Reply::Int(0));
}

#[test]
fn what_is_about_a_server_is_refused() {
    let store = store();
    let mut connection = store.connect().unwrap();
    for line in
        ["SHUTDOWN", "REPLICAOF a 1", "MONITOR", "DEBUG SLEEP 1", "SAVE", "ACL SETUSER x", "CLUSTER MEET a 1"]
    {
        let words: Vec<&str> = line.split(' ').collect();
        let error = connection.command(&words).unwrap_err().to_string();
        assert!(
            error.contains("there is none here") || error.contains("cluster support disabled"),
            "{line}: {error}"
        );
    }
    for line in [
        "PING",
        "CLIENT SETNAME me",
        "CLIENT SETINFO LIB-NAME x",
        "CLIENT ID",
        "COMMAND COUNT",
        "INFO server",
    ] {
        ask(&mut connection, line);
    }
}

#[test]
fn connections_end() {
    let store = store();
    let (mut one, mut other) = (store.connect().unwrap(), store.connect().unwrap());
    let Reply::Int(id) = ask(&mut one, "CLIENT ID") else { panic!("a number") };
    ask(&mut other, &format!("CLIENT KILL ID {id}"));
    assert!(matches!(one.receive(PATIENCE), Err(Error::Closed)));
    assert!(matches!(one.send(&["PING"]), Err(Error::Closed)));
    ask(&mut other, "QUIT");
    assert!(other.is_closed());
    let mut last = store.connect().unwrap();
    let waiter = thread::spawn(move || last.command(&["BLPOP", "q", "0"]).unwrap_err());
    store.close().unwrap();
    assert!(matches!(waiter.join().unwrap(), Error::Closed));
    assert!(matches!(store.connect(), Err(Error::Closed)));
}
