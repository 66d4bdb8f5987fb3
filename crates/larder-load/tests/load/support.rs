//! What the tests of this folder have in common.

use fastrand::Rng;
use larder_load::options::{Options, Report, Source};
use larder_load::security::Security;
use larder_load::target::Target;
use larder_testkit::{Client, Kind, Value};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

pub const DEBUG: &[&str] = &["--enable-debug-command", "yes"];
pub const ALL: [Kind; 4] = [Kind::Larder, Kind::Redis, Kind::Redis8, Kind::Valkey];

pub fn target(port: u16) -> Target {
    Target { host: "127.0.0.1".to_owned(), port, user: None, password: None, security: Security::default() }
}

/// A load of a file into a server on this machine; groups that do not fit go beside the file.
pub fn options_for(path: &Path, source: Source, port: u16) -> Options {
    Options {
        input: Some(path.to_owned()),
        source,
        target: target(port),
        db: None,
        workers: 2,
        budget_bytes: 64 << 20,
        adjacent: false,
        replace: false,
        dry_run: false,
        rejects: None,
        state: None,
        spill: path.parent().unwrap().to_owned(),
        quiet: true,
    }
}

/// The digests of all keys of a database.
pub fn digests(client: &mut Client, db: u32) -> Vec<(String, String)> {
    client.ask(&format!("SELECT {db}"));
    let mut keys: Vec<String> = client.ask("KEYS *").items().iter().map(Value::text).collect();
    keys.sort();
    let digest = |key: String| {
        let reply = client.cmd(&["DEBUG", "DIGEST-VALUE", &key]);
        (key, reply.items()[0].text())
    };
    keys.into_iter().map(digest).collect()
}

pub fn complete(report: &Report) {
    assert_eq!((&report.failure, report.rejected), (&None, 0), "{:?}", report.first_rejects);
}

/// Keys of all types and sizes, some of which expire far in the future.
pub fn fill(client: &mut Client, rng: &mut Rng) {
    let text = |rng: &mut Rng| match rng.u8(..4) {
        0 => rng.i64(..).to_string(),
        1 => "x".repeat(rng.usize(60..300)),
        2 => String::new(),
        _ => format!("{:x}", rng.u32(..)),
    };
    for (number, size) in [1, 3, 100, 700].into_iter().enumerate() {
        for command in ["RPUSH", "SADD", "HSET", "ZADD", "XADD", "SET"] {
            let key = format!("{command}:{number}");
            let pieces = if command == "XADD" || command == "SET" { size } else { 1 };
            for piece in 0..pieces.min(200) {
                let mut words = vec![command.to_owned(), key.clone()];
                match command {
                    "RPUSH" | "SADD" => words.extend((0..size).map(|_| text(rng))),
                    "HSET" => words.extend((0..size).flat_map(|n| [format!("f{n}"), text(rng)])),
                    "ZADD" => {
                        words.extend((0..size).flat_map(|n| [rng.i16(..).to_string(), format!("m{n}")]));
                    }
                    "XADD" => {
                        words.extend([format!("{}-{}", 5 + piece, rng.u8(..)), "f".to_owned(), text(rng)]);
                    }
                    _ => words.push(text(rng)),
                }
                let reply = client.cmd(&words);
                assert!(!reply.is_error(), "{reply}");
            }
            if rng.bool() {
                client.cmd(&["PEXPIREAT", &key, &(4_102_444_800_000 + rng.i64(..1000)).to_string()]);
            }
        }
    }
    let integers: Vec<String> = (0..600).map(|n| (n * 7).to_string()).collect();
    client.cmd(&[&["SADD".to_owned(), "integers".to_owned()], &integers[..]].concat());
    client.ask("XGROUP CREATE XADD:2 group 0");
    client.ask("XREADGROUP GROUP group consumer COUNT 10 STREAMS XADD:2 >");
}

/// Forwards connections to a server until it has passed on this many bytes, then closes all of them.
pub fn proxy(server: u16, left: Arc<AtomicI64>) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let Ok(upstream) = TcpStream::connect(("127.0.0.1", server)) else { return };
            for (from, to) in [(&client, &upstream), (&upstream, &client)] {
                let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                let left = Arc::clone(&left);
                std::thread::spawn(move || {
                    let mut bytes = [0; 1000];
                    while let Ok(n @ 1..) = from.read(&mut bytes) {
                        let before = left.fetch_sub(n as i64, Ordering::Relaxed);
                        let passed = n.min(before.max(0) as usize);
                        if to.write_all(&bytes[..passed]).is_err() || passed < n {
                            break;
                        }
                    }
                    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
                });
            }
        }
    });
    port
}
