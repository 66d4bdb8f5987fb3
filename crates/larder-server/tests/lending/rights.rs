//! Clients without the rights to what they want, beside scripts and transactions that lend.

use super::{SPIN, Script, WAIT};
use larder_testkit::{Client, Server};

/// A client that lacks the rights to one of very many keys changes nothing and learns nothing, whether they are arguments, made by SORT, or used by
/// a script that lends; and no key stays reserved.
#[test]
fn clients_without_rights_are_refused_and_nothing_stays_reserved() {
    for threads in ["1", "2", "4"] {
        let server = Server::larder(&["--threads", threads, "--busy-reply-threshold", "600000"]);
        let (mut admin, mut client) = (server.client(), server.client());
        admin.ask("ACL SETUSER u on >p ~own:* %R~read:* +@all -flushall -getdel");
        let own: Vec<String> = (0..6_000).map(|n| format!("own:{n}")).collect();
        let numbers: Vec<String> = (0..6_000).map(|n| n.to_string()).collect();
        let with = |words: &[&str], more: &[String]| -> Vec<String> {
            words.iter().map(|word| (*word).to_owned()).chain(more.iter().cloned()).collect()
        };
        let pairs =
            |value: &str| own.iter().flat_map(|key| [key.clone(), value.to_owned()]).collect::<Vec<_>>();
        admin.cmd(&with(&["MSET", "secret:1", "hidden", "read:1", "shown"], &pairs("1")));
        admin.cmd(&with(&["RPUSH", "own:list"], &numbers));
        let digest = admin.ask("DEBUG DIGEST").text();
        assert_eq!(client.ask("AUTH u p").text(), "OK");
        let lent = |body: &str| {
            vec!["EVAL".to_owned(), format!("{}{body}", SPIN.replace("mine:", "own:")), "0".to_owned()]
        };
        let refused = [
            with(&["EXISTS", "secret:1"], &own),
            with(&["MGET"], &with(&[], &[&own[..], &["secret:1".to_owned()]].concat())),
            with(&["DEL", "secret:1"], &own),
            with(&["UNLINK"], &[&own[..], &["read:1".to_owned()]].concat()),
            with(&["MSET", "secret:1", "2"], &pairs("2")),
            with(&["MSETNX", "read:1", "2"], &pairs("2")),
            words_of("SORT own:list BY nosort GET secret:*"),
            words_of("SORT own:list BY secret:* STORE own:sorted"),
            words_of("SORT own:list BY nosort GET own:* STORE read:sorted"),
            lent("return redis.call('get', 'secret:1')"),
            lent("return redis.call('set', 'read:1', '2')"),
            lent("return redis.call('getdel', 'own:1')"),
            lent("return redis.call('flushall')"),
        ];
        for call in refused {
            let reply = client.cmd(&call);
            let shown = &call[..call.len().min(3)];
            assert!(reply.is_error(), "{shown:?} with {threads} threads: {reply}");
            let text = reply.to_string();
            assert!(text.contains("NOPERM") || text.contains("ACL"), "{shown:?}: {text}");
            assert!(!text.contains("hidden"), "{shown:?} tells: {text}");
            assert_eq!(admin.ask("DEBUG DIGEST").text(), digest, "{shown:?} has changed something");
            // Each of these keys would be waited for if it were reserved.
            assert_eq!(admin.cmd(&with(&["EXISTS", "secret:1", "read:1"], &own)).int(), 6_002);
        }
        // What it has the rights to works.
        assert_eq!(client.cmd(&with(&["EXISTS", "read:1"], &own)).int(), 6_001);
        assert_eq!(client.cmd(&lent("return redis.call('get', 'read:1')")).text(), "shown");
        assert_eq!(client.cmd(&with(&["DEL"], &own)).int(), 6_000);
        assert_eq!(admin.ask("DBSIZE").int(), 3);
    }
}

/// Rights that are changed beside a script or a transaction that lends are those of what its client does next: neither is cut off in the middle.
#[test]
fn rights_do_not_change_in_the_middle() {
    for threads in ["1", "2", "4"] {
        let server = Server::larder(&["--threads", threads, "--busy-reply-threshold", "600000"]);
        let (mut admin, mut client, mut listener) = (server.client(), server.client(), server.client());
        admin.ask("ACL SETUSER u on >p ~* &* +@all");
        let log_in = |client: &mut Client| assert_eq!(client.ask("AUTH u p").text(), "OK");
        let refuses_incr = |client: &mut Client| client.ask("INCR mine:1").to_string().contains("NOPERM");
        log_in(&mut client);

        let mut other = server.client();
        log_in(&mut other);
        let body = format!("redis.call('incr', KEYS[1]) {SPIN}{WAIT} return redis.call('incr', KEYS[1])");
        let script = Script::start_by(other, &server, &body, &["mine:1"]);
        assert_eq!(admin.ask("ACL SETUSER u -incr").text(), "OK");
        assert_eq!(script.end(&server).int(), 2, "with {threads} threads");
        assert!(refuses_incr(&mut client));

        admin.ask("ACL SETUSER u +incr");
        let fill = "for i = 1, 30000 do redis.call('zadd', KEYS[1], i, i) end";
        admin.cmd(&["EVAL", fill, "1", "large"]);
        listener.ask("SUBSCRIBE begun");
        let queue = |client: &mut Client, lines: &[&str]| {
            for line in [&["MULTI"], lines].concat() {
                assert!(!client.ask(line).is_error(), "{line}");
            }
        };
        let long = ["ZUNIONSTORE mine:2 1 large"; 10];
        queue(&mut client, &[&["INCR mine:1", "PUBLISH begun 1"], &long[..], &["INCR mine:1"]].concat());
        client.send(&["EXEC"]);
        listener.read().expect("the transaction has begun");
        assert_eq!(admin.ask("ACL SETUSER u -incr").text(), "OK");
        let reply = client.read().expect("the transaction ends");
        assert_eq!(reply.items().last().expect("all replies").int(), 4, "half of it was refused: {reply}");
        assert!(refuses_incr(&mut client));

        // What waits for its keys has not begun.
        admin.ask("ACL SETUSER u +incr");
        let before = Script::start(&server, &format!("redis.call('get', KEYS[1]) {SPIN}{WAIT}"), &["mine:1"]);
        let mut other = server.client();
        log_in(&mut other);
        queue(&mut client, &["INCR mine:1"]);
        client.send(&["EXEC"]);
        other.send(&["EVAL", "return redis.call('incr', KEYS[1])", "1", "mine:1"]);
        assert_eq!(admin.ask("ACL SETUSER u -incr").text(), "OK");
        before.end(&server);
        let reply = client.read().expect("the transaction ends");
        assert!(reply.items()[0].is_error(), "{reply}");
        assert!(other.read().expect("the script ends").is_error());

        // What has been queued with other rights is refused, and what a transaction itself changes is for the rest of it.
        admin.ask("ACL SETUSER u +incr");
        queue(&mut client, &["INCR mine:1", "GET mine:1"]);
        admin.ask("ACL SETUSER u -incr");
        let reply = client.ask("EXEC");
        assert!(reply.items()[0].is_error() && reply.items()[1].text() == "4", "{reply}");
        admin.ask("ACL SETUSER u +incr");
        queue(&mut client, &["INCR mine:1", "ACL SETUSER u -incr", "INCR mine:1", "GET mine:1"]);
        let reply = client.ask("EXEC");
        assert!(reply.items()[2].is_error() && reply.items()[3].text() == "5", "{reply}");
    }
}

fn words_of(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}
