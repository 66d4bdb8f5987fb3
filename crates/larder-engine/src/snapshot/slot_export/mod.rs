//! The keys of slots, and what becomes of them, as commands for another node: the source's side of an atomic migration.
//!
//! Some keys of a slot are read under the lock of its shard, as clones that share their blocks with the originals; in that moment the end of
//! the stream is noted. Commands about these keys that lie before are in what was read; those after are handed out as changes. So slots are
//! read one after the other, a large one in pieces ([`reading`]), without any moment in which all are held, and changes of what has been read
//! can be sent in between:
//!
//! ```text
//!   stream   ..... SET a ..... SET b ......... SET a .....
//!                        ^ slot of a is read here
//!                (in what was read)  (dropped)  (handed out)         b: its slot has not been read yet
//! ```
//! The stream is the one that replicas get: workers do nothing for a migration. Whoever reads it here looks at the keys of every command.
//!
//! Cost: a shard is held for as long as [`PIECE_KEYS`] keys and one more segment of them take to be cloned. A command of the stream costs its
//! parsing and, if it has keys, a CRC; one on a slot that is being read in pieces a hash.

mod keys;
mod reading;

use self::keys::push_batch;
use self::reading::Reading;
use super::Batch;
use crate::aof::stream::Cursor;
use crate::command::keys as command_keys;
use crate::command::spec::Found;
use crate::command::table::table;
use crate::engine::Engine;
use crate::keyspace::hash::{hash, prefix_of_slot, shard_of_slot};
use crate::keyspace::locks::MayWait;
use crate::snapshot::as_commands::select_command;
use crate::text::number;
use larder_cluster::{SLOTS, key_slot};
use larder_resp::encode_command;
use larder_resp::{Args, Limits, Parsed, Parser};
use std::sync::Arc;

/// Bytes of the stream taken at once: those who write wait meanwhile.
const PIECE_BYTES: usize = 64 << 10;
/// Keys read at once, about.
const PIECE_KEYS: usize = 256;
/// The position of slots that have not been read.
const UNREAD: u64 = u64::MAX;
/// What is in the stream was taken from somebody.
const LIMITS: Limits = Limits { bulk_bytes_max: u64::MAX >> 1, authenticated: true };

/// Why an export cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportError {
    /// A database was flushed.
    Flushed,
    /// The stream has begun again: the role has changed.
    StreamLost,
}

/// Slots that are read, and what changes of them.
pub struct SlotExport {
    engine: Arc<Engine>,
    cursor: Arc<Cursor>,
    /// Where in the stream what was read of a slot ends.
    since: Vec<u64>,
    /// Slots that are not read as a whole, or whose pieces still matter for what is to be looked at of the stream: one, or a few.
    readings: Vec<Reading>,
    /// The database that is selected in the stream.
    db: usize,
    /// The database that the reader of what is handed out has selected.
    selected: Option<usize>,
    /// Bytes of the stream that are not looked at, and the position of the first.
    pending: Vec<u8>,
    position: u64,
    /// What concerns the slots of a transaction that has begun.
    unit: Option<Vec<(usize, Vec<u8>)>>,
    /// Keys that were read, not counting those that were read again.
    keys_read: u64,
}

impl SlotExport {
    /// Begins to follow the stream; `None` on a replica.
    pub fn begin(engine: &Arc<Engine>) -> Option<SlotExport> {
        if engine.replication.is_replica() {
            return None;
        }
        engine.cluster.migrations.note_streaming(true);
        engine.begin_stream();
        let (position, cursors) = engine.append_log.attach_at_end(1);
        let Some(cursor) = cursors.into_iter().next() else {
            engine.cluster.migrations.note_streaming(false);
            return None;
        };
        Some(SlotExport {
            engine: Arc::clone(engine),
            cursor,
            since: vec![UNREAD; usize::from(SLOTS)],
            readings: Vec::new(),
            db: 0,
            selected: None,
            pending: Vec::new(),
            position,
            unit: None,
            keys_read: 0,
        })
    }

    /// Number of keys that were read, not counting those that were read again.
    pub fn keys_read(&self) -> u64 {
        self.keys_read
    }

    /// Appends the commands that make the next keys of a slot; returns whether there are more. From here on the changes of these keys are
    /// handed out. [`SlotExport::read_changes`] is to be called in between.
    pub fn read_some(&mut self, slot: u16, may_wait: &MayWait, to: &mut Vec<u8>) -> bool {
        let known = self.readings.iter().position(|reading| reading.slot == slot);
        let mut reading = match known {
            Some(at) => self.readings.swap_remove(at),
            None => Reading::new(slot),
        };
        let (prefix, from) = (prefix_of_slot(slot), reading.next());
        let mut batches = Vec::new();
        let data = self.engine.shards.lock_one(shard_of_slot(slot), may_wait);
        let ends = data.tables().iter().map(|table| table.piece_end(from, PIECE_KEYS));
        let end = ends.fold(prefix.positions().end, u64::min);
        for (db, table) in data.tables().iter().enumerate() {
            let mut batch = Batch::default();
            table.walk_piece(prefix, from..end, |entry| batch.add(&entry));
            batches.push((db, batch));
        }
        let stream_end = self.engine.append_log.stream_end();
        drop(data);
        self.keys_read += batches.iter().map(|(_, batch)| batch.keys.len() as u64).sum::<u64>();
        for (db, batch) in &mut batches {
            // What was sent of them out of turn may be there no more.
            for key in reading.apart_in(&(from..end)) {
                self.select(*db, to);
                encode_command(to, [b"DEL", key].into_iter());
            }
            if !batch.is_empty() {
                self.select(*db, to);
                push_batch(batch, to);
            }
        }
        reading.note_piece(end, stream_end);
        let has_more = !reading.is_done();
        if from == prefix.positions().start && !has_more {
            self.since[usize::from(slot)] = stream_end;
        } else {
            self.readings.push(reading);
        }
        has_more
    }

    /// Reads keys of a slot again, out of turn: commands for each database that make them what they are.
    fn read_apart(&mut self, slot: u16, names: &[&[u8]], may_wait: &MayWait) -> Vec<(usize, Vec<u8>)> {
        let mut batches = Vec::new();
        let data = self.engine.shards.lock_one(shard_of_slot(slot), may_wait);
        for (db, table) in data.tables().iter().enumerate() {
            let mut batch = Batch::default();
            names.iter().filter_map(|name| table.get(hash(name), name)).for_each(|entry| batch.add(&entry));
            batches.push((db, batch));
        }
        let stream_end = self.engine.append_log.stream_end();
        drop(data);
        if let Some(reading) = self.readings.iter_mut().find(|reading| reading.slot == slot) {
            names.iter().for_each(|name| reading.note_apart(name, stream_end));
        }
        let text_of = |(db, mut batch): (usize, Batch)| {
            let mut text = Vec::new();
            let words = [&[&b"DEL"[..]], names].concat();
            encode_command(&mut text, words.into_iter());
            push_batch(&mut batch, &mut text);
            (db, text)
        };
        batches.into_iter().map(text_of).collect()
    }

    /// Appends the changes of what has been read, up to the end of the stream as it is now; returns how many bytes they are.
    ///
    /// # Errors
    /// The export cannot go on.
    pub fn read_changes(&mut self, may_wait: &MayWait, to: &mut Vec<u8>) -> Result<usize, ExportError> {
        let before = to.len();
        // Writers may be as fast as this: what comes meanwhile is for the next call.
        let end = self.engine.append_log.stream_end();
        loop {
            let log = &self.engine.append_log;
            let read = log.read_cursor(&self.cursor, &mut self.pending, PIECE_BYTES);
            let read = read.ok_or(ExportError::StreamLost)?;
            self.look_through(may_wait, to)?;
            if read < PIECE_BYTES || self.position + self.pending.len() as u64 >= end {
                self.forget_pieces();
                return Ok(to.len() - before);
            }
        }
    }

    /// Bytes of the stream that have not been read.
    pub fn unread_bytes(&self) -> u64 {
        self.engine.append_log.stream_end().saturating_sub(self.position)
    }

    /// Of slots that are read, nothing more is to be known as soon as nothing is left in the stream from before.
    fn forget_pieces(&mut self) {
        let (position, since) = (self.position, &mut self.since);
        self.readings.retain(|reading| {
            let all_since = reading.all_since().filter(|&all_since| all_since <= position);
            if let Some(all_since) = all_since {
                since[usize::from(reading.slot)] = all_since;
            }
            all_since.is_none()
        });
    }

    fn look_through(&mut self, may_wait: &MayWait, to: &mut Vec<u8>) -> Result<(), ExportError> {
        let pending = std::mem::take(&mut self.pending);
        let (mut at, mut parser) = (0, Parser::new());
        while let Ok(Parsed::Command { args, consumed }) = parser.next(&pending[at..], &LIMITS) {
            if !args.is_empty() {
                let command = Streamed { args, bytes: &pending[at..at + consumed] };
                self.take(&command, self.position + at as u64, may_wait, to)?;
            }
            at += consumed;
        }
        self.position += at as u64;
        self.pending = pending;
        self.pending.drain(..at);
        Ok(())
    }

    /// Takes a command of the stream, at a position.
    fn take(
        &mut self,
        command: &Streamed<'_>,
        position: u64,
        may_wait: &MayWait,
        to: &mut Vec<u8>,
    ) -> Result<(), ExportError> {
        let args = command.args;
        let Some(found) = table().find(args.at(0)) else { return Ok(()) };
        match found.command.name {
            "select" => {
                let db = args.get(1).and_then(number::parse_i64).and_then(|db| usize::try_from(db).ok());
                self.db = db.unwrap_or(self.db);
            }
            "multi" => self.unit = Some(Vec::new()),
            "exec" => self.end_unit(to),
            "flushall" | "flushdb" | "swapdb" => return Err(ExportError::Flushed),
            _ => match self.concern(found, args, position) {
                Concern::None => {}
                Concern::All => self.hand_out(self.db, command.bytes, to),
                Concern::Some { slot, names } => {
                    for (db, text) in self.read_apart(slot, &names, may_wait) {
                        self.hand_out(db, &text, to);
                    }
                }
            },
        }
        Ok(())
    }

    /// Appends commands on a database, after the transaction if one has begun.
    fn hand_out(&mut self, db: usize, bytes: &[u8], to: &mut Vec<u8>) {
        match &mut self.unit {
            Some(unit) => unit.push((db, bytes.to_vec())),
            None => {
                self.select(db, to);
                to.extend_from_slice(bytes);
            }
        }
    }

    fn end_unit(&mut self, to: &mut Vec<u8>) {
        let unit = self.unit.take().unwrap_or_default();
        let is_transaction = unit.len() > 1;
        if is_transaction {
            encode_command(to, [&b"MULTI"[..]].into_iter());
        }
        for (db, bytes) in &unit {
            self.select(*db, to);
            to.extend_from_slice(bytes);
        }
        if is_transaction {
            encode_command(to, [&b"EXEC"[..]].into_iter());
        }
    }

    /// Whether a command at a position of the stream is about keys that were read before.
    fn concern<'a>(&self, found: Found, args: Args<'a>, position: u64) -> Concern<'a> {
        let is_known = |key: &[u8]| position >= self.since_of(key);
        if let Some(at) = found.only_key(args.len()) {
            return match args.get(at).is_some_and(is_known) {
                true => Concern::All,
                false => Concern::None,
            };
        }
        let sub = (args.len() > 1 && !found.command.subcommands.is_empty())
            .then(|| table().find_sub(found, args.at(1)))
            .flatten();
        let mut names = command_keys::collect(sub.unwrap_or(found).command, args);
        names.sort_unstable();
        names.dedup();
        let known = names.iter().filter(|name| is_known(name)).count();
        if known == 0 {
            return Concern::None;
        }
        let slot = key_slot(names[0]);
        let is_split = known < names.len()
            && names.iter().all(|name| key_slot(name) == slot)
            && self.readings.iter().any(|reading| reading.slot == slot);
        if is_split { Concern::Some { slot, names } } else { Concern::All }
    }

    /// From where in the stream on the changes of a key are handed out.
    fn since_of(&self, key: &[u8]) -> u64 {
        let slot = key_slot(key);
        match self.readings.iter().find(|reading| reading.slot == slot) {
            Some(reading) => reading.since(key).unwrap_or(UNREAD),
            None => self.since[usize::from(slot)],
        }
    }

    fn select(&mut self, db: usize, to: &mut Vec<u8>) {
        if self.selected.replace(db) != Some(db) {
            to.extend_from_slice(&select_command(db));
        }
    }
}

impl Drop for SlotExport {
    fn drop(&mut self) {
        self.engine.append_log.detach(&self.cursor);
        self.engine.cluster.migrations.note_streaming(false);
    }
}

/// A command of the stream.
struct Streamed<'a> {
    args: Args<'a>,
    bytes: &'a [u8],
}

/// Whether a command is about keys that were read before it.
enum Concern<'a> {
    None,
    /// About some, and about others of the same slot that were not.
    Some {
        slot: u16,
        names: Vec<&'a [u8]>,
    },
    All,
}
