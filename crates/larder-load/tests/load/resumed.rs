//! Loads with a state that were killed, and go on. What a killed load leaves is made here: the state up to any line, and any part of the keys
//! of the batches that the state says were begun.

use crate::support::{ALL, DEBUG, complete, digests, fill, options_for};
use fastrand::Rng;
use larder_load::load::load;
use larder_load::options::{Options, Source};
use larder_testkit::{Kind, Server, Value, seed, temp_dir};
use std::fs;
use std::path::Path;

/// Takes from a state that batches were done.
fn forget_done(state: &Path) {
    let text = fs::read_to_string(state).unwrap();
    let begun: String = text.lines().filter(|l| !l.starts_with("done")).map(|l| format!("{l}\n")).collect();
    assert!(begun.lines().count() > 1 && begun.len() < text.len(), "{text}");
    fs::write(state, begun).unwrap();
}

#[test]
fn keys_that_were_there_stay_and_those_that_arrived_are_known() {
    let folder = temp_dir();
    let mut rng = Rng::with_seed(seed(41));
    for from in ALL {
        let source = Server::of(from, DEBUG);
        let mut client = source.client();
        fill(&mut client, &mut rng);
        let expected = digests(&mut client, 0);
        assert_eq!(client.ask("SAVE").text(), "OK");
        let path = source.dir().join("dump.rdb");
        for kind in
            ALL.into_iter().filter(|&kind| from == Kind::Larder || kind == Kind::Larder || kind == from)
        {
            let what = format!("{} into {}", from.name(), kind.name());
            let server = Server::of(kind, DEBUG);
            let mut client = server.client();
            let state = folder.join(&what);
            let options =
                Options { state: Some(state.clone()), ..options_for(&path, Source::Rdb, server.port()) };
            complete(&load(&options).unwrap());
            // All arrived, and nobody was told.
            forget_done(&state);
            let report = load(&options).unwrap();
            complete(&report);
            assert_eq!(report.keys as usize, expected.len(), "{what}");
            assert_eq!(digests(&mut client, 0), expected, "{what}");
            // Some have arrived, some have not, and some were there before the load, with other values or in another way.
            for round in 0..2 {
                forget_done(&state);
                let mut kept = Vec::new();
                for (at, (key, _)) in expected.iter().enumerate() {
                    let is_fleeting = client.cmd(&["PTTL", key]) != Value::Int(-1);
                    match (at + round) % 4 {
                        0 => assert_eq!(client.cmd(&["DEL", key]), Value::Int(1)),
                        1 => {
                            client.cmd(&["DEL", key]);
                            let other: &[&str] = match rng.u8(..4) {
                                0 => &["SET", key, "kept"],
                                1 => &["RPUSH", key, "kept"],
                                2 => &["ZADD", key, "1", "kept"],
                                _ => &["HSET", key, "kept", "1"],
                            };
                            assert!(!client.cmd(other).is_error());
                            kept.push(key.clone());
                        }
                        2 if is_fleeting => {
                            client.cmd(&["PERSIST", key]);
                            kept.push(key.clone());
                        }
                        _ => {}
                    }
                }
                let before: Vec<_> =
                    digests(&mut client, 0).into_iter().filter(|(key, _)| kept.contains(key)).collect();
                let report = load(&options).unwrap();
                assert_eq!((&report.failure, report.rejected as usize), (&None, kept.len()), "{what}");
                assert_eq!(report.keys as usize, expected.len() - kept.len(), "{what}");
                for (key, digest) in digests(&mut client, 0) {
                    let of = if kept.contains(&key) { &before } else { &expected };
                    assert!(of.contains(&(key.clone(), digest)), "{what}: {key}");
                }
                // Whoever says --replace has all of them replaced, by a load that goes on as well.
                let state = folder.join(format!("{what} {round}"));
                let options = Options { state: Some(state.clone()), replace: true, ..options.clone() };
                complete(&load(&options).unwrap());
                forget_done(&state);
                assert_eq!(client.cmd(&["SET", &expected[round].0, "other"]).text(), "OK");
                complete(&load(&options).unwrap());
                assert_eq!(digests(&mut client, 0), expected, "{what}");
            }
        }
    }
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn one_element_makes_another_value() {
    let folder = temp_dir();
    let (path, state) = (folder.join("commands"), folder.join("state"));
    let lines = "SET s 12\nRPUSH l a b 7\nSADD i 1 2 3\nSADD t 1 b\nHSET h f v g 1\nZADD z 1 a 2.5 b\nXADD x 1-1 f v\nXADD x 2-1 f w\n";
    fs::write(&path, lines).unwrap();
    for kind in ALL {
        let server = Server::of(kind, DEBUG);
        let mut client = server.client();
        let options =
            Options { state: Some(state.clone()), ..options_for(&path, Source::Resp, server.port()) };
        for change in [
            "APPEND s 3",
            "INCR s",
            "RPUSH l a",
            "LSET l 0 b",
            "LPOP l",
            "SADD i 4",
            "SREM i 1",
            "SMOVE i t 2",
            "SADD t c",
            "HSET h f w",
            "HSET h k v",
            "HDEL h f",
            "ZADD z 3 a",
            "ZADD z 1 c",
            "ZREM z a",
            "XADD x 3-1 f v",
            "XDEL x 1-1",
            "XGROUP CREATE x g 0",
            "RENAME l s",
        ] {
            let _ = fs::remove_file(&state);
            client.ask("FLUSHALL");
            complete(&load(&options).unwrap());
            forget_done(&state);
            let before = digests(&mut client, 0);
            assert!(!client.ask(change).is_error(), "{change}");
            let after = digests(&mut client, 0);
            // A digest leaves groups out.
            let changed = after.iter().filter(|key| !before.contains(key)).count().max(1) as u64;
            let report = load(&options).unwrap();
            assert_eq!((report.rejected, &report.failure), (changed, &None), "{} {change}", kind.name());
            let found = digests(&mut client, 0);
            assert!(after.iter().all(|key| found.contains(key)), "{change}");
        }
    }
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn who_may_not_look_at_a_key_that_exists_is_told_so() {
    let folder = temp_dir();
    let (path, state) = (folder.join("commands"), folder.join("state"));
    fs::write(&path, "SET s 1\nSADD t 1\n").unwrap();
    let server = Server::of(Kind::Larder, DEBUG);
    let mut client = server.client();
    client.ask("ACL SETUSER writer on >secret ~* +restore +set +info");
    let mut options =
        Options { state: Some(state.clone()), ..options_for(&path, Source::Resp, server.port()) };
    (options.target.user, options.target.password) = (Some("writer".into()), Some("secret".into()));
    complete(&load(&options).unwrap());
    forget_done(&state);
    let failure = load(&options).unwrap().failure.unwrap();
    assert!(failure.contains("NOPERM") && failure.contains("key 's'"), "{failure}");
    client.ask("ACL SETUSER writer +dump +pttl");
    complete(&load(&options).unwrap());
    fs::remove_dir_all(&folder).unwrap();
}
