//! Keys and fields that are left out of what is loaded, because their time is over.
//!
//! Rule: whoever deletes something because its time is over tells those who have a copy of it. Who has read the data that a file is
//! of, as a replica that goes on from where the file ends, or a log below which the data is loaded again, has these keys still. So loading collects
//! the deletions, and when the data is there they are appended to the log and to the stream, before any other change.
//!
//! Tested by `larder-server/tests/replication/deadlines.rs`.

use crate::clock::wall_ms;
use crate::engine::Engine;
use crate::engine::removal::Cause;
use parking_lot::Mutex;
use std::sync::atomic::Ordering::Relaxed;

/// What deleting a key or a field costs in the stream, besides their names.
const COMMAND_BYTES: usize = 32;

/// Collects deletions.
#[derive(Debug)]
pub struct Dropped {
    inner: Mutex<Inner>,
    /// The most bytes of commands that are of use.
    bytes_max: usize,
}

#[derive(Debug, Default)]
struct Inner {
    deletions: Vec<Deletion>,
    bytes: usize,
}

#[derive(Debug)]
struct Deletion {
    db: usize,
    key: Box<[u8]>,
    /// The fields that are gone, or none if the key is.
    fields: Vec<Box<[u8]>>,
}

impl Dropped {
    /// Collects up to this many bytes of commands. What comes beyond is not kept: nobody could be told of all.
    pub fn new(bytes_max: usize) -> Dropped {
        Dropped { inner: Mutex::default(), bytes_max }
    }

    /// Adds a key, or fields of it.
    pub(super) fn add(&self, db: usize, key: &[u8], fields: Vec<Box<[u8]>>) {
        let mut inner = self.inner.lock();
        inner.bytes +=
            COMMAND_BYTES + key.len() + fields.iter().map(|field| field.len() + COMMAND_BYTES).sum::<usize>();
        if inner.bytes > self.bytes_max {
            inner.deletions = Vec::new();
        } else {
            inner.deletions.push(Deletion { db, key: key.into(), fields });
        }
    }

    /// Whether all that was added is here.
    pub fn is_complete(&self) -> bool {
        self.inner.lock().bytes <= self.bytes_max
    }
}

impl Engine {
    /// Appends the deletions to the log and the stream, where they are wanted. Nobody else changes the data yet.
    pub fn propagate_dropped(&self, dropped: Dropped) {
        if !self.append_log.wants_effects() {
            return;
        }
        let second = self.log_second(wall_ms());
        for Deletion { db, key, fields } in dropped.inner.into_inner().deletions {
            let name = if fields.is_empty() { self.removal_command(Cause::Expired) } else { b"HDEL" };
            let words: Vec<&[u8]> =
                [name, &*key].into_iter().chain(fields.iter().map(|field| &**field)).collect();
            self.append_log.append_one(db, &words, second);
        }
    }

    /// Stops effects from going to the log and to the stream, while the data is replaced by what others have, too. Returns whether they went to
    /// the log. All shards have been held since the gate was closed to writes.
    pub fn suspend_effects(&self) -> bool {
        let log = &self.append_log;
        let logs = log.is_on();
        log.set_on(false);
        // A replica has no such effects, and knows which database its primary has selected.
        if log.streams() {
            log.set_streams(false);
        }
        logs
    }

    /// Lets effects go to the log, if they went there, and to the stream, if there is one of this server's own.
    pub fn resume_effects(&self, logs: bool) {
        self.append_log.set_on(logs);
        if self.replication.has_stream.load(Relaxed) && !self.replication.is_replica() {
            self.append_log.set_streams(true);
        }
    }
}
