//! Every workload runs at a small scale, so that none can rot; the rows of the table have a test of their own (`rows.rs`).

use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn every_workload_runs_small() {
    let json = std::env::temp_dir().join(format!("larder-bench-{}.json", std::process::id()));
    let mut command = Command::new(env!("CARGO_BIN_EXE_larder-bench"));
    // One peer is enough to see that a workload runs.
    command.args(["--scale", "0.001", "--peers", "none", "--peer", "redis-server=redis-server"]);
    command.args(["--only", &workloads(), "--json"]).arg(&json);
    let output = command.output().expect("the bench starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}\n{complaints}");
    for group in [
        "memory",
        "sizes",
        "cpu",
        "ends",
        "packing",
        "rotate",
        "zset",
        "copy",
        "index",
        "load",
        "bits",
        "pf",
        "geo",
        "script",
        "eviction",
        "replication",
        "cluster",
        "idle",
        "startup",
    ] {
        assert!(text.contains(&format!("== {group} ==")), "{group} is missing:\n{text}");
    }
    let figures = std::fs::read_to_string(&json).expect("the figures are written");
    let report: serde_json::Value = serde_json::from_str(&figures).expect("the figures are JSON");
    let rows = report["rows"].as_array().expect("the report has rows");
    let servers = if larder().is_some() { &["larder", "redis-server"][..] } else { &["redis-server"] };
    for server in servers {
        let has_figures = rows.iter().any(|row| row["values"][server]["median"].is_number());
        assert!(has_figures, "{server} has no figures:\n{figures}");
    }
    let _ = std::fs::remove_file(json);
}

/// All workloads but the rows, as `--only` takes them.
fn workloads() -> String {
    let list = Command::new(env!("CARGO_BIN_EXE_larder-bench")).arg("--list").output();
    let list = String::from_utf8(list.expect("the bench lists").stdout).expect("the list is text");
    let names = list.lines().filter_map(|line| line.split_whitespace().next());
    names.filter(|name| !name.starts_with("rows/")).collect::<Vec<_>>().join(",")
}

/// Larder is measured where it is built; the bench finds it in the same places.
fn larder() -> Option<PathBuf> {
    let bench = Path::new(env!("CARGO_BIN_EXE_larder-bench"));
    let named = std::env::var_os("LARDER_SERVER").map(PathBuf::from);
    named.or_else(|| Some(bench.with_file_name("larder-server"))).filter(|path| path.is_file())
}
