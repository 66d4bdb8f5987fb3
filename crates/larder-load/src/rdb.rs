//! RDB files: keys with their values as they stand there, for workers to make payloads of.

use crate::cutter::{BATCH_BYTES, BATCH_KEYS, Cutter};
use crate::error::{Error, Result};
use crate::shared::{Records, Shared, lock};
use crate::words::count;
use larder_rdb::read::{Checks, Event, FileReader, Options as ReadOptions, RawKeys};
use std::collections::BTreeMap;
use std::io::Read;
use std::sync::atomic::Ordering::Relaxed;

/// What is checked: the sum, but not the version. What a newer file has that is not known is an error when it
/// comes.
const CHECKS: Checks = Checks { sum: true, version: false };

/// The rest of a source: what has been read of it, and where that begins.
pub struct Rest<R> {
    /// The source.
    pub source: R,
    /// Bytes that were read.
    pub read: Vec<u8>,
    /// Their offset.
    pub offset: u64,
}

/// Hands on all keys, or those of one database; what follows the end of the file comes back.
///
/// # Errors
/// The source cannot be read, or is no RDB file; what has been handed on stays so.
pub fn load<R: Read>(
    source: R,
    name: &str,
    db: Option<u32>,
    shared: &Shared<'_>,
    cutter: &mut Cutter<'_>,
) -> Result<Rest<R>> {
    let mut import = Import { db, number: 0, records: Records::default(), left_out: LeftOut::default() };
    let rest = read(source, name, &mut |event, offset, keys| {
        let is_over = import.take(event, offset, name)?;
        let is_full = import.records.places.len() >= BATCH_KEYS || keys.size_bytes() >= BATCH_BYTES;
        if is_over || is_full { import.hand_on(keys, shared, cutter) } else { Ok(()) }
    })?;
    import.left_out.note(shared);
    Ok(rest)
}

/// Reads a file for nobody: whether it is whole. Values that can be passed over are not looked at.
pub fn verify<R: Read>(source: R, name: &str) -> Result<Rest<R>> {
    read(source, name, &mut |_, _, keys| {
        *keys = RawKeys::default();
        Ok(())
    })
}

/// Takes an event, where it stands, and the keys that have not been taken yet.
type Each<'a> = &'a mut dyn FnMut(Option<&Event>, u64, &mut RawKeys) -> Result<()>;

/// Reads a file; `each` gets every event, where it stands, and the keys that it has not taken yet. At the end there is no event.
fn read<R: Read>(source: R, name: &str, each: Each<'_>) -> Result<Rest<R>> {
    let broken =
        |offset: u64, error: &larder_rdb::Error| Error::File(format!("{name}: offset {offset}: {error}"));
    let mut keys = RawKeys::default();
    let reader = FileReader::new(source, ReadOptions::default(), CHECKS);
    let mut reader = reader.map_err(|error| broken(0, &error))?;
    loop {
        let offset = reader.position();
        let event = reader.next_event(&mut keys).map_err(|error| broken(offset, &error))?;
        let is_end = event.is_none();
        each(event.as_ref(), offset, &mut keys)?;
        if is_end {
            let offset = reader.position();
            let (source, read) = reader.into_rest();
            return Ok(Rest { source, read, offset });
        }
    }
}

/// Keys on their way from a file to a batch.
struct Import {
    /// The only database that is wanted.
    db: Option<u32>,
    /// The one that the file is at.
    number: u64,
    records: Records,
    left_out: LeftOut,
}

impl Import {
    fn is_wanted(&self) -> bool {
        self.db.is_none_or(|db| u64::from(db) == self.number)
    }

    /// Takes an event; returns whether the keys before it, or it itself, are no part of what follows.
    fn take(&mut self, event: Option<&Event>, offset: u64, name: &str) -> Result<bool> {
        match event {
            Some(Event::Key) if self.is_wanted() => self.records.places.push(offset),
            Some(Event::Key) => {
                *self.left_out.databases.entry(self.number).or_default() += 1;
                return Ok(true);
            }
            Some(&Event::SelectDb(number)) => {
                // Keys that are there are handed on before the first one of the other database comes.
                self.number = number;
                u32::try_from(number)
                    .map_err(|_| Error::File(format!("{name}: offset {offset}: no database {number}")))?;
                return Ok(true);
            }
            Some(Event::Function(_)) => self.left_out.functions += 1,
            Some(Event::Aux(..) | Event::ResizeDb(..) | Event::SlotImport(_)) => {}
            None => return Ok(true),
        }
        Ok(false)
    }

    /// Hands on the keys that are wanted, and forgets the others.
    fn hand_on(&mut self, keys: &mut RawKeys, shared: &Shared<'_>, cutter: &mut Cutter<'_>) -> Result<()> {
        let keys = std::mem::take(keys);
        let places = std::mem::take(&mut self.records.places);
        if !places.is_empty() {
            shared.counts.rows.fetch_add(places.len() as u64, Relaxed);
            cutter.records(Records { db: self.records.db, keys, places })?;
        }
        // What comes next is of the database that was selected last.
        self.records.db = self.number as u32;
        Ok(())
    }
}

/// What a file has beside keys that are loaded.
#[derive(Default)]
struct LeftOut {
    functions: u64,
    /// Keys by database.
    databases: BTreeMap<u64, u64>,
}

impl LeftOut {
    fn note(&self, shared: &Shared<'_>) {
        let mut notes = lock(&shared.notes);
        if self.functions > 0 {
            let libraries = count(self.functions, "function library", "function libraries");
            notes.push(format!("{libraries} not loaded"));
        }
        let databases = self.databases.iter();
        notes.extend(
            databases
                .map(|(db, &keys)| format!("{} of database {db} not loaded", count(keys, "key", "keys"))),
        );
    }
}
