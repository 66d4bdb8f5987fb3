//! A store with a directory keeps every write unless an option says otherwise.

use super::{CHILD_DIR, Dir, ask, child_command};
use larder_embed::{Options, Reply, Store};
use std::env;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

fn open(dir: &Dir) -> Store {
    Store::open(&Options::new().directory(&dir.0)).expect("the store opens")
}

#[test]
fn a_closed_store_is_found_again() {
    let dir = Dir::new();
    let store = open(&dir);
    store.set("k", "v").unwrap();
    store.close().unwrap();
    let store = open(&dir);
    assert_eq!(store.get("k").unwrap().as_deref(), Some(&b"v"[..]));
    // The last handle is dropped without a call.
    store.rpush("l", &["1"]).unwrap();
    drop(store);
    assert_eq!(open(&dir).llen("l").unwrap(), 1);
}

/// Writes, says so, and waits to be killed.
#[test]
fn child() {
    let Some(dir) = env::var_os(CHILD_DIR) else { return };
    let store = Store::open(&Options::new().directory(dir)).expect("the store opens");
    store.set("k", "v").expect("it is written");
    println!("written k");
    loop {
        std::thread::park();
    }
}

#[test]
fn a_killed_program_loses_nothing() {
    let dir = Dir::new();
    let command = &mut child_command("defaults::child", &dir.0, "everysec");
    let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
    let output = child.stdout.take().expect("it is a pipe");
    let written = BufReader::new(output).lines().any(|line| line.expect("it is text").ends_with("written k"));
    child.kill().expect("it is there");
    child.wait().expect("it has ended");
    assert!(written);
    assert_eq!(open(&dir).get("k").unwrap().as_deref(), Some(&b"v"[..]));
}

/// A directory with an RDB file alone: what the file has is there, and so is what is written afterwards.
#[test]
fn an_rdb_file_is_loaded_and_a_log_begun() {
    let dir = Dir::new();
    let store = dir.open();
    store.set("saved", "1").unwrap();
    ask(&store, "SAVE");
    store.close().unwrap();
    let store = open(&dir);
    assert_eq!(store.get("saved").unwrap().as_deref(), Some(&b"1"[..]));
    store.set("logged", "1").unwrap();
    drop(store);
    let store = open(&dir);
    assert_eq!(store.dbsize().unwrap(), 2);
    let Reply::Map(option) = ask(&store, "CONFIG GET appendonly") else { panic!("CONFIG GET gives a map") };
    assert_eq!(option[0].1.as_bytes(), Some(&b"yes"[..]));
}

#[test]
fn persist_switches_it_off() {
    let dir = Dir::new();
    let options = Options::new().directory(&dir.0).persist(false);
    let store = Store::open(&options).unwrap();
    store.set("k", "v").unwrap();
    store.close().unwrap();
    assert_eq!(Store::open(&options).unwrap().get("k").unwrap(), None);
    assert!(!dir.path("appendonlydir").exists());
}
