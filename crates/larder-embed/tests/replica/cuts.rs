//! Links that break: the replica goes on where it was, and serves what it has meanwhile.

use super::{KINDS, PATIENCE, catch_up, compare, fill, start, url, wait_until};
use larder_embed::{Error, Event, LinkStatus, Replica, ReplicaOptions, Reply, Wait};
use larder_testkit::{Kind, seed};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};
use std::thread;

/// Passes bytes on to a port, and cuts what it has passed after a number of bytes.
struct Proxy {
    port: u16,
    /// Bytes from the primary until the connection is cut; negative: it is not.
    left: Arc<AtomicI64>,
    refuses: Arc<AtomicBool>,
}

impl Proxy {
    fn to(port: u16) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
        let own = listener.local_addr().expect("it has an address").port();
        let (left, refuses) = (Arc::new(AtomicI64::new(-1)), Arc::new(AtomicBool::new(false)));
        let (to_cut, refused) = (Arc::clone(&left), Arc::clone(&refuses));
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if refused.load(Relaxed) {
                    continue;
                }
                let Ok(server) = TcpStream::connect(("127.0.0.1", port)) else { continue };
                let Ok((from, to)) = client.try_clone().and_then(|from| Ok((from, server.try_clone()?)))
                else {
                    continue;
                };
                thread::spawn(move || pass(from, to, None));
                let left = Arc::clone(&to_cut);
                thread::spawn(move || pass(server, client, Some(&left)));
            }
        });
        Proxy { port: own, left, refuses }
    }

    fn cut_after(&self, bytes: i64) {
        self.left.store(bytes, Relaxed);
    }

    fn has_cut(&self) -> bool {
        self.left.load(Relaxed) < 0
    }

    fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, left: Option<&AtomicI64>) {
    let mut bytes = [0; 4096];
    while let Ok(read @ 1..) = from.read(&mut bytes) {
        let before = left.map_or(-1, |left| left.load(Relaxed));
        let cuts = (0..read as i64).contains(&before);
        let passed = if cuts { before as usize } else { read };
        if let Some(left) = left.filter(|_| before >= 0) {
            left.store(if cuts { -1 } else { before - read as i64 }, Relaxed);
        }
        if to.write_all(&bytes[..passed]).is_err() || cuts {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

#[test]
fn a_cut_link_goes_on_without_a_snapshot() {
    for kind in KINDS {
        // Much may be written before the proxy has its turn, and none of it may be lost.
        let server = start(kind, &["--repl-backlog-size", "256mb"]);
        let mut client = server.client();
        let proxy = Proxy::to(server.port());
        let replica = Replica::connect(&proxy.url()).expect("it connects");
        let mut rng = fastrand::Rng::with_seed(seed(11));
        for round in 1..=3 {
            // In the middle of a command, or of a transaction.
            proxy.cut_after(rng.i64(1..20_000));
            let mut written = 0;
            while !proxy.has_cut() {
                for line in ["MULTI", &format!("LPUSH list {written}"), "INCR count", "EXEC"] {
                    client.ask(line);
                }
                client.ask(&format!("SET key:{} {written}", written % 100));
                written += 1;
            }
            // What is there can be read while there is no link.
            assert!(replica.data().exists("count").is_ok());
            compare("after a cut", &server, &replica);
            let status = replica.status();
            assert_eq!((status.full_syncs, status.partial_syncs), (1, round), "{}: {status:?}", kind.name());
            assert!(status.last_error.is_some());
        }
    }
}

#[test]
fn a_snapshot_that_breaks_off_leaves_what_there_was() {
    for kind in KINDS {
        let server = start(kind, &[]);
        let mut client = server.client();
        fill(&mut client);
        let proxy = Proxy::to(server.port());
        let replica = Replica::connect(&proxy.url()).expect("it connects");
        compare("before", &server, &replica);
        let keys = replica.data().dbsize().expect("it can be read");
        // A history of its own, so that a snapshot is needed; the first comes to its middle.
        client.ask("SET later v");
        client.ask("DEBUG CHANGE-REPL-ID");
        proxy.cut_after(100_000);
        client.ask("CLIENT KILL TYPE replica");
        wait_until("the snapshot is cut", || proxy.has_cut());
        let mut is_over = false;
        while !is_over {
            is_over = replica.status().full_syncs >= 2;
            let now = replica.data().dbsize().expect("it is served");
            assert!(now >= keys, "{}: {now} of {keys} keys", kind.name());
        }
        compare("after the second snapshot", &server, &replica);
    }
}

#[test]
fn a_primary_that_comes_again_is_followed_again() {
    let mut server = start(Kind::Larder, &[]);
    server.client().ask("SET in:old v");
    let options = ReplicaOptions::new().timeout_s(5);
    let replica = Replica::connect_with(&url(&server), &options).expect("it connects");
    let events = replica.events::<&str>(&[], 100).expect("the thread starts");
    let port = server.port().to_string();
    server.kill();
    wait_until("the link is down", || replica.status().link == LinkStatus::Down);
    assert!(replica.data().exists("in:old").expect("it is served"));
    assert!(replica.write(&["SET", "in:lost", "v"], super::OWN).is_err());
    assert!(server.start_again(&["--port", &port, "--repl-diskless-sync-delay", "0"]), "it starts again");
    server.client().ask("SET in:new v");
    wait_until("the other data is here", || replica.status().full_syncs == 2);
    catch_up(&replica);
    assert_eq!(replica.data().dbsize().expect("it can be read"), 2, "what the primary has lost is gone");
    assert!(replica.data().exists("in:new").expect("it can be read"));
    assert_eq!(events.next_within(PATIENCE), Some(Event::Everything));
}

#[test]
fn a_replica_ends_while_there_is_no_primary() {
    let server = start(Kind::Larder, &[]);
    let proxy = Proxy::to(server.port());
    let replica = Replica::connect(&proxy.url()).expect("it connects");
    proxy.refuses.store(true, Relaxed);
    server.client().ask("CLIENT KILL TYPE replica");
    wait_until("the link is down", || replica.status().link == LinkStatus::Down);
    let store = replica.data().clone();
    drop(replica);
    assert_eq!(store.dbsize().expect("it can be read on"), 0);
}

/// Passes connections on to a port; on one that asks for `INFO` the replies end after this many bytes.
fn cut_at_info(port: u16, after: usize) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
    let own = listener.local_addr().expect("it has an address").port();
    thread::spawn(move || {
        for mut client in listener.incoming().map_while(Result::ok) {
            let Ok(mut server) = TcpStream::connect(("127.0.0.1", port)) else { return };
            let has_asked = Arc::new(AtomicBool::new(false));
            let asks = Arc::clone(&has_asked);
            let (mut from, mut to) =
                (client.try_clone().expect("a copy"), server.try_clone().expect("a copy"));
            thread::spawn(move || {
                let mut bytes = [0; 4096];
                while let Ok(read @ 1..) = from.read(&mut bytes) {
                    // A write and the question come at once.
                    asks.fetch_or(bytes[..read].windows(4).any(|word| word == b"INFO"), Relaxed);
                    if to.write_all(&bytes[..read]).is_err() {
                        break;
                    }
                }
                let _ = to.shutdown(Shutdown::Both);
            });
            thread::spawn(move || {
                let mut bytes = [0; 4096];
                while let Ok(read @ 1..) = server.read(&mut bytes) {
                    let passed = if has_asked.load(Relaxed) { after.min(read) } else { read };
                    if client.write_all(&bytes[..passed]).is_err() || passed < read {
                        break;
                    }
                }
                let _ = client.shutdown(Shutdown::Both);
            });
        }
    });
    own
}

#[test]
fn a_link_that_breaks_between_a_write_and_the_question_has_executed_the_write() {
    let server = start(Kind::Larder, &[]);
    // The reply to the write has 4 bytes: `:1`, and the end of the line.
    for after in 0..8 {
        server.client().ask("SET n 0");
        let url = format!("redis://127.0.0.1:{}", cut_at_info(server.port(), after));
        let replica = Replica::connect(&url).expect("it connects");
        let result = replica.write(&["INCR", "n"], Wait::Own(PATIENCE));
        match &result {
            Err(Error::Connection(_)) if after < 4 => {}
            Err(Error::Executed { reply: Reply::Int(1), reason }) if after >= 4 => {
                assert!(matches!(&**reason, Error::Connection(_)), "{reason}");
            }
            _ => panic!("{after}: {result:?}"),
        }
        assert_eq!(server.client().ask("GET n").text(), "1", "{after}");
        // The next one gets a connection of its own.
        assert_eq!(replica.write(&["INCR", "n"], Wait::Primary).expect("it is answered"), Reply::Int(2));
    }
}
