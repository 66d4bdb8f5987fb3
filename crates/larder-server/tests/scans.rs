//! COUNT of the scanning commands: a step returns as many elements as were asked for, at every size. Queues page through
//! their jobs this way.

use larder_testkit::{Client, Server, words};
use std::collections::HashSet;

/// A step ends with a whole group of elements whose hashes begin alike: by how many it may be more than was asked for. How large groups are
/// is chance; 3 more were seen once in some hundred runs.
const MORE_MAX: usize = 9;

/// A whole scan: the elements of each step, where an element is `width` items of the reply.
fn steps(client: &mut Client, scan: &str, count: usize, width: usize) -> Vec<Vec<Vec<u8>>> {
    let (mut cursor, mut steps) = ("0".to_owned(), Vec::new());
    loop {
        let reply = client.cmd(&words(&format!("{} COUNT {count}", scan.replace("CURSOR", &cursor))));
        let [next, items] = reply.items() else { panic!("{scan}: {reply:?}") };
        steps.push(items.items().iter().step_by(width).map(|item| item.bytes().to_vec()).collect());
        cursor = next.text();
        if cursor == "0" {
            return steps;
        }
    }
}

#[test]
fn a_step_returns_as_many_elements_as_were_asked_for() {
    let server = Server::larder(&["--threads", "2"]);
    let mut client = server.client();
    let value = "v".repeat(82);
    // What Redis would keep in one piece is returned in one: these sizes, or the length of the elements, are beyond that.
    for (size, ints) in [(72, 200), (600, 600), (1500, 1500)] {
        client.cmd(&["FLUSHALL"]);
        for n in 0..size.max(ints) {
            let (name, number) = (format!("element-{n}-{value}"), n.to_string());
            client.send(&["SADD", "ints", &number]);
            client.send(&["SET", &format!("key-{n}"), "value"]);
            if n < size {
                client.send(&["HSET", "hash", &name, &value]);
                client.send(&["SADD", "set", &name]);
                client.send(&["ZADD", "zset", &number, &name]);
            }
            (0..if n < size { 5 } else { 2 }).for_each(|_| assert!(!client.read().unwrap().is_error()));
        }
        client.cmd(&["SADD", "ints", "not a number"]);
        let scans = [
            ("HSCAN hash CURSOR", 2, size),
            ("SSCAN set CURSOR", 1, size),
            ("SSCAN ints CURSOR", 1, ints + 1),
            ("ZSCAN zset CURSOR", 2, size),
            ("SCAN CURSOR", 1, size.max(ints) + 4),
        ];
        for (scan, width, len) in scans {
            for count in [1, 10, 50, 1000] {
                let steps = steps(&mut client, scan, count, width);
                let (last, full) = steps.split_last().unwrap();
                for step in full {
                    assert!(
                        (count..=count + MORE_MAX).contains(&step.len()),
                        "{scan} COUNT {count} of {len}: {}",
                        step.len()
                    );
                }
                assert!(
                    last.len() <= count + MORE_MAX,
                    "{scan} COUNT {count} of {len}: {} at last",
                    last.len()
                );
                let seen: HashSet<_> = steps.concat().into_iter().collect();
                assert_eq!((seen.len(), steps.concat().len()), (len, len), "{scan} COUNT {count}: each once");
            }
        }
    }
}

/// Steps until a walk that asks two servers in turn ends, and the keys that it has seen.
fn steps_in_turn(servers: [&Server; 2]) -> (usize, Vec<Vec<u8>>) {
    let mut clients = servers.map(Server::client);
    let (mut cursor, mut seen) = ("0".to_owned(), Vec::new());
    for step in 0..50_000 {
        let reply = clients[step % 2].cmd(&["SCAN", &cursor]);
        cursor = reply.items()[0].text();
        seen.extend(reply.items()[1].items().iter().map(|key| key.bytes().to_vec()));
        if cursor == "0" {
            return (step + 1, seen);
        }
    }
    panic!("the walk does not end");
}

/// As behind a proxy that gives each command to another replica.
#[test]
fn a_walk_that_asks_two_servers_in_turn_ends() {
    let start = |args: &[&str]| {
        let server = Server::larder(args);
        server.client().cmd(&["DEBUG", "POPULATE", "1000"]);
        server
    };
    let (one, other) = (start(&[]), start(&[]));
    // About 100 steps each, as in a walk on one server: one step in so many comes upon the end.
    for _ in 0..20 {
        steps_in_turn([&one, &other]);
    }
    let (one, other) = (start(&["--hash-seed", "larder"]), start(&["--hash-seed", "larder"]));
    let (_, seen) = steps_in_turn([&one, &other]);
    let names: HashSet<_> = seen.iter().collect();
    assert_eq!((seen.len(), names.len()), (1000, 1000), "with one hash seed, the cursors are the same");
}
