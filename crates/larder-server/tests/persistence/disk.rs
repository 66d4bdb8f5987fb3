//! Disks that fail under a running server: what it answers, what it keeps, and that it is what redis-server answers and
//! keeps.

use crate::{digest, wait_for};
use larder_testkit::{Client, FaultyDisk, Kind, Server, Value, wait_until_rewritten};
use std::fs;
use std::time::Duration;

const ENOSPC: i32 = 28;
const EIO: i32 = 5;

const SERVERS: [Kind; 2] = [Kind::Larder, Kind::Redis];

/// A server and what is wrong with its disk.
pub(super) struct Faulty {
    pub server: Server,
    disk: FaultyDisk,
    pub args: Vec<&'static str>,
}

impl Faulty {
    pub fn start(kind: Kind, args: &[&'static str]) -> Faulty {
        let disk = FaultyDisk::default();
        let args = [&["--enable-debug-command", "yes"], args].concat();
        let server = disk.start(kind, &args);
        Faulty { server, disk, args }
    }

    /// What fails from now on.
    pub fn fail(&self, faults: &str) {
        self.disk.fail(faults);
    }

    pub fn heal(&self) {
        self.disk.heal();
    }

    /// [`crash`](Self::crash), when what is in the log's buffer is in its file: Valkey holds it back while a sync is under way.
    pub fn crash_when_written(&mut self) {
        wait_for(&mut self.client(), "INFO persistence", "aof_buffer_length:0");
        self.crash();
    }

    /// kill -9, and a start on a disk that works.
    pub fn crash(&mut self) {
        self.server.kill();
        self.restart();
    }

    fn restart(&mut self) {
        self.heal();
        assert!(self.server.start_again(&self.args), "{}", self.server.log());
    }

    pub fn client(&self) -> Client {
        self.server.client()
    }
}

/// An error without what names the script that it comes from, and the product: Valkey, and Larder with it, says that in other words than
/// the redis-server that these tests run beside.
fn without_script(reply: Value) -> Value {
    match reply {
        Value::Error(text) => {
            Value::Error(text.split(" script: ").next().unwrap_or_default().replace("Redis", "Valkey"))
        }
        reply => reply,
    }
}

/// Runs the same on both servers, whose answers must be the same.
fn on_both(args: &[&'static str], run: impl Fn(&mut Faulty) -> Vec<Value>) {
    let [ours, theirs] = SERVERS.map(|kind| {
        let replies = run(&mut Faulty::start(kind, args)).into_iter();
        replies.map(without_script).collect::<Vec<_>>()
    });
    assert_eq!(ours, theirs);
}

fn logged(policy: &'static str) -> [&'static str; 4] {
    ["--appendonly", "yes", "--appendfsync", policy]
}

#[test]
fn a_log_that_cannot_be_written_refuses_writes_and_heals() {
    for policy in ["everysec", "no"] {
        for fault in [format!("write .incr.aof {EIO}"), format!("write .incr.aof {ENOSPC} short")] {
            on_both(&logged(policy), |faulty| {
                let mut client = faulty.client();
                let mut replies = vec![client.ask("SET before 1")];
                faulty.fail(&fault);
                // It is done when its write fails: nobody can take it back.
                replies.push(client.ask("SET unlucky 1"));
                wait_for(&mut client, "INFO persistence", "aof_last_write_status:err");
                for line in ["SET refused 1", "PING", "GET unlucky", "EVAL return(redis.call('set','x',1)) 0"]
                {
                    replies.push(client.ask(line));
                }
                client.ask("MULTI");
                replies.push(client.ask("SET refused 1"));
                replies.push(client.ask("EXEC"));
                faulty.heal();
                wait_for(&mut client, "INFO persistence", "aof_last_write_status:ok");
                replies.push(client.ask("SET after 1"));
                faulty.crash_when_written();
                replies.push(faulty.client().ask("EXISTS before unlucky after"));
                replies.push(faulty.client().ask("EXISTS refused"));
                replies
            });
        }
    }
}

/// A part of a command is in the file, and the disk does not let it be taken back: the rest of the command comes next.
#[test]
fn a_write_that_cannot_be_undone_is_completed() {
    let mut faulty = Faulty::start(Kind::Larder, &logged("everysec"));
    let mut client = faulty.client();
    assert!(!client.ask("SET before 1").is_error());
    faulty.fail(&format!("write .incr.aof {ENOSPC} short\ntruncate .incr.aof {EIO}"));
    client.cmd(&["SET", "unlucky", &"x".repeat(1000)]);
    wait_for(&mut client, "INFO persistence", "aof_last_write_status:err");
    faulty.heal();
    wait_for(&mut client, "INFO persistence", "aof_last_write_status:ok");
    assert!(!client.ask("SET after 1").is_error());
    faulty.crash_when_written();
    assert_eq!(faulty.client().ask("EXISTS before unlucky after"), Value::Int(3));
}

#[test]
fn a_log_that_cannot_be_synced_refuses_writes() {
    on_both(&logged("everysec"), |faulty| {
        let mut client = faulty.client();
        faulty.fail(&format!("sync .incr.aof {EIO}"));
        let mut replies = vec![client.ask("SET unlucky 1")];
        wait_for(&mut client, "INFO persistence", "aof_last_write_status:err");
        replies.push(client.ask("SET refused 1"));
        replies.push(client.ask("GET unlucky"));
        replies
    });
    // redis-server syncs only what is new, and there is nothing new: Larder tries again.
    let faulty = Faulty::start(Kind::Larder, &logged("everysec"));
    let mut client = faulty.client();
    faulty.fail(&format!("sync .incr.aof {EIO}"));
    client.ask("SET unlucky 1");
    wait_for(&mut client, "INFO persistence", "aof_last_write_status:err");
    faulty.heal();
    wait_for(&mut client, "INFO persistence", "aof_last_write_status:ok");
    assert!(!client.ask("SET after 1").is_error());
    assert_eq!(client.ask("WAITAOF 1 0 0").items()[0], Value::Int(1));
}

#[test]
fn with_always_a_failure_ends_the_server_before_it_answers() {
    let write = "Can't recover from AOF write error when the AOF fsync policy is 'always'. Exiting...";
    let sync = "Can't persist AOF for fsync error when the AOF fsync policy is 'always': Input/output error. Exiting...";
    let faults = [
        (format!("write .incr.aof {ENOSPC}"), write, true),
        (format!("write .incr.aof {ENOSPC} short"), write, true),
        (format!("sync .incr.aof {EIO}"), sync, false),
    ];
    for (fault, said, is_lost) in faults {
        for kind in SERVERS {
            let mut faulty = Faulty::start(kind, &logged("always"));
            let (mut client, mut other) = (faulty.client(), faulty.client());
            assert!(!client.ask("SET before 1").is_error());
            faulty.fail(&fault);
            client.send(&["SET", "unlucky", "1"]);
            other.send(&["RPUSH", "unlucky2", "1"]);
            assert!(client.read().is_err() && other.read().is_err(), "{kind:?} answers in spite of {fault}");
            assert_eq!(faulty.server.wait().code(), Some(1), "{kind:?}");
            assert!(faulty.server.log().contains(said), "{kind:?}: {}", faulty.server.log());
            faulty.restart();
            let kept = faulty.client().ask("EXISTS before unlucky unlucky2");
            assert!(
                kept == Value::Int(1) || !is_lost && matches!(kept, Value::Int(2..=3)),
                "{kind:?}: {kept}"
            );
        }
    }
}

#[test]
fn a_snapshot_on_a_disk_that_fails_leaves_the_last_one() {
    let writes = format!("write temp- {ENOSPC}\nfwrite temp- {ENOSPC}");
    let args = ["--save", "3600 1000000"];
    for fault in [writes, format!("sync temp- {EIO}"), format!("rename temp- {EIO}")] {
        on_both(&args, |faulty| {
            let mut client = faulty.client();
            let mut replies = vec![client.ask("SET before 1"), client.ask("SAVE")];
            let dump = faulty.server.dir().join("dump.rdb");
            let good = fs::read(&dump).expect("it is there");
            faulty.fail(&fault);
            replies.push(client.ask("SET unlucky 1"));
            replies.push(client.ask("BGSAVE"));
            wait_for(&mut client, "INFO persistence", "rdb_last_bgsave_status:err");
            for line in ["SET refused 1", "PING", "GET unlucky", "SAVE"] {
                replies.push(client.ask(line));
            }
            assert_eq!(fs::read(&dump).expect("it is there"), good);
            assert_eq!(leftovers(faulty), Vec::<String>::new());
            faulty.heal();
            replies.push(client.ask("SET refused 1"));
            replies.push(client.ask("BGSAVE"));
            wait_for(&mut client, "INFO persistence", "rdb_last_bgsave_status:ok");
            replies.push(client.ask("SET after 1"));
            faulty.crash();
            replies.push(faulty.client().ask("EXISTS before unlucky"));
            replies.push(faulty.client().ask("EXISTS refused after"));
            replies
        });
    }
}

/// Temporary files that nobody has removed.
fn leftovers(faulty: &Faulty) -> Vec<String> {
    let dirs = [faulty.server.dir().to_owned(), faulty.server.dir().join("appendonlydir")];
    let files = dirs.iter().filter_map(|dir| fs::read_dir(dir).ok()).flatten();
    let names = files.map(|file| file.expect("it can be listed").file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("temp-")).collect()
}

#[test]
fn a_rewrite_on_a_disk_that_fails_leaves_files_that_work() {
    let writes = format!("write temp-rewriteaof {ENOSPC}\nfwrite temp-rewriteaof {ENOSPC}");
    for fault in [writes, format!("sync temp-rewriteaof {EIO}"), format!("rename temp-rewriteaof {EIO}")] {
        on_both(&logged("everysec"), |faulty| {
            let mut client = faulty.client();
            let mut replies = vec![client.ask("RPUSH list 1")];
            faulty.fail(&fault);
            for number in 2..4 {
                replies.push(client.ask("BGREWRITEAOF"));
                wait_for(&mut client, "INFO persistence", "aof_last_bgrewrite_status:err");
                wait_for(&mut client, "INFO persistence", "aof_rewrite_in_progress:0");
                replies.push(client.ask(&format!("RPUSH list {number}")));
            }
            replies.push(client.ask("LRANGE list 0 -1"));
            faulty.crash_when_written();
            let mut client = faulty.client();
            replies.push(client.ask("LRANGE list 0 -1"));
            replies.push(client.ask("BGREWRITEAOF"));
            wait_for(&mut client, "INFO persistence", "aof_rewrite_in_progress:0");
            wait_for(&mut client, "INFO persistence", "aof_last_bgrewrite_status:ok");
            replies.push(client.ask("RPUSH list last"));
            faulty.crash_when_written();
            replies.push(faulty.client().ask("LRANGE list 0 -1"));
            replies
        });
    }
}

/// What the manifest says cannot be changed: the files it lists go on to be the ones that count.
#[test]
fn a_manifest_that_cannot_be_written_leaves_the_old_one_working() {
    let faults = ["sync temp-appendonly.aof.manifest", "rename temp-appendonly.aof.manifest"];
    for (fault, from) in faults.into_iter().flat_map(|fault| [(fault, "begin"), (fault, "end")]) {
        let mut faulty = Faulty::start(Kind::Larder, &logged("everysec"));
        let mut client = faulty.client();
        client.ask("RPUSH list 1");
        if from == "end" {
            // Large enough for the fault to come after the first manifest of the rewrite.
            client.cmd(&["EVAL", "for i = 1, 300000 do redis.call('set', i, i) end", "0"]);
        } else {
            faulty.fail(&format!("{fault} {EIO}"));
        }
        client.ask("BGREWRITEAOF");
        if from == "end" {
            let next = faulty.server.dir().join("appendonlydir/appendonly.aof.2.incr.aof");
            while !fs::read_to_string(faulty.server.dir().join("appendonlydir/appendonly.aof.manifest"))
                .is_ok_and(|text| text.contains("2.incr"))
            {
                std::thread::sleep(Duration::from_millis(1));
            }
            faulty.fail(&format!("{fault} {EIO}"));
            assert!(next.exists());
        }
        wait_for(&mut client, "INFO persistence", "aof_last_bgrewrite_status:err");
        client.ask("RPUSH list 2");
        let before = digest(&faulty.server);
        faulty.crash();
        assert_eq!(digest(&faulty.server), before, "{fault} at the {from}");
        let mut client = faulty.client();
        client.ask("BGREWRITEAOF");
        wait_for(&mut client, "INFO persistence", "aof_rewrites:1");
        client.ask("RPUSH list 3");
        let before = digest(&faulty.server);
        faulty.crash();
        assert_eq!(digest(&faulty.server), before, "{fault} at the {from}");
    }
}

/// Switched on while no manifest can be written, nothing is promised that a restart would forget.
#[test]
fn a_log_whose_manifest_fails_is_begun_again() {
    let mut faulty = Faulty::start(Kind::Larder, &[]);
    let mut client = faulty.client();
    client.ask("SET before 1");
    faulty.fail(&format!("rename temp-appendonly.aof.manifest {EIO}"));
    client.ask("CONFIG SET appendonly yes");
    wait_for(&mut client, "INFO persistence", "aof_last_bgrewrite_status:err");
    client.ask("SET meanwhile 1");
    faulty.heal();
    wait_for(&mut client, "INFO persistence", "aof_rewrites:1");
    client.ask("SET after 1");
    faulty.args.extend(["--appendonly", "yes"]);
    faulty.crash();
    assert_eq!(faulty.client().ask("EXISTS before meanwhile after"), Value::Int(3));
}

/// With an option for it, a large file is sent to the disk while it is written: then it matters that this fails.
#[test]
fn large_files_are_synced_little_by_little() {
    for option in ["--rdb-save-incremental-fsync", "--aof-rewrite-incremental-fsync"] {
        for value in ["yes", "no"] {
            let faulty = Faulty::start(
                Kind::Larder,
                &[
                    "--appendonly",
                    "yes",
                    "--rdbcompression",
                    "no",
                    "--list-compress-depth",
                    "0",
                    option,
                    value,
                ],
            );
            let mut client = faulty.client();
            // More than is written between two of these calls.
            client.ask("DEBUG POPULATE 40 big 1000000");
            faulty.fail(&format!("range / {EIO}"));
            let works = if option.starts_with("--rdb") {
                client.ask("SAVE").text() == "OK"
            } else {
                client.ask("BGREWRITEAOF");
                wait_until_rewritten(&mut client);
                client.ask("INFO persistence").text().contains("aof_last_bgrewrite_status:ok")
            };
            assert_eq!(works, value == "no", "{option} {value}");
        }
    }
}

/// A replica that cannot write its append-only file ends, as its acknowledgements would be lies; `replica-ignore-disk-write-errors` has it
/// go on.
#[test]
fn a_replica_that_cannot_write_its_log() {
    let primary = Server::larder(&["--repl-diskless-sync-delay", "0"]);
    let mut ours = primary.client();
    for ignores in [false, true] {
        let args = [
            "--appendonly",
            "yes",
            "--replica-ignore-disk-write-errors",
            if ignores { "yes" } else { "no" },
            "--use-exit-on-panic",
            "yes",
        ];
        let mut replica = Faulty::start(Kind::Larder, &args);
        let mut theirs = replica.client();
        theirs.ask(&format!("REPLICAOF 127.0.0.1 {}", primary.port()));
        wait_for(&mut theirs, "INFO replication", "master_link_status:up");
        replica.fail(&format!("write .incr.aof {EIO}"));
        ours.ask("SET first 1");
        if ignores {
            wait_for(&mut theirs, "INFO persistence", "aof_last_write_status:err");
            ours.ask("SET second 1");
            wait_for(&mut theirs, "GET second", "1");
            replica.heal();
            wait_for(&mut theirs, "INFO persistence", "aof_last_write_status:ok");
        } else {
            replica.server.wait_for_log("this replica cannot write its append-only file");
            assert!(!replica.server.wait().success());
        }
    }
}
