//! Every heavy command runs once, small, on Larder and on Valkey, with probes beside it, and is answered as it should be: no cell measures
//! errors. The figures are not looked at: they say nothing at this size.

mod common;

use common::larder;
use serde_json::Value;
use std::collections::HashSet;
use std::process::Command;

#[test]
fn every_command_runs_small() {
    // Complains where it is missing.
    larder_testkit::peer_path("valkey-server");
    let args = ["isolation", "--scale", "0.001", "--seconds", "0.01", "--threads", "2"];
    let common::Run { text, complaints, report } = common::run("isolation", &args);
    assert_eq!(report["failures"].as_array().map(Vec::len), Some(0), "{complaints}");
    let rows = report["rows"].as_array().expect("the report has rows");
    let figure = |row: &Value, server: &str| row["values"][server]["median"].as_f64();
    let mut servers = vec!["valkey"];
    servers.extend(larder().map(|_| "larder"));
    for row in rows {
        assert_eq!(row["group"], "isolation, 2 threads");
        for server in &servers {
            assert!(figure(row, server).is_some_and(|ms| ms >= 0.0), "{server} has no figure: {row}");
        }
    }
    let name = |row: &Value| row["name"].as_str().expect("a row has a name").to_owned();
    let names: HashSet<String> = rows.iter().map(name).collect();
    assert_eq!(names.len(), rows.len(), "rows have names of their own");
    let judged: Vec<&Value> = rows.iter().filter(|row| row["target"] != "").collect();
    assert_eq!(judged.len(), commands().len());
    for row in judged {
        let (own, title) = (name(row), name(row));
        let title = title.strip_suffix(": p99.9").unwrap_or_else(|| panic!("{own} has a target"));
        assert_eq!(row["target"], format!("<= 5.00 above {title}: idle p99.9"));
        assert_eq!(row["verdict"].is_string(), larder().is_some(), "{row}");
        assert!(text.contains(title), "{title} is missing:\n{text}");
    }
    let all = commands().len();
    for server in servers {
        let line = if server == "larder" { "larder, 2 threads" } else { server };
        let summary = text.lines().find(|text| text.starts_with(&format!("{line}: p99.9 at most 5 ms")));
        assert!(summary.is_some_and(|text| text.contains(&format!(" of {all} cells"))), "{summary:?}");
    }
}

#[test]
fn commands_are_many_and_have_names_of_their_own() {
    let commands = commands();
    let names: HashSet<&String> = commands.iter().collect();
    assert!(commands.len() >= 60, "only {}", commands.len());
    assert_eq!(names.len(), commands.len());
}

/// A pattern that no command has, and a number of threads that is none, are refused.
#[test]
fn nothing_to_measure_is_an_error() {
    let run = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_larder-bench")).arg("isolation").args(args).output();
        let output = output.expect("the bench starts");
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (succeeded, text) = run(&["--only", "none/*"]);
    assert!(!succeeded && text.contains("no command to measure"), "{text}");
    let (succeeded, text) = run(&["--threads", "0"]);
    assert!(!succeeded && text.contains("--threads takes numbers"), "{text}");
}

fn commands() -> Vec<String> {
    let list = Command::new(env!("CARGO_BIN_EXE_larder-bench")).args(["isolation", "--list"]).output();
    let list = String::from_utf8(list.expect("the bench lists").stdout).expect("the list is text");
    list.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}
