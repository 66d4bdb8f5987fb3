//! What goes on beside a script that lends, and what waits for it.

use super::every_call::fill;
use super::{SPIN, Script, WAIT, calls};
use larder_testkit::{Client, Server, Value, wait_until, words};

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

/// A slot that goes to nobody meanwhile, or to another node, goes when the script has ended: it is not cut off in the middle. A slot that it has not
/// used is gone at once, for it as for others.
#[test]
fn a_slot_that_goes_meanwhile_goes_when_the_script_has_ended() {
    for threads in ["1", "2", "4"] {
        let args = ["--threads", threads, "--cluster-enabled", "yes", "--busy-reply-threshold", "600000"];
        // A node that was down comes back after this time.
        let server = Server::larder(&[&args[..], &["--cluster-node-timeout", "500"]].concat());
        let (mut client, mut admin) = (server.client(), server.client());
        assert_eq!(client.ask("CLUSTER ADDSLOTSRANGE 0 16383").text(), "OK");
        wait_until("the cluster serves its slots", || !client.ask("GET {t}x").is_error());
        let spin = SPIN.replace("mine:1", "{t}mine");
        for (keys, name) in [(&["{t}mine"][..], "KEYS[1]"), (&[], "'{t}mine'")] {
            let body = format!(
                "redis.call('incr', {name}) {spin}{WAIT} \
                 local other = redis.pcall('incr', '{{u}}mine') \
                 return {{redis.call('incr', {name}), other['err']}}"
            );
            let script = Script::start(&server, &body, keys);
            admin.send(&words("CLUSTER DELSLOTSRANGE 0 16383"));
            wait_until("the slots are gone", || client.ask("GET {v}x").is_error());
            let refused = client.ask("GET {t}mine").to_string();
            assert!(refused.contains("CLUSTERDOWN"), "{refused}");
            let reply = script.end(&server);
            let reply = reply.items();
            assert_eq!(reply[0].int(), 2, "with {threads} threads, {keys:?}");
            assert!(reply[1].text().contains("non local key"), "{}", reply[1]);
            assert_eq!(admin.read().expect("an answer").text(), "OK");
            assert!(client.ask("GET {t}mine").is_error());

            assert_eq!(client.ask("CLUSTER ADDSLOTSRANGE 0 16383").text(), "OK");
            wait_until("the cluster serves its slots", || !client.ask("GET {t}x").is_error());
            assert_eq!(client.ask("GETDEL {t}mine").text(), "2");
        }
    }
}

/// Commands that want a shard as a whole, of which the script has reserved a key, wait for its end, and nobody waits with them.
#[test]
fn who_waits_for_a_whole_shard_keeps_nobody() {
    for threads in ["1", "2"] {
        let args = ["--threads", threads, "--cluster-enabled", "yes", "--busy-reply-threshold", "600000"];
        let server = Server::larder(&[&args[..], &["--enable-debug-command", "yes"]].concat());
        let mut client = server.client();
        assert_eq!(client.ask("CLUSTER ADDSLOTSRANGE 0 16383").text(), "OK");
        wait_until("the cluster serves its slots", || !client.ask("GET {t}x").is_error());
        let spin = SPIN.replace("mine:1", "{t}mine");
        let body = format!("redis.call('set', KEYS[1], 1) {spin}{WAIT} return redis.call('incr', KEYS[1])");
        let script = Script::start(&server, &body, &["{t}mine"]);
        let slot = client.ask("CLUSTER KEYSLOT {t}mine").int();
        let mut waiting = [format!("CLUSTER FLUSHSLOT {slot}"), "DEBUG REPLICATE SET {t}mine 1".to_owned()]
            .map(|line| {
                let mut waits = server.client();
                waits.send(&words(&line));
                waits
            });
        // There are more of them than threads, so each thread has had one of those that wait.
        for mut other in (0..8).map(|_| server.client()) {
            assert_eq!(other.ask("SET {u}free 1").text(), "OK");
        }
        assert!(waiting.iter_mut().all(|waits| !waits.has_reply()));
        assert_eq!(script.end(&server).int(), 2);
        for mut waits in waiting {
            assert_eq!(waits.read().expect("an answer").text(), "OK");
        }
        assert_eq!(client.ask("EXISTS {t}mine").int(), 0);
    }
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
