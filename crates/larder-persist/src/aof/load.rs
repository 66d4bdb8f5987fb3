//! Reading an append-only file into the keyspace.
//!
//! A comment may say where in the history of the data the file is (`aof/log.rs` of the engine); it counts if no command follows.

use super::commands::{CommandFile, End, Execute};
use super::file::place;
use super::manifest::{Manifest, Part, Place};
use super::torn;
use crate::error::{LoadError, PartError};
use crate::files::sync_dir;
use crate::state::Persist;
use larder_engine::{History, Overdue};
use larder_link::load as rdb;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;

/// Bytes by which an RDB file is known.
const MAGIC_BYTES: usize = 5;

/// What has been loaded.
pub struct LoadedLog {
    /// Where in the history of the data the end of the file is, if it says so.
    pub history: Option<History>,
}

/// What becomes of a file that ends within a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TornEnd {
    /// It is cut off, if `aof-load-truncated` allows that.
    CutOff,
    /// The file is refused: it is being written.
    Refused,
}

/// Loads the append-only file that the configuration names; `None` if there is none, or nothing in it.
///
/// # Errors
/// A file is missing, cannot be read, or is damaged. What has been loaded by then stays in the keyspace.
pub fn load(persist: &Persist, torn_end: TornEnd) -> Result<Option<LoadedLog>, LoadError> {
    let (engine, place) = (&persist.engine, place(persist.config(), &persist.dir));
    let mut manifest = Manifest::read(&place)?.unwrap_or_default();
    if manifest.is_empty() || is_half_adopted(&place, &manifest) {
        adopt_single_file(persist, &place, &mut manifest)?;
    }
    let sizes = manifest.parts().map(|part| size_of_part(&place, part));
    let total: u64 = sizes.sum::<Result<u64, LoadError>>()?;
    engine.persistence().load.total_bytes.store(total, Relaxed);
    let may_cut = torn_end == TornEnd::CutOff && persist.config().is_yes("aof-load-truncated");
    let mut history = None;
    let last = manifest.parts().last();
    for part in manifest.parts() {
        let may_cut = may_cut && Some(part) == last;
        history = load_part(persist, &place.path(&part.name), may_cut, history).map_err(LoadError::Part)?;
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

/// Whether the manifest lists nothing but a file made before there were manifests, which is not in the directory: a server was about to
/// move it there.
fn is_half_adopted(place: &Place, manifest: &Manifest) -> bool {
    let base = manifest.base.as_ref().is_some_and(|base| base.name == place.stem);
    base && manifest.increments.is_empty() && !place.path(&place.stem).exists()
}

/// Moves a file made before there were manifests, if there is one, into the directory, where it becomes the base. The manifest comes
/// first: without it, nobody would look for the file in the directory.
fn adopt_single_file(persist: &Persist, place: &Place, manifest: &mut Manifest) -> Result<(), LoadError> {
    let (single, target) = (persist.path(&place.stem), place.path(&place.stem));
    if !single.exists() {
        return Ok(());
    }
    let failed = |error| LoadError::Adopt(place.stem.clone(), error);
    if target.exists() {
        let text = format!("{} already exists but is not in a manifest", target.display());
        return Err(failed(io::Error::new(io::ErrorKind::AlreadyExists, text)));
    }
    manifest.adopt(&place.stem);
    manifest.write(place, &persist.temporaries).map_err(failed)?;
    let moved =
        fs::rename(&single, &target).and_then(|()| sync_dir(&target)).and_then(|()| sync_dir(&single));
    moved.map_err(failed)?;
    persist.notice(&format!(
        "Successfully migrated an old-style AOF file ({}) into the AOF directory ({}).",
        place.stem,
        place.dir.display()
    ));
    Ok(())
}

fn size_of_part(place: &Place, part: &Part) -> Result<u64, LoadError> {
    let metadata = fs::metadata(place.path(&part.name));
    metadata.map(|metadata| metadata.len()).map_err(|error| LoadError::Missing(part.name.clone(), error))
}

/// Loads one of the files, before which the data is at `history`; returns where it is after it.
fn load_part(
    persist: &Persist,
    path: &Path,
    may_cut: bool,
    history: Option<History>,
) -> Result<Option<History>, PartError> {
    let name = || path.display().to_string();
    let open = |error| PartError::Open(name(), error);
    let (file, read, history) = load_preamble(persist, path, history)?;
    let mut commands = CommandFile::new(path, file, read).map_err(open)?;
    let mut execute = Execute::new(&persist.engine, history);
    let end = commands.read(&mut execute)?;
    let size = commands.size;
    match end {
        End::Whole => {}
        End::Torn(torn) if may_cut => torn::cut_off(persist, path, size, torn)?,
        End::Torn(torn) => return Err(PartError::UnexpectedEnd(name(), torn.good_bytes)),
    }
    Ok(execute.history.take())
}

/// Loads the RDB file that a file may begin with. Returns the rest: the file, what has been read of it beyond the RDB file, and where in
/// the history of the data that ends.
fn load_preamble(
    persist: &Persist,
    path: &Path,
    history: Option<History>,
) -> Result<(File, Vec<u8>, Option<History>), PartError> {
    let engine = &persist.engine;
    let open = |error| PartError::Open(path.display().to_string(), error);
    let mut file = File::open(path).map_err(open)?;
    let mut magic = Vec::new();
    (&mut file).take(MAGIC_BYTES as u64).read_to_end(&mut magic).map_err(open)?;
    file.seek(SeekFrom::Start(0)).map_err(open)?;
    if !matches!(&magic[..], b"REDIS" | b"VALKE") {
        return Ok((file, Vec::new(), history));
    }
    let rules =
        rdb::Rules { checks: rdb::checks(engine), overdue: Overdue::Keep, merge: false, patterns: None };
    let before = engine.persistence().load.loaded_bytes.load(Relaxed);
    let loaded = rdb::load(engine, file, rules).map_err(|error| {
        let at = engine.persistence().load.loaded_bytes.load(Relaxed) - before;
        PartError::Preamble { file: path.display().to_string(), at, error }
    })?;
    let (file, read) = loaded.rest;
    Ok((file, read, loaded.history))
}
