//! What is known of the files, and how they are reached.

use super::manifest::{Manifest, Place};
use super::sink::Sink;
use crate::temporary::Temporaries;
use larder_engine::config::Config;
use parking_lot::Mutex;
use rustix::fs::Access;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

/// The append-only file of the server.
#[derive(Default)]
pub struct AppendFile {
    pub(super) state: Mutex<State>,
    pub(super) sink: Sink,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) place: Place,
    pub(super) manifest: Manifest,
    pub(super) has_writer: bool,
}

impl State {
    /// Changes the manifest on the disk, and what is known of it when that has worked.
    pub(super) fn change(
        &mut self,
        temporaries: &Temporaries,
        change: impl FnOnce(&mut Manifest),
    ) -> io::Result<()> {
        let mut manifest = self.manifest.clone();
        change(&mut manifest);
        manifest.write(&self.place, temporaries)?;
        self.manifest = manifest;
        Ok(())
    }
}

impl AppendFile {
    /// Where the log goes.
    pub(crate) fn sink(&self) -> &Sink {
        &self.sink
    }

    /// Bytes of all files.
    pub(super) fn size(&self) -> u64 {
        let state = self.state.lock();
        let len = |name: &str| fs::metadata(state.place.path(name)).map_or(0, |metadata| metadata.len());
        state.manifest.parts().map(|part| len(&part.name)).sum()
    }
}

/// Where the configuration puts the files, below a directory.
pub(super) fn place(config: &Config, below: &Path) -> Place {
    Place { dir: below.join(config.value("appenddirname")), stem: config.value("appendfilename") }
}

/// The same by its whole path: files that are open stay where they are when CONFIG SET changes the working directory.
pub(super) fn whole_place(config: &Config, below: &Path) -> io::Result<Place> {
    let place = place(config, below);
    Ok(Place { dir: std::path::absolute(&place.dir)?, ..place })
}

/// Whether files can be made where the log is to be. None is made: a transaction that holds shards may ask.
pub(super) fn try_place(place: &Place) -> io::Result<()> {
    fs::create_dir_all(&place.dir)?;
    Ok(rustix::fs::access(&place.dir, Access::WRITE_OK | Access::EXEC_OK)?)
}

/// Opens a file to append to it. It is made if it is not there.
pub(super) fn open_increment(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}
