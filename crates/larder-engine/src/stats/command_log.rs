//! The logs of slow commands, large requests and large replies, as they are kept.

use parking_lot::Mutex;
use std::collections::VecDeque;

/// Which log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogKind {
    /// By execution time in microseconds.
    Slow,
    /// By the bytes of the arguments.
    LargeRequest,
    /// By the bytes of the reply.
    LargeReply,
}

/// A command that was logged.
#[derive(Clone, Debug)]
pub(crate) struct LogEntry {
    pub id: u64,
    /// Unix time in seconds.
    pub time: u64,
    /// Microseconds or bytes.
    pub value: u64,
    pub args: Vec<Vec<u8>>,
    pub client: Box<str>,
    pub client_name: Box<[u8]>,
}

#[derive(Default)]
pub(crate) struct Log {
    entries: VecDeque<LogEntry>,
    next_id: u64,
}

/// The three logs.
#[derive(Default)]
pub(crate) struct CommandLogs([Mutex<Log>; 3]);

impl CommandLogs {
    fn log(&self, kind: LogKind) -> &Mutex<Log> {
        &self.0[kind as usize]
    }

    /// The newest `count` entries, newest first.
    pub(crate) fn newest(&self, kind: LogKind, count: usize) -> Vec<LogEntry> {
        self.log(kind).lock().entries.iter().take(count).cloned().collect()
    }

    pub(crate) fn len(&self, kind: LogKind) -> usize {
        self.log(kind).lock().entries.len()
    }

    pub(crate) fn reset(&self, kind: LogKind) {
        self.log(kind).lock().entries.clear();
    }

    pub(crate) fn add(&self, kind: LogKind, len_max: usize, mut entry: LogEntry) {
        let mut log = self.log(kind).lock();
        entry.id = log.next_id;
        log.next_id += 1;
        log.entries.push_front(entry);
        log.entries.truncate(len_max);
    }
}
