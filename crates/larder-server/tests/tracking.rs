//! Client-side caching with several threads: a client that believes the messages never keeps a stale value.

use larder_testkit::{Client, Clock, Kind, Server, Value, full_run, temp_dir};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

const KEYS: usize = 12;
const WRITERS: usize = 3;

/// A connection with a cache.
struct Cacher {
    client: Client,
    /// Where the messages arrive, when it is another connection.
    other: Option<Client>,
    cache: BTreeMap<String, i64>,
    told: usize,
}

impl Cacher {
    fn connect(server: &Server, options: &str) -> Self {
        let mut client = server.client();
        client.ask("HELLO 3");
        client.ask(&format!("CLIENT TRACKING ON {options}"));
        Cacher { client, other: None, cache: BTreeMap::new(), told: 0 }
    }

    /// Has the messages sent to a second connection, which speaks RESP2.
    fn redirected(server: &Server) -> Self {
        let mut other = server.client();
        let id = other.ask("CLIENT ID").int();
        other.ask("SUBSCRIBE __redis__:invalidate");
        let mut cacher = Self::connect(server, &format!("REDIRECT {id}"));
        cacher.other = Some(other);
        cacher
    }

    /// Asks, and takes in the messages that come before the reply.
    fn ask(&mut self, line: &str) -> Value {
        self.client.send(&line.split_whitespace().collect::<Vec<_>>());
        loop {
            match self.client.read().expect("the server answers") {
                Value::Push(items) => self.forget(&items[1]),
                reply => return reply,
            }
        }
    }

    fn forget(&mut self, keys: &Value) {
        self.told += 1;
        for key in keys.items() {
            self.cache.remove(&key.text());
        }
        if keys.items().is_empty() {
            self.cache.clear();
        }
    }

    /// Reads a key, from the cache if it is there.
    fn get(&mut self, key: &str) -> i64 {
        if let Some(&value) = self.cache.get(key) {
            return value;
        }
        let value = self.ask(&format!("GET {key}")).text().parse().unwrap_or(0);
        self.cache.insert(key.to_owned(), value);
        value
    }

    /// Takes in all messages that are under way. A worker looks at its mail before and after it serves a connection, so
    /// all have come when the second reply is there.
    fn sync(&mut self) {
        self.ask("PING");
        self.ask("PING");
        let Some(mut other) = self.other.take() else { return };
        for _ in 0..2 {
            other.send(&["PING"]);
            while let reply = other.read().unwrap()
                && reply.items()[0].text() != "pong"
            {
                self.forget(&reply.items()[2]);
            }
        }
        self.other = Some(other);
    }
}

/// The value of a key is only ever raised, by the one writer that owns it.
fn write(server: &Server, writer: usize, rounds: usize) {
    let mut client = server.client();
    let mut rng = fastrand::Rng::with_seed(larder_testkit::seed(writer as u64));
    for round in 1..=rounds {
        let key = format!("k{}", rng.usize(..KEYS / WRITERS) * WRITERS + writer);
        match rng.u32(..4) {
            0 => client.ask(&format!("INCRBY {key} 1")),
            1 => {
                client.ask("MULTI");
                client.ask(&format!("INCR {key}"));
                client.ask(&format!("INCR {key}"));
                client.ask("EXEC")
            }
            2 if round % 50 == 0 => client.ask("FLUSHALL"),
            _ => client.ask(&format!("INCR {key}")),
        };
    }
}

fn never_stale(threads: &str, connect: impl Fn(&Server) -> Cacher + Sync) {
    let server = Server::larder(&["--threads", threads]);
    let rounds = if full_run() { 20_000 } else { 400 };
    let writing = AtomicUsize::new(WRITERS);
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (server, writing) = (&server, &writing);
            scope.spawn(move || {
                write(server, writer, rounds);
                writing.fetch_sub(1, Ordering::SeqCst);
            });
        }
        for reader in 0..3 {
            let (server, writing, connect) = (&server, &writing, &connect);
            scope.spawn(move || {
                let mut cacher = connect(server);
                let mut rng = fastrand::Rng::with_seed(larder_testkit::seed(100 + reader));
                while writing.load(Ordering::SeqCst) > 0 {
                    cacher.get(&format!("k{}", rng.usize(..KEYS)));
                    if rng.u32(..4) == 0 {
                        cacher.sync();
                    }
                }
                cacher.sync();
                assert!(cacher.told > 0, "it was told of changes");
                let mut check = server.client();
                for (key, value) in &cacher.cache {
                    let now: i64 = check.ask(&format!("GET {key}")).text().parse().unwrap_or(0);
                    assert_eq!(*value, now, "{key} is stale");
                }
            });
        }
    });
}

#[test]
fn readers_of_keys_are_never_stale() {
    for threads in ["1", "2", "4"] {
        never_stale(threads, |server| Cacher::connect(server, ""));
    }
}

#[test]
fn listeners_to_prefixes_are_never_stale() {
    for threads in ["1", "2", "4"] {
        never_stale(threads, |server| Cacher::connect(server, "BCAST PREFIX k"));
    }
}

#[test]
fn redirected_clients_are_never_stale() {
    for threads in ["1", "2", "4"] {
        never_stale(threads, Cacher::redirected);
    }
}

fn info(client: &mut Client, field: &str) -> i64 {
    let text = client.ask("INFO everything").text();
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{field}:")));
    line.expect("the field exists").parse().expect("a number")
}

#[test]
fn keys_beyond_the_limit_are_forgotten_and_told() {
    let server = Server::larder(&["--threads", "2", "--tracking-table-max-keys", "50"]);
    let mut client = server.client();
    let mut cacher = Cacher::connect(&server, "");
    for n in 0..1000 {
        cacher.get(&format!("key:{n}"));
    }
    cacher.sync();
    assert_eq!(cacher.cache.len(), 50, "what it may keep");
    assert_eq!(info(&mut client, "tracking_total_keys"), 50);
    assert_eq!(info(&mut client, "tracking_total_items"), 50);
    client.ask("CONFIG SET tracking-table-max-keys 3");
    cacher.sync();
    assert_eq!(cacher.cache.len(), 3);
    assert_eq!(info(&mut client, "tracking_total_keys"), 3);
}

#[test]
fn what_others_see_of_tracking() {
    let server = Server::larder(&["--threads", "2"]);
    let (mut client, mut target) = (server.client(), server.client());
    let id = target.ask("CLIENT ID").int();
    let mut a = Cacher::connect(&server, &format!("REDIRECT {id}"));
    let b = Cacher::connect(&server, "BCAST PREFIX x PREFIX y");
    assert_eq!(info(&mut client, "tracking_clients"), 2);
    assert_eq!(info(&mut client, "tracking_total_prefixes"), 2);
    a.ask("MGET k l");
    assert_eq!(info(&mut client, "tracking_total_items"), 2);
    let list = client.ask("CLIENT LIST").text();
    assert!(list.contains("flags=t ") && list.contains(&format!("redir={id} ")), "{list}");
    assert!(list.contains("flags=tB ") && list.contains("redir=0 "), "{list}");
    assert!(list.contains("flags=N ") && list.contains("redir=-1 "), "{list}");
    client.ask(&format!("CLIENT KILL ID {id}"));
    assert!(target.read_to_end().is_ok());
    client.ask("SET k v");
    a.client.send(&["PING"]);
    let pushed: Vec<Value> = (0..2).map(|_| a.client.read().unwrap()).collect();
    let broken = pushed.iter().find(|value| matches!(value, Value::Push(_))).expect("it is told");
    assert_eq!(broken.items()[0].text(), "tracking-redir-broken");
    assert!(a.ask("CLIENT TRACKINGINFO").to_string().contains("broken_redirect"));
    assert!(client.ask("CLIENT LIST").text().contains("flags=tR "));
    drop((a, b));
    // The connections are closed as soon as the server sees it.
    while info(&mut client, "tracking_clients") > 0 {}
    assert_eq!(info(&mut client, "tracking_total_prefixes"), 0);
}

#[test]
fn silence_does_not_include_invalidations() {
    let server = Server::larder(&["--threads", "2"]);
    let mut cacher = Cacher::connect(&server, "");
    cacher.ask("GET k");
    cacher.client.send(&["CLIENT", "REPLY", "OFF"]);
    cacher.client.send(&["SET", "k", "v"]);
    assert_eq!(cacher.client.read().unwrap().items()[0].text(), "invalidate");
}

#[test]
fn keys_that_expire_by_themselves() {
    let server = Server::larder(&["--threads", "2"]);
    let mut client = server.client();
    let (mut reader, mut listener) = (Cacher::connect(&server, ""), Cacher::connect(&server, "BCAST"));
    client.ask("SET k v PX 500");
    reader.ask("GET k");
    client.ask("HSETEX h PX 500 FIELDS 1 a 1");
    reader.ask("HGETALL h");
    let mut names = [&mut reader, &mut listener].map(|cacher| {
        let mut names = Vec::new();
        while names
            .last()
            .is_none_or(|_| !(names.contains(&"k".to_owned()) && names.contains(&"h".to_owned())))
        {
            names.extend(cacher.client.read().unwrap().items()[1].items().iter().map(Value::text));
        }
        names
    });
    names[0].sort();
    assert_eq!(names[0], ["h", "k"]);
}

/// A client has not changed a key that its own command finds expired, so `NOLOOP` does not leave the key out.
#[test]
fn a_client_without_loop_learns_that_a_key_has_expired() {
    let dir = temp_dir();
    let mut clock = Clock::new(&dir);
    let server = clock.start_server(&Kind::Larder.program(), 1, &["--enable-debug-command", "yes"]);
    let mut admin = server.client();
    assert_eq!(admin.ask("DEBUG SET-ACTIVE-EXPIRE 0").text(), "OK");
    for command in ["GET k", "TOUCH k", "APPEND k x", "RENAME other k"] {
        admin.ask("MSET other o k v");
        admin.ask("PEXPIRE k 100");
        let mut cacher = Cacher::connect(&server, "NOLOOP");
        assert_eq!(cacher.ask("GET k").text(), "v");
        clock.advance(1_000);
        assert!(!cacher.ask(command).is_error(), "{command}");
        assert_eq!(cacher.told, 0, "the message follows the reply");
        cacher.ask("PING");
        assert_eq!(cacher.told, 1, "{command}");
    }
    let _ = std::fs::remove_dir_all(dir);
}
