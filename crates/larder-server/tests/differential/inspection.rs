//! What commands say that look into the server: sizes of values, hits, memory, and why a target cannot be reached.

use super::run_script;
use larder_testkit::{Client, Kind, Server};

/// A number after `name:` in DEBUG OBJECT.
fn number(text: &str, name: &str) -> Option<usize> {
    text.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix(':')?.parse().ok())
}

/// `serializedlength` is how long the value is in DUMP. Lists in one piece have no fields of quicklists.
#[test]
fn lengths_of_serialized_values() {
    let tables = [Kind::Larder, Kind::Valkey].map(|kind| {
        let server = Server::of(kind, &["--enable-debug-command", "yes"]);
        let mut client = server.client();
        for line in [
            format!("SET run {}", "x".repeat(100)),
            "SET plain abcdef".to_owned(),
            "SET number 1234".to_owned(),
            format!("SADD ints {}", (0..100).map(|n| n.to_string()).collect::<Vec<_>>().join(" ")),
            "SADD words a b c".to_owned(),
            "RPUSH list 1 2 3".to_owned(),
            format!("RPUSH nodes {}", format!("{} ", "y".repeat(3000)).repeat(20).trim()),
            "HSET hash f v".to_owned(),
            "ZADD zset 1 a 2 b".to_owned(),
        ] {
            client.ask(&line);
        }
        let keys = ["run", "plain", "number", "ints", "words", "list", "nodes", "hash", "zset"];
        keys.map(|key| {
            let text = client.cmd(&["DEBUG", "OBJECT", key]).text();
            let length = number(&text, "serializedlength").expect("a length");
            let dumped = client.cmd(&["DUMP", key]).bytes().len() - 11;
            assert!(length.abs_diff(dumped) <= 2, "{} {key}: {length}, and {dumped} in DUMP", kind.name());
            let fast = client.cmd(&["DEBUG", "OBJECT", key, "FAST"]).text();
            assert_eq!(number(&fast, "serializedlength"), None, "{}", kind.name());
            (key, number(&text, "ql_nodes").is_some())
        })
    });
    let [ours, theirs] = tables;
    assert_eq!(ours, theirs);
}

fn stat(client: &mut Client, name: &str) -> i64 {
    let info = client.ask("INFO stats").text();
    let line = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.expect("it is shown").parse().expect("a number")
}

/// Commands that look a key up twice count one hit or miss.
#[test]
fn hits_and_misses_of_hash_commands() {
    let tables = [Kind::Larder, Kind::Valkey].map(|kind| {
        let server = Server::of(kind, &[]);
        let mut client = server.client();
        let mut counts = Vec::new();
        for line in [
            "HSET h f 1 g 2",
            "HGETEX h FIELDS 1 f",
            "HGETEX h EX 100 FIELDS 1 f",
            "HGETEX h PERSIST FIELDS 2 f nosuch",
            "HGETEX none FIELDS 1 f",
            "HGETEX none EX 100 FIELDS 1 f",
            "HTTL h FIELDS 1 f",
            "HGETDEL h FIELDS 1 f",
            "HGETDEL none FIELDS 1 f",
        ] {
            let before = ["keyspace_hits", "keyspace_misses"].map(|name| stat(&mut client, name));
            client.ask(line);
            let after = ["keyspace_hits", "keyspace_misses"].map(|name| stat(&mut client, name));
            counts.push(format!("{line}: {} hits, {} misses", after[0] - before[0], after[1] - before[1]));
        }
        counts
    });
    let [ours, theirs] = tables;
    assert_eq!(ours, theirs);
}

/// The allocator's own report, and sizes of keys that are no more than a few times those of Valkey in a server that is empty.
#[test]
fn memory_is_that_of_the_allocator() {
    let sizes = [Kind::Larder, Kind::Valkey].map(|kind| {
        let server = Server::of(kind, &[]);
        let mut client = server.client();
        assert!(client.ask("MEMORY MALLOC-STATS").text().contains("jemalloc"), "{}", kind.name());
        client.ask("SET test 1234");
        client.ask("RPUSH list a b c");
        client.ask("HSET hash f v");
        ["test", "list", "hash"].map(|key| client.cmd(&["MEMORY", "USAGE", key]).int())
    });
    let [ours, theirs] = sizes;
    assert!(ours.iter().zip(&theirs).all(|(ours, theirs)| ours <= &(theirs * 2)), "{ours:?} {theirs:?}");
}

/// A target that refuses is found out while writing; one that there is no way to is not connected to.
#[test]
fn targets_that_cannot_be_reached() {
    run_script(
        r#"
        SET k v
        MIGRATE 127.0.0.1 1 k 0 100
        MIGRATE 255.255.255.255 6379 k 0 100
        MIGRATE 127.0.0.1 1 none 0 100
        EXISTS k
        "#,
        &[],
    );
}
