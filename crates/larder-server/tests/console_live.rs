//! What the console shows of a running server: its history, commands as they are executed, and messages.

#[path = "common/console.rs"]
mod console;

use console::{AT_MOST, Login, Stage};
use serde_json::{Value, json};
use std::time::Instant;

fn history(login: &Login<'_>, seconds: u64, after: u64) -> Value {
    login.ask("/api/history", &json!({ "seconds": seconds, "after": after })).json()
}

/// Waits until a page that opens for the first time has something to show.
fn wait_for_points(login: &Login<'_>, count: usize) -> Value {
    let begun = Instant::now();
    loop {
        let answer = history(login, 900, 0);
        if answer["points"]["at"].as_array().is_some_and(|at| at.len() >= count) {
            return answer;
        }
        assert!(begun.elapsed() < AT_MOST, "{answer}");
    }
}

fn column(answer: &Value, name: &str) -> Vec<u64> {
    let column = answer["points"][name].as_array().unwrap_or_else(|| panic!("{name}: {answer}"));
    column.iter().filter_map(Value::as_u64).collect()
}

#[test]
fn the_history_begins_with_the_server() {
    let stage = Stage::new(&["--threads", "2"]);
    let mut client = stage.server.client();
    let login = stage.log_in("default", "");
    // The first figures are taken at the start; what comes after them is in the points.
    wait_for_points(&login, 1);
    (0..500).for_each(|n| drop(client.cmd(&["SET", &format!("k:{n}"), "v"])));
    client.ask("GET k:1");
    client.ask("GET missing");
    let begun = Instant::now();
    let answer = loop {
        let answer = history(&login, 900, 0);
        if column(&answer, "hits").iter().sum::<u64>() >= 1 && column(&answer, "keys").last() == Some(&500) {
            break answer;
        }
        assert!(begun.elapsed() < AT_MOST, "{answer}");
    };
    assert_eq!((column(&answer, "misses").iter().sum::<u64>(), answer["step"].as_u64()), (1, Some(2)));
    assert!(column(&answer, "commands").iter().sum::<u64>() >= 502);
    assert!(column(&answer, "used").iter().all(|bytes| *bytes > 100_000));
    assert!(column(&answer, "in").iter().sum::<u64>() > 500 * 20);
    let timed: u64 = answer["latencies"]
        .as_array()
        .expect("rows")
        .iter()
        .flat_map(|rows| rows.as_array().expect("counts"))
        .filter_map(Value::as_u64)
        .sum();
    assert!(timed >= 502, "{answer}");
    let at = column(&answer, "at");
    assert!(at.is_sorted() && at.len() == column(&answer, "span").len());
    let last = *at.last().expect("a point");
    assert!(column(&history(&login, 900, last), "at").iter().all(|at| *at > last));
    assert_eq!(history(&login, 86_400, 0)["step"], 60);
    assert_eq!(history(&login, u64::MAX, u64::MAX)["points"]["at"], json!([]));
}

#[test]
fn the_history_is_for_those_who_may_call_info() {
    let stage = Stage::new(&[]);
    let mut client = stage.server.client();
    client.ask("ACL SETUSER ann on >apple +get ~*");
    let refused = history(&stage.log_in("ann", "apple"), 900, 0);
    assert_eq!(refused["error"], "NOPERM The charts need the right to call INFO");
    assert_eq!(
        client.ask("ACL LOG").items().len(),
        0,
        "a page that asks every two seconds does not fill the log"
    );
}

fn start(login: &Login<'_>, body: &Value) -> Value {
    login.ask("/api/feed/start", body).json()
}

/// Reads a feed until something holds.
fn read_until(login: &Login<'_>, feed: &str, holds: impl Fn(&Value) -> bool) -> Value {
    let begun = Instant::now();
    loop {
        let answer = login.ask("/api/feed/read", &json!({ "feed": feed, "from": 0 })).json();
        if holds(&answer) {
            return answer;
        }
        assert!(begun.elapsed() < AT_MOST, "{answer}");
    }
}

fn lines(answer: &Value) -> Vec<String> {
    let lines = answer["lines"].as_array().unwrap_or_else(|| panic!("{answer}"));
    lines.iter().map(|line| line.as_str().map_or_else(|| line.to_string(), str::to_owned)).collect()
}

#[test]
fn commands_are_shown_and_counted() {
    let stage = Stage::new(&["--threads", "2"]);
    let mut client = stage.server.client();
    let login = stage.log_in("default", "");
    let begun = start(&login, &json!({ "feed": "commands" }));
    assert_eq!(begun["state"], "on", "{begun}");
    for n in 0..50 {
        client.cmd(&["SET", &format!("key:{}", n % 5), "v"]);
        client.cmd(&["GET", "key:1"]);
        client.cmd(&["PING", "hello"]);
    }
    client.cmd(&[&b"SET"[..], b"\xff\0\"q", &[b'x'; 100_000]]);
    let answer = read_until(&login, "commands", |answer| answer["next"].as_u64() >= Some(151));
    let all = lines(&answer);
    assert_eq!(all.iter().filter(|line| line.ends_with("\"GET\" \"key:1\"")).count(), 50);
    assert!(all.iter().all(|line| line.len() < 4096), "lines are cut");
    assert_eq!(answer["keys"][0], json!(["key:1", 60]));
    assert!(
        answer["keys"].as_array().expect("keys").contains(&json!([{ "hex": "ff002271" }, 1])),
        "{}",
        answer["keys"]
    );
    assert!(
        answer["commands"].as_array().expect("commands").contains(&json!(["GET", 50])),
        "{}",
        answer["commands"]
    );
    // The console's own commands are not among them.
    login.line("GET own");
    client.ask("GET last");
    let answer =
        read_until(&login, "commands", |answer| lines(answer).iter().any(|line| line.contains("last")));
    assert!(!lines(&answer).iter().any(|line| line.contains("own")));
    let next = answer["next"].as_u64().expect("a number");
    let newer = login.ask("/api/feed/read", &json!({ "feed": "commands", "from": next })).json();
    assert_eq!(newer["lines"], json!([]));
    login.ask("/api/feed/end", &json!({ "feed": "commands" }));
    assert_eq!(read_until(&login, "commands", |_| true)["state"], "off");
    while client.ask("CLIENT LIST").text().lines().count() > 2 {}
}

/// However much there is to see, little is kept, and what is missed is said.
#[test]
fn a_flood_is_bounded() {
    let stage = Stage::new(&["--threads", "2"]);
    let mut client = stage.server.client();
    let login = stage.log_in("default", "");
    start(&login, &json!({ "feed": "commands" }));
    start(&login, &json!({ "feed": "channels", "patterns": ["*"] }));
    let payload = "x".repeat(50_000);
    for _ in 0..20 {
        for n in 0..100 {
            client.send(&["PUBLISH", &format!("channel{n}"), &payload]);
        }
        (0..100).for_each(|_| drop(client.read()));
    }
    let commands = read_until(&login, "commands", |answer| {
        answer["next"].as_u64().unwrap_or_default() + answer["missed"].as_u64().unwrap_or_default() >= 2000
    });
    let bytes: usize = lines(&commands).iter().map(String::len).sum();
    assert!(lines(&commands).len() <= 1000 && bytes <= 600_000, "{bytes}");
    let messages = login.ask("/api/feed/read", &json!({ "feed": "channels", "from": 0 })).json();
    assert!(messages.to_string().len() < 700_000);
    assert_eq!(stage.server.client().ask("PING").text(), "PONG");
}

#[test]
fn messages_of_channels_are_shown() {
    let stage = Stage::new(&["--threads", "2"]);
    let mut client = stage.server.client();
    let login = stage.log_in("default", "");
    let begun = start(&login, &json!({ "feed": "channels", "channels": ["news"], "patterns": ["chat:*"] }));
    assert_eq!(begun["state"], "on", "{begun}");
    assert_eq!(client.ask("PUBLISH news one").int(), 1);
    assert_eq!(client.ask("PUBLISH chat:1 two").int(), 1);
    assert_eq!(client.ask("PUBLISH other three").int(), 0);
    client.cmd(&[&b"PUBLISH"[..], b"news", b"\xff<script>"]);
    let answer = read_until(&login, "channels", |answer| answer["next"] == 3);
    let messages = answer["lines"].as_array().expect("lines");
    let facts = |at: usize| {
        (messages[at]["kind"].clone(), messages[at]["channel"].clone(), messages[at]["payload"].clone())
    };
    assert_eq!(facts(0), (json!("message"), json!("news"), json!("one")));
    assert_eq!(facts(1), (json!("pmessage"), json!("chat:1"), json!("two")));
    assert_eq!(messages[2]["bytes"], 9);
    // Another start takes the place of the first.
    start(&login, &json!({ "feed": "channels", "channels": ["other"] }));
    assert_eq!(client.ask("PUBLISH news one").int(), 0);
    login.ask("/api/logout", &json!({}));
    let begun = Instant::now();
    while client.ask("PUBSUB NUMSUB other").items()[1].int() != 0 {
        assert!(begun.elapsed() < AT_MOST);
    }
}

#[test]
fn listening_needs_rights_and_ends_with_them() {
    let stage = Stage::new(&[]);
    let mut client = stage.server.client();
    client.ask("ACL SETUSER ann on >apple +get ~*");
    client.ask("ACL SETUSER bob on >berry +subscribe +psubscribe &news");
    let ann = stage.log_in("ann", "apple");
    let refused = start(&ann, &json!({ "feed": "commands" }));
    assert!(refused["error"].as_str().is_some_and(|error| error.starts_with("NOPERM ")), "{refused}");
    let bob = stage.log_in("bob", "berry");
    assert_eq!(start(&bob, &json!({ "feed": "channels", "channels": ["news"] }))["state"], "on");
    let refused = start(&bob, &json!({ "feed": "channels", "channels": ["news", "secret"] }));
    assert!(refused["error"].as_str().is_some_and(|error| error.starts_with("NOPERM ")), "{refused}");
    assert_eq!(start(&bob, &json!({ "feed": "channels", "channels": ["news"] }))["state"], "on");
    client.ask("ACL SETUSER bob resetchannels");
    let begun = Instant::now();
    while client.ask("PUBSUB NUMSUB news").items()[1].int() != 0 {
        assert!(begun.elapsed() < AT_MOST);
    }
    let all: Vec<Login<'_>> = (0..9).map(|_| stage.log_in("default", "")).collect();
    let states: Vec<Value> = all.iter().map(|login| start(login, &json!({ "feed": "commands" }))).collect();
    assert_eq!(states.iter().filter(|answer| answer["state"] == "on").count(), 8);
    assert_eq!(states[8]["error"], "ERR Too many consoles listen already");
    client.ask("CLIENT KILL TYPE normal SKIPME yes");
    let begun = Instant::now();
    while all[0].ask("/api/me", &json!({})).status == 200 {
        assert!(begun.elapsed() < AT_MOST);
    }
}
