//! Payloads and files of enemies, with right checksums: a clear error or a value like any other, nothing else changed, no
//! panic, and no more memory than their bytes justify. The decoders alone: `larder-rdb/tests/hostile`.

use crate::samples::fill;
use crate::{checked, digest};
use fastrand::Rng;
use larder_testkit::{Client, Server, Value, mutate, seed};
use std::fs;

const PAYLOADS: u64 = 3000;
const FILES: u64 = 40;
/// More than hostile bytes, LZF that makes 88 of one, and buffers may take together.
const MEMORY_MAX_BYTES: u64 = 64 << 20;

const LOGGED: &[&str] = &["--appendonly", "yes", "--enable-debug-command", "yes"];

/// The most memory that a process has had resident since it was last reset.
fn peak_bytes(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("the process is there");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("Linux tells it");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("it is a number") * 1024
}

fn reset_peak(pid: u32) {
    fs::write(format!("/proc/{pid}/clear_refs"), "5").expect("it is our own child");
}

fn payload(client: &mut Client, key: &str) -> Vec<u8> {
    match client.cmd(&["DUMP", key]) {
        Value::Bulk(bytes) => bytes,
        other => panic!("DUMP {key}: {other}"),
    }
}

#[test]
fn hostile_payloads_change_nothing_else() {
    let first = seed(1);
    let server = Server::larder(&["--threads", "2"]);
    let mut client = server.client();
    let keys = fill(&mut client);
    let payloads: Vec<_> = keys.iter().map(|key| payload(&mut client, key)).collect();
    let before = digest(&server);
    reset_peak(server.pid());
    let peak = peak_bytes(server.pid());
    for seed in first..first + PAYLOADS {
        let mut rng = Rng::with_seed(seed);
        let (good, other) = (&payloads[rng.usize(..payloads.len())], &payloads[rng.usize(..payloads.len())]);
        let mut bytes = good[..good.len() - 10].to_vec();
        mutate::damage(&mut rng, &mut bytes, other);
        bytes.extend_from_slice(&[11, 0]);
        let reply = client.cmd::<&[u8]>(&[b"RESTORE", b"hostile", b"0", &checked(bytes)]);
        let is_there = client.ask("EXISTS hostile") == Value::Int(1);
        assert_eq!(reply.is_error(), !is_there, "SEED={seed}: {reply}");
        if is_there {
            for line in ["DUMP hostile", "DEBUG DIGEST-VALUE hostile", "MEMORY USAGE hostile", "DEL hostile"]
            {
                let reply = client.ask(line);
                assert!(!reply.is_error(), "SEED={seed} {line}: {reply}");
            }
        }
    }
    let grown = peak_bytes(server.pid()).saturating_sub(peak);
    assert!(grown < MEMORY_MAX_BYTES, "SEED={first}: {grown} bytes");
    assert_eq!(digest(&server), before, "SEED={first}");
    assert!(!server.log().contains("panicked"), "SEED={first}: {}", server.log());
}

/// Starts a server on damaged files: it either serves, or ends with code 1 and says why.
fn start_on_damaged(server: &mut Server, args: &[&str], file: &str, own_seed: u64, has_checksum: bool) {
    let path = server.dir().join(file);
    let good = fs::read(&path).expect("it is there");
    let first = seed(own_seed);
    let (mut started, mut refused) = (0, 0);
    for seed in first..first + FILES {
        let mut rng = Rng::with_seed(seed);
        let mut bytes = good.clone();
        if has_checksum {
            bytes.truncate(good.len() - 8);
        }
        mutate::damage(&mut rng, &mut bytes, &good);
        fs::write(&path, if has_checksum { checked(bytes) } else { bytes }).expect("it is writable");
        if server.start_again(args) {
            started += 1;
            assert!(peak_bytes(server.pid()) < 4 * MEMORY_MAX_BYTES, "SEED={seed}");
            assert!(!server.client().ask("DBSIZE").is_error(), "SEED={seed}");
            server.kill();
        } else {
            refused += 1;
            assert_eq!(server.wait().code(), Some(1), "SEED={seed}");
        }
        assert!(!server.log().contains("panicked"), "SEED={seed}: {}", server.log());
    }
    assert!(started > 0 && refused > 0, "SEED={first}: {started} starts, {refused} refusals");
}

#[test]
fn hostile_snapshots_are_loaded_or_refused() {
    let mut server = Server::larder(&[]);
    let mut client = server.client();
    fill(&mut client);
    client.ask("SAVE");
    server.kill();
    start_on_damaged(&mut server, &["--enable-debug-command", "yes"], "dump.rdb", 1000, true);
}

#[test]
fn hostile_logs_are_loaded_or_refused() {
    let mut server = Server::larder(LOGGED);
    let mut client = server.client();
    for number in 0..20 {
        for line in
            ["RPUSH list", "SADD set a", "HSET hash f", "XADD stream * f", "ZADD zset 1", "SET string"]
        {
            client.ask(&format!("{line} {number}"));
        }
        client.ask("MULTI");
        client.ask("INCR count");
        client.ask("LPOP list");
        client.ask("EXEC");
    }
    server.kill();
    let log = "appendonlydir/appendonly.aof.1.incr.aof";
    start_on_damaged(&mut server, LOGGED, log, 2000, false);
}
