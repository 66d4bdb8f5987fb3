//! Primaries that do not know PSYNC, and what a replica that has no history asks for.

use crate::{follow, info, start, wait_for_link, wait_until};
use larder_testkit::{Client, Kind, Server, Value, wait_until_rewritten};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};

/// A primary that calls PSYNC otherwise, so that it does not know it.
fn old_primary(kind: Kind) -> Server {
    start(kind, &["--rename-command", "PSYNC", "", "--rename-command", "REPLCONF", ""])
}

fn same(primary: &Server, replica: &Server) -> bool {
    primary.client().ask("DEBUG DIGEST") == replica.client().ask("DEBUG DIGEST")
}

/// The replica falls back to SYNC, follows the stream without acknowledging it, which its primary would not understand, and asks for a snapshot
/// again when the link was cut.
#[test]
fn a_primary_without_psync_is_asked_with_sync() {
    for primary in [Kind::Valkey, Kind::Redis, Kind::Larder] {
        let replica = Kind::Larder;
        let what = format!("{replica:?} follows {primary:?}");
        let (first, second) = (old_primary(primary), start(replica, &["--appendonly", "yes"]));
        let (mut ours, mut theirs) = (first.client(), second.client());
        ours.ask("SET before 1");
        follow(&mut theirs, &first);
        wait_for_link(&mut theirs);
        wait_until_rewritten(&mut theirs);
        for line in ["RPUSH list a b", "SELECT 3", "SET other 1", "SELECT 0", "INCR counter"] {
            ours.ask(line);
        }
        wait_until(&format!("{what}: it follows"), || same(&first, &second));
        // Acknowledgements would be due once a second.
        std::thread::sleep(std::time::Duration::from_millis(1200));
        ours.ask("INCR counter");
        wait_until(&format!("{what}: it goes on"), || same(&first, &second));
        assert_eq!(info(&mut theirs, "replication", "master_link_status"), "up", "{what}");
        assert!(second.log().contains("Retrying with SYNC..."), "{what}");
        assert!(!second.log().contains("CRITICAL"), "{what}: {}", second.log());
        ours.ask("CLIENT KILL TYPE replica");
        ours.ask("INCR counter");
        wait_until(&format!("{what}: it comes again"), || same(&first, &second));
        wait_until(&format!("{what}: by a snapshot"), || {
            info(&mut ours, "stats", "sync_full") == "2"
                && info(&mut theirs, "replication", "master_link_status") == "up"
        });
        theirs.ask("REPLICAOF NO ONE");
        assert_eq!(theirs.ask("GET counter").text(), "3", "{what}");
        wait_until_rewritten(&mut theirs);
    }
}

/// Answers a replica up to PSYNC, and PSYNC with `answer`; returns what it asks next.
fn next_word(listener: &TcpListener, answer: &str) -> Option<String> {
    let (link, _) = listener.accept().expect("it connects");
    let mut lines = BufReader::new(link.try_clone().expect("a socket can be cloned"));
    let reply = |mut link: &TcpStream, text: &str| link.write_all(text.as_bytes()).is_ok();
    loop {
        let words = read_command(&mut lines)?;
        let is_psync = words[0].eq_ignore_ascii_case("psync");
        let text = match words[0].to_ascii_uppercase().as_str() {
            "PING" => "+PONG\r\n",
            "PSYNC" => answer,
            "REPLCONF" => "+OK\r\n",
            other => return Some(other.to_owned()),
        };
        assert!(reply(&link, text) || is_psync);
    }
}

fn read_command(lines: &mut impl BufRead) -> Option<Vec<String>> {
    let mut line = String::new();
    lines.read_line(&mut line).ok().filter(|&bytes| bytes > 0)?;
    let Some(count) = line.trim_end().strip_prefix('*') else {
        return Some(vec![line.trim_end().to_owned()]);
    };
    let count: usize = count.parse().expect("a count");
    (0..count)
        .map(|_| {
            let mut word = String::new();
            lines.read_line(&mut word).ok()?;
            word.clear();
            lines.read_line(&mut word).ok()?;
            Some(word.trim_end().to_owned())
        })
        .collect()
}

/// A primary that cannot do it now is asked again later, and not with SYNC.
#[test]
fn a_primary_that_cannot_do_it_now_is_not_asked_with_sync() {
    for kind in [Kind::Larder, Kind::Valkey] {
        for (answer, next) in [
            ("-LOADING wait\r\n", None),
            ("-NOMASTERLINK wait\r\n", None),
            ("-ERR unknown command 'PSYNC'\r\n", Some("SYNC")),
            ("-NOPERM no\r\n", Some("SYNC")),
        ] {
            let listener = TcpListener::bind("127.0.0.1:0").expect("there are ports");
            let replica = start(kind, &[]);
            let port = listener.local_addr().expect("it has one").port();
            replica.client().ask(&format!("REPLICAOF 127.0.0.1 {port}"));
            assert_eq!(next_word(&listener, answer).as_deref(), next, "{answer} to {kind:?}");
        }
    }
}

fn partial_errors(client: &mut Client) -> String {
    info(client, "stats", "sync_partial_err")
}

/// A replica without a history asks for a snapshot: its primary has refused nothing.
#[test]
fn a_fresh_replica_is_no_failed_partial_resync() {
    for primary in [Kind::Larder, Kind::Valkey] {
        let first = start(primary, &[]);
        let mut ours = first.client();
        let address = format!("127.0.0.1 {}", first.port());
        let second = start(Kind::Larder, &["--replicaof", &address]);
        wait_for_link(&mut second.client());
        let third = start(Kind::Larder, &[]);
        third.client().ask("SET own data");
        follow(&mut third.client(), &first);
        wait_for_link(&mut third.client());
        assert_eq!(partial_errors(&mut ours), "0", "{primary:?}");
        // One that has led others asks for its own history: a replica of its own may be its primary by now.
        let fourth = start(Kind::Larder, &[]);
        follow(&mut fourth.client(), &third);
        wait_for_link(&mut fourth.client());
        third.client().ask("REPLICAOF NO ONE");
        assert_eq!(third.client().ask("SET more data"), Value::Simple("OK".to_owned()));
        follow(&mut third.client(), &first);
        wait_for_link(&mut third.client());
        assert_eq!(partial_errors(&mut ours), "1", "{primary:?}");
    }
}
