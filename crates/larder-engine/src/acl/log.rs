//! ACL LOG: what users were refused. The same again within a minute is counted, not repeated.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// This many of the newest entries are looked at for the same refusal.
const LOOKED_AT_MAX: usize = 10;
/// Refusals further apart are entries of their own.
const GROUPING_MS: u64 = 60_000;

/// Why something was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    Auth,
    Command,
    Key,
    Channel,
    Database,
    TlsCertificate,
}

impl Reason {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Reason::Auth => "auth",
            Reason::Command => "command",
            Reason::Key => "key",
            Reason::Channel => "channel",
            Reason::Database => "database",
            Reason::TlsCertificate => "tls-cert",
        }
    }
}

/// One refusal, or several of the same.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) id: u64,
    pub(crate) count: u64,
    pub(crate) reason: Reason,
    pub(crate) origin: &'static str,
    /// The command, key or channel.
    pub(crate) object: Vec<u8>,
    pub(crate) user: Vec<u8>,
    /// The client as CLIENT LIST describes it.
    pub(crate) client: Vec<u8>,
    /// The first of them, in ms since 1970.
    pub(crate) created_ms: u64,
    /// The last of them.
    pub(crate) updated_ms: u64,
}

impl Entry {
    fn is_same(&self, other: &Entry) -> bool {
        (self.reason, self.origin) == (other.reason, other.origin)
            && self.updated_ms.abs_diff(other.updated_ms) <= GROUPING_MS
            && self.object == other.object
            && self.user == other.user
    }
}

#[derive(Default)]
struct Entries {
    /// Newest first.
    list: VecDeque<Entry>,
    next_id: u64,
}

/// The log, and how often each reason was given.
#[derive(Default)]
pub(crate) struct AclLog {
    entries: Mutex<Entries>,
    denied: [AtomicU64; 6],
}

impl AclLog {
    /// Adds an entry, or counts it if there is one of the same.
    pub(crate) fn add(&self, mut entry: Entry, len_max: usize) {
        self.denied[entry.reason as usize].fetch_add(1, Relaxed);
        let mut entries = self.entries.lock();
        let same = entries.list.iter().take(LOOKED_AT_MAX).position(|known| known.is_same(&entry));
        if let Some(known) = same.and_then(|at| entries.list.remove(at)) {
            entry = Entry { id: known.id, count: known.count + 1, created_ms: known.created_ms, ..entry };
        } else {
            entry.id = entries.next_id;
            entries.next_id += 1;
        }
        entries.list.push_front(entry);
        entries.list.truncate(len_max);
    }

    /// The newest `count` entries, newest first.
    pub(crate) fn newest(&self, count: usize) -> Vec<Entry> {
        self.entries.lock().list.iter().take(count).cloned().collect()
    }

    /// Forgets all entries.
    pub(crate) fn reset(&self) {
        self.entries.lock().list.clear();
    }

    /// How often this was the reason of a refusal.
    pub(crate) fn denied(&self, reason: Reason) -> u64 {
        self.denied[reason as usize].load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(object: &str, at_ms: u64) -> Entry {
        Entry {
            id: 0,
            count: 1,
            reason: Reason::Key,
            origin: "toplevel",
            object: object.into(),
            user: b"u".to_vec(),
            client: Vec::new(),
            created_ms: at_ms,
            updated_ms: at_ms,
        }
    }

    #[test]
    fn the_same_within_a_minute_is_counted() {
        let log = AclLog::default();
        for (object, at_ms) in [("a", 0), ("b", 1), ("a", 50_000), ("a", 110_000), ("a", 170_001)] {
            log.add(entry(object, at_ms), 10);
        }
        let found: Vec<_> =
            log.newest(10).into_iter().map(|e| (e.id, e.count, e.created_ms, e.updated_ms)).collect();
        assert_eq!(found, [(2, 1, 170_001, 170_001), (0, 3, 0, 110_000), (1, 1, 1, 1)]);
        assert_eq!((log.denied(Reason::Key), log.denied(Reason::Auth)), (5, 0));
        (0..20).for_each(|i| log.add(entry(&i.to_string(), 170_002), 4));
        assert_eq!(log.newest(100).len(), 4);
        log.add(entry("x", 0), 0);
        assert_eq!(log.newest(100).len(), 0);
    }
}
