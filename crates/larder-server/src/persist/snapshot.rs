//! Writing a snapshot as an RDB file.

use super::Options;
use larder_engine::{Content, Engine, Record, Snapshot};
use larder_rdb::Version;
use larder_rdb::write::{FileWriter, KeyHeader};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;

/// What goes to the file at once.
const BUFFER_BYTES: usize = 1 << 20;
/// After so many bytes the kernel is told to write them, so that the last sync is short.
const SYNC_BYTES: u64 = 32 << 20;
/// How often the count of keys written is told.
const KEYS_PER_NOTE: u64 = 1024;

/// Writes a snapshot to `path` and has it on the disk. The file is not complete until this has returned Ok.
pub fn write(engine: &Engine, snapshot: &Snapshot, options: &Options, path: &Path) -> io::Result<u64> {
    let file = Syncing { file: File::create(path)?, unsynced: 0, on: options.incremental_sync };
    let file = write_to(engine, snapshot, options, BufWriter::with_capacity(BUFFER_BYTES, file))?;
    let file = file.into_inner().map_err(io::IntoInnerError::into_error)?.file;
    file.sync_all()?;
    file.metadata().map(|metadata| metadata.len())
}

/// Writes a snapshot anywhere.
pub fn write_to<W: Write>(engine: &Engine, snapshot: &Snapshot, options: &Options, to: W) -> io::Result<W> {
    let version = if snapshot.has_field_expiry() { Version::V80 } else { options.version };
    let mut file = FileWriter::new(to, version, options.compress, options.checksum)?;
    header(engine, options, &mut file)?;
    let keys = snapshot.databases().iter().map(|database| database.keys).sum();
    let progress = engine.persistence();
    progress.keys_to_save.store(keys, Relaxed);
    progress.saved_keys.store(0, Relaxed);
    for database in snapshot.databases() {
        file.database(database.index as u64, database.keys, database.expires)?;
        let mut written = 0;
        snapshot.for_each(database.index, |record| {
            written += 1;
            if written % KEYS_PER_NOTE == 0 {
                progress.saved_keys.fetch_add(KEYS_PER_NOTE, Relaxed);
            }
            write_key(&mut file, options, &record)
        })?;
    }
    file.finish()
}

fn header<W: Write>(engine: &Engine, options: &Options, file: &mut FileWriter<W>) -> io::Result<()> {
    file.aux("redis-ver", larder_engine::REDIS_VERSION)?;
    file.aux("redis-bits", "64")?;
    file.aux("ctime", &super::now_s().to_string())?;
    file.aux("used-mem", &engine.memory_in_use().to_string())?;
    file.aux("aof-base", if options.is_log_base { "1" } else { "0" })
}

fn write_key<W: Write>(file: &mut FileWriter<W>, options: &Options, record: &Record<'_>) -> io::Result<()> {
    let idle_s = options.notes_idle.then(|| (super::now_s() as u32).wrapping_sub(record.access) & 0xff_ffff);
    let header =
        KeyHeader { expire_at_ms: record.expire_at_ms, idle_s: idle_s.map(u64::from), frequency: None };
    match record.content {
        Content::String(bytes) => file.string(header, record.key, bytes),
        Content::Value(value) => file.value(header, record.key, value),
    }
}

/// A file whose bytes are sent to the disk as they come.
struct Syncing {
    file: File,
    unsynced: u64,
    on: bool,
}

impl Write for Syncing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.unsynced += written as u64;
        if self.on && self.unsynced >= SYNC_BYTES {
            self.file.sync_data()?;
            self.unsynced = 0;
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Puts a finished file in the place of another, for good: the directory is on the disk as well.
pub fn put_in_place(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    sync_dir(to)
}

/// Has the directory of a path on the disk.
pub fn sync_dir(path: &Path) -> io::Result<()> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(dir)?.sync_all()
}
