//! Files that are damaged: the store does not open, the error says where, and nothing is changed.

use super::{Dir, ask, contents, fill};
use larder_embed::{Error, Options, Store};
use larder_testkit::seed;
use std::fs;
use std::path::PathBuf;

const INCREMENT: &str = "appendonlydir/appendonly.aof.1.incr.aof";
const BASE: &str = "appendonlydir/appendonly.aof.1.base.rdb";
const MANIFEST: &str = "appendonlydir/appendonly.aof.manifest";

/// What the error of opening a store says: the file, the byte, and the reason.
fn place(options: &Options) -> (PathBuf, Option<u64>, String) {
    match Store::open(options).err() {
        Some(Error::Load { file, at, reason }) => (file, at, reason),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_damaged_rdb_file() {
    let dir = Dir::new();
    let store = dir.open();
    fill(&store);
    let before = contents(&store);
    ask(&store, "SAVE");
    drop(store);
    let (path, seed) = (dir.path("dump.rdb"), seed(11));
    let whole = fs::read(&path).unwrap();
    let mut rng = fastrand::Rng::with_seed(seed);
    for _ in 0..40 {
        let mut bytes = whole.clone();
        let at = rng.usize(..bytes.len());
        if rng.bool() {
            bytes[at] ^= 1 << rng.u8(..8);
        } else {
            bytes.truncate(at);
        }
        fs::write(&path, &bytes).unwrap();
        let (file, found, reason) = place(&dir.options());
        assert_eq!(file, path, "SEED={seed}");
        assert!(
            found.is_some_and(|found| found <= bytes.len() as u64),
            "SEED={seed} {at}: {found:?} {reason}"
        );
        assert_eq!(fs::read(&path).unwrap(), bytes, "SEED={seed}");
    }
    // What has failed leaves no lock.
    fs::write(&path, &whole).unwrap();
    assert_eq!(contents(&dir.open()), before);
}

#[test]
fn where_an_rdb_file_is_cut_off() {
    let dir = Dir::new();
    let store = dir.open();
    for number in 0..2000 {
        store.set(format!("key:{number}"), "v".repeat(number % 300)).unwrap();
    }
    ask(&store, "SAVE");
    drop(store);
    let path = dir.path("dump.rdb");
    let whole = fs::read(&path).unwrap();
    let cut = whole.len() / 2;
    fs::write(&path, &whole[..cut]).unwrap();
    let (_, at, reason) = place(&dir.options());
    // The key that is not whole begins at most a record before the end.
    let at = at.expect("it is known") as usize;
    assert!((cut - 400..=cut).contains(&at), "{at} of {cut}");
    assert_eq!(reason, "Unexpected end of data");
}

/// A directory with a log, and the commands in it after the base.
fn logged() -> (Dir, Vec<u8>) {
    let dir = Dir::new();
    let store = dir.open_logged();
    fill(&store);
    store.set("last", "1").unwrap();
    drop(store);
    let bytes = fs::read(dir.path(INCREMENT)).unwrap();
    (dir, bytes)
}

#[test]
fn a_log_that_is_damaged_in_the_middle() {
    let (dir, mut bytes) = logged();
    let at = bytes.windows(9).position(|bytes| bytes == b"SETRANGE\r").expect("it is there");
    let begins = bytes[..at].iter().rposition(|&byte| byte == b'*').expect("a command begins");
    bytes[begins] = b'?';
    fs::write(dir.path(INCREMENT), &bytes).unwrap();
    let (file, found, reason) = place(&dir.logged());
    assert_eq!((file, found), (dir.path(INCREMENT), Some(begins as u64)));
    assert_eq!(reason, "not a command");
    assert_eq!(fs::read(dir.path(INCREMENT)).unwrap(), bytes, "it stays as it is");
    bytes[begins] = b'*';
    fs::write(dir.path(INCREMENT), &bytes).unwrap();
    assert!(dir.open_logged().exists("last").unwrap());
}

#[test]
fn a_log_that_is_torn_at_the_end() {
    let (dir, bytes) = logged();
    fs::write(dir.path(INCREMENT), &bytes[..bytes.len() - 2]).unwrap();
    let begins = bytes.iter().rposition(|&byte| byte == b'*').expect("a command begins") as u64;
    let (file, at, _) = place(&dir.logged().option("aof-load-truncated", "no"));
    assert_eq!((file, at), (dir.path(INCREMENT), Some(begins)));
    // By default it is cut off, as by the server.
    let store = dir.open_logged();
    assert!(!store.exists("last").unwrap() && store.exists("string").unwrap());
    store.set("last", "2").unwrap();
    drop(store);
    assert_eq!(dir.open_logged().get("last").unwrap().as_deref(), Some(&b"2"[..]));
}

#[test]
fn files_of_the_log_that_are_damaged_or_missing() {
    let (dir, _) = logged();
    let base = fs::read(dir.path(BASE)).unwrap();
    fs::write(dir.path(BASE), &base[..base.len() - 3]).unwrap();
    let (file, at, _) = place(&dir.logged());
    assert_eq!(file, dir.path(BASE));
    assert!(at.is_some_and(|at| at > 0 && at <= base.len() as u64), "{at:?}");
    fs::remove_file(dir.path(BASE)).unwrap();
    let (file, at, _) = place(&dir.logged());
    assert_eq!((file.to_str(), at), (Some("appendonly.aof.1.base.rdb"), None));
    fs::write(dir.path(BASE), &base).unwrap();
    let manifest = fs::read(dir.path(MANIFEST)).unwrap();
    fs::write(dir.path(MANIFEST), "file a/b seq 1 type i\n").unwrap();
    let (file, _, reason) = place(&dir.logged());
    assert_eq!((file, reason.contains("File can't be a path")), (dir.path(MANIFEST), true), "{reason}");
    fs::write(dir.path(MANIFEST), manifest).unwrap();
    assert!(dir.open_logged().exists("last").unwrap());
}

#[test]
fn a_directory_that_cannot_be_one() {
    let dir = Dir::new();
    fs::write(dir.path("file"), "").unwrap();
    for path in ["file", "file/below"] {
        let error = Store::open(&Options::new().directory(dir.path(path))).err();
        assert!(matches!(&error, Some(Error::Directory { .. })), "{error:?}");
    }
    let store = Store::open(&Options::new().directory(dir.path("new/one"))).expect("it is made");
    ask(&store, "SAVE");
    assert!(dir.path("new/one/dump.rdb").exists());
}
