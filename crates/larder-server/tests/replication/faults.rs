//! Links that break anywhere, servers that are killed, primaries that lie.

use crate::proxy::Proxy;
use crate::{StopAtEnd, follow, info, start, wait_for_link, wait_for_same_data, wait_until, write_until};
use larder_testkit::{Kind, Value, full_run, seed};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::atomic::AtomicBool;

/// The link is cut at random bytes, in the handshake, the snapshot, the stream and the middle of transactions, while clients write;
/// in the end the data is the same.
#[test]
fn cut_links_lose_nothing() {
    let rounds = if full_run() { 500 } else { 10 };
    let seed = seed(u64::from(std::process::id()));
    println!("SEED={seed}");
    for (kind, other, compression) in [
        (Kind::Larder, Kind::Larder, "no"),
        (Kind::Larder, Kind::Larder, "zstd"),
        (Kind::Larder, Kind::Larder, "lz4"),
        (Kind::Valkey, Kind::Larder, "zstd"),
        (Kind::Larder, Kind::Valkey, "no"),
        (Kind::Larder, Kind::Redis, "no"),
    ] {
        let args: &[&str] = if kind == Kind::Larder { &["--threads", "2"] } else { &[] };
        // A small backlog, so that some links need a snapshot and some do not.
        let primary = start(kind, &[args, &["--repl-backlog-size", "100000"]].concat());
        let wish: &[&str] = &["--repl-compression", compression];
        let replica = start(other, if compression == "no" { &[] } else { wish });
        let proxy = Proxy::to(primary.port());
        let mut theirs = replica.client();
        theirs.ask(&format!("REPLICAOF 127.0.0.1 {}", proxy.port()));
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for writer in 0..2 {
                let (mut client, stop) = (primary.client(), &stop);
                let mut rng = fastrand::Rng::with_seed(seed + writer);
                scope.spawn(move || write_until(&mut client, &mut rng, 2, stop));
            }
            let _stops = StopAtEnd(&stop);
            let mut rng = fastrand::Rng::with_seed(seed ^ 1);
            for _ in 0..rounds {
                let bytes = if rng.bool() { rng.i64(0..2000) } else { rng.i64(0..400_000) };
                proxy.cut_after(bytes);
                wait_until("the link is cut", || proxy.has_cut());
                // Sometimes it comes up before it is cut again.
                if rng.bool() {
                    wait_for_link(&mut theirs);
                }
            }
        });
        let what = format!("SEED={seed} {} follows {}, {compression}", other.name(), kind.name());
        wait_for_same_data(&what, &primary, &replica);
    }
}

/// A snapshot that comes while a script runs for too long is loaded when that has ended, and is not thrown away to be sent again. Meanwhile the old
/// data is there, and the script can be ended.
#[test]
fn a_snapshot_waits_for_the_end_of_a_script() {
    for load in ["disabled", "flush-before-load"] {
        let mut primary = start(Kind::Larder, &[]);
        primary.client().ask("SET before 1");
        let replica = start(
            Kind::Larder,
            &["--repl-diskless-load", load, "--busy-reply-threshold", "50", "--threads", "2"],
        );
        let (mut theirs, mut runs) = (replica.client(), replica.client());
        follow(&mut theirs, &primary);
        wait_for_same_data("before", &primary, &replica);
        runs.send(&["EVAL_RO", "while true do end", "0"]);
        wait_until("the replica is busy", || theirs.ask("GET before").text().starts_with("BUSY"));
        primary.client().send(&["SHUTDOWN", "NOSAVE"]);
        primary.wait();
        assert!(primary.start_again(&["--repl-diskless-sync-delay", "0", "--enable-debug-command", "yes"]));
        let mut ours = primary.client();
        ours.ask("SET after 1");
        replica.wait_for_log("Waiting for the running script to end");
        assert!(theirs.ask("GET before").text().starts_with("BUSY"), "it is not being loaded yet");
        assert_eq!(theirs.ask("SCRIPT KILL").text(), "OK");
        assert!(runs.read().expect("an answer").text().contains("killed"));
        wait_for_same_data("after", &primary, &replica);
        assert_eq!(theirs.ask("GET after").text(), "1");
        assert_eq!(info(&mut ours, "stats", "sync_full"), "1", "{load}: it was sent again");
    }
}

/// Either side is killed while clients write: after a start of both the data is the same.
#[test]
fn either_side_may_be_killed() {
    let seed = seed(u64::from(std::process::id()));
    println!("SEED={seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    let common = ["--repl-diskless-sync-delay", "0", "--enable-debug-command", "yes", "--appendonly", "yes"];
    let mut primary = start(Kind::Larder, &["--appendonly", "yes"]);
    let mut replica = start(Kind::Larder, &["--appendonly", "yes"]);
    let upstream = format!("127.0.0.1 {}", primary.port());
    replica.client().ask(&format!("REPLICAOF {upstream}"));
    for round in 0..if full_run() { 40 } else { 4 } {
        let mut client = primary.client();
        for n in 0..rng.u32(100..2000) {
            client.send(&crate::random_writes::random_command(&mut rng));
            if n % 50 == 0 {
                client.send(&["SET", "round", &round.to_string()]);
            }
        }
        if rng.bool() {
            replica.kill();
            let args = [&common[..], &["--replicaof", &upstream]].concat();
            assert!(replica.start_again_without_waiting(&args), "SEED={seed}");
        } else {
            primary.kill();
            assert!(primary.start_again(&common), "SEED={seed}");
        }
        drop(client);
        wait_for_same_data(&format!("SEED={seed} round {round}"), &primary, &replica);
    }
}

/// What a primary may say that no primary should. The replica keeps what it had, and goes on serving it, or says what is wrong.
#[test]
fn a_primary_that_lies_does_no_harm() {
    let id = "a".repeat(40);
    let full = format!("+FULLRESYNC {id} 0\r\n");
    let lies: Vec<Vec<u8>> = vec![
        b"-ERR no\r\n".to_vec(),
        b"+CONTINUE short\r\n".to_vec(),
        b"+FULLRESYNC x y\r\n".to_vec(),
        format!("+FULLRESYNC {id} -5\r\n").into_bytes(),
        vec![b'x'; 100_000],
        [full.as_bytes(), b"-ERR cannot\r\n"].concat(),
        [full.as_bytes(), b"$x\r\n"].concat(),
        [full.as_bytes(), b"$99999999999999999999\r\n"].concat(),
        [full.as_bytes(), b"$EOF:short\r\n"].concat(),
        [full.as_bytes(), b"$5\r\nHELLO"].concat(),
        [full.as_bytes(), b"$18446744073709551615\r\nREDIS0011"].concat(),
        [full.as_bytes(), b"$100\r\nREDIS9999", &[0xff; 91]].concat(),
        [full.as_bytes(), b"$100\r\nREDIS0011\xfe\x00\xfb", &[0xff; 88]].concat(),
        [full.as_bytes(), format!("$EOF:{}\r\n", "b".repeat(40)).as_bytes(), b"VALKEY080", &[7; 500]]
            .concat(),
    ];
    for mode in ["disabled", "on-empty-db", "flush-before-load", "swapdb"] {
        let replica = start(Kind::Larder, &["--repl-diskless-load", mode, "--repl-timeout", "2"]);
        let mut client = replica.client();
        for lie in &lies {
            client.ask("REPLICAOF NO ONE");
            client.ask("SET kept 1");
            assert_eq!(client.ask("SAVE").text(), "OK");
            let saved = std::fs::read(replica.dir().join("dump.rdb")).unwrap();
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            client.ask(&format!("REPLICAOF 127.0.0.1 {}", listener.local_addr().unwrap().port()));
            let (mut link, _) = listener.accept().unwrap();
            let answered = answer_handshake(&mut link);
            assert!(answered, "{}", String::from_utf8_lossy(lie));
            let _ = link.write_all(lie);
            drop(link);
            // It comes again: what was said did not hang it.
            drop(listener.accept().unwrap());
            let now = std::fs::read(replica.dir().join("dump.rdb")).unwrap();
            assert_eq!(now, saved, "{mode}: {}", String::from_utf8_lossy(lie));
            let kept = client.ask("GET kept");
            if mode == "swapdb" {
                assert_eq!(kept.text(), "1", "{}", String::from_utf8_lossy(lie));
            }
            assert!(
                kept == Value::NullBulk || kept.text() == "1" || kept.text().starts_with("LOADING"),
                "{kept}"
            );
        }
        assert_eq!(info(&mut client, "replication", "role"), "slave");
    }
}

/// Says OK to everything up to PSYNC.
pub fn answer_handshake(link: &mut std::net::TcpStream) -> bool {
    let mut seen = Vec::new();
    let mut bytes = [0; 4096];
    while let Ok(n @ 1..) = link.read(&mut bytes) {
        seen.extend_from_slice(&bytes[..n]);
        if seen.windows(5).any(|word| word == b"PSYNC") {
            return true;
        }
        let count = seen
            .windows(5)
            .filter(|word| word.starts_with(b"\r\n*") || word.starts_with(b"*"))
            .count()
            .max(1);
        seen.clear();
        let _ = link.write_all("+OK\r\n".repeat(count.min(1)).as_bytes());
    }
    false
}

/// Commands that are not known here, or that fail, are noted and counted; the link goes on.
#[test]
fn unknown_commands_of_a_newer_primary_are_noted() {
    let replica = start(Kind::Larder, &[]);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    replica.client().ask(&format!("REPLICAOF 127.0.0.1 {}", listener.local_addr().unwrap().port()));
    let (mut link, _) = listener.accept().unwrap();
    assert!(answer_handshake(&mut link));
    let empty = b"REDIS0011\xff\0\0\0\0\0\0\0\0";
    let head = format!("+FULLRESYNC {} 100\r\n${}\r\n", "c".repeat(40), empty.len());
    link.write_all(head.as_bytes()).unwrap();
    link.write_all(empty).unwrap();
    link.write_all(b"*2\r\n$7\r\nFUTURE1\r\n$1\r\nx\r\n*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n1\r\n*2\r\n$4\r\nINCR\r\n$1\r\na\r\n*2\r\n$5\r\nLPUSH\r\n$1\r\na\r\n").unwrap();
    link.write_all(b"*3\r\n$5\r\nLPUSH\r\n$1\r\na\r\n$1\r\nx\r\n*3\r\n$3\r\nSET\r\n$1\r\nb\r\n$1\r\n1\r\n")
        .unwrap();
    let mut client = replica.client();
    wait_until("the stream goes on", || client.ask("GET b").text() == "1");
    assert_eq!(client.ask("GET a").text(), "2");
    assert!(replica.log().contains("FUTURE1") && replica.log().contains("CRITICAL"));
    assert_eq!(info(&mut client, "replication", "master_link_status"), "up");
}
