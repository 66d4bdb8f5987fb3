//! A script that runs for a while lends its shards: those who want its keys wait for its end, and see all of it or nothing; those who want
//! others are answered meanwhile, wherever these lie.

#[path = "common/calls.rs"]
mod every_call;

use every_call::fill;
use larder_testkit::{Client, Server, Value, seed, wait_until, words};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// Takes several milliseconds, so the script lends its shards by then.
const SPIN: &str = "for i = 1, 20000 do redis.call('exists', 'mine:1') end ";

/// Says that it has got this far, and goes on when somebody subscribes to `go`.
const WAIT: &str =
    "redis.call('publish', 'started', '1') repeat until redis.call('pubsub', 'numsub', 'go')[2] > 0 ";

/// A script that takes no longer than the test wants.
struct Script {
    client: Client,
}

impl Script {
    /// Runs one until it waits.
    fn start(server: &Server, body: &str, keys: &[&str]) -> Script {
        let (mut listener, mut client) = (server.client(), server.client());
        listener.ask("SUBSCRIBE started");
        let count = keys.len().to_string();
        client.send(&[&["EVAL", body, &count], keys].concat());
        let heard = listener.read().expect("the script says that it has started");
        assert_eq!(heard.items()[1].text(), "started");
        Script { client }
    }

    /// Has it go on, and gives its reply.
    fn end(mut self, server: &Server) -> Value {
        server.client().ask("SUBSCRIBE go");
        // The script may have looked between two subscriptions: this one stays until it has ended.
        let mut go = server.client();
        go.ask("SUBSCRIBE go");
        self.client.read().expect("the script ends")
    }
}

/// The calls of the list that need nothing before them.
fn calls() -> impl Iterator<Item = &'static str> {
    every_call::lines().filter(|line| !line.contains(" | "))
}

/// Their outcome is a matter of luck, or of the time.
const BY_CHANCE: &[&str] = &[
    "bgrewriteaof",
    "bgsave",
    "hrandfield",
    "lastsave",
    "lolwut",
    "memory doctor",
    "object idletime",
    "randomkey",
    "spop",
    "srandmember",
    "time",
    "xadd",
    "zrandmember",
];

/// What a client that has called them may say, or what it is answered, is another thing than before; or there is no server any more.
const CHANGES_THE_CLIENT: &[&str] = &[
    "client reply",
    "debug",
    "failover",
    "hello",
    "monitor",
    "psubscribe",
    "psync",
    "quit",
    "replicaof",
    "reset",
    "shutdown",
    "slaveof",
    "ssubscribe",
    "subscribe",
    "sync",
];

/// The calls whose outcome two servers agree on, but for what is about themselves.
fn comparable_calls() -> impl Iterator<Item = &'static str> {
    calls().filter(|call| !BY_CHANCE.iter().any(|chance| call.starts_with(chance)))
}

/// What a script calls while it lends its shards answers and does what it does in one that holds all of them.
#[test]
fn every_command_works_in_a_script_that_lends() {
    let holding = "redis.call('dbsize') return redis.pcall(unpack(ARGV))";
    let lending = format!("{SPIN} return redis.pcall(unpack(ARGV))");
    let servers = [(); 3].map(|()| {
        Server::larder(&[
            "--threads",
            "2",
            "--busy-reply-threshold",
            "600000",
            "--slowlog-log-slower-than",
            "-1",
        ])
    });
    let mut clients: Vec<Client> = servers.iter().map(Server::client).collect();
    let mut compared = 0;
    for call in comparable_calls() {
        let outcomes: Vec<(String, String)> = [holding, holding, &lending]
            .iter()
            .zip(&mut clients)
            .map(|(body, client)| {
                fill(client);
                let mut args = words("EVAL BODY 0");
                args[1] = body.as_bytes().to_vec();
                args.extend(words(call));
                let reply = client.cmd(&args).to_string();
                (reply, client.ask("DEBUG DIGEST").text())
            })
            .collect();
        // What two servers do not agree on is about themselves.
        if outcomes[0] == outcomes[1] {
            assert_eq!(outcomes[0], outcomes[2], "{call}");
            compared += 1;
        }
    }
    assert!(compared > 250, "only {compared} commands were compared");
}

/// What a transaction that lends its shards calls answers and does what it does in one that holds all of them.
#[test]
fn every_command_works_in_a_transaction_that_lends() {
    let servers = [(); 3].map(|()| {
        Server::larder(&[
            "--threads",
            "2",
            "--enable-debug-command",
            "yes",
            "--slowlog-log-slower-than",
            "-1",
        ])
    });
    let mut admins: Vec<Client> = servers.iter().map(Server::client).collect();
    let fill_large =
        "for i = 1, 12000 do redis.call('zadd', KEYS[1], i, i) end return redis.call('dump', KEYS[1])";
    let large = admins[0].cmd(&["EVAL", fill_large, "1", "large"]);
    let Value::Bulk(large) = large else { panic!("{large}") };
    let mut compared = 0;
    for call in
        comparable_calls().filter(|call| !CHANGES_THE_CLIENT.iter().any(|name| call.starts_with(name)))
    {
        // DBSIZE needs all shards: they are held from the beginning.
        let outcomes: Vec<(String, String)> = ["DBSIZE", "DBSIZE", "PING"]
            .iter()
            .zip(servers.iter().zip(&mut admins))
            .map(|(first, (server, admin))| {
                fill(admin);
                admin.cmd(&[&b"RESTORE"[..], b"large", b"0", &large]);
                let mut client = server.client();
                for line in ["MULTI", first, "ZUNIONSTORE union 1 large"] {
                    assert!(!client.ask(line).is_error(), "{line}");
                }
                let queued = client.cmd(&words(call)).to_string();
                let reply = client.ask("EXEC");
                let reply = match &reply {
                    Value::Array(replies) => replies.last().expect("there are three").to_string(),
                    other => other.to_string(),
                };
                (format!("{queued} {reply}"), admin.ask("DEBUG DIGEST").text())
            })
            .collect();
        // What two servers do not agree on is about themselves. What is not queued is not part of the transaction.
        if outcomes[0] == outcomes[1] && outcomes[0].0.starts_with("+QUEUED") {
            assert_eq!(outcomes[0], outcomes[2], "{call}");
            compared += 1;
        }
    }
    assert!(compared > 250, "only {compared} commands were compared");
}

/// Scripts wait for each other, and some commands need all keys.
fn waits_for_all(call: &str) -> bool {
    let first = call.split(' ').next().unwrap_or_default();
    ["eval", "evalsha", "eval_ro", "evalsha_ro", "fcall", "fcall_ro", "migrate"].contains(&first)
        || first.starts_with("sort") && (call.contains(" by ") || call.contains(" get "))
}

/// Works on keys in all shards, waits in between, and works on them once more.
fn everywhere() -> String {
    let work = "for i = 1, 2000 do redis.call('incr', 'mine:'..i) end ";
    format!("{work}{SPIN}{WAIT}{work} return redis.call('get', 'mine:1')")
}

/// While a script lends every shard, commands on other keys are answered, and so is whatever is about no keys. Those on its keys, and those on all
/// of them, are answered when it has ended. No thread waits with them.
#[test]
fn others_are_answered_and_those_who_want_its_keys_wait() {
    let foreign: Vec<&str> = {
        let server = Server::larder(&[]);
        let mut client = server.client();
        let mut has_keys = |call: &&str| {
            let args = [words("COMMAND GETKEYS"), words(call)].concat();
            matches!(client.cmd(&args), Value::Array(keys) if !keys.is_empty())
        };
        calls().filter(|call| !waits_for_all(call)).filter(&mut has_keys).collect()
    };
    assert!(foreign.len() > 150, "{} commands have keys", foreign.len());
    for threads in ["1", "2", "4"] {
        let server = Server::larder(&["--threads", threads, "--busy-reply-threshold", "600000"]);
        let mut clients: Vec<Client> = (0..4).map(|_| server.client()).collect();
        fill(&mut clients[0]);
        let script = Script::start(&server, &everywhere(), &[]);
        for (at, call) in foreign.iter().enumerate() {
            let client = &mut clients[at % 4];
            client.send(&words(call));
            client
                .read()
                .unwrap_or_else(|error| panic!("no answer to {call} with {threads} threads: {error}"));
        }
        for line in
            ["INFO everything", "MULTI", "SET s 1", "GET s", "EXEC", "WATCH s", "UNWATCH", "SCRIPT FLUSH"]
        {
            assert!(!clients[1].ask(line).is_error(), "{line}");
        }
        let waiting = [
            ("GET mine:7", "2"),
            ("INCR mine:8", "3"),
            ("MGET s mine:9", "1,2"),
            ("DEL mine:10", "1"),
            ("RENAME mine:11 s2", "OK"),
            ("COPY mine:12 s3", "1"),
            ("EVAL return(redis.call('get','mine:13')) 0", "2"),
            ("RANDOMKEY", ""),
            ("DBSIZE", ""),
            ("KEYS mine:1*", ""),
            ("SCAN 0 COUNT 100000", ""),
            ("SORT l BY w_*", ""),
            ("DEBUG DIGEST", ""),
            ("WATCH mine:14", "OK"),
            ("BLPOP s mine:15 0", ""),
            ("BITOP OR s4 s mine:16", "1"),
            ("LMOVE l mine:17 LEFT LEFT", ""),
            ("OBJECT ENCODING mine:18", "int"),
            ("SWAPDB 0 0", "OK"),
        ];
        let mut waiters: Vec<Client> = waiting.iter().map(|_| server.client()).collect();
        for ((line, _), waiter) in waiting.iter().zip(&mut waiters) {
            waiter.send(&words(line));
        }
        let mut queue = server.client();
        queue.ask("MULTI");
        queue.ask("GET s");
        queue.ask("GET mine:20");
        queue.send(&["EXEC"]);
        for _ in 0..3 {
            for client in &mut clients {
                assert_eq!(client.ask("PING").text(), "PONG", "{threads} threads");
                assert_eq!(client.ask("SET s 1").text(), "OK", "{threads} threads");
            }
        }
        for ((line, _), waiter) in waiting.iter().zip(&mut waiters) {
            assert!(!waiter.has_reply(), "{line} with {threads} threads: {:?}", waiter.read());
        }
        assert!(!queue.has_reply());
        assert_eq!(script.end(&server).text(), "2");
        for ((line, wanted), waiter) in waiting.iter().zip(&mut waiters) {
            let reply = waiter.read().unwrap_or_else(|error| panic!("no answer to {line}: {error}"));
            let text = match &reply {
                Value::Array(items) => items.iter().map(Value::to_string).collect::<Vec<_>>().join(","),
                other => other.to_string(),
            };
            let text: String = text.chars().filter(|c| !"\"() ".contains(*c)).collect();
            assert!(wanted.is_empty() || text.contains(wanted), "{line} with {threads} threads: {text}");
        }
        let both = queue.read().expect("the transaction is executed");
        assert_eq!(both.items().iter().map(Value::text).collect::<Vec<_>>(), ["1", "2"]);
    }
}

/// What is left of what a script has reserved when it has failed, or has been killed: nothing.
#[test]
fn a_script_that_fails_reserves_nothing_any_more() {
    let server = Server::larder(&["--threads", "2", "--busy-reply-threshold", "20"]);
    let mut client = server.client();
    for end in ["error('no more')", "redis.call('incr')", "local t = nil ; t.x = 1"] {
        let reply = client.cmd(&["EVAL", &format!("redis.call('incr', 'mine:1') {SPIN} {end}"), "0"]);
        assert!(reply.is_error(), "{reply}");
        assert!(!client.ask("INCR mine:1").is_error());
        assert!(!client.ask("DBSIZE").is_error());
    }
    assert_eq!(client.ask("GET mine:1").text(), "6", "what it had done until then is done");
    let mut busy = server.client();
    busy.send(&["EVAL", &format!("redis.call('get', KEYS[1]) {SPIN} while true do end"), "1", "mine:1"]);
    wait_until("the server is busy", || client.ask("GET other").text().starts_with("BUSY"));
    assert_eq!(client.ask("SCRIPT KILL").text(), "OK");
    assert!(busy.read().expect("an answer").text().contains("killed"));
    assert_eq!(client.ask("INCR mine:1").int(), 7);
    assert_eq!(client.ask("DBSIZE").int(), 1);
}

/// Clients that wait for a key are served when the script has ended. If another of their keys gets something meanwhile they are served from that one, also
/// if both keys are in one shard, as those of a slot are.
#[test]
fn who_waits_for_a_key_is_not_served_from_the_middle_of_a_script() {
    let server =
        Server::larder(&["--threads", "2", "--cluster-enabled", "yes", "--busy-reply-threshold", "600000"]);
    let mut client = server.client();
    assert_eq!(client.ask("CLUSTER ADDSLOTSRANGE 0 16383").text(), "OK");
    wait_until("the cluster serves its slots", || !client.ask("GET {t}x").is_error());
    let (mut first, mut second) = (server.client(), server.client());
    first.send(&words("BLPOP {t}mine {t}other 0"));
    second.send(&words("BLMPOP 0 2 {t}mine {t}third LEFT"));
    let mut third = server.client();
    third.send(&words("BLMOVE {t}from {t}to LEFT LEFT 0"));
    wait_until("all wait", || client.ask("INFO clients").text().contains("blocked_clients:3\r"));
    let body = format!(
        "redis.call('rpush', KEYS[1], 'one') \
         for i = 1, 20000 do redis.call('exists', KEYS[1]) end {WAIT} \
         return redis.call('rpush', KEYS[1], 'two', 'three')"
    );
    let script = Script::start(&server, &body, &["{t}mine"]);
    assert_eq!(client.ask("RPUSH {t}other from-other").int(), 1);
    let served = first.read().expect("it is served");
    assert_eq!(served.items().iter().map(Value::text).collect::<Vec<_>>(), ["{t}other", "from-other"]);
    // Somebody who will move an element holds up those who push it, as all shards are needed for that, and nobody else.
    assert_eq!(client.ask("SET {t}free 1").text(), "OK");
    let mut pushes = server.client();
    pushes.send(&words("RPUSH {t}from element"));
    assert_eq!(client.ask("RPUSH {t}free2 1").int(), 1);
    assert!(!second.has_reply() && !third.has_reply() && !pushes.has_reply());
    assert_eq!(script.end(&server).int(), 3);
    assert_eq!(second.read().expect("it is served").items()[1].items()[0].text(), "one");
    assert_eq!(client.ask("LRANGE {t}mine 0 -1").items().len(), 2);
    assert_eq!(pushes.read().expect("it is executed").int(), 1);
    assert_eq!(third.read().expect("it is served").text(), "element");
}

/// Who waits to move an element is served by a script that pushes it, whatever key the script has declared: one of 256 lies where the list does, so that its
/// shard is held.
#[test]
fn scripts_serve_those_who_move_elements() {
    let server = Server::larder(&["--threads", "2"]);
    let (mut client, mut mover) = (server.client(), server.client());
    for round in 0..2000 {
        mover.send(&words("BLMOVE from to LEFT LEFT 0"));
        wait_until("it waits", || client.ask("INFO clients").text().contains("blocked_clients:1\r"));
        let body = "redis.call('set', KEYS[1], 1) return redis.call('rpush', 'from', ARGV[1])";
        let (key, element) = (format!("key:{round}"), round.to_string());
        assert_eq!(client.cmd(&["EVAL", body, "1", &key, &element]).int(), 1);
        assert_eq!(mover.read().expect("it is served").text(), element);
    }
}

/// While a script has reserved keys of all shards, others are evicted to make room, and writes are neither refused nor held up.
#[test]
fn room_is_made_beside_a_script() {
    for threads in ["1", "2"] {
        let limit = ["--maxmemory", "24mb", "--maxmemory-policy", "allkeys-random"];
        let own = ["--threads", threads, "--busy-reply-threshold", "600000"];
        let server = Server::larder(&[&own[..], &limit].concat());
        let mut client = server.client();
        let value = "v".repeat(1000);
        let mut write = |from: usize, to: usize| {
            for n in from..to {
                assert_eq!(
                    client.cmd(&["SET", &format!("key:{n}"), &value]).text(),
                    "OK",
                    "{n}, {threads} threads"
                );
            }
        };
        write(0, 30_000);
        let work = "sum = 0 for i = 1, 2000 do sum = sum + redis.call('incr', 'mine:'..i) end ";
        let body = format!("local sum {work}{SPIN}{WAIT}{work} return sum");
        let script = Script::start(&server, &body, &[]);
        write(30_000, 34_000);
        assert_eq!(script.end(&server).int(), 4000, "a key that is reserved is not evicted");
    }
}

/// Commands that take long, on other keys, have a thread beside a script, also if somebody waits for all keys.
#[test]
fn long_commands_are_executed_beside_a_script() {
    for threads in ["1", "2"] {
        let server = Server::larder(&["--threads", threads, "--busy-reply-threshold", "600000"]);
        let mut client = server.client();
        let members: Vec<String> = (0..30_000).map(|n| format!("m{n}")).collect();
        assert_eq!(
            client.cmd(&[&["SADD".to_owned(), "set".to_owned()], &members[..]].concat()).int(),
            30_000
        );
        let script = Script::start(&server, &everywhere(), &[]);
        let mut walker = server.client();
        walker.send(&["DBSIZE"]);
        assert_eq!(client.ask("SMEMBERS set").items().len(), 30_000);
        assert_eq!(client.ask("SUNIONSTORE copy set").int(), 30_000);
        assert!(!walker.has_reply());
        assert_eq!(script.end(&server).text(), "2");
        assert_eq!(walker.read().expect("it is answered").int(), 2002);
    }
}

/// A script that has begun to write goes on, whatever happens to the conditions of writing meanwhile: half of it would be worse.
#[test]
fn what_has_begun_to_write_goes_on() {
    let server = Server::larder(&["--threads", "2", "--busy-reply-threshold", "600000"]);
    let body = format!("redis.call('set', KEYS[1], 1) {SPIN}{WAIT} return redis.call('set', KEYS[2], 1)");
    let script = Script::start(&server, &body, &["first", "second"]);
    let mut client = server.client();
    assert_eq!(client.ask("CONFIG SET min-replicas-to-write 1").text(), "OK");
    assert!(client.ask("SET other 1").text().starts_with("NOREPLICAS"));
    assert_eq!(script.end(&server).text(), "OK");
    assert_eq!(client.ask("EXISTS first second").int(), 2);
    assert!(client.cmd(&["EVAL", &body, "2", "first", "second"]).text().starts_with("NOREPLICAS"));
}

/// A client that caches what it reads is told of changes of what a script has read for it from a clone.
#[test]
fn what_a_script_reads_for_a_caching_client_is_noted() {
    let server = Server::larder(&["--threads", "2"]);
    let (mut caching, mut other) = (server.client(), server.client());
    let members: Vec<String> = (0..30_000).map(|n| format!("m{n}")).collect();
    assert_eq!(other.cmd(&[&["SADD".to_owned(), "set".to_owned()], &members[..]].concat()).int(), 30_000);
    caching.ask("HELLO 3");
    assert_eq!(caching.ask("CLIENT TRACKING on").text(), "OK");
    let body = format!("{SPIN} return #redis.call('smembers', ARGV[1])");
    assert_eq!(caching.cmd(&["EVAL_RO", &body, "0", "set"]).int(), 30_000);
    assert_eq!(other.ask("SADD set more").int(), 1);
    let told = caching.read().expect("it is told");
    assert!(matches!(&told, Value::Push(items) if items[0].text() == "invalidate"), "{told}");
}

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
    for threads in ["1", "2"] {
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

/// A client that lacks the rights to one of very many keys changes nothing and learns nothing, whether they are arguments, made by SORT, or used by
/// a script that lends; and no key stays reserved.
#[test]
fn clients_without_rights_are_refused_and_nothing_stays_reserved() {
    for threads in ["1", "2", "4"] {
        let server = Server::larder(&["--threads", threads, "--busy-reply-threshold", "600000"]);
        let (mut admin, mut client) = (server.client(), server.client());
        admin.ask("ACL SETUSER u on >p ~own:* %R~read:* +@all -flushall -getdel");
        let own: Vec<String> = (0..6_000).map(|n| format!("own:{n}")).collect();
        let numbers: Vec<String> = (0..6_000).map(|n| n.to_string()).collect();
        let with = |words: &[&str], more: &[String]| -> Vec<String> {
            words.iter().map(|word| (*word).to_owned()).chain(more.iter().cloned()).collect()
        };
        let pairs =
            |value: &str| own.iter().flat_map(|key| [key.clone(), value.to_owned()]).collect::<Vec<_>>();
        admin.cmd(&with(&["MSET", "secret:1", "hidden", "read:1", "shown"], &pairs("1")));
        admin.cmd(&with(&["RPUSH", "own:list"], &numbers));
        let digest = admin.ask("DEBUG DIGEST").text();
        assert_eq!(client.ask("AUTH u p").text(), "OK");
        let lent = |body: &str| {
            vec!["EVAL".to_owned(), format!("{}{body}", SPIN.replace("mine:", "own:")), "0".to_owned()]
        };
        let refused = [
            with(&["EXISTS", "secret:1"], &own),
            with(&["MGET"], &with(&[], &[&own[..], &["secret:1".to_owned()]].concat())),
            with(&["DEL", "secret:1"], &own),
            with(&["UNLINK"], &[&own[..], &["read:1".to_owned()]].concat()),
            with(&["MSET", "secret:1", "2"], &pairs("2")),
            with(&["MSETNX", "read:1", "2"], &pairs("2")),
            words_of("SORT own:list BY nosort GET secret:*"),
            words_of("SORT own:list BY secret:* STORE own:sorted"),
            words_of("SORT own:list BY nosort GET own:* STORE read:sorted"),
            lent("return redis.call('get', 'secret:1')"),
            lent("return redis.call('set', 'read:1', '2')"),
            lent("return redis.call('getdel', 'own:1')"),
            lent("return redis.call('flushall')"),
        ];
        for call in refused {
            let reply = client.cmd(&call);
            let shown = &call[..call.len().min(3)];
            assert!(reply.is_error(), "{shown:?} with {threads} threads: {reply}");
            let text = reply.to_string();
            assert!(text.contains("NOPERM") || text.contains("ACL"), "{shown:?}: {text}");
            assert!(!text.contains("hidden"), "{shown:?} tells: {text}");
            assert_eq!(admin.ask("DEBUG DIGEST").text(), digest, "{shown:?} has changed something");
            // Each of these keys would be waited for if it were reserved.
            assert_eq!(admin.cmd(&with(&["EXISTS", "secret:1", "read:1"], &own)).int(), 6_002);
        }
        // What it has the rights to works.
        assert_eq!(client.cmd(&with(&["EXISTS", "read:1"], &own)).int(), 6_001);
        assert_eq!(client.cmd(&lent("return redis.call('get', 'read:1')")).text(), "shown");
        assert_eq!(client.cmd(&with(&["DEL"], &own)).int(), 6_000);
        assert_eq!(admin.ask("DBSIZE").int(), 3);
    }
}

fn words_of(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}
