//! What a server writes of itself, how it ends, and what it asks of the kernel.

use larder_testkit::wait_until;
use larder_testkit::{Kind, Server};
use std::fs;
use std::process::Command;

const KINDS: [Kind; 2] = [Kind::Larder, Kind::Valkey];

/// A line of the log, every run of digits as one 9.
fn shape(line: &str) -> String {
    let mut shape = String::new();
    for c in line.chars() {
        let c = if c.is_ascii_digit() { '9' } else { c };
        if c != '9' || !shape.ends_with('9') {
            shape.push(c);
        }
    }
    shape
}

#[test]
fn lines_of_the_log_have_forms() {
    let mut seen = Vec::new();
    for form in ["legacy", "logfmt", "json"] {
        for stamp in ["legacy", "iso8601", "milliseconds"] {
            let args = ["--log-format", form, "--log-timestamp-format", stamp];
            let [ours, theirs] = KINDS.map(|kind| {
                let log = Server::of(kind, &args).wait_for_log("Ready to accept connections tcp");
                shape(log.lines().find(|line| line.contains("Ready to accept")).unwrap())
            });
            assert_eq!(ours, theirs, "{form} {stamp}");
            assert!(!seen.contains(&ours), "{form} {stamp}: {ours}");
            seen.push(ours);
        }
    }
}

/// Whether a server with a key has saved it when a signal has ended it.
fn saves_at(kind: Kind, signal: &str, args: &[&str]) -> (Option<i32>, bool) {
    let mut server = Server::of(kind, args);
    server.client().ask("SET k v");
    Command::new("kill").args([signal, &server.pid().to_string()]).status().unwrap();
    (server.wait().code(), server.dir().join("dump.rdb").exists())
}

#[test]
fn signals_end_it_as_configured() {
    for (signal, name) in [("-INT", "--shutdown-on-sigint"), ("-TERM", "--shutdown-on-sigterm")] {
        for (value, save, saved) in [
            ("default", "", false),
            ("default", "3600 1000", true),
            ("nosave", "3600 1000", false),
            ("save", "", true),
            ("save now force", "", true),
            ("nosave now", "3600 1000", false),
        ] {
            let args = ["--save", save, name, value];
            let [ours, theirs] = KINDS.map(|kind| saves_at(kind, signal, &args));
            assert_eq!(ours, theirs, "{args:?}");
            assert_eq!(ours, (Some(0), saved), "{args:?}");
        }
    }
}

#[test]
fn huge_pages_are_turned_off() {
    for (value, enabled) in [("yes", "0"), ("no", "1")] {
        let server = Server::larder(&["--disable-thp", value]);
        let status = fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("THP_enabled:"));
        assert_eq!(line.map(str::trim), Some(enabled), "{value}");
    }
}

/// Whether there is a thread of the allocator's.
fn has_allocator_thread(server: &Server) -> bool {
    let tasks = fs::read_dir(format!("/proc/{}/task", server.pid())).unwrap();
    let name = |task: fs::DirEntry| fs::read_to_string(task.path().join("comm")).unwrap_or_default();
    tasks.filter_map(Result::ok).any(|task| name(task).starts_with("jemalloc_bg_thd"))
}

#[test]
fn the_allocator_may_have_a_thread() {
    for kind in KINDS {
        let server = Server::of(kind, &["--jemalloc-bg-thread", "no"]);
        assert!(!has_allocator_thread(&server), "{}", kind.name());
        for (value, there) in [("yes", true), ("no", false), ("yes", true)] {
            let answer = server.client().ask(&format!("CONFIG SET jemalloc-bg-thread {value}"));
            assert_eq!(answer.text(), "OK");
            wait_until("the thread", || has_allocator_thread(&server) == there);
        }
    }
}
