//! How much of what the link to the primary has read is applied, for threads that wait for it.
//!
//! A client that reads here right after its write on the primary should find the write: what the primary sent before its reply has come
//! before the client's question. So a worker looks whether bytes wait in the link's socket, or have been read and not applied,
//! and waits for those: no longer than the caller says, since a stream need not end.

use parking_lot::{Condvar, Mutex};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// The link as those see it who wait for it.
#[derive(Default)]
pub struct Reception {
    /// A link follows the stream.
    follows: AtomicBool,
    /// Bytes that links have read, and those of them that have been dealt with: applied, or kept as a part of a command.
    read: AtomicU64,
    dealt_with: AtomicU64,
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
    }

    /// The link has read bytes.
    pub fn note_read(&self, bytes: u64) {
        self.read.fetch_add(bytes, Ordering::SeqCst);
    }

    /// What the link has read cannot be applied now, or can again.
    pub(crate) fn set_kept(&self, on: bool) {
        self.is_kept.store(on, Ordering::SeqCst);
        if on && self.waiting.load(Ordering::SeqCst) > 0 {
            drop(self.turn.lock());
            self.changed.notify_all();
        }
    }

    /// Whether it makes sense to wait for the link.
    #[inline]
    pub fn is_awaited(&self) -> bool {
        self.follows() && !self.is_kept.load(Ordering::Relaxed)
    }

    /// All that was read is dealt with.
    pub fn note_dealt_with(&self) {
        self.reads.store(false, Ordering::SeqCst);
        self.dealt_with.store(self.read.load(Ordering::Relaxed), Ordering::SeqCst);
        if self.waiting.load(Ordering::SeqCst) > 0 {
            drop(self.turn.lock());
            self.changed.notify_all();
        }
    }

    /// Whether nothing was read that is not dealt with.
    #[inline]
    pub fn is_idle(&self) -> bool {
        !self.reads.load(Ordering::SeqCst)
            && self.dealt_with.load(Ordering::SeqCst) >= self.read.load(Ordering::SeqCst)
    }

    /// Waits until the bytes are dealt with that have been read, and the `unread` ones that wait in the socket. Returns false if they are
    /// not after `behind`, though others are: the stream is longer than that. A link that has done nothing waits for a processor, and is waited for
    /// `stuck` long. `unread` is asked again: bytes that are read while it answers are counted twice otherwise.
    pub fn wait(&self, unread: impl Fn() -> u64, behind: Duration, stuck: Duration) -> bool {
        let begun = crate::clock::instant();
        let dealt_with = self.dealt_with.load(Ordering::SeqCst);
        let mut until = begun + behind;
        let target = unread() + self.read.load(Ordering::SeqCst);
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let mut turn = self.turn.lock();
        let is_done = loop {
            if self.dealt_with.load(Ordering::SeqCst) >= target
                || unread() == 0 && self.is_idle()
                || !self.is_awaited()
            {
                break true;
            }
            if self.changed.wait_until(&mut turn, until).timed_out() {
                let has_moved = self.dealt_with.load(Ordering::SeqCst) != dealt_with;
                if has_moved || until >= begun + stuck {
                    break false;
                }
                until = begun + stuck;
            }
        };
        drop(turn);
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        is_done
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
        assert!(reception.is_idle() && reception.wait(|| 0, LONG, LONG));
        reception.note_read(10);
        assert!(!reception.is_idle() && !reception.wait(|| 0, SHORT, SHORT));
        assert!(!reception.wait(|| 5, SHORT, SHORT));
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
            assert!(waiter.join().expect("it waits"));
        });
        reception.note_read(1);
        reception.set_follows(false);
        assert!(reception.wait(|| 7, LONG, LONG), "the link has ended");
    }
}
