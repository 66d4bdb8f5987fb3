//! The events of `states.rs` on a disk that fails: the column of the table in `docs/design/persistence.md`, compared with Valkey.

use crate::disk::Faulty;
use crate::states::{run_event, send, wait_until_logged};
use crate::wait_for;
use larder_testkit::{Client, Kind, wait_until};

/// What the server keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Files {
    Nothing,
    Points,
    Log,
}

/// Which calls fail, on the files of the server's data.
const WRITES: &str = "write temp- 28\nfwrite temp- 28\nwrite .aof 28";
const SYNCS: &str = "sync temp- 5\nsync .aof 5";
const RENAMES: &str = "rename temp- 5";

const EVENTS: &[&str] = &[
    "SIGTERM",
    "SIGINT",
    "SHUTDOWN",
    "SHUTDOWN NOSAVE",
    "SHUTDOWN SAVE",
    "SHUTDOWN NOW",
    "SHUTDOWN FORCE",
    "SHUTDOWN SAVE FORCE",
    "SHUTDOWN ABORT",
    "CONFIG SET appendonly yes",
    "CONFIG SET appendonly no",
    "FLUSHALL",
    "SIGKILL",
    "BGSAVE",
    "BGSAVE SCHEDULE",
    "BGREWRITEAOF",
    "SAVE",
    "DEBUG RELOAD",
];

/// Cells that differ on purpose; the document says why.
const DIFFERENT: &[(Files, &str, &str)] = &[
    (Files::Log, WRITES, "BGREWRITEAOF"),
    (Files::Log, SYNCS, "BGREWRITEAOF"),
    (Files::Log, RENAMES, "BGREWRITEAOF"),
    (Files::Nothing, SYNCS, "CONFIG SET appendonly yes"),
    (Files::Points, SYNCS, "CONFIG SET appendonly yes"),
];

fn options(files: Files) -> &'static [&'static str] {
    match files {
        Files::Nothing => &[],
        Files::Points => &["--save", "3600 100000"],
        Files::Log => &["--appendonly", "yes"],
    }
}

/// A server with twenty keys, and one more since its disk fails.
fn prepare(kind: Kind, files: Files, fault: &str) -> Faulty {
    // A sync that was on its way when the disk began to fail makes the key be refused; that is a matter of time.
    (0..5).find_map(|_| try_prepare(kind, files, fault)).expect("a key is taken between two syncs")
}

fn try_prepare(kind: Kind, files: Files, fault: &str) -> Option<Faulty> {
    let faulty = Faulty::start(kind, options(files));
    let mut client = faulty.client();
    for key in 0..20 {
        client.cmd(&["SET", &format!("key:{key}"), "x"]);
    }
    if files == Files::Log {
        assert_eq!(client.ask("WAITAOF 1 0 30000").items()[0].int(), 1);
    }
    faulty.fail(fault);
    let reply = client.ask("SET unlucky 1");
    if files == Files::Log && fault == SYNCS && reply.text().starts_with("MISCONF") {
        return None;
    }
    assert_eq!(reply, crate::ok());
    if files == Files::Log && fault != RENAMES {
        wait_for(&mut client, "INFO persistence", "aof_last_write_status:err");
    }
    Some(faulty)
}

/// The reply, how it ended or what it says, and the keys after the next start on a disk that works.
fn outcome(kind: Kind, files: Files, fault: &str, event: &str) -> Vec<String> {
    let mut faulty = prepare(kind, files, fault);
    let (reply, ended) = run_event(&mut faulty.server, event);
    let after = match ended {
        Some(status) => format!("ended: {:?}", status.code()),
        None => figures(&mut faulty.client(), files, &reply, event),
    };
    if ended.is_none() && event != "SIGKILL" && files == Files::Log && fault == RENAMES {
        wait_until_logged(&mut faulty.client());
    }
    if event == "CONFIG SET appendonly yes" && files != Files::Log {
        faulty.args.extend(["--appendonly", "yes"]);
    }
    faulty.crash();
    let keys = faulty.client().ask("DBSIZE").int().to_string();
    // Whether the write that follows at once is still in a log that ends is a matter of time.
    let is_told = event != "CONFIG SET appendonly no" || files != Files::Log;
    if is_told { vec![reply, after, keys] } else { vec![reply, after] }
}

/// What a server that lives says of itself, and to a write.
fn figures(client: &mut Client, files: Files, reply: &str, event: &str) -> String {
    let begun = !reply.contains("ERR");
    match event {
        _ if event.starts_with("BGSAVE") => {
            wait_for(client, "INFO persistence", "rdb_last_bgsave_status:err");
        }
        // Another thread closes the log a little later.
        "CONFIG SET appendonly no" => wait_for(client, "INFO persistence", "aof_enabled:0"),
        "BGREWRITEAOF" if begun => wait_for(client, "INFO persistence", "aof_last_bgrewrite_status:err"),
        "CONFIG SET appendonly yes" if files != Files::Log => {
            wait_for(client, "INFO persistence", "aof_last_bgrewrite_status:err");
        }
        _ => {}
    }
    let info = client.ask("INFO persistence").text();
    let shown =
        ["rdb_last_bgsave_status", "aof_enabled", "aof_last_write_status", "aof_last_bgrewrite_status"];
    let mut lines: Vec<&str> = info
        .lines()
        .filter(|line| line.split(':').next().is_some_and(|name| shown.contains(&name)))
        .collect();
    let write = client.ask("SET late 1").text().replace("Redis", "Valkey");
    lines.push(&write);
    lines.join(" ")
}

fn compare(files: Files, fault: &'static str) {
    let mut differences = String::new();
    for event in EVENTS {
        let differs = |&(f, what, e): &(Files, &str, &str)| f == files && what == fault && e == *event;
        if DIFFERENT.iter().any(differs) {
            continue;
        }
        let [larder, valkey] = std::thread::scope(|scope| {
            [Kind::Larder, Kind::Valkey]
                .map(|kind| scope.spawn(move || outcome(kind, files, fault, event)))
                .map(|run| run.join().expect("the run ends"))
        });
        if larder != valkey {
            differences += &format!("{files:?}, {event}:\n  Larder {larder:?}\n  Valkey {valkey:?}\n");
        }
    }
    assert!(differences.is_empty(), "{fault}\n{differences}");
}

#[test]
fn writes_fail() {
    [Files::Nothing, Files::Points, Files::Log].into_iter().for_each(|files| compare(files, WRITES));
}

#[test]
fn syncs_fail() {
    [Files::Nothing, Files::Points, Files::Log].into_iter().for_each(|files| compare(files, SYNCS));
}

#[test]
fn renames_fail() {
    [Files::Points, Files::Log].into_iter().for_each(|files| compare(files, RENAMES));
}

/// The log that `appendonly no` left behind refuses no writes, and does not end the server; switched on again, it does.
#[test]
fn a_log_that_is_off_stops_nobody() {
    let mut faulty = prepare(Kind::Larder, Files::Log, WRITES);
    let mut client = faulty.client();
    assert!(client.ask("SET refused 1").text().starts_with("MISCONF"));
    assert_eq!(client.ask("CONFIG SET appendonly no appendfsync always"), crate::ok());
    assert_eq!(client.ask("SET allowed 1"), crate::ok());
    assert_eq!(client.ask("CONFIG SET appendfsync everysec"), crate::ok());
    assert_eq!(client.ask("CONFIG SET appendonly yes"), crate::ok());
    assert!(client.ask("SET refused 1").text().starts_with("MISCONF"));
    faulty.heal();
    wait_for(&mut client, "INFO persistence", "aof_rewrites:1");
    // The thread of the log tries again a little later than the rewrite.
    wait_until("writes are taken again", || client.ask("SET after 1") == crate::ok());
    faulty.crash();
    assert_eq!(faulty.client().ask("EXISTS unlucky allowed after refused").int(), 3);
}

/// Larder makes the files of a rewrite in the background, where Valkey makes the first of them before it answers.
#[test]
fn a_rewrite_that_cannot_begin_fails_in_the_background() {
    for fault in [WRITES, SYNCS, RENAMES] {
        let mut faulty = prepare(Kind::Larder, Files::Log, fault);
        let reply = send(&faulty.server, "BGREWRITEAOF");
        assert_eq!(reply, "Background append only file rewriting started");
        wait_for(&mut faulty.client(), "INFO persistence", "aof_last_bgrewrite_status:err");
        faulty.crash();
        assert_eq!(faulty.client().ask("DBSIZE").int(), if fault == WRITES { 20 } else { 21 });
    }
}

/// With `always` there is no way to go on without what has been promised.
#[test]
fn switched_to_always_a_log_that_fails_ends_the_server() {
    for kind in [Kind::Larder, Kind::Valkey] {
        let mut faulty = prepare(kind, Files::Log, WRITES);
        send(&faulty.server, "CONFIG SET appendfsync always");
        assert_eq!(faulty.server.wait().code(), Some(1), "{}", kind.name());
        faulty.crash();
        assert_eq!(faulty.client().ask("DBSIZE").int(), 20, "{}", kind.name());
    }
}
