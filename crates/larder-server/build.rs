//! Stamps the program with the commit that it is built from.
//!
//! The commit is the value of the environment variable `LARDER_COMMIT`, or the one that is checked out in the repository, or zeros
//! where there is none (an unpacked archive). Nothing that differs between machines goes into the program: two builds of one commit
//! are the same.

use std::fs;
use std::path::{Path, PathBuf};

/// Digits of the commit that the program shows.
const COMMIT_DIGITS: usize = 12;

fn main() {
    println!("cargo::rerun-if-env-changed=LARDER_COMMIT");
    println!("cargo::rerun-if-env-changed=SOURCE_DATE_EPOCH");
    println!("cargo::rerun-if-changed=build.rs");
    let given = std::env::var("LARDER_COMMIT").ok().filter(|commit| is_commit(commit));
    let commit = given.or_else(checked_out).unwrap_or_else(|| "0".repeat(COMMIT_DIGITS));
    let commit = &commit[..COMMIT_DIGITS];
    let date = std::env::var("SOURCE_DATE_EPOCH").unwrap_or_default();
    let target = std::env::var("TARGET").unwrap_or_default();
    let build = hash(&[env!("CARGO_PKG_VERSION"), commit, &target, &date]);
    println!("cargo::rustc-env=LARDER_COMMIT={commit}");
    println!("cargo::rustc-env=LARDER_BUILD={build:016x}");
}

fn is_commit(text: &str) -> bool {
    text.len() >= COMMIT_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The commit that is checked out, read from the files of the repository: git itself need not be installed.
fn checked_out() -> Option<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = git_folder(&root.join(".git"))?;
    let head = read(&folder.join("HEAD"))?;
    let Some(name) = head.strip_prefix("ref: ") else { return Some(head).filter(|head| is_commit(head)) };
    let log = folder.join("logs/HEAD");
    if log.exists() {
        println!("cargo::rerun-if-changed={}", log.display());
    }
    // A worktree has its own HEAD and shares the branches.
    let common = read(&folder.join("commondir")).map_or_else(|| folder.clone(), |path| folder.join(path));
    let branch = read(&common.join(name)).or_else(|| packed(&common, name));
    branch.filter(|commit| is_commit(commit))
}

/// The folder of the repository; in a worktree `.git` is a file that names it.
fn git_folder(path: &Path) -> Option<PathBuf> {
    if path.is_dir() {
        return Some(path.to_path_buf());
    }
    Some(PathBuf::from(read(path)?.strip_prefix("gitdir: ")?))
}

fn packed(common: &Path, name: &str) -> Option<String> {
    let lines = read(&common.join("packed-refs"))?;
    let commit = lines.lines().find_map(|line| line.strip_suffix(name)?.strip_suffix(' '))?;
    Some(commit.to_owned())
}

/// Reads a file of the repository, and has cargo build again when it changes.
fn read(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    println!("cargo::rerun-if-changed={}", path.display());
    Some(text.trim_end().to_owned())
}

/// FNV-1a over the parts.
fn hash(parts: &[&str]) -> u64 {
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
