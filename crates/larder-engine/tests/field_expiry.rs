//! Fields with a time to live, which redis-server 7.0 does not have. The hash itself is tested with a simulated clock in
//! `larder-collections`; here are the replies, and the active expiry.

mod support;

use larder_engine::Cron;
use support::{Client, engine};

const MISMATCH: &str = "-ERR numfields should be greater than 0 and match the provided number of fields";

/// Waits until the clock of the server has passed a time a few milliseconds away.
fn pass(client: &mut Client, question: &str, answer: &str) {
    let start = std::time::Instant::now();
    while client.ask(question) != answer {
        assert!(start.elapsed().as_secs() < 5, "{question} does not become {answer}");
        client.worker.tick();
    }
}

#[test]
fn fields_get_and_lose_expiries() {
    let engine = engine();
    let mut c = Client::new(&engine, 0);
    c.ask("HSET h a 1 b 2 c 3");
    assert_eq!(c.ask("OBJECT ENCODING h"), "$8 listpack");
    assert_eq!(c.ask("HEXPIRE h 100 FIELDS 2 a none"), "*2 :1 :-2");
    assert_eq!(c.ask("OBJECT ENCODING h"), "$9 hashtable");
    assert_eq!(c.ask("HTTL h FIELDS 3 a b none"), "*3 :100 :-1 :-2");
    assert_eq!(c.ask("HEXPIREAT h 9999999999 FIELDS 1 b"), "*1 :1");
    assert_eq!(c.ask("HEXPIRETIME h FIELDS 1 b"), "*1 :9999999999");
    assert_eq!(c.ask("HPEXPIRETIME h FIELDS 2 b c"), "*2 :9999999999000 :-1");
    assert_eq!(c.ask("HPERSIST h FIELDS 3 b c none"), "*3 :1 :-1 :-2");
    assert_eq!(c.ask("HPTTL h FIELDS 1 b"), "*1 :-1");
    assert_eq!(c.ask("HGETALL h"), "*6 $1 a $1 1 $1 b $1 2 $1 c $1 3");
    assert_eq!(c.ask("HEXPIRE h 100 NX FIELDS 2 a b"), "*2 :0 :1");
    assert_eq!(c.ask("HEXPIRE h 200 XX FIELDS 2 a c"), "*2 :1 :0");
    assert_eq!(c.ask("HEXPIRE h 100 GT FIELDS 2 a c"), "*2 :0 :0");
    assert_eq!(c.ask("HEXPIRE h 100 LT FIELDS 2 a c"), "*2 :1 :1");
    assert_eq!(c.ask("HPEXPIREAT h 1 FIELDS 2 a none"), "*2 :2 :-2");
    assert_eq!(c.ask("HLEN h"), ":2");
    assert_eq!(c.ask("HEXPIREAT h 0 FIELDS 2 b c"), "*2 :2 :2");
    assert_eq!(c.ask("EXISTS h"), ":0");
    assert_eq!(c.ask("HEXPIRE h 10 FIELDS 2 b c"), "*2 :-2 :-2");
    assert_eq!(c.ask("HTTL h FIELDS 1 b"), "*1 :-2");
    assert_eq!(c.ask("HPERSIST h FIELDS 1 b"), "*1 :-2");
}

#[test]
fn setting_a_value_keeps_or_drops_the_expiry() {
    let engine = engine();
    let mut c = Client::new(&engine, 0);
    assert_eq!(c.ask("HSETEX h EX 100 FIELDS 2 a 1 b 2"), ":1");
    assert_eq!(c.ask("HTTL h FIELDS 2 a b"), "*2 :100 :100");
    assert_eq!(c.ask("HINCRBY h a 5"), ":6");
    assert_eq!(c.ask("HINCRBYFLOAT h a 0.5"), "$3 6.5");
    assert_eq!(c.ask("HTTL h FIELDS 1 a"), "*1 :100");
    assert_eq!(c.ask("HSET h a 1"), ":0");
    assert_eq!(c.ask("HTTL h FIELDS 2 a b"), "*2 :-1 :100");
    assert_eq!(c.ask("HSETEX h KEEPTTL FIELDS 1 b 3"), ":1");
    assert_eq!(c.ask("HTTL h FIELDS 1 b"), "*1 :100");
    assert_eq!(c.ask("HSETEX h FIELDS 1 b 3"), ":1");
    assert_eq!(c.ask("HTTL h FIELDS 1 b"), "*1 :-1");
    assert_eq!(c.ask("HSETEX h NX FIELDS 1 b 4"), ":0");
    assert_eq!(c.ask("HSETEX none XX FIELDS 1 b 4"), ":0");
    assert_eq!(c.ask("HSETEX h FNX FIELDS 2 b 4 new 4"), ":0");
    assert_eq!(c.ask("HSETEX h FXX FIELDS 2 b 4 new 4"), ":0");
    assert_eq!(c.ask("HSETEX h XX FXX PX 100000 FIELDS 2 b 4 a 4"), ":1");
    assert_eq!(c.ask("HMGET h a b new"), "*3 $1 4 $1 4 $-1");
    assert_eq!(c.ask("HSETEX h EXAT 1 FIELDS 1 a 5"), ":1");
    assert_eq!(c.ask("HEXISTS h a"), ":0");
    assert_eq!(c.ask("HGETEX h FIELDS 2 b none"), "*2 $1 4 $-1");
    assert_eq!(c.ask("HGETEX h PERSIST FIELDS 1 b"), "*1 $1 4");
    assert_eq!(c.ask("HTTL h FIELDS 1 b"), "*1 :-1");
    assert_eq!(c.ask("HGETEX h EX 50 FIELDS 1 b"), "*1 $1 4");
    assert_eq!(c.ask("HTTL h FIELDS 1 b"), "*1 :50");
    assert_eq!(c.ask("HGETEX none EX 50 FIELDS 2 b c"), "*2 $-1 $-1");
    assert_eq!(c.ask("HGETDEL h FIELDS 2 b none"), "*2 $1 4 $-1");
    assert_eq!(c.ask("EXISTS h none"), ":0");
    assert_eq!(c.ask("HGETDEL h FIELDS 1 b"), "*1 $-1");
}

#[test]
fn bad_arguments_are_refused_and_change_nothing() {
    let engine = engine();
    let mut c = Client::new(&engine, 0);
    c.ask("HSET h a 1");
    c.ask("SET s x");
    for bad in [
        "HEXPIRE h 10 FIELDS 0 a",
        "HEXPIRE h 10 FIELDS 2 a",
        "HEXPIRE h 10 FIELDS 1 a b",
        "HEXPIRE h 10 NX XX a b",
        "HGETDEL h FIELDS 2 a",
        "HSETEX h FIELDS 1 a 1 b",
        "HSETEX h FIELDS 1 a 1 b 2",
        "HSETEX h FIELDS 9223372036854775807 a 1",
        "HGETEX h PERSIST FIELDS 3 a b",
    ] {
        assert_eq!(c.ask(bad), MISMATCH, "{bad}");
    }
    let cases = [
        ("HTTL h FIELDS 9223372036854775807 a", "-ERR syntax error"),
        ("HTTL h FIELDS -1 a", "-ERR syntax error"),
        ("HTTL h WRONG 1 a", "-ERR syntax error"),
        ("HEXPIRE h -1 FIELDS 1 a", "-ERR invalid expire time in 'hexpire' command"),
        ("HEXPIRE h 9223372036854775807 FIELDS 1 a", "-ERR invalid expire time in 'hexpire' command"),
        ("HPEXPIRE h 9223372036854775807 FIELDS 1 a", "-ERR invalid expire time in 'hpexpire' command"),
        ("HEXPIRE h x FIELDS 1 a", "-ERR value is not an integer or out of range"),
        ("HEXPIRE h 10 FIELDS x a", "-ERR value is not an integer or out of range"),
        (
            "HEXPIRE h 10 NX GT FIELDS 1 a",
            "-ERR NX and XX, GT or LT options at the same time are not compatible",
        ),
        ("HEXPIRE h 10 WRONG FIELDS 1 a", "-ERR Unsupported option WRONG"),
        ("HGETEX h EX -1 FIELDS 1 a", "-ERR invalid expire time in 'hgetex' command"),
        ("HGETEX h EX 10 PERSIST FIELDS 1 a", "-ERR syntax error"),
        ("HGETEX h KEEPTTL FIELDS 1 a", "-ERR syntax error"),
        ("HSETEX h EX 10 KEEPTTL FIELDS 1 a 1", "-ERR syntax error"),
        ("HSETEX h NX XX FIELDS 1 a 1", "-ERR syntax error"),
        ("HSETEX h FNX FXX FIELDS 1 a 1", "-ERR syntax error"),
        ("HSETEX h PERSIST FIELDS 1 a 1", "-ERR syntax error"),
    ];
    for (bad, error) in cases {
        assert_eq!(c.ask(bad), error, "{bad}");
    }
    for name in ["HTTL", "HPERSIST", "HGETDEL", "HGETEX"] {
        assert!(c.ask(&format!("{name} s FIELDS 1 a")).starts_with("-WRONGTYPE"), "{name}");
    }
    assert_eq!(c.ask("HTTL h FIELDS 1 a"), "*1 :-1");
    assert_eq!(c.ask("HGETALL h"), "*2 $1 a $1 1");
}

#[test]
fn fields_expire_for_readers_at_once_and_are_then_taken_out() {
    let engine = engine();
    let mut c = Client::new(&engine, 0);
    c.ask("DEBUG SET-ACTIVE-EXPIRE 0");
    c.ask("HSET h stay 1");
    for n in 0..300 {
        c.ask(&format!("HSETEX h PX 5 FIELDS 1 field:{n} {n}"));
        c.ask(&format!("HSETEX other PX 5 FIELDS 1 field:{n} {n}"));
    }
    c.ask("COPY h copy");
    c.ask("RENAME other renamed");
    pass(&mut c, "HLEN h", ":1");
    pass(&mut c, "HLEN renamed", ":0");
    assert_eq!(c.ask("HGETALL h"), "*2 $4 stay $1 1");
    assert_eq!(c.ask("HGET h field:7"), "$-1");
    assert_eq!(c.ask("HRANDFIELD h"), "$4 stay");
    assert_eq!(c.ask("HRANDFIELD h 10"), "*1 $4 stay");
    assert_eq!(c.ask("HRANDFIELD h -2"), "*2 $4 stay $4 stay");
    assert_eq!(c.ask("HRANDFIELD renamed -2"), "*0");
    assert_eq!(c.ask("HSETNX h field:3 new"), ":1");
    assert_eq!(c.ask("HSET h field:3 new"), ":0");
    assert_eq!(c.ask("HDEL h field:3 field:4"), ":1");
    assert_eq!(c.ask("HINCRBY h field:5 2"), ":2");
    assert_eq!(c.ask("HLEN h"), ":2");
    c.ask("DEBUG SET-ACTIVE-EXPIRE 1");
    Cron::new(&engine).tick();
    assert_eq!(c.ask("EXISTS renamed"), ":0");
    assert_eq!(c.ask("HLEN copy"), ":1");
    assert!(c.ask("MEMORY USAGE copy")[1..].parse::<u64>().expect("a number") < 300);
}

#[test]
fn a_watched_hash_whose_fields_expire_has_changed() {
    let engine = engine();
    let mut c = Client::new(&engine, 0);
    c.ask("HSETEX h PX 2 FIELDS 1 a 1");
    c.ask("HSETEX h PX 2 FIELDS 1 b 1");
    c.ask("SWAPDB 0 1");
    c.ask("SELECT 1");
    c.ask("WATCH h");
    pass(&mut c, "HLEN h", ":0");
    Cron::new(&engine).tick();
    c.ask("MULTI");
    c.ask("PING");
    assert_eq!(c.ask("EXEC"), "*-1");
    assert_eq!(c.ask("EXISTS h"), ":0");
    c.ask("HSETEX h PX 1 FIELDS 1 a 1");
    c.ask("FLUSHALL");
    Cron::new(&engine).tick();
    assert_eq!(c.ask("DBSIZE"), ":0");
}
