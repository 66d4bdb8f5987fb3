//! What a replica has acknowledged, and replicas that cannot go on: one that stops reading, one whose disk fails.

use crate::{follow, info, start, wait_for_link, wait_for_same_data, wait_until};
use larder_testkit::{Client, FaultyDisk, Kind, Server, Value, full_run, seed};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Writers that wait for the replica.
const WRITERS: usize = 4;
/// Keys that each of them overwrites again and again.
const KEYS: u32 = 50;

/// Writes, and waits for one replica after every few commands; notes what it has acknowledged, until the primary is gone.
fn write_and_wait(
    mut client: Client,
    writer: usize,
    mut rng: fastrand::Rng,
    acknowledged: &Mutex<Vec<(String, u64)>>,
    waits: &AtomicUsize,
) {
    let mut number = 0;
    loop {
        let mut written = Vec::new();
        for _ in 0..rng.usize(1..6) {
            number += 1;
            let key = format!("k:{writer}:{}", rng.u32(..KEYS));
            if client.try_cmd(&["SET", &key, &number.to_string()]).is_err() {
                return;
            }
            written.push((key, number));
        }
        match client.try_cmd(&["WAIT", "1", "0"]) {
            Ok(Value::Int(1)) => acknowledged.lock().expect("no writer panics").extend(written),
            Ok(other) => panic!("WAIT without a limit says {other}"),
            Err(_) => return,
        }
        waits.fetch_add(1, Relaxed);
    }
}

/// The primary is killed at any moment: a replica that is promoted has everything that WAIT has promised.
#[test]
fn what_wait_has_promised_survives_a_promotion() {
    let seed = seed(u64::from(std::process::id()));
    println!("SEED={seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    for round in 0..if full_run() { 100 } else { 5 } {
        let mut primary = start(Kind::Larder, &["--threads", "2"]);
        let replica = start(Kind::Larder, &["--threads", "2"]);
        let mut theirs = replica.client();
        follow(&mut theirs, &primary);
        wait_for_link(&mut theirs);
        let (acknowledged, waits) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for writer in 0..WRITERS {
                let (client, rng) = (primary.client(), fastrand::Rng::with_seed(rng.u64(..)));
                let (acknowledged, waits) = (&acknowledged, &waits);
                scope.spawn(move || write_and_wait(client, writer, rng, acknowledged, waits));
            }
            let enough = rng.usize(1..200);
            wait_until("the replica acknowledges", || waits.load(Relaxed) >= enough);
            primary.kill();
        });
        assert_eq!(theirs.ask("REPLICAOF NO ONE").text(), "OK");
        for (key, number) in acknowledged.into_inner().expect("no writer panics") {
            let value: u64 = theirs.cmd(&["GET", &key]).text().parse().unwrap_or(0);
            // A later value of the same writer may have come as well.
            assert!(
                value >= number,
                "SEED={seed} round {round}: {key} is {value}, {number} was acknowledged"
            );
        }
    }
}

/// A replica that stops reading is cut off when it lacks more than it may, holds up nobody, and catches up afterwards.
#[test]
fn a_replica_that_stops_reading_is_cut_off() {
    let primary = start(
        Kind::Larder,
        &["--client-output-buffer-limit", "replica 1mb 0 0", "--repl-backlog-size", "100kb"],
    );
    let (stopped, other) = (start(Kind::Larder, &[]), start(Kind::Larder, &[]));
    for replica in [&stopped, &other] {
        let mut theirs = replica.client();
        follow(&mut theirs, &primary);
        wait_for_link(&mut theirs);
    }
    let mut ours = primary.client();
    wait_until("both are there", || info(&mut ours, "replication", "connected_slaves") == "2");
    stopped.signal("STOP");
    let value = "x".repeat(100_000);
    let mut count = 0;
    wait_until("it is cut off", || {
        for _ in 0..10 {
            count += 1;
            assert_eq!(ours.cmd(&["SET", &format!("key:{}", count % 100), &value]).text(), "OK");
            // The other one is given the time to read.
            assert_eq!(ours.ask("WAIT 1 10000"), Value::Int(1));
        }
        info(&mut ours, "replication", "connected_slaves") == "1"
    });
    let kept: u64 = info(&mut ours, "memory", "mem_replication_backlog").parse().expect("a number");
    assert!(kept < 4 << 20, "{kept} bytes are kept");
    stopped.signal("CONT");
    wait_for_same_data("the one that goes on", &primary, &stopped);
    wait_for_same_data("the other", &primary, &other);
}

/// A replica whose disk takes no snapshot keeps what it has, and tries again.
#[test]
fn a_replica_whose_disk_is_full_keeps_its_data() {
    const ENOSPC: i32 = 28;
    let primary = start(Kind::Larder, &[]);
    let mut ours = primary.client();
    for n in 0..1000 {
        ours.cmd(&["SET", &format!("key:{n}"), &"x".repeat(100)]);
    }
    let disk = FaultyDisk::default();
    let replica = disk.start(Kind::Larder, &["--repl-timeout", "20", "--enable-debug-command", "yes"]);
    let mut theirs = replica.client();
    theirs.ask("SET own value");
    for call in ["write", "sync", "rename"] {
        disk.fail(&format!("{call} .rdb {ENOSPC}"));
        let failed = tries_without_success(&replica);
        follow(&mut theirs, &primary);
        wait_until(&format!("{call} fails"), || tries_without_success(&replica) > failed);
        assert_eq!(theirs.ask("GET own").text(), "value", "{call}");
        assert_eq!(info(&mut theirs, "replication", "master_link_status"), "down", "{call}");
        theirs.ask("REPLICAOF NO ONE");
    }
    disk.heal();
    follow(&mut theirs, &primary);
    wait_for_same_data("the disk works again", &primary, &replica);
    assert_eq!(theirs.ask("GET own"), Value::NullBulk);
}

/// How often the server has said that the disk is full.
fn tries_without_success(replica: &Server) -> usize {
    replica.log().matches("No space left on device").count()
}
