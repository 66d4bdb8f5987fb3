//! Which errors are counted, where and as what: INFO errorstats, the total, and the statistics of commands.

use crate::Pair;
use larder_testkit::{Client, Kind, Server};

/// What has been counted since the last time.
fn counted(client: &mut Client) -> Vec<String> {
    let lines = |client: &mut Client, section| client.cmd(&["INFO", section]).text();
    let mut found: Vec<String> = lines(client, "errorstats").lines().skip(1).map(str::to_owned).collect();
    found.extend(
        lines(client, "stats").lines().find(|line| line.starts_with("total_error")).map(str::to_owned),
    );
    let mut commands: Vec<String> = lines(client, "commandstats")
        .lines()
        .filter_map(|line| {
            let (name, figures) = line.split_once(":calls=")?;
            let failures = &figures[figures.find("rejected_calls")?..];
            (failures != "rejected_calls=0,failed_calls=0").then(|| format!("{name} {failures}"))
        })
        .collect();
    commands.sort();
    client.ask("CONFIG RESETSTAT");
    [found, commands].concat()
}

#[test]
fn every_error_is_counted_once() {
    let mut pair = Pair::start(1, &[]);
    let [mut ours, mut theirs] = pair.servers().map(Server::client);
    let mut differences = String::new();
    let steps = [
        "DEBUG ERROR \"FOO bar\"",
        "SET k v",
        "LPUSH k x",
        "GET",
        "NOSUCH",
        "CONFIG NOSUCH",
        "SUBSCRIBE",
        "HELLO 9",
        "EVALSHA xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx 0",
        "XREADGROUP GROUP g c STREAMS none >",
        "AUTH a b",
        "EXEC",
        "MULTI",
        "GET",
        "EXEC",
        "MULTI",
        "LPUSH k x",
        "INCR k",
        "EVAL \"return redis.call('lpush','k','x')\" 0",
        "EVAL \"return {err='FF x'}\" 0",
        "EXEC",
        "EVAL \"return redis.call('lpush','k','x')\" 0",
        "EVAL \"return redis.pcall('lpush','k','x')\" 0",
        "EVAL \"redis.pcall('lpush','k','x') return 1\" 0",
        "EVAL \"return redis.error_reply('MY e')\" 0",
        "EVAL \"return {1,redis.error_reply('MY e'),{{err='ERR deep'}}}\" 0",
        "EVAL \"return 1\" 0",
        "EVAL \"return redis.error_reply('-NEG e')\" 0",
        "EVAL \"return redis.error_reply('lower case')\" 0",
        "EVAL \"return {err='X y'}\" 0",
        "EVAL \"return {err=''}\" 0",
        "EVAL \"return {err='A\\tB c'}\" 0",
        "EVAL \"return {err='-A'}\" 0",
        "EVAL \"error('a b')\" 0",
        "EVAL \"error({err='Q a'})\" 0",
        "EVAL \"return redis.call('nosuch')\" 0",
        "EVAL \"return redis.pcall('get')\" 0",
        "EVAL \"return redis.pcall('debug','a')\" 0",
        "EVAL \"return redis.pcall('eval','return 1','0')\" 0",
        "EVAL xyz( 0",
        "ACL SETUSER u on nopass ~* +@all -get",
        "AUTH u x",
        "GET k",
        "EVAL \"return redis.pcall('get','k')\" 0",
        "EVAL \"return redis.call('get','k')\" 0",
        "AUTH default x",
    ];
    for line in steps {
        differences += &crate::compare(line, &pair.both(&crate::words(line))).unwrap_or_default();
        let (ours, theirs) = (counted(&mut ours), counted(&mut theirs));
        if ours != theirs {
            differences += &format!("> {line}\n  larder: {ours:?}\n  peer:   {theirs:?}\n");
        }
    }
    pair.judge(&differences);
}

/// Errors that end the wait of a client.
#[test]
fn errors_of_clients_that_wait() {
    let found = [Kind::Larder, Kind::Valkey].map(|kind| {
        let server = Server::of(kind, &[]);
        let (mut waits, mut other) = (server.client(), server.client());
        let id = waits.ask("CLIENT ID").int();
        let ask_to_wait = |waits: &mut Client, other: &mut Client, line: &str| {
            counted(other);
            waits.send(&line.split(' ').collect::<Vec<_>>());
            while other.ask(&format!("CLIENT LIST ID {id} FLAGS b")).text().is_empty() {}
        };
        let mut found = Vec::new();
        for reason in ["ERROR", "TIMEOUT"] {
            ask_to_wait(&mut waits, &mut other, "BLPOP none 0");
            other.ask(&format!("CLIENT UNBLOCK {id} {reason}"));
            let reply = waits.read().expect("it is unblocked").to_string();
            // The error of the client that waits counts as one of the command that has ended its wait.
            found.push((reply, counted(&mut other)));
        }
        other.ask("XGROUP CREATE s g $ MKSTREAM");
        ask_to_wait(&mut waits, &mut other, "XREADGROUP GROUP g c BLOCK 0 STREAMS s >");
        other.ask("DEL s");
        found.push((waits.read().expect("it is served").to_string(), counted(&mut other)));
        found
    });
    assert_eq!(found[0], found[1]);
    assert!(found[0][0].1.contains(&"errorstat_UNBLOCKED:count=1".to_owned()));
}

/// Codes that scripts make up are counted together as soon as there are 128; the server's own never are.
#[test]
fn too_many_codes() {
    let mut pair = Pair::start(1, &[]);
    let made_up: Vec<String> = (0..126).map(|n| format!("return {{err='E{n} x'}}")).collect();
    let more = [
        "return {err='E0 x'}",
        "return {err='NEW x'}",
        "return {1,{err='NEWER x'}}",
        "error({err='NEWEST x'})",
        "return {err='no'}",
        "return redis.call('xreadgroup','group','g','c','streams','none','>')",
        "redis.pcall('hello','9')",
        "return {err='WRONGPASS x'}",
    ];
    let mut send = |line: &str| pair.both(&crate::words(line));
    send("CONFIG RESETSTAT");
    send("SET k v");
    for line in ["GET", "LPUSH k x"] {
        send(line);
    }
    let mut run = |scripts: &[&str]| {
        for script in scripts {
            let (ours, theirs) = pair.both(&["EVAL", script, "0"].map(|word| word.as_bytes().to_vec()));
            assert_eq!(ours, theirs, "{script}");
        }
        let (ours, theirs) = pair.both(&crate::words("INFO errorstats"));
        assert_eq!(ours.text(), theirs.text());
        ours.text().lines().skip(1).count()
    };
    let made_up: Vec<&str> = made_up.iter().map(String::as_str).collect();
    assert_eq!(run(&made_up), 128);
    assert_eq!(run(&more[..5]), 129);
    assert_eq!(run(&more), 130);
    pair.both(&crate::words("CONFIG RESETSTAT"));
    let (ours, theirs) = pair.both(&crate::words("INFO errorstats"));
    assert_eq!(ours.text(), theirs.text());
}
