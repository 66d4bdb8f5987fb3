//! The keys of slots, and what becomes of them, as commands for another node: the source's side of an atomic migration.
//!
//! A slot is read under the lock of its shard, as clones that share their blocks with the originals; in that moment the end of the stream is
//! noted. Commands about the slot that lie before are in what was read; those after are handed out as changes. So slots are read one after the
//! other, without any moment in which all are held, and changes of those that have been read can be sent in between:
//!
//! ```text
//!   stream   ..... SET a ..... SET b ......... SET a .....
//!                        ^ slot of a is read here
//!                (in what was read)  (dropped)  (handed out)         b: its slot has not been read yet
//! ```
//! The stream is the one that replicas get: workers do nothing for a migration. Whoever reads it here looks at the keys of every command.
//!
//! Cost: a slot holds its shard for as long as its keys take to be cloned, O(keys). A command of the stream costs its parsing and, if it has
//! keys, a CRC.

use super::{Batch, Content, Record};
use crate::aof::stream::Cursor;
use crate::command::keys;
use crate::command::table::table;
use crate::engine::Engine;
use crate::keyspace::hash::{prefix_of_slot, shard_of_slot};
use crate::keyspace::locks::MayWait;
use crate::snapshot::as_commands::{commands_of, select_command};
use crate::text::number;
use larder_cluster::{SLOTS, key_slot};
use larder_collections::value::Value;
use larder_rdb::{Version, dump};
use larder_resp::encode_command;
use larder_resp::{Args, Limits, Parsed, Parser};
use std::sync::Arc;

/// Bytes of the stream taken at once.
const PIECE_BYTES: usize = 1 << 20;
/// A collection whose payload is longer is sent in commands with a few elements each: the target serves others in between.
const PAYLOAD_BYTES_MAX: usize = 1 << 18;
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
    /// The database that is selected in the stream.
    db: usize,
    /// The database that the reader of what is handed out has selected.
    selected: Option<usize>,
    /// Bytes of the stream that are not looked at, and the position of the first.
    pending: Vec<u8>,
    position: u64,
    /// What concerns the slots of a transaction that has begun.
    unit: Option<Vec<(usize, Vec<u8>)>>,
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
            db: 0,
            selected: None,
            pending: Vec::new(),
            position,
            unit: None,
        })
    }

    /// Appends the commands that make the keys of a slot; returns their number. From here on its changes are handed out.
    pub fn read_slot(&mut self, slot: u16, may_wait: &MayWait, to: &mut Vec<u8>) -> usize {
        let mut batches = Vec::new();
        let data = self.engine.shards.lock_one(shard_of_slot(slot), may_wait);
        for (db, table) in data.tables().iter().enumerate() {
            let mut batch = Batch::default();
            table.walk_prefix(prefix_of_slot(slot), |entry| {
                batch.add(&entry);
                true
            });
            if !batch.keys.is_empty() {
                batches.push((db, batch));
            }
        }
        self.since[usize::from(slot)] = self.engine.append_log.stream_end();
        drop(data);
        let mut count = 0;
        for (db, mut batch) in batches {
            count += batch.keys.len();
            self.select(db, to);
            let done: Result<(), std::convert::Infallible> = batch.hand_out(&mut |record| {
                push_key(&record, to);
                Ok(())
            });
            let Ok(()) = done;
        }
        count
    }

    /// Appends the changes of slots that have been read, up to the end of the stream as it is now; returns how many bytes they are.
    ///
    /// # Errors
    /// The export cannot go on.
    pub fn read_changes(&mut self, to: &mut Vec<u8>) -> Result<usize, ExportError> {
        let before = to.len();
        // Writers may be as fast as this: what comes meanwhile is for the next call.
        let end = self.engine.append_log.stream_end();
        loop {
            let log = &self.engine.append_log;
            let read = log.read_cursor(&self.cursor, &mut self.pending, PIECE_BYTES);
            let read = read.ok_or(ExportError::StreamLost)?;
            self.look_through(to)?;
            if read < PIECE_BYTES || self.position + self.pending.len() as u64 >= end {
                return Ok(to.len() - before);
            }
        }
    }

    /// Bytes of the stream that have not been read.
    pub fn unread_bytes(&self) -> u64 {
        self.engine.append_log.stream_end().saturating_sub(self.position)
    }

    fn look_through(&mut self, to: &mut Vec<u8>) -> Result<(), ExportError> {
        let pending = std::mem::take(&mut self.pending);
        let (mut at, mut parser) = (0, Parser::new());
        while let Ok(Parsed::Command { args, consumed }) = parser.next(&pending[at..], &LIMITS) {
            if !args.is_empty() {
                self.take(args, self.position + at as u64, &pending[at..at + consumed], to)?;
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
        args: Args<'_>,
        position: u64,
        bytes: &[u8],
        to: &mut Vec<u8>,
    ) -> Result<(), ExportError> {
        let Some(found) = table().find(args.at(0)) else { return Ok(()) };
        match found.command.name {
            "select" => {
                let db = args.get(1).and_then(number::parse_i64).and_then(|db| usize::try_from(db).ok());
                self.db = db.unwrap_or(self.db);
            }
            "multi" => self.unit = Some(Vec::new()),
            "exec" => self.end_unit(to),
            "flushall" | "flushdb" | "swapdb" => return Err(ExportError::Flushed),
            _ if self.concerns(found, args, position) => match &mut self.unit {
                Some(unit) => unit.push((self.db, bytes.to_vec())),
                None => {
                    self.select(self.db, to);
                    to.extend_from_slice(bytes);
                }
            },
            _ => {}
        }
        Ok(())
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

    /// Whether a command is about a slot that was read before.
    fn concerns(&self, found: crate::command::spec::Found, args: Args<'_>, position: u64) -> bool {
        let is_known = |key: &[u8]| position >= self.since[usize::from(key_slot(key))];
        match found.single_key {
            Some(at) => args.get(usize::from(at)).is_some_and(is_known),
            None => {
                let sub = (args.len() > 1 && !found.command.subcommands.is_empty())
                    .then(|| table().find_sub(found, args.at(1)))
                    .flatten();
                keys::collect(sub.unwrap_or(found).command, args).into_iter().any(is_known)
            }
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

/// Appends the commands that make a key: one where that is short.
fn push_key(record: &Record<'_>, to: &mut Vec<u8>) {
    let mut number = itoa::Buffer::new();
    let deadline = record.expire_at_ms.map(|at| number.format(at).as_bytes());
    let string = match record.content {
        Content::String(bytes) => Some(bytes),
        Content::Value(Value::String(bytes)) => Some(&**bytes),
        Content::Value(_) => None,
    };
    match (string, &record.content) {
        (Some(bytes), _) => match deadline {
            None => encode_command(to, [b"SET", record.key, bytes].into_iter()),
            Some(at) => encode_command(to, [b"SET", record.key, bytes, b"PXAT", at].into_iter()),
        },
        (None, Content::Value(value)) => {
            let payload = dump::of_value(value, Version::default(), false);
            if payload.len() > PAYLOAD_BYTES_MAX {
                return commands_of(record, to);
            }
            let words: [&[u8]; 6] =
                [b"RESTORE", record.key, deadline.unwrap_or(b"0"), &payload, b"REPLACE", b"ABSTTL"];
            encode_command(to, words.into_iter());
        }
        (None, Content::String(_)) => unreachable!("it is a string"),
    }
}
