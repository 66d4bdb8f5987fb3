//! What comes from the primary while a script on the replica lends its shards.

use super::{SPIN, Script, WAIT};
use larder_testkit::{Client, Server, wait_until};

fn offset(client: &mut Client) -> i64 {
    let text = client.ask("INFO replication").text();
    let field = text.lines().find_map(|line| line.strip_prefix("master_repl_offset:"));
    field.expect("INFO has it").parse().expect("a number")
}

/// A script on a replica holds up those commands of the primary that are about its keys, wherever the others lie, and sees one moment.
#[test]
fn a_script_on_a_replica_holds_up_what_is_about_its_keys_alone() {
    for threads in ["1", "2", "4"] {
        let primary = Server::larder(&["--repl-diskless-sync-delay", "0", "--enable-debug-command", "yes"]);
        let follows = format!("127.0.0.1 {}", primary.port());
        let replica = Server::larder(&[
            "--replicaof",
            &follows,
            "--threads",
            threads,
            "--busy-reply-threshold",
            "600000",
            "--enable-debug-command",
            "yes",
        ]);
        let (mut ours, mut theirs) = (primary.client(), replica.client());
        wait_until("the replica is there", || ours.ask("INFO replication").text().contains("state=online"));
        ours.ask("SET mine:1 first");
        wait_until("it has come", || theirs.ask("GET mine:1").text() == "first");

        let get = "redis.call('get', KEYS[1])";
        let body = format!("local before = {get} {SPIN}{WAIT} return {{before, {get}}}");
        let script = Script::start(&replica, &body, &["mine:1"]);
        // They are in all shards, also in that of the script's key.
        for at in 0..600 {
            ours.send(&["SET", &format!("single:{at}"), "1"]);
            ours.send(&["MSET", &format!("several:{at}"), "1", &format!("more:{at}"), "1"]);
        }
        for at in 0..600 {
            ours.send(&["MULTI"]);
            ours.send(&["INCR", &format!("single:{at}")]);
            ours.send(&["INCR", &format!("several:{at}")]);
            ours.send(&["EXEC"]);
        }
        for _ in 0..600 * 6 {
            assert!(!ours.read().expect("an answer").is_error());
        }
        let before = offset(&mut ours);
        wait_until("what is about other keys is executed", || offset(&mut theirs) >= before);
        assert_eq!(theirs.ask("MGET single:599 several:599").items()[1].text(), "2");

        // What is about its keys waits, and what comes after it.
        ours.ask("MSET free:1 1 mine:1 second");
        ours.ask("SET free:2 1");
        let reply = script.end(&replica);
        assert!(reply.items().iter().all(|value| value.text() == "first"), "{reply}");
        wait_until("all has come", || theirs.ask("GET free:2").text() == "1");
        assert_eq!(theirs.ask("GET mine:1").text(), "second");
        let digest = ours.ask("DEBUG DIGEST").text();
        assert_eq!(theirs.ask("DEBUG DIGEST").text(), digest, "with {threads} threads");
    }
}
