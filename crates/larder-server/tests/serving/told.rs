//! What others find when a client has the reply to its write: replicas have it, and caches are told.
//!
//! None of it is promised to the microsecond (`docs/limits.md`): another thread may get no processor for a while. So few of many may be
//! late; before the server saw to it, from a tenth to most of them were.

use larder_testkit::{Client, Kind, Server, wait_until, words};
use rustix::io::ioctl_fionread;
use std::net::TcpStream;

const WRITES: usize = 400;
/// How many of them may be late.
const LATE_MAX: usize = WRITES / 20;

fn field(client: &mut Client, name: &str) -> String {
    let text = client.ask("INFO replication").text();
    text.lines().find_map(|line| line.strip_prefix(name).map(str::to_owned)).unwrap_or_default()
}

/// A client writes, has its reply, and reads from the replica.
#[test]
fn a_replica_has_a_write_when_its_client_has_the_reply() {
    let args = ["--threads", "2", "--repl-diskless-sync-delay", "0"];
    let [primary, replica] = [(); 2].map(|()| Server::of(Kind::Larder, &args));
    let mut admin = replica.client();
    assert_eq!(admin.ask(&format!("REPLICAOF 127.0.0.1 {}", primary.port())).text(), "OK");
    wait_until("the link is up", || field(&mut admin, "master_link_status:") == "up");
    let mut stale = 0;
    for round in 0..4 {
        let (mut writer, mut reader) = (primary.client(), replica.client());
        for n in 0..WRITES / 4 {
            let value = format!("{round}:{n}");
            assert_eq!(writer.cmd(&["SET", "k", &value]).text(), "OK");
            stale += usize::from(reader.ask("GET k").text() != value);
        }
    }
    assert!(stale <= LATE_MAX, "{stale} of {WRITES} reads were stale");
}

/// A client writes, has its reply, and another one that caches the key has been told by then; in both ways of tracking.
#[test]
fn caches_are_told_before_the_writer_has_its_reply() {
    let server = Server::of(Kind::Larder, &["--threads", "2"]);
    for tracking in ["CLIENT TRACKING ON", "CLIENT TRACKING ON BCAST"] {
        let mut late = 0;
        for _ in 0..4 {
            let mut writer = server.client();
            let socket = TcpStream::connect(("127.0.0.1", server.port())).expect("it connects");
            let mut cache = Client::over(socket.try_clone().expect("a second handle")).expect("a client");
            assert!(!cache.ask("HELLO 3").is_error());
            assert_eq!(cache.ask(tracking).text(), "OK");
            for n in 0..WRITES / 4 {
                assert!(!cache.ask("GET k").is_error());
                assert_eq!(writer.cmd(&words(&format!("SET k {n}"))).text(), "OK");
                late += usize::from(ioctl_fionread(&socket).expect("it is open") == 0);
                assert!(cache.read().expect("it is told").to_string().contains("invalidate"));
            }
        }
        assert!(late <= LATE_MAX, "{tracking}: {late} of {WRITES} were told later");
    }
}
