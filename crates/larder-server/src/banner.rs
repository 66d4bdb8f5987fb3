//! What the server says about itself.

use larder_engine::VALKEY_VERSION;
use larder_engine::config::common_options;

/// The version, as everywhere.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

const SHELF: &str = r"
   .--------------------------.
   |  (=) (=)  [###]  (=)  [] |     Larder {version}
   |--------------------------|
   |  []  [###]  (=) (=) (=)  |     Port: {port}
   |--------------------------|     Threads: {threads}
   |  (=)  []  []  [###] [##] |     PID: {pid}
   '--------------------------'

";

/// Shown on start.
pub fn banner(port: &str, threads: usize) -> String {
    SHELF
        .replace("{version}", VERSION)
        .replace("{port}", port)
        .replace("{threads}", &threads.to_string())
        .replace("{pid}", &std::process::id().to_string())
}

/// The commit that the program was built from, in hexadecimal digits; zeros if the build did not know it.
pub const COMMIT: &str = env!("LARDER_COMMIT");

/// A number that differs between builds of different sources, versions, targets and dates.
pub const BUILD: &str = env!("LARDER_BUILD");

/// `--version`. Tools read the version of the protocol from what stands after `v=`.
pub fn version_line() -> String {
    let sha = &COMMIT[..COMMIT.len().min(8)];
    format!(
        "Larder {VERSION} (commit {COMMIT}) v={VALKEY_VERSION} sha={sha}:0 malloc=jemalloc-5.3.1 bits={} build={BUILD}",
        usize::BITS
    )
}

/// `--help`.
pub fn usage() -> String {
    format!("{USAGE}{}{USAGE_END}", common_options())
}

const USAGE: &str = "\
Usage: larder-server [FILE] [--OPTION VALUE ...] [-]
       larder-server --check-config FILE [--OPTION VALUE ...]
       larder-server --check-system
       larder-server --test-memory MEGABYTES
       larder-server --health [--ready] [-h HOST] [-p PORT] [FILE]
       larder-server FILE --sentinel
       larder-server --version | --help

FILE is a configuration file. Options override it. A lone - reads more of the configuration
from standard input.

  larder-server                             start with the defaults
  larder-server /etc/larder/larder.conf     start with a configuration file
  larder-server --port 7777 --maxmemory 2gb start with options
  larder-server --check-config larder.conf  report every problem of a configuration file
  larder-server --health -p 7777            ask whether a server is alive
  larder-server sentinel.conf --sentinel    run valkey-sentinel or redis-sentinel
";

const USAGE_END: &str = "
docs/options.md and larder.conf(5) describe all options.
";
