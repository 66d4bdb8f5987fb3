//! A new file whose bytes are sent to the disk as they come, so that the last sync is short.

use crate::sync_range::{begin_sync, finish_sync};
use std::fs::File;
use std::io::{self, Write};

/// After this many bytes the kernel is told to begin to write them to the disk: each of these calls is to be short as well.
const SYNC_BYTES: u64 = 1 << 20;
/// More than this many bytes are not on their way to the disk at once: what comes then waits.
const UNSYNCED_MAX_BYTES: u64 = 32 << 20;

/// See the module's comment.
pub struct SyncedFile {
    file: File,
    /// Bytes written.
    at: u64,
    /// This many of them are on the way to the disk.
    begun: u64,
    /// And this many are there.
    done: u64,
    on: bool,
}

impl SyncedFile {
    /// Of an empty file; if it is not `on`, all is left to [`SyncedFile::finish`].
    pub fn new(file: File, on: bool) -> SyncedFile {
        SyncedFile { file, at: 0, begun: 0, done: 0, on }
    }

    /// Has all that was written on the disk.
    ///
    /// # Errors
    /// What the system says: nobody knows what is on the disk.
    pub fn finish(self) -> io::Result<File> {
        self.file.sync_all()?;
        Ok(self.file)
    }

    /// Forgets what was written after the first `bytes` bytes. Nothing is written afterwards.
    ///
    /// # Errors
    /// What the system says.
    pub fn truncate(&mut self, bytes: u64) -> io::Result<()> {
        self.file.set_len(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        begin_sync(&self.file, self.begun..self.at)?;
        self.begun = self.at;
        if self.begun - self.done > UNSYNCED_MAX_BYTES {
            let until = self.begun - UNSYNCED_MAX_BYTES / 2;
            finish_sync(&self.file, self.done..until)?;
            self.done = until;
        }
        Ok(())
    }
}

impl Write for SyncedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.at += written as u64;
        if self.on && self.at - self.begun >= SYNC_BYTES {
            self.sync()?;
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
