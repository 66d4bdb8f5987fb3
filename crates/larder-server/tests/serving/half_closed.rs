//! A client that has closed its sending side gets the replies to what it has sent, and then the end.

use larder_testkit::{Client, Kind, Server, wait_until};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

/// What a connection receives that sends these bytes and closes its side.
fn received(server: &Server, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(bytes).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut replies = Vec::new();
    stream.read_to_end(&mut replies).unwrap();
    replies
}

/// More than the socket takes at once, and many commands. (Valkey sends what the socket takes.)
#[test]
fn all_replies_arrive() {
    const BYTES: usize = 5_000_000;
    for threads in ["1", "2"] {
        let server = Server::larder(&["--threads", threads]);
        assert_eq!(server.client().cmd(&["SET".as_bytes(), b"big", &vec![b'z'; BYTES]]).text(), "OK");
        for _ in 0..4 {
            let replies = received(&server, b"GET big\r\nPING\r\n");
            assert!(replies.len() > BYTES && replies.ends_with(b"z\r\n+PONG\r\n"), "{}", replies.len());
        }
        let many = received(&server, &b"PING\r\n".repeat(100_000));
        assert_eq!(many.len(), b"+PONG\r\n".len() * 100_000);
    }
}

/// Other threads make the replies.
#[test]
fn replies_of_other_threads_arrive() {
    let server =
        Server::larder(&["--threads", "2", "--cluster-enabled", "yes", "--enable-debug-command", "yes"]);
    server.client().ask("DEBUG POPULATE 1000");
    for command in ["MEMORY ANATOMY", "CLUSTER NODES", "CLUSTER INFO", "KEYS *"] {
        let replies = received(&server, format!("{command}\r\nPING\r\n").as_bytes());
        assert!(replies.len() > 50 && replies.ends_with(b"\r\n+PONG\r\n"), "{command}: {}", replies.len());
    }
}

/// The connection waits for nothing: the client may as well be gone. The same on Valkey.
#[test]
fn nothing_is_waited_for() {
    for (kind, own) in [(Kind::Larder, &["--threads", "2"][..]), (Kind::Valkey, &[])] {
        let server = Server::of(kind, own);
        let mut admin = server.client();
        for command in
            ["BLPOP list 0", "XREAD BLOCK 0 STREAMS s $", "WAIT 1 0", "SUBSCRIBE c", "MONITOR", "MULTI"]
        {
            let replies = received(&server, format!("PING\r\n{command}\r\n").as_bytes());
            assert!(replies.is_empty() || replies.starts_with(b"+PONG\r\n"), "{}: {command}", kind.name());
            assert_alone(&mut admin);
        }
        assert_eq!(admin.ask("RPUSH list a").int(), 1);
        assert_eq!(admin.ask("LLEN list").int(), 1, "{}: no element is lost", kind.name());
        assert_eq!(admin.ask("CLIENT PAUSE 60000 WRITE").text(), "OK");
        received(&server, b"SET k v\r\n");
        assert_alone(&mut admin);
        assert_eq!(admin.ask("CLIENT UNPAUSE").text(), "OK");
        assert_eq!(admin.ask("EXISTS k").int(), 0, "{}", kind.name());
    }
}

fn assert_alone(admin: &mut Client) {
    wait_until("the connection is gone", || admin.ask("CLIENT LIST").text().lines().count() == 1);
}
