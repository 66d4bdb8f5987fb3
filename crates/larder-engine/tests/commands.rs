//! Commands through the engine's front door, without sockets. Exact replies are compared with Valkey elsewhere; here
//! is what needs several connections in one thread, or a look at how a command went.

mod support;

use larder_engine::{Cron, Flow};
use std::collections::HashMap;
use support::{Client, engine};

#[test]
fn strings_and_keys() {
    let engine = engine();
    let mut c = Client::new(&engine, 0);
    assert_eq!(c.ask("SET a 1"), "+OK");
    assert_eq!(c.ask("INCRBY a 41"), ":42");
    assert_eq!(c.ask("APPEND a x"), ":3");
    assert_eq!(c.ask("GET a"), "$3 42x");
    assert_eq!(c.ask("OBJECT ENCODING a"), "$3 raw");
    assert_eq!(c.ask("SET b v IFEQ w"), "$-1");
    assert_eq!(c.ask("SET a v IFEQ 42x GET"), "$3 42x");
    assert_eq!(c.ask("DELIFEQ a w"), ":0");
    assert_eq!(c.ask("DELIFEQ a v"), ":1");
    assert_eq!(c.ask("MSETEX 2 a 1 b 2 NX EX 100"), ":1");
    assert_eq!(c.ask("MSETEX 2 c 1 b 2 NX"), ":0");
    assert_eq!(c.ask("TTL b"), ":100");
    assert_eq!(c.ask("COPY b c"), ":1");
    assert_eq!(c.ask("RENAME c d"), "+OK");
    assert_eq!(c.ask("TTL d"), ":100");
    assert_eq!(c.ask("DBSIZE"), ":3");
    assert_eq!(c.ask("LPUSH a x"), "-WRONGTYPE Operation against a key holding the wrong kind of value");
    assert_eq!(c.ask("NOSUCH a b"), "-ERR unknown command 'NOSUCH', with args beginning with: 'a' 'b'");
    assert_eq!(c.ask("GET"), "-ERR wrong number of arguments for 'get' command");
}

/// What lookups read is loaded ahead some keys at a time, in a keyspace that does not fit the cache.
#[test]
fn commands_of_thousands_of_keys() {
    commands_of_many_keys(false);
}

/// Then those that write lock all shards.
#[test]
fn commands_of_thousands_of_keys_while_somebody_waits_to_move() {
    commands_of_many_keys(true);
}

fn commands_of_many_keys(is_awaited: bool) {
    let engine = engine();
    let mut c = Client::new(&engine, 0);
    let mut movers: Vec<Client> =
        (1..if is_awaited { 60 } else { 1 }).map(|at| Client::new(&engine, at)).collect();
    for (list, mover) in movers.iter_mut().enumerate() {
        assert_eq!(mover.ask(&format!("BLMOVE list:{list} other LEFT RIGHT 0")), "");
    }
    let name = |key: usize| format!("key:{key}").into_bytes();
    let value = |key: usize, round: usize| format!("{round}:{key}").into_bytes();
    let mut model = HashMap::new();
    let mut rng = fastrand::Rng::with_seed(7);
    let sizes = [30_000, 3_000, 1_024, 1_025, 2_047, 2, 1, 2_500].into_iter().chain([10; 40]);
    for (round, size) in sizes.enumerate() {
        // Any order, some twice, and some that are not there.
        let keys: Vec<usize> =
            if round == 0 { (0..size).collect() } else { (0..size).map(|_| rng.usize(..60_000)).collect() };
        let mut ask = |command: &str, with_values: bool| {
            let mut words = vec![command.as_bytes().to_vec()];
            for &key in &keys {
                words.push(name(key));
                words.extend(with_values.then(|| value(key, round)));
            }
            let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
            if round % 3 != 2 {
                return c.run(&words);
            }
            c.ask("MULTI");
            c.run(&words);
            c.run(&[b"EXEC"]).split_off(b"*1\r\n".len())
        };
        let values = |model: &HashMap<usize, usize>| {
            let bulk = |key: &usize| match model.get(key) {
                Some(&round) => {
                    let value = value(*key, round);
                    [format!("${}\r\n", value.len()).as_bytes(), &value, b"\r\n"].concat()
                }
                None => b"$-1\r\n".to_vec(),
            };
            [format!("*{size}\r\n").into_bytes(), keys.iter().flat_map(bulk).collect()].concat()
        };
        assert!(ask("MGET", false) == values(&model), "round {round}");
        let mut int = |command: &str, with_values: bool| {
            let reply = String::from_utf8(ask(command, with_values)).unwrap();
            reply
                .trim_end()
                .strip_prefix(':')
                .unwrap_or_else(|| panic!("{round} {command}: {reply}"))
                .parse::<usize>()
                .unwrap()
        };
        let there = keys.iter().filter(|key| model.contains_key(*key)).count();
        assert_eq!((int("EXISTS", false), int("TOUCH", false)), (there, there));
        let is_set = int("MSETNX", true) == 1;
        assert_eq!(is_set, there == 0);
        if is_set {
            model.extend(keys.iter().map(|&key| (key, round)));
        }
        if round % 2 == 1 {
            let mut gone = keys.clone();
            gone.retain(|key| model.remove(key).is_some());
            assert_eq!(int("DEL", false), gone.len());
            assert_eq!((int("UNLINK", false), int("MSETNX", true)), (0, 1));
        } else {
            assert!(ask("MSET", true).starts_with(b"+OK"));
        }
        model.extend(keys.iter().map(|&key| (key, round)));
        Cron::new(&engine).tick();
        assert!(ask("MGET", false) == values(&model), "round {round}");
        assert_eq!(c.ask("DBSIZE"), format!(":{}", model.len()));
    }
}

/// Arguments of a command in a transaction may lie where those of the one before have lain.
#[test]
fn keys_of_one_command_are_not_taken_for_those_of_the_next() {
    let engine = engine();
    let mut c = Client::new(&engine, 0);
    let keys: Vec<String> = (0..200).map(|key| format!("k{}", key * 31 % 900 + 100)).collect();
    c.ask("MULTI");
    for pair in keys.chunks(2) {
        assert_eq!(c.ask(&format!("MSETEX 2 {} x {} y", pair[0], pair[1])), "+QUEUED");
    }
    assert_eq!(c.ask("EXEC").matches(":1").count(), keys.len() / 2);
    assert!(keys.iter().all(|key| c.ask(&format!("EXISTS {key}")) == ":1"));
    assert_eq!(c.ask("DBSIZE"), format!(":{}", keys.len()));
}

#[test]
fn long_strings_are_edited_in_place() {
    let engine = engine();
    let mut c = Client::new(&engine, 0);
    let long = vec![b'x'; 1000];
    c.run(&[b"SET", b"a", &long]);
    c.ask("COPY a b");
    assert_eq!(c.ask("SETRANGE a 998 yyy"), ":1001");
    assert_eq!(c.ask("APPEND a z"), ":1002");
    assert_eq!(c.ask("GETRANGE a 996 -1"), "$6 xxyyyz");
    assert_eq!(c.ask("STRLEN b"), ":1000");
    assert_eq!(c.ask("GETRANGE b 996 -1"), "$4 xxxx");
    assert_eq!(c.ask("SETRANGE new 3 abc"), ":6");
    assert_eq!(c.run(&[b"GET", b"new"]), b"$6\r\n\0\0\0abc\r\n");
}

#[test]
fn a_transaction_fails_when_a_watched_key_changes() {
    let engine = engine();
    let (mut a, mut b) = (Client::new(&engine, 0), Client::new(&engine, 1));
    a.ask("WATCH k");
    b.ask("SET k 1");
    a.ask("MULTI");
    assert_eq!(a.ask("GET k"), "+QUEUED");
    assert_eq!(a.ask("EXEC"), "*-1");
    a.ask("WATCH k");
    b.ask("SET other 1");
    a.ask("MULTI");
    a.ask("INCR k");
    a.ask("LPUSH k x");
    assert_eq!(a.ask("EXEC"), "*2 :2 -WRONGTYPE Operation against a key holding the wrong kind of value");
    a.ask("MULTI");
    a.ask("NOSUCH");
    assert_eq!(a.ask("EXEC"), "-EXECABORT Transaction discarded because of previous errors.");
    assert_eq!(a.ask("EXEC"), "-ERR EXEC without MULTI");
}

#[test]
fn blocked_clients_are_served_in_the_order_in_which_they_came() {
    let engine = engine();
    let (mut a, mut b, mut c) = (Client::new(&engine, 0), Client::new(&engine, 1), Client::new(&engine, 2));
    assert_eq!(a.ask("BLPOP q other 0"), "");
    assert_eq!(a.flow, Flow::Blocked { deadline_ms: None });
    assert_eq!(b.ask("BRPOP q 0"), "");
    assert_eq!(c.ask("RPUSH q 1 2 3"), ":3");
    assert_eq!(a.mail(), ["*2 $1 q $1 1"]);
    assert_eq!(b.mail(), ["*2 $1 q $1 3"]);
    assert_eq!(c.ask("LRANGE q 0 -1"), "*1 $1 2");
    assert_eq!(c.ask("RPUSH other x"), ":1");
    assert!(a.mail().is_empty());
    assert_eq!(c.ask("LLEN other"), ":1");
}

#[test]
fn blocked_moves_chain_across_shards() {
    let engine = engine();
    let mut clients: Vec<Client> = (0..4).map(|index| Client::new(&engine, index)).collect();
    clients[0].ask("BLMOVE l0 l1 LEFT RIGHT 0");
    clients[1].ask("BLMOVE l1 l2 LEFT RIGHT 0");
    clients[2].ask("BLPOP l2 0");
    assert_eq!(clients[3].ask("RPUSH l0 x"), ":1");
    assert_eq!(clients[0].mail(), ["$1 x"]);
    assert_eq!(clients[1].mail(), ["$1 x"]);
    assert_eq!(clients[2].mail(), ["*2 $2 l2 $1 x"]);
    assert_eq!(clients[3].ask("EXISTS l0 l1 l2"), ":0");
}

#[test]
fn pushes_in_a_transaction_serve_the_blocked_at_its_end() {
    let engine = engine();
    let (mut a, mut b) = (Client::new(&engine, 0), Client::new(&engine, 1));
    a.ask("BLPOP q 0");
    b.ask("MULTI");
    b.ask("RPUSH q 1");
    b.ask("DEL q");
    b.ask("RPUSH q 2");
    b.ask("BLPOP empty 0");
    assert_eq!(b.ask("EXEC"), "*4 :1 :1 :1 *-1");
    assert_eq!(a.mail(), ["*2 $1 q $1 2"]);
}

#[test]
fn a_waiter_is_answered_once() {
    let engine = engine();
    let (mut a, mut b) = (Client::new(&engine, 0), Client::new(&engine, 1));
    a.ask("BLPOP q 1");
    let id = a.session.id();
    assert_eq!(b.ask(&format!("CLIENT UNBLOCK {id} ERROR")), ":1");
    assert_eq!(b.ask(&format!("CLIENT UNBLOCK {id}")), ":0");
    let mut out = Vec::new();
    assert!(!a.worker.block_timeout(&mut a.session, &mut out));
    b.ask("RPUSH q 1");
    assert_eq!(a.mail(), ["-UNBLOCKED client unblocked via CLIENT UNBLOCK"]);
    assert_eq!(b.ask("LLEN q"), ":1");
    a.ask("BLPOP r 1");
    assert!(a.worker.block_timeout(&mut a.session, &mut out));
    assert_eq!(out, b"*-1\r\n");
    assert_eq!(b.ask("RPUSH r 1"), ":1");
}

#[test]
fn databases_can_be_swapped_and_emptied() {
    let engine = engine();
    let (mut a, mut b) = (Client::new(&engine, 0), Client::new(&engine, 1));
    a.ask("SET k 0");
    a.ask("SELECT 1");
    a.ask("RPUSH q x");
    b.ask("BLPOP q 0");
    assert_eq!(a.ask("SWAPDB 0 1"), "+OK");
    assert_eq!(b.mail(), ["*2 $1 q $1 x"]);
    assert_eq!(a.ask("GET k"), "$1 0");
    assert_eq!(a.ask("MOVE k 5"), ":1");
    assert_eq!(a.ask("FLUSHDB"), "+OK");
    assert_eq!(a.ask("DBSIZE"), ":0");
    a.ask("SELECT 5");
    assert_eq!(a.ask("DBSIZE"), ":1");
    assert_eq!(a.ask("FLUSHALL SYNC"), "+OK");
    assert_eq!(a.ask("RANDOMKEY"), "$-1");
}

#[test]
fn a_scan_returns_every_key() {
    let engine = engine();
    let mut c = Client::new(&engine, 0);
    for i in 0..3000 {
        c.ask(&format!("SET key:{i} {i}"));
    }
    let (mut cursor, mut seen) = ("0".to_owned(), std::collections::HashSet::new());
    loop {
        let reply = c.ask(&format!("SCAN {cursor} COUNT 100"));
        let words: Vec<&str> = reply.split_whitespace().collect();
        seen.extend(words.iter().filter(|w| w.starts_with("key:")).map(|w| (*w).to_owned()));
        cursor = words[2].to_owned();
        if cursor == "0" {
            break;
        }
    }
    assert_eq!(seen.len(), 3000);
    assert_eq!(c.ask("SCAN 0x"), "-ERR invalid cursor");
}

#[test]
fn lists_by_position() {
    let engine = engine();
    let mut c = Client::new(&engine, 0);
    for i in 0..5000 {
        c.ask(&format!("RPUSH l {i}"));
    }
    assert_eq!(c.ask("LINDEX l 2500"), "$4 2500");
    assert_eq!(c.ask("LINSERT l BEFORE 2500 new"), ":5001");
    assert_eq!(c.ask("LPOS l new"), ":2500");
    assert_eq!(c.ask("LSET l 2500 other"), "+OK");
    assert_eq!(c.ask("LRANGE l 2499 2501"), "*3 $4 2499 $5 other $4 2500");
    assert_eq!(c.ask("COPY l m"), ":1");
    assert_eq!(c.ask("LTRIM l 10 19"), "+OK");
    assert_eq!(c.ask("LLEN l"), ":10");
    assert_eq!(c.ask("LLEN m"), ":5001");
    assert_eq!(c.ask("LREM m 0 other"), ":1");
    let (mut cursor, mut seen) = ("0".to_owned(), 0);
    loop {
        let reply = c.ask(&format!("LSCAN m {cursor} COUNT 100"));
        let words: Vec<&str> = reply.split_whitespace().collect();
        cursor = words[2].to_owned();
        seen += words[3].trim_start_matches('*').parse::<usize>().unwrap();
        if cursor == "0" {
            break;
        }
    }
    assert_eq!(seen, 5000);
    assert_eq!(c.ask("LSCAN m 12345"), "-ERR invalid cursor");
}

#[test]
fn info_and_command_answer() {
    let engine = engine();
    let mut c = Client::new(&engine, 0);
    c.ask("SET k v");
    let info = c.ask("INFO everything");
    for field in
        ["redis_version:7.2.4", "db0:keys=1", "cmdstat_set:calls=1", "role:master", "keyspace_hits:0"]
    {
        assert!(info.contains(field), "{field} in {info}");
    }
    assert!(c.ask("COMMAND DOCS set").contains("summary"));
    assert_eq!(c.ask("COMMAND GETKEYS MSET a 1 b 2"), "*2 $1 a $1 b");
    assert!(c.ask("CLIENT LIST").contains("cmd=client|list"));
    assert!(c.ask("DEBUG OBJECT k").contains("encoding:embstr"));
    assert!(c.ask("MEMORY USAGE k").starts_with(':'));
}
