//! RDB and append-only files of all servers, loaded into all of them.

use crate::support::{ALL, DEBUG, complete, digests, fill, options_for};
use fastrand::Rng;
use larder_load::load::load;
use larder_load::options::{Options, Source};
use larder_testkit::{Client, Kind, Server, Value, seed, temp_dir, wait_until_rewritten};
use std::fs;
use std::path::{Path, PathBuf};

/// Saves what a server has; the path of the file.
fn saved(server: &Server, client: &mut Client) -> PathBuf {
    assert_eq!(client.ask("SAVE").text(), "OK");
    server.dir().join("dump.rdb")
}

/// What is read is not written over, whatever its name.
#[test]
fn the_input_is_no_place_for_rejects_or_the_state() {
    let folder = temp_dir();
    let path = folder.join("commands");
    let text = "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n1\r\n";
    fs::write(&path, text).unwrap();
    std::os::unix::fs::symlink(&path, folder.join("link")).unwrap();
    let server = Server::larder(&[]);
    for other in [path.clone(), folder.join("link"), folder.join(".").join("commands")] {
        let options = || options_for(&path, Source::Resp, server.port());
        for options in [
            Options { rejects: Some(other.clone()), ..options() },
            Options { state: Some(other.clone()), ..options() },
        ] {
            let error = load(&options).expect_err("it is refused").to_string();
            assert!(error.contains("this file is also an input"), "{error}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn rdb_files_of_every_server_load_into_every_other() {
    let targets = ALL.map(|kind| Server::of(kind, DEBUG));
    for from in ALL {
        let server = Server::of(from, DEBUG);
        let mut client = server.client();
        let mut rng = Rng::with_seed(seed(21));
        for db in [0, 3] {
            client.ask(&format!("SELECT {db}"));
            fill(&mut client, &mut rng);
        }
        client.ask("DEBUG SET-ACTIVE-EXPIRE 0");
        client.ask("SET past x PX 1");
        let path = saved(&server, &mut client);
        let expected = [0, 3].map(|db| digests(&mut client, db));
        for target in &targets {
            let mut loaded = target.client();
            let report = load(&options_for(&path, Source::Rdb, target.port())).unwrap();
            complete(&report);
            assert_eq!(report.rows - report.expired, report.keys);
            assert_eq!(
                [0, 3].map(|db| digests(&mut loaded, db)),
                expected,
                "{} {}",
                from.name(),
                report.target
            );
            // Only one of the databases, into a server that has it already.
            loaded.ask("SELECT 0");
            loaded.ask("FLUSHDB");
            let one =
                load(&Options { db: Some(3), ..options_for(&path, Source::Rdb, target.port()) }).unwrap();
            assert_eq!((one.keys, one.rejected as usize), (0, expected[1].len()));
            assert!(one.first_rejects[0].starts_with("offset ") && one.notes.len() == 1, "{one:?}");
            let again =
                Options { db: Some(3), replace: true, ..options_for(&path, Source::Rdb, target.port()) };
            complete(&load(&again).unwrap());
            assert_eq!(digests(&mut loaded, 3), expected[1]);
            assert_eq!(digests(&mut loaded, 0), []);
            loaded.ask("FLUSHALL");
        }
    }
}

#[test]
fn fields_that_expire_go_where_they_are_known() {
    for from in [Kind::Larder, Kind::Valkey] {
        let server = Server::of(from, DEBUG);
        let mut client = server.client();
        client.ask("HSET h a 1 b 2");
        client.ask("HPEXPIREAT h 4102444800000 FIELDS 1 a");
        let code = "#!lua name=lib\nredis.register_function('f', function() return 1 end)";
        assert_eq!(client.cmd(&["FUNCTION", "LOAD", code]).text(), "lib");
        let path = saved(&server, &mut client);
        for kind in ALL {
            let target = Server::of(kind, DEBUG);
            let report = load(&options_for(&path, Source::Rdb, target.port())).unwrap();
            assert_eq!(report.notes, ["1 function library not loaded"]);
            if matches!(kind, Kind::Larder | Kind::Valkey) {
                complete(&report);
                let reply = target.client().ask("HPEXPIRETIME h FIELDS 2 a b").to_string();
                assert_eq!(reply, "*[:4102444800000 :-1]");
            } else {
                assert_eq!((report.keys, report.rejected, report.failure), (0, 1, None));
                assert!(report.first_rejects[0].contains("DUMP payload"), "{:?}", report.first_rejects);
            }
        }
    }
}

/// A server with a few small keys of all types, and its file.
fn small() -> (Server, PathBuf) {
    let server = Server::larder(DEBUG);
    let mut client = server.client();
    for line in [
        "SET s v PX 10000000",
        "RPUSH l a b",
        "SADD t 1 2",
        "HSET h f v",
        "ZADD z 1 m",
        "XADD x 1-1 f v",
        "SELECT 2",
        "SET s v",
    ] {
        assert!(!client.ask(line).is_error());
    }
    let path = saved(&server, &mut client);
    (server, path)
}

#[test]
fn rdb_files_that_are_damaged_anywhere_load_nothing() {
    let (_server, path) = small();
    let whole = fs::read(&path).unwrap();
    let folder = temp_dir();
    let (path, target) = (folder.join("file"), Server::larder(DEBUG));
    let mut client = target.client();
    let try_bytes = |bytes: &[u8], client: &mut Client| {
        fs::write(&path, bytes).unwrap();
        let error = load(&options_for(&path, Source::Rdb, target.port())).unwrap_err().to_string();
        assert!(error.contains("offset "), "{error}");
        assert_eq!(client.ask("DBSIZE"), Value::Int(0));
    };
    for len in 0..whole.len() {
        try_bytes(&whole[..len], &mut client);
    }
    for at in 9..whole.len() - 8 {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x41;
        try_bytes(&bytes, &mut client);
    }
    try_bytes(b"id,name\n1,Ann\n", &mut client);
    // A file whose writer computed no checksum may hold a value that cannot be made: the first such key ends the load.
    let mut bytes = whole.clone();
    let end = bytes.len() - 8;
    bytes[end..].fill(0);
    let at = bytes.windows(2).position(|pair| pair == b"\x01z").unwrap();
    bytes[at + 9] ^= 0xFF;
    fs::write(&path, &bytes).unwrap();
    if let Ok(report) = load(&options_for(&path, Source::Rdb, target.port())) {
        let failure = report.failure.unwrap();
        assert!(failure.contains("offset "), "{failure}");
    }
    fs::remove_dir_all(&folder).unwrap();
}

/// What a client does to an append-only file: values that are built, changed and removed, transactions, several databases.
fn change(client: &mut Client, rng: &mut Rng) {
    for number in 0..200 {
        let key = format!("k{}", rng.u32(..20));
        let lines = [
            format!("SET {key} {number}"),
            format!("RPUSH l{key} {number} x"),
            format!("LPOP l{key}"),
            format!("INCR n{key}"),
            format!("DEL {key}"),
            format!("ZADD z{key} {number} a"),
            format!("PEXPIREAT {key} 4102444800000"),
            format!("SELECT {}", rng.u32(..3)),
            format!("XADD x{key} * f v"),
            format!("SPOP s{key}"),
            format!("SADD s{key} {number} a"),
        ];
        if rng.u8(..10) == 0 {
            client.ask("MULTI");
            client.ask(&lines[1]);
            client.ask(&lines[3]);
            assert!(!client.ask("EXEC").is_error());
        } else {
            assert!(!client.ask(&lines[rng.usize(..lines.len())]).is_error());
        }
    }
}

/// Waits until a rewrite is over.
fn rewrite(client: &mut Client) {
    client.ask("BGREWRITEAOF");
    wait_until_rewritten(client);
}

fn aof(path: &Path, port: u16) -> Options {
    options_for(path, Source::Aof, port)
}

#[test]
fn append_only_files_of_every_server() {
    let targets = [Kind::Larder, Kind::Valkey].map(|kind| Server::of(kind, DEBUG));
    for from in ALL {
        for preamble in ["yes", "no"] {
            let args = [DEBUG, &["--appendonly", "yes", "--aof-use-rdb-preamble", preamble]].concat();
            let args = [&args[..], &["--aof-timestamp-enabled", "yes"]].concat();
            let mut server = Server::of(from, &args);
            let mut client = server.client();
            let mut rng = Rng::with_seed(seed(22));
            change(&mut client, &mut rng);
            for is_rewritten in [false, true] {
                if is_rewritten {
                    rewrite(&mut client);
                    change(&mut client, &mut rng);
                }
                let expected: Vec<_> = (0..3).map(|db| digests(&mut client, db)).collect();
                // Other servers put off writing while the disk is busy.
                while client.ask("INFO persistence").text().lines().any(|line| {
                    line.strip_prefix("aof_buffer_length:").is_some_and(|length| length.trim() != "0")
                }) {
                    std::thread::yield_now();
                }
                let folder = server.dir().join("appendonlydir");
                for target in &targets {
                    let report = load(&aof(&folder, target.port())).unwrap();
                    complete(&report);
                    assert!(report.commands > 0 && (report.keys > 0) == is_rewritten || preamble == "no");
                    let mut loaded = target.client();
                    let found: Vec<_> = (0..3).map(|db| digests(&mut loaded, db)).collect();
                    assert_eq!(found, expected, "{} {preamble} {is_rewritten}", from.name());
                    loaded.ask("FLUSHALL");
                }
            }
            server.kill();
        }
    }
}

#[test]
fn append_only_files_that_break_off_load_nothing() {
    let mut server = Server::larder(&["--appendonly", "yes"]);
    let mut client = server.client();
    client.ask("SET a 1");
    client.ask("RPUSH l x");
    rewrite(&mut client);
    for line in ["INCR a", "MULTI", "LPOP l", "INCR a", "EXEC"] {
        client.ask(line);
    }
    let (from, folder) = (server.dir().join("appendonlydir"), temp_dir());
    let target = Server::larder(DEBUG);
    let mut client = target.client();
    let mut names: Vec<PathBuf> = fs::read_dir(&from).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    names.iter().for_each(|name| assert!(fs::copy(name, folder.join(name.file_name().unwrap())).is_ok()));
    let mut refused = 0;
    for name in names.iter().filter(|name| name.extension().is_none_or(|e| e != "manifest")) {
        let (whole, copy) = (fs::read(name).unwrap(), folder.join(name.file_name().unwrap()));
        for len in 0..whole.len() {
            fs::write(&copy, &whole[..len]).unwrap();
            match load(&aof(&folder, target.port())) {
                Ok(report) => complete(&report),
                Err(error) => {
                    assert!(error.to_string().contains("offset "), "{error}");
                    assert_eq!(client.ask("DBSIZE"), Value::Int(0));
                    refused += 1;
                }
            }
            client.ask("FLUSHALL");
        }
        fs::write(&copy, &whole).unwrap();
    }
    assert!(refused > 100, "{refused}");
    fs::remove_file(folder.join(names[0].file_name().unwrap())).unwrap();
    assert!(load(&aof(&folder, target.port())).is_err());
    assert_eq!(client.ask("DBSIZE"), Value::Int(0));
    server.kill();
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn an_increment_that_begins_as_an_rdb_file_is_refused_before_anything_is_sent() {
    let (_server, rdb) = small();
    let (folder, target) = (temp_dir(), Server::larder(DEBUG));
    let manifest = "file base seq 1 type b\nfile one seq 1 type i\nfile two seq 2 type i\n";
    fs::write(folder.join("a.manifest"), manifest).unwrap();
    fs::write(folder.join("base"), "RPUSH l a\r\n").unwrap();
    for rdb_at in ["one", "two"] {
        for name in ["one", "two"] {
            fs::write(folder.join(name), "RPUSH l b\r\n").unwrap();
        }
        // Whole, with commands after its end or without, and only as a beginning.
        let whole = fs::read(&rdb).unwrap();
        for bytes in [&whole[..], &[&whole[..], b"RPUSH l c\r\n"].concat(), b"REDIS0011"] {
            fs::write(folder.join(rdb_at), bytes).unwrap();
            let error = load(&aof(&folder, target.port())).unwrap_err().to_string();
            assert!(error.contains(&format!("/{rdb_at}: offset 0: this is an RDB file")), "{error}");
            assert_eq!(target.client().ask("DBSIZE"), Value::Int(0));
        }
    }
    fs::remove_dir_all(&folder).unwrap();
}
