//! What others find when a client has the reply to its write: replicas have it, and caches are told.
//!
//! None of it is promised to the microsecond (`docs/limits.md`): another thread may get no processor for a while. So few of many may be
//! late; before the server saw to it, from a tenth to most of them were. On a machine that is too busy even for that, the best of several attempts
//! counts.

use larder_testkit::{Client, Kind, Server, wait_until, words};
use rustix::io::ioctl_fionread;
use std::net::TcpStream;
use std::time::Duration;

const WRITES: usize = 400;
/// How many of them may be late.
const LATE_MAX: usize = WRITES / 20;
const ATTEMPTS: usize = 5;

/// Has something tried until few are late.
fn mostly_in_time(what: &str, mut count_late: impl FnMut() -> usize) {
    let mut counts = Vec::new();
    while counts.len() < ATTEMPTS {
        counts.push(count_late());
        if counts.last() <= Some(&LATE_MAX) {
            return;
        }
    }
    panic!("{what}: {counts:?} of {WRITES} were late");
}

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
    let mut round = 0;
    mostly_in_time("reads from the replica", || {
        let mut stale = 0;
        for _ in 0..4 {
            round += 1;
            let (mut writer, mut reader) = (primary.client(), replica.client());
            for n in 0..WRITES / 4 {
                let value = format!("{round}:{n}");
                assert_eq!(writer.cmd(&["SET", "k", &value]).text(), "OK");
                stale += usize::from(reader.ask("GET k").text() != value);
            }
        }
        stale
    });
}

/// Threads that have waited for each other sleep when there is nothing to do.
#[test]
fn nobody_spins_after_the_traffic_of_caches() {
    let server = Server::of(Kind::Larder, &["--threads", "2"]);
    for _ in 0..10 {
        let (mut writer, mut cache) = (server.client(), server.client());
        assert!(!cache.ask("HELLO 3").is_error());
        assert_eq!(cache.ask("CLIENT TRACKING ON").text(), "OK");
        for n in 0..10 {
            assert!(!cache.ask("GET k").is_error());
            assert_eq!(writer.cmd(&words(&format!("SET k {n}"))).text(), "OK");
            assert!(cache.read().expect("it is told").to_string().contains("invalidate"));
        }
    }
    let used_s = || {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", server.pid())).expect("it runs");
        let fields: Vec<u64> =
            text.rsplit(')').next().unwrap_or_default().split(' ').filter_map(|f| f.parse().ok()).collect();
        // utime and stime, in ticks of 10 ms; the state before them is a letter.
        (fields[10] + fields[11]) as f64 / 100.0
    };
    let before = used_s();
    std::thread::sleep(Duration::from_millis(500));
    let used = used_s() - before;
    assert!(used < 0.2, "{used} s of 0.5 s");
}

/// A client writes, has its reply, and another one that caches the key has been told by then; in both ways of tracking.
#[test]
fn caches_are_told_before_the_writer_has_its_reply() {
    let server = Server::of(Kind::Larder, &["--threads", "2"]);
    for tracking in ["CLIENT TRACKING ON", "CLIENT TRACKING ON BCAST"] {
        mostly_in_time(tracking, || {
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
            late
        });
    }
}
