//! Every row of the table runs once on every server, and gets the reply that it is to get: no row measures errors.

mod common;

use common::larder;

#[test]
fn every_row_runs_on_every_server() {
    // Complains where they are missing.
    larder_testkit::peer_path("valkey-server");
    let args = ["--scale", "0.001", "--only", "rows/*"];
    let common::Run { text, complaints, report } = common::run("rows", &args);
    assert_eq!(report["failures"].as_array().map(Vec::len), Some(0), "{complaints}");
    let rows = report["rows"].as_array().expect("the report has rows");
    assert!(rows.len() >= 80, "only {} rows", rows.len());
    for server in report["servers"].as_array().expect("the report names its servers") {
        // Reports are published: where the programs lie on this machine is nobody's business.
        let command = server["command"].as_str().expect("a server has a command");
        assert!(!command.contains('/') && command.contains("server"), "{command}");
    }
    let mut servers = vec!["redis-server", "redis8", "valkey", "floor"];
    if larder().is_some() {
        servers.push("larder");
    }
    for row in rows {
        for server in &servers {
            let value = row["values"][server]["median"].as_f64();
            // A few calls of the server that does next to nothing may be too short for the kernel's count of processor time.
            let least = if *server == "floor" { 0.0 } else { f64::MIN_POSITIVE };
            assert!(value.is_some_and(|nanos| nanos >= least), "{server} has no figure: {row}");
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
