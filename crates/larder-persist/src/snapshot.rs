//! Writing a snapshot as an RDB file.

use crate::error::WriteError;
use crate::state::{Options, Purpose};
use crate::synced_file::SyncedFile;
use crate::temporary;
use larder_engine::{Content, Engine, Filter, Record, Snapshot, wall_s};
use larder_rdb::Version;
use larder_rdb::write::{FileWriter, KeyHeader, KeyWriter};
use parking_lot::Mutex;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

/// What is less than this is gathered before it goes to the file; pieces of threads go there as they are. A call to the
/// kernel should be short: many kernels let nobody else onto the processor before it ends.
const BUFFER_BYTES: usize = 64 << 10;
/// What a thread makes before it takes its turn at the file: when it is urgent, and when others come first, who may have to
/// wait until the kernel has taken it.
const PIECE_BYTES: usize = 256 << 10;
const SMALL_PIECE_BYTES: usize = 64 << 10;

/// Writes a snapshot to `path` and has it on the disk. The file is not complete until this has returned Ok.
pub fn write(
    engine: &Engine,
    snapshot: &Snapshot,
    options: &Options,
    path: &Path,
) -> Result<u64, WriteError> {
    let file = SyncedFile::new(temporary::open(path)?, options.incremental_sync);
    let file = write_to(engine, snapshot, options, BufWriter::with_capacity(BUFFER_BYTES, file))?;
    let file = file.into_inner().map_err(io::IntoInnerError::into_error)?.finish()?;
    Ok(file.metadata()?.len())
}

/// Writes a snapshot anywhere.
pub fn write_to<W: Write + Send>(
    engine: &Engine,
    snapshot: &Snapshot,
    options: &Options,
    to: W,
) -> Result<W, WriteError> {
    let version = if snapshot.has_field_expiry() { Version::V80 } else { options.version };
    let mut file = FileWriter::new(to, version, options.compress, options.checksum)?;
    header(engine, snapshot, options, &mut file)?;
    if options.content != Filter::Nothing {
        snapshot.functions().try_for_each(|text| file.function(text))?;
    }
    if options.content != Filter::Everything {
        return Ok(file.finish()?);
    }
    let keys = snapshot.databases().iter().map(|database| database.keys).sum();
    let progress = engine.persistence();
    progress.keys_to_save.store(keys, Relaxed);
    progress.saved_keys.store(0, Relaxed);
    let file = Mutex::new(file);
    for database in snapshot.databases() {
        file.lock().database(database.index as u64, database.keys, database.expires)?;
        write_database(engine, snapshot, options, version, database.index, &file)?;
    }
    Ok(file.into_inner().finish()?)
}

/// Writes the keys of a database, in any order: threads make their bytes in memory and take turns to write them.
fn write_database<W: Write + Send>(
    engine: &Engine,
    snapshot: &Snapshot,
    options: &Options,
    version: Version,
    db: usize,
    file: &Mutex<FileWriter<W>>,
) -> Result<(), WriteError> {
    let next_part = AtomicUsize::new(0);
    let write_parts = || -> Result<(), WriteError> {
        let mut keys = KeyWriter::new(version, options.compress, options.blocks);
        let (mut count, mut pace) = (0, options.pace(engine));
        let piece_bytes = if options.urgent { PIECE_BYTES } else { SMALL_PIECE_BYTES };
        loop {
            let part = next_part.fetch_add(1, Relaxed);
            if part >= Snapshot::PARTS {
                break;
            }
            snapshot.for_each_in(db, part, |record| {
                if !options.urgent && is_given_up(engine, options.purpose) {
                    return Err(WriteError::Cancelled);
                }
                write_key(engine, &mut keys, options, &record)?;
                if !options.key_delay.is_zero() {
                    thread::sleep(options.key_delay);
                }
                count += 1;
                if keys.bytes().len() >= piece_bytes {
                    put(engine, &mut keys, &mut count, file)?;
                }
                pace.step();
                Ok::<(), WriteError>(())
            })?;
        }
        Ok(put(engine, &mut keys, &mut count, file)?)
    };
    thread::scope(|scope| {
        let others: Vec<_> = (1..options.threads).map(|_| scope.spawn(write_parts)).collect();
        let own = write_parts();
        let panicked = |_| Err(WriteError::Panicked);
        others.into_iter().fold(own, |all, other| all.and(other.join().unwrap_or_else(panicked)))
    })
}

/// Whether what is written in the background is not wanted any more.
fn is_given_up(engine: &Engine, purpose: Purpose) -> bool {
    let state = engine.persistence();
    state.ending.load(Relaxed) || purpose == Purpose::Keep && state.cancel_save.load(Relaxed)
}

/// Moves what a thread has made to the file.
fn put<W: Write>(
    engine: &Engine,
    keys: &mut KeyWriter,
    count: &mut u64,
    file: &Mutex<FileWriter<W>>,
) -> io::Result<()> {
    file.lock().keys(keys.bytes())?;
    keys.bytes().clear();
    keys.bytes().shrink_to(4 * PIECE_BYTES);
    engine.persistence().saved_keys.fetch_add(std::mem::take(count), Relaxed);
    Ok(())
}

fn header<W: Write>(
    engine: &Engine,
    snapshot: &Snapshot,
    options: &Options,
    file: &mut FileWriter<W>,
) -> io::Result<()> {
    file.aux("redis-ver", larder_engine::REDIS_VERSION)?;
    file.aux("redis-bits", "64")?;
    file.aux("ctime", &wall_s().to_string())?;
    file.aux("used-mem", &engine.memory_in_use().to_string())?;
    if let Some(history) = snapshot.history() {
        file.aux("repl-stream-db", &history.db.to_string())?;
        file.aux("repl-id", &history.id)?;
        file.aux("repl-offset", &history.position.to_string())?;
    }
    file.aux("aof-base", if options.purpose == Purpose::LogBase { "1" } else { "0" })?;
    if let Some(open) = engine.open_slots_text().filter(|_| options.purpose == Purpose::Sync) {
        file.aux("cluster-slot-states", &open)?;
    }
    snapshot.imports().iter().try_for_each(|job| file.slot_import(job.name.as_bytes(), &job.slots.ranges()))
}

fn write_key(
    engine: &Engine,
    file: &mut KeyWriter,
    options: &Options,
    record: &Record<'_>,
) -> io::Result<()> {
    let (idle_s, frequency) = if options.notes_usage { engine.usage(record.access) } else { (None, None) };
    let header = KeyHeader { expire_at_ms: record.expire_at_ms, idle_s, frequency };
    match record.content {
        Content::String(bytes) => file.string(header, record.key, bytes),
        Content::Value(value) => file.value(header, record.key, value),
    }
}
