//! The store inside of a program: its calls, beside a server that is asked the same, and from many threads.

mod beside_server;
mod connections;
mod threads;

use larder_embed::{Error, Event, Options, Reply, Store, Ttl};
use std::time::{Duration, Instant};

fn store() -> Store {
    Store::in_memory().expect("threads start")
}

#[test]
fn strings_and_keys() {
    let store = store();
    assert_eq!(store.get("k").unwrap(), None);
    store.set("k", "v").unwrap();
    assert_eq!(store.get("k").unwrap().as_deref(), Some(&b"v"[..]));
    assert!(!store.set_if_absent("k", "w").unwrap());
    assert!(store.set_if_absent("n", "1").unwrap());
    assert_eq!(store.incrby("n", 41).unwrap(), 42);
    assert_eq!(store.append("k", "w").unwrap(), 2);
    assert_eq!(store.strlen("k").unwrap(), 2);
    store.mset(&[("a", "1"), ("b", "")]).unwrap();
    let found = store.mget(&["a", "none", "b"]).unwrap();
    assert_eq!(found, [Some(b"1".to_vec()), None, Some(Vec::new())]);
    assert_eq!(store.del(&["a", "none"]).unwrap(), 1);
    assert!(store.exists("b").unwrap() && !store.exists("a").unwrap());
    assert_eq!(store.key_type("b").unwrap().as_deref(), Some("string"));
    assert_eq!(store.key_type("a").unwrap(), None);
    let binary = [0, 13, 10, 255, b'$'];
    store.set(binary, binary).unwrap();
    assert_eq!(store.get(binary).unwrap().as_deref(), Some(&binary[..]));
    assert_eq!(store.dbsize().unwrap(), 4);
    store.flushall().unwrap();
    assert_eq!(store.dbsize().unwrap(), 0);
}

#[test]
fn collections() {
    let store = store();
    assert_eq!(store.hset("h", &[("a", "1"), ("b", "2")]).unwrap(), 2);
    assert_eq!(store.hget("h", "a").unwrap().as_deref(), Some(&b"1"[..]));
    assert_eq!(store.hmget("h", &["b", "x"]).unwrap(), [Some(b"2".to_vec()), None]);
    assert_eq!(store.hincrby("h", "a", 9).unwrap(), 10);
    assert!(store.hexists("h", "a").unwrap());
    let fields = store.hgetall("h").unwrap();
    assert_eq!((fields.len(), fields.get("a"), fields.get("x")), (2, Some(&b"10"[..]), None));
    assert!(store.hgetall("none").unwrap().is_empty());
    assert_eq!((store.hdel("h", &["a", "x"]).unwrap(), store.hlen("h").unwrap()), (1, 1));

    assert_eq!(store.rpush("l", &["b", "c"]).unwrap(), 2);
    assert_eq!(store.lpush("l", &["a"]).unwrap(), 3);
    assert_eq!(store.lrange("l", 0, -1).unwrap(), [b"a", b"b", b"c"]);
    assert_eq!(store.lpop("l").unwrap().as_deref(), Some(&b"a"[..]));
    assert_eq!(store.rpop("l").unwrap().as_deref(), Some(&b"c"[..]));
    assert_eq!((store.llen("l").unwrap(), store.lpop("none").unwrap()), (1, None));

    assert_eq!(store.sadd("s", &["a", "b", "a"]).unwrap(), 2);
    assert!(store.sismember("s", "a").unwrap());
    let mut members = store.smembers("s").unwrap();
    members.sort();
    assert_eq!(members, [b"a", b"b"]);
    assert_eq!((store.srem("s", &["a", "x"]).unwrap(), store.scard("s").unwrap()), (1, 1));

    assert_eq!(store.zadd("z", &[(1.5, "a"), (f64::INFINITY, "b"), (-2.0, "c")]).unwrap(), 3);
    assert_eq!(store.zscore("z", "b").unwrap(), Some(f64::INFINITY));
    assert_eq!(store.zscore("z", "x").unwrap(), None);
    assert_eq!(store.zincrby("z", 0.25, "a").unwrap(), 1.75);
    let all = store.zrange("z", 0, -1).unwrap();
    let wanted = [(b"c".to_vec(), -2.0), (b"a".to_vec(), 1.75), (b"b".to_vec(), f64::INFINITY)];
    assert_eq!(all, wanted);
    assert_eq!((store.zrem("z", &["a"]).unwrap(), store.zcard("z").unwrap()), (1, 2));
}

#[test]
fn errors_name_what_is_wrong() {
    let store = store();
    store.set("k", "v").unwrap();
    let text = |result: Result<Reply, Error>| match result {
        Err(Error::Command(text)) => text,
        other => panic!("{other:?}"),
    };
    let wrong_type = "WRONGTYPE Operation against a key holding the wrong kind of value";
    assert_eq!(text(store.command(&["LPUSH", "k", "x"])), wrong_type);
    assert!(matches!(store.hgetall("k"), Err(Error::Command(text)) if text == wrong_type));
    assert_eq!(text(store.command(&["GET"])), "ERR wrong number of arguments for 'get' command");
    assert!(text(store.command(&["NOSUCH", "x"])).starts_with("ERR unknown command 'NOSUCH'"));
    for name in ["POST", "Host:"] {
        // A server hangs up on these.
        assert!(text(store.command(&[name, "x"])).starts_with("ERR unknown command"));
    }
    let none: [&str; 0] = [];
    assert!(text(store.command(&none)).starts_with("ERR unknown command"));
    assert_eq!(text(store.database(16).command(&["GET", "k"])), "ERR DB index is out of range");
    for line in [
        "SHUTDOWN NOSAVE",
        "SAVE",
        "BGSAVE",
        "BGREWRITEAOF",
        "CONFIG SET maxmemory 1",
        "CONFIG REWRITE",
        "REPLICAOF a 1",
        "CLUSTER INFO",
        "MIGRATE a 1 k 0 1",
        "DEBUG SLEEP 1",
        "ACL SETUSER x",
        "CLIENT KILL TYPE normal",
        "CLIENT PAUSE 1",
        "PUBLISH c m",
        "WAIT 1 0",
        "MODULE LIST",
        "SLOWLOG GET",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let error = text(store.command(&words));
        let name = words[0].to_lowercase();
        assert!(
            error.starts_with(&format!("ERR '{name}")) && error.contains("not about data"),
            "{line}: {error}"
        );
    }
    for line in
        ["MULTI", "EXEC", "WATCH k", "SELECT 1", "SUBSCRIBE c", "AUTH x", "HELLO 2", "MONITOR", "QUIT"]
    {
        let words: Vec<&str> = line.split(' ').collect();
        assert!(text(store.command(&words)).contains("is about a connection"), "{line}");
    }
}

#[test]
fn blocking_commands_answer_at_once() {
    let store = store();
    let begun = Instant::now();
    for line in [
        "BLPOP l 0",
        "BRPOP l 0",
        "BLMOVE l m LEFT LEFT 0",
        "BRPOPLPUSH l m 0",
        "BLMPOP 0 1 l LEFT",
        "BZPOPMIN z 0",
        "BZPOPMAX z 0",
        "BZMPOP 0 1 z MIN",
        "XREAD BLOCK 0 STREAMS x $",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!(store.command(&words).unwrap(), Reply::Null, "{line}");
    }
    store.rpush("l", &["a"]).unwrap();
    let found = store.command(&["BLPOP", "l", "0"]).unwrap();
    assert_eq!(found.items().map(<[Reply]>::len), Some(2));
    assert!(begun.elapsed() < Duration::from_secs(10), "nothing has waited");
}

#[test]
fn keys_expire() {
    let store = store();
    store.set_for("soon", "v", Duration::from_millis(1)).unwrap();
    store.set_for("later", "v", Duration::from_secs(1000)).unwrap();
    store.set("never", "v").unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    // It goes without being asked for: the thread of the store looks.
    while store.dbsize().unwrap() > 2 {
        assert!(Instant::now() < deadline, "a key whose time is over goes");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(store.ttl("soon").unwrap(), Ttl::Missing);
    assert_eq!(store.ttl("never").unwrap(), Ttl::Never);
    assert!(matches!(store.ttl("later").unwrap(), Ttl::Left(left) if left > Duration::from_secs(900)));
    assert!(store.persist("later").unwrap() && !store.persist("later").unwrap());
    assert!(store.expire("later", Duration::ZERO).unwrap());
    assert!(!store.exists("later").unwrap());
}

#[test]
fn databases_are_apart() {
    let store = Store::open(&Options::new().option("databases", "3")).unwrap();
    let other = store.database(2);
    store.set("k", "0").unwrap();
    other.set("k", "2").unwrap();
    assert_eq!(store.get("k").unwrap().as_deref(), Some(&b"0"[..]));
    assert_eq!(other.get("k").unwrap().as_deref(), Some(&b"2"[..]));
    assert!(store.database(3).get("k").is_err());
    store.command(&["SWAPDB", "0", "2"]).unwrap();
    assert_eq!(store.get("k").unwrap().as_deref(), Some(&b"2"[..]));
}

#[test]
fn scans_find_all() {
    let store = store();
    for i in 0..5000 {
        store.set(format!("user:{i}"), "v").unwrap();
        store.set(format!("item:{i}"), "v").unwrap();
    }
    let mut found: Vec<Vec<u8>> = store.scan("user:*").map(Result::unwrap).collect();
    found.sort();
    found.dedup();
    assert_eq!(found.len(), 5000);
    assert!(found.iter().all(|key| key.starts_with(b"user:")));
    assert_eq!(store.scan("none*").count(), 0);
}

#[test]
fn transactions_are_whole_or_not_at_all() {
    let store = store();
    let commands: &[&[&str]] = &[&["SET", "a", "1"], &["LPUSH", "a", "x"], &["INCR", "a"]];
    let replies = store.transaction(commands).unwrap();
    assert_eq!(replies[0], Reply::Status("OK".to_owned()));
    assert!(matches!(&replies[1], Reply::Error(text) if text.starts_with("WRONGTYPE")));
    assert_eq!(replies[2], Reply::Int(2));
    for bad in [&["NOSUCH"][..], &["POST"], &["GET"], &["SAVE"], &["SUBSCRIBE", "c"]] {
        let commands = [&["SET", "a", "9"][..], bad, &["INCR", "a"]];
        assert!(matches!(store.transaction(&commands), Err(Error::Command(_))), "{bad:?}");
        assert_eq!(store.get("a").unwrap().as_deref(), Some(&b"2"[..]));
    }
    let with_script: [&[&str]; 2] =
        [&["INCR", "a"], &["EVAL", "return redis.call('INCR', KEYS[1])", "1", "a"]];
    assert_eq!(store.transaction(&with_script).unwrap(), [Reply::Int(3), Reply::Int(4)]);
    let none: [&[&str]; 0] = [];
    assert_eq!(store.transaction(&none).unwrap(), []);
}

#[test]
fn scripts_run_whatever_the_stack_of_the_caller() {
    let store = store();
    let small = std::thread::Builder::new().stack_size(256 << 10);
    let run = move || {
        let script = "local function deep(n) if n == 0 then return 0 end return 1 + deep(n - 1) end \
                      redis.call('SET', KEYS[1], deep(10000)) return string.rep('x', 3)";
        assert_eq!(store.command(&["EVAL", script, "1", "k"]).unwrap(), Reply::Bytes(b"xxx".to_vec()));
        assert_eq!(store.get("k").unwrap().as_deref(), Some(&b"10000"[..]));
        let library =
            "#!lua name=lib\nserver.register_function('twice', function(keys, args) return args[1] * 2 end)";
        store.command(&["FUNCTION", "LOAD", library]).unwrap();
        assert_eq!(store.command(&["FCALL", "twice", "0", "21"]).unwrap(), Reply::Int(42));
        // It waits for nothing, as everywhere.
        let waits = "return redis.call('BLPOP', 'none', 0)";
        assert_eq!(store.command(&["EVAL", waits, "0"]).unwrap(), Reply::Null);
    };
    small.spawn(run).unwrap().join().unwrap();
}

#[test]
fn a_script_that_does_not_end_can_be_ended() {
    let store = store();
    let endless = store.clone();
    let thread = std::thread::spawn(move || endless.command(&["EVAL", "while true do end", "0"]));
    let deadline = Instant::now() + Duration::from_secs(30);
    while store.command(&["SCRIPT", "KILL"]).is_err() {
        assert!(Instant::now() < deadline, "the script can be ended");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(matches!(thread.join().unwrap(), Err(Error::Command(_))));
    assert_eq!(store.command(&["EVAL", "return 1", "0"]).unwrap(), Reply::Int(1));
}

#[test]
fn changes_are_told() {
    let store = store();
    let events = store.events(&["user:*"], 100).unwrap();
    let all = store.events::<&str>(&[], 4).unwrap();
    let next = |events: &larder_embed::Events| events.next_within(Duration::from_secs(20));
    let changed = |key: &str| Some(Event::Changed(key.as_bytes().to_vec()));
    store.set("item:1", "v").unwrap();
    assert_eq!(next(&all), changed("item:1"));
    store.set("user:1", "v").unwrap();
    assert_eq!(next(&events), changed("user:1"));
    assert_eq!(next(&all), changed("user:1"));
    store.expire("user:1", Duration::from_millis(1)).unwrap();
    assert_eq!(
        (next(&events), next(&events)),
        (changed("user:1"), changed("user:1")),
        "the deadline, and its end"
    );
    store.flushall().unwrap();
    assert_eq!(next(&events), Some(Event::Everything));
    assert_eq!(events.try_next(), None);
    // One that does not listen misses single events, and is told so.
    for i in 0..100 {
        store.set(format!("item:{i}"), "v").unwrap();
    }
    let deadline = Instant::now() + Duration::from_secs(20);
    while next(&all) != Some(Event::Everything) {
        assert!(Instant::now() < deadline);
    }
}

#[test]
fn fields_that_are_held_stay_as_they_were() {
    let store = store();
    // Of one block, and of many.
    for count in [20, 5000] {
        let pairs: Vec<(String, String)> = (0..count).map(|n| (format!("f{n}"), format!("v{n}"))).collect();
        store.hset("h", &pairs).unwrap();
        let held = store.hgetall("h").unwrap();
        let as_it_was = |held: &larder_embed::Fields| {
            assert_eq!((held.len(), held.iter().len(), held.iter().count()), (count, count, count));
            for (name, value) in &pairs {
                assert_eq!(held.get(name), Some(value.as_bytes()));
            }
        };
        store.hset("h", &[("f0", "other"), ("new", "x")]).unwrap();
        store.hdel("h", &["f1"]).unwrap();
        as_it_was(&held);
        let now = store.hgetall("h").unwrap();
        assert_eq!((now.get("f0"), now.get("f1"), now.len()), (Some(&b"other"[..]), None, count));
        assert!(now != held);
        store.del(&["h"]).unwrap();
        as_it_was(&held);
        let other = held.clone();
        drop(held);
        as_it_was(&other);
    }
    let held = {
        let store = self::store();
        store.hset("h", &[("a", "1")]).unwrap();
        store.hgetall("h").unwrap()
    };
    assert_eq!(held.get("a"), Some(&b"1"[..]), "the store has gone");
}

#[test]
fn fields_that_are_over_are_not_shown() {
    let store = store();
    store.hset("h", &[("a", "1"), ("b", "2")]).unwrap();
    let held = store.hgetall("h").unwrap();
    store.command(&["HPEXPIRE", "h", "1", "FIELDS", "1", "a"]).unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while store.hgetall("h").unwrap().len() > 1 {
        assert!(Instant::now() < deadline, "the field expires");
        std::thread::yield_now();
    }
    let now = store.hgetall("h").unwrap();
    assert_eq!((now.iter().count(), now.get("a"), now.get("b")), (1, None, Some(&b"2"[..])));
    assert_eq!(held.len(), 2);
}

#[test]
fn replies_as_bytes_are_those_of_the_protocol() {
    let store = store();
    let mut reply = b"what was there before".to_vec();
    store.command_into(&["HSET", "h", "a", "1"], &mut reply).unwrap();
    assert_eq!(reply, b":1\r\n");
    store.command_into(&["HGETALL", "h"], &mut reply).unwrap();
    assert_eq!(reply, b"%1\r\n$1\r\na\r\n$1\r\n1\r\n");
    store.command_into(&["INCR", "h"], &mut reply).unwrap();
    assert!(reply.starts_with(b"-WRONGTYPE "));
    store.command_into(&["EVAL", "return {1, 'a'}", "0"], &mut reply).unwrap();
    assert_eq!(reply, b"*2\r\n:1\r\n$1\r\na\r\n");
}

#[test]
fn listeners_wait_without_taking_and_are_closed() {
    let store = store();
    let events = store.events(&["k"], 10).unwrap();
    store.set("k", "v").unwrap();
    assert!(events.wait(Duration::from_secs(20)) && events.wait(Duration::ZERO));
    assert_eq!(events.try_next(), Some(Event::Changed(b"k".to_vec())));
    assert!(!events.wait(Duration::ZERO) && !events.is_closed());
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| events.next_within(Duration::from_secs(3600)));
        events.close();
        assert_eq!(waiting.join().unwrap(), None);
    });
    store.set("k", "w").unwrap();
    assert!(events.is_closed() && !events.wait(Duration::from_secs(3600)));
    assert_eq!(events.try_next(), None);
}
