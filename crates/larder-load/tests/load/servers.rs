//! Other servers as sources.

use crate::support::{ALL, DEBUG, complete, digests, fill, options_for, proxy, target};
use fastrand::Rng;
use larder_load::load::load;
use larder_load::options::{Options, Source};
use larder_testkit::{Client, Kind, Server, Value, seed};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;

fn options(from: u16, db: Option<u32>, to: u16) -> Options {
    let source = Source::Server(target(from), db);
    Options { input: None, ..options_for(Path::new("/tmp/none"), source, to) }
}

#[test]
fn keys_of_every_server_go_to_every_other() {
    let targets = ALL.map(|kind| Server::of(kind, DEBUG));
    for from in ALL {
        let server = Server::of(from, DEBUG);
        let mut client = server.client();
        let mut rng = Rng::with_seed(seed(31));
        for db in [0, 5] {
            client.ask(&format!("SELECT {db}"));
            fill(&mut client, &mut rng);
        }
        for number in 0..3000 {
            client.ask(&format!("SET many:{number} {number}"));
        }
        // Times to live are read as such, so that those of the digests are off by what it took; none is left out.
        let names = |all: &[(String, String)]| all.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>();
        let expected = [0, 5].map(|db| digests(&mut client, db));
        for target in &targets {
            let report = load(&options(server.port(), None, target.port())).unwrap();
            complete(&report);
            let mut loaded = target.client();
            let found = [0, 5].map(|db| digests(&mut loaded, db));
            assert_eq!(found, expected, "{} into {}", from.name(), report.target);
            assert_eq!(report.keys as usize, expected.iter().map(|all| names(all).len()).sum::<usize>());
            let at = loaded.ask("PEXPIRETIME XADD:3").int() - client.ask("PEXPIRETIME XADD:3").int();
            assert!(at.abs() < 5000, "{at}");
            // Another database, where keys of these names are not.
            let one =
                load(&Options { db: Some(7), ..options(server.port(), Some(5), target.port()) }).unwrap();
            complete(&one);
            assert_eq!(digests(&mut loaded, 7), expected[1]);
            let again =
                load(&Options { db: Some(7), ..options(server.port(), Some(5), target.port()) }).unwrap();
            assert_eq!((again.keys, again.rejected as usize), (0, expected[1].len()));
            loaded.ask("FLUSHALL");
        }
    }
}

#[test]
fn what_only_its_own_kind_knows_is_passed_on_or_refused_by_name() {
    let source = Server::of(Kind::Redis8, DEBUG);
    let mut client = source.client();
    client.ask("HSET h a 1 b 2");
    client.ask("HPEXPIREAT h 4102444800000 FIELDS 1 a");
    client.ask("SET s v");
    for kind in ALL {
        let server = Server::of(kind, DEBUG);
        let report = load(&options(source.port(), None, server.port())).unwrap();
        assert_eq!(report.failure, None);
        if kind == Kind::Redis8 {
            complete(&report);
            assert_eq!(digests(&mut server.client(), 0), digests(&mut client, 0));
        } else {
            assert_eq!((report.keys, report.rejected), (1, 1), "{}", kind.name());
            assert!(report.first_rejects[0].starts_with("key "), "{:?}", report.first_rejects);
        }
    }
}

#[test]
fn sources_without_rights_and_links_that_break_end_the_load() {
    let server = Server::larder(DEBUG);
    let to = Server::larder(DEBUG);
    let mut client = server.client();
    fill(&mut client, &mut Rng::with_seed(seed(32)));
    client.ask("ACL SETUSER reader on >secret ~* +@all -dump");
    let mut from = target(server.port());
    (from.user, from.password) = (Some("reader".into()), Some("secret".into()));
    let source = Source::Server(from.clone(), None);
    let report = load(&Options { source, ..options(0, None, to.port()) }).unwrap();
    assert!(report.failure.unwrap().contains("NOPERM"));
    assert_eq!(to.client().ask("DBSIZE"), Value::Int(0));
    from.password = Some("wrong".into());
    let source = Source::Server(from, None);
    let report = load(&Options { source, ..options(0, None, to.port()) }).unwrap();
    assert!(report.failure.unwrap().contains("WRONGPASS"));
    // Nothing is half-loaded: what has come is whole.
    let port = proxy(server.port(), Arc::new(AtomicI64::new(20_000)));
    let report = load(&options(port, None, to.port())).unwrap();
    let failure = report.failure.unwrap();
    assert!(failure.contains("closed the connection"), "{failure}");
    let expected = digests(&mut client, 0);
    let found = digests(&mut to.client(), 0);
    assert!(found.iter().all(|key| expected.contains(key)));
}

/// A source that gives these replies, one after the other, to whatever it is asked, and then closes the connection.
fn fake(replies: Vec<u8>) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(&replies).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut bytes = Vec::new();
        // What it is asked is read, so that the connection is not reset.
        let _ = stream.read_to_end(&mut bytes);
    });
    port
}

#[test]
fn keys_that_go_and_keys_that_come_twice() {
    let to = Server::larder(DEBUG);
    let mut client = to.client();
    // INFO, SELECT, a step with the keys a, b, a, c; a is there, b has gone, c's time has come; a step with a and the end.
    let payload = client_dump(&mut client);
    let mut replies = b"$17\r\n# Keyspace\r\ndb0:1\r\n+OK\r\n*2\r\n$1\r\n7\r\n*4\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\na\r\n$1\r\nc\r\n".to_vec();
    let dump = [format!("${}\r\n", payload.len()).as_bytes(), &payload, b"\r\n"].concat();
    replies.extend(
        [&dump[..], b":-1\r\n$-1\r\n:-2\r\n", &dump, b":-2\r\n*2\r\n$1\r\n0\r\n*1\r\n$1\r\na\r\n"].concat(),
    );
    let port = fake(replies.clone());
    let report = load(&options(port, None, to.port())).unwrap();
    complete(&report);
    assert_eq!((report.keys, client.ask("KEYS *").to_string()), (1, "*[\"a\"]".to_owned()));
    assert_eq!(report.notes, ["2 keys deleted or expired before they could be read"]);
    // Wherever the source stops, or says something else, the load ends and says so.
    for len in 0..replies.len() {
        client.ask("FLUSHALL");
        let report = load(&options(fake(replies[..len].to_vec()), None, to.port())).unwrap();
        assert!(report.failure.is_some(), "{len}");
        assert!(client.ask("DBSIZE").int() <= 1);
    }
    for odd in [
        "+OK\r\n",
        ":1\r\n",
        "*1\r\n$1\r\n0\r\n",
        "*2\r\n:0\r\n*0\r\n",
        "*2\r\n$1\r\n0\r\n*1\r\n:1\r\n",
        "nonsense\r\n",
    ] {
        let replies = ["$0\r\n\r\n", odd].concat();
        let source = Source::Server(target(fake(replies.into_bytes())), Some(0));
        let report = load(&Options { source, ..options(0, None, to.port()) }).unwrap();
        assert!(report.failure.is_some(), "{odd}");
    }
}

/// The payload of a small set.
fn client_dump(client: &mut Client) -> Vec<u8> {
    client.ask("SADD t x");
    let payload = client.ask("DUMP t").bytes().to_vec();
    client.ask("DEL t");
    payload
}
