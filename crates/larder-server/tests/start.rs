//! Starting and stopping: configuration errors, ports, files, signals.

use larder_testkit::{Client, Kind, Port, RawClient, Server, failed_start, temp_dir};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn with_config(dir: &Path, text: &str) -> (Option<i32>, String, String) {
    std::fs::write(dir.join("l.conf"), text).unwrap();
    failed_start(dir, &["l.conf", "--port", "0"])
}

#[test]
fn configuration_errors_name_the_line() {
    let dir = temp_dir();
    let version = env!("CARGO_PKG_VERSION");
    let fatal = |place: &str, text: &str, message: &str| {
        format!(
            "\n*** FATAL CONFIG FILE ERROR (Larder {version}) ***\nReading {place}\n>>> '{text}'\n{message}\n"
        )
    };
    let (code, _, stderr) = with_config(&dir, "# c\n\nfoo bar\n");
    let message = "l.conf, line 3: unknown option \"foo\" (Bad directive or wrong number of arguments)";
    assert_eq!(
        (code, stderr),
        (Some(1), fatal("the configuration file 'l.conf', at line 3", "foo bar", message))
    );
    let (code, _, stderr) = with_config(&dir, "timeout -1");
    let message = "l.conf, line 1: option \"timeout\": argument must be between 0 and 2147483647 inclusive";
    assert_eq!(
        (code, stderr),
        (Some(1), fatal("the configuration file 'l.conf', at line 1", "timeout -1", message))
    );
    let (code, _, stderr) = failed_start(&dir, &["--maxmemroy", "1gb"]);
    let message = "command line: unknown option \"maxmemroy\"; did you mean \"maxmemory\"? (Bad directive or wrong \
                   number of arguments)";
    assert_eq!((code, stderr), (Some(1), fatal("the command line", "maxmemroy \"1gb\"", message)));
    let (code, _, stderr) = with_config(&dir, "logfile /nowhere/l.log\n");
    assert_eq!(code, Some(1));
    assert!(stderr.ends_with("Can't open the log file: No such file or directory\n"), "{stderr}");
    std::fs::remove_dir_all(dir).unwrap();
}

/// Every problem is reported at once, with its place; nothing is started, and no file is made.
#[test]
fn a_check_of_the_configuration_reports_all_problems() {
    let dir = temp_dir();
    let lines = "maxmemroy 1gb\nport x\nsave 1\nloadmodule m.so\ninlcude other.conf\nlogfile none/l.log\naclfile a.acl\n\
                 tls-port 7001\nrequirepass \"a\ncrash-memcheck-enabled yes\n";
    std::fs::write(dir.join("l.conf"), lines).unwrap();
    let (code, stdout, stderr) = failed_start(&dir, &["--check-config", "l.conf", "--hz", "y"]);
    assert_eq!((code, stderr.as_str()), (Some(1), ""));
    for problem in [
        "l.conf, line 1: unknown option \"maxmemroy\"; did you mean \"maxmemory\"?",
        "l.conf, line 2: option \"port\": argument couldn't be parsed into an integer",
        "l.conf, line 3: option \"save\": Invalid save parameters",
        "loadmodule m.so: modules are not supported",
        "l.conf, line 5: unknown option \"inlcude\"; did you mean \"include\"?",
        "l.conf, line 9: Unbalanced quotes",
        "command line: option \"hz\": argument couldn't be parsed into an integer",
        "logfile none/l.log: No such file or directory",
        "aclfile a.acl: No such file or directory",
        "No tls-cert-file configured!",
        "warning: The option 'crash-memcheck-enabled yes' has no effect",
        "10 problems found.",
    ] {
        assert!(stdout.contains(problem), "{problem}: {stdout}");
    }
    let advice = stdout.lines().filter(|line| line.starts_with("    ") && !line.starts_with("    >>>"));
    assert_eq!(advice.count(), 10, "{stdout}");
    let (code, stdout, _) = failed_start(&dir, &["--check-config", "none.conf"]);
    assert!(code == Some(1) && stdout.contains("none.conf: cannot be read: No such file"), "{stdout}");
    let (code, _, stderr) = failed_start(&dir, &["--check-config"]);
    assert!(code == Some(1) && stderr.starts_with("No file to check."), "{stderr}");

    std::fs::write(dir.join("l.conf"), "port 7000\nlogfile l.log\naclfile a.acl\n").unwrap();
    std::fs::write(dir.join("a.acl"), "user ann on +nosuch\n").unwrap();
    let (code, stdout, _) = failed_start(&dir, &["--check-config", "l.conf"]);
    assert!(code == Some(1) && stdout.contains("1 problem found."), "{stdout}");
    std::fs::write(dir.join("a.acl"), "user ann on +get\n").unwrap();
    let (code, stdout, _) = failed_start(&dir, &["--check-config", "l.conf"]);
    assert_eq!((code, stdout.as_str()), (Some(0), "The configuration is valid.\n"));
    assert!(!dir.join("l.log").exists());
    std::fs::remove_dir_all(dir).unwrap();
}

/// The output of a call that starts no server.
fn output(args: &[&str]) -> String {
    let output = Command::new(Kind::Larder.program()).args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Larder's own version and the commit come first; the version of the protocol stands where tools look for it.
#[test]
fn the_version_names_the_commit() {
    let line = output(&["--version"]);
    let rest = line.strip_prefix(concat!("Larder ", env!("CARGO_PKG_VERSION"), " (commit ")).unwrap();
    let (commit, rest) = rest.split_once(") v=9.1.2 sha=").unwrap();
    assert!(commit.len() == 12 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()), "{line}");
    let (sha, rest) = rest.split_once(":0 malloc=jemalloc").unwrap();
    assert!(commit.starts_with(sha) && sha.len() == 8, "{line}");
    let build = rest.trim_end().split_once("build=").unwrap().1;
    let server = Server::larder(&[]);
    let info = server.client().ask("INFO server").text();
    for field in [format!("redis_git_sha1:{sha}\r\n"), format!("redis_build_id:{build}\r\n")] {
        assert!(info.contains(&field), "{field}: {info}");
    }
    assert!(server.log().contains(&format!("commit={commit}, ")), "{}", server.log());
}

#[test]
fn the_help_lists_common_options() {
    let help = output(&["--help"]);
    for text in
        ["Usage: larder-server", "Memory:", "  --maxmemory BYTES ", "  --port PORT ", "[default: 6379]"]
    {
        assert!(help.contains(text), "{text}: {help}");
    }
    assert!(help.lines().filter(|line| line.starts_with("  --")).count() > 20, "{help}");
}

/// A start without trouble writes no warning, with a configuration and without one.
#[test]
fn a_normal_start_warns_of_nothing() {
    for args in [&[][..], &["--appendonly", "yes"]] {
        let server = Server::larder(args);
        server.wait_for_log("Ready to accept connections");
        let log = server.log();
        let warnings: Vec<&str> = log.lines().filter(|line| line.contains(" # ")).collect();
        assert!(warnings.is_empty(), "{warnings:?}");
    }
}

#[test]
fn unreadable_files() {
    let dir = temp_dir();
    let (code, stdout, _) = failed_start(&dir, &["nope.conf"]);
    assert_eq!(code, Some(1));
    assert!(stdout.contains("# Fatal error, can't open config file 'nope.conf': No such file or directory"));
    let (code, stdout, _) = with_config(&dir, "include nope.conf\n");
    assert_eq!(code, Some(1));
    assert!(stdout.contains("can't open config file 'nope.conf'"));
    std::fs::remove_dir_all(dir).unwrap();
}

/// Files are included in the order of their names, hidden ones are not, and patterns are those of the C library.
#[test]
fn patterns_of_included_files() {
    let dir = temp_dir();
    for (name, timeout) in [("b", 2), ("a", 1), (".c", 3), ("x", 4)] {
        std::fs::write(dir.join(format!("{name}.conf")), format!("timeout {timeout}\n")).unwrap();
    }
    let file = dir.join("main");
    for (pattern, timeout) in [
        ("*.conf", "4"),
        (".*.conf", "3"),
        ("[^x].conf", "2"),
        ("[!bx].conf", "1"),
        ("[[:alpha:]].conf", "4"),
        ("\\a.con?", "1"),
        ("[b.conf", "0"),
        ("nothing*", "0"),
    ] {
        std::fs::write(&file, format!("include {}/{pattern}\n", dir.display())).unwrap();
        let server = Server::larder_with_file(&file);
        assert_eq!(server.client().ask("CONFIG GET timeout").items()[1].text(), timeout, "{pattern}");
    }
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn a_port_in_use() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let dir = temp_dir();
    let (code, stdout, _) = failed_start(&dir, &["--port", &port, "--bind", "127.0.0.1"]);
    assert_eq!(code, Some(1));
    let warning = "Warning: Could not create server TCP listening socket 127.0.0.1";
    assert!(stdout.contains(&format!("{warning}:{port}: bind: Address already in use")), "{stdout}");
    assert!(stdout.contains(&format!("Failed listening on port {port} (tcp), aborting.")), "{stdout}");
    let (code, stdout, _) = failed_start(&dir, &["--port", "0"]);
    assert_eq!(code, Some(1));
    assert!(stdout.contains("Configured to not listen anywhere, exiting."));
    std::fs::remove_dir_all(dir).unwrap();
}

/// The first answer of a server that starts again, of which the port is asked for from the beginning.
fn first_answer(server: &mut Server, args: &[&str]) -> String {
    server.spawn_again(args);
    let mut client = until(|| Client::connect(server.port()).ok());
    client.ask("PING").text()
}

/// A client that waits for the port is served when there is little to load, and told when there is much.
#[test]
fn connections_wait_while_little_is_loaded() {
    for kind in [Kind::Larder, Kind::Valkey] {
        let mut server = Server::of(kind, &[]);
        server.client().ask("DEBUG POPULATE 10 key");
        assert_eq!(server.client().ask("SAVE").text(), "OK");
        for _ in 0..10 {
            server.kill();
            let answer = first_answer(&mut server, &["--enable-debug-command", "yes"]);
            assert_eq!(answer, "PONG", "{kind:?}");
        }
        let (slow, often) =
            (["--key-load-delay", "1000"], ["--loading-process-events-interval-bytes", "1024"]);
        assert_eq!(server.client().ask("DEBUG POPULATE 3000 more 100").text(), "OK");
        assert_eq!(server.client().ask("SAVE").text(), "OK");
        server.kill();
        let answer = first_answer(&mut server, &[slow, often].concat());
        assert!(answer.starts_with("LOADING"), "{kind:?}: {answer}");
    }
    let logged = ["--appendonly", "yes"];
    let mut server = Server::larder(&logged);
    server.client().ask("SET a 1");
    for _ in 0..10 {
        server.kill();
        assert_eq!(first_answer(&mut server, &logged), "PONG");
    }
    // Little, but slowly: nobody waits for good.
    for number in 0..100 {
        server.client().ask(&format!("SET key{number} 1"));
    }
    server.kill();
    let answer = first_answer(&mut server, &[&logged[..], &["--key-load-delay", "50000"]].concat());
    assert!(answer.starts_with("LOADING"), "{answer}");
}

/// What supervisors send to groups of processes, and what the system sends for a file that has reached its limit.
#[test]
fn signals_without_effect() {
    for (kind, signals) in [
        (Kind::Larder, &["HUP", "PIPE", "USR2", "XFSZ", "ALRM"][..]),
        (Kind::Valkey, &["HUP", "PIPE", "USR2", "ALRM"]),
    ] {
        let mut server = Server::of(kind, &[]);
        for signal in signals {
            server.signal(signal);
            assert_eq!(server.raw_client().ask(&["PING"]), "+PONG\r\n", "{signal} of {kind:?}");
        }
        assert!(server.has_ended().is_none());
    }
}

/// The socket of a server that was killed makes room for the next. A file at its path is no such socket.
#[test]
fn a_file_at_the_path_of_the_socket_stays() {
    let dir = temp_dir();
    let path = dir.join("l.sock");
    std::fs::write(&path, "somebody's").unwrap();
    let (code, stdout, _) = failed_start(&dir, &["--port", "0", "--unixsocket", "l.sock"]);
    assert_eq!(code, Some(1), "{stdout}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "somebody's");
    std::fs::remove_dir_all(dir).unwrap();
    let mut server = Server::larder(&["--unixsocket", "l.sock"]);
    server.kill();
    assert!(server.dir().join("l.sock").exists());
    assert!(server.start_again(&["--unixsocket", "l.sock"]), "{}", server.log());
}

#[test]
fn log_lines_signals_and_files() {
    for signal in ["TERM", "INT"] {
        let mut server =
            Server::larder(&["--pidfile", "l.pid", "--unixsocket", "l.sock", "--unixsocketperm", "700"]);
        let pid = server.pid();
        for text in ["Larder is starting", "Configuration loaded", &format!("{pid}:M"), "Server initialized"]
        {
            server.wait_for_log(text);
        }
        assert_eq!(std::fs::read_to_string(server.dir().join("l.pid")).unwrap(), format!("{pid}\n"));
        let stream = UnixStream::connect(server.dir().join("l.sock")).unwrap();
        assert_eq!(RawClient::over(stream).ask(&["PING"]), "+PONG\r\n");
        server.signal(signal);
        server.wait_for_log(&format!("Received SIG{signal} scheduling shutdown..."));
        server.wait_for_log("User requested shutdown...");
        server.wait_for_log("Larder is now ready to exit, bye bye...");
        assert_eq!(server.wait().code(), Some(0));
        assert!(!server.dir().join("l.pid").exists());
        assert!(!server.dir().join("l.sock").exists());
    }
}

#[test]
fn the_configuration_is_rewritten() {
    let dir = temp_dir();
    let file = dir.join("l.conf");
    std::fs::write(&file, "# mine\ntimeout 5\n").unwrap();
    let server = Server::larder_with_file(&file);
    let mut client = server.raw_client();
    assert_eq!(client.ask(&["CONFIG", "SET", "timeout", "9"]), "+OK\r\n");
    assert_eq!(client.ask(&["CONFIG", "REWRITE"]), "+OK\r\n");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("# mine\ntimeout 9\n# Generated by CONFIG REWRITE\n"), "{text}");
    assert!(text.contains(&format!("port {}\n", server.port())), "{text}");
    // There may be passwords in it: who could not read it still cannot.
    for mode in [0o600, 0o640, 0o644] {
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(client.ask(&["CONFIG", "REWRITE"]), "+OK\r\n");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, mode);
    }
    let other = Server::larder(&[]);
    assert_eq!(
        other.raw_client().ask(&["CONFIG", "REWRITE"]),
        "-ERR The server is running without a config file\r\n"
    );
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn the_port_moves() {
    let server = Server::larder(&[]);
    let mut client = server.raw_client();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let busy = taken.local_addr().unwrap().port().to_string();
    let refused = client.ask(&["CONFIG", "SET", "port", &busy]);
    assert!(refused.contains("Unable to listen on this port. Check server logs."), "{refused}");
    assert_eq!(server.raw_client().ask(&["PING"]), "+PONG\r\n", "it still listens where it did");
    let other = Port::reserve();
    let port = other.number();
    assert_eq!(client.ask(&["CONFIG", "SET", "port", &port.to_string()]), "+OK\r\n");
    assert_eq!(client.ask(&["PING"]), "+PONG\r\n", "open connections stay");
    assert_eq!(RawClient::connect(port).unwrap().ask(&["PING"]), "+PONG\r\n");
}

/// Ends the process of a pidfile, if a test has not.
struct Background<'a>(&'a Path);

impl Drop for Background<'_> {
    fn drop(&mut self) {
        if let Ok(number) = std::fs::read_to_string(self.0) {
            let _ = Command::new("kill").args(["-KILL", number.trim()]).status();
        }
    }
}

/// `daemonize` gives the caller its prompt back; the server goes on without a terminal, in a session of its own, and its pidfile is
/// there as long as it is. The same for Valkey and Redis.
#[test]
fn servers_go_into_the_background() {
    for kind in [Kind::Larder, Kind::Valkey, Kind::Redis] {
        let (dir, port) = (temp_dir(), Port::reserve());
        let [pidfile, log] = ["pid", "log"].map(|name| dir.join(name));
        let _background = Background(&pidfile);
        let status = Command::new(kind.program())
            .args(["--daemonize", "yes", "--save", "", "--port", &port.number().to_string()])
            .args([Path::new("--dir"), &dir, Path::new("--pidfile"), &pidfile, Path::new("--logfile"), &log])
            .stdin(Stdio::null())
            .status()
            .unwrap();
        assert!(status.success(), "{}: {status}", kind.name());
        let mut client = until(|| Client::connect(port.number()).ok());
        let number = until(|| std::fs::read_to_string(&pidfile).ok().filter(|text| text.ends_with('\n')));
        assert!(client.ask("INFO server").text().contains(&format!("process_id:{}\r\n", number.trim())));
        // Fields of the kernel: parent, group, session, terminal.
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", number.trim())).unwrap();
        let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
        assert_eq!([fields[2], fields[3], fields[4]], [number.trim(), number.trim(), "0"], "{}", kind.name());
        for stream in 0..3 {
            let target = std::fs::read_link(format!("/proc/{}/fd/{stream}", number.trim())).unwrap();
            assert_eq!(target, Path::new("/dev/null"), "{}: {stream}", kind.name());
        }
        client.send(&["SHUTDOWN"]);
        until(|| (!pidfile.exists()).then_some(()));
        // Its last word goes to the log after that.
        until(|| std::fs::remove_dir_all(&dir).ok());
    }
}

/// Asks until there is an answer.
fn until<T>(mut ask: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < deadline, "it takes too long");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A client that sees its connection close after SHUTDOWN may start another server in the place of this one at once.
#[test]
fn no_connection_is_accepted_after_shutdown() {
    for round in 0..20 {
        let threads = if round % 2 == 0 { "1" } else { "4" };
        let server = Server::larder(&["--threads", threads, "--unixsocket", "s"]);
        let mut client = server.client();
        client.send(&["SHUTDOWN"]);
        assert!(client.read().is_err(), "the connection closes");
        assert!(Client::connect(server.port()).is_err(), "round {round}: a TCP connection is accepted");
        assert!(
            Client::connect_unix(&server.dir().join("s")).is_err(),
            "round {round}: a connection is accepted"
        );
    }
}
