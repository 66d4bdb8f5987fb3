//! Append-only files that are torn or damaged, and directories whose manifest is missing: what starts and what is refused, as in Valkey,
//! and that no byte is lost in either case.

use larder_testkit::{Kind, Server, encode, seed};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

const LOGGED: &[&str] = &["--appendonly", "yes"];
const INCREMENT: &str = "appendonlydir/appendonly.aof.1.incr.aof";
const MANIFEST: &str = "appendonlydir/appendonly.aof.manifest";
const LISTED: &str = "file appendonly.aof.1.incr.aof seq 1 type i\n";
const KEYS: usize = 20;

/// The files of a directory, without the log of the server, by their paths.
type Files = BTreeMap<String, Vec<u8>>;

fn command(line: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(&mut bytes, &line.split(' ').collect::<Vec<_>>());
    bytes
}

fn good_log() -> Vec<u8> {
    let sets = (0..KEYS).flat_map(|i| command(&format!("SET key:{i} value-{i}")));
    [command("SELECT 0"), sets.collect()].concat()
}

fn read_files(dir: &Path) -> Files {
    let mut files = Files::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("it is there").flatten() {
            let path = entry.path();
            let name = path.strip_prefix(dir).expect("it is below").to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
            } else if name != "log" {
                files.insert(name, fs::read(&path).expect("it is readable"));
            }
        }
    }
    files
}

fn write_files(dir: &Path, files: &Files) {
    for (name, bytes) in files {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().expect("it has a folder")).expect("it is writable");
        fs::write(path, bytes).expect("it is writable");
    }
}

fn files(parts: &[(&str, &[u8])]) -> Files {
    parts.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec())).collect()
}

fn keys_of(server: &Server) -> Vec<String> {
    let mut keys = Vec::new();
    let mut client = server.client();
    for db in 0..6 {
        client.ask(&format!("SELECT {db}"));
        keys.extend(client.ask("KEYS *").items().iter().map(|key| format!("{db}/{}", key.text())));
    }
    keys.sort();
    keys
}

/// What a start has come to.
#[derive(Debug, PartialEq)]
struct Outcome {
    /// The keys that it has found; `None` if it was refused.
    keys: Option<Vec<String>>,
    /// The files that there are afterwards.
    files: Files,
}

/// Starts a server of its own again and again, each time on other files.
struct Starter(Server);

impl Starter {
    fn new(kind: Kind) -> Starter {
        let mut server = Server::of(kind, &[]);
        server.kill();
        Starter(server)
    }

    /// Starts it on these files, and kills it.
    fn start(&mut self, files: &Files, args: &[&str]) -> Outcome {
        for entry in fs::read_dir(self.0.dir()).expect("it is there").flatten() {
            let path = entry.path();
            if path.is_dir() {
                fs::remove_dir_all(path).expect("it is writable");
            } else if entry.file_name() != "log" {
                fs::remove_file(path).expect("it is writable");
            }
        }
        write_files(self.0.dir(), files);
        self.again(args)
    }

    /// Starts it on the files that are there, and kills it.
    fn again(&mut self, args: &[&str]) -> Outcome {
        let keys = self.0.start_again(args).then(|| keys_of(&self.0));
        self.0.kill();
        Outcome { keys, files: read_files(self.0.dir()) }
    }
}

/// The part of an increment that was cut off, which must be in a file next to it.
fn cut_off(before: &[u8], outcome: &Outcome) -> Vec<u8> {
    let now = &outcome.files[INCREMENT];
    assert!(before.starts_with(now), "it has a beginning of what it had");
    let kept: Vec<_> = outcome.files.iter().filter(|(name, _)| name.contains(".cut-")).collect();
    let cut = &before[now.len()..];
    if cut.is_empty() {
        assert!(kept.is_empty());
    } else {
        let name = format!("{INCREMENT}.cut-{}", now.len());
        assert_eq!(kept, [(&name, &cut.to_vec())]);
    }
    cut.to_vec()
}

/// Ends of a file that are no damage: a command or a transaction that was being written.
fn torn_ends() -> Vec<Vec<u8>> {
    let last = command("SET last abc");
    let mut ends: Vec<Vec<u8>> = (0..last.len()).map(|len| last[..len].to_vec()).collect();
    let transaction = [command("MULTI"), command("SET m 1"), command("SET n 1")].concat();
    for len in [15, 20, 42, 60, transaction.len()] {
        ends.push(transaction[..len].to_vec());
    }
    let whole = [command("MULTI"), command("SET m 1"), command("EXEC"), command("SET o 1")].concat();
    ends.push([&whole, &command("MULTI")[..]].concat());
    ends.push([&whole[..], b"#TS:5\r\n", &command("MULTI")[..], b"#TS:6\r\n"].concat());
    ends.push(b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1000\r\nb\r\n".to_vec());
    ends.push(b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$99999999999\r\nb\r\n".to_vec());
    ends.push(b"*1000000000\r\n$3\r\nSET\r\n".to_vec());
    ends
}

#[test]
fn torn_ends_are_cut_off_and_kept() {
    let (mut larder, mut valkey) = (Starter::new(Kind::Larder), Starter::new(Kind::Valkey));
    for end in torn_ends() {
        let log = [good_log(), end.clone()].concat();
        let before = files(&[(INCREMENT, &log), (MANIFEST, LISTED.as_bytes())]);
        let (ours, theirs) = (larder.start(&before, LOGGED), valkey.start(&before, LOGGED));
        let place = String::from_utf8_lossy(&end).into_owned();
        assert!(ours.keys.is_some(), "{place}\n{}", larder.0.log());
        assert_eq!(ours.keys, theirs.keys, "{place}");
        // Comments before a transaction go with it in Valkey.
        let rest = ours.files[INCREMENT].strip_prefix(&theirs.files[INCREMENT][..]);
        assert!(matches!(rest, Some(b"" | b"#TS:5\r\n")), "{place}");
        cut_off(&log, &ours);
        let again = larder.again(LOGGED);
        assert_eq!(again, ours, "{place}: the next start changes nothing");
    }
}

/// Without `aof-load-truncated` a torn end is refused, and so it is in a file that is not the last one.
#[test]
fn torn_ends_are_refused_where_they_must_not_be_cut() {
    let mut larder = Starter::new(Kind::Larder);
    for end in torn_ends().into_iter().filter(|end| !end.is_empty()).step_by(5) {
        let log = [good_log(), end.clone()].concat();
        let before = files(&[(INCREMENT, &log), (MANIFEST, LISTED.as_bytes())]);
        let refused = Outcome { keys: None, files: before.clone() };
        assert_eq!(larder.start(&before, &[LOGGED, &["--aof-load-truncated", "no"]].concat()), refused);
        let next = "appendonlydir/appendonly.aof.2.incr.aof";
        let both = format!("{LISTED}file appendonly.aof.2.incr.aof seq 2 type i\n");
        let before = files(&[(INCREMENT, &log), (next, b""), (MANIFEST, both.as_bytes())]);
        assert_eq!(larder.start(&before, LOGGED), Outcome { keys: None, files: before.clone() });
    }
}

/// Files that are damaged at their end, or in the middle. Valkey refuses them, too, but for those of which it takes a part for torn.
fn damaged_logs() -> Vec<(Vec<u8>, bool)> {
    let good = good_log();
    let lf = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace("\r\n", "\n").into_bytes();
    let cr = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace("\r\n", "\r").into_bytes();
    let half = good.len() / 2;
    let mut logs = vec![
        (lf(&good), true),
        ([&good[..half], &lf(&good[half..])].concat(), true),
        (cr(&good), false),
        ([b"#TS:5\r", &cr(&good)[..]].concat(), false),
    ];
    let ends: [(&[u8], bool); 26] = [
        (&lf(&command("SET a b")), true),
        (&[b"*".to_vec(), vec![7; 5000]].concat(), true),
        (&[b"*".to_vec(), vec![0; 50]].concat(), false),
        (&[0; 1], true),
        (&[0; 4096], true),
        (&[b"*3\r\n$3\r\nSET\r\n$1\r\nb\r\n$5".to_vec(), vec![0; 4000]].concat(), true),
        (b"*3\r\n$3\r\nSET\r\n$1\r\nb\r\n$5\0\0\0\0", false),
        (b"*3\0\0\0", false),
        (b"*3\r\n*1", true),
        (b"*3\r\n#TS:5\r\n", true),
        (b"*3\r\n$3\r\nSETxx", false),
        (b"*0\r\n", true),
        (b"*-1\r\n", true),
        (b"*2147483648\r\n$3\r\nSET\r\n", true),
        (b"*x\r\n", true),
        (b"*3x\r\n", false),
        (b"*03", false),
        (b"hello", true),
        (b"\r\n", true),
        (b"\n", true),
        (b"$3\r\n", true),
        (b"PING\r\n", true),
        (&[b"#".to_vec(), vec![b'x'; 1100]].concat(), true),
        (&[b"#".to_vec(), vec![b'x'; 1100], b"\r\n".to_vec()].concat(), true),
        (b"#\0\0\0", false),
        (&[command("MULTI"), command("SET m 1"), b"xx".to_vec()].concat(), true),
    ];
    logs.extend(ends.map(|(end, refused)| ([&good[..], end].concat(), refused)));
    logs
}

#[test]
fn damaged_files_are_refused_and_stay_as_they_are() {
    let (mut larder, mut valkey) = (Starter::new(Kind::Larder), Starter::new(Kind::Valkey));
    for (log, is_refused_by_valkey) in damaged_logs() {
        let before = files(&[(INCREMENT, &log), (MANIFEST, LISTED.as_bytes())]);
        let place = String::from_utf8_lossy(&log[log.len().saturating_sub(60)..]).into_owned();
        assert_eq!(larder.start(&before, LOGGED), Outcome { keys: None, files: before.clone() }, "{place:?}");
        assert!(larder.0.log().contains("Bad file format reading the append only file"));
        let theirs = valkey.start(&before, LOGGED);
        assert_eq!(theirs.keys.is_none(), is_refused_by_valkey, "{place:?}");
    }
}

/// Random damage: what Valkey refuses is refused, and stays. What both start with has the same keys. What Larder cuts off is what Valkey
/// cuts off, and is kept.
#[test]
fn random_damage_is_judged_as_in_valkey() {
    let seed = seed(1);
    let mut rng = fastrand::Rng::with_seed(seed);
    let rounds = if larder_testkit::full_run() { 1000 } else { 60 };
    let (mut larder, mut valkey) = (Starter::new(Kind::Larder), Starter::new(Kind::Valkey));
    let (mut started, mut cut) = (0, 0);
    for round in 0..rounds {
        let mut log =
            [good_log(), command("MULTI"), command("SET m 1"), command("EXEC"), command("SET z 1")].concat();
        for _ in 0..rng.usize(1..3) {
            let at = rng.usize(log.len() / 2..log.len());
            match rng.u8(..5) {
                0 => log.truncate(at),
                1 => log[at] = rng.choice(*b"\r\n\0*$#0159").expect("there are some"),
                2 => log[at] ^= 1 << rng.u8(..8),
                3 => drop(log.remove(at)),
                _ => log.extend(vec![0; rng.usize(1..9)]),
            }
        }
        let before = files(&[(INCREMENT, &log), (MANIFEST, LISTED.as_bytes())]);
        let (ours, theirs) = (larder.start(&before, LOGGED), valkey.start(&before, LOGGED));
        let place = format!("SEED={seed}, round {round}: {:?}", String::from_utf8_lossy(&log));
        let Some(keys) = &ours.keys else {
            assert_eq!(ours.files, before, "{place}");
            continue;
        };
        started += 1;
        assert_eq!(Some(keys), theirs.keys.as_ref(), "{place}");
        assert_eq!(ours.files[INCREMENT], theirs.files[INCREMENT], "{place}");
        cut += u32::from(!cut_off(&log, &ours).is_empty());
    }
    assert!(started > rounds / 8 && cut > 0, "SEED={seed}: {started} of {rounds} start, {cut} are cut");
}

/// A preamble that is damaged or breaks off is refused, whatever follows it.
#[test]
fn damaged_preambles_are_refused_and_stay_as_they_are() {
    let seed = seed(1);
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut server = Server::larder(LOGGED);
    let mut client = server.client();
    client.ask("DEBUG POPULATE 50 key 20");
    client.ask("BGREWRITEAOF");
    larder_testkit::wait_until_rewritten(&mut client);
    server.kill();
    let good = read_files(server.dir());
    let base = good.keys().find(|name| name.ends_with(".base.rdb")).expect("there is one").clone();
    let (mut larder, mut valkey) = (Starter::new(Kind::Larder), Starter::new(Kind::Valkey));
    for round in 0..12 {
        let mut before = good.clone();
        let bytes = before.get_mut(&base).expect("it is there");
        match round {
            0 => bytes.truncate(3),
            1 => bytes.truncate(5),
            2 => bytes.truncate(9),
            3 => bytes.truncate(bytes.len() - 1),
            4 => bytes.extend(b"*1\r\nxx"),
            5 => bytes.extend(b"\0"),
            _ => bytes.truncate(rng.usize(10..bytes.len())),
        }
        let ours = larder.start(&before, LOGGED);
        assert_eq!(ours, Outcome { keys: None, files: before.clone() }, "SEED={seed}, round {round}");
        assert_eq!(valkey.start(&before, LOGGED).keys, None, "SEED={seed}, round {round}");
    }
}

/// A file of this name that is there already has other bytes, or the same: the server was killed before it had cut them off.
#[test]
fn what_was_kept_before_is_not_replaced() {
    let mut larder = Starter::new(Kind::Larder);
    let good = good_log();
    let log = [&good[..], b"*3\r\n$3\r\nSE"].concat();
    let kept = format!("{INCREMENT}.cut-{}", good.len());
    let mut before = files(&[(INCREMENT, &log), (MANIFEST, LISTED.as_bytes()), (&kept, b"*3\r\n$3\r\nSE")]);
    let outcome = larder.start(&before, LOGGED);
    assert_eq!(outcome.keys.map(|keys| keys.len()), Some(KEYS));
    before.insert(INCREMENT.to_owned(), good.clone());
    assert_eq!(outcome.files, before);
    before.insert(kept.clone(), b"other".to_vec());
    before.insert(INCREMENT.to_owned(), log);
    let outcome = larder.start(&before, LOGGED);
    before.insert(INCREMENT.to_owned(), good);
    before.insert(format!("{kept}.2"), b"*3\r\n$3\r\nSE".to_vec());
    assert_eq!(outcome.files, before);
}

/// Where what is to be cut off cannot be kept, nothing is cut off.
#[test]
fn nothing_is_cut_off_that_cannot_be_kept() {
    let disk = larder_testkit::FaultyDisk::default();
    let mut server = disk.start(Kind::Larder, &[]);
    server.kill();
    let log = [&good_log()[..], b"*3\r\n$3\r\nSE"].concat();
    let before = files(&[(INCREMENT, &log), (MANIFEST, LISTED.as_bytes())]);
    write_files(server.dir(), &before);
    for fault in ["write temp-cut 28", "truncate .incr.aof 5", "sync temp-cut 5", "rename temp-cut 5"] {
        disk.fail(fault);
        assert!(!server.start_again(LOGGED), "{fault}");
        let mut now = read_files(server.dir());
        if fault.starts_with("truncate") {
            let kept = now.remove(&format!("{INCREMENT}.cut-{}", good_log().len()));
            assert_eq!(kept.as_deref(), Some(&b"*3\r\n$3\r\nSE"[..]));
            fs::remove_file(server.dir().join(format!("{INCREMENT}.cut-{}", good_log().len())))
                .expect("it is there");
        }
        assert_eq!(now, before, "{fault}");
        let said = if fault.starts_with("truncate") { "Error truncating" } else { "cannot keep a copy" };
        assert!(server.log().contains(said), "{fault}: {}", server.log());
    }
    disk.heal();
    assert!(server.start_again(LOGGED), "{}", server.log());
}

/// kill -9 at any moment of a start that cuts an end off.
#[test]
fn a_start_that_is_killed_while_it_cuts_can_be_repeated() {
    let seed = seed(1);
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut server = Server::larder(&[]);
    server.kill();
    let value = "x".repeat(8 << 20);
    let log = [good_log(), command(&format!("SET long {value}"))].concat();
    let log = &log[..log.len() - 1];
    let before = files(&[(INCREMENT, log), (MANIFEST, LISTED.as_bytes())]);
    for round in 0..if larder_testkit::full_run() { 100 } else { 8 } {
        write_files(server.dir(), &before);
        server.spawn_again(LOGGED);
        thread::sleep(Duration::from_micros(rng.u64(500..40_000)));
        server.kill();
        assert!(server.start_again(LOGGED), "SEED={seed}, round {round}: {}", server.log());
        assert_eq!(keys_of(&server).len(), KEYS);
        server.kill();
        let outcome = Outcome { keys: None, files: read_files(server.dir()) };
        assert_eq!(cut_off(log, &outcome).len(), log.len() - good_log().len(), "SEED={seed}, round {round}");
        fs::remove_dir_all(server.dir().join("appendonlydir")).expect("it is writable");
    }
}

/// A directory whose manifest is missing, or lists nothing: what is there stays, and what is written from then on is appended to the
/// increment that Valkey would append to.
#[test]
fn files_that_no_manifest_lists_stay() {
    let old = [command("SELECT 0"), command("SET old 1")].concat();
    let comment = format!("# {LISTED}");
    for manifest in [None, Some(comment.as_str()), Some("#")] {
        let mut before = files(&[(INCREMENT, &old)]);
        if let Some(text) = manifest {
            before.insert(MANIFEST.to_owned(), text.as_bytes().to_vec());
        }
        let starts = [Kind::Larder, Kind::Valkey].map(|kind| {
            let mut server = Server::of(kind, LOGGED);
            server.kill();
            fs::remove_dir_all(server.dir().join("appendonlydir")).expect("it is writable");
            write_files(server.dir(), &before);
            let logged = [LOGGED, &["--appendfsync", "always"]].concat();
            assert!(server.start_again(&logged), "{}", server.log());
            let first = keys_of(&server);
            assert_eq!(server.client().ask("SET new 1").text(), "OK");
            server.kill();
            let now = read_files(server.dir());
            assert!(now[INCREMENT].starts_with(&old) && now[INCREMENT].ends_with(&command("SET new 1")));
            assert!(server.start_again(&logged), "{}", server.log());
            (first, keys_of(&server))
        });
        assert_eq!(starts[0], starts[1], "{manifest:?}");
    }
}

/// The same for files that cannot be appended to, and for a base, which Valkey replaces.
#[test]
fn files_that_no_manifest_lists_are_not_taken_for_new_ones() {
    let mut larder = Starter::new(Kind::Larder);
    let base = "appendonlydir/appendonly.aof.1.base.rdb";
    for odd in [&b"*3\r\n$3\r\nSE"[..], b"junk", &[command("MULTI"), command("SET a 1")].concat()] {
        let before = files(&[(INCREMENT, odd), (base, b"an old base")]);
        let outcome = larder.start(&before, LOGGED);
        assert_eq!(outcome.keys, Some(Vec::new()), "{}", larder.0.log());
        for name in [INCREMENT, base] {
            assert_eq!(outcome.files[name], before[name], "{name}");
        }
        let manifest = String::from_utf8_lossy(&outcome.files[MANIFEST]).into_owned();
        let lines =
            "file appendonly.aof.2.base.rdb seq 2 type b\nfile appendonly.aof.2.incr.aof seq 2 type i\n";
        assert_eq!(manifest, lines);
        assert_eq!(larder.again(LOGGED).keys, Some(Vec::new()));
    }
}

/// A rewrite, and switching the log on, take names that no file has.
#[test]
fn rewriting_replaces_no_file() {
    for is_on in [true, false] {
        let mut server = Server::larder(&["--appendonly", if is_on { "yes" } else { "no" }]);
        let dir = server.dir().join("appendonlydir");
        fs::create_dir_all(&dir).expect("it is writable");
        let foreign = ["1.base.rdb", "2.base.rdb", "1.incr.aof", "2.incr.aof"];
        let paths = foreign.map(|name| dir.join(format!("appendonly.aof.{name}")));
        let free: Vec<_> = paths.iter().filter(|path| !path.exists()).collect();
        free.iter().for_each(|path| fs::write(path, "somebody else's").expect("it is writable"));
        let mut client = server.client();
        client.ask("SET a 1");
        client.ask(if is_on { "BGREWRITEAOF" } else { "CONFIG SET appendonly yes" });
        crate::wait_for(&mut client, "INFO persistence", "aof_rewrites:1");
        client.ask("SET b 1");
        for path in free {
            assert_eq!(fs::read(path).expect("it is there"), b"somebody else's", "{}", path.display());
        }
        server.kill();
        assert!(server.start_again(LOGGED), "{}", server.log());
        assert_eq!(keys_of(&server), ["0/a", "0/b"]);
    }
}

/// An old file is moved into the directory when nothing is listed there, and never onto another one.
#[test]
fn an_old_file_replaces_none_in_the_directory() {
    let mut larder = Starter::new(Kind::Larder);
    let old = [command("SELECT 0"), command("SET old 1")].concat();
    let before = files(&[("appendonly.aof", &old), (MANIFEST, b"# nothing\n")]);
    assert_eq!(larder.start(&before, LOGGED).keys, Some(vec!["0/old".to_owned()]));
    let before = files(&[("appendonly.aof", &old), ("appendonlydir/appendonly.aof", b"another")]);
    assert_eq!(larder.start(&before, LOGGED), Outcome { keys: None, files: before.clone() });
}

/// A file that the manifest lists as history is deleted, but not if it is listed as one that is needed, too.
#[test]
fn what_is_needed_is_not_deleted_as_history() {
    let mut larder = Starter::new(Kind::Larder);
    let twice = format!("{LISTED}file appendonly.aof.1.incr.aof seq 1 type h\n");
    let before = files(&[(INCREMENT, &good_log()), (MANIFEST, twice.as_bytes())]);
    let outcome = larder.start(&before, LOGGED);
    assert_eq!(outcome.files[INCREMENT], before[INCREMENT]);
    assert_eq!(larder.again(LOGGED).keys.map(|keys| keys.len()), Some(KEYS));
}

/// Manifests that Valkey reads are read, and those that it refuses are refused, and stay.
#[test]
fn manifests_are_judged_as_in_valkey() {
    let (mut larder, mut valkey) = (Starter::new(Kind::Larder), Starter::new(Kind::Valkey));
    let line = LISTED.trim_end();
    let padded = |bytes: usize| format!("{line} more {}\n", "x".repeat(bytes - line.len() - 7));
    let comment = |bytes: usize| format!("#{}\n", "x".repeat(bytes - 2));
    let (second, history) = ("file appendonly.aof.2.incr.aof seq 2 type i\n", "file gone seq 1 type h\n");
    let manifests = [
        String::new(),
        "\n".to_owned(),
        "#".to_owned(),
        "# c\n".to_owned(),
        line.to_owned(),
        format!("{line}\r\n"),
        format!(" \t{line}  \n"),
        format!("{LISTED}#"),
        format!("{LISTED}x"),
        format!("{LISTED}\n{second}"),
        format!("{LISTED}{second}"),
        format!("{second}{LISTED}"),
        format!("{LISTED}{LISTED}"),
        format!("{LISTED}{history}"),
        LISTED.replace("file", "FILE").replace("seq", "Seq"),
        LISTED.replace("type i", "type incremental"),
        LISTED.replace("type i", "type I"),
        LISTED.replace("type i", "type"),
        LISTED.replace("seq 1 ", ""),
        LISTED.replace("seq 1", "seq 0"),
        LISTED.replace("appendonly.aof.1", "./appendonly.aof.1"),
        LISTED.replace('\n', "\0\n"),
        format!("'{}' \"appendonly.aof.1.incr.aof\" seq 1 type i\n", "file"),
        padded(1023),
        padded(1024),
        padded(1025),
        padded(3000),
        comment(1024) + LISTED,
        comment(3000) + LISTED,
    ];
    for manifest in manifests {
        let next = "appendonlydir/appendonly.aof.2.incr.aof";
        let before = files(&[(INCREMENT, &good_log()), (next, b""), (MANIFEST, manifest.as_bytes())]);
        let (ours, theirs) = (larder.start(&before, LOGGED), valkey.start(&before, LOGGED));
        assert_eq!(ours.keys, theirs.keys, "{manifest:?}\n{}", larder.0.log());
        if ours.keys.is_none() {
            assert_eq!(ours.files, before, "{manifest:?}");
        }
        assert_eq!(ours.files[INCREMENT], before[INCREMENT], "{manifest:?}");
    }
}
