//! Replies to CLUSTER subcommands: those of this crate beside Valkey's, in a cluster of which both are members.

use crate::driver::Driver;
use crate::{Member, NODE_TIMEOUT_MS};
use larder_testkit::Kind;

/// On a node that knows nobody, one after the other.
const ALONE: &[&str] = &[
    "ADDSLOTS x",
    "ADDSLOTS -1",
    "ADDSLOTS 16384",
    "ADDSLOTS 1 1",
    "ADDSLOTS 01",
    "ADDSLOTSRANGE 5 3",
    "ADDSLOTSRANGE 1 5 3 7",
    "ADDSLOTSRANGE 0 16384",
    "ADDSLOTSRANGE a 16384",
    "ADDSLOTSRANGE 1 2 3",
    "DELSLOTS 5",
    "DELSLOTSRANGE 5 6",
    "DELSLOTSRANGE 5 6 7",
    "ADDSLOTS 1 2 3",
    "addslots 0 3",
    "DELSLOTS 1 1",
    "DELSLOTSRANGE 1 2 2 3",
    "BUMPEPOCH",
    "BUMPEPOCH",
    "SET-CONFIG-EPOCH 7",
    "SET-CONFIG-EPOCH -1",
    "SET-CONFIG-EPOCH x",
    "FLUSHSLOTS",
    "RESET",
    "RESET HARD x",
    "RESET FOO",
    "RESET hard",
    "SET-CONFIG-EPOCH 18446744073709551615",
    "SET-CONFIG-EPOCH 9223372036854775807",
    "RESET HARD",
    "SET-CONFIG-EPOCH 7",
    "SET-CONFIG-EPOCH 8",
    "BUMPEPOCH",
    "RESET HARD",
    "MEET x 1",
    "MEET localhost 21002",
    "MEET 127.0.0.1 x",
    "MEET 127.0.0.1 0",
    "MEET 127.0.0.1 70000",
    "MEET 127.0.0.1 60000",
    "MEET x 70000",
    "MEET x 60000",
    "MEET x y",
    "MEET x 1 x",
    "MEET 127.0.0.1 -1",
    "MEET 127.0.0.1 99999999999999",
    "MEET 127.0.0.1 21002 x",
    "MEET 127.0.0.1 21002 0",
    "MEET 127.0.0.1 21002 -5",
    "MEET 127.0.0.1 21002 99999",
    "MEET ::1 21002 3x",
    "MEET [::1] 1",
    "MEET 127.000.0.1 1",
    "MEET 127.0.0.1 21002 31002 5",
    "FORGET x",
    "FORGET aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "REPLICATE x",
    "REPLICATE NO",
    "REPLICATE NO ONE",
    "REPLICATE a b",
    "FAILOVER",
    "FAILOVER X",
    "FAILOVER FORCE",
    "FAILOVER FORCE TAKEOVER",
    "FAILOVER FORCE REPLICAID",
    "FAILOVER TAKEOVER",
    "SETSLOT x MIGRATING y",
    "SETSLOT 1 STABLE",
    "SETSLOT 1 FOO",
    "SETSLOT 1 FOO x",
    "SETSLOT 1 NODE",
    "SETSLOT 1 NODE x",
    "SETSLOT 1 MIGRATING x",
    "SETSLOT 1 IMPORTING x",
    "SETSLOT 1 STABLE x",
    "SETSLOT 1 STABLE TIMEOUT",
    "SETSLOT 1 STABLE TIMEOUT x",
    "SETSLOT 1 STABLE TIMEOUT -1",
    "SETSLOT 1 STABLE TIMEOUT 0",
    "SETSLOT 1 STABLE TIMEOUT 5 6",
    "SETSLOT 16384 STABLE",
    "SETSLOT -1 STABLE",
    "SAVECONFIG",
];

/// On a primary with the slot MINE and a key in FULL, in a cluster; THEIRS is a slot of OTHER, which has the replica REPLICA.
const PRIMARY: &[&str] = &[
    "SET-CONFIG-EPOCH 9",
    "FORGET MYSELF",
    "REPLICATE MYSELF",
    "REPLICATE REPLICA",
    "REPLICATE OTHER",
    "RESET",
    "RESET HARD",
    "FLUSHSLOTS",
    "ADDSLOTS THEIRS",
    "ADDSLOTS MINE",
    "SETSLOT MINE MIGRATING MYSELF",
    "SETSLOT MINE MIGRATING REPLICA",
    "SETSLOT MINE MIGRATING cccccccccccccccccccccccccccccccccccccccc",
    "SETSLOT THEIRS MIGRATING OTHER",
    "SETSLOT MINE IMPORTING OTHER",
    "SETSLOT THEIRS IMPORTING MYSELF",
    "SETSLOT THEIRS IMPORTING REPLICA",
    "SETSLOT THEIRS IMPORTING cccccccccccccccccccccccccccccccccccccccc",
    "SETSLOT THEIRS IMPORTING OTHER",
    "SETSLOT MINE MIGRATING OTHER",
    "SETSLOT FULL NODE OTHER",
    "SETSLOT FULL NODE REPLICA",
    "SETSLOT FULL NODE cccccccccccccccccccccccccccccccccccccccc",
    "SETSLOT FULL NODE MYSELF",
    "SETSLOT MINE STABLE",
    "SETSLOT THEIRS STABLE",
    "REPLICATE NO ONE",
    "FAILOVER FORCE",
];

/// On a replica of OTHER.
const REPLICA: &[&str] = &[
    "SETSLOT THEIRS STABLE",
    "SETSLOT x STABLE",
    "SETSLOT 1 STABLE TIMEOUT x",
    "SETSLOT 1 NODE x",
    "ADDSLOTS THEIRS",
    "ADDSLOTS 20000",
    "FORGET OTHER",
    "FORGET MYSELF",
    "REPLICATE MYSELF",
    "REPLICATE REPLICA",
    "FAILOVER x",
    "SET-CONFIG-EPOCH 5",
    "SET-CONFIG-EPOCH x",
];

/// What the words of a command stand for.
type Words<'a> = [(&'a str, &'a str)];

fn with_words(line: &str, words: &Words<'_>) -> String {
    let word = |part: &str| {
        let found = words.iter().find(|(name, _)| *name == part);
        found.map_or(part.to_owned(), |(_, value)| (*value).to_owned())
    };
    line.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// The reply to a line, with the words back in their places.
fn without_words(reply: &str, words: &Words<'_>) -> String {
    words.iter().fold(reply.to_owned(), |reply, (name, value)| {
        let parts: Vec<&str> =
            reply.split(' ').map(|part| if part == *value { name } else { part }).collect();
        parts.join(" ")
    })
}

fn compare(
    lines: &[&str],
    valkey: &Member,
    valkey_words: &Words<'_>,
    driver: &mut Driver,
    words: &Words<'_>,
) {
    let mut differences = String::new();
    for line in lines {
        let theirs = valkey.ask(&format!("CLUSTER {}", with_words(line, valkey_words)));
        let ours = driver.reply(&with_words(line, words));
        let (theirs, ours) = (without_words(&theirs, valkey_words), without_words(&ours, words));
        if theirs != ours {
            differences += &format!("{line}\n  valkey: {theirs}\n  larder: {ours}\n");
        }
    }
    Kind::Valkey.judge(&mut valkey.server.client(), &differences);
}

#[test]
fn replies_are_valkeys_on_a_node_that_is_alone() {
    compare(ALONE, &Member::start(Kind::Valkey), &[], &mut Driver::start(NODE_TIMEOUT_MS), &[]);
}

#[test]
fn replies_are_valkeys_in_a_cluster() {
    let [a, b, c, d] = [(); 4].map(|()| Member::start(Kind::Valkey));
    assert_eq!(a.ask("CLUSTER ADDSLOTSRANGE 0 5"), "OK");
    assert_eq!(b.ask("CLUSTER ADDSLOTSRANGE 10 15"), "OK");
    let (mut driver, mut other) = (Driver::start(NODE_TIMEOUT_MS), Driver::start(NODE_TIMEOUT_MS));
    driver.command("ADDSLOTSRANGE 6 9");
    for member in [&a, &c, &d] {
        assert_eq!(b.ask(&format!("CLUSTER {}", member.meet_command())), "OK");
    }
    driver.command(&b.meet_command());
    other.command(&b.meet_command());
    let ids = [&a, &b, &c, &d].map(|member| member.id.clone());
    let mut both = |what: &str, driver: &mut Driver, holds: &dyn Fn(&mut Driver, &mut Driver) -> bool| {
        driver.until(what, |driver| {
            let mut rounds = 0;
            other.until("a moment passes", |_| {
                rounds += 1;
                rounds > 2
            });
            holds(driver, &mut other)
        });
    };
    both("all know each other", &mut driver, &|driver, other| {
        let known = [driver.nodes(), other.nodes(), a.ask("CLUSTER NODES"), c.ask("CLUSTER NODES")];
        let is_whole = |text: &String| text.lines().filter(|line| line.contains("master")).count() == 6;
        known.iter().all(is_whole) && !known.iter().any(|text| text.contains("handshake"))
    });
    for replica in [&c, &d] {
        assert_eq!(replica.ask(&format!("CLUSTER REPLICATE {}", ids[1])), "OK");
    }
    both("the roles are known", &mut driver, &|driver, other| {
        let known = [driver.nodes(), other.nodes(), a.ask("CLUSTER NODES"), c.ask("CLUSTER NODES")];
        known.iter().all(|text| text.lines().filter(|line| line.contains("slave")).count() == 2)
    });
    // The key of the server, in slot 5, is made without asking whether the cluster is well.
    assert_eq!(a.ask("CONFIG SET cluster-require-full-coverage no"), "OK");
    both("it takes writes", &mut driver, &|_, _| a.ask("SET {axh}k v") == "OK");
    driver.server.keys.insert(9);
    let me = driver.id();
    let valkey_words = [
        ("MINE", "1"),
        ("THEIRS", "12"),
        ("FULL", "5"),
        ("MYSELF", &ids[0]),
        ("OTHER", &ids[1]),
        ("REPLICA", &ids[3]),
    ];
    let words = [
        ("MINE", "7"),
        ("THEIRS", "12"),
        ("FULL", "9"),
        ("MYSELF", &me),
        ("OTHER", &ids[1]),
        ("REPLICA", &ids[3]),
    ];
    compare(PRIMARY, &a, &valkey_words, &mut driver, &words);
    other.command(&format!("REPLICATE {}", ids[1]));
    let me = other.id();
    let valkey_words =
        [("THEIRS", "12"), ("MYSELF", ids[2].as_str()), ("OTHER", &ids[1]), ("REPLICA", &ids[3])];
    let words = [("THEIRS", "12"), ("MYSELF", me.as_str()), ("OTHER", &ids[1]), ("REPLICA", &ids[3])];
    compare(REPLICA, &c, &valkey_words, &mut other, &words);
}
