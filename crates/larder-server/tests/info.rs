//! INFO: each figure of Valkey is there, in its section, and figures that only Larder has are known.

use larder_testkit::{Client, Kind, Server};
use std::collections::BTreeSet;

/// Figures that Larder has not, and why.
const ABSENT: [(&str, &str); 1] = [("Server gcc_version", "another compiler made it")];

/// Figures and sections that Valkey has not.
const OWN: [&str; 5] = [
    "Memory lists_waiting_for_compression",
    "Server larder_version",
    "Server redis_mode",
    "Server threads",
    "Keysizes",
];

/// `Section name` of all figures; `db0` and the like stand for themselves.
fn names(client: &mut Client, sections: &str) -> BTreeSet<String> {
    let mut section = String::new();
    let mut names = BTreeSet::new();
    for line in client.cmd(&["INFO", sections]).text().lines() {
        if let Some(title) = line.strip_prefix("# ") {
            section = title.to_owned();
            names.insert(section.clone());
        } else if let Some((name, value)) = line.split_once(':') {
            names.insert(format!("{section} {name}"));
            // Named figures within a line.
            let inner = value.split(',').filter_map(|part| part.split_once('=')).map(|(name, _)| name);
            names.extend(inner.map(|inner| format!("{section} {name} {inner}")));
        }
    }
    names
}

/// How long the keys that expire have on average.
#[test]
fn the_mean_time_to_live() {
    let server = Server::larder(&[]);
    let mut client = server.client();
    let mut mean_s = |commands: &[&str]| {
        commands.iter().for_each(|line| assert!(!client.ask(line).is_error(), "{line}"));
        let info = client.ask("INFO keyspace").text();
        let figure = info.split("avg_ttl=").nth(1).and_then(|rest| rest.split(',').next());
        // Rounded up: a moment has passed.
        figure.expect("there is a key").parse::<u64>().expect("a number").div_ceil(1000)
    };
    assert_eq!(mean_s(&["SET k v"]), 0);
    assert_eq!(mean_s(&["SET a v EX 1000"]), 1000);
    assert_eq!(mean_s(&["SET b v EX 4000", "EXPIRE a 2000"]), 3000);
    assert_eq!(mean_s(&["SET b v", "COPY a c"]), 2000);
    assert_eq!(mean_s(&["PERSIST a", "RENAME c d"]), 2000);
    assert_eq!(mean_s(&["EXPIRE d 4000000", "DEL d"]), 0);
}

#[test]
fn all_figures_have_their_names() {
    let args = ["--appendonly", "yes", "--unixsocket", "s"];
    let servers = [Kind::Larder, Kind::Valkey].map(|kind| Server::of(kind, &args));
    for sections in ["everything", "all", "default"] {
        let [ours, theirs] = servers.each_ref().map(|server| {
            let mut client = server.client();
            for command in [
                "CONFIG RESETSTAT",
                "CONFIG GET port",
                "SET k v",
                "GET k",
                "HSETEX h EX 100 FIELDS 1 f v",
                "LPUSH k v",
                "NOSUCH",
            ] {
                client.ask(command);
            }
            names(&mut client, sections)
        });
        let is_own = |name: &&String| OWN.iter().any(|own| name.starts_with(own));
        let missing: Vec<&String> = theirs
            .difference(&ours)
            .filter(|name| !ABSENT.iter().any(|(absent, _)| name == absent))
            .collect();
        let unknown: Vec<&String> = ours.difference(&theirs).filter(|name| !is_own(name)).collect();
        assert!(
            missing.is_empty() && unknown.is_empty(),
            "{sections}: missing {missing:?}, unknown {unknown:?}"
        );
    }
}

#[test]
fn figures_move() {
    let server = Server::larder(&["--hz", "100"]);
    let mut client = server.client();
    client.ask("HSETEX h PX 1 FIELDS 1 f v");
    client.ask("HSETEX g EX 100 FIELDS 2 f v g w");
    let figure = |client: &mut Client, name: &str| {
        let info = client.ask("INFO everything").text();
        let line =
            info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':').map(str::to_owned));
        line.unwrap_or_else(|| panic!("no {name}"))
    };
    while figure(&mut client, "expired_fields") != "1" {}
    assert!(figure(&mut client, "db0").ends_with(",keys_with_volatile_items=1"));
    client.ask("FLUSHALL");
    let more = ["eventloop_cycles", "eventloop_duration_sum", "used_active_time_main_thread"];
    for name in more {
        assert!(figure(&mut client, name).parse::<f64>().unwrap() > 0.0, "{name}");
    }
    client.ask("CONFIG RESETSTAT");
    assert_eq!(figure(&mut client, "expired_fields"), "0");
    // A hash that expires before its fields do is not remembered for them.
    client.ask("SET stays v");
    client.ask("HSETEX h EX 100 FIELDS 1 f v");
    client.ask("PEXPIRE h 1");
    while figure(&mut client, "expired_keys") != "1" {}
    assert!(figure(&mut client, "db0").ends_with(",keys_with_volatile_items=0"));
}

/// The time of a script, a function or a transaction is that of all that it runs.
#[test]
fn time_of_scripts_contains_that_of_their_commands() {
    let server = Server::larder(&[]);
    let mut client = server.client();
    let library = "#!lua name=l\nredis.register_function('f', function(k) \
                   for i = 1, 5000 do redis.call('set', k[1], i) end return 1 end)";
    assert_eq!(client.cmd(&["FUNCTION", "LOAD", library]).text(), "l");
    let run = "for i = 1, 5000 do redis.call('set', KEYS[1], i) end return 1";
    let micros = |name: &str, client: &mut Client| -> u64 {
        let info = client.ask("INFO commandstats").text();
        let line =
            info.lines().find(|line| line.starts_with(&format!("cmdstat_{name}:"))).expect("it was called");
        let text = line.split("usec=").nth(1).and_then(|rest| rest.split(',').next()).expect("it has a time");
        text.parse().expect("a number")
    };
    for name in ["eval", "fcall", "exec"] {
        client.ask("CONFIG RESETSTAT");
        match name {
            "eval" => drop(client.cmd(&["EVAL", run, "1", "k"])),
            "fcall" => drop(client.ask("FCALL f 1 k")),
            _ => {
                client.ask("MULTI");
                (0..500).for_each(|_| drop(client.ask("SET k v")));
                client.ask("EXEC");
            }
        }
        let (whole, part) = (micros(name, &mut client), micros("set", &mut client));
        assert!(part > 0 && whole >= part, "{name}: {whole} us with {part} us of SET");
    }
}

/// Fields whose time is over when they are set, or that get such a time, have expired.
#[test]
fn fields_that_expire_at_once_are_counted_as_in_valkey() {
    let cases: &[&[&str]] = &[
        &["HSETEX h PXAT 1 FIELDS 2 f 1 g 2"],
        &["HSETEX h PXAT 1 FIELDS 2 f 1 f 2"],
        &["HSET h f 1 k 2", "HSETEX h PXAT 1 FIELDS 2 f 1 g 2"],
        &["HSETEX h FXX PXAT 1 FIELDS 1 f 1"],
        &["HSET h f 1", "HSETEX h FNX PXAT 1 FIELDS 1 f 1"],
        &["HSET h f 1", "HSETEX h FXX PXAT 1 FIELDS 1 f 1"],
        &["HSET h f 1 g 2 k 3", "HPEXPIREAT h 1 FIELDS 3 f g nope"],
        &["HSET h f 1", "HEXPIRE h 0 FIELDS 1 f"],
        &["HSET h f 1 g 2 k 3", "HGETEX h PXAT 1 FIELDS 3 f g nope"],
        &["MULTI", "HSETEX h EXAT 1 FIELDS 3 f 1 g 2 k 3", "EXEC"],
    ];
    let [ours, theirs] = [Kind::Larder, Kind::Valkey].map(|kind| {
        let server = Server::of(kind, &[]);
        let mut client = server.client();
        let counts = cases.iter().map(|case| {
            client.ask("FLUSHALL");
            client.ask("CONFIG RESETSTAT");
            case.iter().for_each(|line| drop(client.ask(line)));
            let info = client.ask("INFO stats").text();
            let line = info.lines().find_map(|line| line.strip_prefix("expired_fields:").map(str::to_owned));
            (case.join("; "), line, client.ask("HLEN h").int())
        });
        counts.collect::<Vec<_>>()
    });
    assert_eq!(ours, theirs);
}
