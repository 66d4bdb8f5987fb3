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

/// The keys that are there after a start in a directory that `fill` has filled; none when it does not start.
fn keys_after_start(kind: Kind, fill: &dyn Fn(&Path)) -> (Option<Vec<String>>, String) {
    let mut server = Server::of(kind, LOGGED);
    server.kill();
    let before = server.log().len();
    fill(server.dir());
    let keys = server.start_again(LOGGED).then(|| {
        let reply = server.client().ask("KEYS *");
        let mut keys: Vec<String> = reply.items().iter().map(|key| key.text()).collect();
        keys.sort();
        keys
    });
    (keys, server.log()[before..].to_owned())
}

fn compare(name: &str, fill: &dyn Fn(&Path)) -> (Option<Vec<String>>, String) {
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
        assert!(keys.is_some_and(|keys| keys.contains(&"b".to_owned())), "{log}");
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
