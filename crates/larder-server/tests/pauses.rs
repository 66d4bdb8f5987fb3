//! CLIENT PAUSE: what waits, for how long, and how it is shown; the same questions to Valkey.

use larder_testkit::{Client, Kind, Server, Value, wait_until, words};
use std::time::{Duration, Instant};

const KINDS: [Kind; 2] = [Kind::Larder, Kind::Valkey];

/// Long enough that nothing that does not wait takes as long, even on a busy machine.
const PAUSE_MS: u64 = 700;

fn start(kind: Kind) -> Server {
    let own: &[&str] = if kind == Kind::Larder { &["--threads", "2"] } else { &[] };
    Server::of(kind, own)
}

/// Whether the answer to a command comes only when the pause ends.
fn waits(client: &mut Client, line: &str) -> bool {
    let start = Instant::now();
    client.cmd(&words(line));
    start.elapsed() > Duration::from_millis(PAUSE_MS / 2)
}

/// For each command whether it waits under a pause.
#[test]
fn what_waits() {
    let commands = [
        "PUBLISH a b",
        "PFCOUNT x",
        "SET k v",
        "GET k",
        "GETEX k",
        r##"EVAL "return 1" 0"##,
        r##"EVAL "#!lua\nreturn 1" 0"##,
        r##"EVAL "#!lua flags=no-writes\nreturn 1" 0"##,
        r##"EVAL "#!lua flags=bogus\nreturn 1" 0"##,
        r##"EVAL_RO "return 1" 0"##,
        "EVALSHA nosuch 0",
        "EVALSHA_RO nosuch 0",
        "FCALL reads 0",
        "FCALL writes 0",
        "FCALL nosuch 0",
        "NOSUCH",
        "GET",
        "CLIENT UNPAUSE",
        "CLIENT KILL ID 999",
    ];
    let library = "#!lua name=lib\nredis.register_function{function_name='reads', callback=function() return 1 end, \
                   flags={'no-writes'}} redis.register_function('writes', function() return 1 end)";
    // One connection for each command, all at once: a pause is waited for once.
    let answers = |kind: Kind, mode: &str| {
        let server = start(kind);
        let mut admin = server.client();
        assert_eq!(admin.cmd(&["FUNCTION", "LOAD", library]).text(), "lib");
        // UNPAUSE would end the pause for the others.
        let commands = commands.iter().filter(|line| mode == "ALL" || **line != "CLIENT UNPAUSE");
        let mut clients: Vec<_> = commands.map(|line| (*line, server.client())).collect();
        clients.iter_mut().for_each(|(_, client)| drop(client.ask("PING")));
        assert_eq!(admin.ask(&format!("CLIENT PAUSE {PAUSE_MS} {mode}")).text(), "OK");
        let start = Instant::now();
        let threads = clients.into_iter().map(|(line, mut client)| {
            std::thread::spawn(move || {
                client.cmd(&words(line));
                (line, start.elapsed() > Duration::from_millis(PAUSE_MS * 3 / 4))
            })
        });
        let threads: Vec<_> = threads.collect();
        threads.into_iter().map(|thread| thread.join().expect("it is answered")).collect::<Vec<_>>()
    };
    for mode in ["WRITE", "ALL"] {
        assert_eq!(answers(Kind::Larder, mode), answers(Kind::Valkey, mode), "{mode}");
    }
}

/// Transactions wait with what they queue, and with EXEC if anything in them may write.
#[test]
fn transactions_wait() {
    let answers = |kind: Kind| {
        let server = start(kind);
        let (mut admin, mut client) = (server.client(), server.client());
        let mut found = Vec::new();
        for (queue, last) in [
            (vec![], "SET k v"),
            (vec![], "GET k"),
            (vec!["GET k"], "EXEC"),
            (vec!["SET k v"], "EXEC"),
            (vec![r##"EVAL "#!lua flags=no-writes\nreturn 1" 0"##], "EXEC"),
            (vec![r##"EVAL "return 1" 0"##], "EXEC"),
        ] {
            client.ask("MULTI");
            queue.iter().for_each(|line| assert_eq!(client.cmd(&words(line)).text(), "QUEUED"));
            admin.ask(&format!("CLIENT PAUSE {PAUSE_MS} WRITE"));
            found.push((queue, last, waits(&mut client, last)));
            admin.ask("CLIENT UNPAUSE");
            client.ask("DISCARD");
        }
        found
    };
    assert_eq!(answers(Kind::Larder), answers(Kind::Valkey));
}

/// What is over is not shown, and stays until the pause ends: who copies the data, or takes over, counts on that.
#[test]
fn nothing_expires() {
    let seen = |kind: Kind| {
        let server = start(kind);
        let (mut admin, mut other) = (server.client(), server.client());
        let expired = |client: &mut Client| {
            let info = client.ask("INFO stats").text();
            let line = info.lines().find_map(|line| line.strip_prefix("expired_keys:").map(str::to_owned));
            line.expect("it is told")
        };
        let mut found = Vec::new();
        for line in ["SET a 1 PX 300", "SET b 1", "HSET h f 1 g 2", "HPEXPIRE h 300 FIELDS 1 f"] {
            admin.ask(line);
        }
        assert_eq!(admin.ask("CLIENT PAUSE 60000 WRITE").text(), "OK");
        let deadline = Instant::now() + Duration::from_secs(20);
        while other.ask("EXISTS a").int() == 1 || other.ask("HGET h f") != Value::NullBulk {
            assert!(Instant::now() < deadline, "{kind:?}");
        }
        // Some rounds of the cycle that looks for what is over.
        std::thread::sleep(Duration::from_millis(400));
        let info = other.ask("INFO clients").text();
        for name in ["paused_reason", "paused_actions"] {
            let line = info.lines().find(|line| line.starts_with(name)).expect("it is told");
            found.push((name, line.to_owned()));
        }
        for line in
            ["GET a", "EXISTS a", "DBSIZE", "HLEN h", "HGETALL h", "KEYS *a", "SCAN 0 MATCH a", "TTL a"]
        {
            found.push((line, format!("{:?}", other.ask(line))));
        }
        found.push(("expired_keys", expired(&mut other)));
        assert_eq!(admin.ask("CLIENT UNPAUSE").text(), "OK");
        let deadline = Instant::now() + Duration::from_secs(20);
        while expired(&mut other) != "1" || other.ask("HLEN h").int() != 1 {
            assert!(Instant::now() < deadline, "{kind:?}");
        }
        found
    };
    assert_eq!(seen(Kind::Larder), seen(Kind::Valkey));
}

#[test]
fn who_waits_is_shown_as_blocked() {
    for kind in KINDS {
        let server = start(kind);
        let (mut admin, mut client) = (server.client(), server.client());
        client.ask("CLIENT SETNAME waits");
        admin.ask("CLIENT PAUSE 60000 WRITE");
        client.send(&["SET", "k", "v"]);
        let shown = |admin: &mut Client| {
            let list = admin.ask("CLIENT LIST").text();
            let line =
                list.lines().find(|line| line.contains("name=waits")).expect("it is listed").to_owned();
            let word =
                |name: &str| line.split(' ').find_map(|word| word.strip_prefix(name)).map(str::to_owned);
            (word("flags="), word("cmd="))
        };
        let deadline = Instant::now() + Duration::from_secs(20);
        while shown(&mut admin) != (Some("b".to_owned()), Some("set".to_owned())) {
            assert!(Instant::now() < deadline, "{kind:?}: {:?}", shown(&mut admin));
        }
        let blocked = |admin: &mut Client| {
            let info = admin.ask("INFO clients").text();
            info.lines().find_map(|line| line.strip_prefix("blocked_clients:").map(str::to_owned))
        };
        assert_eq!(blocked(&mut admin).as_deref(), Some("1"), "{kind:?}");
        let id = admin.ask("CLIENT LIST").text();
        let id =
            id.lines().find(|line| line.contains("name=waits")).and_then(|line| line[3..].split(' ').next());
        assert_eq!(admin.ask(&format!("CLIENT UNBLOCK {}", id.expect("an id"))).int(), 0, "{kind:?}");
        assert_eq!(admin.ask("CLIENT UNPAUSE").text(), "OK");
        assert_eq!(client.read().expect("an answer").text(), "OK");
        assert_eq!(shown(&mut admin).0.as_deref(), Some("N"), "{kind:?}");
        assert_eq!(blocked(&mut admin).as_deref(), Some("0"), "{kind:?}");
    }
}

fn is_blocked(admin: &mut Client, id: i64) -> bool {
    let list = admin.ask(&format!("CLIENT LIST ID {id}")).text();
    list.split(' ').any(|word| word.strip_prefix("flags=").is_some_and(|flags| flags.contains('b')))
}

/// What was let in before a pause is not refused for what comes and goes while it waits: a script that runs for too long, a disk
/// that fails, data that is stale.
#[test]
fn what_waits_is_not_refused_for_what_passes() {
    let answers = |kind: Kind| {
        let server = Server::of(kind, &["--busy-reply-threshold", "10"]);
        let (mut admin, mut runner) = (server.client(), server.client());
        let (mut exec, mut incr) = (server.client(), server.client());
        let ids = [exec.ask("CLIENT ID").int(), incr.ask("CLIENT ID").int()];
        for line in ["MULTI", "SET q 1", "INCR n"] {
            exec.ask(line);
        }
        assert_eq!(admin.ask("CLIENT PAUSE 60000 WRITE").text(), "OK");
        exec.send(&["EXEC"]);
        incr.send(&["INCR", "count"]);
        for id in ids {
            larder_testkit::wait_until("it waits", || is_blocked(&mut admin, id));
        }
        runner.send(&["EVAL_RO", "while true do end", "0"]);
        larder_testkit::wait_until("the script runs for too long", || {
            admin.ask("PING").text().starts_with("BUSY")
        });
        // Some tries of those that wait.
        std::thread::sleep(Duration::from_millis(60));
        let kill = admin.ask("SCRIPT KILL").to_string();
        // In Valkey the script may end a little later.
        larder_testkit::wait_until("the pause ends", || admin.ask("CLIENT UNPAUSE").text() == "OK");
        let (exec, incr) = (exec.read().expect("it is answered"), incr.read().expect("it is answered"));
        format!("{kill} {exec} {incr} {}", runner.read().expect("it is answered").is_error())
    };
    assert_eq!(answers(Kind::Larder), answers(Kind::Valkey));
}

/// Waits until a replica has loaded the snapshot, and its primary knows.
fn wait_for_replica(primary: &Server, replica: &Server) {
    let says = |server: &Server, text: &str| server.client().ask("INFO replication").text().contains(text);
    larder_testkit::wait_until("the replica follows", || {
        says(replica, "master_link_status:up") && says(primary, "state=online")
    });
}

/// Writes wait while a failover lasts, and are executed when its time is over.
#[test]
fn writes_wait_for_the_end_of_a_failover() {
    let answers = |kind: Kind| {
        let primary = Server::of(kind, &["--repl-diskless-sync-delay", "0"]);
        let replica = Server::of(kind, &["--replicaof", &format!("127.0.0.1 {}", primary.port())]);
        let mut admin = primary.client();
        wait_for_replica(&primary, &replica);
        replica.signal("STOP");
        // Something that the replica lacks.
        admin.ask("SET lacks 1");
        assert_eq!(admin.ask(&format!("FAILOVER TO 127.0.0.1 {} TIMEOUT 400", replica.port())).text(), "OK");
        let mut writers: Vec<Client> = (0..4).map(|_| primary.client()).collect();
        writers.iter_mut().for_each(|client| client.send(&["INCR", "n"]));
        let mut answers: Vec<String> =
            writers.iter_mut().map(|client| client.read().expect("it is answered").to_string()).collect();
        answers.sort();
        replica.signal("CONT");
        answers
    };
    assert_eq!(answers(Kind::Larder), answers(Kind::Valkey));
}

/// Writes that wait for CLIENT PAUSE go on to wait when the server becomes a replica meanwhile: what Sentinel sends.
#[test]
fn writes_wait_when_the_role_changes_under_a_pause() {
    let answers = |kind: Kind| {
        let primary = Server::of(kind, &["--repl-diskless-sync-delay", "0"]);
        let replica = Server::of(kind, &["--replicaof", &format!("127.0.0.1 {}", primary.port())]);
        let mut admin = primary.client();
        wait_for_replica(&primary, &replica);
        let mut writer = primary.client();
        let id = writer.ask("CLIENT ID").int();
        assert_eq!(admin.ask("CLIENT PAUSE 60000 WRITE").text(), "OK");
        writer.send(&["SET", "k", "v"]);
        larder_testkit::wait_until("it waits", || is_blocked(&mut admin, id));
        let lines = ["MULTI", &format!("FAILOVER TO 127.0.0.1 {}", replica.port()), "EXEC"];
        let replies: Vec<String> = lines.map(|line| admin.ask(line).to_string()).to_vec();
        larder_testkit::wait_until("the roles have changed", || {
            admin.ask("ROLE").to_string().contains("slave")
                && replica.client().ask("ROLE").to_string().contains("master")
        });
        let waits = is_blocked(&mut admin, id);
        admin.ask("CLIENT UNPAUSE");
        format!("{replies:?} {waits} {}", writer.read().expect("it is answered"))
    };
    assert_eq!(answers(Kind::Larder), answers(Kind::Valkey));
}

/// A file that is loaded does not wait for a pause, and serves nobody who waits now.
#[test]
fn loading_the_log_waits_for_no_pause() {
    let answers = |kind: Kind, own: &[&str]| {
        let args = [&["--appendonly", "yes", "--enable-debug-command", "yes"], own].concat();
        let server = Server::of(kind, &args);
        let mut admin = server.client();
        larder_testkit::wait_until_rewritten(&mut admin);
        for line in ["RPUSH d x", "RENAME d q", "SET k v"] {
            assert!(!admin.ask(line).is_error());
        }
        let mut waiting = server.client();
        let id = waiting.ask("CLIENT ID").int();
        waiting.send(&["BLPOP", "d", "0"]);
        larder_testkit::wait_until("it waits", || is_blocked(&mut admin, id));
        assert_eq!(admin.ask(&format!("CLIENT PAUSE {PAUSE_MS} WRITE")).text(), "OK");
        let begun = Instant::now();
        let loaded = admin.ask("DEBUG LOADAOF").to_string();
        let at_once = begun.elapsed() < Duration::from_millis(PAUSE_MS / 2);
        admin.ask("CLIENT UNPAUSE");
        let left = (admin.ask("LRANGE q 0 -1").to_string(), admin.ask("GET k").to_string());
        format!("{loaded} {at_once} {left:?} {}", is_blocked(&mut admin, id))
    };
    let expected = answers(Kind::Valkey, &[]);
    for threads in ["1", "2"] {
        assert_eq!(answers(Kind::Larder, &["--threads", threads]), expected, "{threads} threads");
    }
}

/// EXEC that will be refused, or answer null, waits for no pause of writes.
#[test]
fn transactions_that_execute_nothing_wait_for_no_pause() {
    let answers = |kind: Kind| {
        let server = start(kind);
        let (mut admin, mut poisoned, mut touched) = (server.client(), server.client(), server.client());
        for line in ["MULTI", "SET k 1", "NOSUCH"] {
            poisoned.ask(line);
        }
        for line in ["WATCH w", "MULTI", "SET k 1"] {
            touched.ask(line);
        }
        admin.ask("SET w 1");
        admin.ask("CLIENT PAUSE 60000 WRITE");
        let answers = [poisoned.ask("EXEC").to_string(), touched.ask("EXEC").to_string()];
        admin.ask("CLIENT UNPAUSE");
        answers
    };
    assert_eq!(answers(Kind::Larder), answers(Kind::Valkey));
}

/// WATCH of a key that a script keeps which runs for too long is answered: the commands after it come through.
#[test]
fn watching_beside_a_long_script_is_answered() {
    for kind in [Kind::Larder, Kind::Valkey] {
        for threads in ["1", "3"] {
            let own: &[&str] = if kind == Kind::Larder { &["--threads", threads] } else { &[] };
            let server = Server::of(kind, &[&["--busy-reply-threshold", "10"], own].concat());
            let (mut runner, mut watcher, mut admin) = (server.client(), server.client(), server.client());
            let lines = ["MULTI", "HSET d f 1", r#"EVAL "while true do end" 0"#, "EXEC"];
            for line in lines {
                runner.send(&words(line));
            }
            larder_testkit::wait_until("the script runs for too long", || {
                admin.ask("PING").text().starts_with("BUSY")
            });
            watcher.send_all(&[&words("WATCH d other")[..], &words("SCRIPT KILL")[..]]);
            let replies = [watcher.read(), watcher.read()].map(|reply| reply.expect("it is answered").text());
            assert_eq!(replies, ["OK", "OK"], "{kind:?}, {threads} threads");
            lines.iter().for_each(|_| drop(runner.read().expect("it is answered")));
            // It may have missed what the script did: then its transaction executes nothing.
            watcher.ask("MULTI");
            watcher.ask("SET d 1");
            let executed = watcher.ask("EXEC");
            assert!(matches!(executed, Value::Array(_) | Value::NullArray), "{kind:?}: {executed}");
            for line in ["WATCH d", "MULTI", "SET d 1"] {
                watcher.ask(line);
            }
            assert_eq!(watcher.ask("EXEC").items().len(), 1, "{kind:?}: nothing is left of it");
        }
    }
}

/// A database whose keys are all overdue is not empty while they stay.
#[test]
fn a_key_that_stays_though_its_time_is_over_is_drawn() {
    for kind in [Kind::Larder, Kind::Valkey] {
        let server = start(kind);
        let mut client = server.client();
        client.ask("DEBUG SET-ACTIVE-EXPIRE 0");
        client.ask("SET k v PX 1");
        client.ask(&format!("CLIENT PAUSE {} WRITE", PAUSE_MS * 100));
        wait_until("its time is over", || client.ask("EXISTS k").int() == 0);
        assert_eq!(client.ask("RANDOMKEY").text(), "k", "{kind:?}");
        client.ask("CLIENT UNPAUSE");
        wait_until("it is gone", || client.ask("RANDOMKEY") == Value::NullBulk);
    }
}
