//! Stores with a directory: what is found again, what others find there, and what is refused.

mod commands;
mod damage;
mod defaults;
mod exchange;
mod faults;
mod killed;
mod locked;

use larder_embed::{Error, Options, Reply, Store};
use larder_testkit::temp_dir;
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// How long what happens in the background may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A directory that goes with the test.
struct Dir(PathBuf);

impl Dir {
    fn new() -> Dir {
        Dir(temp_dir())
    }

    /// Without an append-only file.
    fn options(&self) -> Options {
        Options::new().directory(&self.0).persist(false)
    }

    /// With an append-only file.
    fn logged(&self) -> Options {
        self.options().option("appendonly", "yes")
    }

    fn open(&self) -> Store {
        Store::open(&self.options()).expect("the store opens")
    }

    fn open_logged(&self) -> Store {
        Store::open(&self.logged()).expect("the store opens")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The environment of a child: the directory of its store, and how often that syncs.
const CHILD_DIR: &str = "LARDER_CHILD_DIR";
const CHILD_POLICY: &str = "LARDER_CHILD_POLICY";

/// This program once more, as one that runs a single test with a store of its own: see [`store_of_child`].
fn child_command(test: &str, dir: &Path, policy: &str) -> Command {
    let mut command = Command::new(env::current_exe().expect("this is a program"));
    command.args(["--exact", test, "--nocapture"]).env(CHILD_DIR, dir).env(CHILD_POLICY, policy);
    command
}

/// The store of a child; `None` in a run of the tests that is none.
fn store_of_child() -> Option<Store> {
    let dir = env::var_os(CHILD_DIR)?;
    let policy = env::var(CHILD_POLICY).expect("it is given");
    let options = Options::new().directory(dir).option("appendonly", "yes").option("appendfsync", &policy);
    Some(Store::open(&options).expect("the store opens"))
}

fn ask(store: &Store, line: &str) -> Reply {
    let words: Vec<&str> = line.split(' ').collect();
    store.command(&words).unwrap_or_else(|error| panic!("{line}: {error}"))
}

/// The text of the error that a command is answered with.
fn refused(store: &Store, line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    match store.command(&words) {
        Err(Error::Command(text)) => text,
        other => panic!("{line}: {other:?}"),
    }
}

/// Waits until INFO has a line.
fn wait_for(store: &Store, line: &str) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let info = ask(store, "INFO persistence");
        let info = String::from_utf8_lossy(info.as_bytes().expect("a text")).into_owned();
        if info.lines().any(|other| other == line) {
            return;
        }
        assert!(Instant::now() < deadline, "no {line} in\n{info}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// Everything that a store has, in words that do not depend on how it lies in memory: for each key of a database its type, its value and
/// when it expires.
fn contents(store: &Store) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for db in 0..16 {
        let store = store.database(db);
        let Reply::Array(keys) = ask(&store, "KEYS *") else { panic!("KEYS gives an array") };
        for key in keys {
            let key = String::from_utf8_lossy(key.as_bytes().expect("a name")).into_owned();
            let kind = ask(&store, &format!("TYPE {key}"));
            let asked = match &kind {
                Reply::Status(kind) => match kind.as_str() {
                    "hash" => "HGETALL K",
                    "list" => "LRANGE K 0 -1",
                    "set" => "SMEMBERS K",
                    "stream" => "XINFO STREAM K FULL",
                    "string" => "GET K",
                    "zset" => "ZRANGE K 0 -1 WITHSCORES",
                    other => panic!("{other}"),
                },
                other => panic!("{other:?}"),
            };
            let value = sorted(ask(&store, &asked.replace('K', &key)));
            let expires = ask(&store, &format!("PEXPIRETIME {key}"));
            found.insert(format!("{db} {key}"), format!("{value} {expires:?}"));
        }
    }
    found
}

/// A reply, in an order that is always the same where it has none.
fn sorted(reply: Reply) -> String {
    let mut items = match reply {
        Reply::Set(items) => items.iter().map(|item| format!("{item:?}")).collect(),
        // XINFO gives a map; how many nodes a stream lies in, and how it does so, is not part of it.
        Reply::Map(pairs) => pairs
            .iter()
            .filter(|(name, _)| !name.as_bytes().is_some_and(|name| name.starts_with(b"radix-tree")))
            .map(|pair| format!("{pair:?}"))
            .collect::<Vec<_>>(),
        other => return format!("{other:?}"),
    };
    items.sort();
    items.join(" ")
}

/// Something of every type, in two databases, with and without an end.
fn fill(store: &Store) {
    for line in commands::LINES {
        ask(store, line);
    }
    ask(&store.database(3), "SET elsewhere there");
}

#[test]
fn what_was_saved_is_found_again() {
    let dir = Dir::new();
    let store = dir.open();
    fill(&store);
    let before = contents(&store);
    assert!(before.len() > 12, "{before:?}");
    let Reply::Int(at) = ask(&store, "LASTSAVE") else { panic!("LASTSAVE gives a time") };
    assert_eq!(ask(&store, "SAVE"), Reply::Status("OK".to_owned()));
    assert!(matches!(ask(&store, "LASTSAVE"), Reply::Int(later) if later >= at));
    store.set("later", "lost").unwrap();
    drop(store);
    let store = dir.open();
    assert_eq!(contents(&store), before);
    // In the background, too.
    store.set("more", "1").unwrap();
    ask(&store, "BGSAVE");
    wait_for(&store, "rdb_bgsave_in_progress:0");
    wait_for(&store, "rdb_last_bgsave_status:ok");
    drop(store);
    assert_eq!(dir.open().get("more").unwrap().as_deref(), Some(&b"1"[..]));
}

#[test]
fn the_end_saves_where_that_is_asked_for() {
    for (what, is_kept) in [("nothing", false), ("save_on_close", true), ("save points", true)] {
        for closes in [false, true] {
            let dir = Dir::new();
            let options = match what {
                "save_on_close" => dir.options().save_on_close(),
                "save points" => dir.options().option("save", "3600 1000"),
                _ => dir.options(),
            };
            let store = Store::open(&options).expect("the store opens");
            store.set("k", "v").unwrap();
            if closes {
                store.close().unwrap();
            }
            drop(store);
            assert_eq!(dir.open().exists("k").unwrap(), is_kept, "{what}, closed: {closes}");
        }
    }
}

#[test]
fn the_log_keeps_every_write() {
    for policy in ["always", "everysec", "no"] {
        let dir = Dir::new();
        let options = dir.logged().option("appendfsync", policy);
        let mut before = BTreeMap::new();
        for round in 0..3 {
            let store = Store::open(&options).expect("the store opens");
            assert_eq!(contents(&store), before, "{policy}, round {round}");
            if round == 0 {
                fill(&store);
            }
            store.incrby("rounds", 1).unwrap();
            let commands: [&[&str]; 2] = [&["SET", "a", "1"], &["INCR", "a"]];
            store.transaction(&commands).unwrap();
            store
                .command(&["EVAL", "redis.call('RPUSH', KEYS[1], ARGV[1]) return 1", "1", "script", "x"])
                .unwrap();
            let commands: [&[&str]; 2] = [&["EVAL", "return redis.call('INCR', 'n')", "0"], &["INCR", "n"]];
            store.transaction(&commands).unwrap();
            before = contents(&store);
            if round == 1 {
                store.close().unwrap();
            }
        }
        let store = Store::open(&options).expect("the store opens");
        assert_eq!(store.get("rounds").unwrap().as_deref(), Some(&b"3"[..]));
        assert_eq!((store.llen("script").unwrap(), store.get("n").unwrap()), (3, Some(b"6".to_vec())));
        ask(&store, "BGREWRITEAOF");
        wait_for(&store, "aof_rewrite_in_progress:0");
        assert_eq!(contents(&store), before);
        store.sync().unwrap();
        drop(store);
        assert!(dir.path("appendonlydir/appendonly.aof.2.base.rdb").exists(), "{policy}");
        assert_eq!(contents(&Store::open(&options).expect("the store opens")), before, "{policy}");
    }
}

#[test]
fn many_threads_write_at_once() {
    const THREADS: usize = 12;
    const WRITES: usize = 60;
    for policy in ["always", "everysec"] {
        let dir = Dir::new();
        let options = dir.logged().option("appendfsync", policy);
        let store = Store::open(&options).expect("the store opens");
        thread::scope(|scope| {
            for number in 0..THREADS {
                let store = store.clone();
                scope.spawn(move || {
                    for at in 0..WRITES {
                        store.rpush(format!("list:{number}"), &[at.to_string()]).unwrap();
                        store.incrby("all", 1).unwrap();
                    }
                });
            }
            ask(&store, "BGREWRITEAOF");
        });
        let before = contents(&store);
        drop(store);
        let store = Store::open(&options).expect("the store opens");
        assert_eq!(contents(&store), before, "{policy}");
        assert_eq!(store.incrby("all", 0).unwrap(), (THREADS * WRITES) as i64);
    }
}

#[test]
fn the_log_is_switched_while_the_store_is_open() {
    let dir = Dir::new();
    let store = dir.open();
    fill(&store);
    ask(&store, "CONFIG SET appendonly yes appendfsync always");
    store.set("just", "after").unwrap();
    let before = contents(&store);
    // The log has no base yet: closing waits for it.
    store.close().unwrap();
    let store = dir.open_logged();
    assert_eq!(contents(&store), before);
    ask(&store, "CONFIG SET appendonly no");
    wait_for(&store, "aof_enabled:0");
    store.set("not", "kept").unwrap();
    drop(store);
    assert_eq!(contents(&dir.open_logged()), before);
}

#[test]
fn flushing_empties_the_file_if_there_are_save_points() {
    let dir = Dir::new();
    let options = dir.options().option("save", "3600 1000000");
    let store = Store::open(&options).expect("the store opens");
    store.set("k", "v").unwrap();
    ask(&store, "SAVE");
    store.flushall().unwrap();
    // What lies there is what a process that is killed now would leave.
    let copy = Dir::new();
    fs::copy(dir.path("dump.rdb"), copy.path("dump.rdb")).unwrap();
    assert_eq!(copy.open().dbsize().unwrap(), 0);
}

#[test]
fn a_closed_store_answers_nobody() {
    let dir = Dir::new();
    let store = dir.open_logged();
    let other = store.database(1);
    let script = "return redis.call('SET', KEYS[1], '1')";
    other.command(&["EVAL", script, "1", "k"]).unwrap();
    store.close().unwrap();
    store.close().unwrap();
    let closed = |outcome: Result<Reply, Error>| matches!(outcome, Err(Error::Closed));
    assert!(closed(other.command(&["GET", "k"])));
    assert!(closed(other.command(&["EVAL", script, "1", "k"])));
    assert!(matches!(other.get("k"), Err(Error::Closed)));
    assert!(matches!(other.hgetall("k"), Err(Error::Closed)));
    assert!(matches!(other.transaction(&[&["GET", "k"][..]]), Err(Error::Closed)));
    assert!(matches!(other.events::<&str>(&[], 1), Err(Error::Closed)));
    assert!(matches!(other.sync(), Err(Error::Closed)));
    assert!(dir.open_logged().database(1).exists("k").unwrap());
    let memory = Store::in_memory().unwrap();
    memory.sync().unwrap();
    memory.close().unwrap();
    assert!(matches!(memory.get("k"), Err(Error::Closed)));
}

#[test]
fn closing_ends_a_script() {
    let dir = Dir::new();
    let store = dir.open_logged();
    store.set("k", "v").unwrap();
    thread::scope(|scope| {
        let runs =
            scope.spawn(|| store.command(&["EVAL", "redis.call('SET', 'begun', 1) while true do end", "0"]));
        // Others find the script busy when it has run for five seconds.
        let deadline = Instant::now() + PATIENCE;
        while !matches!(store.get("k"), Err(Error::Command(text)) if text.starts_with("BUSY")) {
            assert!(Instant::now() < deadline && !runs.is_finished());
            thread::sleep(Duration::from_millis(5));
        }
        store.close().unwrap();
        assert!(runs.join().expect("no panic").is_err());
    });
    assert_eq!(dir.open_logged().dbsize().unwrap(), 1);
}

#[test]
fn a_store_that_cannot_be_saved_stays_open() {
    let dir = Dir::new();
    let heard = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let hears = std::sync::Arc::clone(&heard);
    let options =
        dir.options().save_on_close().log(move |_, text| hears.lock().unwrap().push(text.to_owned()));
    let store = Store::open(&options).expect("the store opens");
    store.set("k", "v").unwrap();
    // A folder cannot be replaced by a file.
    fs::create_dir_all(dir.path("dump.rdb/in the way")).unwrap();
    assert!(matches!(store.close(), Err(Error::Write(_))));
    assert!(heard.lock().unwrap().iter().any(|text| text.starts_with("Failed saving the DB")));
    assert_eq!(refused(&store, "SAVE"), "ERR");
    store.set("k", "w").unwrap();
    fs::remove_dir_all(dir.path("dump.rdb")).unwrap();
    store.close().unwrap();
    assert_eq!(dir.open().get("k").unwrap().as_deref(), Some(&b"w"[..]));
    assert!(only_whole_files(&dir.0), "{:?}", names(&dir.0));
}

#[test]
fn what_is_being_written_at_the_end_is_given_up() {
    for job in ["BGSAVE", "BGREWRITEAOF"] {
        let dir = Dir::new();
        // A pause after each key: it would take a minute.
        let options = dir.logged().option("rdb-key-save-delay", "100000");
        let store = Store::open(&options).expect("the store opens");
        for number in 0..600 {
            store.set(format!("key:{number}"), "v").unwrap();
        }
        ask(&store, job);
        let before = contents(&store);
        let begun = Instant::now();
        store.close().unwrap();
        assert!(begun.elapsed() < PATIENCE / 2, "{job}: {:?}", begun.elapsed());
        assert!(only_whole_files(&dir.0), "{job}: {:?}", names(&dir.0));
        assert!(only_whole_files(&dir.path("appendonlydir")), "{job}");
        assert_eq!(contents(&dir.open_logged()), before, "{job}");
    }
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("the directory is there").flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// Whether no file is there that is not complete.
fn only_whole_files(dir: &Path) -> bool {
    names(dir).iter().all(|name| !name.starts_with("temp-"))
}

#[test]
fn what_is_not_about_the_files_is_refused() {
    let dir = Dir::new();
    let store = dir.open();
    for line in
        ["SHUTDOWN", "DEBUG RELOAD", "REPLICAOF NO ONE", "CONFIG REWRITE", "WAITAOF 1 0 0", "ACL LIST"]
    {
        assert!(refused(&store, line).contains("is not about data"), "{line}");
    }
    for line in ["CONFIG SET maxmemory 100mb", "CONFIG SET appendonly yes hz 20", "CONFIG SET maxclients 7"] {
        assert!(refused(&store, line).contains("it is not supported in a library"), "{line}");
    }
    // All or nothing.
    wait_for(&store, "aof_enabled:0");
    assert!(refused(&store, "CONFIG SET dir /").contains("protected"));
    assert!(refused(&store, "CONFIG SET appenddirname other").contains("immutable"));
    ask(&store, "CONFIG SET hash-max-listpack-entries 7 rdbcompression no");
    let Reply::Map(options) = ask(&store, "CONFIG GET dir") else { panic!("a map") };
    assert_eq!(options[0].1.as_bytes(), Some(dir.0.to_string_lossy().as_bytes()));
    let memory = Store::in_memory().unwrap();
    for line in ["SAVE", "BGSAVE", "BGREWRITEAOF", "LASTSAVE", "CONFIG SET appendonly yes"] {
        assert!(refused(&memory, line).contains("is not about data"), "{line}");
    }
    let of_replica = larder_embed::ReplicaOptions::new().store(dir.options());
    let refused = larder_embed::Replica::connect_with("redis://127.0.0.1:1", &of_replica).err();
    assert!(matches!(&refused, Some(Error::Option { name, .. }) if name == "directory"), "{refused:?}");
}
