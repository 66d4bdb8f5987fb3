//! Every way to close a client that waits, and every way to wait: when the closing command has replied, the client is served
//! nothing. The same commands on Valkey.

use crate::{pipeline, wait_in};
use larder_testkit::{Client, Kind, Server, Value};

/// How a client waits.
struct Wait {
    command: &'static str,
    before: &'static [&'static str],
    /// What would serve it.
    push: &'static str,
    /// What says whether it was served, and the answer if it was not.
    left: (&'static str, &'static str),
}

const fn pop(command: &'static str) -> Wait {
    Wait { command, before: &[], push: "RPUSH q x", left: ("LLEN q", "1") }
}

const WAITS: &[Wait] = &[
    pop("BLPOP q 0"),
    pop("BRPOP other q 0"),
    pop("BLMPOP 0 2 other q LEFT COUNT 3"),
    pop("BLMOVE q d LEFT LEFT 0"),
    pop("BRPOPLPUSH q d 0"),
    Wait { command: "BZPOPMIN z 0", before: &[], push: "ZADD z 1 m", left: ("ZCARD z", "1") },
    Wait { command: "BZPOPMAX z 0", before: &[], push: "ZADD z 1 m", left: ("ZCARD z", "1") },
    Wait { command: "BZMPOP 0 1 z MIN", before: &[], push: "ZADD z 1 m", left: ("ZCARD z", "1") },
    Wait {
        command: "XREADGROUP GROUP g c BLOCK 0 STREAMS s >",
        before: &["XGROUP CREATE s g $ MKSTREAM"],
        push: "XADD s 5-5 f v",
        left: ("XINFO STREAM s FULL COUNT 1", "pel-count :0"),
    },
    Wait {
        command: "SUBSCRIBE c",
        before: &[],
        push: "PUBLISH c message",
        left: ("PUBSUB NUMSUB c", "c :0"),
    },
    Wait { command: "PSUBSCRIBE c*", before: &[], push: "PUBLISH c message", left: ("PUBSUB NUMPAT", "0") },
    Wait {
        command: "SSUBSCRIBE c",
        before: &[],
        push: "SPUBLISH c message",
        left: ("PUBSUB SHARDNUMSUB c", "c :0"),
    },
];

/// How it is closed: the command, in which `{id}`, `{addr}` and `{laddr}` stand for the client's.
const WAYS: &[&str] = &[
    "CLIENT KILL {addr}",
    "CLIENT KILL ID {id}",
    "CLIENT KILL ADDR {addr}",
    "CLIENT KILL LADDR {laddr} SKIPME yes",
    "CLIENT KILL USER u",
    "CLIENT KILL TYPE normal SKIPME yes",
    "CLIENT KILL TYPE pubsub",
    "CLIENT KILL NAME n",
    "ACL DELUSER u",
    "REPLICAOF 127.0.0.1 1",
];

/// How the commands come: in a transaction, in one piece, or one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Together {
    Multi,
    Pipeline,
    Apart,
}

fn run(client: &mut Client, together: Together, lines: &[&str]) -> Vec<Value> {
    match together {
        Together::Multi => {
            let queued = [&["MULTI"], lines, &["EXEC"]].concat();
            let replies = pipeline(client, &queued);
            replies.last().expect("EXEC has a reply").items().to_vec()
        }
        Together::Pipeline => pipeline(client, lines),
        Together::Apart => lines.iter().map(|line| client.ask(line)).collect(),
    }
}

/// Whether a way closes a client that waits in this manner at all: subscribers and the others are of two types, and a replica
/// keeps its subscribers.
fn closes(way: &str, wait: &Wait) -> bool {
    let subscribes = wait.command.contains("SUBSCRIBE");
    match way {
        "CLIENT KILL TYPE normal SKIPME yes" | "REPLICAOF 127.0.0.1 1" => !subscribes,
        "CLIENT KILL TYPE pubsub" => subscribes,
        _ => true,
    }
}

/// What the closing command and the one after it have said, and what is left.
fn cell(server: &Server, admin: &mut Client, way: &str, wait: &Wait, together: Together) -> String {
    for line in ["FLUSHALL", "ACL SETUSER u on nopass ~* &* +@all"].iter().chain(wait.before) {
        let reply = admin.ask(line);
        assert!(!reply.is_error(), "{line}: {reply}");
    }
    let before = ["AUTH u p", "CLIENT SETNAME n"];
    let mut waiting = if wait.command.contains("SUBSCRIBE") {
        let mut client = server.client();
        for line in before {
            assert_eq!(client.ask(line).text(), "OK");
        }
        let id = client.ask("CLIENT ID").int();
        client.ask(wait.command);
        crate::Waiting { client, id }
    } else {
        wait_in(server, admin, &before, wait.command)
    };
    let list = admin.ask(&format!("CLIENT LIST ID {}", waiting.id)).text();
    let word = |name: &str| {
        let value = list.split(' ').find_map(|word| word.strip_prefix(name));
        value.unwrap_or_else(|| panic!("{name} is in {list}")).to_owned()
    };
    let way = way
        .replace("{id}", &waiting.id.to_string())
        .replace("{addr}", &word("addr="))
        .replace("{laddr}", &word("laddr="));
    // A replica takes no writes but those of its primary.
    let push = if way.starts_with("REPLICAOF") { "REPLICAOF NO ONE" } else { wait.push };
    let mut replies = run(admin, together, &[&way, push]);
    if push != wait.push {
        replies.push(admin.ask(wait.push));
    }
    let left = admin.ask(wait.left.0).to_string();
    assert!(waiting.client.read_to_end().is_ok(), "{way}: the connection is closed");
    let is_left = left.replace('"', "").contains(wait.left.1);
    assert!(
        admin.ask(&format!("CLIENT LIST ID {}", waiting.id)).text().is_empty(),
        "{way}: it is in no list"
    );
    format!("{replies:?}, left {is_left}")
}

fn table(kind: Kind, own: &[&str]) -> Vec<(String, String)> {
    let server = Server::of(kind, own);
    let mut admin = server.client();
    let mut cells = Vec::new();
    for way in WAYS {
        for wait in WAITS.iter().filter(|wait| closes(way, wait)) {
            for together in [Together::Multi, Together::Pipeline, Together::Apart] {
                // In a transaction a replica is none again before it closes its clients.
                if way.starts_with("REPLICAOF") && together == Together::Multi {
                    continue;
                }
                let name = format!("{way}, {}, {together:?}", wait.command);
                cells.push((name, cell(&server, &mut admin, way, wait, together)));
            }
        }
    }
    cells
}

#[test]
fn a_closed_client_is_served_nothing() {
    let expected = table(Kind::Valkey, &[]);
    for threads in ["1", "3"] {
        let cells = table(Kind::Larder, &["--threads", threads]);
        assert_eq!(cells.len(), expected.len());
        for ((name, found), (_, wanted)) in cells.iter().zip(&expected) {
            if name.starts_with("ACL DELUSER") {
                // Valkey closes the client only later: what comes meanwhile is lost.
                assert!(found.ends_with("left true"), "{threads} threads, {name}: {found}");
            } else {
                assert_eq!(found, wanted, "{threads} threads, {name}");
                assert!(found.ends_with("left true"), "{threads} threads, {name}: {found}");
            }
        }
    }
}

/// What a client has sent after the command in which it waits is not executed once it is being closed.
#[test]
fn a_closed_client_executes_nothing() {
    for threads in ["1", "4"] {
        let server = Server::larder(&["--threads", threads]);
        let mut admin = server.client();
        for way in ["CLIENT KILL TYPE normal SKIPME yes", "REPLICAOF 127.0.0.1 1"] {
            for _ in 0..20 {
                let mut waiting: Vec<_> = (0..4)
                    .map(|_| {
                        let mut client = server.client();
                        let id = client.ask("CLIENT ID").int();
                        client.send_all(&[
                            &["BLPOP", "none", "0"][..],
                            &["INCR", "n"],
                            &["PUBLISH", "c", "x"],
                        ]);
                        (client, id)
                    })
                    .collect();
                for (_, id) in &waiting {
                    larder_testkit::wait_until("it waits", || crate::is_blocked(&mut admin, *id));
                }
                let mut listener = server.client();
                listener.ask("HELLO 3");
                listener.ask("SUBSCRIBE c");
                assert!(!admin.ask(way).is_error());
                if way.starts_with("REPLICAOF") {
                    assert_eq!(admin.ask("REPLICAOF NO ONE").text(), "OK");
                }
                for (client, _) in &mut waiting {
                    let rest = client.read_to_end().expect("it is closed");
                    assert!(rest.is_empty() || rest.starts_with(b"-UNBLOCKED"), "{}", rest.escape_ascii());
                    assert!(!rest.contains(&b':'), "{}", rest.escape_ascii());
                }
                assert_eq!(admin.ask("EXISTS n").int(), 0, "{threads} threads, {way}");
                assert_eq!(listener.ask("PING").text(), "PONG", "no message came before it");
            }
        }
    }
}

/// A client that is closed because all together hold too much memory is out of its queue as well.
#[test]
fn an_evicted_client_is_served_nothing() {
    let server = Server::larder(&["--threads", "2"]);
    let mut admin = server.client();
    for _ in 0..10 {
        admin.ask("DEL q");
        let big = "x".repeat(1_000_000);
        let mut waiting = server.client();
        let id = waiting.ask("CLIENT ID").int();
        waiting.send(&["BLPOP", "q", "0"]);
        larder_testkit::wait_until("it waits", || crate::is_blocked(&mut admin, id));
        // It holds a command that has not come in full.
        waiting
            .send_raw(format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$2000000\r\n{big}").as_bytes())
            .expect("it takes it");
        larder_testkit::wait_until("it holds much", || {
            let list = admin.ask(&format!("CLIENT LIST ID {id}")).text();
            let memory = list.split(' ').find_map(|word| word.strip_prefix("tot-mem="));
            memory.is_some_and(|bytes| bytes.parse().is_ok_and(|bytes: u64| bytes > 900_000))
        });
        let replies = pipeline(&mut admin, &["CONFIG SET maxmemory-clients 500kb", "RPUSH q x", "LLEN q"]);
        assert_eq!(replies[0].text(), "OK");
        // It may still be there when the element comes; then it has it, or nobody.
        larder_testkit::wait_until("it is closed", || {
            admin.ask(&format!("CLIENT LIST ID {id}")).text().is_empty()
        });
        let got = waiting.read();
        let left = admin.ask("LLEN q").int();
        assert!(left == 1 || got.is_ok(), "the element is lost");
        assert_eq!(admin.ask("CONFIG SET maxmemory-clients 0").text(), "OK");
    }
}
