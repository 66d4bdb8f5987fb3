//! Servers that follow each other: every pair of kinds, chains, restarts.

use crate::{
    StopAtEnd, follow, info, offset, start, wait_for_link, wait_for_same_data, wait_until, write_until,
};
use larder_testkit::{Client, Kind, Server, Value, seed, wait_until_rewritten};
use std::sync::atomic::AtomicBool;

/// Databases that the writers use.
const DATABASES: usize = 3;

/// Runs `work` while two clients write to a server.
fn while_writing(primary: &Server, seed: u64, work: impl FnOnce()) -> u64 {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..2)
            .map(|writer| {
                let (mut client, stop) = (primary.client(), &stop);
                let mut rng = fastrand::Rng::with_seed(seed + writer);
                scope.spawn(move || write_until(&mut client, &mut rng, DATABASES, stop))
            })
            .collect();
        let stops = StopAtEnd(&stop);
        work();
        drop(stops);
        writers.into_iter().map(|writer| writer.join().expect("the writer goes on")).sum()
    })
}

/// Waits until a primary has executed this many commands more.
fn wait_for_writes(client: &mut Client, more: i64) {
    let count = |client: &mut Client| -> i64 {
        info(client, "stats", "total_commands_processed").parse().expect("a number")
    };
    let first = count(client);
    wait_until("the writers write", || count(client) > first + more);
}

/// A replica that joins while clients write has the same data in the end.
pub fn check_pair(primary: (Kind, &[&str]), replica: (Kind, &[&str])) {
    let seed = seed(u64::from(std::process::id()));
    let what = format!("SEED={seed} {:?} follows {:?}", replica, primary);
    let (first, second) = (start(primary.0, primary.1), start(replica.0, replica.1));
    let (mut ours, mut theirs) = (first.client(), second.client());
    theirs.ask("SET old data");
    while_writing(&first, seed, || {
        wait_for_writes(&mut ours, 2000);
        follow(&mut theirs, &first);
        wait_for_link(&mut theirs);
        wait_for_writes(&mut ours, 2000);
    });
    wait_for_same_data(&what, &first, &second);
    assert!(theirs.ask("EXISTS old").int() == 0, "{what}: the old data is gone");
    // Nobody but the primary writes.
    assert!(theirs.ask("SET x 1").text().starts_with("READONLY"), "{what}");
    assert_eq!(info(&mut ours, "stats", "sync_full"), "1", "{what}");
}

#[test]
fn larder_follows_larder() {
    check_pair((Kind::Larder, &["--threads", "2"]), (Kind::Larder, &["--threads", "2"]));
    check_pair(
        (Kind::Larder, &["--threads", "4"]),
        (Kind::Larder, &["--repl-diskless-load", "flush-before-load"]),
    );
    check_pair(
        (Kind::Larder, &["--threads", "2"]),
        (Kind::Larder, &["--repl-diskless-load", "swapdb", "--threads", "2"]),
    );
    check_pair((Kind::Larder, &["--repl-diskless-sync", "no"]), (Kind::Larder, &["--appendonly", "yes"]));
}

#[test]
fn others_follow_larder() {
    for kind in [Kind::Redis, Kind::Redis8, Kind::Valkey] {
        check_pair((Kind::Larder, &["--threads", "2"]), (kind, &[]));
    }
    check_pair((Kind::Larder, &["--appendonly", "yes"]), (Kind::Valkey, &["--repl-diskless-load", "swapdb"]));
    check_pair((Kind::Larder, &[]), (Kind::Valkey, &["--dual-channel-replication-enabled", "yes"]));
}

#[test]
fn larder_follows_others() {
    for kind in [Kind::Redis, Kind::Redis8, Kind::Valkey] {
        check_pair((kind, &[]), (Kind::Larder, &["--threads", "2"]));
        check_pair(
            (kind, &["--repl-diskless-sync", "no"]),
            (Kind::Larder, &["--repl-diskless-load", "on-empty-db"]),
        );
    }
    check_pair((Kind::Valkey, &["--dual-channel-replication-enabled", "yes"]), (Kind::Larder, &[]));
}

/// The stream of a replica goes on in the database that was selected before its snapshot, also for those who join it before anything has come.
#[test]
fn a_chain_that_grows_knows_the_database() {
    let servers: Vec<Server> = (0..4).map(|_| start(Kind::Larder, &[])).collect();
    let mut clients: Vec<Client> = servers.iter().map(Server::client).collect();
    follow(&mut clients[1], &servers[0]);
    wait_for_link(&mut clients[1]);
    clients[0].ask("SELECT 5");
    clients[0].ask("SET a 1");
    wait_for_same_data("the first", &servers[0], &servers[1]);
    for at in [2, 3] {
        follow(&mut clients[at], &servers[at - 1]);
        wait_for_link(&mut clients[at]);
    }
    // The one between comes back to where it was, too.
    clients[2].ask("CLIENT KILL TYPE primary");
    wait_until("it comes back", || info(&mut clients[1], "stats", "sync_partial_ok") == "1");
    clients[0].ask("SET b 2");
    for at in 1..4 {
        wait_for_same_data(&format!("{at}"), &servers[0], &servers[at]);
        clients[at].ask("SELECT 5");
        assert_eq!(clients[at].ask("GET b").text(), "2", "server {at}");
    }
}

/// A chain of four, and what becomes of it when its head is lost: the next one leads, and all the others go on without a snapshot.
#[test]
fn a_chain_survives_its_head() {
    let seed = seed(11);
    let servers: Vec<Server> =
        [Kind::Valkey, Kind::Larder, Kind::Larder, Kind::Valkey].map(|kind| start(kind, &[])).into();
    let mut clients: Vec<Client> = servers.iter().map(Server::client).collect();
    while_writing(&servers[0], seed, || {
        for at in 1..4 {
            follow(&mut clients[at], &servers[at - 1]);
            wait_for_link(&mut clients[at]);
        }
        wait_for_writes(&mut clients[0], 2000);
    });
    for at in 1..4 {
        wait_for_same_data(&format!("SEED={seed} {at}"), &servers[0], &servers[at]);
    }
    assert_eq!(clients[1].ask("REPLICAOF NO ONE").text(), "OK");
    while_writing(&servers[1], seed + 100, || wait_for_writes(&mut clients[1], 2000));
    // The old head follows the new one; it has everything up to where they part.
    follow(&mut clients[0], &servers[1]);
    for at in [0, 2, 3] {
        wait_for_same_data(&format!("SEED={seed} after the change, {at}"), &servers[1], &servers[at]);
    }
    assert_eq!(info(&mut clients[1], "stats", "sync_full"), "1");
    assert_eq!(info(&mut clients[2], "stats", "sync_full"), "1");
}

/// A replica that is stopped and started goes on where it was, and one that finds its primary restarted as well.
#[test]
fn restarts_need_no_snapshot() {
    let primary_args = ["--repl-diskless-sync-delay", "0", "--enable-debug-command", "yes"];
    let (mut first, mut second) = (start(Kind::Larder, &[]), start(Kind::Larder, &[]));
    let (mut ours, mut theirs) = (first.client(), second.client());
    while_writing(&first, 5, || {
        follow(&mut theirs, &first);
        wait_for_link(&mut theirs);
        wait_for_writes(&mut ours, 1000);
    });
    wait_for_same_data("before", &first, &second);
    theirs.send(&["SHUTDOWN", "SAVE"]);
    second.wait();
    while_writing(&first, 6, || wait_for_writes(&mut ours, 1000));
    let upstream = format!("127.0.0.1 {}", first.port());
    let replica_args = [&primary_args[..], &["--replicaof", &upstream]].concat();
    assert!(second.start_again(&replica_args));
    wait_for_same_data("the replica was restarted", &first, &second);
    assert_eq!(info(&mut ours, "stats", "sync_full"), "1");
    assert_eq!(info(&mut ours, "stats", "sync_partial_ok"), "1");
    ours.send(&["SHUTDOWN", "SAVE"]);
    first.wait();
    assert!(first.start_again(&primary_args));
    let mut ours = first.client();
    wait_for_same_data("the primary was restarted", &first, &second);
    ours.ask("SET after restart");
    wait_for_same_data("and goes on", &first, &second);
    assert_eq!(info(&mut ours, "stats", "sync_full"), "0");
}

/// The append-only file says where in the history of the data it ends, so restarts from it need no snapshot either; unless something came
/// after the last time that it did.
#[test]
fn restarts_from_the_append_only_file_need_no_snapshot() {
    let kept = ["--appendonly", "yes", "--repl-diskless-sync-delay", "0", "--enable-debug-command", "yes"];
    let (mut first, mut second) = (start(Kind::Larder, &kept), start(Kind::Larder, &kept));
    let mut ours = first.client();
    ours.ask("SELECT 3");
    ours.ask("SET a 1");
    follow(&mut second.client(), &first);
    wait_for_same_data("at first", &first, &second);
    (0..100).for_each(|i| drop(ours.ask(&format!("RPUSH list {i}"))));
    wait_for_same_data("then", &first, &second);
    let id = info(&mut ours, "replication", "master_replid");
    let file_of = |server: &Server| {
        let folder = server.dir().join("appendonlydir");
        let mut names: Vec<_> =
            std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        names.retain(|path| path.to_string_lossy().ends_with(".incr.aof"));
        names.sort();
        names.pop().unwrap()
    };
    let ends_with_place = |server: &Server| {
        let text = String::from_utf8_lossy(&std::fs::read(file_of(server)).unwrap()).into_owned();
        text.lines().last().is_some_and(|line| line.starts_with(&format!("#REPL:{id} ")))
    };
    // The file begins with what the primary has sent.
    wait_until_rewritten(&mut second.client());
    wait_until("the replica's file says where it is", || ends_with_place(&second));
    let port = first.port().to_string();
    let primary = format!("127.0.0.1 {port}");
    let replica_args = [&kept[..], &["--replicaof", &primary]].concat();
    // Killed in a moment of silence, and ended under load.
    for is_killed in [true, false] {
        if is_killed {
            second.kill();
        } else {
            (0..20_000).for_each(|i| ours.send(&["RPUSH", "list", &i.to_string()]));
            assert!(second.stop().success());
            (0..20_000).for_each(|_| drop(ours.read().unwrap()));
        }
        (0..100).for_each(|i| drop(ours.ask(&format!("RPUSH list more{i}"))));
        let granted: i64 = info(&mut ours, "stats", "sync_partial_ok").parse().unwrap();
        assert!(second.start_again(&replica_args));
        wait_for_same_data("the replica was restarted", &first, &second);
        assert_eq!(info(&mut ours, "stats", "sync_full"), "1", "killed: {is_killed}");
        assert_eq!(info(&mut ours, "stats", "sync_partial_ok"), (granted + 1).to_string());
    }
    // The primary, which waits for its replica.
    assert!(first.stop().success());
    assert!(ends_with_place(&first));
    assert!(first.start_again(&kept));
    wait_for_same_data("the primary was restarted", &first, &second);
    let mut ours = first.client();
    assert_eq!(info(&mut ours, "stats", "sync_full"), "0");
    ours.ask("SET after restart");
    wait_for_same_data("and goes on", &first, &second);
    // Other servers skip what is for Larder only.
    let check = larder_testkit::peer_path("valkey-check-aof");
    let checked = std::process::Command::new(check).arg(file_of(&second)).output().unwrap();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
    // A command after the last note: nobody knows where that is.
    assert!(second.stop().success());
    let mut file = std::fs::File::options().append(true).open(file_of(&second)).unwrap();
    std::io::Write::write_all(&mut file, b"*3\r\n$3\r\nSET\r\n$5\r\nstray\r\n$1\r\n1\r\n").unwrap();
    assert!(second.start_again(&replica_args));
    wait_for_same_data("a command too much", &first, &second);
    assert_eq!(info(&mut ours, "stats", "sync_full"), "1");
    // Until then it does not end.
    wait_until_rewritten(&mut second.client());
}

/// A primary does not end before its replicas have everything, and a replica acknowledges what it was asked for at once.
#[test]
fn a_primary_ends_when_its_replicas_have_everything() {
    let (mut first, second) = (start(Kind::Larder, &[]), start(Kind::Larder, &[]));
    let (mut ours, mut theirs) = (first.client(), second.client());
    follow(&mut theirs, &first);
    wait_for_link(&mut theirs);
    wait_until("the replica is online", || ours.ask("ROLE").items()[2].items().len() == 1);
    for n in 0..20_000 {
        ours.send(&["RPUSH", "list", &n.to_string()]);
    }
    (0..20_000).for_each(|_| drop(ours.read().unwrap()));
    let end = offset(&mut ours);
    ours.send(&["SHUTDOWN", "NOSAVE"]);
    first.wait();
    wait_until("everything has come", || offset(&mut theirs) >= end);
    assert_eq!(theirs.ask("LLEN list").int(), 20_000);
}

/// Keys expire at the replica when the primary says so; until then readers do not see them.
#[test]
fn the_primary_says_what_expires() {
    for kind in [Kind::Larder, Kind::Valkey] {
        let (first, second) = (start(kind, &[]), start(Kind::Larder, &[]));
        let (mut ours, mut theirs) = (first.client(), second.client());
        follow(&mut theirs, &first);
        wait_for_link(&mut theirs);
        ours.ask("DEBUG SET-ACTIVE-EXPIRE 0");
        ours.ask("SET gone soon PX 30");
        ours.ask("SET stays 1");
        wait_until("the write has come", || theirs.ask("EXISTS stays").int() == 1);
        wait_until("its time is over", || theirs.ask("GET gone") == Value::NullBulk);
        assert_eq!(theirs.ask("DBSIZE").int(), 2, "it is hidden, not deleted");
        assert_eq!(theirs.ask("EXISTS gone").int(), 0);
        assert_eq!(ours.ask("GET gone"), Value::NullBulk);
        wait_until("it is deleted", || theirs.ask("DBSIZE").int() == 1);
    }
}

/// A replica that must know the length of the snapshot before, or whose primary writes it to a file first, waits for no others.
/// Those that can be sent it as it is made do.
#[test]
fn only_snapshots_without_a_file_are_delayed() {
    let answers = |kind: Kind| {
        let mut answers = Vec::new();
        for (diskless, capabilities, is_delayed) in [
            ("yes", &[][..], false),
            ("yes", &["psync2"], false),
            ("yes", &["eof", "psync2"], true),
            ("no", &["eof", "psync2"], false),
        ] {
            let args = ["--repl-diskless-sync-delay", "3600", "--repl-diskless-sync", diskless];
            let server = Server::of(kind, &args);
            let mut replica = server.client();
            for capability in capabilities {
                assert_eq!(replica.ask(&format!("REPLCONF capa {capability}")).text(), "OK");
            }
            replica.send(&["PSYNC", "?", "-1"]);
            if is_delayed {
                let mut admin = server.client();
                wait_until("it waits", || admin.ask("INFO replication").text().contains("state=wait_bgsave"));
                answers.push("waits".to_owned());
            } else {
                let reply = replica.read().expect("it is answered").text();
                answers.push(reply.split(' ').next().unwrap_or_default().to_owned());
            }
        }
        answers
    };
    assert_eq!(answers(Kind::Larder), answers(Kind::Valkey));
}

/// A replica whose connection is killed is sent no more of the snapshot, and keeps nothing of the stream.
#[test]
fn a_killed_replica_is_sent_no_more() {
    let server = start(Kind::Larder, &["--rdbcompression", "no"]);
    let mut admin = server.client();
    assert_eq!(admin.ask("DEBUG POPULATE 200000 key 200").text(), "OK");
    for _ in 0..3 {
        let mut replica = server.client();
        for line in ["REPLCONF capa eof capa psync2", "REPLCONF version 9.1.2"] {
            replica.ask(line);
        }
        replica.send(&["PSYNC", "?", "-1"]);
        assert!(replica.read().expect("it is answered").text().starts_with("FULLRESYNC"));
        wait_until("it is sent the snapshot", || {
            admin.ask("INFO replication").text().contains("state=send_bulk")
        });
        assert_eq!(admin.ask("CLIENT KILL TYPE replica").int(), 1);
        let got = replica.read_to_end().map_or(0, |bytes| bytes.len());
        // What was on its way in the buffers of the sockets; the snapshot has more than 40 MB.
        assert!(got < 20_000_000, "{got} bytes came");
        wait_until("the snapshot ends", || !admin.ask("INFO replication").text().contains("slave0"));
    }
}
