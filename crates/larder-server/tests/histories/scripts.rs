//! Scripts that run for too long are killed, by themselves and inside transactions.
//!
//! The scripts read keys and fields whose time has passed, which deletes them, while clients wait for lists and watch keys, and
//! while memory is short. After each kill the transaction's own effects are there, its waiters are served, and the memory of the
//! server, its replica and a second server that loads a copy of the append-only file have the same data.

use crate::state::{Compared, wait_for_same};
use crate::{follow, now_ms, run_histories, start, start_again, wait_for_offset, wait_past};
use larder_testkit::{Client, Kind, Server, Value, wait_until, words};
use std::fs;

/// Scripts that a history kills.
const ROUNDS: u64 = 12;

/// Keys of each type whose time passes.
const EXPIRING: u32 = 6;

const LIBRARY: &str = "#!lua name=lib
    local function run(keys, args) BODY end
    server.register_function('run', run)
    server.register_function{function_name = 'read', callback = run, flags = {'no-writes'}}";

/// Reads expired keys and fields until it is killed. It writes nothing: a script that has written cannot be killed.
const BODY: &str = "local i = 0
    while true do
        for n = 1, 6 do
            redis.call('get', 's' .. n)
            redis.call('llen', 'l' .. n)
            redis.call('hget', 'h' .. n, 'f1')
        end
        redis.call('hgetall', 'h' .. i % 6 + 1)
        redis.call('randomkey')
        redis.pcall('scan', 0)
        i = i + 1
        if i > tonumber(ARGV_OR_ARGS[1]) then while true do end end
    end";

struct History {
    primary: Server,
    replica: Server,
    copy: Server,
    rng: fastrand::Rng,
    /// The value that the transactions have given to `count`.
    count: i64,
    pushed: i64,
    popped: i64,
    what: String,
}

const LOGGED: &[&str] = &["--appendonly", "yes", "--busy-reply-threshold", "5"];

#[test]
fn killed_scripts_take_nothing_with_them() {
    run_histories(4_000, 6, history);
}

fn history(seed: u64) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let threads = ["1", "2", "4"][rng.usize(..3)];
    println!("{threads} threads");
    let primary = start(Kind::Larder, &[LOGGED, &["--threads", threads]].concat());
    let replica = start(Kind::Larder, &["--threads", threads]);
    let copy = start(Kind::Larder, LOGGED);
    follow(&mut replica.client(), &primary);
    let mut client = primary.client();
    let body = BODY.replace("ARGV_OR_ARGS", "args");
    client.cmd(&["FUNCTION", "LOAD", &LIBRARY.replace("BODY", &body)]);
    let mut history =
        History { primary, replica, copy, rng, count: 0, pushed: 0, popped: 0, what: String::new() };
    for round in 0..ROUNDS {
        history.what = format!("SEED={seed} round {round}");
        history.round();
    }
}

impl History {
    fn round(&mut self) {
        let mut client = self.primary.client();
        let is_short = self.rng.u8(..4) == 0;
        self.prepare(&mut client);
        let mut waiters: Vec<Client> = (0..self.rng.usize(..3)).map(|_| self.waiter()).collect();
        let mut watcher = self.primary.client();
        watcher.ask("WATCH watched");
        if is_short {
            let policy = ["allkeys-random", "volatile-ttl", "allkeys-lru"][self.rng.usize(..3)];
            client.ask(&format!("CONFIG SET maxmemory-policy {policy}"));
            let used = crate::info_number(&mut client, "memory", "used_memory");
            client.ask(&format!("CONFIG SET maxmemory {}", used + 20_000));
        }
        let is_touched = if self.rng.u8(..4) > 0 { self.transaction(is_short) } else { self.alone(is_short) };
        client.ask("CONFIG SET maxmemory 0");
        self.check_watcher(&mut watcher, is_touched, is_short);
        self.write_more(&mut client);
        self.check_waiters(&mut waiters);
        if !is_short {
            assert_eq!(client.ask("LLEN w").int(), self.pushed - self.popped, "{}: elements", self.what);
            let count = client.ask("GET count");
            assert_eq!(if count == Value::NullBulk { 0 } else { count.int() }, self.count, "{}", self.what);
        }
        self.compare(&mut client);
        // What was evicted is counted again from here.
        let count = client.ask("GET count");
        self.count = if count == Value::NullBulk { 0 } else { count.int() };
        (self.pushed, self.popped) = (client.ask("LLEN w").int(), 0);
    }

    /// Fills keys and fields whose time passes before the script runs.
    fn prepare(&mut self, client: &mut Client) {
        let is_active = self.rng.u8(..4) == 0;
        client.ask(&format!("DEBUG SET-ACTIVE-EXPIRE {}", u8::from(is_active)));
        let deadline = now_ms() + 5;
        for n in 1..=EXPIRING {
            let times = if self.rng.bool() { deadline } else { deadline + 100_000 };
            client.ask(&format!("SET s{n} {n} PXAT {times}"));
            client.ask(&format!("DEL l{n} h{n}"));
            client.ask(&format!("RPUSH l{n} old"));
            client.ask(&format!("PEXPIREAT l{n} {times}"));
            client.ask(&format!("HSET h{n} f1 old f2 old f3 old"));
            if self.rng.bool() {
                client.ask(&format!("HPEXPIREAT h{n} {times} FIELDS 2 f1 f2"));
            } else {
                client.ask(&format!("HPEXPIREAT h{n} {times} FIELDS 3 f1 f2 f3"));
            }
        }
        (0..20).for_each(|n| drop(client.cmd(&["SET", &format!("big:{n}"), &"x".repeat(2000)])));
        wait_past(deadline);
    }

    /// A client that waits for the list.
    fn waiter(&mut self) -> Client {
        let mut client = self.primary.client();
        let line = ["BLPOP w 0", "BLMOVE w moved LEFT RIGHT 0", "BLMPOP 0 1 w LEFT"][self.rng.usize(..3)];
        let id = client.ask("CLIENT ID").int();
        client.send(&words(line));
        let mut other = self.primary.client();
        wait_until("the client waits, or is served", || {
            let listed = other.ask(&format!("CLIENT LIST ID {id}")).text();
            let flags = listed.split(' ').find_map(|field| field.strip_prefix("flags=")).unwrap_or_default();
            flags.contains('b') || client.has_reply()
        });
        client
    }

    /// The script, and how it is killed.
    fn script(&mut self) -> (Vec<Vec<u8>>, &'static str) {
        let turns = self.rng.u32(..300).to_string();
        let body = BODY.replace("ARGV_OR_ARGS", "ARGV");
        let protected = format!("return pcall(function(...) {body} end)").replace("ARGV[1]", &turns);
        let (name, script, kill) = match self.rng.u8(..5) {
            0 => ("EVAL_RO", &*body, "SCRIPT KILL"),
            1 => ("EVAL", &*protected, "SCRIPT KILL"),
            2 => ("FCALL", "run", "FUNCTION KILL"),
            3 => ("FCALL_RO", "read", "FUNCTION KILL"),
            _ => ("EVAL", &*body, "SCRIPT KILL"),
        };
        let args = [name, script, "0", &turns].map(|arg| arg.as_bytes().to_vec());
        (args.to_vec(), kill)
    }

    /// Kills what a client runs; false if it was refused, since memory is short.
    fn kill(&self, client: &mut Client, kill: &str, is_short: bool) -> bool {
        let mut killer = self.primary.client();
        let mut is_killed = false;
        wait_until(&format!("{}: {kill}", self.what), || {
            let reply = killer.ask(kill);
            let is_early = reply.text().starts_with("NOTBUSY") || reply.text().starts_with("BUSY");
            assert!(!reply.is_error() || is_early, "{}: {reply}", self.what);
            is_killed = !reply.is_error();
            is_killed || is_short && client.has_reply()
        });
        is_killed
    }

    /// The script alone.
    fn alone(&mut self, is_short: bool) -> bool {
        let (script, kill) = self.script();
        let mut client = self.primary.client();
        client.send(&script);
        let is_killed = self.kill(&mut client, kill, is_short);
        let reply = client.read().expect("it is answered");
        assert!(
            reply.text().contains(if is_killed { "killed by user" } else { "OOM" }),
            "{}: {reply}",
            self.what
        );
        false
    }

    /// The script among other commands; returns whether they change what is watched.
    fn transaction(&mut self, is_short: bool) -> bool {
        let (script, kill) = self.script();
        let mut client = self.primary.client();
        let before = self.rng.usize(..4);
        let calls: Vec<_> = (0..before + self.rng.usize(..4)).map(|_| self.call()).collect();
        client.ask("MULTI");
        for (at, call) in calls.iter().enumerate() {
            if at == before {
                client.cmd(&script);
            }
            client.ask(call);
        }
        if calls.len() == before {
            client.cmd(&script);
        }
        client.send(&["EXEC"]);
        let is_killed = self.kill(&mut client, kill, is_short);
        let reply = client.read().expect("it is answered");
        if reply.is_error() {
            assert!(is_short && reply.text().starts_with("EXECABORT"), "{}: {reply}", self.what);
            return false;
        }
        let items = reply.items();
        assert_eq!(items.len(), calls.len() + 1, "{}: {reply}", self.what);
        let end = if is_killed { "killed by user" } else { "OOM" };
        assert!(items[before].text().contains(end), "{}: {reply}", self.what);
        for (call, item) in calls.iter().zip(items.iter().enumerate().filter(|(at, _)| *at != before)) {
            let (_, item) = item;
            // What expired may have been of another type.
            let is_fine = !item.is_error() || is_short;
            assert!(is_fine, "{}: {call}: {reply}", self.what);
            match call.split(' ').next() {
                Some("INCR") if call == "INCR count" && !item.is_error() => self.count += 1,
                Some("RPUSH") if call.starts_with("RPUSH w ") && !item.is_error() => self.pushed += 2,
                _ => {}
            }
        }
        calls.iter().any(|call| call.starts_with("SET watched"))
    }

    /// A command beside a script.
    fn call(&mut self) -> String {
        let n = self.rng.u32(1..=EXPIRING);
        match self.rng.u8(..9) {
            0 => "INCR count".to_owned(),
            1 => "RPUSH w one two".to_owned(),
            2 => format!("SET watched {n}"),
            3 => format!("RPUSH l{n} new"),
            4 => format!("INCR s{n}"),
            5 => format!("HINCRBY h{n} f4 1"),
            6 => format!("GET s{n}"),
            7 => format!("SETRANGE big:{n} {} x", self.rng.u32(2000..8000)),
            _ => format!("PERSIST l{n}"),
        }
    }

    /// Writes that show whether what has expired is gone everywhere.
    fn write_more(&mut self, client: &mut Client) {
        for n in 1..=EXPIRING {
            for line in [format!("RPUSH l{n} later"), format!("INCR s{n}"), format!("HSET h{n} f9 later")] {
                if self.rng.bool() {
                    client.ask(&line);
                }
            }
        }
    }

    fn check_watcher(&self, watcher: &mut Client, is_touched: bool, is_short: bool) {
        watcher.ask("MULTI");
        watcher.ask("SET by:watcher 1");
        let reply = watcher.ask("EXEC");
        let is_aborted = reply == Value::NullArray;
        assert!(is_aborted == is_touched || is_short, "{}: {is_touched}: {reply}", self.what);
    }

    /// Checks that waiters are served while there are elements, and unblocks the others.
    fn check_waiters(&mut self, waiters: &mut [Client]) {
        let mut admin = self.primary.client();
        wait_until("waiters are served", || {
            let blocked = crate::info_number(&mut admin, "clients", "blocked_clients");
            blocked == 0 || admin.ask("LLEN w").int() == 0
        });
        for waiter in waiters {
            let id_of_all = admin.ask("CLIENT LIST TYPE normal").text();
            for line in id_of_all.lines().filter(|line| line.contains(" flags=b")) {
                let id = line.split(' ').next().and_then(|field| field.strip_prefix("id=")).expect("an id");
                admin.ask(&format!("CLIENT UNBLOCK {id}"));
            }
            let reply = waiter.read().expect("the waiter is answered");
            if !matches!(reply, Value::NullArray | Value::NullBulk) {
                self.popped += 1;
            }
        }
    }

    /// Memory, replica and log are equal.
    fn compare(&mut self, client: &mut Client) {
        client.ask("DEBUG SET-ACTIVE-EXPIRE 1");
        if self.rng.u8(..4) == 0 {
            assert_eq!(client.ask("DEBUG LOADAOF").text(), "OK", "{}", self.what);
        }
        wait_for_offset(&self.what, client, &mut self.replica.client());
        self.load_copy();
        let compared = |name, server| Compared { name, kind: Kind::Larder, server };
        let servers = [
            compared("the primary", &self.primary),
            compared("the replica", &self.replica),
            compared("its log", &self.copy),
        ];
        if let Err(difference) = wait_for_same(&servers) {
            panic!("{}: {difference}", self.what);
        }
    }

    /// Starts the second server from a copy of the append-only file.
    fn load_copy(&mut self) {
        self.copy.kill();
        let (from, to) = (self.primary.dir().join("appendonlydir"), self.copy.dir().join("appendonlydir"));
        let _ = fs::remove_dir_all(&to);
        fs::create_dir_all(&to).expect("the directory is writable");
        for entry in from.read_dir().expect("there is a log").flatten() {
            fs::copy(entry.path(), to.join(entry.file_name())).expect("it can be copied");
        }
        start_again(&mut self.copy, LOGGED);
    }
}
