//! Every command beside a script that does not end and holds all shards, or lends them: nobody but the script's own client waits for it.
//!
//! With several threads, each command is sent to a thread of its own while the script has not been declared busy yet, so that the
//! command does wait for the shards, and must give up when it is. With one thread, it arrives in the rounds that the script's
//! thread makes for others. Afterwards connections of all threads must be told that the server is busy, and SCRIPT KILL must work.

#[path = "common/calls.rs"]
mod every_call;

use larder_testkit::{Client, Server, Value, full_run, wait_until, words};
use std::collections::BTreeSet;
use std::time::Duration;

/// What every step begins with, before the data of the calls.
const BEFORE: &str = "
    CLIENT UNPAUSE
    CONFIG SET appendonly no
";

/// And after it.
const AFTER: &str = r##"
    SCRIPT LOAD "return 1"
    FUNCTION LOAD REPLACE "#!lua name=lib\nredis.register_function{function_name='f', callback=function() return 1 end, flags={'no-writes'}}"
"##;

/// Asks for all keys, so that it holds all shards, says so, and goes on for ever.
const HOLDING: &str = "redis.call('dbsize') redis.call('publish', 'started', '1') while true do end";

/// Uses keys of all shards, which are the data's keys as well, lends them, and goes on in the same way.
const LENDING: &str = "for i = 1, 600 do redis.call('get', 'key:'..i) end redis.call('mget', 's', 'l', 'h', 't', 'x') \
     for i = 1, 10000 do redis.call('exists', 's') end redis.call('publish', 'started', '1') while true do end";

/// Those that are allowed beside a busy script and need a shard: their clients wait until the script ends, and nobody else does.
const MAY_WAIT: &[&str] = &["memory anatomy", "watch"];

/// A command of the list: what is done beforehand, and the call itself.
struct Sample {
    line: &'static str,
    before: Vec<&'static str>,
    call: &'static str,
}

fn samples() -> Vec<Sample> {
    let sample = |line: &'static str| match line.split_once(" | ") {
        Some((before, call)) => Sample { line, before: before.split(" ; ").map(str::trim).collect(), call },
        None => Sample { line, before: Vec::new(), call: line },
    };
    // Every round ends with this one.
    every_call::lines().filter(|line| *line != "script kill").map(sample).collect()
}

/// A server, and connections to known workers: they are dealt out in turns.
struct Stage {
    server: Server,
    threads: usize,
    opened: usize,
    script: &'static str,
}

impl Stage {
    fn new(threads: usize, args: &[&str], script: &'static str) -> Stage {
        let threads_text = threads.to_string();
        let fixed = ["--threads", &threads_text, "--busy-reply-threshold", "20"];
        let server = Server::larder(&[&fixed, args].concat());
        let info = server.client().ask("INFO stats").text();
        let opened = info.lines().find_map(|line| line.strip_prefix("total_connections_received:"));
        let opened = opened.and_then(|count| count.parse().ok()).expect("INFO tells how many there were");
        Stage { server, threads, opened, script }
    }

    /// A connection of a worker, which takes part already.
    fn client_of(&mut self, worker: usize) -> Client {
        loop {
            let mut client = self.server.client();
            client.set_timeout(Duration::from_secs(15));
            assert_eq!(client.ask("PING").text(), "PONG");
            self.opened += 1;
            if (self.opened - 1) % self.threads == worker % self.threads {
                return client;
            }
        }
    }

    /// Starts the script on worker 0; returns its connection when it has said that it has started. With one thread, it is busy by then.
    fn start_script(&mut self) -> Client {
        let mut listener = self.client_of(1);
        listener.ask("SUBSCRIBE started");
        let mut script = self.client_of(0);
        script.send(&["EVAL", self.script, "0"]);
        let heard = listener.read().expect("the script says that it has started");
        assert_eq!(heard.items()[1].text(), "started");
        script
    }

    /// Connections of all workers are told that the server is busy; the script is killed from `worker`.
    fn kill_script(&self, probes: &mut [Client], script: &mut Client, worker: usize, what: &str) {
        for (at, probe) in probes.iter_mut().enumerate() {
            // At first it is not busy, and the script may have a thread of its own.
            wait_until(&format!("worker {at} says that the server is busy beside {what}"), || {
                let told = answer(probe, &format!("a PING to worker {at} beside {what}"), |probe| {
                    probe.send(&["PING"]);
                });
                told.text().starts_with("BUSY ")
            });
        }
        let killed = answer(&mut probes[worker], &format!("SCRIPT KILL beside {what}"), |probe| {
            probe.send(&["SCRIPT", "KILL"]);
        });
        assert_eq!(killed.text(), "OK", "beside {what}");
        let end = script.read().expect("the script is answered");
        assert!(end.text().contains("Script killed by user"), "{end} beside {what}");
    }
}

/// What makes a client a replica: it is sent a snapshot some time later, and no answer.
const BECOME_REPLICAS: [&str; 2] = ["psync ? -1", "sync"];

fn answer(client: &mut Client, what: &str, send: impl FnOnce(&mut Client)) -> Value {
    send(client);
    client.read().unwrap_or_else(|error| panic!("no answer to {what}: {error}"))
}

fn send_line(client: &mut Client, line: &str) {
    client.send(&words(line));
}

/// Runs some commands, each on a thread of its own if there are enough, beside one script.
fn run_beside(stage: &mut Stage, group: &[Sample], round: usize) {
    let what = group.iter().map(|sample| sample.line).collect::<Vec<_>>().join(" and ");
    let mut probes: Vec<Client> = (0..stage.threads).map(|worker| stage.client_of(worker)).collect();
    every_call::ask_all(&mut probes[0], BEFORE);
    every_call::fill(&mut probes[0]);
    every_call::ask_all(&mut probes[0], AFTER);
    let mut clients: Vec<Client> = (0..group.len()).map(|at| stage.client_of(at + 1)).collect();
    for (client, sample) in clients.iter_mut().zip(group) {
        for line in &sample.before {
            send_line(client, line);
            client.read().unwrap_or_else(|error| panic!("{line} before {}: {error}", sample.line));
        }
    }
    let mut script = stage.start_script();
    for (client, sample) in clients.iter_mut().zip(group) {
        send_line(client, sample.call);
    }
    let (mut clients, group): (Vec<Client>, Vec<&Sample>) =
        clients.into_iter().zip(group).filter(|(_, sample)| !BECOME_REPLICAS.contains(&sample.call)).unzip();
    let waits = |sample: &Sample| MAY_WAIT.iter().any(|name| sample.call.starts_with(name));
    for (client, sample) in clients.iter_mut().zip(&group).filter(|(_, sample)| !waits(sample)) {
        answer(client, sample.line, |_| ());
    }
    stage.kill_script(&mut probes, &mut script, round % stage.threads, &what);
    for (client, sample) in clients.iter_mut().zip(&group).filter(|(_, sample)| waits(sample)) {
        answer(client, sample.line, |_| ());
    }
    for (at, probe) in probes.iter_mut().enumerate() {
        let pong = answer(probe, &format!("a PING to worker {at} after {what}"), |probe| {
            probe.send(&["PING"]);
        });
        assert_eq!(pong.text(), "PONG", "worker {at} after {what}");
    }
}

fn every_command(threads: usize, args: &[&str], script: &'static str) {
    let mut stage = Stage::new(threads, args, script);
    let at_once = if threads == 1 { 8 } else { threads - 1 };
    for (round, group) in samples().chunks(at_once).enumerate() {
        run_beside(&mut stage, group, round);
    }
}

#[test]
fn every_command_with_one_thread() {
    every_command(1, &[], HOLDING);
}

#[test]
fn every_command_with_two_threads() {
    every_command(2, &[], HOLDING);
}

#[test]
fn every_command_with_four_threads() {
    every_command(4, &[], HOLDING);
}

#[test]
fn every_command_with_a_log() {
    every_command(if full_run() { 2 } else { 4 }, &["--appendonly", "yes", "--maxmemory", "1gb"], HOLDING);
}

#[test]
fn every_command_beside_one_that_lends() {
    let threads: &[usize] = if full_run() { &[1, 2, 4] } else { &[4] };
    threads.iter().for_each(|&threads| every_command(threads, &[], LENDING));
}

/// The list has every command that the server knows.
#[test]
fn the_list_is_whole() {
    let server = Server::larder(&[]);
    let mut client = server.client();
    let mut known = BTreeSet::new();
    for info in client.ask("COMMAND INFO").items() {
        let subcommands = info.items().last().map_or(&[][..], Value::items);
        match subcommands {
            [] => drop(known.insert(info.items()[0].text())),
            all => known.extend(all.iter().map(|sub| sub.items()[0].text())),
        }
    }
    let samples = samples();
    known.remove("script|kill");
    let calls = samples.iter().map(|sample| {
        let words: Vec<&str> = sample.call.split_whitespace().take(2).collect();
        words.join("|")
    });
    let calls: Vec<String> = calls.collect();
    let is_called = |name: &&String| {
        let prefix = format!("{name}|");
        !calls.iter().any(|call| call == *name || call.starts_with(&prefix))
    };
    let missing: Vec<&String> = known.iter().filter(is_called).collect();
    assert!(missing.is_empty(), "tests/common/commands.txt lacks {missing:?}");
}

/// Waits that end, connections that close, and marks that are forgotten, while a script holds the keys that they are about.
#[test]
fn waits_end_and_connections_close() {
    for (threads, script) in [(1, HOLDING), (2, HOLDING), (4, HOLDING), (1, LENDING), (2, LENDING)] {
        let mut stage = Stage::new(threads, &[], script);
        let mut probes: Vec<Client> = (0..threads).map(|worker| stage.client_of(worker)).collect();
        let on_all = |stage: &mut Stage, lines: &[&str]| -> Vec<Client> {
            let mut clients: Vec<Client> = (0..threads).map(|worker| stage.client_of(worker)).collect();
            for client in &mut clients {
                lines.iter().for_each(|line| drop(client.ask(line)));
            }
            clients
        };
        let watching = on_all(&mut stage, &["WATCH s h l nokey"]);
        let in_multi = on_all(&mut stage, &["WATCH s nokey", "MULTI", "SET s v"]);
        let tracking = on_all(&mut stage, &["HELLO 3", "CLIENT TRACKING on", "GET s", "MGET h l"]);
        let mut unwatching = on_all(&mut stage, &["WATCH s h l nokey"]);
        let mut discarding = on_all(&mut stage, &["WATCH s h l nokey", "MULTI", "GET s"]);
        let mut resetting = on_all(&mut stage, &["WATCH s h l nokey", "MULTI", "GET s"]);
        let mut timing_out = on_all(&mut stage, &[]);
        for (at, client) in timing_out.iter_mut().enumerate() {
            let lines =
                ["BLPOP nolist 0.15", "XREAD BLOCK 150 STREAMS nostream $", "BLMOVE nolist d LEFT LEFT 0.15"];
            send_line(client, lines[at % lines.len()]);
        }
        let mut blocked = on_all(&mut stage, &[]);
        blocked.iter_mut().for_each(|client| send_line(client, "BLPOP nolist nolist2 0"));
        let count = 2 * threads;
        while !probes[0].ask("INFO clients").text().contains(&format!("blocked_clients:{count}\r")) {}
        let mut script = stage.start_script();
        drop((watching, in_multi, tracking, blocked));
        for client in &mut unwatching {
            send_line(client, "UNWATCH");
            assert_eq!(answer(client, "UNWATCH", |_| ()).text(), "OK");
        }
        for client in &mut discarding {
            send_line(client, "DISCARD");
            assert_eq!(answer(client, "DISCARD", |_| ()).text(), "OK");
        }
        for client in &mut resetting {
            send_line(client, "RESET");
            assert_eq!(answer(client, "RESET", |_| ()).text(), "RESET");
        }
        for client in &mut timing_out {
            assert_eq!(answer(client, "the end of a wait", |_| ()), Value::NullArray);
        }
        stage.kill_script(&mut probes, &mut script, threads - 1, "waits and ends");
        // All that these connections had left in the shards is gone in the end.
        drop((unwatching, discarding, resetting, timing_out, script));
        let is_clean =
            |info: &str| info.contains("total_watched_keys:0\r") && info.contains("total_blocking_keys:0\r");
        while !is_clean(&probes[0].ask("INFO clients").text()) {}
    }
}

/// A signal that asks for the end waits for a script that takes its time, as with Valkey: clients are answered, and may kill it. Then
/// the server ends, and saves what it has to save.
#[test]
fn the_end_waits_for_a_busy_script() {
    for threads in ["1", "2", "4"] {
        for args in [&["--save", ""][..], &["--save", "3600 1"], &["--save", "", "--appendonly", "yes"]] {
            let own = ["--threads", threads, "--busy-reply-threshold", "20"];
            let mut server = Server::larder(&[&own, args].concat());
            server.client().ask("SET key value");
            let mut busy = server.client();
            busy.send(&["EVAL", "while true do end", "0"]);
            let mut other = server.client();
            while !other.ask("GET key").text().starts_with("BUSY") {}
            server.signal("TERM");
            server.wait_for_log("scheduling shutdown");
            // Those who come now are answered as well.
            for client in [&mut other, &mut server.client()] {
                assert!(client.ask("GET key").text().starts_with("BUSY"), "{threads} {args:?}");
            }
            assert_eq!(server.client().ask("SCRIPT KILL").text(), "OK");
            assert!(server.wait().success(), "{threads} {args:?}: {}", server.log());
            assert!(server.start_again(&[&own, args].concat()));
            assert_eq!(
                server.client().ask("EXISTS key").int(),
                i64::from(args.len() > 2 || !args[1].is_empty())
            );
        }
    }
}

/// A second SIGINT does not wait.
#[test]
fn who_insists_need_not_wait_for_a_script() {
    let mut server = Server::larder(&["--threads", "2", "--busy-reply-threshold", "20"]);
    let (mut busy, mut other) = (server.client(), server.client());
    busy.send(&["EVAL", "redis.call('set', 'a', '1') while true do end", "1", "a"]);
    while !other.ask("GET key").text().starts_with("BUSY") {}
    server.signal("INT");
    server.wait_for_log("scheduling shutdown");
    server.signal("INT");
    assert_eq!(server.wait().code(), Some(1), "{}", server.log());
    assert!(server.log().contains("You insist"));
}
