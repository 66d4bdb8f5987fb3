//! Secrets that commands carry appear in nothing that the server shows or writes.

use larder_testkit::{Client, Server, words};
use std::time::Duration;

const SECRET: &str = "s3cr3t";

/// Commands with a secret, in every form and place that they take. Names in capitals and without.
const LINES: &str = r#"
    AUTH s3cr3t
    auth default s3cr3t
    Auth nobody s3cr3t
    AUTH default s3cr3t extra
    HELLO 3 AUTH default s3cr3t
    HELLO 2 AUTH default s3cr3t SETNAME me
    HELLO 2 SETNAME me AUTH nobody s3cr3t
    HELLO 2 AUTH s3cr3t
    ACL SETUSER bob on >s3cr3t ~* +@all
    ACL SETUSER bob <s3cr3t
    ACL SETUSER s3cr3t nosuchrule
    acl setuser bob >s3cr3t
    ACL DELUSER s3cr3t
    ACL GETUSER s3cr3t
    CONFIG SET requirepass s3cr3t
    CONFIG SET requirepass ""
    CONFIG SET maxmemory 0 masterauth s3cr3t
    CONFIG SET primaryauth s3cr3t maxmemory 0
    CONFIG SET masteruser s3cr3t
    CONFIG SET primaryuser s3cr3t
    CONFIG SET RequirePass s3cr3t nosuch 1
    CONFIG SET requirepass ""
    MIGRATE 127.0.0.1 1 k 0 10 AUTH s3cr3t
    MIGRATE 127.0.0.1 1 k 0 10 COPY REPLACE AUTH2 user s3cr3t
    MIGRATE 127.0.0.1 1 "" 0 10 AUTH2 s3cr3t s3cr3t KEYS k auth
    MIGRATE 127.0.0.1 1 nokey 0 10 AUTH s3cr3t
    migrate 127.0.0.1 1 "" 0 10 auth s3cr3t keys nokey
    EVAL "return redis.pcall('migrate', '127.0.0.1', '1', 'k', '0', '10', 'auth', 's3c'..'r3t')" 0
    EVAL "return redis.pcall('acl', 'setuser', 'bob', '>s3c'..'r3t')" 0
    EVAL "return redis.pcall('config', 'set', 'masterauth', 's3c'..'r3t')" 0
"#;

fn send(client: &mut Client, line: &str) -> String {
    client.cmd(&words(line)).to_string()
}

#[test]
fn nothing_shows_a_secret() {
    let log_everything = [
        "--slowlog-log-slower-than 0 --slowlog-max-len 10000 --commandlog-request-larger-than 0",
        "--commandlog-reply-larger-than 0 --commandlog-large-request-max-len 10000",
        "--commandlog-large-reply-max-len 10000 --latency-monitor-threshold 1 --loglevel debug",
    ]
    .join(" ");
    let server = Server::larder(&log_everything.split(' ').collect::<Vec<_>>());
    let mut monitor = server.client();
    assert_eq!(monitor.ask("MONITOR").text(), "OK");
    let mut client = server.client();
    client.ask("SET k v");
    let mut observer = server.client();
    for line in LINES.lines().map(str::trim).filter(|line| !line.is_empty()) {
        send(&mut client, line);
        // In a transaction, too: what is not allowed there is refused.
        client.ask("MULTI");
        send(&mut client, line);
        client.ask("EXEC");
    }
    observer.ask("ECHO the-end");
    let mut shown = Vec::new();
    loop {
        let line = monitor.read().expect("the monitor is fed").text();
        let is_end = line.contains("the-end");
        shown.push(line);
        if is_end {
            break;
        }
    }
    assert!(shown.iter().any(|line| line.contains(r#""AUTH" "(redacted)""#)), "{shown:#?}");
    assert!(
        shown
            .iter()
            .any(|line| line.contains(r#""auth2" "(redacted)""#) || line.contains(r#""AUTH2" "(redacted)""#))
    );
    let outputs = [
        "SLOWLOG GET -1",
        "COMMANDLOG GET -1 slow",
        "COMMANDLOG GET -1 large-request",
        "COMMANDLOG GET -1 large-reply",
        "LATENCY LATEST",
        "LATENCY HISTOGRAM",
        "CLIENT LIST",
        "CLIENT INFO",
        "ACL LOG",
        "ACL LIST",
        "INFO everything",
        "MEMORY DOCTOR",
    ];
    shown.extend(outputs.map(|line| format!("{line}: {}", observer.ask(line))));
    shown.push(format!("log: {}", server.log()));
    assert!(shown.iter().filter(|text| text.contains("(redacted)")).count() > 20);
    // What the administrators have named themselves is no secret.
    let leaks: Vec<&String> = shown.iter().filter(|text| text.contains(SECRET)).collect();
    assert!(leaks.is_empty(), "{leaks:#?}");
}

/// A command that waits is logged and counted when it is done, once.
#[test]
fn a_command_that_waits_is_logged_when_it_is_served() {
    for threads in ["1", "4"] {
        let server = Server::larder(&["--threads", threads, "--slowlog-log-slower-than", "0"]);
        let (mut waiting, mut client) = (server.client(), server.client());
        waiting.set_timeout(Duration::from_secs(20));
        for (command, served_by) in [
            ("BLPOP queue 0", "RPUSH queue a"),
            ("BZPOPMIN set 0", "ZADD set 1 a"),
            ("XREAD BLOCK 0 STREAMS stream $", "XADD stream * f v"),
            ("BLMOVE queue other LEFT RIGHT 0", "RPUSH queue a"),
            ("BLPOP queue 0.02", "PING"),
        ] {
            client.ask("SLOWLOG RESET");
            client.ask("CONFIG RESETSTAT");
            waiting.cmd(&["CLIENT", "ID"]);
            waiting.send(&words(command));
            while !client.ask("INFO clients").text().contains("blocked_clients:1\r") {}
            let name = command.split(' ').next().expect("a name");
            let count = |client: &mut Client| {
                let logged = client.ask("SLOWLOG GET -1").to_string().matches(&format!("\"{name}\"")).count();
                let stats = client.ask("INFO commandstats").text();
                (logged, stats.contains(&format!("cmdstat_{}:calls=1,", name.to_ascii_lowercase())))
            };
            if served_by != "PING" {
                assert_eq!(count(&mut client), (0, false), "{command} waits");
            }
            client.cmd(&words(served_by));
            waiting.read().expect("it is served, or told that its time is over");
            assert_eq!(count(&mut client), (1, true), "{command} is done");
        }
    }
}
