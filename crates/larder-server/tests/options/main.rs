//! What options do that no other file tests. The list of all is docs/options.md.

mod connections;
mod data;
mod process;

use larder_testkit::{Client, Kind, Server, Value, wait_until};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixDatagram;
use std::process::Command;
use std::time::{Duration, Instant};

fn larder() -> String {
    Kind::Larder.program().to_string_lossy().into_owned()
}

/// Exit code and error text of a start that fails.
fn failed_start(args: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(larder()).args(["--port", "0"]).args(args).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

/// A line of INFO.
fn figure(client: &mut Client, section: &str, name: &str) -> String {
    let info = client.cmd(&["INFO", section]).text();
    let line = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("no {name} in {info}")).to_owned()
}

#[test]
fn what_is_missing_is_refused_by_name() {
    let (code, text) = failed_start(&["--rdma-port", "7001"]);
    assert!(code == Some(1) && text.contains("RDMA is not supported"), "{text}");
    let server = Server::larder(&[]);
    let mut client = server.client();
    let answer = client.ask("CONFIG SET rdma-port 7001").text();
    assert!(answer.contains("RDMA is not supported"), "{answer}");
    // The number of threads, by both of its names, is one for the start.
    for name in ["io-threads", "threads"] {
        let answer = client.cmd(&["CONFIG", "SET", name, "3"]).text();
        let error = format!(
            "ERR CONFIG SET failed (possibly related to argument '{name}') - can't set immutable config"
        );
        assert_eq!(answer, error);
    }
    // A line of a file does not start Sentinel; the argument does, which is for `tests/image.rs`.
    let dir = larder_testkit::temp_dir();
    let file = dir.join("l.conf");
    std::fs::write(&file, "sentinel\n").unwrap();
    let (code, text) = failed_start(&["--include", &file.display().to_string()]);
    std::fs::remove_dir_all(dir).unwrap();
    assert!(code == Some(1) && text.contains("Sentinel mode is not supported"), "{text}");
    let (code, text) = failed_start(&["--locale-collate", "de_DE.UTF-8"]);
    assert!(code == Some(1) && text.contains("Invalid locale name"), "{text}");
}

/// Options that tune how other servers do something: a server starts with them, and says that they have no effect.
#[test]
fn what_only_tunes_other_servers_is_accepted() {
    const OPTIONS: [(&str, &str); 7] = [
        ("crash-memcheck-enabled", "yes"),
        ("dual-channel-replication-enabled", "yes"),
        ("enable-debug-assert", "yes"),
        ("rdma-bind", "127.0.0.1"),
        ("rdma-completion-vector", "1"),
        ("rdma-rx-size", "2097152"),
        ("tls-dh-params-file", "none.pem"),
    ];
    // Of Redis 8 and its modules, which Valkey does not know.
    const OF_REDIS: [&str; 8] = [
        "bf-error-rate",
        "cf-bucket-size",
        "cluster-compatibility-sample-ratio",
        "repl-rdb-channel",
        "replica-full-sync-buffer-limit",
        "search-min-prefix",
        "ts-num-threads",
        "vset-force-single-threaded-execution",
    ];
    let dir = larder_testkit::temp_dir();
    let file = dir.join("l.conf");
    let mut lines = "events-per-io-thread 2\n".to_owned();
    OPTIONS.iter().for_each(|(name, value)| lines += &format!("{name} {value}\n"));
    OF_REDIS.iter().for_each(|name| lines += &format!("{name} 1\n"));
    fs::write(&file, lines).unwrap();
    let server = Server::larder_with_file(&file);
    let mut client = server.client();
    let log = server.log();
    for (name, value) in OPTIONS {
        assert!(log.contains(&format!("# The option '{name} {value}' has no effect: ")), "{name}: {log}");
        assert_eq!(client.cmd(&["CONFIG", "GET", name]).items()[1].text(), value);
    }
    for name in OF_REDIS {
        assert!(
            log.contains(&format!("# The option '{name}' has no effect: only Redis has it.")),
            "{name}: {log}"
        );
        assert!(client.cmd(&["CONFIG", "GET", name]).items().is_empty(), "{name}");
        assert!(client.cmd(&["CONFIG", "SET", name, "1"]).is_error(), "{name}");
    }
    assert!(!log.contains("events-per-io-thread"), "Valkey accepts it in silence: {log}");
    client.ask("CONFIG SET crash-memcheck-enabled no");
    client.ask("CONFIG SET crash-memcheck-enabled yes");
    let warnings = server.log().matches("The option 'crash-memcheck-enabled yes' has no effect").count();
    assert_eq!(warnings, 2, "CONFIG SET warns too");
    fs::remove_dir_all(dir).unwrap();
}

/// The options of Redis 8 that are accepted exist there.
#[test]
fn what_only_redis_has_is_an_option_of_redis() {
    let redis = Server::redis8(&[]);
    let mut client = redis.client();
    for name in ["cluster-compatibility-sample-ratio", "repl-rdb-channel", "replica-full-sync-buffer-limit"] {
        assert_eq!(client.cmd(&["CONFIG", "GET", name]).items().len(), 2, "{name}");
    }
}

/// Options that say only how something works which is not there, with values of a grown configuration file.
#[test]
fn a_file_with_tuned_options_loads() {
    let lines = [
        "cluster-node-timeout 5000",
        "repl-backlog-size 64mb",
        "replica-priority 10",
        "masterauth secret",
        "io-threads-do-reads yes",
        "dynamic-hz no",
        "sanitize-dump-payload yes",
        "loading-process-events-interval-bytes 4096",
        "lua-enable-insecure-api yes",
        "io-threads-always-active yes",
        "min-io-threads-avoid-copy-reply 3",
        "min-string-size-avoid-copy-reply 100",
        "slot-migration-max-failover-repl-bytes -1",
        "enable-debug-assert no",
        "debug-context a",
        "locale-collate C",
    ];
    for kind in [Kind::Larder, Kind::Valkey] {
        let args: Vec<String> = lines
            .iter()
            .flat_map(|line| {
                let (name, value) = line.split_once(' ').unwrap();
                [format!("--{name}"), value.to_owned()]
            })
            .collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let server = Server::of(kind, &args);
        assert_eq!(server.client().ask("PING").text(), "PONG", "{}", kind.name());
    }
}

#[test]
fn the_unix_socket_has_its_group_and_permissions() {
    let group = fs::read_to_string("/etc/group").unwrap();
    // Whoever runs the test may give files to his own group.
    let own = String::from_utf8(Command::new("id").arg("-gn").output().unwrap().stdout).unwrap();
    let gid: u32 = group
        .lines()
        .find_map(|line| line.strip_prefix(own.trim())?.strip_prefix(":x:")?.split(':').next()?.parse().ok())
        .expect("the own group is known");
    let server =
        Server::larder(&["--unixsocket", "s", "--unixsocketgroup", own.trim(), "--unixsocketperm", "710"]);
    let meta = fs::metadata(server.dir().join("s")).unwrap();
    assert_eq!((meta.gid(), meta.permissions().mode() & 0o777), (gid, 0o710));
    let (code, text) =
        failed_start(&["--unixsocket", "/tmp/larder-no-such.sock", "--unixsocketgroup", "no such"]);
    assert!(code == Some(1) && text.contains("no group 'no such'"), "{text}");
}

/// A mark takes privileges, and Multipath TCP a kernel that has it: with or without them, Larder starts where Valkey does.
#[test]
fn sockets_of_other_kinds() {
    for args in [["--mptcp", "yes"], ["--repl-mptcp", "yes"], ["--socket-mark-id", "7"]] {
        let starts = |kind: Kind| {
            let program = kind.program();
            let mut child = Command::new(program)
                .args(["--port", "0", "--save", "", "--unixsocket", "/nowhere/larder.sock"])
                .args(args)
                .stdout(std::process::Stdio::null())
                .stderr(std::process::Stdio::null())
                .spawn()
                .unwrap();
            // It cannot: there is no place for the socket. What counts is that the option is accepted before.
            child.wait().unwrap().code()
        };
        assert_eq!(starts(Kind::Larder), starts(Kind::Valkey), "{args:?}");
    }
    let server = Server::larder(&["--max-new-connections-per-cycle", "1", "--tcp-backlog", "64"]);
    let clients: Vec<Client> = (0..50).map(|_| server.client()).collect();
    for mut client in clients {
        assert_eq!(client.ask("PING").text(), "PONG");
    }
}

fn command_line(server: &Server) -> String {
    let bytes = fs::read(format!("/proc/{}/cmdline", server.pid())).unwrap();
    String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned()
}

#[test]
fn the_title_of_the_process() {
    let server = Server::larder(&["--proc-title-template", "{title} [{port}] {server-mode}"]);
    assert_eq!(command_line(&server), format!("{} [{}]", larder(), server.port()));
    let mut client = server.client();
    let template =
        "{listen-addr} and so on, longer than all arguments together would leave room for it to be in memory";
    assert_eq!(client.cmd(&["CONFIG", "SET", "proc-title-template", template]).text(), "OK");
    assert!(command_line(&server).ends_with("leave room for it to be in memory"));
    let server = Server::larder(&["--set-proc-title", "no"]);
    assert!(command_line(&server).contains("--set-proc-title"));
}

/// The title begins with the name under which the server was started, as Valkey's: probes look for it.
#[test]
fn the_title_has_the_name_of_the_program() {
    let dir = larder_testkit::temp_dir();
    let name = dir.join("valkey-server");
    std::os::unix::fs::symlink(larder(), &name).unwrap();
    let server = Server::start(&[&name.to_string_lossy()], &["--bind", "127.0.0.1"]);
    assert_eq!(command_line(&server), format!("{} 127.0.0.1:{}", name.display(), server.port()));
    fs::remove_dir_all(dir).unwrap();
}

/// `--check-system` names what Valkey checks, and exits with 1 if something is wrong; `--test-memory` takes a number of megabytes.
#[test]
fn the_system_and_the_memory_are_tested() {
    let run = |kind: Kind, args: &[&str]| {
        let output = Command::new(kind.program()).args(args).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let checks = |text: &str| {
        let names = text.lines().filter_map(|line| line.strip_prefix('[')?.split_once("]..."));
        names.map(|(name, verdict)| (name.to_owned(), verdict.to_owned())).collect::<Vec<_>>()
    };
    let [(code, ours), (_, theirs)] = [Kind::Larder, Kind::Valkey].map(|kind| run(kind, &["--check-system"]));
    let (ours, theirs) = (checks(&ours), checks(&theirs));
    assert_eq!(
        ours.iter().map(|check| &check.0).collect::<Vec<_>>(),
        theirs.iter().map(|check| &check.0).collect::<Vec<_>>()
    );
    let is_fine = ours.iter().all(|(_, verdict)| verdict != "WARNING:");
    assert_eq!(code, Some(i32::from(!is_fine)), "{ours:?}");
    for (args, expected) in [(&["--test-memory", "1"][..], 0), (&["--test-memory"], 1)] {
        let [ours, theirs] = [Kind::Larder, Kind::Valkey].map(|kind| run(kind, args));
        assert_eq!((ours.0, theirs.0), (Some(expected), Some(expected)), "{args:?}");
        let passed = |text: &str| text.contains("Your memory passed this test.");
        assert_eq!((passed(&ours.1), passed(&theirs.1)), (expected == 0, expected == 0), "{args:?}");
    }
    assert_eq!(run(Kind::Larder, &["--test-memory", "much"]).0, Some(1));
}

#[test]
fn systemd_is_told() {
    let path = std::env::temp_dir().join(format!("larder-notify-{}", std::process::id()));
    let _ = fs::remove_file(&path);
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let variable = format!("NOTIFY_SOCKET={}", path.display());
    let mut server =
        Server::start(&["env", &variable, &larder()], &["--supervised", "systemd", "--daemonize", "yes"]);
    let mut bytes = [0; 512];
    let mut read = || {
        let n = socket.recv(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes[..n]).into_owned()
    };
    assert!(read().contains("READY=1"));
    assert_eq!(figure(&mut server.client(), "server", "process_supervised"), "systemd");
    server.stop();
    assert!(read().contains("STOPPING=1"));
    fs::remove_file(path).unwrap();
}

#[test]
fn threads_run_where_they_are_told_to() {
    let lists = ["server-cpulist", "bio-cpulist", "bgsave-cpulist", "aof-rewrite-cpulist"];
    let args: Vec<String> = lists.iter().flat_map(|name| [format!("--{name}"), "0".to_owned()]).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let server = Server::larder(&[&args[..], &["--io-threads", "2"]].concat());
    for name in ["worker-0", "worker-1", "larder-free", "larder-pack"] {
        let thread = server.thread(name);
        wait_until(name, || {
            let status = fs::read_to_string(thread.join("status")).unwrap();
            let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
            list.map(str::trim) == Some("0")
        });
    }
    let server = Server::larder(&["--server-cpulist", "x-1"]);
    server.wait_for_log("server-cpulist: 'x-1' is not a list of processors");
}

#[test]
fn the_logo_is_for_those_who_look_on() {
    let plain = Server::larder(&[]).wait_for_log("Ready to accept connections");
    assert!(
        plain.find("Running mode=standalone, port=").unwrap() < plain.find("Server initialized").unwrap()
    );
    let drawn = Server::larder(&["--always-show-logo", "yes"]).wait_for_log("Ready to accept connections");
    assert!(drawn.find("PID:").unwrap() < drawn.find("Server initialized").unwrap(), "{drawn}");
    let syslog = ["--syslog-enabled", "yes", "--syslog-ident", "larder-test", "--syslog-facility", "local3"];
    assert!(Server::larder(&syslog).wait_for_log("Ready to accept").contains("Running mode"));
    let mut silent = Server::larder(&["--loglevel", "nothing"]);
    assert_eq!(silent.client().ask("PING").text(), "PONG");
    silent.stop();
    assert_eq!(silent.log(), "");
}

#[test]
fn a_panic_ends_with_an_exit_code() {
    let mut server = Server::larder(&["--use-exit-on-panic", "yes", "--debug-context", "the third of five"]);
    server.client().send(&["DEBUG", "PANIC"]);
    assert_eq!(server.wait().code(), Some(1));
    assert!(server.log().contains("the third of five"));
}

#[test]
fn what_the_server_says_it_is() {
    let server = Server::larder(&["--availability-zone", "eu-1a"]);
    let mut client = server.client();
    assert_eq!(figure(&mut client, "server", "availability_zone"), "eu-1a");
    let says = |client: &mut Client| {
        let hello = client.ask("HELLO").items().iter().take(4).map(Value::text).collect::<Vec<_>>().join(" ");
        (hello, client.ask("LOLWUT").text())
    };
    let (hello, art) = says(&mut client);
    assert!(hello == "server valkey version 9.1.2" && art.contains("Valkey ver. 9.1.2"), "{hello} {art}");
    client.ask("CONFIG SET extended-redis-compatibility yes");
    let (hello, art) = says(&mut client);
    assert!(hello == "server redis version 7.2.4" && art.contains("Redis ver. 7.2.4"), "{hello} {art}");
}

/// Large values, and how many of them are freed in the background, with each option on and off.
#[test]
fn freeing_in_the_background() {
    let cases = [
        ("lazyfree-lazy-user-del", "DEL big"),
        ("lazyfree-lazy-user-del", "UNLINK big"),
        ("lazyfree-lazy-server-del", "SET big x"),
        ("lazyfree-lazy-server-del", "RENAME small big"),
        ("lazyfree-lazy-expire", "PEXPIRE big -1"),
        ("lazyfree-lazy-user-flush", "FLUSHALL"),
        ("lazyfree-lazy-user-flush", "FLUSHDB ASYNC"),
        ("lazyfree-lazy-user-flush", "FLUSHDB SYNC"),
    ];
    let servers = [Kind::Larder, Kind::Valkey].map(|kind| Server::of(kind, &[]));
    for (option, command) in cases {
        for value in ["yes", "no"] {
            let freed = servers.each_ref().map(|server| {
                let mut client = server.client();
                client.ask(&format!("CONFIG SET {option} {value}"));
                client.ask("FLUSHALL SYNC");
                client.ask("CONFIG RESETSTAT");
                let fill = "for i=1,8000 do redis.call('HSET',KEYS[1],i,string.rep('x',60)) end";
                client.cmd(&["EVAL", fill, "1", "big"]);
                client.ask("SET small 1");
                client.ask(command);
                wait_until("freeing", || figure(&mut client, "memory", "lazyfree_pending_objects") == "0");
                figure(&mut client, "memory", "lazyfreed_objects")
            });
            assert_eq!(freed[0], freed[1], "{option} {value}, {command}: larder, valkey");
        }
    }
}

#[test]
fn writes_wait_for_replicas_that_are_not_there() {
    let servers =
        [Kind::Larder, Kind::Valkey].map(|kind| Server::of(kind, &["--min-replicas-to-write", "1"]));
    let steps = [
        "SET k v",
        "PING",
        "GET k",
        "EVAL \"return redis.call('SET','k','v')\" 0",
        "EVAL \"return 1\" 0",
        "PUBLISH c m",
        "CONFIG SET min-replicas-max-lag 0",
        "SET k v",
        "CONFIG SET min-replicas-max-lag 10 min-replicas-to-write 0",
        "SET k v",
    ];
    let answers = servers.each_ref().map(|server| {
        let mut client = server.client();
        steps.map(|step| client.ask(step).text())
    });
    assert_eq!(answers[0], answers[1]);
    assert!(answers[0][0].starts_with("NOREPLICAS"), "{}", answers[0][0]);
}

/// A key that is overdue, but not deleted yet, uses memory.
#[test]
fn memory_of_overdue_keys() {
    for kind in [Kind::Larder, Kind::Valkey] {
        let server = Server::of(kind, &[]);
        let mut client = server.client();
        client.ask("DEBUG SET-ACTIVE-EXPIRE 0");
        client.ask("SET k v PX 1");
        client.ask("DEBUG SLEEP 0.01");
        let replies = ["MEMORY USAGE k", "GET k", "MEMORY USAGE k"].map(|line| client.ask(line));
        assert!(replies[0].int() > 0 && replies[1..] == [Value::NullBulk, Value::NullBulk], "{replies:?}");
    }
}

#[test]
fn importing_keeps_what_has_expired() {
    let servers = [Kind::Larder, Kind::Valkey].map(|kind| Server::of(kind, &["--import-mode", "yes"]));
    // The first word says which of two clients; the second imports.
    let steps = [
        "2 CLIENT IMPORT-SOURCE ON",
        "2 SET k v PXAT 1000",
        "1 SET other v PXAT 1000",
        "2 HSETEX h PXAT 1000 FIELDS 1 f v",
        "1 GET k",
        "2 GET k",
        "2 PTTL k",
        "1 TTL k",
        "1 DBSIZE",
        "2 GET other",
        "1 EXISTS k",
        "1 HGET h f",
        "2 HGET h f",
        "2 SET n 5 PXAT 1000",
        "1 INCR n",
        "2 GET n",
        "1 EXPIRE other -1",
        "2 GET other",
        "1 GET k",
        "2 GET k",
        "2 EXPIRE k -1",
        "2 GET k",
        "1 GET k",
        "2 SET k2 v PXAT 1000",
        "1 DEL k2",
        "2 EXISTS k2",
        "2 SET k2 v PXAT 1000",
        "1 UNLINK k2",
        "2 SET k2 v PXAT 1000",
        "1 GETEX k2 PERSIST",
        "2 GETEX k2 PERSIST",
        "2 SET k2 v PXAT 1000",
        "1 GETDEL k2",
        "2 GETDEL k2",
        "2 SET k2 v PXAT 1000",
        "1 RENAME k2 k3",
        "2 RENAME k2 k3",
        "1 PERSIST k3",
        "2 COPY k3 k4",
        "1 COPY k3 k4 REPLACE",
        "1 DEL k3 k4",
        "2 HSETEX hf PXAT 1000 FIELDS 1 f v",
        "1 HLEN hf",
        "2 HLEN hf",
        "1 HGETALL hf",
        "1 HDEL hf f",
        "2 HEXISTS hf f",
        "1 HSET hf g v",
        "1 HLEN hf",
        "1 HDEL hf g",
        "1 EXISTS hf",
        "2 HDEL hf f",
        "1 EXISTS hf",
        "2 RPUSH list a",
        "2 PEXPIREAT list 1000",
        "1 LLEN list",
        "2 LLEN list",
        "1 RPUSH list b",
        "2 LRANGE list 0 -1",
        "1 DEL list",
        "2 CLIENT IMPORT-SOURCE OFF",
        "2 GET k",
        "1 CONFIG SET import-mode no",
        "2 CLIENT IMPORT-SOURCE ON",
        "1 GET k",
        "1 EXISTS k",
    ];
    let answers = servers.each_ref().map(|server| {
        let mut clients = [server.client(), server.client()];
        steps.map(|step| {
            let (who, command) = step.split_once(' ').unwrap();
            format!("{step}: {:?}", clients[usize::from(who == "2")].ask(command))
        })
    });
    for (ours, theirs) in answers[0].iter().zip(&answers[1]) {
        assert_eq!(ours, theirs);
    }
    let mut client = servers[0].client();
    wait_until("expiry", || client.ask("DBSIZE").int() == 1);
}

#[test]
fn files_have_the_names_that_are_configured() {
    let args = [
        "--appendonly",
        "yes",
        "--appendfilename",
        "writes",
        "--appenddirname",
        "logs",
        "--dbfilename",
        "data",
    ];
    let server = Server::larder(&args);
    let mut client = server.client();
    client.ask("SET k v");
    assert_eq!(client.ask("SAVE").text(), "OK");
    for name in ["data", "logs/writes.manifest", "logs/writes.1.base.rdb", "logs/writes.1.incr.aof"] {
        assert!(server.dir().join(name).exists(), "{name}");
    }
}

#[test]
fn versions_of_files() {
    // A file of a later Redis with one string, with and without a right checksum.
    let head = [&b"REDIS0012\xfe\x00"[..], b"\x00\x01k\x01v\xff"].concat();
    for kind in [Kind::Larder, Kind::Valkey] {
        let loads = |sum: &[u8; 8], args: &[&str]| {
            let mut server = Server::of(kind, &[]);
            server.stop();
            fs::write(server.dir().join("dump.rdb"), [&head[..], sum].concat()).unwrap();
            server.start_again(args) && server.client().ask("GET k").text() == "v"
        };
        assert!(!loads(&[0; 8], &[]), "{}", kind.name());
        assert!(loads(&[0; 8], &["--rdb-version-check", "relaxed"]), "{}", kind.name());
        assert!(!loads(&[1; 8], &["--rdb-version-check", "relaxed"]), "{}", kind.name());
        assert!(
            loads(&[1; 8], &["--rdb-version-check", "relaxed", "--rdbchecksum", "no"]),
            "{}",
            kind.name()
        );
    }
}

#[test]
fn a_log_with_a_command_that_fails() {
    for kind in [Kind::Larder, Kind::Valkey] {
        let mut server = Server::of(kind, &["--appendonly", "yes", "--appendfsync", "always"]);
        server.client().ask("SET s x");
        server.stop();
        let log = server.dir().join("appendonlydir/appendonly.aof.1.incr.aof");
        let mut bytes = fs::read(&log).unwrap();
        bytes.extend_from_slice(b"*3\r\n$5\r\nLPUSH\r\n$1\r\ns\r\n$1\r\ny\r\n");
        fs::write(&log, bytes).unwrap();
        let args = ["--appendonly", "yes", "--propagation-error-behavior"];
        assert!(!server.start_again(&[&args[..], &["panic"]].concat()), "{}", kind.name());
        assert!(server.start_again(&[&args[..], &["ignore"]].concat()), "{}", kind.name());
    }
}

#[test]
fn files_that_are_not_needed_may_stay() {
    for (value, stays) in [("no", false), ("yes", true)] {
        let server = Server::larder(&["--appendonly", "yes", "--aof-disable-auto-gc", value]);
        let mut client = server.client();
        client.ask("BGREWRITEAOF");
        wait_until("the rewrite", || figure(&mut client, "persistence", "aof_rewrites") == "1");
        wait_until("cleaning up", || {
            server.dir().join("appendonlydir/appendonly.aof.1.base.rdb").exists() == stays
        });
    }
}

/// While something is saved, the log is written and not synced.
#[test]
fn syncs_are_spared_while_something_is_saved() {
    let args =
        ["--appendonly", "yes", "--no-appendfsync-on-rewrite", "yes", "--rdb-key-save-delay", "100000000"];
    let server = Server::larder(&args);
    let mut client = server.client();
    client.ask("SET a 1");
    wait_until("the first sync", || figure(&mut client, "persistence", "aof_pending_bio_fsync") == "0");
    client.ask("BGSAVE");
    client.ask("SET a 2");
    let begun = Instant::now();
    wait_until("twice the time of a sync", || begun.elapsed() > Duration::from_millis(2200));
    assert_eq!(figure(&mut client, "persistence", "aof_pending_bio_fsync"), "1");
    client.ask("CONFIG SET no-appendfsync-on-rewrite no");
    wait_until("the sync", || figure(&mut client, "persistence", "aof_pending_bio_fsync") == "0");
}

/// The score at which the kernel ends the process for lack of memory: as Valkey sets it, and as it was after a CONFIG SET that
/// fails.
#[test]
fn the_score_for_lack_of_memory() {
    let steps = [
        "CONFIG SET oom-score-adj relative oom-score-adj-values \"10 20 30\"",
        "CONFIG SET oom-score-adj-values \"40 50 60\"",
        "CONFIG SET oom-score-adj absolute",
        "CONFIG SET oom-score-adj-values \"70 80 90\" port 1 bind 192.0.2.1",
        "CONFIG SET oom-score-adj no",
        "CONFIG SET oom-score-adj yes oom-score-adj-values \"50 60 70\"",
        "CONFIG SET oom-score-adj no",
    ];
    let scores = [Kind::Larder, Kind::Valkey].map(|kind| {
        let server = Server::of(kind, &[]);
        let mut client = server.client();
        steps.map(|step| {
            let answer = client.ask(step).text();
            let path = format!("/proc/{}/oom_score_adj", server.pid());
            let values = client.ask("CONFIG GET oom-score-adj-values").items()[1].text();
            (step, answer.starts_with("OK"), fs::read_to_string(path).unwrap().trim().to_owned(), values)
        })
    });
    assert_eq!(scores[0], scores[1]);
    assert!(!scores[0][3].1, "{:?}", scores[0]);
}
