//! Access control: random rules, with which both servers must allow and refuse the same.

use crate::{Pair, words};
use fastrand::Rng;
use larder_testkit::{Client, Value, full_run, seed};
use std::collections::BTreeSet;

/// Commands and subcommands that both servers have.
fn common_commands(pair: &mut Pair) -> Vec<String> {
    let (ours, theirs) = pair.both(&words("COMMAND LIST FILTERBY PATTERN *"));
    let names = |value: &Value| value.items().iter().map(Value::text).collect::<BTreeSet<_>>();
    names(&ours).intersection(&names(&theirs)).cloned().collect()
}

#[test]
fn categories_hold_the_same_commands() {
    let mut pair = Pair::start(1, &[]);
    let common: BTreeSet<String> = common_commands(&mut pair).into_iter().collect();
    let mut differences = Vec::new();
    for category in pair.peer.ask("ACL CAT").items().iter().map(Value::text) {
        let (ours, theirs) = pair.both(&words(&format!("ACL CAT {category}")));
        let shared = |value: &Value| {
            let names = value.items().iter().map(Value::text);
            names.filter(|name| common.contains(name)).collect::<BTreeSet<_>>()
        };
        for name in shared(&ours).symmetric_difference(&shared(&theirs)) {
            // Since 7.2 WAIT is said to block.
            if (category.as_str(), name.as_str()) == ("blocking", "wait") {
                continue;
            }
            differences.push(format!("{category}: {name}"));
        }
    }
    assert!(differences.is_empty(), "{differences:?}");
}

/// A command with as many arguments as it takes.
fn example(client: &mut Client, name: &str, arg: &str) -> Vec<String> {
    let info = client.cmd(&["COMMAND", "INFO", name]);
    let arity = info.items()[0].items()[1].int().unsigned_abs() as usize;
    let mut words: Vec<String> = name.split('|').map(str::to_owned).collect();
    // With its destination alone, Valkey takes PFMERGE for a command without keys.
    let more = usize::from(name == "pfmerge");
    words.resize(arity.max(words.len()) + more, arg.to_owned());
    words
}

/// A rule about commands, keys, channels, passwords or the user.
fn random_rule(rng: &mut Rng, commands: &[String], inner: bool) -> String {
    let sign = if rng.bool() { '+' } else { '-' };
    let letter = ["1", "2*", "?c", "*"][rng.usize(..4)];
    match rng.u32(..if inner { 12 } else { 20 }) {
        0..4 => format!("{sign}{}", rng.choice(commands).expect("not empty")),
        4..7 => {
            let name =
                ["read", "write", "list", "fast", "slow", "admin", "dangerous", "string", "pubsub", "all"];
            format!("{sign}@{}", name[rng.usize(..name.len())])
        }
        7 => format!("+{}|{letter}", ["get", "config", "select", "debug"][rng.usize(..4)]),
        8 => format!("~{letter}"),
        9 => format!("%{}~{letter}", ["R", "W", "RW", "", "RR"][rng.usize(..5)]),
        10 => format!("&{letter}"),
        11 => ["allkeys", "resetkeys", "allchannels", "resetchannels", "nosuch"][rng.usize(..5)].to_owned(),
        12 => ["on", "off", "nopass", "resetpass", "clearselectors", "reset"][rng.usize(..6)].to_owned(),
        13 => format!("{}{letter}", [">", "<"][rng.usize(..2)]),
        _ => {
            let rules: Vec<_> = (0..rng.u32(..4)).map(|_| random_rule(rng, commands, true)).collect();
            format!("({})", rules.join(" "))
        }
    }
}

#[test]
fn random_rules() {
    let seed = seed(11);
    let mut rng = Rng::with_seed(seed);
    let mut pair = Pair::start(1, &[]);
    let commands = common_commands(&mut pair);
    let samples: Vec<Vec<String>> = commands.iter().map(|name| example(&mut pair.peer, name, "1")).collect();
    let rounds = if full_run() { 400 } else { 40 };
    for round in 0..rounds {
        let mut history = Vec::new();
        for _ in 0..rng.usize(1..8) {
            let rules: Vec<String> =
                (0..rng.usize(1..3)).map(|_| random_rule(&mut rng, &commands, false)).collect();
            history.push(rules.join(" "));
            let args: Vec<Vec<u8>> = ["ACL", "SETUSER", "u"]
                .into_iter()
                .chain(rules.iter().map(String::as_str))
                .map(Into::into)
                .collect();
            let (ours, theirs) = pair.both(&args);
            assert_eq!(ours, theirs, "round {round}: {history:?}");
        }
        let (ours, theirs) = pair.both(&words("ACL LIST"));
        let [ours, theirs] = [ours, theirs].map(|list| list.items().last().expect("a user").text());
        assert_eq!(ours, theirs, "round {round}: {history:?}");
        for sample in &samples {
            let args: Vec<Vec<u8>> = ["ACL", "DRYRUN", "u"]
                .into_iter()
                .chain(sample.iter().map(String::as_str))
                .map(Into::into)
                .collect();
            let (ours, theirs) = pair.both(&args);
            assert_eq!(ours, theirs, "round {round}: {sample:?} after {history:?}");
        }
        pair.both(&words("ACL DELUSER u"));
    }
}
