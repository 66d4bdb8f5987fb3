//! Replicas that hold a part of the keys.

use super::{KINDS, OWN, data, start, url};
use data::describe;
use larder_embed::{Replica, ReplicaOptions};
use larder_testkit::{Client, Kind, Server, seed};
use std::collections::BTreeMap;

fn connect(server: &Server) -> Replica {
    let options = ReplicaOptions::new().pattern("in:*").pattern("other:[ab]");
    Replica::connect_with(&url(server), &options).expect("it connects")
}

/// Compares the keys that are held.
fn compare(what: &str, client: &mut Client, replica: &Replica) {
    super::catch_up(replica);
    let held = |(key, _): &(String, String)| {
        key.starts_with("in:") || ["other:a", "other:b"].contains(&key.as_str())
    };
    let there: BTreeMap<String, String> = describe(client).into_iter().filter(held).collect();
    assert_eq!(describe(&mut data::Reader(replica.data())), there, "{what}");
}

#[test]
fn only_what_matches_is_held() {
    for kind in KINDS {
        let server = start(kind, &[]);
        let mut client = server.client();
        for line in ["SET in:1 a", "SET out:1 a", "SADD other:a 1 2", "SADD other:c 1 2", "HSET in:h f v"] {
            client.ask(line);
        }
        let replica = connect(&server);
        compare("the snapshot", &mut client, &replica);
        for line in [
            "SET out:2 b",
            "SET in:2 b",
            "MSET in:3 c out:3 c in:4 d",
            "RENAME in:1 out:4",
            "RPUSH in:l 1 2 3",
            "LMOVE in:l out:l LEFT LEFT",
            "SMOVE other:a other:c 1",
            "DEL in:2 out:2",
            "COPY in:3 out:5",
            "SUNIONSTORE out:6 other:a",
        ] {
            client.ask(line);
        }
        for line in ["MULTI", "SET in:5 x", "SET out:5 y", "MSET in:6 1 out:6 2", "INCR in:6", "EXEC"] {
            client.ask(line);
        }
        compare("the stream", &mut client, &replica);
        assert_eq!(replica.status().full_syncs, 1, "{}: nothing needs what is not held", kind.name());
        // What is written by what is not held makes a snapshot necessary.
        client.ask("RENAME out:4 in:7");
        super::wait_until("there is a second snapshot", || replica.status().full_syncs == 2);
        compare("the second snapshot", &mut client, &replica);
        client.ask("FLUSHALL");
        client.ask("SET in:8 x");
        compare("after FLUSHALL", &mut client, &replica);
        assert_eq!(replica.data().dbsize().expect("it can be read"), 2);
    }
}

#[test]
fn random_writes_leave_what_the_primary_has() {
    const COMMANDS: &[&str] = &[
        "SET K V",
        "MSET K V K V",
        "DEL K K",
        "INCR K",
        "APPEND K V",
        "RENAME K K",
        "COPY K K REPLACE",
        "RPUSH K V V",
        "LMOVE K K LEFT RIGHT",
        "LPOP K",
        "SADD K V V",
        "SMOVE K K V",
        "SUNIONSTORE K K",
        "SDIFFSTORE K K K",
        "HSET K V V",
        "HDEL K V",
        "ZADD K 1 V",
        "ZUNIONSTORE K 2 K K",
        "SPOP K",
        "EXPIRE K 1000",
        "GETDEL K",
        "SORT K ALPHA STORE K",
        "XADD K * f V",
        "PFADD K V",
        "BITOP OR K K K",
        "UNLINK K",
    ];
    let server = start(Kind::Larder, &[]);
    let mut client = server.client();
    let replica = connect(&server);
    let mut rng = fastrand::Rng::with_seed(seed(5));
    for _ in 0..3 {
        for _ in 0..300 {
            let in_transaction = rng.u8(..) < 40;
            if in_transaction {
                client.ask("MULTI");
            }
            for _ in 0..if in_transaction { 3 } else { 1 } {
                let command = COMMANDS[rng.usize(..COMMANDS.len())];
                // Commands between what is held and what is not are rare: each may cost a snapshot.
                let prefix = if rng.u8(..) < 128 { "in" } else { "out" };
                let mut word = |word: &str| match word {
                    "K" if rng.u8(..) < 2 => format!("out:{}", rng.u8(..4)),
                    "K" => format!("{prefix}:{}", rng.u8(..8)),
                    "V" => rng.u8(..10).to_string(),
                    word => word.to_owned(),
                };
                let words: Vec<String> = command.split(' ').map(&mut word).collect();
                client.cmd(&words);
            }
            if in_transaction {
                client.ask("EXEC");
            }
        }
        replica.write(&["DEL", "in:none"], OWN).expect("it comes back");
        compare("the stream", &mut client, &replica);
    }
    println!("{:?}", replica.status());
}
