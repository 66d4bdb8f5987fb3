//! Clients who mean harm, or are mistaken: what they can make the server hold or do is bounded. The bounds are those of
//! docs/limits.md.

use larder_testkit::{Client, Kind, Server, Value};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What a server answers to `bytes` until it closes the connection, or nothing more comes.
fn exchange(port: u16, bytes: &[u8]) -> (String, bool) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("the server accepts");
    stream.set_read_timeout(Some(Duration::from_millis(300))).expect("a timeout");
    // It may be closed in the middle.
    let _ = stream.write_all(bytes);
    let (mut answer, mut part) = (Vec::new(), [0; 4096]);
    loop {
        match stream.read(&mut part) {
            Ok(0) => return (String::from_utf8_lossy(&answer).into_owned(), true),
            Ok(n) => answer.extend_from_slice(&part[..n]),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {
                return (String::from_utf8_lossy(&answer).into_owned(), true);
            }
            Err(_) => return (String::from_utf8_lossy(&answer).into_owned(), false),
        }
    }
}

#[test]
fn http_requests_are_not_executed() {
    for kind in [Kind::Larder, Kind::Valkey] {
        let server = Server::of(kind, &[]);
        for request in [
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 13\r\n\r\nSET pwned 1\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\n\r\nSET pwned 1\r\n",
            "hOsT: a\r\nSET pwned 1\r\n",
            "*1\r\n$4\r\nPoSt\r\n*3\r\n$3\r\nSET\r\n$5\r\npwned\r\n$1\r\n1\r\n",
            "MULTI\r\nPOST x\r\nSET pwned 1\r\nEXEC\r\n",
        ] {
            let (_, closed) = exchange(server.port(), request.as_bytes());
            assert!(closed, "{kind:?} goes on after {request:?}");
        }
        assert_eq!(server.client().ask("EXISTS pwned").int(), 0, "{kind:?}");
        let log = server.wait_for_log("Possible SECURITY ATTACK detected");
        assert_eq!(log.matches("SECURITY ATTACK").count(), 1, "{kind:?} says it once a minute:\n{log}");
    }
}

#[test]
fn strangers_cannot_have_errors_pile_up() {
    const PINGS: usize = 400_000;
    for kind in [Kind::Larder, Kind::Valkey] {
        let server = Server::of(kind, &["--requirepass", "secret"]);
        let mut admin = server.client();
        assert_eq!(admin.ask("AUTH secret").text(), "OK");
        let before = used_memory(&mut admin);
        let mut stranger = TcpStream::connect(("127.0.0.1", server.port())).expect("the server accepts");
        stranger.set_write_timeout(Some(Duration::from_secs(20))).expect("a timeout");
        // It may be closed before it has sent everything; it never reads.
        let _ = stranger.write_all(&b"PING\r\n".repeat(PINGS));
        let deadline = Instant::now() + Duration::from_secs(20);
        while admin.ask("CLIENT LIST").text().lines().count() > 1 {
            let grown = used_memory(&mut admin).saturating_sub(before);
            assert!(grown < 2 << 20, "{kind:?} holds {grown} bytes for a stranger");
            assert!(Instant::now() < deadline, "{kind:?} does not close the stranger");
        }
        // Whoever has authenticated once may have as much as the limits of its class allow.
        let mut known = server.client();
        known.ask("AUTH secret");
        known.ask("RESET");
        known.send_raw(&b"PING\r\n".repeat(5000)).expect("it is sent");
        for _ in 0..5000 {
            assert!(known.read().expect("an answer").is_error(), "{kind:?}");
        }
    }
}

fn used_memory(client: &mut Client) -> u64 {
    let info = client.ask("INFO memory").text();
    let line = info.lines().find_map(|line| line.strip_prefix("used_memory:"));
    line.and_then(|n| n.trim().parse().ok()).expect("INFO has it")
}

#[test]
fn strangers_send_small_requests() {
    for kind in [Kind::Larder, Kind::Valkey] {
        let server = Server::of(kind, &["--requirepass", "secret"]);
        for (request, error) in [
            ("*11\r\n", "unauthenticated multibulk length"),
            ("*1\r\n$16385\r\n", "unauthenticated bulk length"),
        ] {
            let (answer, closed) = exchange(server.port(), request.as_bytes());
            assert!(closed && answer.contains(error), "{kind:?}: {answer:?}");
        }
        let (answer, closed) = exchange(server.port(), b"*10\r\n$16384\r\n");
        assert!(answer.is_empty() && !closed, "{kind:?}: {answer:?}");
    }
}

/// A connection of a user who is removed and made again all the time never becomes the default user's.
#[test]
fn connections_of_removed_users_are_nobodys() {
    let mut server = Server::larder(&["--threads", "3"]);
    server.kill();
    let file = server.dir().join("users.acl");
    let users = |with: bool| {
        let alice = if with { "user alice on nopass ~a* +get +ping +acl|whoami\n" } else { "" };
        std::fs::write(&file, format!("user default on nopass ~* +@all\n{alice}")).expect("it is written");
    };
    users(true);
    let path = file.to_str().expect("plain").to_owned();
    assert!(server.start_again(&["--threads", "3", "--aclfile", &path]));
    let mut admin = server.client();
    admin.ask("SET secret x");
    let port = server.port();
    let (stop, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let (done, rounds) = (Arc::clone(&stop), Arc::clone(&answered));
    let intruder = std::thread::spawn(move || {
        while !done.load(Ordering::Relaxed) {
            let Ok(mut client) = Client::connect(port) else { continue };
            client.send_raw(b"AUTH alice x\r\n").expect("it is sent");
            if !client.read().is_ok_and(|reply| reply.text() == "OK") {
                continue;
            }
            while !done.load(Ordering::Relaxed) {
                if client.send_raw(b"ACL WHOAMI\r\nGET secret\r\n").is_err() {
                    break;
                }
                let (Ok(who), Ok(got)) = (client.read(), client.read()) else { break };
                assert_eq!(who.text(), "alice");
                assert!(got.text().starts_with("NOPERM"), "it was answered: {got:?}");
                rounds.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    let begun = Instant::now();
    let mut with = true;
    let is_enough = || begun.elapsed() > Duration::from_secs(2) && answered.load(Ordering::Relaxed) > 20;
    while !is_enough() && !intruder.is_finished() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{answered:?} rounds");
        with = !with;
        users(with);
        assert_eq!(admin.ask("ACL LOAD").text(), "OK");
    }
    stop.store(true, Ordering::Relaxed);
    intruder.join().expect("nothing forbidden was answered");
}

#[test]
fn connections_are_accepted_when_descriptors_are_free_again() {
    let server = Server::larder(&["--threads", "2", "--maxclients", "500"]);
    let pid = server.pid();
    let open = std::fs::read_dir(format!("/proc/{pid}/fd")).expect("it is there").count() as u64;
    let limit = Rlimit { current: Some(open + 3), maximum: Some(open + 3) };
    prlimit(Pid::from_raw(pid as i32), Resource::Nofile, limit).expect("the limit of a child can be set");
    let mut first: Vec<Client> = (0..3).map(|_| server.client()).collect();
    let mut waiting: Vec<Client> = (0..3).map(|_| server.client()).collect();
    first.iter_mut().for_each(|client| assert_eq!(client.ask("PING").text(), "PONG"));
    waiting.iter_mut().for_each(|client| client.send_raw(b"PING\r\n").expect("the kernel takes it"));
    let log = server.wait_for_log("Accepting client connection");
    assert_eq!(log.matches("Accepting client connection").count(), 1, "said once:\n{log}");
    drop(first);
    waiting.iter_mut().for_each(|client| assert_eq!(client.read().expect("an answer").text(), "PONG"));
}

/// Which keys are watched already is not searched for among all of them.
#[test]
fn watching_many_keys_takes_no_longer_for_each() {
    let server = Server::larder(&["--threads", "1"]);
    let [mut client, mut other] = [(); 2].map(|()| server.client());
    let names: Vec<String> = (0..200_000).map(|n| format!("k{n}")).collect();
    let watch: Vec<&str> = ["WATCH"].into_iter().chain(names.iter().map(String::as_str)).collect();
    for _ in 0..2 {
        assert_eq!(client.cmd(&watch).text(), "OK");
        assert!(client.ask("CLIENT INFO").text().contains(" watch=200000 "));
    }
    let one_by_one: Vec<[&str; 2]> = names.iter().map(|name| ["WATCH", name.as_str()]).collect();
    for part in one_by_one.chunks(1000) {
        client.send_all(&part.iter().map(<[&str; 2]>::as_slice).collect::<Vec<_>>());
        part.iter().for_each(|_| assert_eq!(client.read().expect("it is answered").text(), "OK"));
    }
    other.ask("SET k199999 v");
    for expected in [Value::NullArray, Value::Array(vec![Value::Simple("PONG".to_owned())])] {
        client.ask("MULTI");
        client.ask("PING");
        assert_eq!(client.ask("EXEC"), expected);
    }
}

#[test]
fn endless_replies_are_refused() {
    let server = Server::larder(&["--threads", "2"]);
    let mut client = server.client();
    client.ask("HSET h f v");
    client.ask("SADD s m");
    client.ask("ZADD z 1 m");
    for line in ["HRANDFIELD h", "SRANDMEMBER s", "ZRANDMEMBER z"] {
        for count in ["-9223372036854775807", "-2147483649", "-20000000"] {
            let reply = client.ask(&format!("{line} {count}"));
            assert_eq!(reply.text(), "ERR value is out of range", "{line} {count}");
        }
        assert_eq!(client.ask(&format!("{line} -3")).items().len(), 3);
        assert_eq!(client.ask(&format!("{line} -100000")).items().len(), 100_000);
    }
    // Few draws of something long.
    client.ask("DEL h");
    client.cmd(&[&b"HSET"[..], b"h", b"f", &vec![b'x'; 1 << 20]]);
    let reply = client.ask("HRANDFIELD h -2000 WITHVALUES");
    assert_eq!(reply.text(), "ERR value is out of range, the reply would be longer than 1 GB");
    assert_eq!(client.ask("PING").text(), "PONG");
}

/// Others use the key while a long reply is drawn from it.
#[test]
fn draws_keep_nobody_from_the_key() {
    let server = Server::larder(&["--threads", "2"]);
    let (mut first, mut other) = (server.client(), server.client());
    first.ask("HSET h f v g w");
    first.send_raw(b"HRANDFIELD h -8000000\r\n").expect("it is sent");
    let mut between = 0;
    // Until the first byte of the reply, every answer to the other client came while the reply was made.
    while !first.has_reply() {
        other.ask("HSET h f x");
        between += 1;
    }
    assert!(between > 10, "{between} commands were executed meanwhile");
}
