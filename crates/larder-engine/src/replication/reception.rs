//! How much of what the link to the primary has read is applied, for threads that wait for it.
//!
//! A client that reads here right after its write on the primary should find the write: what the primary sent before its reply has come
//! before the client's question. So a worker looks whether bytes wait in the link's socket, or have been read and not applied,
//! and waits for those: no longer than the caller says, since a stream need not end.

use parking_lot::{Condvar, Mutex};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// Whether what a link had received is applied when a thread has waited for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caught {
    /// All is applied, or there is no link to wait for.
    Up,
    /// Some is not applied, though the link works: the stream is longer than the wait.
    Behind,
    /// Some is not applied, and the link has done nothing: its thread waits for a processor, or a command takes long. It has dealt
    /// with this many bytes.
    Stuck(u64),
}

/// The link as those see it who wait for it.
#[derive(Default)]
pub struct Reception {
    /// A link follows the stream.
    follows: AtomicBool,
    /// Bytes that links have read, and those of them that have been dealt with: applied, or kept as a part of a command.
    read: AtomicU64,
    dealt_with: AtomicU64,
    /// The link reads: what it takes from the socket is not counted.
    is_reading: AtomicBool,
    /// The link reads, or has read and not dealt with it.
    reads: AtomicBool,
    /// What it has read cannot be applied now: a pause, a script, or loading keeps it.
    is_kept: AtomicBool,
    waiting: AtomicUsize,
    turn: Mutex<()>,
    changed: Condvar,
}

impl Reception {
    /// A link begins to follow the stream, or ends.
    pub fn set_follows(&self, on: bool) {
        self.follows.store(on, Ordering::Relaxed);
        self.note_dealt_with();
    }

    /// Whether a link follows the stream.
    #[inline]
    pub fn follows(&self) -> bool {
        self.follows.load(Ordering::Relaxed)
    }

    /// The link is about to read what waits in its socket: from now on that is neither there nor counted, for a moment.
    pub fn begin_read(&self) {
        self.reads.store(true, Ordering::SeqCst);
        self.is_reading.store(true, Ordering::SeqCst);
    }

    /// The link has read bytes.
    pub fn note_read(&self, bytes: u64) {
        self.read.fetch_add(bytes, Ordering::SeqCst);
        self.is_reading.store(false, Ordering::SeqCst);
    }

    /// Has waiting threads look again.
    fn wake(&self) {
        if self.waiting.load(Ordering::SeqCst) > 0 {
            drop(self.turn.lock());
            self.changed.notify_all();
        }
    }

    /// What the link has read cannot be applied now, or can again.
    pub(crate) fn set_kept(&self, on: bool) {
        self.is_kept.store(on, Ordering::SeqCst);
        if on {
            self.wake();
        }
    }

    /// Whether it makes sense to wait for the link.
    #[inline]
    pub fn is_awaited(&self) -> bool {
        self.follows() && !self.is_kept.load(Ordering::Relaxed)
    }

    /// All that was read is dealt with.
    pub fn note_dealt_with(&self) {
        self.is_reading.store(false, Ordering::SeqCst);
        self.reads.store(false, Ordering::SeqCst);
        self.dealt_with.store(self.read.load(Ordering::Relaxed), Ordering::SeqCst);
        self.wake();
    }

    /// Whether nothing was read that is not dealt with.
    #[inline]
    pub fn is_idle(&self) -> bool {
        !self.reads.load(Ordering::SeqCst)
            && self.dealt_with.load(Ordering::SeqCst) >= self.read.load(Ordering::SeqCst)
    }

    /// Number of bytes that links have dealt with. It changes when a link works.
    pub fn dealt_with(&self) -> u64 {
        self.dealt_with.load(Ordering::SeqCst)
    }

    /// Returns the number of bytes that have arrived, or more if the link takes some meanwhile. `None`: the link reads, and
    /// some are neither in the socket nor counted.
    fn received(&self, unread: &impl Fn() -> u64) -> Option<u64> {
        // In this order: bytes that were not in the socket are counted once the link does not read.
        let unread = unread();
        (!self.is_reading.load(Ordering::SeqCst)).then(|| unread + self.read.load(Ordering::SeqCst))
    }

    /// Waits until the bytes are dealt with that have been read, and the `unread` ones that are in the socket: for as long as
    /// `behind`, or `stuck` if the link does nothing meanwhile. `unread` is asked again: bytes that are read while it
    /// answers are counted twice otherwise.
    pub fn wait(&self, unread: impl Fn() -> u64, behind: Duration, stuck: Duration) -> Caught {
        let begun = crate::clock::instant();
        let dealt_with = self.dealt_with();
        let mut until = begun + behind;
        let mut target = None;
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let mut turn = self.turn.lock();
        let mut is_over = false;
        let caught = loop {
            // First: when this thread gets a processor after its time is over, the link may have been faster.
            target = target.or_else(|| self.received(&unread));
            if target.is_some_and(|target| self.dealt_with() >= target)
                || unread() == 0 && self.is_idle()
                || !self.is_awaited()
            {
                break Caught::Up;
            }
            if is_over && self.dealt_with() != dealt_with {
                break Caught::Behind;
            }
            if is_over && until >= begun + stuck {
                break Caught::Stuck(dealt_with);
            }
            if is_over {
                until = begun + stuck;
            }
            is_over = self.changed.wait_until(&mut turn, until).timed_out();
        };
        drop(turn);
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        caught
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);
    const SHORT: Duration = Duration::from_millis(1);

    #[test]
    fn waits_for_what_has_come_and_no_more() {
        let reception = Reception::default();
        reception.set_follows(true);
        assert!(reception.is_idle());
        assert_eq!(reception.wait(|| 0, LONG, LONG), Caught::Up);
        reception.note_read(10);
        assert!(!reception.is_idle());
        assert_eq!(reception.wait(|| 0, SHORT, SHORT), Caught::Stuck(0));
        assert_eq!(reception.wait(|| 5, SHORT, SHORT), Caught::Stuck(0));
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| reception.wait(|| 5, LONG, LONG));
            while reception.waiting.load(Ordering::SeqCst) == 0 {
                std::thread::yield_now();
            }
            reception.note_dealt_with();
            // The stream goes on, and the one who waits does not wait for what comes now.
            for _ in 0..5 {
                reception.note_read(1);
            }
            reception.note_dealt_with();
            assert_eq!(waiter.join().expect("it waits"), Caught::Up);
        });
        reception.note_read(1);
        assert_eq!(reception.wait(|| 5, SHORT, SHORT), Caught::Stuck(15));
        reception.set_follows(false);
        assert_eq!(reception.wait(|| 7, LONG, LONG), Caught::Up, "the link has ended");
    }

    /// The thread that waits gets no processor until its time is over, and meanwhile the link catches up, or does a part.
    #[test]
    fn a_late_thread_looks_again() {
        for (dealt_with, caught) in [(10, Caught::Up), (5, Caught::Behind), (0, Caught::Stuck(0))] {
            let (reception, asked) = (Reception::default(), AtomicU64::new(0));
            reception.set_follows(true);
            reception.note_read(9);
            let unread = || {
                if asked.fetch_add(1, Ordering::SeqCst) == 1 {
                    reception.dealt_with.store(dealt_with, Ordering::SeqCst);
                }
                1
            };
            assert_eq!(reception.wait(unread, Duration::ZERO, Duration::ZERO), caught);
        }
    }

    /// The link has taken bytes from the socket and gets no processor before it counts them.
    #[test]
    fn bytes_are_waited_for_that_are_not_counted() {
        let reception = Reception::default();
        reception.set_follows(true);
        reception.begin_read();
        assert!(!reception.is_idle());
        assert_eq!(reception.wait(|| 0, SHORT, SHORT), Caught::Stuck(0));
        reception.note_read(10);
        assert_eq!(reception.wait(|| 0, SHORT, SHORT), Caught::Stuck(0));
        reception.note_dealt_with();
        assert_eq!(reception.wait(|| 0, SHORT, SHORT), Caught::Up);
    }
}
