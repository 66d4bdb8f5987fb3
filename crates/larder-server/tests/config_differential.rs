//! Names, defaults, accepted values and error texts against a running Valkey.

use larder_engine::config::Config;
use larder_testkit::{Client, Kind, Server};
use std::collections::HashMap;

/// Options whose defaults differ on purpose.
const OWN_DEFAULTS: [&str; 3] = ["io-threads", "syslog-ident", "crash-memcheck-enabled"];

/// Options that the test's own command line sets.
const SET_BY_TEST: [&str; 3] = ["port", "save", "dir"];

/// Options whose change would reach out of the process, that Valkey refuses for reasons of its build, or that Larder refuses by name.
const NOT_TRIED: [&str; 13] = [
    "crash-memcheck-enabled",
    "io-threads",
    "rdma-bind",
    "rdma-port",
    "activedefrag",
    "appendonly",
    "bind",
    "dir",
    "maxclients",
    "maxmemory",
    "oom-score-adj",
    "port",
    "requirepass",
];

/// Starts Valkey with its defaults.
fn valkey() -> Server {
    Server::start(&[&Kind::Valkey.program().to_string_lossy()], &[])
}

/// What CONFIG GET replies.
fn get(client: &mut Client, pattern: &str) -> HashMap<String, String> {
    let reply = client.cmd(&["CONFIG", "GET", pattern]);
    reply.items().chunks(2).map(|pair| (pair[0].text(), pair[1].text())).collect()
}

#[test]
fn every_option_with_its_default() {
    let server = valkey();
    let config = Config::new(1);
    for (name, theirs) in get(&mut server.client(), "*") {
        let ours = config.get(&name).unwrap_or_else(|| panic!("no option {name}"));
        if !OWN_DEFAULTS.contains(&name.as_str()) && !SET_BY_TEST.contains(&name.as_str()) {
            assert_eq!(ours, theirs, "{name}");
        }
    }
    assert_eq!(config.get("save").as_deref(), Some("3600 1 300 100 60 10000"));
}

#[test]
fn values_and_errors_of_config_set() {
    const VALUES: [&str; 34] = [
        "",
        "yes",
        "No",
        "0",
        "1",
        "-1",
        "01",
        "+1",
        "2147483648",
        "9223372036854775808",
        "18446744073709551615",
        "18446744073709551616",
        "18446744073709551615kb",
        "17179869184gb",
        "99999999999999999999999",
        "1x",
        "1kb",
        "2G",
        "50%",
        "101%",
        "-5%",
        "debug",
        "SAVE now",
        "everysec",
        "1 2",
        "1 2 3",
        "normal 1mb 2 3",
        "normal 1mb 2 2147483647",
        "normal 1mb 2 2147483648",
        "99.9",
        "KEA",
        "a/b",
        "100 0",
        "x y z w",
    ];
    let server = valkey();
    let mut client = server.client();
    let config = Config::new(1);
    let mut names: Vec<String> = get(&mut client, "*").into_keys().collect();
    names.sort_unstable();
    names.retain(|name| !NOT_TRIED.contains(&name.as_str()) && !name.starts_with("tls-"));
    let mut differences = Vec::new();
    for name in &names {
        for value in VALUES {
            let theirs = client.cmd(&["CONFIG", "SET", name, value]).to_string();
            let ours = match config.set(&[(name.as_bytes(), value.as_bytes())], |_, _| Ok(())) {
                Ok(()) => "+OK".to_owned(),
                Err(error) => format!("-ERR {error}"),
            };
            if ours != theirs {
                differences
                    .push(format!("CONFIG SET {name} '{value}'\n  ours  {ours:?}\n  valkey {theirs:?}"));
            }
            let (ours, theirs) = (config.get(name), get(&mut client, name).remove(name.as_str()));
            if ours != theirs && !["syslog-ident", "unixsocket"].contains(&name.as_str()) {
                differences
                    .push(format!("CONFIG GET {name} after '{value}': ours {ours:?}, valkey {theirs:?}"));
            }
        }
    }
    config.check_invariants();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Files have names, which end where C ends a string.
#[test]
fn names_of_files() {
    let servers =
        [Kind::Larder, Kind::Valkey].map(|kind| Server::of(kind, &["--enable-protected-configs", "yes"]));
    let mut clients = servers.each_ref().map(Server::client);
    for option in ["dbfilename", "replica-announce-ip", "masteruser", "proc-title-template", "requirepass"] {
        for value in ["", "\0", "a\0b", " ", "a/b", "name"] {
            let [ours, theirs] = clients.each_mut().map(|client| {
                (client.cmd(&["CONFIG", "SET", option, value]), client.cmd(&["CONFIG", "GET", option]))
            });
            assert_eq!(ours, theirs, "{option} {value:?}");
        }
    }
    for value in ["", "/nosuch"] {
        let [ours, theirs] = clients.each_mut().map(|client| client.cmd(&["CONFIG", "SET", "dir", value]));
        assert_eq!(ours, theirs, "dir {value:?}");
    }
}
