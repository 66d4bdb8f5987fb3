//! The snapshot of a primary as the file of its replica: the replica starts from what it has accepted, and other servers read it.

use crate::{follow, info, start, wait_for_link, wait_until};
use larder_testkit::{Client, Kind, Server};
use std::fs;

/// Lists and sorted sets among others: between Larders they travel as their blocks.
fn fill(client: &mut Client) {
    for number in 0..300 {
        client.ask(&format!("RPUSH list {number} element{number}"));
        client.ask(&format!("ZADD zset {number} member{number}"));
        client.ask(&format!("HSET hash field{number} {number}"));
        client.ask(&format!("SADD set {number} member{number}"));
    }
    client.ask("XADD stream 1-1 a b");
    client.ask("SET text v EX 100000");
}

fn digest(server: &Server) -> String {
    server.client().ask("DEBUG DIGEST").text()
}

/// What a link accepts, a start accepts: after kill -9, after an end without a save, after a promotion, and in each form.
#[test]
fn a_replica_starts_from_the_snapshot_of_its_primary() {
    for primary in [Kind::Redis8, Kind::Redis, Kind::Valkey, Kind::Larder] {
        let first = start(primary, &[]);
        fill(&mut first.client());
        for (end, is_empty) in
            [("kill", true), ("kill", false), ("SHUTDOWN NOSAVE", true), ("promotion", true)]
        {
            let what = format!("a replica of {primary:?}, {end}, empty: {is_empty}");
            let mut second = start(Kind::Larder, &[]);
            let mut client = second.client();
            if !is_empty {
                client.ask("SET own 1");
            }
            follow(&mut client, &first);
            wait_for_link(&mut client);
            let expected = digest(&second);
            if end == "promotion" {
                client.ask("REPLICAOF NO ONE");
            }
            if end == "SHUTDOWN NOSAVE" {
                client.send(&["SHUTDOWN", "NOSAVE"]);
                second.wait();
            } else {
                second.kill();
            }
            assert!(second.start_again(&["--enable-debug-command", "yes"]), "{what}: {}", second.log());
            assert_eq!(digest(&second), expected, "{what}");
            assert_eq!(second.client().ask("DEBUG RELOAD").text(), "OK", "{what}");
            assert_eq!(digest(&second), expected, "{what}");
        }
    }
}

/// With save points the file is soon one that other servers read, too.
#[test]
fn others_read_the_file_of_a_replica() {
    for primary in [Kind::Redis8, Kind::Larder] {
        let (first, second) = (start(primary, &[]), start(Kind::Larder, &["--save", "3600 1000000"]));
        fill(&mut first.client());
        let mut client = second.client();
        follow(&mut client, &first);
        wait_for_link(&mut client);
        wait_until("it is saved in its own form", || {
            info(&mut client, "persistence", "rdb_saves") == "1"
                && info(&mut client, "persistence", "rdb_bgsave_in_progress") == "0"
        });
        let mut valkey = Server::valkey(&[]);
        valkey.kill();
        fs::copy(second.dir().join("dump.rdb"), valkey.dir().join("dump.rdb")).expect("it is there");
        assert!(valkey.start_again(&["--enable-debug-command", "yes"]), "{primary:?}: {}", valkey.log());
        assert_eq!(digest(&valkey), digest(&second), "{primary:?}");
    }
    // What is standard already is not written again.
    let (first, second) = (start(Kind::Valkey, &[]), start(Kind::Larder, &["--save", "3600 1000000"]));
    fill(&mut first.client());
    follow(&mut second.client(), &first);
    wait_for_link(&mut second.client());
    assert_eq!(second.client().ask("DEBUG SLEEP 0.3").text(), "OK");
    assert_eq!(info(&mut second.client(), "persistence", "rdb_saves"), "0");
}
