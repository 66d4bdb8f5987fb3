//! Every command of the list within a script and within a transaction that lends, beside one that holds all shards.

use super::every_call::fill;
use super::{SPIN, calls};
use larder_testkit::{Client, Server, Value, words};

/// Their outcome is a matter of luck, or of the time.
const BY_CHANCE: &[&str] = &[
    "bgrewriteaof",
    "bgsave",
    "hrandfield",
    "lastsave",
    "lolwut",
    "memory doctor",
    "object idletime",
    "randomkey",
    "spop",
    "srandmember",
    "time",
    "xadd",
    "zrandmember",
];

/// What a client that has called them may say, or what it is answered, is another thing than before; or there is no server any more.
const CHANGES_THE_CLIENT: &[&str] = &[
    "client reply",
    "debug",
    "failover",
    "hello",
    "monitor",
    "psubscribe",
    "psync",
    "quit",
    "replicaof",
    "reset",
    "shutdown",
    "slaveof",
    "ssubscribe",
    "subscribe",
    "sync",
];

/// The calls whose outcome two servers agree on, but for what is about themselves.
fn comparable_calls() -> impl Iterator<Item = &'static str> {
    calls().filter(|call| !BY_CHANCE.iter().any(|chance| call.starts_with(chance)))
}

/// What a script calls while it lends its shards answers and does what it does in one that holds all of them.
#[test]
fn every_command_works_in_a_script_that_lends() {
    let holding = "redis.call('dbsize') return redis.pcall(unpack(ARGV))";
    let lending = format!("{SPIN} return redis.pcall(unpack(ARGV))");
    let servers = [(); 3].map(|()| {
        Server::larder(&[
            "--threads",
            "2",
            "--busy-reply-threshold",
            "600000",
            "--slowlog-log-slower-than",
            "-1",
        ])
    });
    let mut clients: Vec<Client> = servers.iter().map(Server::client).collect();
    let mut compared = 0;
    for call in comparable_calls() {
        let outcomes: Vec<(String, String)> = [holding, holding, &lending]
            .iter()
            .zip(&mut clients)
            .map(|(body, client)| {
                fill(client);
                let mut args = words("EVAL BODY 0");
                args[1] = body.as_bytes().to_vec();
                args.extend(words(call));
                let reply = client.cmd(&args).to_string();
                (reply, client.ask("DEBUG DIGEST").text())
            })
            .collect();
        // What two servers do not agree on is about themselves.
        if outcomes[0] == outcomes[1] {
            assert_eq!(outcomes[0], outcomes[2], "{call}");
            compared += 1;
        }
    }
    assert!(compared > 250, "only {compared} commands were compared");
}

/// What a transaction that lends its shards calls answers and does what it does in one that holds all of them.
#[test]
fn every_command_works_in_a_transaction_that_lends() {
    let servers = [(); 3].map(|()| {
        Server::larder(&[
            "--threads",
            "2",
            "--enable-debug-command",
            "yes",
            "--slowlog-log-slower-than",
            "-1",
        ])
    });
    let mut admins: Vec<Client> = servers.iter().map(Server::client).collect();
    let fill_large =
        "for i = 1, 12000 do redis.call('zadd', KEYS[1], i, i) end return redis.call('dump', KEYS[1])";
    let large = admins[0].cmd(&["EVAL", fill_large, "1", "large"]);
    let Value::Bulk(large) = large else { panic!("{large}") };
    let mut compared = 0;
    for call in
        comparable_calls().filter(|call| !CHANGES_THE_CLIENT.iter().any(|name| call.starts_with(name)))
    {
        // DBSIZE needs all shards: they are held from the beginning.
        let outcomes: Vec<(String, String)> = ["DBSIZE", "DBSIZE", "PING"]
            .iter()
            .zip(servers.iter().zip(&mut admins))
            .map(|(first, (server, admin))| {
                fill(admin);
                admin.cmd(&[&b"RESTORE"[..], b"large", b"0", &large]);
                let mut client = server.client();
                for line in ["MULTI", first, "ZUNIONSTORE union 1 large"] {
                    assert!(!client.ask(line).is_error(), "{line}");
                }
                let queued = client.cmd(&words(call)).to_string();
                let reply = client.ask("EXEC");
                let reply = match &reply {
                    Value::Array(replies) => replies.last().expect("there are three").to_string(),
                    other => other.to_string(),
                };
                (format!("{queued} {reply}"), admin.ask("DEBUG DIGEST").text())
            })
            .collect();
        // What two servers do not agree on is about themselves. What is not queued is not part of the transaction.
        if outcomes[0] == outcomes[1] && outcomes[0].0.starts_with("+QUEUED") {
            assert_eq!(outcomes[0], outcomes[2], "{call}");
            compared += 1;
        }
    }
    assert!(compared > 250, "only {compared} commands were compared");
}
