//! The console over HTTP: who is let in, what is refused, and that what it shows is so.

#[path = "common/console.rs"]
mod console;

use console::{AT_MOST, Answer, Login, Stage, read};
use larder_testkit::Port;
use serde_json::{Value, json};
use std::io::Write;
use std::net::TcpStream;
use std::time::Instant;

/// What only these tests ask of a server and of a login.
trait Requests {
    fn get(&self, head: &str) -> Answer;
}

impl Requests for Stage {
    fn get(&self, head: &str) -> Answer {
        self.send(format!("{head}\r\nConnection: close\r\n\r\n").as_bytes())
    }
}

trait Questions {
    fn is_in(&self) -> bool;
    fn until(&self, what: &str, path: &str, holds: impl Fn(&Value) -> bool) -> Value;
}

impl Questions for Login<'_> {
    fn is_in(&self) -> bool {
        self.ask("/api/me", &json!({})).status == 200
    }

    fn until(&self, what: &str, path: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            let answer = self.ask(path, &json!({})).json();
            if holds(&answer) {
                return answer;
            }
            assert!(begun.elapsed() < AT_MOST, "{what}: {answer}");
        }
    }
}

#[test]
fn users_log_in_and_out() {
    let stage = Stage::new(&["--requirepass", "s3cr3t"]);
    let mut client = stage.server.client();
    client.ask("AUTH s3cr3t");
    client.ask("ACL SETUSER ann on >apple +@all ~*");
    let answer = stage.try_log_in("ann", "apple");
    assert_eq!(answer.status, 200);
    assert_eq!(
        answer.json(),
        json!({ "user": "ann", "databases": 16, "writable": false, "version": env!("CARGO_PKG_VERSION") })
    );
    let port = stage.port.number();
    let cookie = answer.head.lines().find(|line| line.starts_with("set-cookie: ")).expect("a cookie");
    let value = cookie.strip_prefix(&format!("set-cookie: larder-console-{port}=")).expect("its name");
    let (token, rest) = value.split_at(32);
    assert!(token.bytes().all(|digit| digit.is_ascii_hexdigit()), "{token}");
    assert_eq!(rest, "; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200");
    let login = stage.log_in("ann", "apple");
    assert!(!login.cookie.contains(token), "every login has its own");
    assert_eq!(login.line("ACL WHOAMI"), json!("ann"));
    assert!(login.is_in());
    let out = login.ask("/api/logout", &json!({}));
    assert!(out.head.contains("Max-Age=0"), "{out:?}");
    assert!(!login.is_in());
    for cookie in [
        "",
        "larder-console=0",
        &format!("larder-console-{port}=00"),
        &format!("larder-console-{port}={}", "0".repeat(32)),
    ] {
        let login = Login { stage: &stage, cookie: cookie.to_owned() };
        for path in ["me", "logout", "anatomy/look", "anatomy/end", "keys/search", "history"] {
            assert_eq!(login.ask(&format!("/api/{path}"), &json!({})).status, 401, "{cookie} {path}");
        }
        for path in ["feed/start", "feed/read", "feed/end"] {
            let feed = json!({ "feed": "commands" });
            assert_eq!(login.ask(&format!("/api/{path}"), &feed).status, 401, "{cookie} {path}");
        }
        assert_eq!(login.ask("/api/run", &json!({ "commands": [["PING"]] })).status, 401);
    }
}

#[test]
fn wrong_passwords_are_noted_and_have_to_wait() {
    let stage = Stage::new(&[]);
    let mut client = stage.server.client();
    client.ask("ACL SETUSER ann on >apple +@all ~*");
    let failed = stage.try_log_in("ann", "pear");
    assert_eq!((failed.status, failed.cookie()), (403, None));
    let log = client.ask("ACL LOG");
    let text = log.items()[0].to_string();
    assert!(text.contains("\"reason\" \"auth\"") && text.contains("\"username\" \"ann\""), "{text}");
    assert!(text.contains("addr=127.0.0.1:"), "{text}");
    // Another user of the same address, as all have behind a proxy, does not wait.
    client.ask("ACL SETUSER bob on >cherry +@all ~*");
    assert_eq!(stage.try_log_in("bob", "cherry").status, 200);
    // Guesses at once are not even looked at, the right one neither.
    let mut waits = 0;
    for _ in 0..20 {
        let answer = stage.try_log_in("ann", "pear");
        assert!(matches!(answer.status, 403 | 429), "{answer:?}");
        if answer.status == 429 {
            assert!(answer.head.contains("retry-after: "), "{answer:?}");
            waits += 1;
        }
    }
    assert!(waits >= 10, "{waits}");
    let begun = Instant::now();
    while stage.try_log_in("ann", "apple").status != 200 {
        assert!(begun.elapsed() < AT_MOST);
    }
    assert_eq!(
        client.ask("INFO clients").text().matches("connected_clients:3").count(),
        1,
        "failed ones are gone"
    );
}

#[test]
fn a_user_who_is_gone_is_out() {
    let stage = Stage::new(&[]);
    let mut client = stage.server.client();
    client.ask("ACL SETUSER ann on >apple +@all ~*");
    client.ask("ACL SETUSER bob on >pear +@all ~*");
    let (ann, bob, again) =
        (stage.log_in("ann", "apple"), stage.log_in("bob", "pear"), stage.log_in("bob", "pear"));
    client.ask("ACL DELUSER ann");
    assert!(!ann.is_in());
    assert!(bob.is_in());
    let id = bob.line("CLIENT ID");
    assert_eq!(client.ask(&format!("CLIENT KILL ID {id}")).int(), 1);
    let begun = Instant::now();
    while bob.is_in() {
        assert!(begun.elapsed() < AT_MOST);
    }
    assert!(again.is_in());
    client.ask("ACL SETUSER bob -@all +ping");
    assert_eq!(again.line("PING"), json!("PONG"));
    let refused = again.line("GET k");
    assert_eq!(refused["error"], "NOPERM User bob has no permissions to run the 'get' command");
}

#[test]
fn rights_are_those_of_the_user() {
    let stage = Stage::new(&["--console-writable", "yes"]);
    let mut client = stage.server.client();
    client.ask("MSET a:1 x b:1 y");
    client.ask("ACL SETUSER ann on >apple ~a:* +get +set +scan +memory");
    let ann = stage.log_in("ann", "apple");
    assert_eq!(ann.line("GET a:1"), json!("x"));
    assert_eq!(ann.line("SET a:2 z"), json!("OK"));
    assert_eq!(client.ask("GET a:2").text(), "z");
    for line in ["GET b:1", "SET b:1 z", "DEL a:1", "INFO", "CONFIG GET *", "FLUSHALL", "CLIENT LIST"] {
        let error = ann.line(line)["error"].as_str().unwrap_or_default().to_owned();
        assert!(error.starts_with("NOPERM "), "{line}: {error}");
    }
    assert_eq!(client.ask("GET b:1").text(), "y");
    let log = client.ask("ACL LOG").to_string();
    assert!(log.contains("\"username\" \"ann\""), "{log}");
    client.ask("ACL SETUSER eve on >plum +@all -memory ~*");
    let eve = stage.log_in("eve", "plum");
    let answer = eve.ask("/api/anatomy/start", &json!({})).json();
    assert!(answer["result"]["error"].as_str().is_some_and(|error| error.starts_with("NOPERM ")), "{answer}");
}

#[test]
fn nothing_is_changed_unless_that_is_allowed() {
    let stage = Stage::new(&["--enable-debug-command", "yes"]);
    let mut client = stage.server.client();
    client.ask("SET k v");
    let login = stage.log_in("default", "any");
    assert_eq!(login.line("GET k"), json!("v"));
    for line in [
        "SET k w",
        "DEL k",
        "GETDEL k",
        "GETEX k PERSIST",
        "SORT l STORE m",
        "FLUSHALL",
        "CONFIG SET maxmemory 1",
        "CONFIG RESETSTAT",
        "ACL SETUSER eve on",
        "ACL LOG RESET",
        "CLIENT KILL TYPE normal",
        "CLIENT PAUSE 1000",
        "SHUTDOWN NOSAVE",
        "DEBUG SLEEP 1",
        "SAVE",
        "BGREWRITEAOF",
        "REPLICAOF NO ONE",
        "SLOWLOG RESET",
        "SCRIPT FLUSH",
        "FUNCTION FLUSH",
        "PUBLISH c m",
        "MIGRATE h 1 k 0 1",
        "XREADGROUP GROUP g c STREAMS s >",
    ] {
        let error = login.line(line)["error"].as_str().unwrap_or_default().to_owned();
        assert!(error.contains("only reading is allowed here"), "{line}: {error}");
    }
    let script = login.run(&json!(["EVAL", "return redis.call('SET', KEYS[1], 'w')", "1", "k"]));
    assert!(script["error"].as_str().is_some_and(|error| error.contains("only reading")), "{script}");
    let script = login.run(&json!(["EVAL_RO", "return redis.call('SET', KEYS[1], 'w')", "1", "k"]));
    assert!(script["error"].as_str().is_some_and(|error| error.contains("read-only script")), "{script}");
    assert_eq!(login.run(&json!(["EVAL_RO", "return redis.call('GET', KEYS[1])", "1", "k"])), json!("v"));
    assert_eq!(client.ask("GET k").text(), "v");
    for line in [
        "INFO server",
        "CLIENT LIST",
        "SLOWLOG GET",
        "LATENCY HISTOGRAM",
        "CONFIG GET port",
        "MEMORY USAGE k",
        "ACL LOG",
        "ROLE",
    ] {
        assert!(login.line(line).get("error").is_none(), "{line}");
    }
}

#[test]
fn commands_answer_at_once_or_are_refused() {
    let stage = Stage::new(&["--console-writable", "yes"]);
    let login = stage.log_in("default", "");
    for line in [
        "SUBSCRIBE c",
        "MULTI",
        "EXEC",
        "MONITOR",
        "SELECT 1",
        "HELLO 2",
        "AUTH x",
        "RESET",
        "QUIT",
        "CLIENT REPLY OFF",
        "PSYNC ? -1",
    ] {
        let error = login.line(line)["error"].as_str().unwrap_or_default().to_owned();
        assert!(error.ends_with("there is none here"), "{line}: {error}");
    }
    for line in ["BLPOP q 0", "XREAD BLOCK 0 STREAMS s $", "WAIT 1 0", "MEMORY ANATOMY"] {
        let error = login.line(line)["error"].as_str().unwrap_or_default().to_owned();
        assert!(error.starts_with("ERR The command would block"), "{line}: {error}");
    }
    assert_eq!(login.line("RPUSH q a"), json!(1));
    assert_eq!(login.line("BLPOP q 0"), json!(["q", "a"]));
    // Others who wait are served.
    let mut other = stage.server.client();
    other.send(&["BLPOP", "q", "0"]);
    while !login.line("INFO clients").as_str().expect("a text").contains("blocked_clients:1\r") {}
    login.line("RPUSH q b");
    assert_eq!(other.read().expect("it is served").items()[1].text(), "b");
    let answer = login.ask(
        "/api/run",
        &json!({ "db": 3, "commands": [["SET", "k", "v"], ["NOSUCH"], ["GET", "k"], ["CLIENT", "INFO"]] }),
    );
    let replies = answer.json()["replies"].clone();
    assert_eq!((&replies[0], &replies[2]), (&json!("OK"), &json!("v")));
    assert!(
        replies[1]["error"].as_str().is_some_and(|error| error.starts_with("ERR unknown command")),
        "{replies}"
    );
    assert!(
        replies[3].as_str().is_some_and(|info| info.contains("db=3") && info.contains("addr=127.0.0.1:")),
        "{replies}"
    );
    let wrong = login.ask("/api/run", &json!({ "db": 16, "commands": [["GET", "k"]] })).json();
    assert_eq!(wrong["replies"][0]["error"], "ERR DB index is out of range");
    other.ask("SELECT 3");
    assert_eq!(other.ask("GET k").text(), "v");
    login.run(&json!(["SETRANGE", "large", "5000000", "x"]));
    assert_eq!(login.line("GET large")["error"], "ERR The replies are too long for the console");
}

/// What the bus of a cluster answers comes whenever it does: these clients had to be lucky.
#[test]
fn commands_of_the_cluster_are_answered() {
    let stage = Stage::new(&["--cluster-enabled", "yes", "--console-writable", "yes"]);
    let login = stage.log_in("default", "");
    for n in 0..500 {
        let nodes = login.line("CLUSTER NODES");
        assert!(nodes.as_str().is_some_and(|nodes| nodes.contains(" myself,master ")), "{n}: {nodes}");
    }
    assert_eq!(login.line("CLUSTER ADDSLOTSRANGE 0 16383"), json!("OK"));
    assert!(
        login.line("CLUSTER INFO").as_str().is_some_and(|info| info.contains("cluster_slots_assigned:16384"))
    );
}

#[test]
fn what_is_written_is_in_the_log() {
    for policy in ["always", "everysec"] {
        let mut stage =
            Stage::new(&["--console-writable", "yes", "--appendonly", "yes", "--appendfsync", policy]);
        assert_eq!(stage.log_in("default", "").line("SET k v"), json!("OK"));
        stage.server.kill();
        assert!(stage.server.start_again(&["--appendonly", "yes"]));
        assert_eq!(stage.server.client().ask("GET k").text(), "v", "{policy}");
    }
}

#[test]
fn requests_of_others_are_refused() {
    let stage = Stage::new(&["--console-hosts", "console.example"]);
    let page = stage.get("GET / HTTP/1.1\r\nHost: localhost");
    assert_eq!(page.status, 200);
    for header in [
        "content-security-policy: default-src 'none'; script-src 'self';",
        "frame-ancestors 'none'",
        "x-content-type-options: nosniff",
        "x-frame-options: DENY",
        "referrer-policy: no-referrer",
        "cache-control: no-store",
        "content-type: text/html; charset=utf-8",
    ] {
        assert!(page.head.contains(header), "{header}: {}", page.head);
    }
    for (head, status) in [
        ("GET /console.js HTTP/1.1\r\nHost: console.example:9122", 200),
        ("HEAD / HTTP/1.1\r\nHost: 127.0.0.1", 200),
        ("GET /favicon.svg HTTP/1.1\r\nHost: localhost", 200),
        ("GET / HTTP/1.1\r\nHost: evil.example", 403),
        ("GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example", 403),
        ("GET /../console.js HTTP/1.1\r\nHost: localhost", 404),
        ("GET /metrics HTTP/1.1\r\nHost: localhost", 404),
        ("GET /api/me HTTP/1.1\r\nHost: localhost", 405),
        ("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0", 405),
        ("POST /api/me HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0", 415),
        ("POST /api/me HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 0", 415),
        ("SET a b", 400),
    ] {
        assert_eq!(stage.get(head).status, status, "{head}");
    }
    let body = json!({ "user": "default", "password": "" }).to_string();
    for (head, status) in [
        ("Origin: http://localhost\r\n", 200),
        ("Origin: http://evil.example\r\n", 403),
        ("Origin: http://localhost:1\r\n", 403),
        ("Origin: null\r\n", 403),
        ("Sec-Fetch-Site: cross-site\r\n", 403),
        ("Sec-Fetch-Site: same-site\r\n", 403),
    ] {
        let answer = stage.post("/api/login", head, &body);
        assert_eq!((answer.status, answer.cookie().is_some()), (status, status == 200), "{head}");
    }
    let login = stage.log_in("default", "");
    for (path, body) in [
        ("/api/run", json!({})),
        ("/api/run", json!({ "commands": [[]] })),
        ("/api/run", json!({ "commands": [["GET", 1]] })),
        ("/api/run", json!({ "commands": [["GET", { "hex": "x" }]] })),
        ("/api/run", json!({ "commands": "GET" })),
        ("/api/run", json!({ "db": -1, "commands": [] })),
        ("/api/run", json!({ "db": "0", "commands": [] })),
        ("/api/run", json!({ "commands": vec![["PING"]; 65] })),
        ("/api/anatomy/start", json!({ "depth": [] })),
        ("/api/anatomy/start", json!({ "args": [1] })),
        ("/api/keys/search", json!({ "order": "colour" })),
        ("/api/keys/search", json!({ "pattern": 1 })),
        ("/api/keys/search", json!({ "pattern": "x".repeat(5000) })),
        ("/api/keys/search", json!({ "limit": -1 })),
        ("/api/keys/search", json!({ "from": "1" })),
        ("/api/keys/search", json!({ "from": "-1:0" })),
        ("/api/keys/search", json!({ "from": "1:x" })),
        ("/api/keys/branches", json!({ "prefix": "a" })),
        ("/api/keys/branches", json!({ "delimiter": "" })),
        ("/api/history", json!({ "seconds": "1" })),
        ("/api/feed/start", json!({ "feed": "all" })),
        ("/api/feed/start", json!({ "feed": "channels" })),
        ("/api/feed/start", json!({ "feed": "channels", "channels": vec!["x"; 65] })),
        ("/api/feed/read", json!({})),
        ("/api/login", json!({ "user": 1, "password": "" })),
        ("/api/login", json!([])),
    ] {
        assert_eq!(login.ask(path, &body).status, 400, "{path} {body}");
    }
    assert_eq!(login.ask("/api/nothing", &json!({})).status, 404);
    assert_eq!(stage.post("/api/me", "", "{").status, 400);
    assert_eq!(stage.post("/api/me", "", &"[".repeat(100_000)).status, 400);
    assert!(login.is_in());
}

/// Huge and slow requests end, and others are served afterwards.
#[test]
fn huge_and_slow_requests_end() {
    let stage = Stage::new(&[]);
    let login = stage.log_in("default", "");
    let head = format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {}", "x".repeat(1 << 20));
    assert!(matches!(stage.get(&head).status, 0 | 431));
    let body = format!("{{\"commands\":[[\"ECHO\",\"{}\"]]}}", "x".repeat(2 << 20));
    assert!(matches!(
        stage.post("/api/run", &format!("Cookie: {}\r\n", login.cookie), &body).status,
        0 | 413
    ));
    let unsent = "POST /api/me HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n\
                  Content-Length: 1000000000000\r\n\r\n{";
    assert!(matches!(stage.send(unsent.as_bytes()).status, 408 | 413));
    let half = unsent.replace("1000000000000", "100");
    let slow: Vec<TcpStream> = (0..200)
        .map(|n| {
            let mut socket = stage.connect();
            let part = ["", "GET / HTTP/1.1\r\nHost: local", &half][n % 3];
            // It may be closed already.
            let _ = socket.write_all(part.as_bytes());
            socket
        })
        .collect();
    assert_eq!(stage.server.client().ask("PING").text(), "PONG");
    for mut socket in slow {
        assert!(matches!(read(&mut socket).status, 0 | 408));
    }
    assert!(login.is_in());
}

#[test]
fn logins_are_limited() {
    let stage = Stage::new(&[]);
    let all: Vec<Login<'_>> = (0..70).map(|_| stage.log_in("default", "")).collect();
    let still = all.iter().filter(|login| login.is_in()).count();
    assert_eq!(still, 64);
    assert!(all[69].is_in() && !all[0].is_in());
    let mut client = stage.server.client();
    while !client.ask("INFO clients").text().contains("connected_clients:65\r") {}
}

#[test]
fn names_of_any_bytes_come_through() {
    let stage = Stage::new(&[]);
    let mut client = stage.server.client();
    let names: [&[u8]; 6] = [
        b"<img src=x onerror=alert(1)>",
        b"\"quotes\"\\",
        b"line\r\n\0end",
        b"\xff\xfe\x00",
        "\u{202e}txt".as_bytes(),
        b"",
    ];
    for name in names {
        client.cmd(&[b"SET", name, b"v"]);
    }
    let login = stage.log_in("default", "");
    let scan = login.line("SCAN 0 COUNT 100");
    let keys = scan[1].as_array().expect("keys");
    assert_eq!(keys.len(), names.len());
    for key in keys {
        assert_eq!(login.run(&json!(["GET", key])), json!("v"), "{key}");
    }
    assert!(keys.contains(&json!({ "hex": "fffe00" })) && keys.contains(&json!("line\r\n\0end")), "{keys:?}");
}

#[test]
fn the_anatomy_is_that_of_the_command() {
    let stage = Stage::new(&["--threads", "2"]);
    let mut client = stage.server.client();
    let mut bytes = 0;
    for n in 0..2000 {
        client.cmd(&["SET", &format!("user:{n}"), &"x".repeat(n % 200)]);
    }
    for n in 0..2000 {
        bytes += client.cmd(&["MEMORY", "USAGE", &format!("user:{n}")]).int();
    }
    let login = stage.log_in("default", "");
    assert_eq!(login.ask("/api/anatomy/look", &json!({})).json(), json!({ "state": "none" }));
    let begun =
        login.ask("/api/anatomy/start", &json!({ "depth": 2, "pattern": "user:*", "sample": null })).json();
    assert!(begun["state"] == "running" || begun["state"] == "done", "{begun}");
    let answer = login.until("a result", "/api/anatomy/look", |answer| answer["state"] == "done");
    let field = |map: &Value, name: &str| -> Value {
        let pairs = map["map"].as_array().unwrap_or_else(|| panic!("a map: {map}"));
        pairs.iter().find(|pair| pair[0] == name).map(|pair| pair[1].clone()).unwrap_or_default()
    };
    let result = &answer["result"];
    assert_eq!((field(result, "keys"), field(result, "bytes")), (json!(2000), json!(bytes)));
    let patterns = field(result, "patterns");
    assert_eq!(field(&patterns[0], "pattern"), json!("user:*"));
    assert_eq!(field(&patterns[0], "bytes"), json!(bytes));
    assert_eq!(login.ask("/api/anatomy/end", &json!({})).json(), json!({}));
    assert_eq!(login.ask("/api/anatomy/look", &json!({})).json(), json!({ "state": "none" }));
    let wrong = login.ask("/api/anatomy/start", &json!({ "depth": 99 })).json();
    assert_eq!(wrong["result"]["error"], "ERR DEPTH must be between 1 and 16");
}

#[test]
fn metrics_and_the_console_are_served_beside_each_other() {
    let metrics = Port::reserve();
    let stage = Stage::new(&["--metrics-port", &metrics.number().to_string()]);
    let mut socket = TcpStream::connect(("127.0.0.1", metrics.number())).expect("metrics are served");
    socket.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").expect("a request is sent");
    assert_eq!(read(&mut socket).status, 200);
    assert_eq!(stage.get("GET / HTTP/1.1\r\nHost: localhost").status, 200);
}

#[test]
fn the_console_is_served_on_the_addresses_of_console_bind() {
    // 192.0.2.0/24 is nobody's.
    let stage = Stage::new(&["--console-bind", "127.0.0.2 -192.0.2.1"]);
    let port = stage.port.number();
    assert!(TcpStream::connect(("127.0.0.2", port)).is_ok());
    let refused = TcpStream::connect(("127.0.0.1", port)).map_err(|error| error.kind()).err();
    assert_eq!(refused, Some(std::io::ErrorKind::ConnectionRefused));
    let (status, output, _) = larder_testkit::failed_start(
        &larder_testkit::temp_dir(),
        &["--console-bind", "127.0.0.2", "--console-port", &port.to_string()],
    );
    assert_eq!(status, Some(1), "{output}");
    assert!(output.contains(&format!("Could not serve the console on port {port}: ")), "{output}");
}

/// The cookie alone lets no page of another site change anything.
#[test]
fn pages_of_other_sites_change_nothing() {
    let stage = Stage::new(&["--console-writable", "yes"]);
    let login = stage.log_in("default", "");
    let body = json!({ "commands": [["SET", "k", "v"]] }).to_string();
    for line in [
        "Origin: http://evil.example",
        "Origin: null",
        "Sec-Fetch-Site: cross-site",
        "Sec-Fetch-Site: same-site",
    ] {
        for (path, body) in [
            ("/api/run", &*body),
            ("/api/keys/search", "{}"),
            ("/api/feed/start", r#"{"feed":"commands"}"#),
            ("/api/logout", "{}"),
        ] {
            let answer = stage.post(path, &format!("Cookie: {}\r\n{line}\r\n", login.cookie), body);
            assert_eq!(answer.status, 403, "{path} {line}");
        }
    }
    assert!(login.is_in());
    assert_eq!(login.line("EXISTS k"), json!(0));
}

#[test]
fn files_are_sent_compressed_to_browsers_that_take_that() {
    let stage = Stage::new(&[]);
    for (line, packed) in [
        ("Accept-Encoding: gzip, deflate, br", true),
        ("Accept-Encoding: br;q=1, gzip;q=0.5", true),
        ("Accept-Encoding: br, xgzip", false),
        ("Accept-Encoding: gzip;q=0", false),
        ("Accept: */*", false),
    ] {
        let page = stage.get(&format!("HEAD /console.js HTTP/1.1\r\nHost: localhost\r\n{line}"));
        assert_eq!(page.head.contains("content-encoding: gzip"), packed, "{line}");
        assert!(page.head.contains("vary: accept-encoding"), "{line}");
    }
    let plain = stage.get("GET /console.js HTTP/1.1\r\nHost: localhost");
    assert!(plain.body.starts_with("// The page"), "{plain:?}");
}
