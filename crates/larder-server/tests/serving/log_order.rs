//! A reply to a client that waited leaves when the effects that it shows are as safe as `appendfsync` promises.

use crate::{pipeline, wait_in};
use larder_testkit::{Client, FaultyDisk, Kind, Server, wait_until};
use std::time::{Duration, Instant};

/// A command that waits, and what serves it.
const SERVED: &[(&str, &str)] = &[
    ("BLMOVE q d LEFT LEFT 0", "RPUSH q x"),
    ("BLPOP q 0", "RPUSH q x"),
    ("BLMPOP 0 1 q LEFT", "RPUSH q x"),
    ("BZPOPMIN z 0", "ZADD z 1 m"),
    ("BZMPOP 0 1 z MIN", "ZADD z 1 m"),
    ("BLPOP q 0", "MULTI|RPUSH q x|EXEC"),
    ("BLMOVE q d LEFT LEFT 0", r#"EVAL "return redis.call('rpush', KEYS[1], 'x')" 1 q"#),
    ("XREAD BLOCK 0 STREAMS s $", "XADD s * f v"),
    ("XREADGROUP GROUP g c BLOCK 0 STREAMS s >", "XADD s * f v"),
    ("XREADGROUP GROUP g c BLOCK 0 STREAMS s >", "DEL s"),
];

/// How long a reply is watched for that must not come.
const WATCH: Duration = Duration::from_millis(30);

fn has_reply_within(client: &mut Client, time: Duration) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < time {
        if client.has_reply() {
            return true;
        }
        std::thread::yield_now();
    }
    false
}

/// While the disk syncs nothing, no reply comes to those who waited, whichever thread has served them.
#[test]
fn replies_wait_for_the_sync() {
    for threads in ["1", "4"] {
        let disk = FaultyDisk::default();
        let args = ["--threads", threads, "--appendonly", "yes", "--appendfsync", "always"];
        let server = disk.start(Kind::Larder, &args);
        let mut admin = server.client();
        for (command, push) in SERVED {
            admin.ask("FLUSHALL");
            admin.ask("XGROUP CREATE s g $ MKSTREAM");
            // Clients of all threads.
            let mut waiting: Vec<_> = (0..3).map(|_| wait_in(&server, &mut admin, &[], command)).collect();
            // The sync of what has been written so far is over.
            assert_eq!(admin.ask("WAITAOF 1 0 0").items()[0].int(), 1);
            disk.fail("sync appendonlydir 0 hold");
            let mut pusher = server.client();
            for _ in 0..3 {
                for line in push.split('|') {
                    pusher.send(&larder_testkit::words(line));
                }
            }
            let mut reader = server.client();
            wait_until("the clients have been served", || {
                let info = reader.ask("INFO clients").text();
                info.contains("blocked_clients:0")
                    || info.contains("blocked_clients:3") && is_served(&mut reader, command)
            });
            for one in &mut waiting {
                let came = has_reply_within(&mut one.client, WATCH);
                assert!(!came, "{threads} threads, {command}: a reply came before the sync");
            }
            disk.heal();
            for one in &mut waiting {
                one.client.read().unwrap_or_else(|error| panic!("{threads} threads, {command}: {error}"));
            }
        }
    }
}

/// Whether what the command waits for has been there and is gone.
fn is_served(reader: &mut Client, command: &str) -> bool {
    match command.split(' ').next() {
        Some("BLMOVE") => reader.ask("LLEN d").int() == 3,
        Some("BLPOP" | "BLMPOP") => reader.ask("LLEN q").int() == 0,
        Some("BZPOPMIN" | "BZMPOP") => reader.ask("ZCARD z").int() == 0,
        _ => reader.ask("XLEN s").int() != 0 || reader.ask("EXISTS s").int() == 0,
    }
}

/// What was moved by a waiting client, and reported to it, survives the end of the process.
#[test]
fn what_waiting_clients_were_told_survives() {
    let seed = larder_testkit::seed(59);
    let rounds = if larder_testkit::full_run() { 60 } else { 4 };
    let args =
        ["--threads", "4", "--appendonly", "yes", "--appendfsync", "always", "--enable-debug-command", "yes"];
    let mut server = Server::larder(&args);
    let mut rng = fastrand::Rng::with_seed(seed);
    for round in 0..rounds {
        server.client().ask("FLUSHALL");
        let time = Duration::from_millis(rng.u64(20..120));
        let port = server.port();
        let movers: Vec<_> = (0..4)
            .map(|_| {
                let mut client = Client::connect(port).expect("the server is there");
                std::thread::spawn(move || {
                    let mut moved = Vec::new();
                    while let Ok(reply) = client.try_cmd(&["BLMOVE", "q", "d", "LEFT", "RIGHT", "0"]) {
                        moved.push(reply.text());
                    }
                    moved
                })
            })
            .collect();
        let pushers: Vec<_> = (0..4)
            .map(|pusher| {
                let mut client = Client::connect(port).expect("the server is there");
                std::thread::spawn(move || {
                    (0..)
                        .map_while(|n| client.try_cmd(&["RPUSH", "q", &format!("{pusher}:{n}")]).ok())
                        .count()
                })
            })
            .collect();
        std::thread::sleep(time);
        server.kill();
        let moved: Vec<String> =
            movers.into_iter().flat_map(|thread| thread.join().expect("it has ended")).collect();
        let pushed: usize = pushers.into_iter().map(|thread| thread.join().expect("it has ended")).sum();
        assert!(pushed > 0 && !moved.is_empty(), "something was moved");
        assert!(server.start_again(&args), "{}", server.log());
        let mut client = server.client();
        let there: std::collections::HashSet<String> =
            client.ask("LRANGE d 0 -1").items().iter().map(|item| item.text()).collect();
        let lost: Vec<&String> = moved.iter().filter(|element| !there.contains(*element)).collect();
        assert!(
            lost.is_empty(),
            "SEED={seed}, round {round}: {} of {} lost: {lost:?}",
            lost.len(),
            moved.len()
        );
    }
}

/// WAIT and WAITAOF after a served blocking command wait for what its reply shows. (Valkey answers at once.)
#[test]
fn waiting_for_acknowledgements_covers_what_was_served() {
    let server = Server::larder(&["--threads", "3", "--repl-diskless-sync-delay", "0"]);
    let replica = Server::larder(&["--replicaof", &format!("127.0.0.1 {}", server.port())]);
    let mut admin = server.client();
    wait_until("the replica follows", || admin.ask("INFO replication").text().contains("state=online"));
    assert_eq!(pipeline(&mut admin, &["SET a 1", "WAIT 1 0"])[1].int(), 1);
    for (command, push) in SERVED.iter().filter(|(_, push)| !push.contains('|')) {
        admin.ask("FLUSHALL");
        admin.ask("XGROUP CREATE s g $ MKSTREAM");
        assert_eq!(admin.ask("WAIT 1 0").int(), 1);
        let mut waiting = wait_in(&server, &mut admin, &[], command);
        replica.signal("STOP");
        server.client().cmd(&larder_testkit::words(push));
        waiting.client.read().unwrap_or_else(|error| panic!("{command}, {push}: {error}"));
        let acknowledged = waiting.client.ask("WAIT 1 60").int();
        let on_disk = waiting.client.ask("WAITAOF 0 1 30");
        replica.signal("CONT");
        assert_eq!(acknowledged, 0, "{command}: the replica cannot have it");
        assert_eq!(on_disk.items()[1].int(), 0, "{command}");
        assert_eq!(waiting.client.ask("WAIT 1 0").int(), 1, "{command}");
    }
}

/// In a round beside a script that runs for too long, a thread that holds shards does not write the log: replies of clients
/// that another thread serves wait until it is written.
#[test]
fn replies_beside_a_script_wait_for_the_write() {
    let disk = FaultyDisk::default();
    let args =
        ["--threads", "2", "--appendonly", "yes", "--appendfsync", "no", "--busy-reply-threshold", "1"];
    let server = disk.start(Kind::Larder, &args);
    let mut admin = server.client();
    let mut waiting: Vec<_> = (0..4).map(|_| wait_in(&server, &mut admin, &[], "BLPOP q 0")).collect();
    let mut pushers: Vec<_> = (0..4).map(|_| server.client()).collect();
    pushers.iter_mut().for_each(|client| drop(client.ask("PING")));
    let mut runner = server.client();
    // A script that works on another key than those who wait, and does not end.
    runner.send(&["EVAL", "redis.call('get', KEYS[1]) while true do end", "1", "other"]);
    wait_until("the script runs for too long", || server.client().ask("PING").text().starts_with("BUSY"));
    disk.fail("write appendonlydir 0 hold");
    pushers.iter_mut().for_each(|client| client.send(&["RPUSH", "q", "x"]));
    for one in &mut waiting {
        let came = has_reply_within(&mut one.client, WATCH);
        assert!(!came, "a reply came before its effect was written");
    }
    disk.heal();
    assert_eq!(server.client().ask("SCRIPT KILL").text(), "OK");
    // Some of the elements were refused while the script ran.
    let replies = pushers.iter_mut().map(|client| client.read().expect("it is answered"));
    let pushed = replies.filter(|reply| !reply.is_error()).count();
    for one in &waiting {
        admin.ask(&format!("CLIENT UNBLOCK {}", one.id));
    }
    let replies = waiting.iter_mut().map(|one| one.client.read().expect("it is answered"));
    let served = replies.filter(|reply| !reply.items().is_empty()).count();
    assert_eq!(served, pushed);
}

/// WAITAOF for a log that is switched off meanwhile is an error, as in Valkey.
#[test]
fn waiting_for_a_log_that_ends_is_an_error() {
    for kind in [Kind::Larder, Kind::Valkey] {
        let disk = FaultyDisk::default();
        let server = disk.start(kind, &["--appendonly", "yes", "--appendfsync", "no"]);
        let mut admin = server.client();
        larder_testkit::wait_until_rewritten(&mut admin);
        disk.fail("sync appendonlydir 0 hold");
        let mut waiting: Vec<_> = (0..2).map(|_| server.client()).collect();
        for (at, client) in waiting.iter_mut().enumerate() {
            let id = client.ask("CLIENT ID").int();
            client.ask("SET k v");
            // The second waits for a replica as well, of which there is none.
            client.send(&["WAITAOF", "1", &at.to_string(), "0"]);
            wait_until("it waits", || crate::is_blocked(&mut admin, id));
        }
        if kind == Kind::Larder {
            admin.send(&["CONFIG", "SET", "appendonly", "no"]);
            disk.heal();
        } else {
            disk.heal();
            admin.send(&["CONFIG", "SET", "appendonly", "no"]);
        }
        assert_eq!(admin.read().expect("it is answered").text(), "OK");
        let last = text_of(&mut waiting[1]);
        assert!(last.starts_with("-ERR WAITAOF cannot be used when numlocal is set"), "{kind:?}: {last}");
        let first = text_of(&mut waiting[0]);
        assert!(first.starts_with('*') || first == last, "{kind:?}: {first}");
    }
}

fn text_of(client: &mut Client) -> String {
    client.read().expect("it is answered").to_string()
}
