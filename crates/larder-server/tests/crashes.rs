//! Crashes: whatever thread panics or is hit by a signal, the process ends with a report in the log.

use larder_testkit::{Client, Port, Server, wait_until, words};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The log of a server that has crashed, and the signal that it has died of.
fn crash(server: &mut Server) -> (String, Option<i32>) {
    let status = server.wait();
    (server.log(), status.signal())
}

fn has_report(log: &str, parts: &[&str]) {
    let report = log.split("=== LARDER BUG REPORT START").nth(1);
    let report = report.unwrap_or_else(|| panic!("no report in:\n{log}"));
    assert!(report.contains("=== LARDER BUG REPORT END"), "the report is cut:\n{report}");
    for part in parts {
        assert!(report.contains(part), "no {part:?} in:\n{report}");
    }
}

#[test]
fn each_way_to_crash_is_reported() {
    for (line, signal, parts) in [
        (
            "DEBUG SEGFAULT",
            libc::SIGSEGV,
            &["crashed by signal: 11", "Accessing address: 0x8", "segfault ["][..],
        ),
        ("DEBUG PANIC", libc::SIGABRT, &["panicked in thread 'worker-", "DEBUG PANIC was called, at "][..]),
        ("DEBUG ASSERT", libc::SIGABRT, &["assertion failed: DEBUG ASSERT was called"][..]),
        ("DEBUG OOM", libc::SIGABRT, &["crashed by signal: 6", "Out Of Memory"][..]),
    ] {
        let mut server =
            Server::larder(&["--threads", "2", "--requirepass", "s3cr3t", "--maxclients", "1234"]);
        let mut client = server.client();
        assert_eq!(client.ask("AUTH s3cr3t").text(), "OK");
        client.ask("CLIENT SETNAME secret-name");
        client.send(&words(line));
        let (log, died_of) = crash(&mut server);
        assert_eq!(died_of, Some(signal), "{line}");
        has_report(&log, parts);
        has_report(&log, &["------ STACK TRACE ------", "debug", "execute"]);
        has_report(
            &log,
            &["CURRENT CLIENT INFO", "cmd=debug", "argc: 2", "name=*redacted*", "user=*redacted*"],
        );
        has_report(
            &log,
            &["CONFIG OUTPUT", "maxclients 1234", "INFO OUTPUT", "redis_version:", "used_memory:"],
        );
        has_report(&log, &["CLIENT LIST OUTPUT", "id="]);
        assert!(!log.contains("s3cr3t") && !log.contains("secret-name"), "{log}");
    }
}

#[test]
fn arguments_are_shown_where_that_is_allowed() {
    let mut server = Server::larder(&["--hide-user-data-from-log", "no"]);
    let mut client = server.client();
    client.ask("CLIENT SETNAME a-name");
    client.send(&["DEBUG", "SEGFAULT"]);
    let (log, _) = crash(&mut server);
    has_report(&log, &["name=a-name", "user=default", r#"argv[0]: "DEBUG""#, r#"argv[1]: "SEGFAULT""#]);
}

/// A signal to any thread, as a fault in it would bring.
#[test]
fn signals_in_any_thread_are_reported() {
    let names = [
        "worker-0",
        "worker-1",
        "larder-server",
        "signals",
        "larder-save",
        "larder-log",
        "larder-free",
        "larder-pack",
        "larder-long-0",
    ];
    for (at, name) in names.into_iter().enumerate() {
        let mut server = Server::larder(&["--threads", "2", "--appendonly", "yes"]);
        let thread = server.thread(name);
        let thread: i32 = thread.file_name().and_then(|id| id.to_str()?.parse().ok()).expect("its id");
        let signal = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGABRT][at % 5];
        let pid = i32::try_from(server.pid()).expect("a process id fits");
        // SAFETY: takes no pointers.
        unsafe { libc::syscall(libc::SYS_tgkill, pid, thread, signal) };
        let (log, died_of) = crash(&mut server);
        assert_eq!(died_of, Some(signal), "{name}");
        has_report(&log, &[&format!("crashed by signal: {signal}"), &format!("{thread} {name} *")]);
    }
}

/// The report of a thread for commands that take long names the client and its command.
#[test]
fn a_crash_in_a_command_that_takes_long_names_it() {
    let mut server = Server::larder(&["--threads", "1", "--hide-user-data-from-log", "no"]);
    let (mut client, mut other) = (server.client(), server.client());
    client.ask("CLIENT SETNAME a-name");
    let script = "for i = 1, tonumber(ARGV[1]) do end";
    assert!(!client.cmd(&["EVAL", script, "0", "10000000"]).is_error());
    client.send(&["EVAL", script, "0", "1e18"]);
    wait_until("it runs", || !other.ask("FUNCTION STATS").items()[1].items().is_empty());
    let thread = server.thread("larder-long-0");
    let thread: i32 = thread.file_name().and_then(|id| id.to_str()?.parse().ok()).expect("its id");
    let pid = i32::try_from(server.pid()).expect("a process id fits");
    // SAFETY: takes no pointers.
    unsafe { libc::syscall(libc::SYS_tgkill, pid, thread, libc::SIGSEGV) };
    let (log, died_of) = crash(&mut server);
    assert_eq!(died_of, Some(libc::SIGSEGV));
    has_report(&log, &["name=a-name", r#"argv[0]: "EVAL""#]);
}

/// Lists that were made to be compressed.
static NAMES: AtomicUsize = AtomicUsize::new(0);

/// Has the thread of this name come by, if it has not panicked before: some threads see in one go what was sent in two, and sleep then.
fn come_by(
    name: &str,
    server: &Server,
    client: &mut Client,
    metrics: &Port,
    console: &Port,
) -> io::Result<()> {
    let request = |port: &Port, request: &str| {
        let mut socket = TcpStream::connect(("127.0.0.1", port.number()))?;
        socket.write_all(request.as_bytes())?;
        // An answer, or the end of the process.
        socket.read(&mut [0]).map(drop)
    };
    match name {
        "larder-web" => request(metrics, "GET /metrics HTTP/1.0\r\n\r\n"),
        "larder-console" => request(
            console,
            "POST /api/me HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
        ),
        "signals" => Command::new("kill").args(["-HUP", &server.pid().to_string()]).status().map(drop),
        "larder-anatomy" => client.try_cmd(&["MEMORY", "ANATOMY"]).map(drop),
        "larder-long-0" => client.try_cmd(&["LRANGE", "list", "0", "-1"]).map(drop),
        "larder-save" => client.try_cmd(&["BGSAVE"]).map(drop),
        "larder-log" => client.try_cmd(&["SET", "k", "v"]).map(drop),
        // Which of them has a list depends on its name, and on what the server hashes it with.
        "larder-pack" | "larder-pack-1" => {
            client.try_cmd(&big_list(&format!("list:{}", NAMES.fetch_add(1, Relaxed)))).map(drop)
        }
        "larder-free" | "larder-free-1" => {
            client.try_cmd(&["UNLINK", "list"]).and_then(|_| client.try_cmd(&big_list("list"))).map(drop)
        }
        // All workers come by when they have something to do.
        "worker-0" | "worker-3" => (0..8).try_for_each(|_| Client::connect(server.port()).map(drop)),
        _ => Ok(()),
    }
}

fn big_list(name: &str) -> Vec<String> {
    let elements = (0..20_000).map(|i| format!("{}{i}", "x".repeat(50)));
    ["RPUSH", name].into_iter().map(str::to_owned).chain(elements).collect()
}

/// A panic in any thread: DEBUG PANIC arms it, and something has the thread come by.
#[test]
fn panics_in_any_thread_end_the_process() {
    for name in [
        "worker-0",
        "worker-3",
        "main",
        "signals",
        "larder-save",
        "larder-log",
        "larder-free",
        "larder-pack",
        "larder-free-1",
        "larder-pack-1",
        "larder-cold",
        "larder-defrag",
        "larder-web",
        "larder-census",
        "larder-console",
        "larder-anatomy",
        "larder-long-0",
    ] {
        let (metrics, console) = (Port::reserve(), Port::reserve());
        let mut server = Server::larder(&[
            "--threads",
            "5",
            "--appendonly",
            "yes",
            "--list-compress-depth",
            "1",
            "--metrics-port",
            &metrics.number().to_string(),
            "--console-port",
            &console.number().to_string(),
        ]);
        let mut client = server.client();
        client.cmd(&big_list("list"));
        assert_eq!(client.ask(&format!("DEBUG PANIC {name}")).text(), "OK");
        wait_until(&format!("the server ends by a panic of {name}"), || {
            // It fails when the process ends.
            let _ = come_by(name, &server, &mut client, &metrics, &console);
            server.has_ended().is_some()
        });
        let (log, died_of) = crash(&mut server);
        assert_eq!(died_of, Some(libc::SIGABRT), "{name}");
        has_report(
            &log,
            &[&format!("panicked in thread '{}'", if name == "main" { "larder-server" } else { name })],
        );
    }
}

/// A panic while a shard is held, and others wait for it: the report does not wait for the shard.
#[test]
fn a_crash_with_shards_held_is_reported() {
    for line in ["DEBUG SEGFAULT", "DEBUG PANIC"] {
        let mut server = Server::larder(&["--threads", "2"]);
        let mut client = server.client();
        client.ask("MULTI");
        client.ask("FLUSHALL");
        client.ask("DBSIZE");
        client.ask(line);
        client.send(&["EXEC"]);
        let (log, _) = crash(&mut server);
        has_report(&log, &["INFO OUTPUT", "redis_version:", "cmd=exec"]);
    }
}

#[test]
fn what_was_acknowledged_survives_a_crash() {
    let mut server = Server::larder(&["--appendonly", "yes"]);
    let mut client = server.client();
    for i in 0..100 {
        assert_eq!(client.ask(&format!("SET key:{i} {i}")).text(), "OK");
    }
    client.send(&["DEBUG", "PANIC"]);
    crash(&mut server);
    assert!(server.start_again(&["--enable-debug-command", "yes", "--appendonly", "yes"]));
    assert_eq!(server.client().ask("DBSIZE").int(), 100);
}

#[test]
fn reports_can_be_turned_off_and_on() {
    for (start, set, reports) in [("no", None, false), ("yes", Some("no"), false), ("no", Some("yes"), true)]
    {
        let mut server = Server::larder(&["--crash-log-enabled", start]);
        let mut client = server.client();
        if let Some(set) = set {
            assert_eq!(client.ask(&format!("CONFIG SET crash-log-enabled {set}")).text(), "OK");
        }
        client.send(&["DEBUG", "SEGFAULT"]);
        let (log, died_of) = crash(&mut server);
        assert_eq!(died_of, Some(libc::SIGSEGV));
        assert_eq!(log.contains("BUG REPORT"), reports, "{log}");
    }
}

#[test]
fn the_watchdog_shows_what_hangs() {
    let server = Server::larder(&["--threads", "2"]);
    let mut client = server.client();
    assert_eq!(client.ask("CONFIG SET watchdog-period 200").text(), "OK");
    assert_eq!(client.ask("DEBUG SLEEP 1.5").text(), "OK");
    let log = server.wait_for_log(") --------");
    assert!(log.contains("--- WATCHDOG TIMER EXPIRED ---") && log.contains("sleep ["), "{log}");
    assert_eq!(log.matches("WATCHDOG").count(), 1, "once for each time: {log}");
    assert_eq!(client.ask("PING").text(), "PONG");
}
