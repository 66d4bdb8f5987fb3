//! Damaged and missing files, full and read-only disks: a clear message, and nothing made worse.

use crate::samples::fill;
use crate::{digest, ok, wait_for};
use larder_testkit::{Kind, Server, Value};
use std::fs::{self, OpenOptions};
use std::path::Path;
use std::process::Command;

const LOGGED: &[&str] = &["--appendonly", "yes", "--enable-debug-command", "yes"];

/// The server must end with exit code 1 and have said this.
fn refuses(server: &mut Server, args: &[&str], said: &str) {
    assert!(!server.start_again(args), "it starts with {args:?}");
    assert_eq!(server.wait().code(), Some(1));
    assert!(server.log().contains(said), "{said} is not in\n{}", server.log());
}

#[test]
fn a_damaged_snapshot_is_refused() {
    let mut server = Server::larder(&[]);
    fill(&mut server.client());
    assert_eq!(server.client().ask("SAVE"), ok());
    server.kill();
    let path = server.dir().join("dump.rdb");
    let good = fs::read(&path).expect("it is there");
    for (damage, said) in [
        (good[..good.len() / 2].to_vec(), "Unexpected end of data"),
        (good[..good.len() - 1].to_vec(), "Unexpected end of data"),
        (flipped(&good, good.len() / 2), "Fatal error loading the DB"),
        (flipped(&good, good.len() - 3), "Wrong RDB checksum"),
        (b"not a snapshot".to_vec(), "Wrong signature"),
        (Vec::new(), "Unexpected end of data"),
    ] {
        fs::write(&path, damage).expect("the directory is writable");
        refuses(&mut server, &[], said);
    }
    fs::write(&path, good).expect("the directory is writable");
    assert!(server.start_again(&[]));
}

/// Starts a server whose files may have 100 KB (`ulimit -f`).
fn limited(kind: Kind, args: &[&str]) -> Server {
    let program = kind.program();
    let program = program.to_str().expect("a path of text");
    let script = "ulimit -S -f 100; exec \"$0\" \"$@\"";
    Server::start(&["bash", "-c", script, program], &[&["--enable-debug-command", "yes"], args].concat())
}

/// A file that reaches the limit of file sizes is a disk that fails, not the end of the server.
#[test]
fn a_limit_of_file_sizes_fails_the_save_and_not_the_server() {
    let outcomes = [Kind::Larder, Kind::Valkey].map(|kind| {
        let mut server = limited(kind, &["--save", "3600 1", "--rdbcompression", "no"]);
        let mut client = server.client();
        client.ask("DEBUG POPULATE 2000 key 200");
        assert!(client.ask("BGSAVE").text().starts_with("Background saving started"));
        wait_for(&mut client, "INFO persistence", "rdb_last_bgsave_status:err");
        let replies =
            ["SET a 1", "DBSIZE"].map(|line| client.ask(line).to_string().replace("Redis", "Valkey"));
        // It does not end without saving.
        server.kill();
        replies
    });
    assert!(outcomes[0][0].contains("MISCONF"), "{outcomes:?}");
    assert_eq!(outcomes[0], outcomes[1]);
}

/// A log that has reached it is written on when it may grow again. (Valkey ends.)
#[test]
fn a_limit_of_file_sizes_holds_the_log_up() {
    let mut server = limited(Kind::Larder, LOGGED);
    let mut client = server.client();
    let value = "x".repeat(1000);
    let mut count = 0;
    while !client.cmd(&["SET", &format!("key{count}"), &value]).is_error() {
        count += 1;
        assert!(count < 1000, "the log has a limit");
    }
    let refused = client.ask("SET more 1").text();
    assert!(refused.starts_with("MISCONF") && refused.contains("File too large"), "{refused}");
    let pid = server.pid().to_string();
    let raised = Command::new("prlimit").args(["--pid", &pid, "--fsize=unlimited"]).status();
    assert!(raised.expect("there is such a program").success());
    wait_for(&mut client, "INFO persistence", "aof_last_write_status:ok");
    assert_eq!(client.ask("SET after 1"), ok());
    server.kill();
    assert!(server.start_again(LOGGED), "{}", server.log());
    // The one whose write has failed was not acknowledged before it had been tried.
    let keys = server.client().ask("DBSIZE").int();
    assert!(keys == count + 1 || keys == count + 2, "{keys} of {count}");
    assert_eq!(server.client().ask("GET after").text(), "1");
}

fn flipped(bytes: &[u8], at: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at] ^= 0x10;
    bytes
}

fn increment(server: &Server) -> std::path::PathBuf {
    server.dir().join("appendonlydir/appendonly.aof.1.incr.aof")
}

fn append(path: &Path, bytes: &[u8]) {
    use std::io::Write;
    OpenOptions::new()
        .append(true)
        .open(path)
        .and_then(|mut file| file.write_all(bytes))
        .expect("it is writable");
}

#[test]
fn a_cut_append_only_file_loses_its_last_command() {
    let mut server = Server::larder(LOGGED);
    let mut client = server.client();
    client.ask("RPUSH list a b c");
    client.ask("SET last 1");
    assert!(server.stop().success());
    let path = increment(&server);
    let whole = fs::read(&path).expect("it is there");
    let set = b"*3\r\n$3\r\nSET\r\n".len() + b"$4\r\nlast\r\n$1\r\n1\r\n".len();
    for len in [whole.len() - 1, whole.len() - 5, whole.len() - set + 1] {
        fs::write(&path, &whole[..len]).expect("the directory is writable");
        refuses(&mut server, &[LOGGED, &["--aof-load-truncated", "no"]].concat(), "Unexpected end of file");
        assert!(server.start_again(LOGGED));
        assert_eq!(server.client().ask("EXISTS list last"), Value::Int(1));
        assert!(server.log().contains("aof-load-truncated is enabled"));
        server.client().ask("SET next 1");
        assert!(server.stop().success());
        assert!(server.start_again(LOGGED));
        assert_eq!(server.client().ask("EXISTS list next"), Value::Int(2));
        assert!(server.stop().success());
    }
    // A transaction that does not end has not happened.
    fs::write(&path, &whole).expect("the directory is writable");
    append(&path, b"*1\r\n$5\r\nMULTI\r\n*3\r\n$3\r\nSET\r\n$1\r\nx\r\n$1\r\n1\r\n");
    assert!(server.start_again(LOGGED));
    assert_eq!(server.client().ask("EXISTS list last x"), Value::Int(2));
    assert!(server.stop().success());
    assert_eq!(fs::read(&path).expect("it is there"), whole);
}

#[test]
fn a_damaged_append_only_file_is_refused() {
    let mut server = Server::larder(LOGGED);
    server.client().ask("SET a 1");
    assert!(server.stop().success());
    let path = increment(&server);
    let whole = fs::read(&path).expect("it is there");
    for garbage in [&b"garbage\r\n"[..], b"*1\r\n$-5\r\n", b"*1\r\n$4\r\nNONE\r\n", b"*99999999999\r\n"] {
        fs::write(&path, &whole).expect("the directory is writable");
        append(&path, garbage);
        refuses(&mut server, LOGGED, "Bad file format");
    }
    fs::write(&path, &whole).expect("the directory is writable");
    assert!(server.start_again(LOGGED));
    assert!(server.stop().success());
    fs::remove_file(server.dir().join("appendonlydir/appendonly.aof.1.base.rdb")).expect("it is there");
    refuses(&mut server, LOGGED, "can't open the append log file appendonly.aof.1.base.rdb");
    let manifest = server.dir().join("appendonlydir/appendonly.aof.manifest");
    for (text, said) in [("", "empty AOF manifest"), ("file a seq x type b\n", "Invalid AOF manifest")] {
        fs::write(&manifest, text).expect("the directory is writable");
        refuses(&mut server, LOGGED, said);
    }
}

#[test]
fn a_snapshot_that_cannot_be_written_stops_writes() {
    let server = Server::larder(&["--save", "3600 1000000"]);
    let mut client = server.client();
    client.ask("SET a 1");
    assert_eq!(client.ask("SAVE"), ok());
    let good = fs::read(server.dir().join("dump.rdb")).expect("it is there");
    // Not even root can make a file where a directory is.
    let temporary = server.dir().join(format!("temp-{}.rdb", server.pid()));
    fs::create_dir(&temporary).expect("the directory is writable");
    client.ask("SET b 1");
    // Who waits for a file is told, and that is all.
    assert!(client.ask("SAVE").is_error());
    assert!(client.ask("SHUTDOWN SAVE").is_error());
    assert_eq!(client.ask("PING").text(), "PONG");
    assert!(client.ask("INFO persistence").text().contains("rdb_last_bgsave_status:ok"));
    client.ask("BGSAVE");
    wait_for(&mut client, "INFO persistence", "rdb_last_bgsave_status:err");
    assert!(client.ask("SET c 1").text().starts_with("MISCONF Valkey is configured to save RDB snapshots"));
    assert!(client.ask("PING").is_error());
    assert_eq!(client.ask("GET b").text(), "1");
    assert!(client.ask("INFO persistence").text().contains("rdb_last_bgsave_status:err"));
    assert_eq!(fs::read(server.dir().join("dump.rdb")).expect("it is there"), good);
    assert_eq!(client.ask("CONFIG SET stop-writes-on-bgsave-error no"), ok());
    assert_eq!(client.ask("SET c 1"), ok());
    assert_eq!(client.ask("CONFIG SET stop-writes-on-bgsave-error yes"), ok());
    assert!(client.ask("SHUTDOWN SAVE").text().contains("Errors trying to SHUTDOWN"));
    fs::remove_dir(&temporary).expect("it is empty");
    assert_eq!(client.ask("SAVE"), ok());
    assert_eq!(client.ask("SET d 1"), ok());
}

#[test]
fn a_log_that_cannot_begin_is_tried_again() {
    let mut server = Server::larder(&[]);
    let mut client = server.client();
    let dir = server.dir().join("appendonlydir");
    let temporary = dir.join(format!("temp-rewriteaof-bg-{}.aof", server.pid()));
    fs::create_dir_all(&temporary).expect("the directory is writable");
    client.ask("SET before 1");
    assert_eq!(client.ask("CONFIG SET appendonly yes"), ok());
    wait_for(&mut client, "INFO persistence", "aof_last_bgrewrite_status:err");
    assert!(client.ask("INFO persistence").text().contains("aof_enabled:1"));
    fs::remove_dir(&temporary).expect("it is empty");
    wait_for(&mut client, "INFO persistence", "aof_rewrites:1");
    client.ask("SET after 1");
    assert_eq!(client.ask("WAITAOF 1 0 0").items()[0], Value::Int(1));
    server.kill();
    assert!(server.start_again(LOGGED));
    assert_eq!(server.client().ask("EXISTS before after"), Value::Int(2));
}

#[test]
fn a_log_that_has_no_place_is_not_switched_on() {
    let server = Server::larder(&[]);
    fs::write(server.dir().join("appendonlydir"), b"in the way").expect("the directory is writable");
    let mut client = server.client();
    assert!(client.ask("CONFIG SET appendonly yes").is_error());
    assert!(client.ask("INFO persistence").text().contains("aof_enabled:0"));
    assert_eq!(client.ask("CONFIG GET appendonly").items()[1].text(), "no");
}

/// A small disk of its own; None where the test may not mount one.
struct SmallDisk(std::path::PathBuf);

impl SmallDisk {
    fn mount(at: &Path) -> Option<SmallDisk> {
        fs::create_dir_all(at).ok()?;
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]).arg(at).output().ok()?;
        mounted.status.success().then(|| SmallDisk(at.to_owned()))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_is_an_error_and_heals() {
    let mut server = Server::larder(&[]);
    server.kill();
    let disk = server.dir().join("disk");
    let Some(_disk) = SmallDisk::mount(&disk) else {
        println!("no small disk can be mounted here: left out");
        return;
    };
    let args = [LOGGED, &["--dir", disk.to_str().expect("it is text"), "--rdbcompression", "no"]].concat();
    assert!(server.start_again(&args));
    let mut client = server.client();
    let value = "x".repeat(10_000);
    let mut written = 0;
    let refusal = loop {
        let reply = client.cmd(&["SET", &format!("key:{written}"), &value]);
        if reply.is_error() {
            break reply.text();
        }
        written += 1;
        assert!(written < 1_000_000, "a megabyte holds more than it can");
    };
    assert!(
        refusal.starts_with("MISCONF Errors writing to the AOF file: No space left on device"),
        "{refusal}"
    );
    assert!(client.ask("INFO persistence").text().contains("aof_last_write_status:err"));
    assert!(client.ask("SAVE").is_error());
    assert_eq!(client.ask("GET key:0").text(), value);
    let resized = Command::new("mount").args(["-o", "remount,size=64m"]).arg(&disk).status();
    assert!(resized.expect("mount is there").success());
    wait_for(&mut client, "INFO persistence", "aof_last_write_status:ok");
    assert_eq!(client.ask("SET after 1"), ok());
    let before = digest(&server);
    assert!(server.stop().success());
    assert!(server.start_again(&args));
    assert_eq!(digest(&server), before);
    server.kill();
}
