//! The program, killed at any moment, and called again until it is done.

use fastrand::Rng;
use larder_testkit::{Client, Kind, Server, seed, temp_dir};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Keys that are there before, and what they hold.
const KEPT: &str = "kept";

/// The program with its files in a folder.
fn program(folder: &Path, port: u16) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_larder-load"));
    let words =
        "--ndjson rows --key {k} --list {v} --state state --rejects rejects --adjacent --quiet --port";
    command.args(words.split(' ')).arg(port.to_string()).current_dir(folder);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs it and kills it as soon as its state has this many bytes; returns whether it was in time.
fn is_killed(folder: &Path, port: u16, size: u64) -> bool {
    let mut child = program(folder, port).spawn().unwrap();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            assert_eq!(status.code(), Some(1));
            return false;
        }
        if fs::metadata(folder.join("state")).is_ok_and(|state| state.len() >= size) {
            child.kill().unwrap();
            return child.wait().unwrap().code().is_none();
        }
        std::thread::yield_now();
    }
}

/// The lines of the file of rejects, by their places; each is there once.
fn rejects(folder: &Path) -> BTreeMap<u64, String> {
    let text = fs::read_to_string(folder.join("rejects")).unwrap();
    let mut all = BTreeMap::new();
    for line in text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
        let place = line.split('\t').next().unwrap().parse().unwrap();
        assert_eq!(all.insert(place, line.to_owned()), None, "{line}");
    }
    all
}

fn lists(client: &mut Client, count: u64) -> Vec<String> {
    (0..count).map(|n| client.cmd(&["LRANGE", &n.to_string(), "0", "-1"]).to_string()).collect()
}

#[test]
fn the_load_that_goes_on_is_the_whole_load() {
    const COUNT: u64 = 6000;
    let mut rng = Rng::with_seed(seed(42));
    let mut rows = String::new();
    for n in 0..COUNT {
        let value = "x".repeat(rng.usize(1000..2000));
        rows += &match n % 7 {
            0 => format!("{{\"k\":{n},\"w\":\"no value\"}}\n"),
            1 => format!("broken \u{e9} {n}\n"),
            _ => format!("{{\"k\":{n},\"v\":\"{value}\"}}\n"),
        };
    }
    let mut killed = 0;
    for kind in [Kind::Larder, Kind::Valkey, Kind::Redis] {
        let server = Server::of(kind, &[]);
        let mut client = server.client();
        // What a load that nobody kills leaves, in which every 5th key is there before.
        let prepare = |client: &mut Client| {
            let folder = temp_dir();
            fs::write(folder.join("rows"), &rows).unwrap();
            client.ask("FLUSHALL");
            (0..COUNT).step_by(5).for_each(|n| {
                client.cmd(&["RPUSH", &n.to_string(), KEPT]);
            });
            folder
        };
        let last_line = |output: &Output| {
            let text = String::from_utf8(output.stdout.clone()).unwrap();
            assert_eq!(output.status.code(), Some(1), "{text}");
            text.lines().find(|line| line.ends_with("not loaded:")).unwrap().to_owned()
        };
        let folder = prepare(&mut client);
        let whole = last_line(&program(&folder, server.port()).output().unwrap());
        let (expected, values) = (rejects(&folder), lists(&mut client, COUNT));
        assert_eq!(whole, format!("{} rows or keys not loaded:", expected.len()));
        assert!(expected.len() as u64 > COUNT * 2 / 5);
        assert!(values.iter().step_by(5).all(|value| value == &format!("*[\"{KEPT}\"]")));
        let size = fs::metadata(folder.join("state")).unwrap().len();
        fs::remove_dir_all(&folder).unwrap();
        for _ in 0..6 {
            let folder = prepare(&mut client);
            for time in 0..3 {
                killed += u64::from(is_killed(&folder, server.port(), rng.u64(..size)));
                // Whatever the state says is done has its rejects in the file, unless the file was just begun again.
                let state = fs::read_to_string(folder.join("state")).unwrap_or_default();
                let done = state.rfind("done").map_or("", |end| &state[..end]);
                let found = rejects(&folder);
                for line in done.lines().filter_map(|line| line.strip_prefix("reject ")) {
                    assert!(time > 0 || found.values().any(|other| other == line), "{line}");
                }
            }
            for _ in 0..2 {
                assert_eq!(last_line(&program(&folder, server.port()).output().unwrap()), whole);
                assert_eq!(rejects(&folder), expected);
                assert!(lists(&mut client, COUNT) == values, "{}", kind.name());
            }
            fs::remove_dir_all(&folder).unwrap();
        }
    }
    assert!(killed > 20, "{killed} loads were killed");
}
