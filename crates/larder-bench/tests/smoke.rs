//! Every workload runs at a small scale, so that none can rot; the rows of the table have a test of their own (`rows.rs`).

mod common;

use common::larder;
use std::process::Command;

#[test]
fn every_workload_runs_small() {
    let workloads = workloads();
    // One peer is enough to see that a workload runs.
    let peer = ["--peers", "none", "--peer", "redis-server=redis-server"];
    let args = [&["--scale", "0.001"][..], &peer, &["--only", &workloads]].concat();
    let common::Run { text, complaints, report } = common::run("smoke", &args);
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
        assert!(text.contains(&format!("== {group} ==")), "{group} is missing:\n{text}\n{complaints}");
    }
    let rows = report["rows"].as_array().expect("the report has rows");
    let servers = if larder().is_some() { &["larder", "redis-server"][..] } else { &["redis-server"] };
    for server in servers {
        let has_figures = rows.iter().any(|row| row["values"][server]["median"].is_number());
        assert!(has_figures, "{server} has no figures:\n{report}");
    }
}

/// All workloads but the rows, as `--only` takes them.
fn workloads() -> String {
    let list = Command::new(env!("CARGO_BIN_EXE_larder-bench")).arg("--list").output();
    let list = String::from_utf8(list.expect("the bench lists").stdout).expect("the list is text");
    let names = list.lines().filter_map(|line| line.split_whitespace().next());
    names.filter(|name| !name.starts_with("rows/")).collect::<Vec<_>>().join(",")
}
