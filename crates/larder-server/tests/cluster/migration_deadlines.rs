//! Deadlines and atomic migrations: keys and fields whose time is over when they are sent are the business of the source until the slots have
//! moved, and of the target then. Its replicas hear of what it deletes. A cell of the table in `docs/design/replication.md`.

use crate::migration::{migrate, pair};
use crate::node::{Node, PATIENT, meet, replicate, tag, until};
use larder_testkit::{Client, Kind};

/// Keys of one slot, below 4000, of which some are over at once. Nothing looks for them.
fn fill(client: &mut Client, tag: &str) {
    client.ask("DEBUG SET-ACTIVE-EXPIRE 0");
    for line in [
        "SET keep 1",
        "SET text 41",
        "RPUSH list old",
        "HSET hash keep 1",
        "HSETEX hash PX 1 FIELDS 2 f 41 g 41",
        "HSETEX all PX 1 FIELDS 2 a 1 b 2",
        "PEXPIRE text 1",
        "PEXPIRE list 1",
        "SET later 1",
        "PEXPIREAT later 99999999999999",
    ] {
        let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        words[1] = format!("{{{tag}}}{}", words[1]);
        let reply = client.cmd(&words);
        assert!(!reply.is_error(), "{line}: {reply}");
    }
    client.ask("DEBUG SLEEP 0.005");
}

fn digest(node: &Node) -> String {
    node.server.client().ask("DEBUG DIGEST").text()
}

fn size(node: &Node) -> i64 {
    node.server.client().ask("DBSIZE").int()
}

#[test]
fn what_is_over_goes_at_the_target_and_its_replicas() {
    for (from, to) in [
        (Kind::Larder, Kind::Larder),
        (Kind::Larder, Kind::Valkey),
        (Kind::Valkey, Kind::Larder),
        (Kind::Valkey, Kind::Valkey),
    ] {
        let what = format!("{from:?} to {to:?}");
        let nodes = pair(from, to, &[]);
        let replica = Node::start(Kind::Larder, &PATIENT);
        let all = [&nodes[0], &nodes[1], &replica];
        meet(&all);
        replicate(&replica, &nodes[1], &all);
        let [source, target] = &nodes;
        let tag = tag("t", |slot| slot < 4000);
        fill(&mut source.server.client(), &tag);
        target.server.client().ask("DEBUG SET-ACTIVE-EXPIRE 0");
        migrate(source, target, 0, 4000);
        until("the replica has it", || size(&replica) == size(target) && digest(&replica) == digest(target));
        let mut client = target.client();
        let key = |name: &str| format!("{{{tag}}}{name}");
        assert_eq!(client.cmd(&["PEXPIRETIME", &key("later")]).int(), 99_999_999_999_999, "{what}");
        assert_eq!(replica.server.client().ask("READONLY").text(), "OK");
        // What is over is not gone on with.
        assert_eq!(client.cmd(&["RPUSH", &key("list"), "new"]).int(), 1, "{what}");
        assert_eq!(client.cmd(&["INCR", &key("text")]).int(), 1, "{what}");
        assert_eq!(client.cmd(&["HINCRBY", &key("hash"), "f", "1"]).int(), 1, "{what}");
        client.ask("DEBUG SET-ACTIVE-EXPIRE 1");
        until("what is over has gone", || size(target) == 5);
        until("the replica has lost it, too", || size(&replica) == 5 && digest(&replica) == digest(target));
    }
}
