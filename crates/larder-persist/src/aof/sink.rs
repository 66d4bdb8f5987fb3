//! The file at the end of the log, and how what has gathered gets into it.
//!
//! Several threads write what there is, in the log's order, under one lock: a worker at the end of a round of
//! its event loop, before its replies leave, so that what was acknowledged is in the kernel's hands and
//! survives the end of the process; or the log's thread, with `always`, and for what no round writes. A
//! thread that finds that another has written its part does nothing.
//!
//! A write that fails is undone, as far as the file goes, and its bytes wait; the log's thread tries again.
//!
//! Invariants:
//! - S1: bytes are taken from the log, and written, by the thread that holds `inner`: the file's order is the
//!   log's.
//! - S2: the log's `written` is the position up to which everything is in `inner.file` or in `inner.left`.
//!
//! Tested by `tests/persistence/crash.rs` (kill -9) and `tests/persistence/disk.rs` (disks that fail).

use larder_engine::{AppendLog, Chunk, Engine, assert_no_shard_is_held};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Where the log goes.
#[derive(Default)]
pub struct Sink {
    inner: Mutex<Inner>,
    /// The files that the log goes over to at its cuts, in order.
    next: Mutex<VecDeque<File>>,
    /// The last write failed.
    fails: AtomicBool,
}

#[derive(Default)]
struct Inner {
    file: Option<Arc<File>>,
    /// Size of the file, up to the last write that was complete.
    file_bytes: u64,
    /// Files that were complete before they were synced.
    left: Vec<Arc<File>>,
    /// What was taken from the log.
    chunk: Chunk,
    /// Bytes of it that are in files.
    done: usize,
    /// This many of its cuts have been passed.
    cuts_passed: usize,
}

/// What a sync must cover.
pub struct Unsynced {
    /// Files before the present one.
    pub left: Vec<Arc<File>>,
    /// The present one.
    pub file: Option<Arc<File>>,
    /// Everything up to this position is in them.
    pub position: u64,
}

impl Sink {
    /// The file that the log goes over to at its next cut that has none.
    pub fn push_next(&self, file: File) {
        self.next.lock().push_back(file);
    }

    /// Whether the last write failed.
    pub fn fails(&self) -> bool {
        self.fails.load(Ordering::Acquire)
    }

    /// Writes what the log holds; returns how many bytes. After an error the rest is still to be written.
    pub fn write(&self, engine: &Engine) -> io::Result<u64> {
        assert_no_shard_is_held("writes the log");
        if engine.flush_sleep_us() > 0 {
            std::thread::sleep(std::time::Duration::from_micros(engine.flush_sleep_us()));
        }
        let mut inner = self.inner.lock();
        let log = engine.append_log();
        let outcome = self.write_chunk(&mut inner, log).and_then(|rest| {
            inner.take(engine);
            self.write_chunk(&mut inner, log).map(|bytes| rest + bytes)
        });
        self.fails.store(outcome.is_err(), Ordering::Release);
        outcome
    }

    fn write_chunk(&self, inner: &mut Inner, log: &AppendLog) -> io::Result<u64> {
        let before = inner.done;
        while let Some(&cut) = inner.chunk.cuts.get(inner.cuts_passed) {
            inner.write_to(cut)?;
            inner.go_over(self.next.lock().pop_front());
            inner.cuts_passed += 1;
        }
        inner.write_to(inner.chunk.bytes.len())?;
        log.set_written(inner.chunk.end);
        Ok((inner.done - before) as u64)
    }

    /// From now on what is written goes nowhere: whoever has the directory next may write the file.
    pub fn close(&self) {
        let mut inner = self.inner.lock();
        (inner.file, inner.left) = (None, Vec::new());
        self.next.lock().clear();
    }

    /// What is to be synced now; what fails of `left` must come back.
    pub fn unsynced(&self, log: &AppendLog) -> Unsynced {
        let mut inner = self.inner.lock();
        let left = std::mem::take(&mut inner.left);
        Unsynced { left, file: inner.file.clone(), position: log.written() }
    }

    /// Files that could not be synced.
    pub fn put_back(&self, left: Vec<Arc<File>>) {
        self.inner.lock().left.splice(..0, left);
    }
}

impl Inner {
    /// Takes what the log holds; what was taken before must be written.
    fn take(&mut self, engine: &Engine) {
        engine.append_log().take(&mut self.chunk);
        (self.done, self.cuts_passed) = (0, 0);
    }

    /// Writes the chunk up to `end`, or nothing: a command must not stay in the file in part, if that can be helped.
    fn write_to(&mut self, end: usize) -> io::Result<()> {
        let bytes = &self.chunk.bytes[self.done..end];
        if let Some(file) = &self.file
            && !bytes.is_empty()
        {
            let (written, outcome) = write_all(file, bytes);
            // What cannot be taken back out of the file is in it: the rest is to come after that.
            if outcome.is_ok() || file.set_len(self.file_bytes).is_err() {
                self.file_bytes += written as u64;
                self.done += written;
            }
            outcome?;
        }
        self.done = end;
        Ok(())
    }

    /// From here on everything goes to another file.
    fn go_over(&mut self, to: Option<File>) {
        self.file_bytes = to.as_ref().and_then(|file| file.metadata().ok()).map_or(0, |m| m.len());
        self.left.extend(std::mem::replace(&mut self.file, to.map(Arc::new)));
    }
}

/// Writes bytes to a file; returns how many of them it has taken, also when it takes no more.
fn write_all(mut file: &File, bytes: &[u8]) -> (usize, io::Result<()>) {
    let mut written = 0;
    while written < bytes.len() {
        match file.write(&bytes[written..]) {
            Ok(0) => return (written, Err(io::ErrorKind::WriteZero.into())),
            Ok(count) => written += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (written, Err(error)),
        }
    }
    (written, Ok(()))
}
