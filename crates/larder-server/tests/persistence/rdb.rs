//! Snapshots.

use crate::samples::{ROUNDS, fill};
use crate::{carry, digest, ok, tool, wait_for};
use larder_testkit::{Kind, Server, Value};

#[test]
fn a_restart_brings_everything_back() {
    for threads in ["1", "2", "4"] {
        let mut server = Server::larder(&["--threads", threads]);
        let mut client = server.client();
        fill(&mut client);
        client.ask("SELECT 9");
        client.ask("SET there 1 EX 10000");
        client.ask("HSET fields a 1 b 2");
        client.ask("HEXPIRE fields 1000 FIELDS 1 a");
        let (before, time) = (digest(&server), client.ask("PEXPIRETIME there"));
        let field_time = client.ask("HPEXPIRETIME fields FIELDS 1 a");
        assert_eq!(client.ask("SAVE"), ok());
        assert!(client.ask("INFO persistence").text().contains("rdb_changes_since_last_save:0\r\n"));
        server.kill();
        assert!(server.start_again(&["--threads", threads, "--enable-debug-command", "yes"]));
        assert_eq!(digest(&server), before);
        let mut client = server.client();
        client.ask("SELECT 9");
        assert_eq!(client.ask("PEXPIRETIME there"), time);
        assert_eq!(client.ask("HPEXPIRETIME fields FIELDS 1 a"), field_time);
        assert_eq!(client.ask("DEBUG RELOAD"), ok());
        assert_eq!(digest(&server), before);
    }
}

/// Those of SAVE and in the background count, when they begin; those that come with something else do not.
#[test]
fn snapshots_are_counted_as_valkey_counts_them() {
    let [ours, theirs] = [Kind::Larder, Kind::Valkey].map(|kind| {
        let server = Server::of(kind, &["--save", "3600 1000000"]);
        let mut client = server.client();
        client.ask("SET a 1");
        let mut counts = Vec::new();
        let mut run = |line: &str| {
            client.ask(line);
            let info = client.ask("INFO persistence").text();
            counts.push(format!("{line}: {:?}", info.lines().find(|line| line.starts_with("rdb_saves"))));
            wait_for(&mut client, "INFO persistence", "rdb_bgsave_in_progress:0");
        };
        for line in ["FLUSHALL", "SET a 1", "SAVE", "DEBUG RELOAD", "BGSAVE"] {
            run(line);
        }
        // Not even root can make a file where a directory is.
        let in_the_way = server.dir().join(format!("temp-{}.rdb", server.pid()));
        std::fs::create_dir(&in_the_way).expect("it is writable");
        for line in ["SAVE", "BGSAVE", "SHUTDOWN SAVE"] {
            run(line);
        }
        // For the server to end it must be able to save.
        std::fs::remove_dir(&in_the_way).expect("it is empty");
        counts
    });
    assert_eq!(ours, theirs);
}

/// Changes since the last snapshot, by which save points go, are no statistics that are reset.
#[test]
fn changes_are_counted_on_when_statistics_are_reset() {
    let [ours, theirs] = [Kind::Larder, Kind::Valkey].map(|kind| {
        let server = Server::of(kind, &["--save", "3600 1000000"]);
        let mut client = server.client();
        let mut counts = Vec::new();
        for line in [
            "SET a 1",
            "RPUSH l a b c",
            "CONFIG RESETSTAT",
            "SET a 2",
            "BGSAVE",
            "CONFIG RESETSTAT",
            "SET a 3",
        ] {
            client.ask(line);
            wait_for(&mut client, "INFO persistence", "rdb_bgsave_in_progress:0");
            let info = client.ask("INFO persistence").text();
            let changes = info.lines().find(|line| line.starts_with("rdb_changes_since")).map(str::to_owned);
            counts.push((line, changes));
        }
        counts
    });
    assert_eq!(ours, theirs);
}

#[test]
fn files_go_both_ways() {
    for args in ROUNDS {
        let ours = [&["--rdb-target-version", "10"][..], args].concat();
        let (mut larder, mut redis) = (Server::larder(&ours), Server::redis(args));
        fill(&mut redis.client());
        assert_eq!(redis.client().ask("SAVE"), ok());
        let before = digest(&redis);
        carry("dump.rdb", redis.dir(), larder.dir());
        larder.kill();
        assert!(larder.start_again(&[&["--enable-debug-command", "yes"], &ours[..]].concat()));
        assert_eq!(digest(&larder), before);

        larder.client().ask("SET one more");
        let before = digest(&larder);
        assert_eq!(larder.client().ask("SAVE"), ok());
        let check = tool("redis-check-rdb", &larder.dir().join("dump.rdb"));
        assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stdout));
        redis.kill();
        carry("dump.rdb", larder.dir(), redis.dir());
        assert!(redis.start_again(&[&["--enable-debug-command", "yes"], args].concat()));
        assert_eq!(digest(&redis), before);
    }
}

#[test]
fn the_end_of_the_server_saves_when_save_points_say_so() {
    let mut server = Server::larder(&["--save", "3600 1"]);
    let mut client = server.client();
    client.ask("RPUSH list a b c");
    assert!(server.stop().success());
    assert!(server.start_again(&[]));
    assert_eq!(server.client().ask("LLEN list"), Value::Int(3));
    let mut client = server.client();
    client.ask("SET gone 1");
    client.send(&["SHUTDOWN", "NOSAVE"]);
    assert!(server.wait().success());
    assert!(server.start_again(&[]));
    assert_eq!(server.client().ask("EXISTS gone list"), Value::Int(1));
    let mut client = server.client();
    client.ask("SET kept 1");
    client.send(&["SHUTDOWN", "SAVE"]);
    assert!(server.wait().success());
    assert!(server.start_again(&[]));
    assert_eq!(server.client().ask("EXISTS kept"), Value::Int(1));
}

#[test]
fn a_save_point_starts_a_snapshot() {
    let server = Server::larder(&["--save", "1 2"]);
    let mut client = server.client();
    client.ask("SET a 1");
    client.ask("SET b 1");
    wait_for(&mut client, "INFO persistence", "rdb_saves:1");
    wait_for(&mut client, "INFO persistence", "rdb_bgsave_in_progress:0");
    assert!(server.dir().join("dump.rdb").exists());
}

#[test]
fn keys_whose_time_is_over_are_left_out() {
    let mut server = Server::larder(&[]);
    let mut client = server.client();
    client.ask("DEBUG SET-ACTIVE-EXPIRE 0");
    client.ask("SET a 1 PX 1");
    client.ask("SET b 1 PX 100000");
    assert_eq!(client.ask("SAVE"), ok());
    server.kill();
    assert!(server.start_again(&[]));
    let mut client = server.client();
    assert_eq!(client.ask("DBSIZE"), Value::Int(1));
    assert!(client.ask("INFO persistence").text().contains("rdb_last_load_keys_expired:1\r\n"));
}

#[test]
fn replies_are_those_of_valkey() {
    let servers = [Server::larder(&[]), Server::valkey(&[])];
    let replies = servers.map(|server| {
        let mut client = server.client();
        let mut replies = Vec::new();
        for line in [
            "BGSAVE x",
            "BGSAVE SCHEDULE x",
            "SAVE now",
            "LASTSAVE now",
            "BGREWRITEAOF now",
            "DEBUG RELOAD what",
            "BGSAVE",
            "WAIT 0 0",
            "WAIT x 0",
            "WAIT 0 x",
            "WAIT 0 -1",
            "WAIT 1 5",
            "SAVE",
        ] {
            wait_for(&mut client, "INFO persistence", "rdb_bgsave_in_progress:0");
            replies.push((line, client.ask(line)));
        }
        for line in ["MULTI", "SAVE", "DISCARD"] {
            replies.push((line, client.ask(line)));
        }
        replies
    });
    assert_eq!(replies[0], replies[1]);
}

#[test]
fn flushing_and_swapping_leave_a_snapshot_alone() {
    let mut server = Server::larder(&["--threads", "2"]);
    let mut client = server.client();
    for db in 0..3 {
        client.ask(&format!("SELECT {db}"));
        for i in 0..20_000 {
            client.send(&["SET", &format!("key:{db}:{i}"), "some value of a few bytes"]);
        }
        (0..20_000).for_each(|_| drop(client.read().expect("it replies")));
    }
    let before = digest(&server);
    assert!(client.ask("BGSAVE").text().contains("started"));
    client.ask("SWAPDB 0 1");
    client.ask("SELECT 2");
    client.ask("FLUSHDB");
    client.ask("SELECT 0");
    client.ask("FLUSHDB");
    client.ask("SET new 1");
    wait_for(&mut client, "INFO persistence", "rdb_bgsave_in_progress:0");
    server.kill();
    assert!(server.start_again(&["--enable-debug-command", "yes"]));
    assert_eq!(digest(&server), before);
}
