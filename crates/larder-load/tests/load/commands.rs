//! Files of commands: gathered or sent as they are, they leave what they leave when a client sends them.

use crate::support::{ALL, DEBUG, complete, digests, options_for, proxy};
use fastrand::Rng;
use larder_load::load::load;
use larder_load::options::{Options, Source};
use larder_testkit::{Client, Kind, Server, Value, encode, seed, temp_dir};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

fn options(path: &Path, port: u16) -> Options {
    options_for(path, Source::Resp, port)
}

/// A command that builds a value, or fails to, on one of few keys.
fn building(rng: &mut Rng) -> Vec<String> {
    let key = format!("key:{}", rng.u32(..60));
    let text = |rng: &mut Rng| match rng.u8(..4) {
        0 => rng.i32(..).to_string(),
        1 => "x".repeat(rng.usize(..150)),
        _ => format!("{:x}", rng.u32(..100)),
    };
    let count = rng.usize(1..6);
    let many = |rng: &mut Rng| (0..count).map(|_| text(rng)).collect::<Vec<_>>();
    let score =
        |rng: &mut Rng| ["1", "-2.5", "inf", "-inf", "1e3", "0", "-0", "17"][rng.usize(..8)].to_owned();
    let (name, rest) = match rng.u8(..16) {
        0 => ("SET", vec![text(rng)]),
        1 => ("set", vec![text(rng), "PXAT".into(), "4102444800123".into()]),
        2 => ("SET", vec![text(rng), "EXAT".into(), "1".into()]),
        3 | 4 => ("RPUSH", many(rng)),
        5 => ("LPUSH", many(rng)),
        6 | 7 => ("SADD", many(rng)),
        8 | 9 => ("HSET", (0..count).flat_map(|_| [text(rng), text(rng)]).collect()),
        10 => ("HMSET", vec![text(rng), text(rng)]),
        11 | 12 => ("ZADD", (0..count).flat_map(|_| [score(rng), text(rng)]).collect()),
        13 => ("XADD", vec![format!("{}-{}", rng.u8(1..20), rng.u8(..3)), text(rng), text(rng)]),
        14 => ("EXPIREAT", vec!["4102444800".into()]),
        _ => ("PEXPIREAT", vec![["4102444800777", "5", "-1"][rng.usize(..3)].into()]),
    };
    [vec![name.to_owned(), key], rest].concat()
}

fn file_of(commands: &[Vec<String>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    commands.iter().for_each(|command| encode(&mut bytes, command));
    bytes
}

#[test]
fn gathered_commands_leave_what_they_leave_when_they_are_sent() {
    let folder = temp_dir();
    let path = folder.join("commands");
    let mut rng = Rng::with_seed(seed(11));
    let commands: Vec<Vec<String>> = (0..3000).map(|_| building(&mut rng)).collect();
    fs::write(&path, file_of(&commands)).unwrap();
    for kind in ALL {
        let server = Server::of(kind, DEBUG);
        let mut client = server.client();
        client.ask("SELECT 9");
        // An expiry of no key says 0, which a load names as well.
        let has_failed = |command: &Vec<String>, reply: Value| {
            reply.is_error() || command[0].ends_with("EXPIREAT") && reply == Value::Int(0)
        };
        let failed = commands.iter().filter(|c| has_failed(c, client.cmd(c))).count() as u64;
        let expected = digests(&mut client, 9);
        assert!(failed > 200 && expected.len() > 30);
        for (budget_bytes, replace) in [(64 << 20, false), (20_000, true)] {
            let report = load(&Options { budget_bytes, replace, ..options(&path, server.port()) }).unwrap();
            assert_eq!((&report.failure, report.rejected), (&None, failed), "{:?}", report.first_rejects);
            assert_eq!((report.commands, report.rows, report.spilled), (0, 3000, replace));
            assert_eq!(digests(&mut client, 0), expected, "{} {budget_bytes}", kind.name());
        }
        // A second time all keys are there.
        let again = load(&options(&path, server.port())).unwrap();
        assert_eq!((again.keys, again.rejected), (0, failed + expected.len() as u64));
    }
    fs::remove_dir_all(&folder).unwrap();
}

/// Sends a file as it is; returns how many errors came.
fn send_raw(client: &mut Client, bytes: &[u8], replies: usize) -> u64 {
    client.send_raw(bytes).unwrap();
    let has_error = |reply: &Value| {
        reply.is_error() || matches!(reply, Value::Array(_)) && reply.items().iter().any(Value::is_error)
    };
    (0..replies).filter(|_| has_error(&client.read().unwrap())).count() as u64
}

#[test]
fn other_commands_and_all_after_them_are_sent_in_their_order() {
    let folder = temp_dir();
    let path = folder.join("commands");
    let lines = "SET n 5\r\nRPUSH l a b c\r\nSELECT 3\r\nHSET h f \"a b\"\nSELECT 0\nINCR n\nINCR n\n\nAPPEND n x\nINCR n\n\
        LPOP l\nRPUSH l d\nDEL nothing\nSELECT 3\nHDEL h f\nSADD s 1 2\nMULTI\nSADD s 3\nLPUSH s x\nEXEC\nRENAME s t\nNONSENSE\n\
        EVAL \"return redis.call('set', KEYS[1], 'v')\" 1 e\nSET n 1\n";
    fs::write(&path, lines).unwrap();
    for kind in ALL {
        let (one, other) = (Server::of(kind, DEBUG), Server::of(kind, DEBUG));
        let (mut sent, mut loaded) = (one.client(), other.client());
        let errors = send_raw(&mut sent, lines.as_bytes(), 23);
        let dry = load(&Options { dry_run: true, ..options(&path, other.port()) }).unwrap();
        assert_eq!((dry.commands, loaded.ask("DBSIZE")), (18, Value::Int(0)));
        let report = load(&options(&path, other.port())).unwrap();
        assert_eq!((&report.failure, report.rejected, report.keys), (&None, errors, 3), "{report:?}");
        assert_eq!((errors, report.commands), (3, 18));
        let first = format!("offset {}: ", lines.find("INCR n\nLPOP").unwrap());
        assert!(report.first_rejects[0].starts_with(&first), "{:?}", report.first_rejects);
        for db in [0, 3] {
            assert_eq!(digests(&mut loaded, db), digests(&mut sent, db), "{} {db}", kind.name());
        }
        // With a state file such commands are refused by name, before anything is sent.
        loaded.ask("FLUSHALL");
        let state = Some(folder.join(kind.name()));
        let error = load(&Options { state, ..options(&path, other.port()) }).unwrap_err().to_string();
        let first = format!("offset {}: INCR cannot be collected by key", lines.find("INCR").unwrap());
        assert!(error.contains(&first), "{error}");
        loaded.ask("SELECT 0");
        assert_eq!(loaded.ask("DBSIZE"), Value::Int(0));
    }
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_file_that_breaks_off_anywhere_loads_nothing() {
    let folder = temp_dir();
    let path = folder.join("commands");
    let server = Server::larder(DEBUG);
    let mut client = server.client();
    let mut bytes = file_of(&[vec!["SET".into(), "a".into(), "value".into()]]);
    let mut ends = vec![0, bytes.len()];
    bytes.extend_from_slice(b"RPUSH l \"x y\"\n");
    ends.push(bytes.len());
    encode(&mut bytes, &["INCR", "n"]);
    ends.push(bytes.len());
    for command in [&["MULTI"][..], &["SET", "b", "1"], &["EXEC"]] {
        encode(&mut bytes, command);
    }
    ends.push(bytes.len());
    for len in 0..=bytes.len() {
        fs::write(&path, &bytes[..len]).unwrap();
        let result = load(&options(&path, server.port()));
        if ends.contains(&len) {
            complete(&result.unwrap());
            client.ask("FLUSHALL");
            continue;
        }
        let error = result.unwrap_err().to_string();
        assert!(error.contains("offset ") && error.contains("the file ends within"), "{len}: {error}");
        assert_eq!(client.ask("DBSIZE"), Value::Int(0), "{len}");
    }
    fs::write(&path, [&bytes[..], b"*1\r\n$x\r\n"].concat()).unwrap();
    let error = load(&options(&path, server.port())).unwrap_err().to_string();
    assert!(error.ends_with(&format!("offset {}: invalid bulk length", bytes.len())), "{error}");
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_target_that_refuses_ends_what_is_sent() {
    let folder = temp_dir();
    let path = folder.join("commands");
    let mut commands: Vec<Vec<String>> = vec![vec!["INCR".into(), "n".into()]];
    commands.extend((0..20_000).map(|n| vec!["APPEND".into(), format!("k{}", n % 100), "x".repeat(100)]));
    fs::write(&path, file_of(&commands)).unwrap();
    for kind in ALL {
        let server = Server::of(kind, &["--maxmemory", "2mb"]);
        let mut client = server.client();
        let failure = load(&options(&path, server.port())).unwrap().failure.unwrap();
        assert!(failure.contains("OOM") && failure.contains("may have been executed"), "{failure}");
        client.ask("CONFIG SET maxmemory 0");
        client.ask("FLUSHALL");
        client.ask("ACL SETUSER writer on >secret ~* +@all -append");
        let mut options = options(&path, server.port());
        (options.target.user, options.target.password) = (Some("writer".into()), Some("secret".into()));
        let failure = load(&options).unwrap().failure.unwrap();
        assert!(failure.contains("NOPERM") && failure.contains("(offset 21)"), "{failure}");
        assert_eq!(client.ask("GET n").text(), "1");
        // A link that breaks leaves the commands in doubt that it names.
        let port = proxy(server.port(), Arc::new(AtomicI64::new(300_000)));
        let failure = load(&Options { target: crate::support::target(port), ..options_of(&path) }).unwrap();
        let text = failure.failure.unwrap();
        assert!(text.contains("some of the commands at the offsets "), "{text}");
    }
    fs::write(&path, "INCR n\nSUBSCRIBE a\nHELLO 3\nINCR n\nCLIENT REPLY OFF\nINCR n\n").unwrap();
    let server = Server::larder(DEBUG);
    let report = load(&options(&path, server.port())).unwrap();
    assert_eq!((report.failure, report.rejected, report.commands), (None, 3, 3));
    assert!(report.first_rejects[0].starts_with("offset 7: "), "{:?}", report.first_rejects);
    assert_eq!(server.client().ask("GET n").text(), "3");
    fs::remove_dir_all(&folder).unwrap();
}

fn options_of(path: &Path) -> Options {
    options(path, 0)
}

#[test]
fn clusters_get_what_is_gathered_and_refuse_the_rest_by_name() {
    let folder = temp_dir();
    let path = folder.join("commands");
    let server = Server::of(Kind::Larder, &["--cluster-enabled", "yes"]);
    let mut client = server.client();
    client.ask("CLUSTER ADDSLOTSRANGE 0 16383");
    while !client.ask("CLUSTER INFO").text().contains("cluster_state:ok") {
        std::thread::yield_now();
    }
    fs::write(&path, "SET a 1\nSADD b 1\n").unwrap();
    complete(&load(&options(&path, server.port())).unwrap());
    fs::write(&path, "SET c 1\nINCR a\n").unwrap();
    let report = load(&options(&path, server.port())).unwrap();
    assert_eq!(report.keys, 1);
    assert!(report.failure.unwrap().contains("offset 8: INCR cannot be sent to a cluster"));
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_link_that_breaks_is_gone_on_after() {
    let folder = temp_dir();
    let path = folder.join("commands");
    let mut rng = Rng::with_seed(seed(12));
    let commands: Vec<Vec<String>> = (0..4000)
        .map(|n| vec!["RPUSH".into(), format!("k{}", n / 2), format!("{:x}", rng.u64(..))])
        .collect();
    fs::write(&path, file_of(&commands)).unwrap();
    let (server, left) = (Server::larder(DEBUG), Arc::new(AtomicI64::new(i64::MAX)));
    let port = proxy(server.port(), Arc::clone(&left));
    let mut client = server.client();
    client.ask("SELECT 9");
    commands.iter().for_each(|command| assert!(!client.cmd(command).is_error()));
    let expected = digests(&mut client, 9);
    let mut broken = 0;
    for round in 0..10 {
        digests(&mut client, 0);
        client.ask("FLUSHDB");
        let state = Some(folder.join(format!("state{round}")));
        let options = Options { state, ..options(&path, port) };
        left.store(rng.i64(1..200_000), Ordering::Relaxed);
        let first = load(&options);
        left.store(i64::MAX, Ordering::Relaxed);
        broken += u32::from(!first.is_ok_and(|report| report.failure.is_none()));
        complete(&load(&options).unwrap());
        assert_eq!(digests(&mut client, 0), expected, "round {round}");
    }
    assert!(broken > 3, "{broken} links broke");
    fs::remove_dir_all(&folder).unwrap();
}
