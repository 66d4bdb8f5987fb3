//! The log of effects, on its way to the append-only file.
//!
//! Workers append while they hold the locks of the shards concerned. The server takes what has gathered, writes and syncs
//! it without any of these locks, and tells how far it has come. Positions in the log count its bytes since the
//! server started. A reply that must not leave before its effects are on the disk waits for the position at which they
//! end: a reply that comes while a sync is under way waits for the next one.
//!
//! ```text
//!   workers --append--> [ bytes of the next write | cut | .. ] --take--> writer --synced(position)--> replies leave
//! ```
//!
//! A cut is where the next file begins: BGREWRITEAOF makes it in the instant of its snapshot.
//!
//! The same effects go into the stream for replicas ([`stream`](super::stream)), under the same lock: what the file and the replicas
//! get has one order. Either may be wanted without the other.

use crate::aof::effects::Effects;
use crate::aof::stream::{Backlog, Cursor, Stream};
use crate::ledger::assert_no_shard_is_held;
use larder_resp::encode_command;
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Workers wait when this many bytes have not been taken yet: the disk does not keep up.
const PENDING_BYTES_MAX: usize = 64 << 20;

/// How a comment begins that says where in the history of the data the file is: then come the history's name, the position in its stream
/// and the database selected there.
const PLACE: &str = "#REPL:";

/// The history, the position and the database of a comment in an append-only file, if it is one of those.
pub fn noted_place(comment: &[u8]) -> Option<(String, u64, usize)> {
    let text = std::str::from_utf8(comment).ok()?.strip_prefix(PLACE)?;
    let mut words = text.split_ascii_whitespace();
    let id = words.next().filter(|id| id.len() == 40)?;
    Some((id.to_owned(), words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}

/// The log.
#[derive(Default)]
pub struct AppendLog {
    on: AtomicBool,
    /// Whether effects go into the stream.
    streams: AtomicBool,
    /// Position of the end of the stream.
    stream_end: AtomicU64,
    inner: Mutex<Inner>,
    /// The log's thread is to look up from its sleep.
    filled: Condvar,
    /// The writer has taken what there was.
    taken: Condvar,
    end: AtomicU64,
    /// Bytes of the buffers.
    buffers: AtomicU64,
    /// Bytes of the stream beyond its backlog.
    beyond_backlog: AtomicU64,
    /// Position up to which everything is in the hands of the kernel.
    written: AtomicU64,
    synced: AtomicU64,
    wants_sync: AtomicBool,
}

#[derive(Default)]
struct Inner {
    bytes: Vec<u8>,
    /// Where in `bytes` other files begin.
    cuts: Vec<usize>,
    /// The database that the file's reader has selected at this point.
    db: Option<usize>,
    /// The second that the file was last told of.
    second: u64,
    /// Position of the start of `bytes`.
    taken: u64,
    /// Capacity of what the writer writes now.
    writing_bytes: usize,
    is_woken: bool,
    /// Where the file ended when it was last told where in the history of the data it is.
    noted_at: Option<u64>,
    stream: Stream,
    /// The link whose bytes the stream takes; `None` on a primary.
    link: Option<u64>,
}

/// The positions at which effects end, in the log of the append-only file and in the stream for replicas.
///
/// A reply to a waiting client carries the positions of the effects that it shows. Only the log hands them out: a
/// reply that shows effects cannot be sent before these are in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    file: u64,
    stream: u64,
}

impl Ends {
    /// For a reply that shows no effect: a timeout, a refusal, a figure.
    pub(crate) const NO_EFFECT: Ends = Ends { file: 0, stream: 0 };

    /// The position in the log of the append-only file.
    pub fn file(self) -> u64 {
        self.file
    }

    /// The position in the stream for replicas.
    pub(crate) fn stream(self) -> u64 {
        self.stream
    }

    /// The positions at which the effects of both end.
    pub(crate) fn and(self, other: Ends) -> Ends {
        Ends { file: self.file.max(other.file), stream: self.stream.max(other.stream) }
    }
}

/// What the writer took.
#[derive(Default)]
pub struct Chunk {
    /// The bytes to write.
    pub bytes: Vec<u8>,
    /// Where in them the next file begins, each.
    pub cuts: Vec<usize>,
    /// Position of the end of the bytes.
    pub end: u64,
}

impl AppendLog {
    /// Whether effects are wanted.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// From now on, effects are wanted, or not. What is in the log stays. To be called while all shards are held, or
    /// before there are clients.
    pub fn set_on(&self, on: bool) {
        let mut inner = self.inner.lock();
        (inner.db, inner.noted_at) = (None, None);
        self.on.store(on, Ordering::Relaxed);
    }

    /// Position of the end.
    pub fn end(&self) -> u64 {
        self.end.load(Ordering::Acquire)
    }

    /// The end of everything that has been appended so far.
    pub(crate) fn ends(&self) -> Ends {
        Ends { file: self.end(), stream: self.stream_end() }
    }

    /// Bytes that the writer has not taken.
    pub(crate) fn pending(&self) -> usize {
        self.inner.lock().bytes.len()
    }

    /// Bytes of the buffers for the file (not of the backlog): they are not counted against `maxmemory`.
    pub(crate) fn buffer_bytes(&self) -> u64 {
        self.buffers.load(Ordering::Relaxed)
    }

    /// Bytes of memory of the stream that are kept for replicas alone, beyond the backlog: they are not counted against `maxmemory`.
    pub(crate) fn beyond_backlog(&self) -> u64 {
        self.beyond_backlog.load(Ordering::Relaxed)
    }

    fn note_buffers(&self, inner: &Inner) {
        self.buffers.store((inner.bytes.capacity() + inner.writing_bytes) as u64, Ordering::Relaxed);
        self.beyond_backlog.store(inner.stream.beyond_backlog(), Ordering::Relaxed);
    }

    /// Position up to which everything is in the hands of the kernel: it survives the end of the process.
    #[inline]
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::SeqCst)
    }

    /// Everything up to a position is in the hands of the kernel.
    pub fn set_written(&self, position: u64) {
        self.written.fetch_max(position, Ordering::SeqCst);
    }

    /// Position up to which everything is safe on the disk.
    #[inline]
    pub fn synced(&self) -> u64 {
        self.synced.load(Ordering::SeqCst)
    }

    /// Everything up to a position is on the disk.
    pub(crate) fn set_synced(&self, position: u64) {
        self.synced.fetch_max(position, Ordering::SeqCst);
    }

    /// Asks for a sync at once, whatever the configuration says.
    pub fn request_sync(&self) {
        self.wants_sync.store(true, Ordering::Relaxed);
        self.wake(&mut self.inner.lock());
    }

    /// Whether somebody has asked for a sync since the last call.
    pub fn take_sync_request(&self) -> bool {
        self.wants_sync.swap(false, Ordering::Relaxed)
    }

    /// Appends the effects of a command or a transaction where they are wanted; returns the positions of their end. `timestamp`: the
    /// second to note, if times are noted.
    pub(crate) fn append(&self, effects: &Effects, timestamp: Option<u64>) -> Ends {
        let mut inner = self.inner.lock();
        if self.is_on() {
            inner.append_to_file(effects, timestamp);
        }
        if self.streams() {
            inner.stream.append_unit(effects);
        }
        self.appended(&mut inner)
    }

    /// Appends a command for the replicas alone.
    pub(crate) fn append_for_replicas(&self, db: usize, words: &[&[u8]]) {
        let mut inner = self.inner.lock();
        if self.streams() {
            inner.stream.append_one(db, words);
            self.appended(&mut inner);
        }
    }

    /// Appends one command where effects are wanted; returns the positions of its end.
    pub(crate) fn append_one(&self, db: usize, words: &[&[u8]], timestamp: Option<u64>) -> Ends {
        let mut inner = self.inner.lock();
        if self.is_on() {
            inner.note_time(timestamp);
            inner.select(db);
            encode_command(&mut inner.bytes, words.iter().copied());
        }
        if self.streams() {
            inner.stream.append_one(db, words);
        }
        self.appended(&mut inner)
    }

    fn appended(&self, inner: &mut Inner) -> Ends {
        let end = inner.taken + inner.bytes.len() as u64;
        self.end.store(end, Ordering::Release);
        self.stream_end.store(inner.stream.end(), Ordering::Release);
        self.note_buffers(inner);
        Ends { file: end, stream: inner.stream.end() }
    }

    /// Has the log's thread look at it, at once or as soon as it can.
    pub fn wake_writer(&self) {
        self.wake(&mut self.inner.lock());
    }

    /// The next file begins here. To be called while all shards are held.
    pub fn cut(&self) {
        let mut inner = self.inner.lock();
        let at = inner.bytes.len();
        inner.cuts.push(at);
        inner.db = None;
        inner.second = 0;
        inner.noted_at = None;
        self.wake(&mut inner);
    }

    fn wake(&self, inner: &mut Inner) {
        inner.is_woken = true;
        self.filled.notify_one();
    }

    /// Sleeps until somebody wakes who sleeps here, or `patience` is over. A call since the last sleep
    /// counts.
    pub fn sleep(&self, patience: Duration) {
        let mut inner = self.inner.lock();
        if !inner.is_woken {
            self.filled.wait_for(&mut inner, patience);
        }
        inner.is_woken = false;
    }

    /// Takes what there is.
    pub fn take(&self, into: &mut Chunk) {
        let mut inner = self.inner.lock();
        into.bytes.clear();
        into.bytes.shrink_to(1 << 20);
        std::mem::swap(&mut inner.bytes, &mut into.bytes);
        into.cuts = std::mem::take(&mut inner.cuts);
        inner.taken += into.bytes.len() as u64;
        inner.writing_bytes = into.bytes.capacity();
        self.note_buffers(&inner);
        into.end = inner.taken;
        self.taken.notify_all();
    }

    /// Waits while too much has not been taken yet. No shard must be held.
    pub fn wait_for_room(&self) {
        assert_no_shard_is_held("waits for the disk");
        let mut inner = self.inner.lock();
        while inner.bytes.len() > PENDING_BYTES_MAX && self.is_on() {
            self.taken.wait_for(&mut inner, Duration::from_millis(100));
        }
    }
}

/// The stream for replicas.
impl AppendLog {
    /// Whether effects go into the stream.
    #[inline]
    pub(crate) fn streams(&self) -> bool {
        self.streams.load(Ordering::Relaxed)
    }

    /// Whether anybody wants effects.
    #[inline]
    pub(crate) fn wants_effects(&self) -> bool {
        self.is_on() || self.streams()
    }

    /// Effects go into the stream from now on, or not. To be called while all shards are held, or where no replica reads yet.
    pub(crate) fn set_streams(&self, on: bool) {
        let mut inner = self.inner.lock();
        inner.stream.forget_db();
        self.streams.store(on, Ordering::Relaxed);
    }

    /// Begins the stream again at a position. No replica reads.
    pub(crate) fn restart_stream(&self, position: u64, backlog_bytes: u64) {
        let mut inner = self.inner.lock();
        inner.stream.restart(position);
        inner.stream.set_limit(backlog_bytes);
        self.appended(&mut inner);
    }

    /// `repl-backlog-size`.
    pub(crate) fn set_backlog_size(&self, bytes: u64) {
        self.inner.lock().stream.set_limit(bytes);
    }

    /// Frees what of the stream nobody needs any more, piece by piece; `freed` is called after each, to make known that there is more room: it does
    /// not count as the replicas' any more.
    pub(crate) fn trim_stream(&self, mut freed: impl FnMut()) {
        loop {
            let mut inner = self.inner.lock();
            let gone = inner.stream.trim();
            self.note_buffers(&inner);
            drop(inner);
            if gone.is_empty() {
                return;
            }
            drop(gone);
            freed();
        }
    }

    /// Position of the end of the stream.
    #[inline]
    pub fn stream_end(&self) -> u64 {
        self.stream_end.load(Ordering::Acquire)
    }

    /// Appends a command that has no effect on the data to the stream: PING. Nothing if it is `too_late`, which is asked at the very
    /// moment.
    pub(crate) fn append_to_stream(&self, words: &[&[u8]], too_late: impl FnOnce() -> bool) {
        let mut inner = self.inner.lock();
        if !too_late() {
            inner.stream.append_words(words);
            self.appended(&mut inner);
        }
    }

    /// From now on the stream is what the link of this epoch brings, or what this server does.
    pub(crate) fn set_source(&self, epoch: Option<u64>) {
        self.inner.lock().link = epoch;
    }

    /// Appends what the server's own primary has sent, as it is. `db`: the database selected after it. False, and nothing is done, if the
    /// link of this epoch is over.
    pub(crate) fn append_verbatim(&self, bytes: &[u8], db: usize, epoch: u64) -> bool {
        let mut inner = self.inner.lock();
        let is_current = inner.link == Some(epoch);
        if is_current {
            inner.append_verbatim(bytes, db);
            self.appended(&mut inner);
        }
        is_current
    }

    /// Appends the effects of what the primary has sent to the file, if that is wanted, and its bytes to the stream.
    pub(crate) fn append_applied(
        &self,
        effects: &Effects,
        timestamp: Option<u64>,
        bytes: &[u8],
        db: usize,
    ) -> Ends {
        let mut inner = self.inner.lock();
        if self.is_on() {
            inner.append_to_file(effects, timestamp);
        }
        inner.append_verbatim(bytes, db);
        self.appended(&mut inner)
    }

    /// Notes at the end of the file where in a history the data is: in a comment, which other servers skip. Nothing is noted twice, nor
    /// by a link that is over. Not while a unit is under way.
    pub(crate) fn note_place(&self, id: &str, link: Option<u64>) {
        let mut inner = self.inner.lock();
        let file_end = inner.taken + inner.bytes.len() as u64;
        if !self.is_on() || inner.link != link || inner.noted_at == Some(file_end) {
            return;
        }
        let (position, db) = (inner.stream.end(), inner.stream.db().unwrap_or(0));
        inner.bytes.extend_from_slice(format!("{PLACE}{id} {position} {db}\r\n").as_bytes());
        inner.noted_at = Some(self.appended(&mut inner).file);
        self.wake(&mut inner);
    }

    /// The database that is selected at the end of the stream, and the end.
    pub(crate) fn stream_place(&self) -> (Option<usize>, u64) {
        let inner = self.inner.lock();
        (inner.stream.db(), inner.stream.end())
    }

    /// Sets the database that is selected at the end of the stream.
    pub(crate) fn set_stream_db(&self, db: usize) {
        self.inner.lock().stream.set_db(Some(db));
    }

    /// Asks all replicas to acknowledge what they have, unless it is `too_late`.
    pub(crate) fn ask_for_acks(&self, too_late: impl FnOnce() -> bool) {
        let mut inner = self.inner.lock();
        if !too_late() {
            inner.stream.ask_for_acks();
            self.appended(&mut inner);
        }
    }

    /// The position of the end, and this many cursors there, for replicas that are sent a snapshot of this instant: all shards are
    /// held. The next effect selects its database.
    pub fn attach_at_end(&self, count: usize) -> (u64, Vec<Arc<Cursor>>) {
        let mut inner = self.inner.lock();
        let end = inner.stream.end();
        if self.streams() {
            inner.stream.forget_db();
        }
        (end, (0..count).filter_map(|_| inner.stream.attach(end)).collect())
    }

    /// A cursor at a position; `None` if the backlog does not have it.
    pub(crate) fn attach_at(&self, position: u64) -> Option<Arc<Cursor>> {
        self.inner.lock().stream.attach(position)
    }

    /// The replica of a cursor is gone.
    pub(crate) fn detach(&self, cursor: &Arc<Cursor>) {
        self.inner.lock().stream.detach(cursor);
    }

    /// Appends up to `max` bytes of the stream to `into`, from a position on that a cursor is at.
    pub fn read_stream(&self, from: u64, into: &mut Vec<u8>, max: usize) {
        self.inner.lock().stream.read(from, into, max);
    }

    /// The same from where a cursor is, which goes on; `None` if the stream has begun again since it was made. Returns the bytes read.
    pub(crate) fn read_cursor(&self, cursor: &Arc<Cursor>, into: &mut Vec<u8>, max: usize) -> Option<usize> {
        let inner = self.inner.lock();
        if !inner.stream.has(cursor) {
            return None;
        }
        let before = into.len();
        inner.stream.read(cursor.position(), into, max);
        let read = into.len() - before;
        cursor.advance(read as u64);
        Some(read)
    }

    /// What the backlog has.
    pub(crate) fn backlog(&self) -> Backlog {
        self.inner.lock().stream.backlog()
    }
}

impl Inner {
    fn append_verbatim(&mut self, bytes: &[u8], db: usize) {
        self.stream.append(bytes);
        self.stream.set_db(Some(db));
    }

    fn append_to_file(&mut self, effects: &Effects, timestamp: Option<u64>) {
        let effects = || effects.for_file();
        let count = effects().take(2).count();
        if count == 0 {
            return;
        }
        self.note_time(timestamp);
        let mut begins_transaction = count > 1;
        for (db, command) in effects() {
            self.select(db);
            if std::mem::take(&mut begins_transaction) {
                self.bytes.extend_from_slice(b"*1\r\n$5\r\nMULTI\r\n");
            }
            self.bytes.extend_from_slice(command);
        }
        if count > 1 {
            self.bytes.extend_from_slice(b"*1\r\n$4\r\nEXEC\r\n");
        }
    }

    /// Has the reader work on a database.
    fn select(&mut self, db: usize) {
        if self.db != Some(db) {
            let number = itoa::Buffer::new().format(db).to_owned();
            encode_command(&mut self.bytes, [b"SELECT", number.as_bytes()].into_iter());
            self.db = Some(db);
        }
    }

    /// Tells the reader what time it was, once a second.
    fn note_time(&mut self, second: Option<u64>) {
        if let Some(second) = second.filter(|&second| second != self.second) {
            self.bytes.extend_from_slice(format!("#TS:{second}\r\n").as_bytes());
            self.second = second;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(log: &AppendLog) -> Chunk {
        let mut chunk = Chunk::default();
        log.take(&mut chunk);
        chunk
    }

    #[test]
    fn databases_are_selected_and_transactions_stay_together() {
        let log = AppendLog::default();
        log.set_on(true);
        let mut effects = Effects::default();
        effects.begin(true, false);
        effects.push(1, [b"DEL".as_slice(), b"a"].into_iter());
        effects.push(1, [b"DEL".as_slice(), b"b"].into_iter());
        log.append(&effects, Some(7));
        log.append_one(1, &[b"DEL", b"c"], Some(7));
        let end = log.end();
        let chunk = take(&log);
        let select = "*2\r\n$6\r\nSELECT\r\n$1\r\n1\r\n";
        let del = |key: &str| format!("*2\r\n$3\r\nDEL\r\n$1\r\n{key}\r\n");
        let (a, b, c) = (del("a"), del("b"), del("c"));
        let expected = format!("#TS:7\r\n{select}*1\r\n$5\r\nMULTI\r\n{a}{b}*1\r\n$4\r\nEXEC\r\n{c}");
        assert_eq!(String::from_utf8(chunk.bytes).unwrap(), expected);
        assert_eq!((chunk.end, end), (expected.len() as u64, expected.len() as u64));
    }

    #[test]
    fn another_file_begins_at_a_cut_and_selects_anew() {
        let log = AppendLog::default();
        log.set_on(true);
        log.append_one(0, &[b"X"], None);
        let before = log.end();
        log.cut();
        log.append_one(0, &[b"Y"], None);
        let chunk = take(&log);
        assert_eq!(chunk.cuts, [before as usize]);
        assert!(chunk.bytes[before as usize..].starts_with(b"*2\r\n$6\r\nSELECT"));
        log.set_synced(5);
        log.set_synced(3);
        assert_eq!(log.synced(), 5);
    }
}
