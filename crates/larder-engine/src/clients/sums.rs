//! What all connections together hold: of those that stay, which `maxmemory-clients` limits, and of those that are to be closed because of that.

use parking_lot::Mutex;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

/// The sums over all connections.
#[derive(Default)]
pub(crate) struct ClientMemory {
    /// What those hold that stay.
    staying: AtomicI64,
    /// What those hold that are to be closed because of the limit, and are not yet: no key need make room for it.
    leaving: AtomicI64,
    /// Connections closed so far.
    pub(crate) evicted: AtomicU64,
    /// Held while it is decided who is to be closed.
    pub(crate) choosing: Mutex<()>,
}

/// What of one connection's memory is in the sums, and in which: one word, since its worker counts it while another thread may decide that it
/// is to be closed.
#[derive(Default)]
pub(crate) struct Counted(AtomicU64);

/// In [`Counted`]: the connection is to be closed, and its bytes are in the sum of those.
const LEAVING: u64 = 1 << 63;
/// In [`Counted`]: the connection is closed, and in no sum.
const GONE: u64 = u64::MAX;

impl Counted {
    /// Bytes in the sum of those that stay.
    pub(crate) fn staying(&self) -> u64 {
        let word = self.0.load(Relaxed);
        if word & LEAVING == 0 { word } else { 0 }
    }
}

impl ClientMemory {
    /// What those hold that stay.
    pub(crate) fn staying(&self) -> i64 {
        self.staying.load(Relaxed)
    }

    /// What those hold that are to be closed.
    pub(crate) fn leaving(&self) -> u64 {
        self.leaving.load(Relaxed).max(0) as u64
    }

    fn sum_of(&self, word: u64) -> &AtomicI64 {
        if word & LEAVING == 0 { &self.staying } else { &self.leaving }
    }

    /// A connection holds this many bytes now.
    pub(crate) fn count(&self, counted: &Counted, bytes: u64) {
        let counts = |word| (word != GONE).then_some(word & LEAVING | bytes);
        if let Ok(before) = counted.0.fetch_update(Relaxed, Relaxed, counts) {
            let grown = bytes as i64 - (before & !LEAVING) as i64;
            self.sum_of(before).fetch_add(grown, Relaxed);
        }
    }

    /// A connection is to be closed. Returns what it holds, unless it was to be closed already or is.
    pub(crate) fn let_go(&self, counted: &Counted) -> Option<u64> {
        let before = counted.0.fetch_or(LEAVING, Relaxed);
        if before & LEAVING != 0 {
            return None;
        }
        // First, so that nobody evicts keys in place of what is about to go.
        self.leaving.fetch_add(before as i64, Relaxed);
        self.staying.fetch_sub(before as i64, Relaxed);
        Some(before)
    }

    /// A connection is closed.
    pub(crate) fn forget(&self, counted: &Counted) {
        let before = counted.0.swap(GONE, Relaxed);
        if before != GONE {
            self.sum_of(before).fetch_sub((before & !LEAVING) as i64, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_in_one_sum() {
        let (sums, counted) = (ClientMemory::default(), Counted::default());
        sums.count(&counted, 70);
        assert_eq!((sums.staying(), sums.leaving(), counted.staying()), (70, 0, 70));
        assert_eq!(sums.let_go(&counted), Some(70));
        assert_eq!((sums.staying(), sums.leaving(), counted.staying()), (0, 70, 0));
        assert_eq!(sums.let_go(&counted), None);
        // It is served until it is closed.
        sums.count(&counted, 100);
        assert_eq!((sums.staying(), sums.leaving()), (0, 100));
        sums.forget(&counted);
        sums.count(&counted, 5);
        assert_eq!((sums.staying(), sums.leaving(), sums.let_go(&counted)), (0, 0, None));
    }

    /// Whatever three threads do to the same connections at the same time, nothing stays in a sum.
    #[test]
    fn threads_leave_nothing_behind() {
        let sums = ClientMemory::default();
        for _ in 0..200 {
            let connections: Vec<Counted> = (0..20).map(|_| Counted::default()).collect();
            std::thread::scope(|scope| {
                scope.spawn(|| (0..100).for_each(|n| connections.iter().for_each(|c| sums.count(c, n))));
                scope.spawn(|| connections.iter().for_each(|c| _ = sums.let_go(c)));
                scope.spawn(|| connections.iter().for_each(|c| sums.forget(c)));
            });
            connections.iter().for_each(|connection| sums.forget(connection));
            assert_eq!((sums.staying(), sums.leaving()), (0, 0));
        }
    }
}
