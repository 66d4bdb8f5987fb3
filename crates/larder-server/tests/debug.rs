//! DEBUG subcommands that other test files do not use.

#[path = "common/calls.rs"]
mod every_call;

use larder_testkit::{Client, Kind, Server, words};
use std::time::{Duration, Instant};

/// The whole server sleeps, whatever thread a client has.
#[test]
fn the_server_sleeps() {
    let server = Server::larder(&["--io-threads", "4"]);
    let mut clients: Vec<Client> = (0..8).map(|_| server.client()).collect();
    clients.iter_mut().for_each(|client| assert_eq!(client.ask("PING").text(), "PONG"));
    let mut first = clients.remove(0);
    // The others send when it has begun: the command before it, in one go, has been answered then.
    first.send_raw(b"PING\r\nDEBUG SLEEP 0.5\r\n").unwrap();
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(100) {
        std::thread::yield_now();
    }
    clients.iter_mut().for_each(|client| client.send(&["PING"]));
    for client in &mut clients {
        assert_eq!(client.read().unwrap().text(), "PONG");
        assert!(begun.elapsed() >= Duration::from_millis(400), "{:?}", begun.elapsed());
    }
    assert_eq!((first.read().unwrap().text(), first.read().unwrap().text()), ("PONG".into(), "OK".into()));
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[test]
fn switches_answer_as_valkeys() {
    let lines = [
        "DEBUG SET-SKIP-CHECKSUM-VALIDATION 1",
        "DEBUG SET-SKIP-CHECKSUM-VALIDATION 0",
        "DEBUG SET-SKIP-CHECKSUM-VALIDATION",
        "DEBUG AOF-FLUSH-SLEEP 0",
        "DEBUG AOF-FLUSH-SLEEP x",
        "DEBUG AOF-FLUSH-SLEEP",
        "DEBUG CLIENT-ENFORCE-REPLY-LIST 1",
        "DEBUG CLIENT-ENFORCE-REPLY-LIST 0",
        "DEBUG CLIENT-ENFORCE-REPLY-LIST",
        "DEBUG HASHTABLE-CAN-ABORT-SHRINK 1",
        "DEBUG HASHTABLE-CAN-ABORT-SHRINK",
        "DEBUG PROTECT-CLIENT 99999",
        "DEBUG PROTECT-CLIENT x",
        "SET key value",
        "DEBUG RELOAD NOSAVE",
        "DEBUG RELOAD NOSAVE NOFLUSH",
        "GET key",
        "DEBUG LOADAOF",
        "DEBUG PROTECT-CLIENT",
        "DEBUG DELAY-RDB-CLIENT-FREE-SECONDS 0",
        "DEBUG PAUSE-AFTER-FORK 0",
        "DEBUG SLEEP x",
        "PING",
    ];
    let servers = [Kind::Larder, Kind::Valkey].map(|kind| Server::of(kind, &[]));
    let [ours, theirs] = servers.each_ref().map(|server| {
        let mut client = server.client();
        lines.map(|line| format!("{line}: {:?}", client.ask(line)))
    });
    assert_eq!(ours, theirs);
    // Valkey has lost it.
    assert_eq!(servers[0].client().ask("GET key").text(), "value");
}

#[test]
fn checksums_may_be_skipped() {
    for kind in [Kind::Larder, Kind::Valkey] {
        let server = Server::of(kind, &[]);
        let mut client = server.client();
        client.ask("SET k hello");
        let mut payload = client.ask("DUMP k").bytes().to_vec();
        *payload.last_mut().unwrap() ^= 1;
        let restore = |client: &mut Client| client.cmd(&[b"RESTORE", b"r".as_slice(), b"0", &payload]);
        assert!(restore(&mut client).is_error(), "{}", kind.name());
        client.ask("DEBUG SET-SKIP-CHECKSUM-VALIDATION 1");
        assert_eq!(restore(&mut client).text(), "OK", "{}", kind.name());
        assert_eq!(client.ask("GET r").text(), "hello");
    }
}

/// CONFIG REWRITE of everything names each option that it can, and the file loads.
#[test]
fn all_options_are_written() {
    let file = std::env::temp_dir().join(format!("larder-all-{}.conf", std::process::id()));
    std::fs::write(&file, "timeout 5\n").unwrap();
    let path = file.to_string_lossy().into_owned();
    let program = Kind::Larder.program().to_string_lossy().into_owned();
    let server = Server::start(&[&program, &path], &["--enable-debug-command", "yes"]);
    let mut client = server.client();
    assert_eq!(client.ask("DEBUG CONFIG-REWRITE-FORCE-ALL").text(), "OK");
    let text = std::fs::read_to_string(&file).unwrap();
    for line in
        ["timeout 5", "maxmemory 0", "appendonly no", "hz 10", "tls-port 0", "lazyfree-lazy-expire yes"]
    {
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
    let again = Server::start(&[&program, &path], &[]);
    assert_eq!(again.client().ask("PING").text(), "PONG");
    std::fs::remove_file(file).unwrap();
}

/// A write to the log waits, and what is acknowledged is there all the same.
#[test]
fn the_log_may_be_slow() {
    let server = Server::larder(&["--appendonly", "yes"]);
    let mut client = server.client();
    client.ask("DEBUG AOF-FLUSH-SLEEP 200000");
    let begun = Instant::now();
    client.ask("SET k v");
    assert!(begun.elapsed() >= Duration::from_millis(200));
    client.ask("DEBUG AOF-FLUSH-SLEEP 0");
    assert_eq!(client.ask("GET k").text(), "v");
}

/// What ends or damages a server is refused by name, and nothing comes of it.
#[test]
fn what_does_damage_is_refused() {
    let server = Server::larder(&[]);
    let mut client = server.client();
    for line in [
        "DEBUG MALLCTL arenas.narenas",
        "DEBUG MALLCTL-STR stats.allocated",
        "DEBUG RESTART",
        "DEBUG CRASH-AND-RECOVER 0",
    ] {
        let name = line.split(' ').nth(1).unwrap();
        let answer = client.ask(line).text();
        assert!(answer.starts_with(&format!("ERR DEBUG {name} is not supported")), "{answer}");
    }
    assert_eq!(client.ask("PING").text(), "PONG");
}

/// Where scripts may call what they else may not, each command is answered, or refused, and the server goes on.
#[test]
fn no_command_hangs_in_a_script_that_may_call_all() {
    const ENDS_OR_CHANGES_ROLE: &[&str] = &["failover", "psync", "replicaof", "shutdown", "slaveof", "sync"];
    for threads in ["1", "2"] {
        let server = Server::larder(&["--threads", threads, "--enable-debug-command", "yes"]);
        let mut admin = server.client();
        let body = "return redis.pcall(unpack(ARGV))";
        let calls = every_call::lines().filter(|line| !line.contains(" | "));
        for line in calls.filter(|line| !ENDS_OR_CHANGES_ROLE.iter().any(|word| line.starts_with(word))) {
            assert_eq!(admin.ask("DEBUG SET-DISABLE-DENY-SCRIPTS 1").text(), "OK", "before {line}");
            every_call::fill(&mut admin);
            let mut client = server.client();
            client.set_timeout(Duration::from_secs(1));
            let call = words(line);
            let args: Vec<&[u8]> = call.iter().map(Vec::as_slice).collect();
            client.send(&[&[b"EVAL".as_slice(), body.as_bytes(), b"0"], &args[..]].concat());
            // One that silences its client, or closes its connection, has no answer. One that hangs keeps the turn of the scripts.
            drop(client.read());
            assert_eq!(server.client().ask("PING").text(), "PONG", "after {line}");
            let turn = admin.cmd(&["EVAL", "return redis.call('dbsize')", "0"]);
            assert!(!turn.is_error(), "{line} with {threads} threads: {turn}");
        }
    }
}
