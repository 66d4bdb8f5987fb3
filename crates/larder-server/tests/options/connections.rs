//! Who may connect, how much they may send, and what is kept of their mistakes.

use larder_testkit::{Client, Kind, Server};
use std::fs;
use std::io::Read;
use std::net::{IpAddr, TcpStream, UdpSocket};

const KINDS: [Kind; 2] = [Kind::Larder, Kind::Valkey];

/// Whether the kernel has a timer for probes of a connection, as /proc/net/tcp shows it.
fn is_probed(port: u16, peer: u16) -> bool {
    const PROBES: &str = "02:";
    let table = fs::read_to_string("/proc/net/tcp").unwrap();
    let line = table.lines().find(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let is = |field: &str, port: u16| field.ends_with(&format!(":{port:04X}"));
        fields.len() > 5 && is(fields[1], port) && is(fields[2], peer)
    });
    let line = line.expect("the kernel knows the connection");
    line.split_whitespace().nth(5).is_some_and(|timer| timer.starts_with(PROBES))
}

#[test]
fn silent_connections_are_probed() {
    for (value, probed) in [("300", true), ("0", false)] {
        for kind in KINDS {
            let server = Server::of(kind, &["--tcp-keepalive", value]);
            let mut client = server.client();
            let info = client.ask("CLIENT INFO").text();
            let addr = info.split(' ').find_map(|field| field.strip_prefix("addr=127.0.0.1:"));
            let peer = addr.expect("the address").parse().expect("a port");
            assert_eq!(is_probed(server.port(), peer), probed, "{} {value}", kind.name());
        }
    }
}

/// An address of this machine that is not the loopback's. Nothing is sent.
fn outer_address() -> IpAddr {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.connect("192.0.2.1:9").expect("the machine has a network");
    socket.local_addr().unwrap().ip()
}

/// What a stranger is told without asking; nothing if he is let in.
fn greeting(server: &Server) -> String {
    let mut stream = TcpStream::connect((outer_address(), server.port())).unwrap();
    let mut text = String::new();
    std::io::Write::write_all(&mut stream, b"*1\r\n$4\r\nQUIT\r\n").unwrap();
    // One who is refused may find the connection reset after the text.
    let _ = stream.read_to_string(&mut text);
    text
}

#[test]
fn strangers_are_refused_in_protected_mode() {
    let [ours, theirs] = KINDS.map(|kind| {
        let server = Server::of(kind, &["--bind", "0.0.0.0"]);
        let mut client = server.client();
        let refused = greeting(&server);
        client.ask("CONFIG SET protected-mode no");
        let open = greeting(&server);
        client.ask("CONFIG SET protected-mode yes requirepass secret");
        [refused, open, greeting(&server)]
    });
    assert_eq!(ours, theirs);
    assert!(ours[0].starts_with("-DENIED ") && ours[1] == "+OK\r\n" && ours[2] == "+OK\r\n", "{ours:?}");
}

fn texts(client: &mut Client, lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| format!("{line}: {}", client.ask(line))).collect()
}

#[test]
fn the_log_of_denials_has_an_end() {
    let lengths = KINDS.map(|kind| {
        let server = Server::of(kind, &["--acllog-max-len", "3"]);
        let mut client = server.client();
        let mut fill = |len: &str| {
            client.ask(&format!("CONFIG SET acllog-max-len {len}"));
            (0..6).for_each(|n| drop(client.ask(&format!("AUTH nobody{n} x"))));
            client.ask("ACL LOG").items().len()
        };
        [fill("3"), fill("5"), fill("1"), fill("0")]
    });
    assert_eq!(lengths[0], lengths[1]);
    assert_eq!(lengths[0][..3], [3, 5, 1]);
}

#[test]
fn modules_are_for_those_who_may() {
    for value in ["no", "local", "yes"] {
        let [ours, theirs] = KINDS.map(|kind| {
            let server = Server::of(kind, &["--enable-module-command", value]);
            let lines = [
                "MODULE LOAD /nowhere",
                "MODULE LOADEX /nowhere CONFIG a b ARGS c",
                "MODULE UNLOAD none",
                "MODULE LIST",
            ];
            let said = texts(&mut server.client(), &lines);
            // The reply sends operators to the log.
            assert_eq!(server.log().contains("Module /nowhere failed to load: "), value != "no");
            said
        });
        assert_eq!(ours, theirs, "{value}");
        assert_eq!(ours[0].contains("not allowed"), value == "no");
    }
}

#[test]
fn arguments_have_a_length() {
    let [ours, theirs] = KINDS.map(|kind| {
        let server = Server::of(kind, &["--proto-max-bulk-len", "1mb"]);
        let mut client = server.client();
        client.cmd(&["SET", "k", &"x".repeat(1 << 20)]);
        let mut answers = texts(
            &mut client,
            &[
                "STRLEN k",
                "APPEND k y",
                "SETRANGE k 1048575 yy",
                "SETBIT k 8388608 1",
                "SETRANGE k 1048575 y",
            ],
        );
        let mut longer = server.client();
        longer.send_raw(b"*2\r\n$4\r\nECHO\r\n$1048577\r\n").unwrap();
        answers.push(String::from_utf8_lossy(&longer.read_to_end().unwrap()).into_owned());
        client.ask("CONFIG SET proto-max-bulk-len 2mb");
        answers.extend(texts(&mut client, &["APPEND k y", "CONFIG SET proto-max-bulk-len 1"]));
        answers
    });
    assert_eq!(ours, theirs);
}
