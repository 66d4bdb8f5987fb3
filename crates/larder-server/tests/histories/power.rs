//! Power failures: a server under which `power.c` records what is on disk, and whose append-only file is cut down to that.

use larder_testkit::{Kind, Server, preload, temp_dir};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A server whose power can be cut.
pub struct Powered {
    pub server: Server,
    records: PathBuf,
}

impl Powered {
    /// Starts Larder. Each sync takes up to `delay_us` longer than it does.
    pub fn start(delay_us: u64, args: &[&str]) -> Powered {
        let records = temp_dir();
        let environment = [
            format!("LD_PRELOAD={}", library().display()),
            format!("SYNC_RECORDS={}", records.display()),
            format!("SYNC_DELAY_US={delay_us}"),
        ];
        let program = Kind::Larder.program();
        let program = program.to_str().expect("a path of text");
        let command = ["env", &environment[0], &environment[1], &environment[2], program];
        Powered { server: Server::start(&command, args), records }
    }

    /// Kills the server, and takes from its append-only file what was not on disk.
    pub fn cut(&mut self) {
        self.server.kill();
        for entry in self.server.dir().join("appendonlydir").read_dir().expect("there is a log").flatten() {
            if entry.file_name().to_string_lossy().ends_with(".incr.aof") {
                let synced = fs::read_to_string(self.records.join(entry.file_name())).unwrap_or_default();
                let synced: u64 = synced.trim().parse().unwrap_or(0);
                let file = File::options().write(true).open(entry.path()).expect("it is writable");
                let len = file.metadata().expect("it is there").len();
                assert!(synced <= len, "{} bytes of {len} were synced", synced);
                file.set_len(synced).expect("it can be cut");
            }
        }
    }
}

impl Drop for Powered {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.records);
    }
}

/// The library, built once.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/histories/power.c");
        preload::library(&source, &std::env::temp_dir())
    })
}
