//! Publish and subscribe with several threads: order, limits, and what others see of subscribers.

use larder_testkit::{Client, Server, Value};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Runs a test with each number of threads.
fn with_threads(test: impl Fn(&Server)) {
    for threads in ["1", "2", "4"] {
        test(&Server::larder(&["--threads", threads]));
    }
}

fn info(client: &mut Client, field: &str) -> String {
    let text = client.ask("INFO everything").text();
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{field}:")));
    line.expect("the field exists").to_owned()
}

/// Reads messages until one says so.
fn read_until(client: &mut Client, end: &str) -> Vec<String> {
    let mut texts = Vec::new();
    loop {
        let text = client.read().expect("messages arrive").items()[2].text();
        if text == end {
            return texts;
        }
        texts.push(text);
    }
}

#[test]
fn everybody_hears_all_messages_in_the_same_order() {
    const PUBLISHERS: usize = 3;
    const MESSAGES: usize = 300;
    with_threads(|server| {
        let mut subscribers: Vec<Client> = (0..6).map(|_| server.client()).collect();
        for (at, subscriber) in subscribers.iter_mut().enumerate() {
            if at % 2 == 0 {
                subscriber.ask("HELLO 3");
            }
            subscriber.ask("SUBSCRIBE c");
        }
        thread::scope(|scope| {
            for publisher in 0..PUBLISHERS {
                scope.spawn(move || {
                    let mut client = server.client();
                    // Half of them in one pipeline.
                    (0..MESSAGES / 2)
                        .for_each(|n| client.send(&["PUBLISH", "c", &format!("{publisher} {n}")]));
                    (0..MESSAGES / 2).for_each(|_| assert_eq!(client.read().unwrap(), Value::Int(6)));
                    for n in MESSAGES / 2..MESSAGES {
                        assert_eq!(client.cmd(&["PUBLISH", "c", &format!("{publisher} {n}")]), Value::Int(6));
                    }
                });
            }
        });
        server.client().ask("PUBLISH c end");
        let heard: Vec<_> = subscribers.iter_mut().map(|subscriber| read_until(subscriber, "end")).collect();
        assert!(heard.iter().all(|messages| *messages == heard[0]), "the same for everybody");
        let mut next = BTreeMap::new();
        for message in &heard[0] {
            let (publisher, n) = message.split_once(' ').unwrap();
            let expected = next.entry(publisher).or_insert(0);
            assert_eq!(n.parse::<usize>().unwrap(), *expected, "in the order of the publisher");
            *expected += 1;
        }
        assert_eq!(next.into_values().collect::<Vec<_>>(), [MESSAGES; PUBLISHERS]);
    });
}

#[test]
fn nothing_comes_after_the_end_of_a_subscription() {
    with_threads(|server| {
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut client = server.client();
                while !done.load(Ordering::Relaxed) {
                    client.ask("PUBLISH c x");
                }
            });
            let mut client = server.client();
            for _ in 0..200 {
                client.ask("SUBSCRIBE c");
                client.send(&["UNSUBSCRIBE", "c"]);
                while client.read().unwrap().items()[0].text() != "unsubscribe" {}
                for _ in 0..5 {
                    assert_eq!(client.ask("PING"), Value::Simple("PONG".to_owned()));
                }
            }
            done.store(true, Ordering::Relaxed);
        });
    });
}

#[test]
fn a_subscriber_that_does_not_read_is_cut_off() {
    with_threads(|server| {
        let (mut client, mut reader, mut sleeper) = (server.client(), server.client(), server.client());
        client.cmd(&["CONFIG", "SET", "client-output-buffer-limit", "pubsub 1mb 0 0"]);
        reader.ask("SUBSCRIBE c");
        sleeper.ask("SUBSCRIBE c");
        let payload = "x".repeat(512 << 10);
        // The buffers of the kernel take a part of it.
        let cut = (0..200).any(|_| {
            client.cmd(&["PUBLISH", "c", &payload]);
            reader.read().expect("who reads is not cut off");
            client.ask("PUBSUB NUMSUB c").items()[1] == Value::Int(1)
        });
        assert!(cut, "the memory of the server is bounded");
        assert_eq!(info(&mut client, "client_output_buffer_limit_disconnections"), "1");
    });
}

#[test]
fn what_others_see_of_subscribers() {
    let server = Server::larder(&["--threads", "2"]);
    let (mut client, mut a, mut b) = (server.client(), server.client(), server.client());
    a.cmd(&["SUBSCRIBE", "one", "two"]);
    a.read().unwrap();
    a.ask("PSUBSCRIBE p*");
    b.ask("HELLO 3");
    b.ask("SSUBSCRIBE s");
    assert_eq!(info(&mut client, "pubsub_clients"), "2");
    assert_eq!(info(&mut client, "pubsub_channels"), "2");
    assert_eq!(info(&mut client, "pubsub_patterns"), "1");
    assert_eq!(info(&mut client, "pubsubshard_channels"), "1");
    let list = client.ask("CLIENT LIST TYPE pubsub").text();
    assert_eq!(list.lines().count(), 2);
    assert!(list.contains("flags=P") && list.contains("sub=2 psub=1 ssub=0"), "{list}");
    assert!(list.contains("sub=0 psub=0 ssub=1"), "{list}");
    assert_eq!(client.ask("CLIENT KILL TYPE pubsub"), Value::Int(2));
    assert!(a.read_to_end().is_ok() && b.read_to_end().is_ok());
    client.ask("PING");
    assert_eq!(client.ask("PUBLISH one x"), Value::Int(0));
    assert_eq!(info(&mut client, "pubsub_clients"), "0");
    assert_eq!(info(&mut client, "pubsub_patterns"), "0");
}

#[test]
fn silence_does_not_include_messages() {
    let server = Server::larder(&["--threads", "2"]);
    let (mut client, mut listener) = (server.client(), server.client());
    listener.send(&["CLIENT", "REPLY", "OFF"]);
    listener.send(&["SET", "k", "v"]);
    assert_eq!(listener.ask("SUBSCRIBE c").items()[0].text(), "subscribe");
    assert_eq!(client.ask("PUBLISH c x"), Value::Int(1));
    assert_eq!(listener.read().unwrap().items()[2].text(), "x");
}

#[test]
fn a_publisher_hears_itself_after_the_reply() {
    with_threads(|server| {
        let mut client = server.client();
        client.ask("HELLO 3");
        client.ask("SUBSCRIBE c");
        assert_eq!(client.ask("PUBLISH c x"), Value::Int(1));
        assert!(matches!(client.read().unwrap(), Value::Push(items) if items[2].text() == "x"));
    });
}
