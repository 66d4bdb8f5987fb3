//! Searches for keys in the console: complete, bounded, in any order, with the rights of the user, and with no trace on the server.

#[path = "common/console.rs"]
mod console;

use console::{AT_MOST, Login, Stage};
use larder_testkit::Client;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

/// A request with the place to continue at.
fn with_place(body: &Value, from: &Value) -> Value {
    let mut body = body.clone();
    body["from"] = from.clone();
    body
}

/// All answers of a search, one after the other.
fn answers(login: &Login<'_>, path: &str, body: &Value) -> Vec<Value> {
    let begun = Instant::now();
    let mut all = Vec::new();
    let mut from = Value::Null;
    loop {
        let answer = login.ask(path, &with_place(body, &from)).json();
        assert!(answer.get("error").is_none(), "{answer}");
        from = answer["next"].clone();
        all.push(answer);
        if from.is_null() {
            return all;
        }
        assert!(begun.elapsed() < AT_MOST, "a search ends");
    }
}

fn search(login: &Login<'_>, body: &Value) -> Vec<Value> {
    answers(login, "/api/keys/search", body)
}

fn keys_of(answers: &[Value]) -> Vec<Value> {
    answers.iter().flat_map(|answer| answer["keys"].as_array().expect("keys").clone()).collect()
}

fn names_of(answers: &[Value]) -> BTreeSet<String> {
    keys_of(answers).iter().map(|key| key[0].to_string()).collect()
}

fn sum(answers: &[Value], name: &str) -> u64 {
    answers.iter().filter_map(|answer| answer[name].as_u64()).sum()
}

/// Sets keys by whole pipelines.
fn fill(client: &mut Client, names: impl Iterator<Item = String>) {
    let names: Vec<String> = names.collect();
    for part in names.chunks(500) {
        let mut words = vec!["MSET"];
        part.iter().for_each(|name| words.extend([name.as_str(), "value"]));
        client.cmd(&words);
    }
}

#[test]
fn every_key_is_found_once() {
    let stage = Stage::new(&["--threads", "2"]);
    let mut client = stage.server.client();
    fill(&mut client, (0..20_000).map(|n| format!("user:{n}")));
    fill(&mut client, (0..500).map(|n| format!("order:{n}")));
    client.ask("RPUSH queue a b c");
    client.ask("SET expires v EX 1000");
    client.ask("SELECT 3");
    client.ask("SET elsewhere v");
    let login = stage.log_in("default", "");
    let all = search(&login, &json!({}));
    assert_eq!((keys_of(&all).len(), names_of(&all).len()), (20_502, 20_502));
    assert_eq!((sum(&all, "looked"), sum(&all, "matched")), (20_502, 20_502));
    assert_eq!(all[0]["total"], 20_502);
    assert!(all.iter().all(|answer| answer["keys"].as_array().expect("keys").len() <= 500 + 256));
    let orders = search(&login, &json!({ "pattern": "order:*", "limit": 50 }));
    assert_eq!(names_of(&orders).len(), 500);
    assert!(orders.len() >= 2, "a limit ends an answer");
    let lists = search(&login, &json!({ "type": "list" }));
    let list = &keys_of(&lists)[0];
    assert_eq!(
        (&list[0], &list[1], &list[4], &list[5]),
        (&json!("queue"), &json!("list"), &json!(3), &Value::Null)
    );
    let usage = client.ask("SELECT 0").text() == "OK";
    assert!(usage);
    assert_eq!(list[3], client.ask("MEMORY USAGE queue").int());
    let expiring = keys_of(&search(&login, &json!({ "pattern": "expires" })));
    assert!(expiring[0][5].as_u64().is_some_and(|ttl| (900_000..=1_000_000).contains(&ttl)), "{expiring:?}");
    assert_eq!(names_of(&search(&login, &json!({ "db": 3 }))), BTreeSet::from(["\"elsewhere\"".to_owned()]));
    let wrong = login.ask("/api/keys/search", &json!({ "db": 16 })).json();
    assert_eq!(wrong["error"], "ERR DB index is out of range");
}

#[test]
fn an_order_brings_its_first_keys() {
    let stage = Stage::new(&[]);
    let mut client = stage.server.client();
    for n in 0..3000_usize {
        client.cmd(&[
            "SET",
            &format!("key:{n:04}"),
            &"x".repeat(n * 7 % 3000 + 100),
            "EX",
            &(1000 + n).to_string(),
        ]);
    }
    client.ask("SET forever v");
    client.ask("SADD set 1 2 3");
    let login = stage.log_in("default", "");
    let best = |order: &str, descending: bool, value: usize| -> Vec<Value> {
        let all = search(&login, &json!({ "order": order, "descending": descending, "limit": 10 }));
        let mut keys = keys_of(&all);
        let of = |key: &Value| key[value].as_u64().unwrap_or(u64::MAX);
        keys.sort_by(
            |a, b| if value == 0 { a[0].to_string().cmp(&b[0].to_string()) } else { of(a).cmp(&of(b)) },
        );
        if descending {
            keys.reverse();
        }
        keys.truncate(10);
        keys
    };
    let largest = best("bytes", true, 3);
    assert!(largest.iter().all(|key| key[3].as_u64().is_some_and(|bytes| bytes > 3000)), "{largest:?}");
    let last = best("ttl", true, 5);
    assert!(last[0][0] == "forever" || last[0][0] == "set", "{last:?}");
    let soon = best("ttl", false, 5);
    assert_eq!(
        soon.iter().map(|key| key[0].as_str().expect("a name")).collect::<Vec<_>>(),
        (0..10).map(|n| format!("key:{n:04}")).collect::<Vec<_>>()
    );
    assert_eq!(best("name", true, 0)[0][0], "set");
    assert_eq!(best("elements", true, 4)[0][0], "set");
    // What comes after the bound is not sent.
    let bound = largest[9][3].as_u64().expect("bytes");
    let beyond =
        search(&login, &json!({ "order": "bytes", "descending": true, "limit": 10, "bound": bound }));
    assert!(keys_of(&beyond).len() <= 9, "{beyond:?}");
}

/// A search has no state: abandoned searches, searches in between, and invented places change nothing.
#[test]
fn searches_do_not_meet() {
    let stage = Stage::new(&["--threads", "2"]);
    let mut client = stage.server.client();
    fill(&mut client, (0..30_000).map(|n| format!("k:{n}")));
    let login = stage.log_in("default", "");
    let other = stage.log_in("default", "");
    let body = json!({ "pattern": "k:*", "limit": 500 });
    let (mut first, mut second) = (Vec::new(), Vec::new());
    let (mut here, mut there) = (Value::Null, Value::Null);
    let mut is_begun = false;
    while !is_begun || !here.is_null() || !there.is_null() {
        for (login, from, all) in [(&login, &mut here, &mut first), (&other, &mut there, &mut second)] {
            if is_begun && from.is_null() {
                continue;
            }
            let answer = login.ask("/api/keys/search", &with_place(&body, from)).json();
            *from = answer["next"].clone();
            all.push(answer);
            // One that is given up.
            login.ask("/api/keys/search", &json!({ "order": "bytes", "limit": 100 }));
        }
        is_begun = true;
    }
    assert_eq!((names_of(&first).len(), names_of(&second).len()), (30_000, 30_000));
    for from in ["0:18446744073709551615", "255:1", "256:0", "18446744073709551615:0", "7:123456789"] {
        let answer = login.ask("/api/keys/search", &json!({ "from": from })).json();
        assert!(answer["looked"].is_u64(), "{from}: {answer}");
    }
    assert!(client.ask("INFO clients").text().contains("connected_clients:3\r"), "no client stays behind");
}

/// Keys may come and go: what is there all the time is found.
#[test]
fn what_stays_is_found_while_others_come_and_go() {
    let stage = Stage::new(&["--threads", "2"]);
    let mut client = stage.server.client();
    fill(&mut client, (0..10_000).map(|n| format!("stay:{n}")));
    let login = stage.log_in("default", "");
    let mut found = BTreeSet::new();
    let (mut from, mut n) = (Value::Null, 0);
    loop {
        let answer = login
            .ask("/api/keys/search", &with_place(&json!({ "pattern": "stay:*", "limit": 200 }), &from))
            .json();
        found.extend(names_of(std::slice::from_ref(&answer)));
        from = answer["next"].clone();
        if from.is_null() {
            break;
        }
        fill(&mut client, (n..n + 2000).map(|n| format!("come:{n}")));
        n += 2000;
        client.cmd(&["UNLINK", &format!("come:{}", n - 1)]);
    }
    assert_eq!(found.len(), 10_000);
}

#[test]
fn keys_that_the_user_may_not_read_are_hidden() {
    let stage = Stage::new(&[]);
    let mut client = stage.server.client();
    fill(&mut client, (0..1000).map(|n| format!("public:{n}")));
    fill(&mut client, (0..1000).map(|n| format!("secret:{n}")));
    for rules in [
        "ann on >apple ~public:* +scan",
        "wes on >wool %W~secret:* %R~public:* +scan",
        "eve on >elm ~* +@all -scan",
        "sel on >sea -@all (+get ~secret:*) (+scan ~public:*)",
        "dba on >dbs ~* +@all db=1",
    ] {
        client.ask(&format!("ACL SETUSER {rules}"));
    }
    for (user, password) in [("ann", "apple"), ("wes", "wool"), ("sel", "sea")] {
        let login = stage.log_in(user, password);
        let all = search(&login, &json!({}));
        assert_eq!((names_of(&all).len(), sum(&all, "matched")), (1000, 1000), "{user}");
        assert!(names_of(&all).iter().all(|name| name.starts_with("\"public:")), "{user}");
        assert_eq!(sum(&search(&login, &json!({ "pattern": "secret:1" })), "matched"), 0, "{user}");
        let level = answers(&login, "/api/keys/branches", &json!({ "delimiter": ":" }));
        assert_eq!(level[0]["branches"].as_array().map(Vec::len), Some(1), "{user}: {level:?}");
    }
    let eve = stage.log_in("eve", "elm");
    for path in ["/api/keys/search", "/api/keys/branches"] {
        let refused = eve.ask(path, &json!({ "delimiter": ":" })).json();
        let error = refused["error"].as_str().unwrap_or_default();
        assert!(
            error.starts_with("NOPERM User eve has no permissions to run the 'scan' command"),
            "{refused}"
        );
    }
    // Rights that are taken away hold for the next part.
    let ann = stage.log_in("ann", "apple");
    let part = ann.ask("/api/keys/search", &json!({ "limit": 1 })).json();
    assert!(part["next"].is_string());
    client.ask("ACL SETUSER ann resetkeys");
    let rest = search(&ann, &json!({ "from": part["next"] }));
    assert_eq!(sum(&rest, "matched"), 0);
}

#[test]
fn names_of_any_bytes_are_found() {
    let stage = Stage::new(&[]);
    let mut client = stage.server.client();
    let long = "n".repeat(20_000);
    let names: [&[u8]; 6] =
        [b"", b"\xff\xfe\0", b"<img src=x>", b"a\r\nb", "\u{202e}x".as_bytes(), long.as_bytes()];
    for name in names {
        client.cmd(&[b"SET", name, b"v"]);
    }
    let login = stage.log_in("default", "");
    let all = search(&login, &json!({}));
    // The long one is counted, and not shown.
    assert_eq!((keys_of(&all).len(), sum(&all, "matched")), (5, 6));
    assert!(names_of(&all).contains("{\"hex\":\"fffe00\"}"), "{all:?}");
    let binary = search(&login, &json!({ "pattern": { "hex": "ff2a" } }));
    assert_eq!(names_of(&binary).len(), 1);
    let level = answers(
        &login,
        "/api/keys/branches",
        &json!({ "delimiter": { "hex": "fe" }, "prefix": { "hex": "ff" } }),
    );
    assert_eq!(level[0]["branches"][0][0], json!({ "hex": "fe" }));
}

#[test]
fn levels_of_the_tree_are_complete() {
    let stage = Stage::new(&["--threads", "2"]);
    let mut client = stage.server.client();
    fill(
        &mut client,
        (0..5000).map(|n| {
            format!("user:{}:name", n % 2500).replace(":name", if n < 2500 { ":name" } else { ":mail" })
        }),
    );
    fill(&mut client, (0..300).map(|n| format!("flat{n}")));
    client.ask("SET user: v");
    let login = stage.log_in("default", "");
    let level = |prefix: &str| -> (BTreeMap<String, u64>, u64, u64) {
        let all = answers(&login, "/api/keys/branches", &json!({ "delimiter": ":", "prefix": prefix }));
        let mut branches = BTreeMap::new();
        for branch in all.iter().flat_map(|answer| answer["branches"].as_array().expect("branches")) {
            *branches.entry(branch[0].as_str().expect("a name").to_owned()).or_default() +=
                branch[1].as_u64().expect("keys");
        }
        let leaves: usize = all.iter().map(|answer| answer["leaves"].as_array().expect("leaves").len()).sum();
        assert!(
            all.iter().all(|answer| answer["branches"].as_array().expect("branches").len() <= 1000 + 256)
        );
        (branches, sum(&all, "leaf_count"), leaves as u64)
    };
    let (branches, leaf_count, leaves) = level("");
    assert_eq!(branches, BTreeMap::from([("user:".to_owned(), 5001)]));
    assert!(leaf_count == 300 && leaves >= 200, "{leaf_count} {leaves}");
    let (branches, leaf_count, _) = level("user:");
    assert_eq!((branches.len(), leaf_count), (2500, 1));
    assert!(branches.values().all(|keys| *keys == 2));
    let (branches, leaf_count, _) = level("user:7:");
    assert_eq!((branches.len(), leaf_count), (0, 2));
}

/// A script that runs for long keeps its keys: the search says so, and the console is not stuck.
#[test]
fn a_long_script_holds_a_search_up_and_nothing_else() {
    let stage = Stage::new(&["--threads", "2", "--busy-reply-threshold", "100", "--console-writable", "yes"]);
    let mut client = stage.server.client();
    fill(&mut client, (0..2000).map(|n| format!("k:{n}")));
    let login = stage.log_in("default", "");
    client.send(&["EVAL", "for i = 1, 200 do redis.call('GET', KEYS[1]) end while true do end", "1", "k:1"]);
    let mut other = stage.server.client();
    let begun = Instant::now();
    while !other.ask("GET k:1").to_string().contains("BUSY") {
        assert!(begun.elapsed() < AT_MOST);
    }
    let begun = Instant::now();
    let answer = login.ask("/api/keys/search", &json!({})).json();
    assert!(answer["looked"].is_u64() && begun.elapsed() < AT_MOST, "{answer}");
    assert_eq!(login.line("SCRIPT KILL"), json!("OK"));
    client.read().expect("the script is killed");
    assert_eq!(sum(&search(&login, &json!({})), "matched"), 2000);
}

/// A search takes few requests, however many keys there are.
#[test]
fn many_keys_are_searched_soon() {
    let stage = Stage::new(&["--threads", "2"]);
    let mut client = stage.server.client();
    fill(&mut client, (0..300_000).map(|n| format!("small:{n}")));
    fill(&mut client, (0..30).map(|n| format!("big:{n}")));
    let login = stage.log_in("default", "");
    let begun = Instant::now();
    let all = search(&login, &json!({ "pattern": "big:*" }));
    let took = begun.elapsed();
    assert_eq!((names_of(&all).len(), sum(&all, "looked")), (30, 300_030));
    assert!(all.len() < 300, "{} requests", all.len());
    println!("{took:?} for 300,030 keys in {} requests", all.len());
}
