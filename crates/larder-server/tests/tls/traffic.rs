//! What goes over a connection: values of all sizes, in pieces of all sizes, messages that nobody asked for, readers that are slow.

use super::TlsServer;
use larder_testkit::tls::Authority;
use larder_testkit::tls::{config, connect, stream};
use larder_testkit::{Client, RawClient, Value, encode, seed};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

fn start() -> (Authority, TlsServer, Arc<rustls::ClientConfig>) {
    let authority = Authority::new("authority");
    let larder = TlsServer::larder(&authority, &authority.issue("server"), &["--tls-auth-clients", "no"]);
    let config = config(&authority, None, rustls::ALL_VERSIONS);
    (authority, larder, config)
}

/// Passes connections on to a port, in pieces of 1 to `max` bytes both ways. It ends with the test's process.
fn chopper(port: u16, max: usize, seed: u64) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let server = TcpStream::connect(("127.0.0.1", port)).unwrap();
            server.set_nodelay(true).unwrap();
            client.set_nodelay(true).unwrap();
            let ends = [(client.try_clone().unwrap(), server.try_clone().unwrap()), (server, client)];
            for (mut from, mut to) in ends {
                let mut rng = fastrand::Rng::with_seed(seed);
                thread::spawn(move || {
                    let mut bytes = vec![0; max];
                    while let Ok(n @ 1..) = from.read(&mut bytes[..rng.usize(1..=max)]) {
                        if to.write_all(&bytes[..n]).is_err() {
                            break;
                        }
                    }
                    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
                });
            }
        }
    });
    own
}

/// Pipelines of values, small and large, written and read at once; each reply must be its command's.
fn pipelines(mut client: Client, rng: &mut fastrand::Rng, rounds: usize, bytes_max: usize) {
    for round in 0..rounds {
        let values: Vec<Vec<u8>> = (0..rng.usize(1..30))
            .map(|_| {
                let bytes = if rng.bool() { rng.usize(0..200) } else { rng.usize(0..bytes_max) };
                let first = rng.u8(..);
                (0..bytes).map(|at| first.wrapping_add((at * 7 / 3) as u8)).collect()
            })
            .collect();
        let mut request = Vec::new();
        for (at, value) in values.iter().enumerate() {
            encode(&mut request, &[&b"SET"[..], format!("k{at}").as_bytes(), value]);
            encode(&mut request, &[&b"GET"[..], format!("k{at}").as_bytes()]);
        }
        client.send_raw(&request).unwrap();
        for value in &values {
            assert_eq!(client.read().unwrap().text(), "OK", "round {round}");
            assert!(client.read().unwrap() == Value::Bulk(value.clone()), "round {round}: another value");
        }
    }
}

#[test]
fn values_of_all_sizes() {
    let (_authority, larder, config) = start();
    let seed = seed(41);
    let mut rng = fastrand::Rng::with_seed(seed);
    eprintln!("SEED={seed}");
    pipelines(connect(larder.port(), &config).unwrap(), &mut rng, 60, 20_000);
    for (max, bytes) in [(7, 300), (1000, 20_000), (40_000, 100_000)] {
        let port = chopper(larder.port(), max, seed);
        pipelines(connect(port, &config).unwrap(), &mut rng, 12, bytes);
    }
}

/// A value that is much larger than what is read at once, in both directions.
#[test]
fn a_large_value() {
    let (_authority, larder, config) = start();
    let value: Vec<u8> = (0..40_000_003_usize).map(|at| (at / 7 % 251) as u8).collect();
    let mut client = connect(larder.port(), &config).unwrap();
    assert_eq!(client.cmd(&[&b"SET"[..], b"large", &value]).text(), "OK");
    for _ in 0..2 {
        assert!(client.cmd(&["GET", "large"]) == Value::Bulk(value.clone()));
    }
    assert_eq!(larder.plain().ask("STRLEN large").int(), value.len() as i64);
}

/// Readers that take a little at a time, and stop in between, get everything in order.
#[test]
fn slow_readers() {
    let (_authority, larder, config) = start();
    let mut plain = larder.plain();
    plain.cmd(&["EVAL", "for i=1,20000 do redis.call('RPUSH','l',string.rep(i,30)) end", "0"]);
    let expected = larder.server.raw_client().ask(&["LRANGE", "l", "0", "-1"]);
    let readers: Vec<_> = (0..4_usize)
        .map(|reader| {
            let mut stream = stream(larder.port(), &config).unwrap();
            let len = expected.len();
            thread::spawn(move || {
                stream.write_all(b"LRANGE l 0 -1\r\n").unwrap();
                let mut got = vec![0; len];
                let mut at = 0;
                while at < len {
                    let end = (at + 1 + (at * 31 + reader * 977) % 30_000).min(len);
                    stream.read_exact(&mut got[at..end]).unwrap();
                    at = end;
                    if at % 17 == 0 {
                        thread::yield_now();
                    }
                }
                got
            })
        })
        .collect();
    for reader in readers {
        assert!(reader.join().unwrap() == expected.as_bytes());
    }
}

#[test]
fn messages_that_nobody_asked_for() {
    let (_authority, larder, config) = start();
    let mut clients: Vec<Client> = (0..5).map(|_| connect(larder.port(), &config).unwrap()).collect();
    let [monitor, subscriber, waiter, tracker, other] = &mut clients[..] else { unreachable!() };
    assert_eq!(monitor.ask("MONITOR").text(), "OK");
    assert_eq!(subscriber.ask("SUBSCRIBE news").items()[2], Value::Int(1));
    waiter.send(&["BLPOP", "queue", "0"]);
    tracker.ask("HELLO 3");
    tracker.ask("CLIENT TRACKING ON");
    tracker.ask("GET k");
    let long = "x".repeat(100_000);
    assert_eq!(other.cmd(&["PUBLISH", "news", &long]).int(), 1);
    assert_eq!(subscriber.read().unwrap().items()[2].text(), long);
    // The waiter has not been heard yet, perhaps: what it waits for stays there.
    other.ask("RPUSH queue job");
    assert_eq!(waiter.read().unwrap().items()[1].text(), "job");
    other.ask("SET k v");
    let push = tracker.read().unwrap();
    assert_eq!(
        (push.items()[0].text(), push.items()[1].items()[0].text()),
        ("invalidate".into(), "k".into())
    );
    let mut seen = String::new();
    while !seen.contains("\"SET\" \"k\" \"v\"") {
        seen += &monitor.read().unwrap().text();
    }
    assert!(seen.contains("\"RPUSH\" \"queue\" \"job\"") && seen.contains("\"PUBLISH\" \"news\""));
}

/// A script that is debugged talks to the socket of its client, in the event loop and on a copy of the data.
#[test]
fn scripts_are_debugged_over_tls() {
    let (_authority, larder, config) = start();
    for mode in ["SYNC", "YES"] {
        let mut client = RawClient::over(stream(larder.port(), &config).unwrap());
        assert_eq!(client.ask(&["SCRIPT", "DEBUG", mode]), "+OK\r\n");
        client.tell(&[b"EVAL", b"local a = 1\nreturn a + 1", b"0"]);
        assert!(client.reply().contains("Stopped at 1"), "{mode}");
        client.tell(&[b"continue"]);
        let rest = client.rest();
        assert!(
            rest.contains("<retval> 2") || rest.contains("(integer) 2") || rest.contains('2'),
            "{mode}: {rest}"
        );
    }
}
