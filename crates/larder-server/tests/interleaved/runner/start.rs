//! The servers' start, and the state in which a sequence begins.

use super::super::side::{PATIENCE, Side};
use super::super::step::{self, Step};
use super::clock::{CLOCK_DATABASE, CLOCK_EXPIRES_MS};
use super::{Difference, Interleaved, Pause, UNUSABLE};
use larder_testkit::{Clock, Kind, words};
use std::path::Path;
use std::time::{Duration, Instant};

/// Functions that sequences call.
const LIBRARY: &str = "#!lua name=one
    server.register_function('push', function(keys) return server.call('RPUSH', keys[1], 'f') end)
    server.register_function('hang', function() while true do end end)
    server.register_function{function_name = 'read', callback = function(keys) return server.call('GET', keys[1]) end,
        flags = {'no-writes'}}
    server.register_function{function_name = 'stay', callback = function() while true do end end, flags = {'no-writes'}}";

/// What a sequence begins with.
const BEGIN: &[&str] = &[
    "CLIENT UNPAUSE",
    "CONFIG SET notify-keyspace-events \"\" maxmemory 0 busy-reply-threshold 1",
    "FLUSHALL SYNC",
    "SCRIPT FLUSH",
    "FUNCTION FLUSH",
    "ACL DELUSER u",
    "ACL SETUSER u reset on nopass +@all ~* &*",
    "ACL LOG RESET",
];

/// Bytes of append-only files after which they are rewritten.
const LOG_MAX: u64 = 100 << 10;

impl Interleaved {
    /// Starts both servers with a clock of their own in `dir`: a program of Larder, and Valkey.
    pub fn start(dir: &Path, larder: &Path, threads: &str) -> Interleaved {
        let clock = Clock::new(dir);
        let sides = start_sides(&clock, dir, larder, threads);
        let (larder, threads) = (larder.to_owned(), threads.to_owned());
        Interleaved {
            sides,
            clock,
            dir: dir.to_owned(),
            larder,
            threads,
            swapped: false,
            hangs_in_transaction: false,
            hangs: false,
            lone: None,
            has_pipelines: false,
            looks_again: false,
            broadcasts: false,
            expires_without_loop: false,
            pauses: false,
            pause: Pause::None,
            script_ended: false,
            reloads: false,
            patience: Duration::from_secs(2),
            steps: 0,
        }
    }

    /// Starts both servers again, with empty files.
    pub fn restart(&mut self) {
        for side in &mut self.sides {
            side.server.kill();
            let _ = std::fs::remove_dir_all(self.dir.join(side.kind.name()));
        }
        self.sides = start_sides(&self.clock, &self.dir, &self.larder, &self.threads);
    }

    /// Whether a difference leaves servers that no further sequence can begin with.
    pub fn is_unusable(&mut self, difference: &Difference) -> bool {
        difference.what.starts_with(UNUSABLE)
            || difference.what.contains("does not answer")
            || self.sides.iter_mut().any(|side| side.server.has_ended().is_some())
    }

    pub(super) fn reset(&mut self, steps: &[Step]) -> Result<(), String> {
        self.sides.iter_mut().for_each(|side| {
            side.clients.clear();
            side.ids.clear();
        });
        let deadline = Instant::now() + PATIENCE;
        while !self.is_calm()? {
            if Instant::now() > deadline {
                return Err("the last sequence does not end".to_owned());
            }
        }
        for side in &mut self.sides {
            BEGIN.iter().for_each(|line| side.send_on_control(&words(line)));
            side.send_on_control(&["FUNCTION", "LOAD", LIBRARY]);
            side.send_on_control(&["SELECT", CLOCK_DATABASE]);
            side.send_on_control(&["SET", "clock", "", "PXAT", &CLOCK_EXPIRES_MS.to_string()]);
            side.send_on_control(&["SELECT", "0"]);
        }
        for side in &mut self.sides {
            for line in BEGIN.iter().chain(&["FUNCTION LOAD", "SELECT", "SET", "SELECT"]) {
                let reply = side.control_reply()?;
                if reply.is_error() {
                    return Err(format!("{:?}: {line}: {reply}", side.kind));
                }
            }
        }
        self.rewrite_large_logs()?;
        for number in 0..step::connections(steps) {
            self.open(number)?;
        }
        self.barrier()
    }

    /// Rewrites append-only files that have grown, of both servers: sequences have them loaded, and their commands touch keys.
    pub(super) fn rewrite_large_logs(&mut self) -> Result<(), String> {
        let size = |side: &Side| -> u64 {
            let folder = self.dir.join(side.kind.name()).join("appendonlydir");
            let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
            files.filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum()
        };
        if self.sides.iter().all(|side| size(side) < LOG_MAX) {
            return Ok(());
        }
        for side in &mut self.sides {
            side.ask("BGREWRITEAOF")?;
            let deadline = Instant::now() + PATIENCE;
            while !side.ask("INFO persistence")?.text().contains("aof_rewrite_in_progress:0") {
                if Instant::now() > deadline {
                    return Err(format!("{:?} does not end its rewrite", side.kind));
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        Ok(())
    }
}

fn start_sides(clock: &Clock, dir: &Path, larder: &Path, threads: &str) -> [Side; 2] {
    let controls = threads.parse().expect("a number of threads");
    let side = |kind: Kind, program: &Path, slow: u32, own: &[&str]| {
        let data = dir.join(kind.name());
        std::fs::create_dir_all(&data).expect("the directory is writable");
        let data = data.to_string_lossy();
        let options = [
            "--enable-debug-command",
            "yes",
            "--appendonly",
            "yes",
            "--appendfsync",
            "always",
            "--auto-aof-rewrite-percentage",
            "0",
            "--dir",
            &data,
        ];
        let mut side =
            Side::new(kind, clock.start_server(program, slow, &[&options[..], own].concat()), controls);
        let reply = side.ask("DEBUG SET-ACTIVE-EXPIRE 0").expect("the server answers");
        assert_eq!(reply.text(), "OK");
        if kind == Kind::Larder {
            let reply = side.ask("DEBUG HASH-SHAPES-FROM 1").expect("the server answers");
            assert_eq!(reply.text(), "OK");
        }
        side
    };
    // Larder counts on from the last reading of the time of day; Valkey reads it in its periodic work.
    [
        side(Kind::Larder, larder, 1_000_000, &["--threads", threads]),
        side(Kind::Valkey, &Kind::Valkey.program(), 1, &["--hz", "500"]),
    ]
}
