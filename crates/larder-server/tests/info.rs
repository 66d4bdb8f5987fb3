//! INFO: each figure of Valkey is there, in its section, and figures that only Larder has are known.

use larder_testkit::{Client, Kind, Server, wait_until};
use std::collections::BTreeSet;

/// Figures and sections that Valkey has not.
const OWN: [&str; 6] = [
    "Memory cold_",
    "Memory hash_shapes",
    "Memory lists_waiting_for_compression",
    "Server larder_version",
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
        let missing: Vec<&String> = theirs.difference(&ours).collect();
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

/// The lines of INFO with these names.
fn figures(client: &mut Client, names: &[&str]) -> Vec<String> {
    let info = client.ask("INFO everything").text();
    let is_wanted = |line: &&str| line.split_once(':').is_some_and(|(name, _)| names.contains(&name));
    info.lines().filter(is_wanted).map(str::to_owned).collect()
}

/// Connections that wait in a command, the first ones in another database.
fn waiting(server: &Server, admin: &mut Client, commands: &[(usize, &str)]) -> Vec<Client> {
    let start = |(db, command): &(usize, &str)| {
        let mut client = server.client();
        client.ask(&format!("SELECT {db}"));
        client.send(&command.split(' ').collect::<Vec<_>>());
        client
    };
    let clients: Vec<Client> = commands.iter().map(start).collect();
    let all = format!("blocked_clients:{}", commands.len());
    wait_until("all wait", || figures(admin, &["blocked_clients"]) == [all.as_str()]);
    clients
}

/// Keys that clients wait for: each once for each database, and only while a client waits.
#[test]
fn keys_that_are_waited_for() {
    const NAMES: [&str; 3] = ["blocked_clients", "total_blocking_keys", "total_blocking_keys_on_nokey"];
    let [ours, theirs] = [Kind::Larder, Kind::Valkey].map(|kind| {
        let server = Server::of(kind, &[]);
        let mut admin = server.client();
        admin.ask("XGROUP CREATE s g $ MKSTREAM");
        let commands = [
            (1, "BLPOP k j 0"),
            (0, "BLPOP k 0"),
            (0, "BLMOVE k m LEFT LEFT 0"),
            (0, "XREADGROUP GROUP g c BLOCK 0 STREAMS s >"),
            (0, "XREAD BLOCK 0 STREAMS s t $ $"),
            (0, "BZPOPMIN z 0"),
            (0, "WAIT 3 0"),
        ];
        let mut clients = waiting(&server, &mut admin, &commands);
        let mut seen = vec![figures(&mut admin, &NAMES)];
        // The client is taken, though its worker has not heard of it.
        admin.ask("MULTI");
        admin.ask("ZADD z 1 a");
        admin.ask("INFO clients");
        admin.ask("EXEC");
        seen.push(figures(&mut admin, &NAMES[1..]));
        clients.truncate(1);
        wait_until("they are gone", || figures(&mut admin, &NAMES[..1]) == ["blocked_clients:1"]);
        seen.push(figures(&mut admin, &NAMES));
        admin.ask("CLIENT KILL TYPE normal SKIPME yes");
        seen.push(figures(&mut admin, &NAMES));
        seen
    });
    assert_eq!(ours, theirs);
    assert_eq!(ours[0][1..], ["total_blocking_keys:6", "total_blocking_keys_on_nokey:1"]);
}

/// While a snapshot is sent to a replica, which is no client; and while the server waits for it before it ends.
#[test]
fn figures_beside_a_replica() {
    const SYNC: [&str; 3] = ["connected_clients", "connected_slaves", "rdb_bgsave_in_progress"];
    const END: [&str; 2] = ["paused_reason", "paused_actions"];
    let [ours, theirs] = [Kind::Larder, Kind::Valkey].map(|kind| {
        let server = Server::of(kind, &["--repl-diskless-sync-delay", "0", "--shutdown-timeout", "1000"]);
        let mut admin = server.client();
        let mut monitor = server.client();
        monitor.ask("MONITOR");
        admin.ask("DEBUG POPULATE 300");
        let mut seen = vec![figures(&mut admin, &SYNC)];
        admin.ask("CONFIG SET rdb-key-save-delay 3000");
        let replica = Server::of(kind, &["--replicaof", "127.0.0.1", &server.port().to_string()]);
        wait_until("a snapshot is sent", || figures(&mut admin, &SYNC[2..]) == ["rdb_bgsave_in_progress:1"]);
        assert_ne!(figures(&mut admin, &["rdb_current_bgsave_time_sec"]), ["rdb_current_bgsave_time_sec:-1"]);
        seen.push(figures(&mut admin, &SYNC));
        wait_until("it has come", || admin.ask("INFO replication").text().contains("state=online"));
        wait_until("it is over", || figures(&mut admin, &SYNC[2..]) == ["rdb_bgsave_in_progress:0"]);
        seen.push(figures(&mut admin, &["rdb_current_bgsave_time_sec"]));
        replica.signal("STOP");
        admin.ask("SET k v");
        server.client().send(&["SHUTDOWN"]);
        wait_until("the end is near", || {
            figures(&mut admin, &END)[0] == "paused_reason:shutdown_in_progress"
        });
        seen.push(figures(&mut admin, &END));
        let info = admin.ask("INFO server").text();
        let left = info.split("shutdown_in_milliseconds:").nth(1).and_then(|rest| rest.split('\r').next());
        let left_ms: u64 = left.expect("it says for how long").parse().expect("a number");
        assert!((900_000..=1_000_000).contains(&left_ms), "{left_ms}");
        replica.signal("CONT");
        seen
    });
    assert_eq!(ours, theirs);
    assert_eq!(ours[1], ["connected_clients:2", "rdb_bgsave_in_progress:1", "connected_slaves:1"]);
}

/// While a file is loaded, it says how much memory its writer used.
#[test]
fn memory_of_the_writer_of_a_file() {
    for kind in [Kind::Larder, Kind::Valkey] {
        let mut server = Server::of(kind, &[]);
        let mut client = server.client();
        client.ask("DEBUG POPULATE 300");
        let used = figures(&mut client, &["used_memory"])[0].replace("used_memory:", "");
        assert_eq!(client.ask("SAVE").text(), "OK");
        server.kill();
        let slowly = ["--key-load-delay", "3000", "--loading-process-events-interval-bytes", "1024"];
        assert!(server.start_again_without_waiting(&slowly));
        let mut shown = Vec::new();
        wait_until("the file is loaded", || {
            shown = figures(&mut server.client(), &["loading_rdb_used_mem"]);
            !shown.is_empty() && !shown[0].ends_with(":0")
        });
        let shown: f64 = shown[0].replace("loading_rdb_used_mem:", "").parse().expect("a number");
        let used: f64 = used.parse().expect("a number");
        assert!((shown / used - 1.0).abs() < 0.2, "{}: {shown} of {used}", kind.name());
    }
}
