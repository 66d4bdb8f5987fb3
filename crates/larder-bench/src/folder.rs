//! A folder for the files of one measurement.

use std::path::{Path, PathBuf};

/// An empty folder that is removed with its files when this is dropped.
pub struct Folder(PathBuf);

impl Folder {
    /// Creates a folder among the temporary files.
    pub fn new() -> Self {
        Folder(larder_testkit::temp_dir())
    }

    /// The folder's path.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that cannot be removed stays among the temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
