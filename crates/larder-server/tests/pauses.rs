//! CLIENT PAUSE: what waits, for how long, and how it is shown; the same questions to Valkey.

use larder_testkit::{Client, Kind, Server, Value, words};
use std::time::{Duration, Instant};

const KINDS: [Kind; 2] = [Kind::Larder, Kind::Valkey];

/// Long enough that nothing that does not wait takes as long, even on a busy machine.
const PAUSE_MS: u64 = 700;

fn start(kind: Kind) -> Server {
    let own: &[&str] = if kind == Kind::Larder { &["--threads", "2"] } else { &[] };
    Server::of(kind, own)
}

/// Whether the answer to a command comes only when the pause ends.
fn waits(client: &mut Client, line: &str) -> bool {
    let start = Instant::now();
    client.cmd(&words(line));
    start.elapsed() > Duration::from_millis(PAUSE_MS / 2)
}

/// For each command whether it waits under a pause.
#[test]
fn what_waits() {
    let commands = [
        "PUBLISH a b",
        "PFCOUNT x",
        "SET k v",
        "GET k",
        "GETEX k",
        r##"EVAL "return 1" 0"##,
        r##"EVAL "#!lua\nreturn 1" 0"##,
        r##"EVAL "#!lua flags=no-writes\nreturn 1" 0"##,
        r##"EVAL "#!lua flags=bogus\nreturn 1" 0"##,
        r##"EVAL_RO "return 1" 0"##,
        "EVALSHA nosuch 0",
        "EVALSHA_RO nosuch 0",
        "FCALL reads 0",
        "FCALL writes 0",
        "FCALL nosuch 0",
        "NOSUCH",
        "GET",
        "CLIENT UNPAUSE",
        "CLIENT KILL ID 999",
    ];
    let library = "#!lua name=lib\nredis.register_function{function_name='reads', callback=function() return 1 end, \
                   flags={'no-writes'}} redis.register_function('writes', function() return 1 end)";
    // One connection for each command, all at once: a pause is waited for once.
    let answers = |kind: Kind, mode: &str| {
        let server = start(kind);
        let mut admin = server.client();
        assert_eq!(admin.cmd(&["FUNCTION", "LOAD", library]).text(), "lib");
        // UNPAUSE would end the pause for the others.
        let commands = commands.iter().filter(|line| mode == "ALL" || **line != "CLIENT UNPAUSE");
        let mut clients: Vec<_> = commands.map(|line| (*line, server.client())).collect();
        clients.iter_mut().for_each(|(_, client)| drop(client.ask("PING")));
        assert_eq!(admin.ask(&format!("CLIENT PAUSE {PAUSE_MS} {mode}")).text(), "OK");
        let start = Instant::now();
        let threads = clients.into_iter().map(|(line, mut client)| {
            std::thread::spawn(move || {
                client.cmd(&words(line));
                (line, start.elapsed() > Duration::from_millis(PAUSE_MS * 3 / 4))
            })
        });
        let threads: Vec<_> = threads.collect();
        threads.into_iter().map(|thread| thread.join().expect("it is answered")).collect::<Vec<_>>()
    };
    for mode in ["WRITE", "ALL"] {
        assert_eq!(answers(Kind::Larder, mode), answers(Kind::Valkey, mode), "{mode}");
    }
}

/// Transactions wait with what they queue, and with EXEC if anything in them may write.
#[test]
fn transactions_wait() {
    let answers = |kind: Kind| {
        let server = start(kind);
        let (mut admin, mut client) = (server.client(), server.client());
        let mut found = Vec::new();
        for (queue, last) in [
            (vec![], "SET k v"),
            (vec![], "GET k"),
            (vec!["GET k"], "EXEC"),
            (vec!["SET k v"], "EXEC"),
            (vec![r##"EVAL "#!lua flags=no-writes\nreturn 1" 0"##], "EXEC"),
            (vec![r##"EVAL "return 1" 0"##], "EXEC"),
        ] {
            client.ask("MULTI");
            queue.iter().for_each(|line| assert_eq!(client.cmd(&words(line)).text(), "QUEUED"));
            admin.ask(&format!("CLIENT PAUSE {PAUSE_MS} WRITE"));
            found.push((queue, last, waits(&mut client, last)));
            admin.ask("CLIENT UNPAUSE");
            client.ask("DISCARD");
        }
        found
    };
    assert_eq!(answers(Kind::Larder), answers(Kind::Valkey));
}

/// What is over is not shown, and stays until the pause ends: who copies the data, or takes over, counts on that.
#[test]
fn nothing_expires() {
    let seen = |kind: Kind| {
        let server = start(kind);
        let (mut admin, mut other) = (server.client(), server.client());
        let expired = |client: &mut Client| {
            let info = client.ask("INFO stats").text();
            let line = info.lines().find_map(|line| line.strip_prefix("expired_keys:").map(str::to_owned));
            line.expect("it is told")
        };
        let mut found = Vec::new();
        for line in ["SET a 1 PX 300", "SET b 1", "HSET h f 1 g 2", "HPEXPIRE h 300 FIELDS 1 f"] {
            admin.ask(line);
        }
        assert_eq!(admin.ask("CLIENT PAUSE 60000 WRITE").text(), "OK");
        let deadline = Instant::now() + Duration::from_secs(20);
        while other.ask("EXISTS a").int() == 1 || other.ask("HGET h f") != Value::NullBulk {
            assert!(Instant::now() < deadline, "{kind:?}");
        }
        // Some rounds of the cycle that looks for what is over.
        std::thread::sleep(Duration::from_millis(400));
        let info = other.ask("INFO clients").text();
        for name in ["paused_reason", "paused_actions"] {
            let line = info.lines().find(|line| line.starts_with(name)).expect("it is told");
            found.push((name, line.to_owned()));
        }
        for line in
            ["GET a", "EXISTS a", "DBSIZE", "HLEN h", "HGETALL h", "KEYS *a", "SCAN 0 MATCH a", "TTL a"]
        {
            found.push((line, format!("{:?}", other.ask(line))));
        }
        found.push(("expired_keys", expired(&mut other)));
        assert_eq!(admin.ask("CLIENT UNPAUSE").text(), "OK");
        let deadline = Instant::now() + Duration::from_secs(20);
        while expired(&mut other) != "1" || other.ask("HLEN h").int() != 1 {
            assert!(Instant::now() < deadline, "{kind:?}");
        }
        found
    };
    assert_eq!(seen(Kind::Larder), seen(Kind::Valkey));
}

#[test]
fn who_waits_is_shown_as_blocked() {
    for kind in KINDS {
        let server = start(kind);
        let (mut admin, mut client) = (server.client(), server.client());
        client.ask("CLIENT SETNAME waits");
        admin.ask("CLIENT PAUSE 60000 WRITE");
        client.send(&["SET", "k", "v"]);
        let shown = |admin: &mut Client| {
            let list = admin.ask("CLIENT LIST").text();
            let line =
                list.lines().find(|line| line.contains("name=waits")).expect("it is listed").to_owned();
            let word =
                |name: &str| line.split(' ').find_map(|word| word.strip_prefix(name)).map(str::to_owned);
            (word("flags="), word("cmd="))
        };
        let deadline = Instant::now() + Duration::from_secs(20);
        while shown(&mut admin) != (Some("b".to_owned()), Some("set".to_owned())) {
            assert!(Instant::now() < deadline, "{kind:?}: {:?}", shown(&mut admin));
        }
        let blocked = |admin: &mut Client| {
            let info = admin.ask("INFO clients").text();
            info.lines().find_map(|line| line.strip_prefix("blocked_clients:").map(str::to_owned))
        };
        assert_eq!(blocked(&mut admin).as_deref(), Some("1"), "{kind:?}");
        let id = admin.ask("CLIENT LIST").text();
        let id =
            id.lines().find(|line| line.contains("name=waits")).and_then(|line| line[3..].split(' ').next());
        assert_eq!(admin.ask(&format!("CLIENT UNBLOCK {}", id.expect("an id"))).int(), 0, "{kind:?}");
        assert_eq!(admin.ask("CLIENT UNPAUSE").text(), "OK");
        assert_eq!(client.read().expect("an answer").text(), "OK");
        assert_eq!(shown(&mut admin).0.as_deref(), Some("N"), "{kind:?}");
        assert_eq!(blocked(&mut admin).as_deref(), Some("0"), "{kind:?}");
    }
}
