//! Strings of several MB: their connection's buffer goes along with a command that is given away, they are made while no shard is held, and
//! what replies with the old string before it changes it writes that from a clone, after everything else.

use larder_testkit::{Client, Kind, Server, Value, encode, wait_until};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

/// A string that is more than is worked on where clients wait.
fn large() -> String {
    "large ".repeat(1 << 20)
}

/// The words of a command; `LARGE` stands for a large string.
fn large_words(line: &str) -> Vec<String> {
    line.split(' ').map(|word| if word == "LARGE" { large() } else { word.to_owned() }).collect()
}

fn ask_large(client: &mut Client, line: &str) -> Value {
    client.cmd(&large_words(line))
}

/// A large command takes its client's buffer along; what came after it in the same writes is answered after it.
#[test]
fn pipelines_of_large_and_small_commands_are_answered_in_order() {
    let server = Server::larder(&["--threads", "2"]);
    let stream = TcpStream::connect(("127.0.0.1", server.port())).expect("it connects");
    let mut writer = stream.try_clone().expect("a second handle");
    let mut client = Client::over(stream).expect("a client");
    let large = |n: usize| format!("{n} large ").repeat(700_000);
    let rounds = 6;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut requests = Vec::new();
            for n in 0..rounds {
                let (name, value) = (format!("key:{n}"), large(n));
                for command in [
                    &["PING"][..],
                    &["SET", &name, &value],
                    &["STRLEN", &name],
                    &["SET", &name, "short", "GET"],
                    &["MSET", "other", &value, "another", "short"],
                    &["GETDEL", "other"],
                    &["GET", &name],
                ] {
                    encode(&mut requests, command);
                }
            }
            for piece in requests.chunks(3_333_333) {
                writer.write_all(piece).expect("it is sent");
            }
        });
        for n in 0..rounds {
            let value = large(n);
            let expected =
                ["PONG", "OK", &value.len().to_string(), &value, "OK", &value, "short"].map(str::to_owned);
            for (at, expected) in expected.iter().enumerate() {
                let reply = client.read().expect("a reply");
                let text = if let Value::Int(number) = reply { number.to_string() } else { reply.text() };
                assert!(text == *expected, "{at} of {n}: {}", &text[..text.len().min(50)]);
            }
        }
    });
    assert_eq!(client.ask("PING").text(), "PONG");
}

/// Whoever uses a key while a large string is put there comes before or after, and sees a whole string.
#[test]
fn large_strings_are_set_while_others_use_the_key() {
    let server = Server::larder(&["--threads", "2", "--appendonly", "yes"]);
    server.client().ask("SET key short");
    std::thread::scope(|scope| {
        let large = scope.spawn(|| {
            let mut client = server.client();
            for _ in 0..10 {
                assert_eq!(ask_large(&mut client, "SET key LARGE").text(), "OK");
                let old = ask_large(&mut client, "SET key LARGE GET").bytes().len();
                assert!([5, 6 << 20].contains(&old), "{old}");
                assert_eq!(ask_large(&mut client, "SETNX key LARGE").int(), 0);
            }
        });
        let mut client = server.client();
        while !large.is_finished() {
            client.ask("SET key short");
            assert_eq!(client.ask("SETNX key other").int(), 0);
            let len = client.ask("STRLEN key").int();
            assert!([5, 6 << 20].contains(&len), "{len}");
        }
    });
    let mut client = server.client();
    let digest = client.ask("DEBUG DIGEST").text();
    assert_eq!(client.ask("DEBUG LOADAOF").text(), "OK");
    assert_eq!(client.ask("DEBUG DIGEST").text(), digest);
}

/// A reply, short enough to be shown.
fn shown(value: &Value) -> String {
    match value {
        Value::Bulk(bytes) if bytes.len() > 100 => {
            let mut hasher = DefaultHasher::new();
            bytes.hash(&mut hasher);
            format!("{} bytes, {:x}", bytes.len(), hasher.finish())
        }
        Value::Push(items) | Value::Array(items) => {
            format!("{:?}", items.iter().map(shown).collect::<Vec<_>>())
        }
        // What a server tells of itself.
        Value::Map(_) => "a map".to_owned(),
        other => format!("{other:?}"),
    }
}

/// What a client does: `1 ` or `2 ` says which one, and the reply is read; `> ` sends without reading; `< ` reads one more value.
const TALKS: &[&[&str]] = &[
    // What is logged as large, once for each.
    &[
        "1 CONFIG SET commandlog-reply-larger-than 5000000 commandlog-request-larger-than 5000000",
        "1 SET key LARGE",
        "1 GETEX key EX 1000",
        "1 SET key LARGE GET",
        "1 GETSET key LARGE",
        "1 SETRANGE key 8000000 LARGE",
        "1 APPEND key LARGE",
        "1 GETDEL key",
        "1 GETDEL key",
        "1 COMMANDLOG LEN large-reply",
        "1 COMMANDLOG LEN large-request",
    ],
    // Silence, for one command and for all.
    &[
        "1 SET key LARGE",
        "> CLIENT REPLY SKIP",
        "> GETEX key EX 1000",
        "1 PING first",
        "> CLIENT REPLY OFF",
        "> SET key LARGE GET",
        "> GETDEL key",
        "> GETSET key LARGE",
        "1 CLIENT REPLY ON",
        "1 STRLEN key",
        "1 GETDEL key",
    ],
    // Invalidations of what others and what the client itself changes.
    &[
        "1 HELLO 3",
        "1 SET key LARGE",
        "1 CLIENT TRACKING ON",
        "1 GET key",
        "2 GETDEL key",
        "< a push",
        "1 GET key",
        "2 SET key LARGE",
        "< a push",
        "1 GETEX key",
        "2 SETRANGE key 7000000 x",
        "1 GET key",
        "1 SET key LARGE GET",
        "< a push",
        "1 GET key",
        "1 GETDEL key",
        "< a push",
        "1 CLIENT TRACKING OFF",
        "1 CLIENT TRACKING ON OPTIN",
        "1 SET key LARGE",
        "1 CLIENT CACHING YES",
        "1 GETEX key EX 1000",
        "1 CLIENT CACHING YES",
        "1 GET key",
        "2 GETDEL key",
        "< a push",
        "1 CLIENT TRACKING OFF",
        "1 CLIENT TRACKING ON BCAST NOLOOP",
        "1 SET key LARGE",
        "1 GETDEL key",
        "2 SET key LARGE",
        "< a push",
        "2 GETDEL key",
        "< a push",
    ],
    // In a transaction, a script, and what a transaction watches.
    &[
        "1 SET key LARGE",
        "1 MULTI",
        "1 GETEX key EX 1000",
        "1 SET key LARGE GET",
        "1 GETDEL key",
        "1 GETDEL key",
        "1 EXEC",
        "1 SET key LARGE",
        "1 EVAL return{redis.call('getex',KEYS[1]),redis.call('getdel',KEYS[1]),redis.call('set',KEYS[1],ARGV[1],'get')} 1 key LARGE",
        "1 WATCH key",
        "2 GETEX key",
        "1 MULTI",
        "1 GETDEL key",
        "1 EXEC",
        "1 SET key LARGE",
        "1 WATCH key",
        "2 SET key LARGE GET",
        "1 MULTI",
        "1 GETDEL key",
        "1 EXEC",
    ],
    // Events, which tell of the change once.
    &[
        "1 HELLO 3",
        "1 CONFIG SET notify-keyspace-events KEA",
        "1 PSUBSCRIBE __keyevent@0__:*",
        "2 SET key LARGE",
        "< a push",
        "2 GETEX key EX 1000",
        "< a push",
        "2 GETEX key PERSIST",
        "< a push",
        "2 SET key LARGE EX 100 GET",
        "< a push",
        "< a push",
        "2 SET key LARGE XX KEEPTTL",
        "< a push",
        "2 SETRANGE key 9000000 x",
        "< a push",
        "2 GETDEL key",
        "< a push",
        "2 SETRANGE key 9000000 x",
        "< a push",
        "2 GETEX key EXAT 1",
        "< a push",
        "1 PUNSUBSCRIBE",
        "1 PING end",
    ],
    // Commands that wait are logged when that is over.
    &[
        "1 SET key LARGE",
        "> BLPOP list other LARGE 0",
        "2 RPUSH list LARGE",
        "< the element",
        "> BLPOP LARGE 0.01",
        "< nothing",
        "1 MULTI",
        "1 BLPOP LARGE 1",
        "1 EVAL redis.call('get',KEYS[1])redis.call('strlen',KEYS[1])return{redis.call('mget',KEYS[1],KEYS[1])} 1 key",
        "1 GET key",
        "1 EXEC",
    ],
];

/// What the clients are told, in order.
fn talk(server: &Server, lines: &[&str]) -> Vec<String> {
    let mut clients = [(); 2].map(|()| server.client());
    clients.iter_mut().for_each(|client| client.set_timeout(Duration::from_secs(20)));
    let mut heard = Vec::new();
    for line in lines {
        let (who, line) = line.split_at(2);
        let words = large_words(line);
        let client = &mut clients[usize::from(who == "2 ")];
        if who != "< " {
            client.send(&words);
        }
        if who != "> " {
            heard.push(
                client.read().map_or_else(|error| format!("{:?}", error.kind()), |value| shown(&value)),
            );
        }
    }
    heard
}

/// The entries of a log: sizes and commands, sorted, since threads log beside each other.
fn logged(client: &mut Client, name: &str, with_sizes: bool) -> Vec<String> {
    let entries = client.ask(&format!("COMMANDLOG GET 20 {name}"));
    let line = |entry: &Value| {
        let words: Vec<String> = entry.items()[3].items().iter().map(Value::text).collect();
        let size = if with_sizes { entry.items()[2].int() } else { 0 };
        format!("{size}: {}", words.join(" "))
    };
    let mut lines: Vec<String> = entries.items().iter().map(line).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn talks_are_as_elsewhere() {
    let servers = ["1", "2", "4"].map(|threads| Server::larder(&["--threads", threads]));
    for lines in TALKS {
        let theirs = Server::of(Kind::Valkey, &[]);
        let expected = talk(&theirs, lines);
        let logs = ["large-reply", "large-request"];
        // Valkey adds invalidations that were sent since the last command to the size of the next reply.
        let with_sizes = !lines.contains(&"1 CLIENT TRACKING ON");
        let expected_logs = logs.map(|name| logged(&mut theirs.client(), name, with_sizes));
        for ours in &servers {
            let mut client = ours.client();
            client.ask("FLUSHALL");
            client.ask(
                "CONFIG SET commandlog-reply-larger-than 1048576 commandlog-request-larger-than 1048576",
            );
            client.ask("CONFIG SET notify-keyspace-events \"\"");
            for name in logs {
                client.ask(&format!("COMMANDLOG RESET {name}"));
            }
            let heard = talk(ours, lines);
            assert_eq!(heard.len(), expected.len());
            for (at, (ours, theirs)) in heard.iter().zip(&expected).enumerate() {
                assert_eq!(ours, theirs, "value {at} of {lines:?}");
            }
            assert_eq!(logs.map(|name| logged(&mut client, name, with_sizes)), expected_logs, "{lines:?}");
        }
    }
}

/// Holds all shards, says so, and goes on for ever.
const SCRIPT: &str = "redis.call('dbsize') redis.call('publish', 'started', '1') while true do end";

/// Beside a script that holds all shards, a large command is refused and has changed nothing, or has been executed whole, whenever the
/// script begins: also between the two times that it is executed.
#[test]
fn beside_a_busy_script_they_are_whole_or_refused() {
    for threads in ["1", "2", "4"] {
        let server = Server::larder(&["--threads", threads, "--busy-reply-threshold", "20"]);
        let mut watcher = server.client();
        let mut listener = server.client();
        listener.ask("SUBSCRIBE started");
        let mut refused = 0;
        for round in 0..6 {
            let lines = [
                ("GETDEL {a}key", "EXISTS {a}key", [1, 0]),
                ("SET {b}key LARGE GET", "STRLEN {b}key", [5 << 20, 6 << 20]),
                ("GETEX {c}key EX 1000", "EXPIRETIME {c}key", [-1, 0]),
                ("SETRANGE {d}key 9000000 x", "STRLEN {d}key", [5 << 20, 9_000_001]),
                ("SETNX {e}key LARGE", "STRLEN {e}key", [0, 6 << 20]),
                ("APPEND {f}key LARGE", "STRLEN {f}key", [5 << 20, 11 << 20]),
            ];
            let mut clients: Vec<Client> = lines.iter().map(|_| server.client()).collect();
            watcher.ask("FLUSHALL");
            for name in ["{a}key", "{b}key", "{c}key", "{d}key", "{f}key"] {
                watcher.cmd(&["SET", name, &"olds ".repeat(1 << 20)]);
            }
            let mut script = server.client();
            let is_first = round % 2 == 0;
            if is_first {
                script.send(&["EVAL", SCRIPT, "0"]);
                listener.read().expect("it begins");
            }
            clients.iter_mut().zip(lines).for_each(|(client, (line, ..))| client.send(&large_words(line)));
            if !is_first {
                script.send(&["EVAL", SCRIPT, "0"]);
                listener.read().expect("it begins");
            }
            wait_until("the server is busy", || watcher.ask("PING").text().starts_with("BUSY "));
            let replies: Vec<Value> = clients
                .iter_mut()
                .map(|client| client.read().expect("it is answered beside the script"))
                .collect();
            assert_eq!(watcher.ask("SCRIPT KILL").text(), "OK", "{threads}");
            assert!(script.read().expect("it ends").text().contains("Script killed by user"));
            for ((line, question, [before, after]), reply) in lines.iter().zip(replies) {
                let now = watcher.ask(question).int();
                if reply.is_error() {
                    assert!(reply.text().starts_with("BUSY "), "{line}: {reply}");
                    assert_eq!(now, *before, "{threads}, {line}: refused");
                    refused += 1;
                } else if line.starts_with("GETEX") {
                    assert!(now > 0, "{threads}, {line}");
                } else {
                    assert_eq!(now, *after, "{threads}, {line}: {}", shown(&reply));
                }
            }
        }
        assert!(refused >= 12, "{threads}: {refused} of 36 came while the script ran");
    }
}
