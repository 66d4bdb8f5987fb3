//! The stream of changes that replicas are sent, and its backlog: one sequence of bytes, of which the newest are kept.
//!
//! ```text
//!   start            cursor of a replica              end
//!     [ 16 KiB ][ 16 KiB ][ 16 KiB ]..[ 16 KiB ][ filled by what comes next ]
//! ```
//!
//! A position counts the bytes before it, so the protocol's offset of the byte at position p is p + 1, and an offset that says how
//! much there is equals the position of the end. All blocks but the last are full: a byte is found by a division. A replica is a cursor, and
//! takes no memory of its own. The oldest block goes when `limit` bytes are there without it and no replica still has to get it: that is
//! looked at when a block is begun, so there may be up to two blocks more than the limit, and [some more](BLOCKS_AT_ONCE) for a while when a
//! replica has taken much at once or is gone; the timer sees to these.
//!
//! Appending: O(bytes), and once a block O(replicas). Reading: O(bytes). The log's mutex guards all of it.

use crate::aof::effects::Effects;
use larder_resp::encode_command;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a block.
pub(crate) const BLOCK_BYTES: usize = 16 << 10;
/// Blocks that go at once: freeing a gigabyte of them would hold up all who append.
const BLOCKS_AT_ONCE: usize = 64;
/// A backlog keeps at least this many bytes, whatever `repl-backlog-size` says.
const LIMIT_MIN: u64 = 16 << 10;

/// How far a replica has been sent the stream: the position of the next byte.
#[derive(Debug)]
pub struct Cursor(AtomicU64);

impl Cursor {
    /// The position of the next byte to send.
    pub fn position(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    /// This many bytes have been sent. Only the thread that sends calls it.
    pub fn advance(&self, bytes: u64) {
        self.0.fetch_add(bytes, Ordering::Release);
    }
}

/// What INFO shows of the backlog.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Backlog {
    /// The position of its first byte.
    pub start: u64,
    /// The position after its last byte.
    pub end: u64,
    /// Bytes of memory.
    pub memory_bytes: u64,
}

/// The stream. See the head of the module.
#[derive(Default)]
pub(super) struct Stream {
    start: u64,
    end: u64,
    blocks: VecDeque<Vec<u8>>,
    /// The database that replicas have selected at the end.
    db: Option<usize>,
    /// Bytes of the backlog.
    limit: u64,
    cursors: Vec<Arc<Cursor>>,
    /// Where the last question for acknowledgements ends.
    asked_at: Option<u64>,
}

impl Stream {
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    pub(super) fn set_limit(&mut self, bytes: u64) {
        self.limit = bytes.max(LIMIT_MIN);
    }

    /// Forgets all bytes; the next one is at `position`. No replica reads.
    pub(super) fn restart(&mut self, position: u64) {
        self.blocks = VecDeque::new();
        (self.start, self.end, self.db, self.asked_at) = (position, position, None, None);
        self.cursors.clear();
    }

    /// The next effect says which database it is for.
    pub(super) fn forget_db(&mut self) {
        self.db = None;
    }

    /// The database that replicas have selected.
    pub(super) fn db(&self) -> Option<usize> {
        self.db
    }

    pub(super) fn set_db(&mut self, db: Option<usize>) {
        self.db = db;
    }

    /// Appends the effects of a command or a transaction.
    pub(super) fn append_unit(&mut self, effects: &Effects) {
        let is_transaction = effects.for_stream().take(2).count() > 1;
        if is_transaction {
            self.append(b"*1\r\n$5\r\nMULTI\r\n");
        }
        for (db, command) in effects.for_stream() {
            self.select(db);
            self.append(command);
        }
        if is_transaction {
            self.append(b"*1\r\n$4\r\nEXEC\r\n");
        }
    }

    /// Appends one command.
    pub(super) fn append_one(&mut self, db: usize, words: &[&[u8]]) {
        self.select(db);
        self.append_words(words);
    }

    /// Appends a command that is for no database.
    pub(super) fn append_words(&mut self, words: &[&[u8]]) {
        let mut bytes = Vec::new();
        encode_command(&mut bytes, words.iter().copied());
        self.append(&bytes);
    }

    /// Asks all replicas to acknowledge what they have, unless nothing has come since that was last asked.
    pub(super) fn ask_for_acks(&mut self) {
        if self.asked_at != Some(self.end) {
            self.append_words(&[b"REPLCONF", b"GETACK", b"*"]);
            self.asked_at = Some(self.end);
        }
    }

    /// Appends bytes as they are.
    pub(super) fn append(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.blocks.back().is_none_or(|block| block.len() == BLOCK_BYTES) {
                drop(self.trim());
                self.blocks.push_back(Vec::with_capacity(BLOCK_BYTES));
            }
            let Some(block) = self.blocks.back_mut() else { return };
            let (now, later) = bytes.split_at(bytes.len().min(BLOCK_BYTES - block.len()));
            block.extend_from_slice(now);
            self.end += now.len() as u64;
            bytes = later;
        }
    }

    fn select(&mut self, db: usize) {
        if self.db != Some(db) {
            self.append_words(&[b"SELECT", itoa::Buffer::new().format(db).as_bytes()]);
            self.db = Some(db);
        }
    }

    /// Takes out some of the blocks that nobody needs.
    pub(super) fn trim(&mut self) -> Vec<Vec<u8>> {
        let needed = self.cursors.iter().map(|cursor| cursor.position()).min().unwrap_or(u64::MAX);
        let mut gone = Vec::new();
        while gone.len() < BLOCKS_AT_ONCE
            && let Some(block) = self.blocks.front()
        {
            let next = self.start + block.len() as u64;
            if self.end - next < self.limit || next > needed {
                break;
            }
            self.start = next;
            gone.extend(self.blocks.pop_front());
        }
        gone
    }

    /// Bytes of memory beyond what the backlog may take: what replicas still have to get.
    pub(super) fn beyond_backlog(&self) -> u64 {
        self.memory_bytes().saturating_sub(self.limit + 2 * BLOCK_BYTES as u64)
    }

    fn memory_bytes(&self) -> u64 {
        (self.blocks.len() * BLOCK_BYTES) as u64
    }

    /// A cursor at a position; `None` if the stream does not have it.
    pub(super) fn attach(&mut self, position: u64) -> Option<Arc<Cursor>> {
        if !(self.start..=self.end).contains(&position) {
            return None;
        }
        let cursor = Arc::new(Cursor(AtomicU64::new(position)));
        self.cursors.push(Arc::clone(&cursor));
        Some(cursor)
    }

    /// The replica of a cursor is gone.
    pub(super) fn detach(&mut self, cursor: &Arc<Cursor>) {
        self.cursors.retain(|other| !Arc::ptr_eq(other, cursor));
    }

    /// Whether a cursor is one of this stream: it is not after a restart.
    pub(super) fn has(&self, cursor: &Arc<Cursor>) -> bool {
        self.cursors.iter().any(|other| Arc::ptr_eq(other, cursor))
    }

    /// Appends to `into` up to `max` bytes from a position on, which a cursor is at.
    pub(super) fn read(&self, from: u64, into: &mut Vec<u8>, max: usize) {
        let (Some(skipped), wanted) = (from.checked_sub(self.start), max) else { return };
        let (mut block, mut at) = (skipped as usize / BLOCK_BYTES, skipped as usize % BLOCK_BYTES);
        let full = into.len() + wanted;
        while let Some(bytes) = self.blocks.get(block).and_then(|block| block.get(at..)) {
            let room = full - into.len();
            into.extend_from_slice(&bytes[..bytes.len().min(room)]);
            (block, at) = (block + 1, 0);
            if into.len() == full {
                break;
            }
        }
    }

    pub(super) fn backlog(&self) -> Backlog {
        Backlog { start: self.start, end: self.end, memory_bytes: self.memory_bytes() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against a plain vector: random appends, cursors at random positions that read random lengths, and small limits.
    #[test]
    fn is_a_sequence_of_which_the_end_is_kept() {
        let seed = larder_testkit::seed(1);
        let mut rng = fastrand::Rng::with_seed(seed);
        for _ in 0..20 {
            let first = rng.u64(..1 << 40);
            let (mut stream, mut all) = (Stream::default(), Vec::new());
            stream.restart(first);
            stream.set_limit(rng.u64(..100_000));
            let mut cursors: Vec<Arc<Cursor>> = Vec::new();
            for _ in 0..400 {
                let bytes: Vec<u8> = (0..rng.usize(..3000)).map(|_| rng.u8(..)).collect();
                stream.append(&bytes);
                all.extend_from_slice(&bytes);
                assert_eq!(stream.end(), first + all.len() as u64);
                let backlog = stream.backlog();
                assert!(backlog.end - backlog.start >= stream.limit.min(all.len() as u64));
                if cursors.is_empty() {
                    assert!(backlog.end - backlog.start < stream.limit + 2 * BLOCK_BYTES as u64);
                }
                if rng.u8(..) < 20 {
                    let at = rng.u64(first.saturating_sub(10)..backlog.end + 10);
                    let cursor = stream.attach(at);
                    assert_eq!(cursor.is_some(), (backlog.start..=backlog.end).contains(&at));
                    cursors.extend(cursor);
                }
                for cursor in &cursors {
                    let (mut read, max) = (Vec::new(), rng.usize(1..40_000));
                    stream.read(cursor.position(), &mut read, max);
                    let at = (cursor.position() - first) as usize;
                    assert_eq!(read, all[at..all.len().min(at + max)]);
                    cursor.advance(read.len() as u64);
                }
                if rng.u8(..) < 10 && !cursors.is_empty() {
                    let gone = cursors.swap_remove(rng.usize(..cursors.len()));
                    stream.detach(&gone);
                    while !stream.trim().is_empty() {}
                    assert!(!cursors.is_empty() || stream.beyond_backlog() == 0);
                }
            }
        }
    }

    #[test]
    fn acknowledgements_are_asked_for_once() {
        let mut stream = Stream::default();
        stream.ask_for_acks();
        let end = stream.end();
        stream.ask_for_acks();
        assert_eq!(stream.end(), end);
        stream.append(b"x");
        stream.ask_for_acks();
        assert_eq!(stream.end(), 2 * end + 1);
    }
}
