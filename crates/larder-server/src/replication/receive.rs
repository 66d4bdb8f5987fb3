//! Where the snapshot of the primary is put: into a file that is then loaded, or straight into the keyspace (`repl-diskless-load`).
//!
//! A server that has no keys has nothing to keep until the snapshot has come whole. So where a file is wanted it is written beside loading, which
//! takes as long as the longer of both and not as the sum.

use larder_engine::config::DisklessLoad;
use larder_engine::{MayWait, wall_s};
use larder_link::{Link, LinkError, Transfer};
use larder_persist::temporary::{self, Temporaries};
use larder_persist::{Persist, Placing, Received, SyncedFile};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Puts a snapshot that begins to come where the options say. `on_loaded` is told the database that is selected where the stream goes on.
pub fn receive(
    persist: &Arc<Persist>,
    transfer: &mut Transfer<'_>,
    may_wait: &MayWait,
    on_loaded: &mut dyn FnMut(usize),
) -> Result<(), LinkError> {
    let engine = transfer.link().engine();
    let is_empty = engine.is_empty(may_wait);
    let serves = transfer.is_of_history();
    let choice = engine.config().choice("repl-diskless-load");
    let mut is_portable = true;
    let on_loaded = |received: Received| {
        is_portable = received.is_portable;
        on_loaded(received.db);
    };
    let mut target = Target { persist, transfer, may_wait };
    match choice {
        DisklessLoad::Disabled if is_empty => target.beside_file(on_loaded),
        DisklessLoad::Disabled => target.by_file(on_loaded),
        DisklessLoad::OnEmptyDb if !is_empty => target.by_file(on_loaded),
        DisklessLoad::OnEmptyDb | DisklessLoad::FlushBeforeLoad => {
            return target.directly(Placing::Instead, None, on_loaded).map(drop);
        }
        DisklessLoad::SwapDb => {
            return target.directly(Placing::Beside { serves }, None, on_loaded).map(drop);
        }
    }?;
    if !is_portable {
        persist.save_in_own_form();
    }
    Ok(())
}

/// Where a snapshot goes.
struct Target<'t, 'l> {
    persist: &'t Arc<Persist>,
    transfer: &'t mut Transfer<'l>,
    may_wait: &'t MayWait,
}

impl Target<'_, '_> {
    /// Writes the snapshot to a file, loads that, and has it take the place of the server's own when it has turned out to be sound.
    fn by_file(&mut self, on_loaded: impl FnOnce(Received)) -> Result<(), LinkError> {
        let link = self.transfer.link();
        link.notice("PRIMARY <-> REPLICA sync: receiving RDB from primary to disk");
        let (persist, may_wait) = (self.persist, self.may_wait);
        let path = Unfinished::new(persist)?;
        let mut file = path.open()?;
        self.transfer.write_to(&mut file)?;
        file.finish()?;
        // A disk on which it cannot take its place must not cost the data that is there.
        let path = path.renamed()?;
        let source = File::open(&path.path)?;
        let mut placed = None;
        let loaded = self.transfer.while_alive(|| {
            persist.replace_by(source, Placing::Instead, may_wait, |received| {
                // Before anybody can save what has changed since.
                placed = Some(path.put_in_place(persist));
                on_loaded(received);
            })
        });
        loaded.map_err(|error| LinkError::Load(error.to_string()))?;
        placed.into_iter().try_for_each(|target| delete_unless_wanted(link, &target?))
    }

    /// Loads the snapshot as it comes, and writes it to a file meanwhile, which then takes the place of the server's own.
    fn beside_file(&mut self, on_loaded: impl FnOnce(Received)) -> Result<(), LinkError> {
        let link = self.transfer.link();
        link.notice("PRIMARY <-> REPLICA sync: receiving RDB from primary to disk");
        let path = Unfinished::new(self.persist)?;
        let mut file = path.open()?;
        let bytes = self.directly(Placing::Instead, Some(&mut file), on_loaded)?;
        file.truncate(bytes)?;
        file.finish()?;
        let target = path.put_in_place(self.persist)?;
        delete_unless_wanted(link, &target)
    }

    /// Loads the snapshot as it comes. What has come is in `copy` as well. Returns how long the snapshot is.
    fn directly(
        &mut self,
        placing: Placing,
        copy: Option<&mut dyn Write>,
        on_loaded: impl FnOnce(Received),
    ) -> Result<u64, LinkError> {
        self.transfer.link().notice("PRIMARY <-> REPLICA sync: Loading DB in memory");
        let (persist, may_wait) = (self.persist, self.may_wait);
        self.transfer.load(copy, |source| {
            let loaded = persist.replace_by(source, placing, may_wait, on_loaded);
            loaded.map(|(_, rest)| rest).map_err(|error| error.to_string())
        })
    }
}

/// Deletes the file of a snapshot that has been loaded, where nobody wants it (`rdb-del-sync-files`).
fn delete_unless_wanted(link: &Link, target: &Path) -> Result<(), LinkError> {
    let config = link.config();
    if config.is_yes("rdb-del-sync-files") && !config.is_yes("appendonly") && config.value("save").is_empty()
    {
        fs::remove_file(target)?;
    }
    Ok(())
}

/// A file that goes unless it is moved.
struct Unfinished<'p> {
    path: PathBuf,
    temporaries: &'p Temporaries,
}

impl Unfinished<'_> {
    /// One of this moment, empty.
    fn new(persist: &Persist) -> io::Result<Unfinished<'_>> {
        Unfinished::at(wall_s(), persist.temporaries())
    }

    fn at(second: u64, temporaries: &Temporaries) -> io::Result<Unfinished<'_>> {
        let path = std::path::absolute(format!("temp-{second}.{}.rdb", std::process::id()))?;
        temporaries.add(&path)?;
        Ok(Unfinished { path, temporaries })
    }

    fn open(&self) -> io::Result<SyncedFile> {
        Ok(SyncedFile::new(temporary::open(&self.path)?, true))
    }

    /// Gives it another temporary name, to see whether files can be renamed here.
    fn renamed(self) -> io::Result<Self> {
        let other = Unfinished::at(wall_s() + 1, self.temporaries)?;
        fs::rename(&self.path, &other.path)?;
        Ok(other)
    }

    /// Gives it the name of the server's own snapshot; returns that.
    fn put_in_place(self, persist: &Persist) -> io::Result<PathBuf> {
        let target = std::path::absolute(persist.rdb_path())?;
        fs::rename(&self.path, &target)?;
        Ok(target)
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
        self.temporaries.keep(&self.path);
    }
}
