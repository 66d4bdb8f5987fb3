//! Libraries in C that tests put between a server and the system.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles a source to a library that `LD_PRELOAD` can name, in this folder.
pub fn library(source: &Path, folder: &Path) -> PathBuf {
    let name = source.file_stem().expect("a source has a name").to_string_lossy();
    let library = folder.join(format!("{name}-{}.so", std::process::id()));
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O2", "-o"]).arg(&library).arg(source).arg("-ldl");
    let compiled = compiler.status().expect("there is a C compiler");
    assert!(compiled.success(), "{} compiles", source.display());
    library
}
