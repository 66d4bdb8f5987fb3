//! Every row of the table runs once on every server, and gets the reply that it is to get: no row measures errors.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn every_row_runs_on_every_server() {
    // Complains where they are missing.
    larder_testkit::peer_path("valkey-server");
    let json = std::env::temp_dir().join(format!("larder-bench-rows-{}.json", std::process::id()));
    let mut command = Command::new(env!("CARGO_BIN_EXE_larder-bench"));
    command.args(["--scale", "0.001", "--only", "rows/*", "--json"]).arg(&json);
    let output = command.output().expect("the bench starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}\n{complaints}");
    let report = std::fs::read_to_string(&json).expect("the figures are written");
    let _ = std::fs::remove_file(json);
    let report: Value = serde_json::from_str(&report).expect("the figures are JSON");
    assert_eq!(report["failures"].as_array().map(Vec::len), Some(0), "{complaints}");
    let rows = report["rows"].as_array().expect("the report has rows");
    assert!(rows.len() >= 80, "only {} rows", rows.len());
    let mut servers = vec!["redis-server", "redis8", "valkey", "floor"];
    if larder().is_some() {
        servers.push("larder");
    }
    for row in rows {
        for server in &servers {
            let value = row["values"][server]["median"].as_f64();
            assert!(value.is_some_and(|nanos| nanos > 0.0), "{server} has no figure: {row}");
        }
        let best = row["best"].as_str().expect("a row has a best peer");
        assert!(["redis-server", "redis8", "valkey"].contains(&best), "{row}");
        assert!(row["target"].as_str().is_some_and(|target| target.contains(best)), "{row}");
        assert_eq!(row["verdict"].is_string(), larder().is_some(), "{row}");
    }
    for section in ["p100", "p16", "p1", "replies", "misses", "several", "whole"] {
        assert!(text.contains(&format!("== rows/{section} ==")), "{section} is missing:\n{text}");
    }
}

/// Larder is measured where it is built; the bench finds it in the same places.
fn larder() -> Option<PathBuf> {
    let bench = Path::new(env!("CARGO_BIN_EXE_larder-bench"));
    let named = std::env::var_os("LARDER_SERVER").map(PathBuf::from);
    named.or_else(|| Some(bench.with_file_name("larder-server"))).filter(|path| path.is_file())
}
