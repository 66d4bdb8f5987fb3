//! What transactions see of time, and of keys whose time is over.

use crate::Pair;
use larder_testkit::{Kind, Value};

/// Runs lines on both; those that begin with `*` on a second connection.
fn compare(lines: &[&str]) {
    let mut pair = Pair::with(Kind::Valkey, 2, &["--enable-debug-command", "yes"]);
    let [mut a, mut b] = [0, 1].map(|at| pair.servers()[at].client());
    for line in lines {
        let clients = match line.strip_prefix('*') {
            Some(_) => [&mut a, &mut b],
            None => [&mut pair.larder, &mut pair.peer],
        };
        // Both at once: time passes.
        let words: Vec<&str> = line.trim_start_matches('*').split(' ').collect();
        let [larder, valkey] = clients.map(|client| {
            client.send(&words);
            client
        });
        let (larder, valkey) = (larder.read().expect("it replies"), valkey.read().expect("it replies"));
        assert_eq!(larder, valkey, "{line} of {lines:?}");
    }
}

/// Data that is replaced by what a file has is other data for those who watch.
#[test]
fn watched_keys_are_replaced() {
    compare(&["SET k v", "WATCH k", "*DEBUG RELOAD", "MULTI", "GET k", "EXEC"]);
    compare(&["SET k v", "WATCH none", "*DEBUG RELOAD", "MULTI", "GET k", "EXEC"]);
    compare(&[
        "SET k v",
        "WATCH none",
        "SAVE",
        "*SET none 1",
        "UNWATCH",
        "WATCH none",
        "*DEBUG RELOAD NOSAVE",
        "MULTI",
        "GET k",
        "EXEC",
    ]);
}

#[test]
fn time_stands_still() {
    compare(&["SET w v PX 1000", "MULTI", "GET w", "DEBUG SLEEP 1.1", "GET w", "EXISTS w", "EXEC", "GET w"]);
    compare(&[
        "HSETEX h PX 1000 FIELDS 1 f v",
        "MULTI",
        "HGET h f",
        "DEBUG SLEEP 1.1",
        "HGET h f",
        "EXEC",
        "HGET h f",
    ]);
    compare(&[
        "SET w v PX 1000",
        "MULTI",
        "EVAL return(redis.call('get','w')) 0",
        "DEBUG SLEEP 1.1",
        "EVAL return(redis.call('get','w')) 0",
        "GET w",
        "EXEC",
        "GET w",
    ]);
    let mut pair = Pair::with(Kind::Valkey, 2, &["--enable-debug-command", "yes"]);
    for client in [&mut pair.larder, &mut pair.peer] {
        client.ask("MULTI");
        for line in ["TIME", "DEBUG SLEEP 0.01", "TIME"] {
            client.ask(line);
        }
        let replies = client.ask("EXEC");
        let times: Vec<&Value> = replies.items().iter().step_by(2).collect();
        assert_eq!(times[0], times[1]);
    }
}

#[test]
fn keys_whose_time_is_over_are_watched_as_in_valkey() {
    for (before, change) in [
        // Not there, and a key that is over comes in its place.
        (&["SELECT 1", "SET k v PX 1", "SELECT 0"][..], "SWAPDB 0 1"),
        // Over when it is watched: nothing, or one that is over, or one that is not, comes.
        (&["SET k v PX 1"], "SWAPDB 0 1"),
        (&["SET k v PX 1", "SELECT 1", "SET k v PX 1", "SELECT 0"], "SWAPDB 0 1"),
        (&["SET k v PX 1", "SELECT 1", "SET k v", "SELECT 0"], "SWAPDB 0 1"),
        (&["SET k v PX 1"], "FLUSHALL"),
        (&["SET k v PX 1"], "FLUSHDB"),
        (&["SET k v PX 1"], "DEL k"),
        (&["SET k v PX 1"], "GET k"),
        (&["SET k v PX 1"], "SET k w"),
        // There.
        (&["SET k v"], "SWAPDB 0 1"),
        (&["SET k v", "SELECT 1", "SET k v PX 1", "SELECT 0"], "SWAPDB 0 1"),
        (&["SET k v"], "FLUSHALL"),
        // Not there.
        (&[], "SWAPDB 0 1"),
        (&[], "FLUSHALL"),
        (&["SELECT 1", "SET k v", "SELECT 0"], "SWAPDB 0 1"),
    ] {
        let mut lines = vec!["DEBUG SET-ACTIVE-EXPIRE 0"];
        lines.extend(before);
        let change = format!("*{change}");
        lines.extend(["DEBUG SLEEP 0.01", "WATCH k", &change, "MULTI", "PING", "EXEC", "EXISTS k"]);
        compare(&lines);
    }
    // It was there, and its time is over when the change comes.
    for change in ["*SWAPDB 0 1", "*FLUSHDB", "*GET k", "*PING"] {
        compare(&[
            "DEBUG SET-ACTIVE-EXPIRE 0",
            "SET k v PX 200",
            "WATCH k",
            "DEBUG SLEEP 0.25",
            change,
            "MULTI",
            "PING",
            "EXEC",
        ]);
    }
}
