//! What a command does in memory is in the log and in the stream, however it ends.

use crate::{pipeline, wait_in};
use larder_testkit::{Client, Kind, Server, wait_until, words};

/// A server with a log and a replica.
struct Pair {
    primary: Server,
    replica: Server,
    args: Vec<String>,
}

impl Pair {
    fn start(own: &[&str]) -> Pair {
        let args = [
            &[
                "--appendonly",
                "yes",
                "--appendfsync",
                "always",
                "--repl-diskless-sync-delay",
                "0",
                "--enable-debug-command",
                "yes",
            ],
            own,
        ]
        .concat();
        let primary = Server::larder(&args);
        let replica = Server::larder(&["--replicaof", &format!("127.0.0.1 {}", primary.port())]);
        let pair = Pair { primary, replica, args: args.into_iter().map(str::to_owned).collect() };
        let mut admin = pair.admin();
        wait_until("the replica follows", || admin.ask("INFO replication").text().contains("state=online"));
        pair
    }

    fn admin(&self) -> Client {
        self.primary.client()
    }

    /// What the servers have, primary and replica, with the deadlines of the keys.
    fn states(&self) -> (String, String) {
        let mut admin = self.admin();
        let offset = |client: &mut Client| {
            let info = client.ask("INFO replication").text();
            let line = info.lines().find(|line| line.starts_with("master_repl_offset:"));
            line.expect("it says how far it is").to_owned()
        };
        let mut replica = self.replica.client();
        wait_until("the replica has everything", || offset(&mut admin) == offset(&mut replica));
        (state(&mut admin), state(&mut replica))
    }

    /// Checks that the replica, and the primary after its end and from its log, have what the primary has.
    fn check(&mut self, what: &str) {
        let (primary, replica) = self.states();
        assert_eq!(primary, replica, "{what}: the replica differs");
        self.primary.kill();
        let args: Vec<&str> = self.args.iter().map(String::as_str).collect();
        assert!(self.primary.start_again(&args), "{}", self.primary.log());
        assert_eq!(state(&mut self.admin()), primary, "{what}: the log differs");
        let mut admin = self.admin();
        wait_until("the replica follows again", || {
            admin.ask("INFO replication").text().contains("state=online")
        });
    }
}

/// Keys with values, as digests, and deadlines.
fn state(client: &mut Client) -> String {
    let mut keys: Vec<String> = client.ask("KEYS *").items().iter().map(|key| key.text()).collect();
    keys.sort();
    let lines = keys.into_iter().map(|key| {
        let digest = client.ask(&format!("DEBUG DIGEST-VALUE {key}"));
        let until = client.ask(&format!("PEXPIRETIME {key}"));
        format!("{key} {digest} {until}")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Runs commands of which the last does not end, and has it killed.
fn run_and_kill(pair: &Pair, lines: &[&str], kill: &str) -> Vec<larder_testkit::Value> {
    let mut client = pair.primary.client();
    lines.iter().for_each(|line| client.send(&words(line)));
    let mut admin = pair.admin();
    wait_until("the script runs for too long", || admin.ask("PING").text().starts_with("BUSY"));
    assert_eq!(admin.ask(kill).text(), "OK");
    lines.iter().map(|_| client.read().expect("it is answered")).collect()
}

const LOOP: &str = "while true do end";

/// A killed script has read keys and fields whose time was over: their deletion is in the log and in the stream.
#[test]
fn what_expires_under_a_killed_script_expires_everywhere() {
    for (threads, call, kill) in [
        ("1", "EVAL", "SCRIPT KILL"),
        ("4", "EVAL", "SCRIPT KILL"),
        ("1", "EVAL_RO", "SCRIPT KILL"),
        ("2", "FCALL", "FUNCTION KILL"),
    ] {
        let mut pair = Pair::start(&["--threads", threads, "--busy-reply-threshold", "10"]);
        let mut admin = pair.admin();
        admin.ask("DEBUG SET-ACTIVE-EXPIRE 0");
        let body = format!(
            "for i = 1, 40 do redis.call('exists', 'k' .. i) end redis.call('hget', 'h', 'f') {LOOP}"
        );
        let library = format!(
            "#!lua name=l\nredis.register_function{{function_name='f', callback=function() {body} end, flags={{'no-writes'}}}}"
        );
        assert_eq!(admin.cmd(&["FUNCTION", "LOAD", "REPLACE", &library]).text(), "l");
        for i in 1..=40 {
            admin.ask(&format!("SET k{i} old PX 1"));
        }
        pipeline(&mut admin, &["HSET h f 1 g 2", "HPEXPIRE h 1 FIELDS 1 f", "SET stays v"]);
        wait_until("the keys have expired", || admin.ask("PTTL k40").int() == -2);
        let mut client = pair.primary.client();
        match call {
            "FCALL" => client.send(&["FCALL", "f", "0"]),
            _ => client.send(&[call, &body, "0"]),
        }
        wait_until("the script runs for too long", || admin.ask("PING").text().starts_with("BUSY"));
        assert_eq!(admin.ask(kill).text(), "OK");
        assert!(client.read().expect("it is answered").is_error());
        // Acknowledged after it: on the replica these must not meet what was there before.
        pipeline(&mut admin, &["SET k1 new NX", "RPUSH k2 x", "INCR k3", "HINCRBY h f 1"]);
        pair.check(&format!("{threads} threads, {call}"));
    }
}

/// A script that is killed in a transaction takes nothing of what came before it, or comes after it.
#[test]
fn a_killed_script_in_a_transaction_takes_nothing_with_it() {
    for threads in ["1", "4"] {
        let mut pair = Pair::start(&["--threads", threads, "--busy-reply-threshold", "10"]);
        for (number, call) in ["EVAL", "EVAL_RO"].into_iter().enumerate() {
            let lines = [
                "MULTI".to_owned(),
                format!("SET a{number} 1"),
                format!("RPUSH l{number} x"),
                format!("PUBLISH c{number} message"),
                format!(r#"{call} "{LOOP}" 0"#),
                format!("SET b{number} 1"),
                "EXEC".to_owned(),
            ];
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            let replies = run_and_kill(&pair, &lines, "SCRIPT KILL");
            let replies = replies.last().expect("EXEC is answered").items();
            assert_eq!((replies[0].text(), replies[1].int()), ("OK".to_owned(), 1));
            assert!(replies[3].is_error() && replies[4].text() == "OK", "{replies:?}");
        }
        pair.check(&format!("{threads} threads"));
    }
}

/// Units that end early in every way, after every kind of effect.
#[test]
fn units_that_end_early_are_logged_as_far_as_they_went() {
    let mut pair = Pair::start(&["--threads", "2", "--busy-reply-threshold", "10"]);
    let mut admin = pair.admin();
    let effects = [
        "redis.call('set', 'w', ARGV[1])",
        "redis.call('get', 'expired')",
        "redis.call('hget', 'fields', 'f')",
        "redis.call('del', 'gone')",
        "redis.call('publish', 'c', 'm')",
        "redis.call('xadd', 's', '*', 'f', 'v')",
        "redis.call('lmove', 'from', 'to', 'left', 'right')",
    ];
    let ends = [
        ("error", "error('over')"),
        ("failed command", "redis.call('incr', 'text')"),
        ("command that is refused", "redis.call('nosuchcommand')"),
        (
            "out of memory",
            "redis.call('config') local t = {} while true do t[#t + 1] = string.rep('x', 1e6) .. #t end",
        ),
        ("return", "return 1"),
    ];
    for (number, effect) in effects.iter().enumerate() {
        for (how, end) in ends.iter().filter(|(how, _)| *how != "out of memory") {
            for in_transaction in [false, true] {
                pipeline(
                    &mut admin,
                    &[
                        "DEBUG SET-ACTIVE-EXPIRE 0",
                        "SET text abc",
                        "SET gone 1",
                        "SET expired old PX 1",
                        "DEL fields from",
                        "HSET fields f 1",
                        "HPEXPIRE fields 1 FIELDS 1 f",
                        "EXPIRE fields 1000",
                        "RPUSH from a b",
                        "XGROUP CREATE s g $ MKSTREAM",
                    ],
                );
                wait_until("it has expired", || admin.ask("PTTL expired").int() == -2);
                let script = format!("{effect} {end}");
                let lines = ["SET before 1", "INCR n"];
                if in_transaction {
                    admin.ask("MULTI");
                    lines.iter().for_each(|line| drop(admin.ask(line)));
                }
                admin.cmd(&["EVAL", &script, "0", &number.to_string()]);
                if in_transaction {
                    admin.ask("INCR after");
                    assert!(!admin.ask("EXEC").items().is_empty());
                }
                let (primary, replica) = pair.states();
                assert_eq!(primary, replica, "{effect}, {how}, transaction: {in_transaction}");
            }
        }
    }
    pair.check("all of them");
}

/// `redis.set_repl`: each of the targets gets what is for it. What expires is deleted everywhere.
#[test]
fn scripts_choose_where_effects_go() {
    for (target, in_log, on_replica) in
        [("AOF", 1, 0), ("REPLICA", 0, 1), ("SLAVE", 0, 1), ("ALL", 1, 1), ("NONE", 0, 0)]
    {
        let mut pair = Pair::start(&["--threads", "2"]);
        let mut admin = pair.admin();
        pipeline(&mut admin, &["DEBUG SET-ACTIVE-EXPIRE 0", "SET expired old PX 1"]);
        wait_until("it has expired", || admin.ask("PTTL expired").int() == -2);
        let script = format!(
            "redis.set_repl(redis.REPL_{target}) redis.call('set', 'k', 1) redis.call('get', 'expired') \
             redis.set_repl(redis.REPL_ALL) redis.call('set', 'both', 1)"
        );
        admin.cmd(&["EVAL", &script, "0"]);
        wait_until("the replica has it", || pair.replica.client().ask("EXISTS both").int() == 1);
        assert_eq!(pair.replica.client().ask("EXISTS k").int(), on_replica, "{target}");
        assert_eq!(
            pair.replica.client().ask("DBSIZE").int(),
            1 + on_replica,
            "{target}: the expired key is gone"
        );
        pair.primary.kill();
        let args: Vec<&str> = pair.args.iter().map(String::as_str).collect();
        assert!(pair.primary.start_again(&args));
        let mut admin = pair.admin();
        assert_eq!((admin.ask("EXISTS k").int(), admin.ask("EXISTS both").int()), (in_log, 1), "{target}");
    }
}

/// All fields of a hash have expired, and a command sets others: the hash keeps its deadline, everywhere.
#[test]
fn a_hash_keeps_its_deadline_when_all_its_fields_expire() {
    let mut pair = Pair::start(&["--threads", "1"]);
    let mut admin = pair.admin();
    let commands = [
        "HSET {} g 1",
        "HSET {} f 1",
        "HMSET {} g 1",
        "HSETNX {} f 9",
        "HSETNX {} g 9",
        "HINCRBY {} g 1",
        "HINCRBY {} f 1",
        "HINCRBYFLOAT {} f 1.5",
        "HSETEX {} EX 100 FIELDS 1 g 1",
        "HSETEX {} KEEPTTL FIELDS 2 f 1 g 2",
        "HSETEX {} FNX FIELDS 1 f 1",
        "HDEL {} f",
        "HGETDEL {} FIELDS 1 f",
        "HINCRBY {} f x",
    ];
    let expected = |kind: Kind| {
        let server = Server::of(kind, &[]);
        let mut client = server.client();
        client.ask("DEBUG SET-ACTIVE-EXPIRE 0");
        commands.map(|command| outcome(&mut client, command, "h"))
    };
    let (mut larder, valkey) = (expected(Kind::Larder), expected(Kind::Valkey));
    for (found, wanted) in larder.iter_mut().zip(&valkey) {
        // Valkey keeps a hash without a live field for a while.
        if wanted.contains("{}") {
            wanted.clone_into(found);
        }
    }
    assert_eq!(larder, valkey);
    admin.ask("DEBUG SET-ACTIVE-EXPIRE 0");
    for way in ["", "MULTI", "EVAL"] {
        for (number, command) in commands.iter().enumerate() {
            let key = format!("h{way}{number}");
            prepare(&mut admin, &key);
            let line = command.replace("{}", &key);
            match way {
                "" => drop(admin.ask(&line)),
                "MULTI" => drop(pipeline(&mut admin, &["MULTI", &line, "EXEC"])),
                _ => drop(
                    admin.cmd(
                        &[
                            &words("EVAL")[..],
                            &[b"return redis.pcall(unpack(ARGV))".to_vec(), b"0".to_vec()],
                            &words(&line),
                        ]
                        .concat(),
                    ),
                ),
            }
        }
    }
    pair.check("expired fields");
}

fn prepare(client: &mut Client, key: &str) {
    client.ask(&format!("DEL {key}"));
    client.ask(&format!("HSET {key} f 1"));
    client.ask(&format!("EXPIRE {key} 3600"));
    client.ask(&format!("HPEXPIRE {key} 1 FIELDS 1 f"));
    wait_until("the field has expired", || {
        client.ask(&format!("HPTTL {key} FIELDS 1 f")).items().first().is_none_or(|left| left.int() == -2)
    });
}

fn outcome(client: &mut Client, command: &str, key: &str) -> String {
    prepare(client, key);
    let reply = client.ask(&command.replace("{}", key));
    let fields = client.ask(&format!("HGETALL {key}"));
    let deadline = client.ask(&format!("TTL {key}")).int() > 3000;
    let marker = if fields.items().is_empty() { "{}" } else { "" };
    format!("{command}: {reply} {fields} {deadline} {marker}")
}

/// A stream that a client waits on is deleted beside its commands: the client is told, and the server stays.
#[test]
fn streams_that_clients_wait_on_may_go() {
    let server = Server::larder(&["--threads", "2", "--cluster-enabled", "no"]);
    let other = Server::larder(&[]);
    let mut admin = server.client();
    admin.ask("DEBUG SET-ACTIVE-EXPIRE 0");
    let migrate = format!("MIGRATE 127.0.0.1 {} s 0 5000", other.port());
    let scans =
        ["SCAN 0 COUNT 1000", "RANDOMKEY", "KEYS *", "EXISTS s", "OBJECT ENCODING s", "DEBUG OBJECT s"];
    for way in scans.into_iter().chain([&*migrate, "UNLINK s", "FLUSHALL", "RENAME s s2", "SET s x"]) {
        for with in ["XREADGROUP GROUP g c BLOCK 0 STREAMS s >", "XREAD BLOCK 0 STREAMS s $"] {
            other.client().ask("FLUSHALL");
            admin.ask("FLUSHALL");
            admin.ask("XGROUP CREATE s g $ MKSTREAM");
            let mut waiting = wait_in(&server, &mut admin, &[], with);
            if scans.contains(&way) {
                admin.ask("PEXPIRE s 1");
                wait_until("it has expired", || {
                    admin.ask("PEXPIRETIME s").int() == -2 || admin.ask("PTTL s").int() == -2
                });
            }
            let reply = admin.ask(way);
            assert!(!reply.is_error() || way.contains("OB"), "{way}: {reply}");
            assert_eq!(admin.ask("PING").text(), "PONG", "{way}, {with}");
            if with.starts_with("XREADGROUP") {
                let told = waiting.client.read().unwrap_or_else(|error| panic!("{way}: {error}"));
                assert!(told.is_error(), "{way}: {told}");
            } else {
                admin.ask("DEL s");
                admin.ask("XADD s * f v");
                assert!(!waiting.client.read().expect("it is served").is_error(), "{way}");
            }
        }
    }
}

/// The same on a node of a cluster, whose slots are flushed.
#[test]
fn slots_with_streams_that_clients_wait_on_may_be_flushed() {
    let server = Server::larder(&["--threads", "2", "--cluster-enabled", "yes"]);
    let mut admin = server.client();
    assert_eq!(admin.ask("CLUSTER ADDSLOTSRANGE 0 16383").text(), "OK");
    wait_until("the node serves", || admin.ask("CLUSTER INFO").text().contains("cluster_state:ok"));
    let slot = admin.ask("CLUSTER KEYSLOT s").int();
    for way in [
        format!("CLUSTER FLUSHSLOT {slot}"),
        format!("CLUSTER FLUSHSLOT {slot} ASYNC"),
        "CLUSTERSCAN 0".to_owned(),
    ] {
        admin.ask("DEL s");
        admin.ask("XGROUP CREATE s g $ MKSTREAM");
        let mut waiting = wait_in(&server, &mut admin, &[], "XREADGROUP GROUP g c BLOCK 0 STREAMS s >");
        if way.starts_with("CLUSTERSCAN") {
            admin.ask("DEBUG SET-ACTIVE-EXPIRE 0");
            admin.ask("PEXPIRE s 1");
            wait_until("it has expired", || admin.ask("PTTL s").int() == -2);
        }
        admin.ask(&way);
        assert_eq!(admin.ask("PING").text(), "PONG", "{way}");
        if !way.starts_with("CLUSTERSCAN") {
            assert!(waiting.client.read().expect("it is told").is_error(), "{way}");
        }
    }
}

/// Commands whose result depends on how a server keeps its values: replicas that keep them otherwise have the same.
#[test]
fn results_are_the_same_on_servers_that_keep_values_otherwise() {
    let primary = Server::larder(&[
        "--repl-diskless-sync-delay",
        "0",
        "--appendonly",
        "yes",
        "--enable-debug-command",
        "yes",
    ]);
    let port = primary.port();
    let replicaof = format!("127.0.0.1 {port}");
    let other =
        ["--replicaof", &replicaof, "--zset-max-listpack-entries", "2", "--set-max-listpack-entries", "1"];
    let replicas =
        [Server::larder(&other), Server::of(Kind::Valkey, &other), Server::of(Kind::Valkey, &other[..2])];
    let mut admin = primary.client();
    wait_until("the replicas follow", || {
        replicas
            .iter()
            .all(|replica| replica.client().ask("INFO replication").text().contains("master_link_status:up"))
    });
    let seed = larder_testkit::seed(21);
    let mut rng = fastrand::Rng::with_seed(seed);
    for round in 0..60 {
        // Members of mixed scores, equal weights, and places at the same distance.
        for _ in 0..rng.usize(4..20) {
            let member = rng.u32(..30);
            admin.ask(&format!("ZADD z {} m{member}", rng.u32(..3)));
            admin.ask(&format!("SADD s e{member}"));
            admin.ask(&format!("SET w_e{member} {}", ["a", "b", ""][rng.usize(..3)]));
            admin.ask(&format!("GEOADD g {} {} p{member}", [1, 2, 3][rng.usize(..3)], rng.u32(1..3)));
        }
        let (from, to) = (rng.u32(..30), rng.u32(..30));
        let lines = [
            format!("SORT s BY w_* ALPHA STORE sorted{}", round % 3),
            format!("SORT s BY w_* ALPHA LIMIT 1 5 DESC GET # GET w_* STORE part{}", round % 3),
            format!("ZRANGESTORE zr{} z [m{from} [m{to} BYLEX", round % 3),
            format!("ZRANGESTORE zl{} z [m{to} - BYLEX REV LIMIT 1 3", round % 3),
            format!(
                "GEOSEARCHSTORE gs{} g FROMLONLAT 2 1.5 BYRADIUS 900 km COUNT {}",
                round % 3,
                rng.u32(1..6)
            ),
            format!("GEOSEARCHSTORE ga{} g FROMLONLAT 2 1.5 BYBOX 900 900 km COUNT 2 ANY", round % 3),
            format!("GEOSEARCHSTORE gd{} g FROMLONLAT 2 1.5 BYRADIUS 900 km COUNT 3 STOREDIST", round % 3),
            format!("ZREMRANGEBYLEX z [m{from} (m{to}"),
        ];
        for line in &lines {
            let reply = admin.ask(line);
            assert!(!reply.is_error(), "{line}: {reply}");
        }
        if round % 10 == 9 {
            let wanted = state(&mut admin);
            for (number, replica) in replicas.iter().enumerate() {
                let mut replica = replica.client();
                wait_until(&format!("SEED={seed}, round {round}: replica {number} has the same"), || {
                    state(&mut replica) == wanted
                });
            }
        }
    }
    let wanted = state(&mut admin);
    assert_eq!(admin.ask("DEBUG LOADAOF").text(), "OK");
    assert_eq!(state(&mut admin), wanted, "SEED={seed}: the log");
}
