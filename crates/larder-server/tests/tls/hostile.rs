//! Clients that do not mean well, or do not know better.

use super::TlsServer;
use super::{info, set, wait_until};
use larder_testkit::tls::Authority;
use larder_testkit::tls::{TlsClientStream, config, connect, stream};
use larder_testkit::{encode, rss_bytes, seed};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The beginning of a handshake, and no more.
const HALF_HELLO: &[u8] = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03half a greeting";

fn start(args: &[&str]) -> (Authority, TlsServer, Arc<rustls::ClientConfig>) {
    let authority = Authority::new("authority");
    let args = [&["--tls-auth-clients", "no"], args].concat();
    let larder = TlsServer::larder(&authority, &authority.issue("server"), &args);
    let config = config(&authority, None, rustls::ALL_VERSIONS);
    (authority, larder, config)
}

fn raw(port: u16, bytes: &[u8]) -> TcpStream {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    socket.write_all(bytes).unwrap();
    socket
}

/// Reads until the server ends the connection; an error is an end as well.
fn is_closed(mut socket: TcpStream) -> bool {
    let mut rest = Vec::new();
    match socket.read_to_end(&mut rest) {
        Ok(_) => true,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

/// Thousands of handshakes that stop half-way: others are let in, memory stays bounded, and `timeout` ends them.
#[test]
fn handshakes_that_do_not_go_on() {
    let (_authority, larder, config) = start(&["--max-new-tls-connections-per-cycle", "2"]);
    let before = rss_bytes(larder.server.pid());
    let count = 2000;
    let stalled: Vec<TcpStream> =
        (0..count).map(|at| raw(larder.port(), if at % 2 == 0 { HALF_HELLO } else { b"" })).collect();
    let mut plain = larder.plain();
    wait_until("all are there", || {
        info(&mut plain, "clients", "connected_clients").parse::<usize>().unwrap() > count
    });
    let began = Instant::now();
    assert_eq!(connect(larder.port(), &config).unwrap().ask("PING").text(), "PONG");
    assert!(began.elapsed() < Duration::from_secs(10));
    let each = rss_bytes(larder.server.pid()).saturating_sub(before) / count as u64;
    assert!(each < 32 << 10, "{each} bytes for each");
    assert_eq!(set(&mut plain, &["timeout", "1"]), "OK");
    stalled.into_iter().for_each(|socket| assert!(is_closed(socket)));
    assert_eq!(larder.plain().ask("PING").text(), "PONG");
}

/// Plain text on the port for TLS, TLS on the plain port, and noise on both.
#[test]
fn the_wrong_protocol() {
    let (_authority, larder, config) = start(&[]);
    let seed = seed(77);
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut noise = |len: usize| (0..len).map(|_| rng.u8(..)).collect::<Vec<u8>>();
    let too_long = [&b"\x16\x03\x01\xff\xff"[..], &[0; 70_000]].concat();
    let endless = [&b"\x16\x03\x01\x40\x00\x01\xff\xff\xff"[..], &[0; 16_380]].concat();
    let alert = b"\x15\x03\x03\x00\x02\x02\x28".to_vec();
    let cases = [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(),
        b"PING\r\n".to_vec(),
        too_long,
        endless,
        alert,
        noise(5000),
    ];
    for case in cases {
        let socket = TcpStream::connect(("127.0.0.1", larder.port())).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        // It may be closed before it has taken everything.
        let _ = (&socket).write_all(&case);
        let _ = socket.shutdown(Shutdown::Write);
        assert!(is_closed(socket), "SEED={seed}");
    }
    // TLS on the plain port: nothing of it is a command.
    assert!(stream(larder.server.port(), &config).is_err());
    let mut plain = larder.plain();
    assert_eq!(plain.ask("DBSIZE").int(), 0);
    assert_eq!(connect(larder.port(), &config).unwrap().ask("PING").text(), "PONG");
}

/// The bytes of a connection, damaged anywhere, never reach the server as commands.
#[test]
fn damaged_records() {
    let (_authority, larder, config) = start(&[]);
    let seed = seed(78);
    let mut rng = fastrand::Rng::with_seed(seed);
    for round in 0..60 {
        let TlsClientStream(mut stream) = stream(larder.port(), &config).unwrap();
        let mut command = Vec::new();
        encode(&mut command, &["SET", "damaged", &"v".repeat(rng.usize(0..40_000))]);
        let mut wire = Vec::new();
        stream.conn.writer().write_all(&command).unwrap();
        while stream.conn.wants_write() {
            stream.conn.write_tls(&mut wire).unwrap();
        }
        let at = rng.usize(..wire.len());
        wire[at] ^= 1 << rng.u8(..8);
        if round % 3 == 0 {
            wire.truncate(at + 1);
        }
        let _ = stream.sock.write_all(&wire);
        let _ = stream.sock.shutdown(Shutdown::Write);
        assert!(is_closed(stream.sock), "SEED={seed} {round}");
    }
    assert_eq!(larder.plain().ask("EXISTS damaged").int(), 0, "SEED={seed}");
}

/// A connection that is cut, without TLS's goodbye, ends where it was cut; so does one that says goodbye and leaves the socket open.
#[test]
fn connections_that_end_early() {
    let (_authority, larder, config) = start(&[]);
    let mut plain = larder.plain();
    let cut = |bytes: &[u8]| {
        let TlsClientStream(mut stream) = stream(larder.port(), &config).unwrap();
        stream.write_all(bytes).unwrap();
        stream.flush().unwrap();
        stream.sock.shutdown(Shutdown::Write).unwrap();
        assert!(is_closed(stream.sock));
    };
    cut(b"SET whole 1\r\n*3\r\n$3\r\nSET\r\n$4\r\nhalf\r\n$10\r\n12345");
    assert_eq!((plain.ask("EXISTS half").int(), plain.ask("GET whole").text()), (0, "1".into()));
    let TlsClientStream(mut stream) = stream(larder.port(), &config).unwrap();
    stream.write_all(b"SET polite 1\r\n").unwrap();
    stream.conn.send_close_notify();
    while stream.conn.wants_write() {
        stream.conn.write_tls(&mut stream.sock).unwrap();
    }
    assert!(is_closed(stream.sock), "the server closes its side, too");
    wait_until("the command was executed", || plain.ask("GET polite").text() == "1");
}

/// Who asks and never reads is closed when the limit of its class is reached, as without TLS.
#[test]
fn a_client_that_never_reads() {
    let (_authority, larder, config) = start(&["--client-output-buffer-limit", "normal 2000000 0 0"]);
    let mut plain = larder.plain();
    plain.cmd(&["SET", "k", &"v".repeat(100_000)]);
    let TlsClientStream(mut stream) = stream(larder.port(), &config).unwrap();
    stream.sock.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
    for _ in 0..200 {
        if stream.write_all(&b"GET k\r\n".repeat(10)).is_err() {
            break;
        }
    }
    larder.server.wait_for_log("scheduled to be closed ASAP for overcoming of output buffer limits");
    wait_until("it is gone", || info(&mut plain, "clients", "connected_clients") == "1");
}

/// Connections one after the other: all are let in, and none stays.
#[test]
fn many_connections_come_and_go() {
    let (_authority, larder, config) = start(&["--max-new-tls-connections-per-cycle", "50"]);
    for _ in 0..300 {
        assert_eq!(connect(larder.port(), &config).unwrap().ask("PING").text(), "PONG");
    }
    let mut plain = larder.plain();
    wait_until("all are gone", || info(&mut plain, "clients", "connected_clients") == "1");
}
