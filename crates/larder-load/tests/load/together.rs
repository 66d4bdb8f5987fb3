//! Strings that are sent with one command: beside keys that exist, keys that come twice, users that may not, and loads that broke off.

use crate::support::{ALL, DEBUG, complete, digests, options_for};
use fastrand::Rng;
use larder_load::load::load;
use larder_load::mapping::Draft;
use larder_load::options::{Options, Source};
use larder_load::reader::{Format, Layout};
use larder_testkit::{Client, Kind, Server, Value, seed, temp_dir};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;

/// A file of strings, some of which expire, with a list here and there; and what becomes of it.
fn strings(rng: &mut Rng) -> (String, BTreeMap<String, String>) {
    let (mut file, mut expected) = (String::new(), BTreeMap::new());
    for number in 0..rng.usize(500..1500) {
        let (key, value) =
            (format!("key:{number}"), "v".repeat(rng.usize(1..100) << (9 * rng.u32(..1000) / 999)));
        let line = match rng.u8(..30) {
            0 => format!("SET {key} {value} EX 100000"),
            1 => format!("RPUSH {key} {value}"),
            _ => format!("SET {key} {value}"),
        };
        writeln!(file, "{line}").unwrap();
        expected.insert(key, value);
    }
    (file, expected)
}

/// What a key holds: a string, or the only element of a list.
fn held(client: &mut Client, key: &str) -> String {
    match client.cmd(&["LRANGE", key, "0", "-1"]) {
        Value::Error(_) => client.cmd(&["GET", key]).text(),
        list => list.items()[0].text(),
    }
}

fn check(client: &mut Client, expected: &BTreeMap<String, String>, kind: Kind) {
    assert_eq!(client.ask("DBSIZE"), Value::Int(expected.len() as i64));
    for (key, value) in expected {
        assert_eq!(&held(client, key), value, "{} {key}", kind.name());
    }
}

/// How often a server was given a command.
fn calls(client: &mut Client, name: &str) -> u64 {
    let info = client.ask("INFO commandstats").text();
    let line =
        info.lines().find_map(|line| line.strip_prefix(&format!("cmdstat_{name}:calls="))).unwrap_or("0");
    line.split(',').next().unwrap().parse().unwrap()
}

#[test]
fn keys_that_exist_stay_or_are_replaced() {
    let (folder, mut rng) = (temp_dir(), Rng::with_seed(seed(51)));
    for kind in ALL {
        let (file, mut expected) = strings(&mut rng);
        let path = folder.join(kind.name());
        fs::write(&path, file).unwrap();
        let server = Server::of(kind, DEBUG);
        let mut client = server.client();
        let old: Vec<String> = expected.keys().filter(|_| rng.u8(..100) == 0).cloned().collect();
        let loaded = expected.clone();
        for key in &old {
            client.cmd(&["SET", key, "old"]);
            expected.insert(key.clone(), "old".to_owned());
        }
        let options = options_for(&path, Source::Resp, server.port());
        let report = load(&options).unwrap();
        assert_eq!((&report.failure, report.rejected as usize), (&None, old.len()), "{}", kind.name());
        assert_eq!(report.keys as usize, loaded.len() - old.len());
        check(&mut client, &expected, kind);
        assert!(calls(&mut client, "msetnx") > 5);
        let report = load(&Options { replace: true, ..options }).unwrap();
        complete(&report);
        assert_eq!(report.keys as usize, loaded.len());
        check(&mut client, &loaded, kind);
        assert!(calls(&mut client, "mset") > 5);
    }
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn of_keys_that_come_twice_the_first_one_stays() {
    let folder = temp_dir();
    let (path, mut text) = (folder.join("rows"), "k,v\n".to_owned());
    for (number, key) in [1, 2, 1, 3, 3, 2, 2, 4, 1].iter().enumerate() {
        writeln!(text, "{key},{number}").unwrap();
    }
    fs::write(&path, text).unwrap();
    let mapping = Draft::parse("key = '{k}'\ntype = 'string'\nvalue = '{v}'").unwrap().finish().unwrap();
    for (replace, expected) in [(false, "0 1 4 7"), (true, "8 6 4 7")] {
        let server = Server::larder(DEBUG);
        let source = Source::Table(Layout::of(Format::Csv), mapping.clone());
        let options = options_for(&path, source, server.port());
        let report = load(&Options { adjacent: true, replace, ..options }).unwrap();
        assert_eq!((report.failure, report.rejected), (None, if replace { 0 } else { 3 }));
        let found = server.client().ask("MGET 1 2 3 4");
        assert_eq!(found.items().iter().map(Value::text).collect::<Vec<_>>().join(" "), expected);
    }
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn who_may_not_set_many_sets_each() {
    let (folder, mut rng) = (temp_dir(), Rng::with_seed(seed(52)));
    let (file, expected) = strings(&mut rng);
    let path = folder.join("commands");
    fs::write(&path, file).unwrap();
    for kind in ALL {
        let server = Server::of(kind, DEBUG);
        let mut client = server.client();
        client.ask("ACL SETUSER writer on >secret ~* +restore +set +info");
        let mut options = options_for(&path, Source::Resp, server.port());
        (options.target.user, options.target.password) = (Some("writer".into()), Some("secret".into()));
        complete(&load(&options).unwrap());
        check(&mut client, &expected, kind);
        // Keys that the user may not write end the load.
        client.ask("FLUSHALL");
        client.ask("ACL SETUSER writer +@all resetkeys ~key:?");
        let failure = load(&options).unwrap().failure.unwrap();
        assert!(failure.contains("NOPERM") && failure.contains("key 'key:"), "{failure}");
        let Value::Int(0..=10) = client.ask("DBSIZE") else { panic!("keys that may not be written") };
    }
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_load_that_broke_off_goes_on() {
    let (folder, mut rng) = (temp_dir(), Rng::with_seed(seed(53)));
    let (path, state) = (folder.join("commands"), folder.join("state"));
    for round in 0..6 {
        let (file, _) = strings(&mut rng);
        fs::write(&path, file).unwrap();
        let _ = fs::remove_file(&state);
        let server = Server::of(ALL[round % ALL.len()], DEBUG);
        let mut client = server.client();
        let options =
            Options { state: Some(state.clone()), ..options_for(&path, Source::Resp, server.port()) };
        complete(&load(&options).unwrap());
        let expected = digests(&mut client, 0);
        // Some batches were begun, and nobody was told how far they came.
        let text = fs::read_to_string(&state).unwrap();
        fs::write(
            &state,
            text.lines().filter(|l| !l.starts_with("done")).fold(String::new(), |all, l| all + l + "\n"),
        )
        .unwrap();
        let mut changed = 0;
        for (key, _) in &expected {
            match rng.u8(..50) {
                0..20 => assert_eq!(client.cmd(&["DEL", key]), Value::Int(1)),
                20 => {
                    client.cmd(&["DEL", key]);
                    client.cmd(&["SET", key, "other"]);
                    changed += 1;
                }
                _ => {}
            }
        }
        let report = load(&options).unwrap();
        assert_eq!((&report.failure, report.rejected), (&None, changed));
        let found = digests(&mut client, 0);
        assert_eq!(found.len(), expected.len());
        assert_eq!(found.iter().filter(|key| !expected.contains(key)).count() as u64, changed);
    }
    fs::remove_dir_all(&folder).unwrap();
}
