//! Snapshots for replicas, written into their sockets.
//!
//! A replica that needs a snapshot is handed over by its worker with a second handle on its socket. A thread gathers those that come within
//! `repl-diskless-sync-delay`, takes one snapshot for all that can read the same one, and writes it to all of them at once. A replica that
//! is sent the snapshot from a file waits for no others. The instant
//! of the snapshot is where their cursors in the stream are put: what is written later waits for them there, and their workers send it
//! once they are through. No file is written, unless a replica must know the length before, or `repl-diskless-sync` says no.
//!
//! A replica that takes nothing for `repl-timeout` is dropped; the others wait for it until then.

use crate::connection::Stream;
use larder_engine::config::LinkCompression;
use larder_engine::{Engine, Filter, MayWait, Phase, Replica, Snapshot, spawn_background, wall_ms};
use larder_link::compression::Encoder;
use larder_persist::{Persist, WriteError, snapshot};
use larder_rdb::{BLOCKS_TRAVEL, Version};
use mio::{Events, Interest, Poll, Token};
use parking_lot::{Condvar, Mutex};
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// Bytes that are gathered before they are sent.
const BUFFER_BYTES: usize = 64 << 10;
/// How often replicas that wait are told that the server lives.
const SIGN_OF_LIFE: Duration = Duration::from_secs(1);

/// A replica that needs a snapshot.
pub struct Joiner {
    /// A handle on its socket, to which its worker writes nothing meanwhile.
    pub stream: Stream,
    /// Who it is.
    pub replica: Arc<Replica>,
}

/// The snapshots for replicas.
pub struct Syncs {
    persist: Arc<Persist>,
    queue: Mutex<Queue>,
    joined: Condvar,
}

#[derive(Default)]
struct Queue {
    waiting: Vec<(Joiner, Instant)>,
    has_thread: bool,
}

/// What must be equal for replicas to share a snapshot.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Wanted {
    version: Version,
    filter: Filter,
    /// Whether collections go as the blocks that they lie in.
    blocks: bool,
    compression: LinkCompression,
    /// Whether the end is marked; else the length comes before.
    is_marked: bool,
}

impl Syncs {
    /// Without a thread, until a replica comes.
    pub fn new(persist: Arc<Persist>) -> Arc<Syncs> {
        Arc::new(Syncs { persist, queue: Mutex::default(), joined: Condvar::new() })
    }

    /// A replica needs a snapshot.
    pub fn join(self: &Arc<Self>, joiner: Joiner) -> io::Result<()> {
        let mut queue = self.queue.lock();
        if !queue.has_thread {
            let syncs = Arc::clone(self);
            spawn_background("larder-sync", move |may_wait| syncs.run(may_wait))?;
            queue.has_thread = true;
        }
        queue.waiting.push((joiner, Instant::now()));
        self.joined.notify_one();
        Ok(())
    }

    fn run(&self, may_wait: &MayWait) {
        loop {
            larder_engine::panic_if_armed();
            let (wanted, group) = self.next_group();
            let replicas = group.iter().map(|joiner| Arc::clone(&joiner.replica)).collect::<Vec<_>>();
            match self.send(wanted, group, may_wait) {
                Ok(()) => {}
                Err(error) => {
                    self.persist.engine().log_warning(&format!("Failed to synchronize replicas: {error}"));
                    replicas.iter().for_each(|replica| self.persist.engine().drop_replica(replica));
                }
            }
        }
    }

    /// Waits until a round begins: a replica has waited for long enough, or enough replicas wait. Returns those that can share a
    /// snapshot.
    fn next_group(&self) -> (Wanted, Vec<Joiner>) {
        let config = self.persist.engine().config();
        let mut queue = self.queue.lock();
        loop {
            queue.waiting.retain(|(joiner, _)| joiner.replica.phase() != Phase::Gone);
            let most = config.number("repl-diskless-sync-max-replicas");
            let are_enough = most > 0 && queue.waiting.len() as i64 >= most;
            let delay = Duration::from_secs(config.number("repl-diskless-sync-delay").max(0) as u64);
            let left = |(joiner, since): &(Joiner, Instant)| {
                let waits = !are_enough && self.wanted(&joiner.replica).is_marked;
                if waits { delay.saturating_sub(since.elapsed()) } else { Duration::ZERO }
            };
            let Some(next) = queue.waiting.iter().min_by_key(|waiting| left(waiting)) else {
                self.joined.wait(&mut queue);
                continue;
            };
            let (left, wanted) = (left(next), self.wanted(&next.0.replica));
            if left.is_zero() {
                let shares = |(joiner, _): &mut (Joiner, Instant)| self.wanted(&joiner.replica) == wanted;
                let group = queue.waiting.extract_if(.., shares).map(|(joiner, _)| joiner).collect();
                return (wanted, group);
            }
            self.joined.wait_for(&mut queue, left.min(SIGN_OF_LIFE));
            for (joiner, _) in &mut queue.waiting {
                joiner.stream.offer(b"\n");
            }
        }
    }

    /// What a replica can read.
    fn wanted(&self, replica: &Replica) -> Wanted {
        const NINE: u32 = 9 << 16;
        let version = match replica.info.version {
            // Redis 7.0 says nothing of itself, and reads nothing newer.
            None => Version::V10,
            Some(version) if version < NINE => Version::V11,
            Some(_) => Version::V80,
        };
        let is_marked =
            replica.info.knows_end_mark && self.persist.engine().config().is_yes("repl-diskless-sync");
        // A replica that asks by SYNC is not told how it is sent.
        let compression = if replica.is_old { LinkCompression::No } else { replica.info.compression };
        let blocks = replica.info.takes_blocks && BLOCKS_TRAVEL;
        Wanted { version, filter: replica.info.filter, blocks, compression, is_marked }
    }

    /// Takes a snapshot and sends it to a group.
    fn send(&self, wanted: Wanted, group: Vec<Joiner>, may_wait: &MayWait) -> Result<(), WriteError> {
        let engine = self.persist.engine();
        engine.open_stream();
        let _reading = self.persist.read_alone();
        let _in_progress = engine.persistence().begin_sync(wall_ms() / 1000);
        let turn = engine.take_turn(may_wait);
        let mut position = 0;
        let begin = || {
            let (end, cursors) = engine.append_log().attach_at_end(group.len());
            position = end;
            for (joiner, cursor) in group.iter().zip(cursors) {
                joiner.replica.set_cursor(cursor);
            }
        };
        let snapshot = engine.snapshot(&turn, begin).ok_or(WriteError::SnapshotTaken)?;
        drop(turn);
        group.iter().for_each(|joiner| engine.detach_if_gone(&joiner.replica));
        if snapshot.has_field_expiry()
            && wanted.version != Version::V80
            && wanted.filter == Filter::Everything
        {
            return Err(WriteError::FieldExpiry);
        }
        let (id, _) = engine.history();
        let timeout_s = self.persist.engine().config().number("repl-timeout");
        let mut sinks = Sinks::new(timeout_s, Encoder::new(wanted.compression));
        for mut joiner in group {
            joiner.replica.advance_to(Phase::Loading);
            let head = if joiner.replica.is_old {
                String::new()
            } else {
                format!("+FULLRESYNC {id} {position}{}\r\n", joiner.replica.info.compression_word())
            };
            match Sink::new(engine, &mut joiner) {
                Ok(sink) => sinks.add(sink, joiner, head.as_bytes()),
                Err(error) => engine.log_warning(&format!("Lost the connection to a replica: {error}")),
            }
        }
        let sinks = if wanted.is_marked {
            self.send_marked(&snapshot, wanted, sinks)?
        } else {
            self.send_sized(&snapshot, wanted, sinks)?
        };
        drop(snapshot);
        self.finish(wanted, sinks);
        Ok(())
    }

    /// `$EOF:mark`, the snapshot, the mark.
    fn send_marked(
        &self,
        snapshot: &Snapshot,
        wanted: Wanted,
        mut sinks: Sinks,
    ) -> Result<Sinks, WriteError> {
        let mark: String = (0..40).map(|_| fastrand::digit(16)).collect();
        sinks.write_all(format!("$EOF:{mark}\r\n").as_bytes())?;
        let to = BufWriter::with_capacity(BUFFER_BYTES, sinks);
        let options = self.persist.sync_options(wanted.version, wanted.filter, wanted.blocks);
        let to = snapshot::write_to(self.persist.engine(), snapshot, &options, to)?;
        let mut sinks = to.into_inner().map_err(io::IntoInnerError::into_error)?;
        sinks.write_all(mark.as_bytes())?;
        Ok(sinks)
    }

    /// `$length`, the snapshot: by a file without a name.
    fn send_sized(&self, snapshot: &Snapshot, wanted: Wanted, mut sinks: Sinks) -> Result<Sinks, WriteError> {
        let path = std::path::absolute(format!("temp-repl-{}.rdb", std::process::id()))?;
        let file = File::options().read(true).write(true).create_new(true).open(&path)?;
        std::fs::remove_file(&path)?;
        let options = self.persist.sync_options(wanted.version, wanted.filter, wanted.blocks);
        let to = BufWriter::with_capacity(BUFFER_BYTES, file);
        let to = snapshot::write_to(self.persist.engine(), snapshot, &options, to)?;
        let mut file = to.into_inner().map_err(io::IntoInnerError::into_error)?;
        let bytes = file.stream_position()?;
        file.rewind()?;
        sinks.write_all(format!("${bytes}\r\n").as_bytes())?;
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            match file.read(&mut buffer)? {
                0 => return Ok(sinks),
                n => sinks.write_all(&buffer[..n])?,
            }
        }
    }

    /// The snapshot has been sent: the stream follows, unless nobody wants it.
    fn finish(&self, wanted: Wanted, sinks: Sinks) {
        let engine = self.persist.engine();
        for (sink, joiner) in sinks.all {
            let replica = &joiner.replica;
            match (sink.failure, replica.info.is_rdb_only) {
                (Some(reason), _) => {
                    engine.log_warning(&format!(
                        "Lost replica {} during synchronization: {reason}",
                        replica.peer_ip
                    ));
                    engine.drop_replica(replica);
                }
                (None, true) => engine.drop_replica(replica),
                (None, false) => {
                    // After a marked snapshot the stream begins once the replica has said that it is loaded.
                    replica.advance_to(Phase::Loaded);
                    if !wanted.is_marked || replica.has_acknowledged() {
                        replica.go_online(wall_ms());
                    }
                    engine.wake_sender(replica);
                }
            }
        }
    }
}

/// The sockets of a group. What is written goes to all that have not failed; it is an error when all have.
struct Sinks {
    all: Vec<(Sink, Joiner)>,
    timeout: Duration,
    /// They are sent what this makes of it.
    encoder: Option<Encoder>,
    messages: Vec<u8>,
}

impl Sinks {
    fn new(timeout_s: i64, encoder: Option<Encoder>) -> Sinks {
        let timeout = Duration::from_secs(timeout_s.max(1) as u64);
        Sinks { all: Vec::new(), timeout, encoder, messages: Vec::new() }
    }

    /// Adds one that is sent `head` before what all get.
    fn add(&mut self, mut sink: Sink, mut joiner: Joiner, head: &[u8]) {
        sink.send(&mut joiner, head, self.timeout);
        self.all.push((sink, joiner));
    }
}

impl Write for Sinks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Values may be large: what they become is not held as a whole.
        let bytes = &bytes[..bytes.len().min(BUFFER_BYTES)];
        let wire = match &mut self.encoder {
            None => bytes,
            Some(encoder) => {
                self.messages.clear();
                encoder.encode(bytes, &mut self.messages);
                &self.messages
            }
        };
        for (sink, joiner) in &mut self.all {
            sink.send(joiner, wire, self.timeout);
        }
        if self.all.iter().all(|(sink, _)| sink.failure.is_some()) {
            return Err(io::Error::new(
                io::ErrorKind::BrokenPipe,
                "all replicas of this snapshot disconnected",
            ));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// One socket, and how to wait until it takes more.
struct Sink {
    engine: Arc<Engine>,
    poll: Poll,
    events: Events,
    failure: Option<String>,
}

impl Sink {
    fn new(engine: &Arc<Engine>, joiner: &mut Joiner) -> io::Result<Sink> {
        let poll = Poll::new()?;
        joiner.stream.watch(poll.registry(), Token(0), Interest::WRITABLE)?;
        Ok(Sink { engine: Arc::clone(engine), poll, events: Events::with_capacity(4), failure: None })
    }

    /// Sends all of it, however long that takes, unless the replica takes nothing for `timeout`.
    fn send(&mut self, joiner: &mut Joiner, bytes: &[u8], timeout: Duration) {
        if self.failure.is_none()
            && let Err(error) = self.try_send(joiner, bytes, timeout)
        {
            self.failure = Some(error.to_string());
        }
    }

    fn try_send(&mut self, joiner: &mut Joiner, mut bytes: &[u8], timeout: Duration) -> io::Result<()> {
        let mut progress = Instant::now();
        while !bytes.is_empty() {
            if joiner.replica.phase() == Phase::Gone {
                return Err(io::Error::new(io::ErrorKind::NotConnected, "the connection is closed"));
            }
            match joiner.stream.write(bytes) {
                Ok(sent) => {
                    bytes = &bytes[sent..];
                    self.engine.replication().bytes_out.fetch_add(sent as u64, Relaxed);
                    progress = Instant::now();
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if progress.elapsed() > timeout {
                        return Err(io::Error::new(
                            io::ErrorKind::TimedOut,
                            "the replica stopped reading the snapshot",
                        ));
                    }
                    self.poll.poll(&mut self.events, Some(SIGN_OF_LIFE))?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
