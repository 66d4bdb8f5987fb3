//! What the server says about itself.

use larder_engine::VALKEY_VERSION;

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

/// `--version`. Tools read the generation of the protocol from what stands after `v=`.
pub fn version_line() -> String {
    format!(
        "Larder server v={VALKEY_VERSION} sha=00000000:0 malloc=jemalloc-5.3.1 bits={} build=0 larder={VERSION}",
        usize::BITS
    )
}

/// `--help`.
pub const USAGE: &str = "\
Usage: larder-server [/path/to/larder.conf] [options] [-]
       larder-server - (read config from stdin)
       larder-server -v or --version
       larder-server -h or --help
       larder-server --test-memory <megabytes>
       larder-server --check-system
       larder-server --health [--ready] [-h <host>] [-p <port>] [/path/to/larder.conf]
       larder-server /path/to/sentinel.conf --sentinel (run valkey-sentinel or redis-sentinel)

Examples:
       larder-server (run the server with default conf)
       echo 'maxmemory 128mb' | larder-server -
       larder-server /etc/larder/6379.conf
       larder-server --port 7777
       larder-server --port 7777 --threads 4 --save ''
       larder-server /etc/mylarder.conf --loglevel verbose -
       larder-server /etc/mylarder.conf --loglevel verbose
";
