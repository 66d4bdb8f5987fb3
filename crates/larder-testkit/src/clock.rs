//! A clock that a test moves and servers see: see `clock.c`.

use crate::{Server, preload};
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Where the time of day begins, in us: a whole second.
const START_US: u64 = 1_800_000_000_000_000;

/// A clock of a test's own.
pub struct Clock {
    file: File,
    path: PathBuf,
    library: PathBuf,
    passed_ms: u64,
    /// How far the monotonic clock is ahead of the time of day.
    ahead_ms: u64,
}

impl Clock {
    /// Compiles the library and starts the clock, in a directory of the test's own.
    pub fn new(dir: &Path) -> Clock {
        fs::create_dir_all(dir).expect("a directory");
        let source = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src/clock.c"));
        let (path, library) = (dir.join("clock"), preload::library(source, dir));
        let file = OpenOptions::new().create(true).truncate(true).write(true).open(&path).expect("it opens");
        let mut clock = Clock { file, path, library, passed_ms: 0, ahead_ms: 0 };
        clock.advance(0);
        clock
    }

    /// Advances both clocks by `ms` milliseconds.
    pub fn advance(&mut self, ms: u64) {
        self.passed_ms += ms;
        self.write();
    }

    /// Advances the monotonic clock alone: scripts run for `ms` milliseconds longer, and no deadline comes.
    pub fn advance_monotonic(&mut self, ms: u64) {
        self.ahead_ms += ms;
        self.write();
    }

    fn write(&mut self) {
        let forward_ns = (self.passed_ms + self.ahead_ms) * 1_000_000;
        self.file.write_all_at(&forward_ns.to_le_bytes(), 8).expect("it is written");
        self.file.write_all_at(&self.wall_us().to_le_bytes(), 0).expect("it is written");
    }

    /// The time of day in us.
    pub fn wall_us(&self) -> u64 {
        START_US + self.passed_ms * 1000
    }

    /// Starts a server that sees the clock, with a monotonic one that runs `slow` times slower. A build of Larder for development checks
    /// after each unit that replaying its effects gives what it did.
    pub fn start_server(&self, program: &Path, slow: u32, args: &[&str]) -> Server {
        let variables = self.environment(slow);
        let program = program.to_string_lossy();
        let mut command = vec!["env", "LARDER_CHECK_UNITS=1"];
        command.extend(variables.iter().map(String::as_str));
        command.push(&program);
        Server::start(&command, args)
    }

    /// What a server's environment must say; its monotonic clock runs `slow` times slower.
    pub fn environment(&self, slow: u32) -> [String; 3] {
        let text = |path: &Path| path.to_str().expect("plain").to_owned();
        [
            format!("LD_PRELOAD={}", text(&self.library)),
            format!("LARDER_TEST_CLOCK={}", text(&self.path)),
            format!("LARDER_TEST_CLOCK_SLOW={slow}"),
        ]
    }
}
