//! Running the bench at a small scale.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a run has said and written.
pub struct Run {
    /// What it prints.
    pub text: String,
    /// What it complains of.
    pub complaints: String,
    /// The figures.
    pub report: Value,
}

/// Runs the bench, which must succeed. `name` is unlike that of the other tests.
pub fn run(name: &str, args: &[&str]) -> Run {
    let json = std::env::temp_dir().join(format!("larder-bench-{name}-{}.json", std::process::id()));
    let mut command = Command::new(env!("CARGO_BIN_EXE_larder-bench"));
    let output = command.args(args).arg("--json").arg(&json).output().expect("the bench starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}\n{complaints}");
    let figures = std::fs::read_to_string(&json).expect("the figures are written");
    let _ = std::fs::remove_file(json);
    let report = serde_json::from_str(&figures).expect("the figures are JSON");
    Run { text, complaints, report }
}

/// Larder is measured where it is built; the bench finds it in the same places.
pub fn larder() -> Option<PathBuf> {
    let bench = Path::new(env!("CARGO_BIN_EXE_larder-bench"));
    let named = std::env::var_os("LARDER_SERVER").map(PathBuf::from);
    named.or_else(|| Some(bench.with_file_name("larder-server"))).filter(|path| path.is_file())
}
