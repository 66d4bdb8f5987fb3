//! CLIENT REPLY OFF and SKIP hold for commands that wait, however their wait ends. The same on Valkey.

use crate::is_blocked;
use larder_testkit::{Kind, Server, wait_until, words};

/// A command that waits, and what ends its wait; nothing: it ends by itself.
const CASES: &[(&str, &str)] = &[
    ("BLPOP q 0", "RPUSH q x"),
    ("BLMOVE q d LEFT LEFT 0", "RPUSH q x"),
    ("BZPOPMIN z 0", "ZADD z 1 a"),
    ("XREAD BLOCK 0 STREAMS s $", "XADD s * f v"),
    ("BLPOP q 0.05", ""),
    ("BLPOP q 0", "CLIENT UNBLOCK {id}"),
    ("BLPOP q 0", "CLIENT UNBLOCK {id} ERROR"),
    ("WAIT 1 50", ""),
    ("WAIT 1 0", "CLIENT UNBLOCK {id}"),
    ("XREADGROUP GROUP g c BLOCK 0 STREAMS s >", "DEL s"),
];

fn answers(kind: Kind, own: &[&str]) -> Vec<String> {
    let server = Server::of(kind, own);
    let mut admin = server.client();
    let mut answers = Vec::new();
    for mode in ["OFF", "SKIP"] {
        for (command, end) in CASES {
            admin.ask("FLUSHALL");
            admin.ask("XGROUP CREATE s g $ MKSTREAM");
            let mut client = server.client();
            let id = client.ask("CLIENT ID").int();
            let mode = words(&format!("CLIENT REPLY {mode}"));
            client.send_all(&[
                &mode[..],
                &words(command)[..],
                &words("CLIENT REPLY ON")[..],
                &words("ECHO end")[..],
            ]);
            if !end.is_empty() {
                wait_until(command, || is_blocked(&mut admin, id));
                assert!(!admin.ask(&end.replace("{id}", &id.to_string())).is_error());
            }
            // What comes up to the answer to the last command.
            let mut replies = Vec::new();
            while replies.last().is_none_or(|last| last != "\"end\"") {
                replies.push(client.read().expect("the client is answered").to_string());
            }
            answers.push(format!("{command}, {end}: {replies:?}"));
        }
    }
    answers
}

#[test]
fn commands_that_wait_keep_silent() {
    let expected = answers(Kind::Valkey, &[]);
    for threads in ["1", "3"] {
        let found = answers(Kind::Larder, &["--threads", threads]);
        for (found, wanted) in found.iter().zip(&expected) {
            assert_eq!(found, wanted, "{threads} threads");
        }
        assert_eq!(found.len(), expected.len());
    }
}

/// Commands that another thread answers, and which Valkey answers at once.
#[test]
fn commands_that_other_threads_answer_keep_silent() {
    let server = Server::larder(&["--threads", "2", "--cluster-enabled", "yes"]);
    for mode in ["OFF", "SKIP"] {
        for command in
            ["CLUSTER NODES", "CLUSTER INFO", "CLUSTER LINKS", "CLUSTER MEET 127.0.0.1 x", "MEMORY ANATOMY"]
        {
            let mut client = server.client();
            let mode = words(&format!("CLIENT REPLY {mode}"));
            client.send_all(&[
                &mode[..],
                &words(command)[..],
                &words("CLIENT REPLY ON")[..],
                &words("ECHO end")[..],
            ]);
            let first = client.read().expect("the client is answered").to_string();
            assert_eq!(first, "+OK", "{command}: this is the answer to CLIENT REPLY ON");
            assert_eq!(client.read().expect("the client is answered").text(), "end", "{command}");
        }
    }
}

/// What a connection receives for these commands, which it sends at once.
fn all_bytes(server: &Server, protocol: &str, lines: &[&str]) -> String {
    let mut client = server.client();
    client.ask(&format!("HELLO {protocol}"));
    let lines: Vec<_> = lines.iter().map(|line| words(line)).collect();
    client.send_all(&lines.iter().map(Vec::as_slice).collect::<Vec<_>>());
    String::from_utf8_lossy(&client.read_to_end().expect("the connection ends")).into_owned()
}

/// Confirmations of subscriptions are no replies, in a transaction neither; and RESET after SKIP is not answered.
#[test]
fn what_is_silent_and_what_is_not() {
    const CASES: &[&[&str]] = &[
        &["CLIENT REPLY OFF", "MULTI", "SUBSCRIBE c d", "GET k", "EXEC", "CLIENT REPLY ON", "QUIT"],
        &["CLIENT REPLY OFF", "MULTI", "SUBSCRIBE c", "UNSUBSCRIBE c", "PSUBSCRIBE p*", "EXEC", "QUIT"],
        &["CLIENT REPLY OFF", "MULTI", "SET k v", "SSUBSCRIBE s", "EXEC", "CLIENT REPLY ON", "PING", "QUIT"],
        &["CLIENT REPLY OFF", "MULTI", "SET k v", "GET k", "EXEC", "CLIENT REPLY ON", "PING", "QUIT"],
        &["CLIENT REPLY OFF", "MULTI", "NOSUCH", "SUBSCRIBE c", "EXEC", "CLIENT REPLY ON", "PING", "QUIT"],
        &["MULTI", "SUBSCRIBE c", "GET k", "EXEC", "PING", "QUIT"],
        &["CLIENT REPLY SKIP", "RESET", "PING", "QUIT"],
        &["CLIENT REPLY OFF", "RESET", "PING", "QUIT"],
        &["CLIENT REPLY SKIP", "MULTI", "PING", "EXEC", "QUIT"],
    ];
    let table = |kind, own: &[&str]| -> Vec<String> {
        let server = Server::of(kind, own);
        let run = |protocol| CASES.iter().map(move |lines| (protocol, *lines));
        let all = run("2").chain(run("3"));
        all.map(|(protocol, lines)| format!("{protocol} {lines:?}: {}", all_bytes(&server, protocol, lines)))
            .collect()
    };
    let wanted = table(Kind::Valkey, &[]);
    for threads in ["1", "3"] {
        let found = table(Kind::Larder, &["--threads", threads]);
        for (found, wanted) in found.iter().zip(&wanted) {
            assert_eq!(found, wanted, "{threads} threads");
        }
    }
}
