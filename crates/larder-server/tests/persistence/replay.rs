//! Logs that others wrote, in part or wrongly: what stops the start and what does not, as in Valkey.

use crate::ok;
use larder_testkit::{Kind, Server};
use std::fs;
use std::path::Path;

const LOGGED: &[&str] = &["--appendonly", "yes"];

/// A command as it stands in a log. Words are parted by spaces.
fn command(line: &str) -> Vec<u8> {
    let words: Vec<&str> = line.split(' ').collect();
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    words.iter().for_each(|word| bytes.extend(format!("${}\r\n{word}\r\n", word.len()).into_bytes()));
    bytes
}

fn log(lines: &[&str]) -> Vec<u8> {
    lines.iter().flat_map(|line| command(line)).collect()
}

/// The keys that are there, with their databases, after a start in a directory that `fill` has filled; none when it does not start.
fn keys_after_start(kind: Kind, fill: &dyn Fn(&Path)) -> (Option<Vec<(u32, String)>>, String) {
    let mut server = Server::of(kind, LOGGED);
    server.kill();
    let before = server.log().len();
    fill(server.dir());
    let keys = server.start_again(LOGGED).then(|| {
        let (mut client, mut keys) = (server.client(), Vec::new());
        for db in 0..6 {
            client.ask(&format!("SELECT {db}"));
            let found = client.ask("KEYS *");
            keys.extend(found.items().iter().map(|key| (db, key.text())));
        }
        keys.sort();
        keys
    });
    (keys, server.log()[before..].to_owned())
}

fn compare(name: &str, fill: &dyn Fn(&Path)) -> (Option<Vec<(u32, String)>>, String) {
    let (larder, log) = keys_after_start(Kind::Larder, fill);
    let (valkey, theirs) = keys_after_start(Kind::Valkey, fill);
    assert_eq!(larder, valkey, "{name}\n{log}\n{theirs}");
    (larder, log)
}

#[test]
fn commands_that_fail_do_not_stop_the_start() {
    let cases: &[(&str, &[&str])] = &[
        ("lpush", &["SET a x", "LPUSH a y", "SET b 1"]),
        ("lpush", &["MULTI", "SET a x", "LPUSH a y", "SET b 1", "EXEC"]),
        ("exec", &["EXEC", "SET b 1"]),
        ("select", &["SELECT 99", "SET b 1"]),
        ("function|load", &["FUNCTION LOAD junk", "SET b 1"]),
        ("auth", &["AUTH x", "SET b 1"]),
        ("", &["BLPOP none 0", "RPUSH none a", "SET b 1"]),
        ("", &["XADD s 1-1 a b", "XREAD BLOCK 0 STREAMS s $", "SET b 1"]),
    ];
    for (failing, lines) in cases {
        let fill = |dir: &Path| {
            fs::write(dir.join("appendonlydir/appendonly.aof.1.incr.aof"), log(lines))
                .expect("it is writable");
        };
        let (keys, log) = compare(&lines.join("; "), &fill);
        assert!(keys.is_some_and(|keys| keys.contains(&(0, "b".to_owned()))), "{log}");
        let complaint = format!("after processing the command '{failing}'");
        assert_eq!(log.contains("CRITICAL"), !failing.is_empty(), "{log}");
        assert!(failing.is_empty() || log.contains(&complaint), "{log}");
    }
}

#[test]
fn commands_that_there_are_not_stop_the_start() {
    let cases: &[&[&str]] = &[
        &["NOSUCH a x", "SET b 1"],
        &["CONFIG FOO", "SET b 1"],
        &["SET a", "SET b 1"],
        &["MULTI", "SET a x", "NOSUCH a y", "SET b 1", "EXEC"],
    ];
    for lines in cases {
        let fill = |dir: &Path| {
            fs::write(dir.join("appendonlydir/appendonly.aof.1.incr.aof"), log(lines))
                .expect("it is writable");
        };
        assert_eq!(compare(&lines.join("; "), &fill).0, None);
    }
}

/// Commands that no server writes into a log, but that tools have put there: what surrounds them runs, as in Valkey. They neither end the
/// server nor write files.
#[test]
fn commands_that_do_not_belong_into_a_log_are_passed_over() {
    let cases = [
        "SHUTDOWN NOSAVE; SET b 2",
        "SHUTDOWN; SET b 2",
        "SUBSCRIBE ch; SET b 2",
        "PSUBSCRIBE ch; SET b 2",
        "SSUBSCRIBE ch; SET b 2",
        "UNSUBSCRIBE; SET b 2",
        "MONITOR; SET b 2",
        "SYNC; SET b 2",
        "SAVE; SET b 2",
        "BGSAVE; SET b 2",
        "BGREWRITEAOF; SET b 2",
        "CONFIG REWRITE; SET b 2",
        "DEBUG SLEEP 0; SET b 2",
        "DEBUG RELOAD; SET b 2",
        "CLIENT REPLY OFF; LPUSH a x; SET b 2",
        "MIGRATE 127.0.0.1 1 a 0 10; SET b 2",
        "FAILOVER; SET b 2",
        "QUIT; SET b 2",
        "RESET; SET b 2",
        "DISCARD; SET b 2",
        "MULTI; SET b 2; MULTI; SET c 3; EXEC; SET d 4",
        "MULTI; MULTI; EXEC; SET d 4",
        "MULTI; WATCH a; SET b 2; EXEC; SET d 4",
        "WATCH a; SET a 3; MULTI; SET b 2; EXEC",
        "MULTI; SHUTDOWN NOSAVE; SET b 2; EXEC",
        "MULTI; SAVE; SET b 2; EXEC",
        "MULTI; MONITOR; SET b 2; EXEC",
        "MULTI; CLIENT REPLY OFF; SET b 2; EXEC; SET c 3",
        "MULTI; SUBSCRIBE x; SET b 2; EXEC; SET c 3",
        "MULTI; BGREWRITEAOF; SET b 2; EXEC; SET c 3",
        "MULTI; DEBUG RELOAD; SET b 2; EXEC; SET c 3",
        "MULTI; BLPOP none 0; SET b 2; EXEC; SET c 3",
        "SELECT 3; RESET; SET b 2",
        "SELECT 3; MULTI; SELECT 4; SET b 2; EXEC; SET c 3",
    ];
    for line in cases {
        let lines: Vec<&str> = std::iter::once("SET a 1").chain(line.split("; ")).collect();
        let fill = |dir: &Path| {
            fs::write(dir.join("appendonlydir/appendonly.aof.1.incr.aof"), log(&lines))
                .expect("it is writable");
            let _ = fs::remove_file(dir.join("dump.rdb"));
        };
        let (keys, log) = compare(line, &fill);
        assert!(keys.is_some(), "{line}: {log}");
    }
}

/// A rewrite in the middle of a log would make the first half of the data the base, and delete the log.
#[test]
fn a_log_is_not_rewritten_by_what_it_says() {
    let mut server = Server::larder(LOGGED);
    server.kill();
    let path = server.dir().join("appendonlydir/appendonly.aof.1.incr.aof");
    let sets = |from: usize| (from..from + 30_000).flat_map(|i| command(&format!("SET key:{i} {i}")));
    let text: Vec<u8> = sets(0).chain(log(&["BGREWRITEAOF", "BGSAVE", "SAVE"])).chain(sets(30_000)).collect();
    fs::write(&path, &text).expect("it is writable");
    assert!(server.start_again(LOGGED), "{}", server.log());
    assert_eq!(server.client().ask("DBSIZE").int(), 60_000);
    server.kill();
    assert_eq!(fs::read(&path).expect("it is there"), text);
    assert!(!server.dir().join("dump.rdb").exists(), "half of the data was saved");
    assert!(server.start_again(LOGGED), "{}", server.log());
    assert_eq!(server.client().ask("DBSIZE").int(), 60_000);
}

/// Each file begins in database 0, whatever the one before had selected.
#[test]
fn every_file_begins_in_database_0() {
    for (first, second) in [
        ("SELECT 5; SET a 1", "SET b 2"),
        ("MULTI; SELECT 4; SET a 1; EXEC", "SET b 2; SELECT 3; SET c 3"),
        ("SELECT 5; SET a 1; WATCH a", "SET a 1; MULTI; SET b 2; EXEC"),
        ("SELECT 5; SET a 1; SUBSCRIBE ch", "SET b 2"),
    ] {
        let lines = |text: &str| log(&text.split("; ").collect::<Vec<_>>());
        let fill = |dir: &Path| {
            let logs = dir.join("appendonlydir");
            let file = |number: u32| format!("appendonly.aof.{number}.incr.aof");
            fs::write(logs.join(file(1)), lines(first)).expect("it is writable");
            fs::write(logs.join(file(2)), lines(second)).expect("it is writable");
            let listed = [1, 2].map(|number| format!("file {} seq {number} type i\n", file(number)));
            fs::write(logs.join("appendonly.aof.manifest"), listed.concat()).expect("it is writable");
        };
        compare(first, &fill);
    }
}

/// The manifest, and whether there is a file from before there were manifests: where it was, and where it goes.
#[test]
fn an_upgrade_that_was_interrupted_is_continued() {
    const SINGLE: &str = "file appendonly.aof seq 1 type b\n";
    let with_increment = format!("{SINGLE}file appendonly.aof.1.incr.aof seq 1 type i\n");
    let cases = [
        (None, true, false),
        (Some(SINGLE), true, false),
        (Some(SINGLE), true, true),
        (Some(SINGLE), false, true),
        (Some(SINGLE), false, false),
        (Some(with_increment.as_str()), true, false),
        (Some("# nothing\n"), false, false),
        (Some(""), false, false),
        (Some("file appendonly.aof seq 1 type b"), false, true),
        (Some("file appendonly.aof seq 1 type b\r\n"), false, true),
        (Some("file appendonly.aof seq 1 type b\n\n"), false, true),
    ];
    for (manifest, has_old, has_new) in cases {
        let fill = |dir: &Path| {
            let logs = dir.join("appendonlydir");
            fs::remove_dir_all(&logs).and_then(|()| fs::create_dir(&logs)).expect("it is writable");
            if let Some(text) = manifest {
                fs::write(logs.join("appendonly.aof.manifest"), text).expect("it is writable");
            }
            fs::write(logs.join("appendonly.aof.1.incr.aof"), "").expect("it is writable");
            if has_old {
                fs::write(dir.join("appendonly.aof"), log(&["SET old 1"])).expect("it is writable");
            }
            if has_new {
                fs::write(logs.join("appendonly.aof"), log(&["SET new 1"])).expect("it is writable");
            }
        };
        compare(&format!("{manifest:?} {has_old} {has_new}"), &fill);
    }
}

#[test]
fn a_base_of_commands_says_when_it_was_written() {
    let args = ["--aof-use-rdb-preamble", "no", "--aof-timestamp-enabled", "yes"];
    let mut server = Server::larder(&[LOGGED, &args].concat());
    let mut client = server.client();
    client.ask("SET a 1");
    client.ask("BGREWRITEAOF");
    crate::wait_for(&mut client, "INFO persistence", "aof_rewrites:1");
    let base = fs::read(server.dir().join("appendonlydir/appendonly.aof.2.base.aof")).expect("it is there");
    assert!(base.starts_with(b"#TS:") && base.ends_with(&command("SET a 1")));
    server.kill();
    assert!(server.start_again(&[LOGGED, &args].concat()));
    assert_eq!(server.client().ask("GET a").text(), "1");
}

#[test]
fn libraries_that_are_there_are_not_loaded_once_more() {
    for kind in [Kind::Larder, Kind::Valkey] {
        let server = Server::of(kind, &[]);
        let mut client = server.client();
        let library = "#!lua name=x\nredis.register_function('f', function() return 1 end)";
        assert_eq!(client.cmd(&["FUNCTION", "LOAD", library]).text(), "x");
        let refused = client.ask("DEBUG RELOAD NOFLUSH").text();
        assert_eq!(refused, "ERR Error trying to load the RDB dump, check server logs.", "{}", kind.name());
        for line in ["DEBUG RELOAD NOFLUSH MERGE", "DEBUG RELOAD MERGE", "DEBUG RELOAD"] {
            assert_eq!(client.ask(line), ok(), "{line}");
            assert_eq!(client.cmd(&["FCALL", "f", "0"]).int(), 1);
        }
    }
}
