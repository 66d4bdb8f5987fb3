//! A disk that fails when a test wants it to, under one server or another program.

use crate::preload;
use crate::{Kind, Server};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// What is wrong with the disk of a server. A library between the server and its files makes them fail: `faulty_disk.c`.
pub struct FaultyDisk {
    faults: PathBuf,
}

impl Default for FaultyDisk {
    fn default() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let faults = std::env::temp_dir().join(format!("larder-faults-{}-{number}", std::process::id()));
        FaultyDisk { faults }
    }
}

impl FaultyDisk {
    /// Starts a server that has this disk.
    pub fn start(&self, kind: Kind, args: &[&str]) -> Server {
        let [preload, named] = self.environment().map(|(name, value)| format!("{name}={}", value.display()));
        let program = kind.program();
        let program = program.to_str().expect("a path of text");
        Server::start(&["env", &preload, &named, program], args)
    }

    /// The environment of a program that has this disk.
    pub fn environment(&self) -> [(&'static str, PathBuf); 2] {
        [("LD_PRELOAD", library().to_owned()), ("DISK_FAULTS", self.faults.clone())]
    }

    /// What fails from now on; see `faulty_disk.c`.
    pub fn fail(&self, faults: &str) {
        // Not even for a moment is there half of it.
        let whole = self.faults.with_extension("new");
        fs::write(&whole, faults).and_then(|()| fs::rename(&whole, &self.faults)).expect("it is writable");
    }

    /// Nothing fails any more.
    pub fn heal(&self) {
        let _ = fs::remove_file(&self.faults);
    }
}

impl Drop for FaultyDisk {
    fn drop(&mut self) {
        self.heal();
    }
}

/// The library, built once.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/faulty_disk.c");
        preload::library(&source, &std::env::temp_dir())
    })
}
