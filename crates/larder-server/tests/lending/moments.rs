//! Nobody sees half: of a script that lends, of a command of very many keys, of a transaction; nor does a replica or the log.

use super::SPIN;
use larder_testkit::{Client, Server, Value, seed, wait_until};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// A server with a log and a replica.
struct Logged {
    server: Server,
    replica: Server,
    args: Vec<String>,
}

impl Logged {
    fn new(args: &[&str]) -> Logged {
        let own = ["--appendonly", "yes", "--repl-diskless-sync-delay", "0", "--enable-debug-command", "yes"];
        let args = [&own[..], args].concat();
        let server = Server::larder(&args);
        let replica = Server::larder(&["--replicaof", &format!("127.0.0.1 {}", server.port())]);
        let mut client = server.client();
        wait_until("the replica is there", || client.ask("INFO replication").text().contains("state=online"));
        Logged { server, replica, args: args.into_iter().map(str::to_owned).collect() }
    }

    /// The replica gets the same data, and so does the server when it reads its log again.
    fn ends_the_same_everywhere(mut self) {
        let mut client = self.server.client();
        let digest = client.ask("DEBUG DIGEST").text();
        let at_replica = || self.replica.client().ask("DEBUG DIGEST").text();
        wait_until("the replica has the same", || at_replica() == digest);
        client.send(&["SHUTDOWN"]);
        assert!(self.server.wait().success());
        let args: Vec<&str> = self.args.iter().map(String::as_str).collect();
        assert!(self.server.start_again(&args));
        assert_eq!(self.server.client().ask("DEBUG DIGEST").text(), digest);
    }
}

/// Reads all accounts.
type Watch = fn(&mut Client, &[String]) -> Vec<Value>;

/// Scripts move amounts between accounts, and take their time in the middle; others see the accounts in every way there is, and the sum is always
/// the same. So it is with a replica, and when the log is read again.
#[test]
fn nobody_sees_half_of_a_script() {
    let seed = seed(2_811);
    let logged = Logged::new(&["--threads", "3", "--busy-reply-threshold", "600000"]);
    let server = &logged.server;
    let mut client = server.client();
    let accounts: Vec<String> = (0..8).map(|n| format!("a:{n}")).collect();
    for account in &accounts {
        client.cmd(&["SET", account, "100"]);
    }
    // Their keys are declared, found in the middle, or both.
    let move_one = |how: &str| {
        let [from, to] = match how {
            "declared" => ["KEYS[1]", "KEYS[2]"],
            "found" => ["ARGV[1]", "ARGV[2]"],
            _ => ["KEYS[1]", "ARGV[2]"],
        };
        format!(
            "redis.call('decrby', {from}, ARGV[3]) for i = 1, 8000 do redis.call('exists', {from}) end \
             redis.call('incrby', {to}, ARGV[3]) return redis.call('incr', 'moves')"
        )
    };
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watchers: [Watch; 4] = [
            |client, accounts| client.cmd(&[&["MGET".to_owned()], accounts].concat()).items().to_vec(),
            |client, accounts| {
                client.ask("MULTI");
                accounts.iter().for_each(|account| drop(client.cmd(&["GET", account])));
                client.ask("EXEC").items().to_vec()
            },
            |client, accounts| {
                let body = "return redis.call('mget', unpack(ARGV))";
                client
                    .cmd(&[&["EVAL_RO".to_owned(), body.to_owned(), "0".to_owned()], accounts].concat())
                    .items()
                    .to_vec()
            },
            |client, accounts| loop {
                client.cmd(&[&["WATCH".to_owned()], accounts].concat());
                let read: Vec<Value> = accounts.iter().map(|account| client.cmd(&["GET", account])).collect();
                client.ask("MULTI");
                client.ask("PING");
                // Nobody has changed any of them between the first and the last.
                if matches!(client.ask("EXEC"), Value::Array(_)) {
                    return read;
                }
            },
        ];
        for watch in watchers {
            let (accounts, done) = (&accounts, &done);
            scope.spawn(move || {
                let mut client = server.client();
                while !done.load(Relaxed) {
                    let values = watch(&mut client, accounts);
                    let sum: i64 =
                        values.iter().map(|value| value.text().parse::<i64>().expect("a number")).sum();
                    assert_eq!(sum, 800, "seed {seed}: {values:?}");
                }
            });
        }
        // In a transaction a script keeps its shards: what comes after it belongs to the same moment.
        {
            let (accounts, done) = (&accounts, &done);
            scope.spawn(move || {
                let mut client = server.client();
                while !done.load(Relaxed) {
                    client.ask("MULTI");
                    client.cmd(&["DECR", &accounts[0]]);
                    client.cmd(&["EVAL", SPIN, "0"]);
                    client.cmd(&["INCR", &accounts[1]]);
                    assert!(!client.ask("EXEC").is_error());
                }
            });
        }
        for how in ["declared", "found", "both"] {
            let (accounts, done) = (&accounts, &done);
            let body = move_one(how);
            scope.spawn(move || {
                let mut rng = fastrand::Rng::with_seed(seed + how.len() as u64);
                let mut client = server.client();
                for _ in 0..40 {
                    let (from, to) = (&accounts[rng.usize(..8)], &accounts[rng.usize(..8)]);
                    let moved = client.cmd(&["EVAL", &body, "2", from, to, from, to, "3"]);
                    assert!(matches!(moved, Value::Int(_)), "{moved}");
                }
                if how == "declared" {
                    wait_until("all have been moved", || client.ask("GET moves").text() == "120");
                    done.store(true, Relaxed);
                }
            });
        }
    });
    logged.ends_the_same_everywhere();
}

/// A command of very many keys goes by parts, and yet sees and changes all of them at one moment: those who read them beside those who change them find
/// one value everywhere, or no key at all. Those who want other keys go on.
#[test]
fn commands_of_very_many_keys_have_one_moment() {
    let logged = Logged::new(&["--threads", "2", "--notify-keyspace-events", "KEA"]);
    let server = &logged.server;
    let mut client = server.client();
    let keys: Vec<String> = (0..12_000).map(|n| format!("many:{n}")).collect();
    let with = |name: &str, value: Option<&str>| -> Vec<String> {
        let each = keys.iter().flat_map(|key| [Some(key.clone()), value.map(str::to_owned)]);
        std::iter::once(name.to_owned()).chain(each.flatten()).collect()
    };
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (done, with) = (&done, &with);
        scope.spawn(move || {
            let mut client = server.client();
            for round in 0..12 {
                assert_eq!(client.cmd(&with("MSET", Some(&round.to_string()))).text(), "OK");
                if round % 3 == 2 {
                    let name = if round % 2 == 0 { "DEL" } else { "UNLINK" };
                    assert_eq!(client.cmd(&with(name, None)).int(), 12_000);
                    assert_eq!(client.cmd(&with("MSETNX", Some("x"))).int(), 1);
                    assert_eq!(client.cmd(&with("MSETNX", Some("y"))).int(), 0);
                }
            }
            done.store(true, Relaxed);
        });
        scope.spawn(move || {
            let mut client = server.client();
            let numbers: Vec<String> = (0..12_000).map(|n| n.to_string()).collect();
            client.cmd(&[&["RPUSH".to_owned(), "numbers".to_owned()], &numbers[..]].concat());
            while !done.load(Relaxed) {
                let values = client.ask("SORT numbers BY nosort GET many:*");
                assert!(values.items().iter().all(|value| *value == values.items()[0]), "{values}");
                assert_eq!(client.ask("SORT numbers BY none:* GET many:* STORE sorted").int(), 12_000);
                let stored = client.ask("LRANGE sorted 0 -1");
                assert!(stored.items().iter().all(|value| *value == stored.items()[0]), "{stored}");
            }
        });
        for name in ["MGET", "EXISTS", "TOUCH"] {
            scope.spawn(move || {
                let mut client = server.client();
                while !done.load(Relaxed) {
                    match client.cmd(&with(name, None)) {
                        Value::Int(count) => assert!([0, 12_000].contains(&count), "{name}: {count}"),
                        values => {
                            let first = &values.items()[0];
                            assert!(values.items().iter().all(|value| value == first), "{values}");
                        }
                    }
                }
            });
        }
        scope.spawn(move || {
            let mut client = server.client();
            while !done.load(Relaxed) {
                assert!(client.ask("INCR other").int() > 0);
                let of_two = client.cmd(&[
                    "EVAL",
                    "return redis.call('mget', KEYS[1], KEYS[2])",
                    "2",
                    "many:1",
                    "many:11000",
                ]);
                assert_eq!(of_two.items()[0], of_two.items()[1]);
                client.ask("MULTI");
                client.ask("GET many:5");
                client.ask("GET many:11999");
                let both = client.ask("EXEC");
                assert_eq!(both.items()[0], both.items()[1]);
            }
        });
    });
    assert!(client.cmd(&with("MGET", None)).items().iter().all(|value| value.text() == "x"));
    logged.ends_the_same_everywhere();
}

/// Tells the other threads of a test, however the one that has it ends.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// A transaction that takes long lends its shards: those who want other keys are answered meanwhile, wherever these lie, and nobody sees half of it. Scripts
/// wait for one command of it at most.
#[test]
fn a_long_transaction_lends_its_shards_and_has_one_moment() {
    for threads in ["1", "2", "4"] {
        let logged = Logged::new(&["--threads", threads, "--busy-reply-threshold", "600000"]);
        let server = &logged.server;
        let mut client = server.client();
        let fill = "for i = 1, 50000 do redis.call('zadd', KEYS[1], i, 'm' .. i * ARGV[1]) end return 'OK'";
        for (key, factor) in [("in:1", "1"), ("in:2", "2")] {
            assert_eq!(client.cmd(&["EVAL", fill, "1", key, factor]).text(), "OK");
        }
        // A script of which nothing is known, or that took long once, waits for a thread for long commands, of which there is one for each worker.
        let rounds = if threads == "1" { 2 } else { 4 };
        let script = "EVAL return{1,2} 0";
        assert_eq!(client.ask(script).items().len(), 2);
        let (passes, scripts) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let (has_scripts, done) = (AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let (passes, scripts, has_scripts, done) = (&passes, &scripts, &has_scripts, &done);
            scope.spawn(move || {
                let _done = Done(done);
                let mut client = server.client();
                for round in 1..=rounds {
                    has_scripts.store(round > 2, Relaxed);
                    client.ask("MULTI");
                    client.ask("INCR done:1");
                    for out in 1..=4 {
                        client.ask(&format!("ZUNIONSTORE out:{out} 2 in:1 in:2 WEIGHTS 1 {round}"));
                    }
                    client.ask("INCR done:2");
                    let count = if round > 2 { scripts } else { passes };
                    let before = count.load(Relaxed);
                    let reply = client.ask("EXEC");
                    let others = count.load(Relaxed) - before;
                    assert_eq!(reply.items().len(), 6, "{reply}");
                    // One may have begun before the transaction.
                    assert!(others > 1, "{others} others in round {round} with {threads} threads");
                }
            });
            // Keys in all shards, all of them once in a pass.
            scope.spawn(move || {
                let mut client = server.client();
                while !done.load(Relaxed) {
                    for n in 0..2_000 {
                        client.send(&["SET", &format!("other:{n}"), "1"]);
                    }
                    for _ in 0..2_000 {
                        assert_eq!(client.read().expect("an answer").text(), "OK");
                    }
                    passes.fetch_add(1, Relaxed);
                }
            });
            for reads in [
                ["GET done:1", "GET done:2", "ZSCORE out:1 m2", "ZSCORE out:4 m2"],
                ["ZCARD out:2", "ZCARD out:3", "ZSCORE out:4 m2", "ZSCORE out:1 m2"],
            ] {
                scope.spawn(move || {
                    let mut client = server.client();
                    while !done.load(Relaxed) {
                        client.ask("MULTI");
                        reads.iter().for_each(|line| assert_eq!(client.ask(line).text(), "QUEUED"));
                        let seen = client.ask("EXEC");
                        let [a, b, c, d] = seen.items() else { panic!("{seen}") };
                        assert!(a == b && c == d, "half of a transaction: {seen}");
                    }
                });
            }
            scope.spawn(move || {
                let mut client = server.client();
                while !done.load(Relaxed) {
                    if has_scripts.load(Relaxed) {
                        assert_eq!(client.ask(script).items().len(), 2);
                        scripts.fetch_add(1, Relaxed);
                    } else {
                        std::thread::yield_now();
                    }
                }
            });
        });
        let ran = Value::Bulk(rounds.to_string().into_bytes());
        assert_eq!(client.ask("MGET done:1 done:2").items(), [ran.clone(), ran]);
        logged.ends_the_same_everywhere();
    }
}
