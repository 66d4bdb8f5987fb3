//! Sessions of the debugger of scripts, and everybody else meanwhile. What the client of a session gets is compared with
//! valkey-server in `differential/debugger.rs`.

use larder_testkit::{Client, Server, Value, peer_path};
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const WRITER: &str = "redis.call('set', KEYS[1], 1)\nlocal a = 1\nredis.call('set', KEYS[2], 2)\nreturn a";

/// Begins a session; the script has stopped at its first line.
fn begin(server: &Server, mode: &str, script: &str, args: &[&str]) -> Client {
    let mut client = server.client();
    assert_eq!(client.ask(&format!("SCRIPT DEBUG {mode}")).text(), "OK");
    let stopped = client.cmd(&[&["EVAL", script], args].concat());
    assert!(stopped.items()[0].text().starts_with("* Stopped at 1"), "{stopped:?}");
    client
}

/// Lets the script run to its end, and returns its result.
fn finish(client: &mut Client) -> Value {
    let last = client.ask("continue");
    assert_eq!(last.items().last().map(Value::text).as_deref(), Some("<endsession>"), "{last:?}");
    let reply = client.read().expect("EVAL is answered");
    assert!(client.read().is_err(), "the connection is closed");
    reply
}

fn lines(reply: &Value) -> String {
    reply.items().iter().map(Value::text).collect::<Vec<_>>().join("\n")
}

/// Keys of every type, in several databases, with deadlines.
fn fill(client: &mut Client) {
    for line in [
        "SET short v",
        "SET number 12",
        "RPUSH list a b c",
        "HSET hash f v g w",
        "HPEXPIREAT hash 99999999999999 FIELDS 1 f",
        "SADD set a b",
        "ZADD zset 1 a 2 b",
        "XADD stream 1-1 f v",
        "PFADD hll a b",
        "SET later v PXAT 99999999999999",
        "SELECT 3",
        "SET elsewhere v",
        "SELECT 0",
    ] {
        assert!(!client.ask(line).is_error(), "{line}");
    }
    client.cmd(&["SET", "long", &"x".repeat(100_000)]);
    for n in 0..3000 {
        client.cmd(&["RPUSH", "many", &format!("element {n}")]);
    }
}

#[test]
fn a_copy_is_all_there_is_and_nothing_of_it_stays() {
    let server = Server::larder(&[
        "--threads",
        "2",
        "--appendonly",
        "yes",
        "--notify-keyspace-events",
        "KEA",
        "--enable-debug-command",
        "yes",
    ]);
    let mut other = server.client();
    fill(&mut other);
    let digest = other.ask("DEBUG DIGEST").text();
    let dumps = "local all = {} for _, key in ipairs(KEYS) do all[#all + 1] = redis.call('dump', key)\n\
        all[#all + 1] = redis.call('pexpiretime', key) end return all";
    let keys = "short number list hash set zset stream hll later long many".split(' ').collect::<Vec<_>>();
    let args = [&["11"][..], &keys].concat();
    let there = other.cmd(&[&["EVAL", dumps], &args[..]].concat());
    let mut listener = server.client();
    listener.ask("PSUBSCRIBE *");
    let mut reader = server.client();
    reader.ask("HELLO 3");
    reader.ask("CLIENT TRACKING ON BCAST");
    let changes = |other: &mut Client| {
        let info = other.ask("INFO persistence").text();
        info.lines().find(|line| line.starts_with("rdb_changes_since_last_save")).map(str::to_owned)
    };
    let before = changes(&mut other);

    assert_eq!(finish(&mut begin(&server, "YES", dumps, &args)), there);
    let mut session = begin(&server, "YES", "local a = 1\nreturn redis.call('dbsize')", &["0"]);
    for (command, reply) in [
        ("r dbsize", "11"),
        ("r hpexpiretime hash FIELDS 2 f g", "[99999999999999,-1]"),
        ("r lindex many -1", "\"element 2999\""),
        ("r rpop many", "\"element 2999\""),
        ("r hset hash f z", "0"),
        ("r publish channel message", "0"),
        ("r incr number", "13"),
        ("r del short", "1"),
        ("r set fresh v", "\"+OK\""),
        ("r lpush waited a", "1"),
        ("r swapdb 0 3", "\"+OK\""),
        ("r get elsewhere", "\"v\""),
        ("r flushall", "\"+OK\""),
        ("r dbsize", "0"),
    ] {
        assert!(lines(&session.ask(command)).ends_with(&format!("<reply> {reply}")), "{command}");
    }
    // Meanwhile nobody waits, whatever the script has touched.
    assert_eq!(other.ask("GET number").text(), "12");
    assert_eq!(other.ask("DEBUG DIGEST").text(), digest);
    assert_eq!(changes(&mut other), before);
    assert!(other.ask("BGSAVE").text().starts_with("Background saving"));
    let patience = Instant::now() + Duration::from_secs(20);
    while !other.ask("INFO persistence").text().contains("rdb_bgsave_in_progress:0") {
        assert!(Instant::now() < patience, "the save ends while somebody debugs");
    }
    let before = changes(&mut other);
    assert_eq!(other.cmd(&["EVAL", "return redis.call('get', KEYS[1])", "1", "number"]).text(), "12");
    assert!(!other.ask("CLIENT LIST").text().contains("cmd=eval"));
    assert_eq!(other.ask("SCRIPT KILL").text(), "NOTBUSY No scripts in execution right now.");
    assert_eq!(finish(&mut session).int(), 0);

    assert_eq!(other.ask("DEBUG DIGEST").text(), digest);
    assert_eq!(changes(&mut other), before);
    other.ask("PUBLISH end end");
    assert_eq!(listener.read().expect("a message").items()[2].text(), "end", "no event came before");
    assert_eq!(reader.ask("PING end").text(), "end", "nothing was invalidated");
    assert_eq!(other.ask("DEBUG LOADAOF").text(), "OK");
    assert_eq!(other.ask("DEBUG DIGEST").text(), digest);
}

/// A server that has to keep within a limit evicts nothing because of a copy.
#[test]
fn a_copy_does_not_count_against_the_limit() {
    let server = Server::larder(&["--threads", "1", "--maxmemory-policy", "allkeys-lru"]);
    let mut other = server.client();
    let fill = "for n = 1, 60000 do redis.call('set', 'key:'..n, 'value '..n) end";
    assert!(!other.cmd(&["EVAL", fill, "0"]).is_error());
    let info = other.ask("INFO memory").text();
    let used = info.lines().find_map(|line| line.strip_prefix("used_memory:")).expect("it is there");
    let limit = used.trim().parse::<u64>().expect("a number") + 3_000_000;
    assert_eq!(other.ask(&format!("CONFIG SET maxmemory {limit}")).text(), "OK");
    let mut session = begin(&server, "YES", "local a = 1\nreturn redis.call('dbsize')", &["0"]);
    for n in 0..100 {
        assert_eq!(other.ask(&format!("SET more:{n} v")).text(), "OK");
    }
    assert_eq!(finish(&mut session).int(), 60_000);
    assert_eq!(other.ask("DBSIZE").int(), 60_100);
}

#[test]
fn others_are_told_that_the_data_is_debugged() {
    for threads in ["1", "2"] {
        let server = Server::larder(&["--threads", threads, "--busy-reply-threshold", "50"]);
        let mut others: Vec<_> = (0..2).map(|_| server.client()).collect();
        let mut session = begin(&server, "SYNC", WRITER, &["2", "k1", "k2"]);
        for other in &mut others {
            assert!(other.ask("GET k1").text().starts_with("BUSY "), "{threads} threads");
            // A round has no end: the session goes on beside it.
            assert_eq!(lines(&session.ask("print")), "No local variables in the current context.");
        }
        assert!(lines(&session.ask("step")).contains("Stopped at 2"));
        assert!(others[0].ask("SCRIPT KILL").text().starts_with("UNKILLABLE "));
        assert!(others[1].ask("GET k1").text().starts_with("BUSY "));
        assert_eq!(finish(&mut session).int(), 1);
        assert_eq!(others[0].ask("MGET k1 k2"), others[1].ask("MGET k1 k2"));
        assert_eq!(others[0].ask("GET k2").text(), "2");
        // One that has not written can be killed, and a loop too.
        for (script, command) in
            [(WRITER, None), ("local a = 1\nwhile true do a = a + 1 end", Some("eval while true do end"))]
        {
            let mut session = begin(&server, "SYNC", script, &["2", "k1", "k2"]);
            if let Some(command) = command {
                session.send(&command.split(' ').collect::<Vec<_>>());
            }
            assert!(others[0].ask("GET k1").text().starts_with("BUSY "));
            assert_eq!(others[1].ask("SCRIPT KILL").text(), "OK");
            let mut last = session.read().expect("the session ends");
            if command.is_some() {
                assert!(lines(&last).starts_with("<error> "), "{last:?}");
                last = session.read().expect("the session ends");
            }
            assert_eq!(lines(&last), "<endsession>");
            let reply = session.read().expect("EVAL is answered").text();
            assert!(reply.starts_with("ERR Script killed by user with SCRIPT KILL."), "{reply}");
            assert!(session.read().is_err());
            assert_eq!(others[0].ask("GET k2").text(), "2");
        }
    }
}

#[test]
fn a_client_that_goes_ends_its_session() {
    let server = Server::larder(&["--threads", "1", "--busy-reply-threshold", "50"]);
    let mut other = server.client();
    // On the data, the script goes on without it.
    drop(begin(&server, "SYNC", WRITER, &["2", "k1", "k2"]));
    let value = (0..).find_map(|_| Some(other.ask("GET k2").text()).filter(|text| !text.starts_with("BUSY")));
    assert_eq!(value.as_deref(), Some("2"));
    // Nobody would see the end of one on a copy.
    for command in ["", "continue", "eval while true do end", "eval coroutine.yield() while true do end"] {
        let mut session = begin(&server, "YES", "local a = 1\nwhile true do a = a + 1 end", &["0"]);
        let words: Vec<_> = command.split(' ').filter(|word| !word.is_empty()).collect();
        if !words.is_empty() {
            session.send(&words);
        }
        drop(session);
    }
    // Nor of one whose client sends without end.
    let mut flood = begin(&server, "YES", "local a = 1\nwhile true do a = a + 1 end", &["0"]);
    flood.send(&["eval", "while", "true", "do", "end"]);
    flood.send(&["x".repeat((1 << 20) + 100)]);
    let ended = |server: &Server| server.log().matches("The debugged script has ended").count();
    while ended(&server) < 5 {
        assert_eq!(other.ask("PING").text(), "PONG");
    }
}

/// A loop that does not end is stopped when it has run for as long as others are made to wait.
#[test]
fn a_loop_is_stopped() {
    let server = Server::larder(&["--threads", "1", "--busy-reply-threshold", "50"]);
    for mode in ["YES", "SYNC"] {
        let mut session = begin(&server, mode, "local a = 1\nwhile true do a = a + 1 end", &["0"]);
        for _ in 0..2 {
            let stopped = lines(&session.ask("continue"));
            assert!(stopped.starts_with("* Stopped at 2, stop reason = timeout reached"), "{stopped}");
        }
        assert!(lines(&session.ask("abort")).contains("<endsession>"));
    }
}

#[test]
fn scripts_are_not_debugged_in_transactions() {
    let server = Server::larder(&["--threads", "1"]);
    for mode in ["YES", "SYNC"] {
        let mut client = server.client();
        client.ask(&format!("SCRIPT DEBUG {mode}"));
        client.ask("MULTI");
        client.ask("EVAL 'return 1' 0");
        let replies = client.ask("EXEC");
        assert_eq!(replies.items()[0].text(), "ERR Scripts cannot be debugged in a transaction");
        assert_eq!(client.ask("PING").text(), "PONG");
    }
}

/// What a client sends at once is read one by one, and a user's rights hold in a session too.
#[test]
fn rights_and_pipelines() {
    let server = Server::larder(&["--threads", "2"]);
    let mut other = server.client();
    other.ask("ACL SETUSER limited on nopass ~a* +@all -set");
    let mut client = server.client();
    client.ask("AUTH limited x");
    client.ask("HELLO 3");
    client.ask("SELECT 2");
    client.ask("SCRIPT DEBUG YES");
    client
        .send_raw(b"EVAL \"local a=1 return {map={db=redis.call('get','a')}}\" 0\r\n*3\r\n$1\r\nr\r\n$3\r\nget\r\n$1\r\nb\r\n")
        .expect("it is connected");
    other.ask("SELECT 2");
    client.read().expect("the first stop");
    assert!(
        lines(&client.read().expect("the first command")).contains("-NOPERM No permissions to access a key")
    );
    assert!(lines(&client.ask("r set a 1")).contains("-NOPERM User limited has no permissions"));
    assert!(format!("{:?}", finish(&mut client)).contains("Map"));
    assert_eq!(other.ask("ACL LOG").items().len(), 0, "it was a copy");
}

/// The client that people debug with.
#[test]
fn valkey_cli() {
    let server = Server::larder(&["--threads", "1"]);
    let script = server.dir().join("script.lua");
    std::fs::write(&script, WRITER).expect("the directory is there");
    let run = |options: &[&str], input: &str| {
        let mut child = Command::new(peer_path("valkey-cli"))
            .args(["-p", &server.port().to_string()])
            .args(options)
            .args(["--eval", &script.display().to_string(), "k1", "k2", ",", "v"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("valkey-cli is there");
        child.stdin.take().expect("it is piped").write_all(input.as_bytes()).expect("it reads");
        String::from_utf8_lossy(&child.wait_with_output().expect("it ends").stdout).into_owned()
    };
    let output = run(&["--ldb"], "step\nprint ARGV\nr get k1\nbreak 4\ncontinue\nprint\ncontinue\n");
    for text in [
        "* Stopped at 1, stop reason = step over",
        "-> 2   local a = 1",
        "<value> {v; }",
        "<reply> \"1\"",
        "* Stopped at 4, stop reason = break point",
        "<value> a = 1",
        "(integer) 1",
        "(Lua debugging session ended",
    ] {
        assert!(output.contains(text), "{text} in {output}");
    }
    assert_eq!(server.client().ask("EXISTS k1 k2").int(), 0);
    let output = run(&["--ldb-sync-mode"], "step\nabort\n");
    assert!(output.contains("script aborted for user request"), "{output}");
    assert_eq!(server.client().ask("EXISTS k1 k2").int(), 1);
}
