//! What the server does with files when it is told to end, to save, or to switch the log, in every state that it can be in: the
//! table in `docs/design/persistence.md`, each cell compared with Valkey.

use larder_testkit::{Client, Kind, Server, wait_until_rewritten};
use std::fs;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

/// Keys that are there before anything happens.
const KEYS: usize = 200;
/// Microseconds that each takes to be saved, or loaded, in the states that are to last.
const SLOW: &str = "20000";

/// What the server is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Neither the log nor save points.
    Off,
    /// Save points, and changes.
    Points,
    /// The log is kept.
    On,
    /// The log is kept, and rewritten.
    Rewriting,
    /// A snapshot is written in the background.
    Saving,
    /// The log was switched on, and its first rewrite runs.
    Switching,
    /// The RDB file is loaded.
    Loading,
}

const EVENTS: &[&str] = &[
    "SIGTERM",
    "SIGINT",
    "SIGTERM SIGTERM",
    "SHUTDOWN",
    "SHUTDOWN NOSAVE",
    "SHUTDOWN SAVE",
    "SHUTDOWN NOW",
    "SHUTDOWN FORCE",
    "SHUTDOWN ABORT",
    "CONFIG SET appendonly yes",
    "CONFIG SET appendonly no",
    "FLUSHALL",
    "SIGKILL",
    "BGSAVE",
    "BGSAVE SCHEDULE",
    "BGSAVE CANCEL",
    "BGREWRITEAOF",
    "SAVE",
];

/// What came of it.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    /// The reply, or that there was none.
    reply: String,
    /// How it ended, if it did; else what it says of itself.
    after: String,
    /// Temporary files in its directories.
    left: Vec<String>,
    /// Keys that are there after the next start.
    keys: String,
}

fn options(state: State) -> Vec<&'static str> {
    let mut options = vec!["--enable-debug-command", "yes"];
    match state {
        State::On | State::Rewriting => options.extend(["--appendonly", "yes"]),
        State::Points => options.extend(["--save", "3600 100000"]),
        _ => {}
    }
    options
}

fn fill(client: &mut Client) {
    for key in 0..KEYS {
        client.cmd(&["SET", &format!("key:{key}"), "x"]);
    }
}

/// A server in a state, and the options that its next start needs.
fn prepare(kind: Kind, state: State) -> (Server, Vec<&'static str>) {
    let args = options(state);
    let mut server = Server::of(kind, &args);
    let mut client = server.client();
    fill(&mut client);
    wait_until_logged(&mut client);
    match state {
        State::Off | State::Points | State::On => {}
        State::Rewriting | State::Saving | State::Switching => {
            client.cmd(&["CONFIG", "SET", "rdb-key-save-delay", SLOW]);
            let (command, sign) = match state {
                State::Rewriting => ("BGREWRITEAOF", "aof_rewrite_in_progress:1"),
                State::Saving => ("BGSAVE", "rdb_bgsave_in_progress:1"),
                _ => ("CONFIG SET appendonly yes", "aof_rewrite_in_progress:1"),
            };
            assert!(!client.ask(command).is_error());
            crate::wait_for(&mut client, "INFO persistence", sign);
        }
        State::Loading => {
            assert_eq!(client.ask("SAVE"), crate::ok());
            server.kill();
            let slow = [
                args.as_slice(),
                &["--key-load-delay", SLOW, "--loading-process-events-interval-bytes", "1024"],
            ]
            .concat();
            let slow: Vec<&str> = if kind == Kind::Larder { slow[..slow.len() - 2].to_vec() } else { slow };
            assert!(server.start_again_without_waiting(&slow), "{}", server.log());
        }
    }
    (server, args)
}

/// Waits until what was acknowledged, to whomever, is in the log, if there is one: Valkey holds writes back in its memory for up
/// to two seconds while a sync of the log is under way, and a kill -9 loses them.
pub(super) fn wait_until_logged(client: &mut Client) {
    if client.ask("WAITAOF 1 0 1").is_error() {
        return;
    }
    // A connection waits for its own writes, and what comes before them.
    for line in ["SET written 1", "DEL written"] {
        let reply = client.ask(line);
        assert!(!reply.is_error(), "{line}: {reply}");
    }
    let reply = client.ask("WAITAOF 1 0 30000");
    assert_eq!(reply.items()[0].int(), 1, "the log is not written: {reply}");
}

/// Sends a signal.
fn signal(server: &Server, name: &str) {
    let sent = Command::new("kill").args([&format!("-{}", &name[3..]), &server.pid().to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()));
}

/// Sends a command on a connection of its own; the reply, or that the connection was closed.
pub(super) fn send(server: &Server, event: &str) -> String {
    let mut client = server.client();
    let words: Vec<&str> = event.split(' ').collect();
    client.send(&words);
    client.read().map_or_else(|_| "closed".to_owned(), |reply| reply.text())
}

/// What is replied to an event, and how the server ended, if it did.
pub(super) fn run_event(server: &mut Server, event: &str) -> (String, Option<ExitStatus>) {
    let start = server.log().len();
    let mut reply = String::new();
    if event == "SIGKILL" {
        server.kill();
    } else if event.starts_with("SIG") {
        event.split(' ').for_each(|name| signal(server, name));
    } else {
        reply = send(server, event);
    }
    // A signal is followed by the end, or by a line in the log that says why not.
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        if let Some(status) = server.has_ended() {
            return (reply, Some(status));
        }
        let refused = server.log()[start..].contains("Errors trying to shut down");
        if refused || !(event.starts_with("SIG") || reply == "closed") {
            return (reply, None);
        }
        assert!(Instant::now() < deadline, "{event}: {}", server.log());
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn outcome(kind: Kind, state: State, event: &str) -> Outcome {
    let (mut server, mut args) = prepare(kind, state);
    let (reply, ended) = run_event(&mut server, event);
    let after = match ended {
        Some(status) => format!("ended: {:?}", status.code()),
        None => figures(&server, state, event),
    };
    if ended.is_none() && event == "CONFIG SET appendonly yes" && matches!(state, State::Off | State::Points)
    {
        wait_until_rewritten(&mut server.client());
    }
    if ended.is_none() && event == "FLUSHALL" && matches!(state, State::On | State::Rewriting) {
        wait_until_logged(&mut server.client());
    }
    server.kill();
    let left = if ended.is_some() && event != "SIGKILL" { temporaries(&server) } else { Vec::new() };
    if event == "CONFIG SET appendonly yes" && ended.is_none() && state != State::Loading {
        args.extend(["--appendonly", "yes"]);
    }
    let keys = keys_after(&mut server, &args, state);
    Outcome { reply, after, left, keys }
}

/// What a server that lives says.
fn figures(server: &Server, state: State, event: &str) -> String {
    let mut client = server.client();
    let info = client.ask("INFO persistence").text();
    let shown = ["loading", "rdb_bgsave_in_progress", "rdb_last_bgsave_status", "aof_enabled"];
    let mut lines: Vec<&str> = info
        .lines()
        .filter(|line| line.split(':').next().is_some_and(|name| shown.contains(&name)))
        .collect();
    if event.starts_with("CONFIG") || event.starts_with("BG") {
        // These are taken up by another thread a little later.
        lines.retain(|line| line.starts_with("loading") || line.starts_with("rdb_last"));
    }
    let ends_soon = event.starts_with("BGSAVE") && matches!(state, State::Off | State::Points | State::On);
    if event == "FLUSHALL" || event == "BGSAVE CANCEL" || ends_soon {
        let deadline = Instant::now() + Duration::from_secs(30);
        while !client.ask("INFO persistence").text().contains("rdb_bgsave_in_progress:0") {
            assert!(Instant::now() < deadline, "it goes on");
        }
        lines.retain(|line| !line.starts_with("rdb_bgsave"));
    }
    lines.join(" ")
}

fn temporaries(server: &Server) -> Vec<String> {
    let mut names = Vec::new();
    for dir in [server.dir().to_owned(), server.dir().join("appendonlydir")] {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with("temp-") {
                names.push(name);
            }
        }
    }
    names
}

fn keys_after(server: &mut Server, args: &[&str], state: State) -> String {
    if !server.start_again(args) {
        return "does not start".to_owned();
    }
    let count = server.client().ask("DBSIZE").int() as usize;
    // A log that is being switched on may or may not be there when the server is killed.
    if state == State::Switching && count != KEYS { "not all".to_owned() } else { count.to_string() }
}

fn compare(state: State) {
    let mut differences = String::new();
    for event in EVENTS {
        let [larder, valkey] = std::thread::scope(|scope| {
            [Kind::Larder, Kind::Valkey]
                .map(|kind| scope.spawn(move || outcome(kind, state, event)))
                .map(|run| run.join().expect("the run ends"))
        });
        // Valkey leaves the log that it had begun.
        let valkey = Outcome { left: Vec::new(), ..valkey };
        if larder != valkey {
            differences += &format!("{state:?}, {event}:\n  Larder {larder:?}\n  Valkey {valkey:?}\n");
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

#[test]
fn without_files() {
    compare(State::Off);
}

#[test]
fn with_save_points() {
    compare(State::Points);
}

#[test]
fn with_a_log() {
    compare(State::On);
}

#[test]
fn while_the_log_is_rewritten() {
    compare(State::Rewriting);
}

#[test]
fn while_a_snapshot_is_written() {
    compare(State::Saving);
}

#[test]
fn while_the_log_is_switched_on() {
    compare(State::Switching);
}

#[test]
fn while_data_is_loaded() {
    compare(State::Loading);
}

/// EXEC stands for what it runs: commands that were queued before loading began.
#[test]
fn a_transaction_does_not_run_while_data_is_loaded() {
    let outcomes = [Kind::Larder, Kind::Valkey].map(|kind| {
        let interval = ["--loading-process-events-interval-bytes", "1024"];
        // A worker that loads serves nobody: each connection here has another one.
        let args: &[&str] = if kind == Kind::Valkey { &interval } else { &["--threads", "8"] };
        let server = Server::of(kind, args);
        let mut client = server.client();
        fill(&mut client);
        let mut reading = server.client();
        for (client, command) in [(&mut client, "SET a 1"), (&mut reading, "CLIENT ID")] {
            client.ask("MULTI");
            assert_eq!(client.ask(command).text(), "QUEUED");
        }
        let mut other = server.client();
        other.cmd(&["CONFIG", "SET", "key-load-delay", "5000"]);
        other.send(&["DEBUG", "RELOAD"]);
        crate::wait_for(&mut server.client(), "INFO persistence", "loading:1");
        let refused = client.ask("EXEC").text();
        let (again, allowed) = (client.ask("EXEC").text(), reading.ask("EXEC").items().len());
        assert_eq!(other.read().ok(), Some(crate::ok()));
        (refused, again, allowed)
    });
    assert_eq!(outcomes[0], outcomes[1]);
}

/// The signal may come at any time: from the moment on that the server can be reached, it is followed.
#[test]
fn a_signal_right_after_the_start_is_followed() {
    let mut server = Server::larder(&["--save", "3600 1"]);
    let mut client = server.client();
    fill(&mut client);
    assert_eq!(client.ask("SAVE"), crate::ok());
    for _ in 0..20 {
        server.kill();
        assert!(server.start_again_without_waiting(&["--save", "3600 1"]));
        signal(&server, "SIGTERM");
        assert_eq!(server.wait().code(), Some(0), "{}", server.log());
    }
    assert!(server.start_again(&[]));
    assert_eq!(server.client().ask("DBSIZE").int() as usize, KEYS, "nothing was saved over");
}

/// A log that cannot be written is not switched on.
#[test]
fn a_log_that_cannot_be_made_is_not_switched_on() {
    for kind in [Kind::Larder, Kind::Valkey] {
        let server = Server::of(kind, &[]);
        // A file stands where the directory is to be.
        fs::write(server.dir().join("appendonlydir"), "").expect("it is writable");
        let mut client = server.client();
        let reply = client.ask("CONFIG SET appendonly yes").text();
        let expected = "ERR CONFIG SET failed (possibly related to argument 'appendonly') - Unable to turn on AOF. \
                        Check server logs.";
        assert_eq!(reply, expected, "{}", kind.name());
        assert_eq!(client.ask("CONFIG GET appendonly").items()[1].text(), "no");
        assert!(client.ask("INFO persistence").text().contains("aof_enabled:0"));
        assert_eq!(client.ask("SET a 1"), crate::ok());
    }
}

/// What a killed server has left goes with the next start.
#[test]
fn temporary_files_of_a_killed_server_go() {
    let mut server = Server::larder(&["--appendonly", "yes"]);
    fill(&mut server.client());
    let mut client = server.client();
    client.cmd(&["CONFIG", "SET", "rdb-key-save-delay", SLOW]);
    client.ask("BGREWRITEAOF");
    let deadline = Instant::now() + Duration::from_secs(30);
    // The manifest is put in its place by a temporary file as well, in a moment.
    let base = || temporaries(&server).into_iter().find(|name| name.starts_with("temp-rewriteaof-bg-"));
    let base = loop {
        if let Some(name) = base() {
            break name;
        }
        assert!(Instant::now() < deadline, "nothing is written");
    };
    server.kill();
    assert_eq!(temporaries(&server), [base]);
    assert!(server.start_again(&["--appendonly", "yes"]));
    assert!(temporaries(&server).is_empty());
    assert_eq!(server.client().ask("DBSIZE").int() as usize, KEYS);
}

/// They go before anybody is served, who may write such a file.
#[test]
fn temporary_files_are_gone_when_the_server_answers() {
    /// No process has this number: `pid_max` is not above it.
    const NOBODY: u32 = 1 << 22;
    let mut server = Server::larder(&[]);
    server.kill();
    for number in NOBODY..NOBODY + 5000 {
        fs::write(server.dir().join(format!("temp-{number}.rdb")), "").expect("it is writable");
    }
    assert!(server.start_again(&[]));
    assert!(temporaries(&server).is_empty());
}

/// What a client has written before the server has said that it is ready is saved when it ends.
#[test]
fn the_first_write_is_saved_at_the_end() {
    const SAVES: &[&str] = &["--save", "3600 1", "--threads", "2"];
    for _ in 0..10 {
        let mut server = Server::larder(SAVES);
        assert_eq!(server.client().ask("SET first 1"), crate::ok());
        let (_, ended) = run_event(&mut server, "SIGTERM");
        assert!(ended.is_some_and(|status| status.success()), "{}", server.log());
        assert!(server.start_again(SAVES));
        assert_eq!(server.client().ask("EXISTS first").int(), 1, "{}", server.log());
    }
}

/// A log that is switched on is no place for what was written until its base is whole: WAITAOF waits for that, and what it acknowledges
/// is there after a kill.
#[test]
fn a_log_that_waits_for_its_base_acknowledges_nothing() {
    for kind in [Kind::Larder, Kind::Valkey] {
        let mut server = Server::of(kind, &[]);
        let mut client = server.client();
        fill(&mut client);
        client.cmd(&["CONFIG", "SET", "rdb-key-save-delay", SLOW]);
        assert_eq!(client.ask("CONFIG SET appendonly yes"), crate::ok());
        crate::wait_for(&mut client, "INFO persistence", "aof_rewrite_in_progress:1");
        assert_eq!(client.ask("SET last 1"), crate::ok());
        let waited = client.ask("WAITAOF 1 0 300");
        let still = client.ask("INFO persistence").text().contains("aof_rewrite_in_progress:1");
        assert!(still && waited.items()[0].int() == 0, "{kind:?}: {waited}, in progress: {still}");
        client.cmd(&["CONFIG", "SET", "rdb-key-save-delay", "0"]);
        assert_eq!(client.ask("WAITAOF 1 0 30000").items()[0].int(), 1, "{kind:?}");
        server.kill();
        assert!(server.start_again(&["--appendonly", "yes"]));
        assert_eq!(server.client().ask("GET last").text(), "1", "{kind:?}");
    }
}
