//! Reading an append-only file into the keyspace.
//!
//! A comment may say where in the history of the data the file is (`aof/log.rs` of the engine); it counts if no command follows.

use super::file::place;
use super::manifest::{Manifest, Part, Place};
use crate::error::{CommandError, LoadError, PartError};
use crate::state::Persist;
use larder_engine::{Engine, History, Overdue, Replay, noted_place};
use larder_link::load as rdb;
use larder_resp::{Limits, Parsed, Parser};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;

/// What is read from a file at once.
const READ_BYTES: usize = 1 << 20;
/// The clocks are read again after this many commands.
const COMMANDS_PER_TICK: u64 = 1024;

/// What has been loaded.
pub struct LoadedLog {
    /// Where in the history of the data the end of the file is, if it says so.
    pub history: Option<History>,
}

/// Loads the append-only file that the configuration names; `None` if there is none, or nothing in it.
pub fn load(persist: &Persist) -> Result<Option<LoadedLog>, LoadError> {
    let (engine, place) = (&persist.engine, place(persist.config(), &persist.dir));
    let manifest = match Manifest::read(&place)? {
        Some(manifest) if !is_half_adopted(persist, &place, &manifest) => manifest,
        _ => match adopt_single_file(persist, &place)? {
            Some(manifest) => manifest,
            None => return Ok(None),
        },
    };
    let sizes = manifest.parts().map(|part| size_of_part(&place, part));
    let total: u64 = sizes.sum::<Result<u64, LoadError>>()?;
    engine.persistence().load.total_bytes.store(total, Relaxed);
    let mut replay = Replay::new(engine);
    let mut history = None;
    let count = manifest.parts().count();
    for (at, part) in manifest.parts().enumerate() {
        let path = place.path(&part.name);
        let is_last = at + 1 == count;
        load_part(persist, &mut replay, &path, is_last, &mut history).map_err(LoadError::Part)?;
        persist.notice(&format!("DB loaded from file {}", part.name));
    }
    Ok((total > 0).then_some(LoadedLog { history }))
}

/// Whether there is an append-only file that [`load`] would read.
pub fn is_there(persist: &Persist) -> bool {
    let place = place(persist.config(), &persist.dir);
    match Manifest::read(&place) {
        Ok(manifest) => manifest.is_some() || persist.path(&place.stem).exists(),
        Err(error) => {
            persist.warning(&error.to_string());
            false
        }
    }
}

/// Whether a file made before there were manifests was about to move when the server ended: the manifest is there already.
fn is_half_adopted(persist: &Persist, place: &Place, manifest: &Manifest) -> bool {
    *manifest == Manifest::of_single_file(&place.stem)
        && !place.path(&place.stem).exists()
        && persist.path(&place.stem).exists()
}

/// A file made before there were manifests moves into the directory and becomes the base. The manifest comes first: without
/// it, nobody would look for the file in the directory.
fn adopt_single_file(persist: &Persist, place: &Place) -> Result<Option<Manifest>, LoadError> {
    let single = persist.path(&place.stem);
    if !single.exists() {
        return Ok(None);
    }
    let manifest = Manifest::of_single_file(&place.stem);
    let moved = manifest
        .write(place, &persist.temporaries)
        .and_then(|()| fs::rename(&single, place.path(&place.stem)));
    moved.map_err(|error| LoadError::Adopt(place.stem.clone(), error))?;
    persist.notice(&format!(
        "Successfully migrated an old-style AOF file ({}) into the AOF directory ({}).",
        place.stem,
        place.dir.display()
    ));
    Ok(Some(manifest))
}

fn size_of_part(place: &Place, part: &Part) -> Result<u64, LoadError> {
    let metadata = fs::metadata(place.path(&part.name));
    metadata.map(|metadata| metadata.len()).map_err(|error| LoadError::Missing(part.name.clone(), error))
}

/// Where reading a file of commands ended.
enum End {
    /// With the file.
    Whole,
    /// In the middle of a command or of a transaction; this many bytes before that are good.
    Cut(u64),
}

fn load_part(
    persist: &Persist,
    replay: &mut Replay,
    path: &Path,
    is_last: bool,
    history: &mut Option<History>,
) -> Result<(), PartError> {
    let engine = &persist.engine;
    let name = || path.display().to_string();
    let open = |error| PartError::Open(name(), error);
    let mut file = File::open(path).map_err(open)?;
    let mut magic = [0; 5];
    let read = read_up_to(&mut file, &mut magic).map_err(open)?;
    file.seek(SeekFrom::Start(0)).map_err(open)?;
    let mut rest = Vec::new();
    if read == magic.len() && (&magic == b"REDIS" || &magic == b"VALKE") {
        let checks = rdb::checks(engine);
        let rules = rdb::Rules { checks, overdue: Overdue::Keep, merge: false, patterns: None };
        let before = engine.persistence().load.loaded_bytes.load(Relaxed);
        let loaded = rdb::load(engine, file, rules).map_err(|error| {
            let at = engine.persistence().load.loaded_bytes.load(Relaxed) - before;
            PartError::Preamble { file: name(), at, error }
        })?;
        (file, rest) = loaded.rest;
        *history = loaded.history;
    }
    let size = file.metadata().map_err(open)?.len();
    let start = file.stream_position().map_err(open)? - rest.len() as u64;
    match replay_commands(engine, replay, file, rest, start, path, history)? {
        End::Whole => Ok(()),
        End::Cut(good) if is_last && persist.config().is_yes("aof-load-truncated") => {
            cut_off(persist, path, size, good)
        }
        End::Cut(good) => Err(PartError::UnexpectedEnd(name(), good)),
    }
}

fn read_up_to(file: &mut File, into: &mut [u8]) -> io::Result<usize> {
    let mut read = 0;
    while read < into.len() {
        match file.read(&mut into[read..])? {
            0 => break,
            n => read += n,
        }
    }
    Ok(read)
}

/// Shortens a file to what is whole.
fn cut_off(persist: &Persist, path: &Path, size: u64, good: u64) -> Result<(), PartError> {
    let name = path.display();
    persist.warning(&format!("!!! Warning: short read while loading the AOF file {name}!!!"));
    persist.warning(&format!(
        "AOF {name} loaded anyway because aof-load-truncated is enabled: truncating it from {size} to {good} bytes"
    ));
    let cut = OpenOptions::new().write(true).open(path).and_then(|file| {
        file.set_len(good)?;
        file.sync_all()
    });
    cut.map_err(|error| PartError::Truncate(name.to_string(), error))
}

/// Executes the commands of a file. `bytes` have been read from it already; they begin at `start`. `history` is where the data is before,
/// and then after them: a command that follows a note of that makes it unknown.
fn replay_commands(
    engine: &Engine,
    replay: &mut Replay,
    mut file: File,
    mut bytes: Vec<u8>,
    start: u64,
    path: &Path,
    history: &mut Option<History>,
) -> Result<End, PartError> {
    let limits = Limits { bulk_bytes_max: u64::MAX, authenticated: true };
    let mut parser = Parser::new();
    let delay = rdb::key_delay(engine.config().number("key-load-delay"));
    // Positions in the file: of the first of the bytes, and of the end of what is good.
    let (mut base, mut good, mut count) = (start, start, 0_u64);
    loop {
        let mut at = 0;
        while let Some(&first) = bytes.get(at) {
            let bad =
                |error| PartError::Command { file: path.display().to_string(), at: base + at as u64, error };
            if first == b'#' {
                let Some(len) = memchr::memchr(b'\n', &bytes[at..]) else { break };
                if let Some((id, position, db)) = noted_place(&bytes[at..at + len]) {
                    *history = Some(History { id, position, db });
                }
                at += len + 1;
            } else if first != b'*' {
                return Err(bad(CommandError::NotACommand));
            } else {
                match parser.next(&bytes[at..], &limits) {
                    Ok(Parsed::Incomplete) => break,
                    Ok(Parsed::Command { args, consumed }) => {
                        replay.execute(args).map_err(|text| bad(CommandError::Refused(text)))?;
                        *history = None;
                        at += consumed;
                        count += 1;
                        if !delay.is_zero() {
                            std::thread::sleep(delay);
                        }
                        if count.is_multiple_of(COMMANDS_PER_TICK) {
                            replay.tick();
                        }
                    }
                    Err(error) => return Err(bad(CommandError::Syntax(error))),
                }
            }
            if !replay.in_transaction() {
                good = base + at as u64;
            }
        }
        bytes.drain(..at);
        base += at as u64;
        engine.persistence().load.loaded_bytes.fetch_add(at as u64, Relaxed);
        let before = bytes.len();
        let read = (&mut file).take(READ_BYTES as u64).read_to_end(&mut bytes);
        read.map_err(|error| PartError::Read(path.display().to_string(), error))?;
        if bytes.len() == before {
            replay.forget_transaction();
            return Ok(if good == base && bytes.is_empty() { End::Whole } else { End::Cut(good) });
        }
    }
}
