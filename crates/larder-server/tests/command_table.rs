//! The table of commands against what redis-server says of its own.

use larder_testkit::{Server, Value};
use std::collections::BTreeSet;

/// Commands whose facts changed after 7.0: checked against the newer documentation, not against this server.
const CHANGED: &[&str] =
    &["command|getkeys", "command|getkeysandflags", "script|debug", "wait", "zrank", "zrevrank"];

fn names(value: &Value) -> BTreeSet<String> {
    value.items().iter().map(Value::text).collect()
}

/// Everything of a command that both must say alike.
fn compare(name: &str, ours: &Value, theirs: &Value) -> Vec<String> {
    let (ours, theirs) = (ours.items(), theirs.items());
    let mut differences = Vec::new();
    for (field, what) in [(1, "arity"), (3, "first key"), (4, "last key"), (5, "step")] {
        if ours[field] != theirs[field] {
            differences.push(format!("{name}: {what} {} and not {}", ours[field], theirs[field]));
        }
    }
    for flag in ["write", "readonly", "denyoom", "admin", "noscript", "blocking", "fast", "movablekeys"] {
        let (we, they) = (names(&ours[2]).contains(flag), names(&theirs[2]).contains(flag));
        // Since 7.2 scripts may call blocking commands, which do not block there.
        if flag == "noscript" && names(&ours[2]).contains("blocking") {
            continue;
        }
        if we != they {
            differences.push(format!("{name}: flag {flag} is {we} and not {they}"));
        }
    }
    differences
}

#[test]
fn arity_flags_and_keys_are_those_of_redis() {
    let (larder, redis) = (Server::larder(&[]), Server::redis(&[]));
    let (mut larder, mut redis) = (larder.client(), redis.client());
    let mut differences = Vec::new();
    let mut compared = 0;
    for name in larder.ask("COMMAND LIST FILTERBY PATTERN *").items().iter().map(Value::text) {
        let ours = larder.cmd(&["COMMAND", "INFO", &name]);
        let theirs = redis.cmd(&["COMMAND", "INFO", &name]);
        if theirs.items()[0].items().is_empty() || CHANGED.contains(&name.as_str()) {
            continue;
        }
        differences.extend(compare(&name, &ours.items()[0], &theirs.items()[0]));
        compared += 1;
    }
    assert!(compared > 100, "only {compared} commands were compared");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn every_command_is_documented() {
    let server = Server::larder(&[]);
    let docs = server.client().ask("COMMAND DOCS");
    for pair in docs.items().chunks(2) {
        let fields: Vec<String> = pair[1].items().iter().step_by(2).map(Value::text).collect();
        for field in ["summary", "since", "group", "complexity"] {
            assert!(fields.iter().any(|f| f == field), "{} has no {field}", pair[0]);
        }
    }
}
