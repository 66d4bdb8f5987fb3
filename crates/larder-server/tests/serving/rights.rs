//! The rights of a client that waits are checked when it is served, as they are then. The same on Valkey.

use crate::wait_in;
use larder_testkit::{Kind, Server, words};

/// A command that waits, the change of the user's rules, what would serve the client, and what says what is left.
const CASES: &[(&str, &str, &str, &str)] = &[
    ("BLPOP q 0", "-blpop", "RPUSH q x", "LLEN q"),
    ("BLPOP q 0", "resetkeys", "RPUSH q x", "LLEN q"),
    ("BLPOP q 0", "resetkeys %R~*", "RPUSH q x", "LLEN q"),
    ("BLPOP q 0", "resetkeys ~q", "RPUSH q x", "LLEN q"),
    ("BLPOP q 0", "reset", "RPUSH q x", "LLEN q"),
    ("BLPOP q 0", "-@all", r#"EVAL "return redis.call('rpush', KEYS[1], 'x')" 1 q"#, "LLEN q"),
    ("BLPOP q 0", "off", "RPUSH q x", "LLEN q"),
    ("BLPOP q 0", "nopass", "RPUSH q x", "LLEN q"),
    ("BLMOVE q d LEFT LEFT 0", "resetkeys ~q", "RPUSH q x", "LLEN q"),
    ("BLMOVE q d LEFT LEFT 0", "resetkeys ~q ~d", "RPUSH q x", "LLEN d"),
    ("BRPOPLPUSH q d 0", "-brpoplpush", "RPUSH q x", "LLEN q"),
    ("BLMPOP 0 1 q LEFT", "resetkeys", "RPUSH q x", "LLEN q"),
    ("BZPOPMIN z 0", "-bzpopmin", "ZADD z 1 a", "ZCARD z"),
    ("BZMPOP 0 1 z MIN", "resetkeys", "ZADD z 1 a", "ZCARD z"),
    ("XREAD BLOCK 0 STREAMS s $", "resetkeys", "XADD s 9-9 f v", "XLEN s"),
    ("XREADGROUP GROUP g c BLOCK 0 STREAMS s >", "-xreadgroup", "XADD s 9-9 f v", "XPENDING s g"),
    ("BLPOP q 0", "clearselectors resetkeys (+@all ~q)", "RPUSH q x", "LLEN q"),
];

fn answers(kind: Kind, own: &[&str], push_in_transaction: bool) -> Vec<String> {
    let server = Server::of(kind, own);
    let mut admin = server.client();
    let mut answers = Vec::new();
    for (command, rules, push, left) in CASES {
        for line in [
            "FLUSHALL",
            "ACL SETUSER u reset",
            "ACL SETUSER u on nopass ~* &* +@all",
            "ACL LOG RESET",
            "XGROUP CREATE s g 0 MKSTREAM",
        ] {
            let reply = admin.ask(line);
            assert!(!reply.is_error(), "{line}: {reply}");
        }
        let mut waiting = wait_in(&server, &mut admin, &["AUTH u p"], command);
        assert_eq!(admin.ask(&format!("ACL SETUSER u {rules}")).text(), "OK", "{rules}");
        if push_in_transaction {
            crate::pipeline(&mut admin, &["MULTI", push, "EXEC"]);
        } else {
            admin.cmd(&words(push));
        }
        let reply = waiting.client.read().map_or_else(|error| error.to_string(), |reply| reply.to_string());
        let log = admin.ask("ACL LOG");
        let reason = log.items().first().map(|entry| {
            let words: Vec<String> = entry.items().iter().map(|item| item.text()).collect();
            let of = |name: &str| words.iter().position(|word| word == name).map(|at| words[at + 1].clone());
            format!("{:?} {:?} {:?} {:?}", of("reason"), of("context"), of("object"), of("username"))
        });
        answers.push(format!("{command}, {rules}: {reply}, left {}, log {reason:?}", admin.ask(left)));
    }
    answers
}

#[test]
fn rights_are_checked_when_a_client_is_served() {
    for in_transaction in [false, true] {
        let expected = answers(Kind::Valkey, &[], in_transaction);
        for threads in ["1", "3"] {
            let found = answers(Kind::Larder, &["--threads", threads], in_transaction);
            for (found, wanted) in found.iter().zip(&expected) {
                assert_eq!(found, wanted, "{threads} threads, transaction: {in_transaction}");
            }
            assert_eq!(found.len(), expected.len());
        }
    }
}
