//! Replicas inside of a program, of primaries of three kinds, with links that are cut.

mod cuts;
mod data;
#[cfg(feature = "tls")]
mod secure;
mod selection;

use data::{describe, fill};
use larder_embed::{Error, Event, LinkStatus, Replica, ReplicaOptions, Reply, UrlError, Wait};
use larder_testkit::{Kind, Server, wait_until};
use std::time::{Duration, Instant};

const KINDS: [Kind; 3] = [Kind::Larder, Kind::Valkey, Kind::Redis];
/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);
const OWN: Wait = Wait::Own(PATIENCE);

/// A server whose snapshots for replicas begin at once.
fn start(kind: Kind, args: &[&str]) -> Server {
    Server::of(kind, &[&["--repl-diskless-sync-delay", "0"], args].concat())
}

fn url(server: &Server) -> String {
    format!("redis://127.0.0.1:{}", server.port())
}

/// Writes something and waits for it: everything before is here then.
fn catch_up(replica: &Replica) {
    replica.write(&["SET", "in:mark", "x"], OWN).expect("the write comes back");
}

fn compare(what: &str, server: &Server, replica: &Replica) {
    catch_up(replica);
    let (there, here) = (describe(&mut server.client()), describe(&mut data::Reader(replica.data())));
    for (key, value) in &there {
        assert_eq!(here.get(key), Some(value), "{what}: {key}");
    }
    assert_eq!(here.len(), there.len(), "{what}");
}

#[test]
fn everything_comes_and_follows() {
    for kind in KINDS {
        let server = start(kind, &[]);
        let mut client = server.client();
        fill(&mut client);
        let replica = Replica::connect(&url(&server)).expect("it connects");
        compare("after the snapshot", &server, &replica);
        for line in [
            "SET in:new v",
            "DEL string:1",
            "RPUSH list:5 a b c",
            "SPOP set:9 3",
            "ZINCRBY zset:40 2.5 member:1",
            "INCRBYFLOAT float 1.5",
            "SET gone v PX 1",
            "EXPIRE list:5 1000",
            "RENAME hash:5 hash:renamed",
            "COPY zset:5 zset:copied",
            "XADD stream 5-1 f v",
            "SINTERSTORE sets set:40 set:9",
        ] {
            client.ask(line);
        }
        for line in ["MULTI", "SET in:a 1", "INCR in:a", "LPUSH in:l x", "EXEC"] {
            client.ask(line);
        }
        client.cmd(&["EVAL", "redis.call('SET', KEYS[1], ARGV[1])", "1", "in:script", "v"]);
        compare("after the stream", &server, &replica);
        client.ask("FLUSHALL");
        client.ask("SET in:last 1");
        compare("after FLUSHALL", &server, &replica);
        let status = replica.status();
        assert_eq!(
            (status.link, status.full_syncs, status.partial_syncs),
            (LinkStatus::Up, 1, 0),
            "{status:?}"
        );
        assert_eq!(status.history.len(), 40);
    }
}

#[test]
fn a_write_can_be_read_when_it_returns() {
    for kind in KINDS {
        let server = start(kind, &[]);
        let replica = Replica::connect(&url(&server)).expect("it connects");
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let replica = &replica;
                scope.spawn(move || {
                    for i in 0..50 {
                        let (key, value) = (format!("own:{thread}"), i.to_string());
                        let reply = replica.write(&["SET", &key, &value], OWN).expect("it comes back");
                        assert_eq!(reply, Reply::Status("OK".to_owned()));
                        let read = replica.data().get(&key).expect("it can be read");
                        assert_eq!(read.as_deref(), Some(value.as_bytes()), "{}", kind.name());
                    }
                });
            }
        });
        // A write that changes nothing is waited for as well.
        assert_eq!(replica.write(&["SET", "own:0", "x", "NX"], OWN).expect("it is answered"), Reply::Null);
        assert_eq!(replica.write(&["INCR", "n"], Wait::Primary).expect("it is answered"), Reply::Int(1));
    }
}

#[test]
fn what_cannot_be_written() {
    let server = start(Kind::Larder, &[]);
    let replica = Replica::connect(&url(&server)).expect("it connects");
    catch_up(&replica);
    let text = |result: Result<Reply, Error>| match result {
        Err(Error::Command(text)) => text,
        other => panic!("{other:?}"),
    };
    assert!(text(replica.data().command(&["SET", "k", "v"])).starts_with("READONLY "));
    assert!(
        matches!(replica.data().set("k", "v"), Err(Error::Command(text)) if text.starts_with("READONLY "))
    );
    let script = ["EVAL", "return redis.call('SET', 'k', 'v')", "0"];
    assert!(text(replica.data().command(&script)).contains("READONLY"));
    assert!(text(replica.write(&["LPUSH", "in:mark", "x"], OWN)).starts_with("WRONGTYPE "));
    assert!(text(replica.write(&["GET"], OWN)).starts_with("ERR wrong number of arguments"));
    for line in ["MULTI", "SUBSCRIBE c", "select 1", "CLIENT REPLY OFF", "HELLO 2", "MONITOR", "SYNC"] {
        let words: Vec<&str> = line.split(' ').collect();
        assert!(text(replica.write(&words, OWN)).contains("cannot be forwarded"), "{line}");
    }
    catch_up(&replica);
}

#[test]
fn users_and_databases() {
    for kind in KINDS {
        let server = start(kind, &["--requirepass", "se:cret"]);
        let mut client = server.client();
        client.ask("AUTH se:cret");
        client.ask("SELECT 3");
        client.ask("SET in:3 v");
        let place = format!("127.0.0.1:{}/3", server.port());
        let replica = Replica::connect(&format!("redis://:se%3Acret@{place}")).expect("it connects");
        assert_eq!(replica.data().get("in:3").expect("it can be read").as_deref(), Some(&b"v"[..]));
        replica.write(&["SET", "in:new", "v"], OWN).expect("it is written to the same database");
        assert!(replica.data().exists("in:new").expect("it can be read"));
        assert_eq!(replica.data().database(0).dbsize().expect("it can be read"), 0);
        client.ask("ACL SETUSER reader on >p%w ~in:* +psync +replconf +ping +info +hello +select +set");
        let reader = Replica::connect(&format!("redis://reader:p%25w@{place}")).expect("it has the rights");
        reader.write(&["SET", "in:reader", "v"], OWN).expect("it may write");
        let refused = reader.write(&["SET", "other", "v"], OWN);
        assert!(matches!(&refused, Err(Error::Command(text)) if text.starts_with("NOPERM")), "{refused:?}");
        let options = ReplicaOptions::new().patience(Duration::from_millis(500));
        for wrong in [format!("redis://{place}"), format!("redis://:wrong@{place}")] {
            let error = Replica::connect_with(&wrong, &options).map(drop).expect_err("it may not follow");
            assert!(matches!(&error, Error::Connection(_)), "{error}");
        }
    }
}

#[test]
fn a_write_that_was_executed_says_so_to_who_may_not_wait_for_it() {
    for kind in KINDS {
        let server = start(kind, &[]);
        let mut client = server.client();
        client.ask("ACL SETUSER blind on >p ~* +psync +replconf +ping +hello +select +incr");
        let replica = Replica::connect(&format!("redis://blind:p@127.0.0.1:{}", server.port()));
        let replica = replica.expect("it has the rights");
        for number in 1..4 {
            match replica.write(&["INCR", "n"], OWN) {
                Err(Error::Executed { reply, reason }) => {
                    assert_eq!(reply, Reply::Int(number));
                    assert!(
                        matches!(&*reason, Error::Command(text) if text.starts_with("NOPERM")),
                        "{reason}"
                    );
                }
                other => panic!("{}: {other:?}", kind.name()),
            }
            assert_eq!(client.ask("GET n").text(), number.to_string());
        }
        // What was not executed says that, and nobody has to wait.
        let refused = replica.write(&["DECR", "n"], OWN);
        assert!(matches!(&refused, Err(Error::Command(text)) if text.starts_with("NOPERM")), "{refused:?}");
        assert_eq!(replica.write(&["INCR", "n"], Wait::Primary).expect("it is answered"), Reply::Int(4));
    }
}

#[test]
fn what_cannot_be_followed() {
    let options = ReplicaOptions::new().patience(Duration::from_millis(300));
    let connect = |url: &str| Replica::connect_with(url, &options).map(drop).expect_err("there is nobody");
    assert!(matches!(connect("http://h"), Error::Url(UrlError::Scheme(_))));
    assert!(connect("redis://127.0.0.1:1").to_string().contains("refused"));
    // Somebody who accepts and says nothing.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("there is a port");
    let port = silent.local_addr().expect("it has an address").port();
    let begun = Instant::now();
    assert!(matches!(connect(&format!("redis://127.0.0.1:{port}")), Error::Connection(_)));
    assert!(begun.elapsed() < Duration::from_secs(10), "giving up takes no longer than was said");
}

#[test]
fn a_replica_inside_counts_as_a_replica() {
    for kind in KINDS {
        let server = start(kind, &[]);
        let replica = Replica::connect(&url(&server)).expect("it connects");
        let mut client = server.client();
        client.ask("SET in:k v");
        assert_eq!(client.ask("WAIT 1 20000").int(), 1, "{}", kind.name());
        assert_eq!(replica.data().get("in:k").expect("it can be read").as_deref(), Some(&b"v"[..]));
        drop(replica);
        wait_until("the primary sees that it is gone", || {
            client.ask("INFO replication").text().contains("connected_slaves:0")
        });
    }
}

#[test]
fn changes_are_told_and_so_is_a_snapshot() {
    let server = start(Kind::Larder, &[]);
    let mut client = server.client();
    let replica = Replica::connect(&url(&server)).expect("it connects");
    let events = replica.events(&["user:*"], 1000).expect("the thread starts");
    let next = || events.next_within(PATIENCE);
    let changed = |key: &str| Some(Event::Changed(key.as_bytes().to_vec()));
    client.ask("SET item:1 v");
    client.ask("SET user:1 v");
    assert_eq!(next(), changed("user:1"));
    assert!(
        replica.data().exists("user:1").expect("it can be read"),
        "the change can be read before it is told"
    );
    client.ask("DEL user:1");
    assert_eq!(next(), changed("user:1"));
    // A history of its own: the replica needs a snapshot.
    client.ask("DEBUG CHANGE-REPL-ID");
    client.ask("CLIENT KILL TYPE replica");
    assert_eq!(next(), Some(Event::Everything));
    wait_until("there is a second snapshot", || replica.status().full_syncs == 2);
    client.ask("SET user:2 v");
    assert_eq!(next(), changed("user:2"));
}
