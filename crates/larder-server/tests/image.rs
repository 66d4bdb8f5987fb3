//! The compatible image: its entry point, the names of its programs, the commands and configurations of charts and
//! operators. Everything runs unprivileged: where the image is root, stand-ins for `id`, `find` and `setpriv` record what
//! they are asked to do.

use larder_testkit::{Client, Kind, Port, Server, peer_path, temp_dir};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// A folder with the programs of the image, which takes the place of its root.
struct Image(PathBuf);

fn packaging() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging")
}

impl Image {
    /// Prepares the folder as the image is prepared, and puts Valkey's tools where the links lead.
    fn new() -> Image {
        let image = Image(temp_dir());
        fs::create_dir_all(image.bin()).unwrap();
        let server = fs::canonicalize(Kind::Larder.program()).unwrap();
        symlink(server, image.bin().join("larder-server")).unwrap();
        let script = packaging().join("image/install.sh");
        assert!(Command::new(script).arg(&image.0).status().unwrap().success());
        image
    }

    fn bin(&self) -> PathBuf {
        self.0.join("usr/local/bin")
    }

    /// Puts a script before the programs of the system.
    fn stand_in(&self, name: &str, lines: &str) {
        let path = self.bin().join(name);
        let _ = fs::remove_file(&path);
        fs::write(&path, format!("#!/bin/sh\n{lines}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Scripts in place of the servers, which print how they were started.
    fn record_servers(&self) {
        for name in ["valkey-server", "redis-server", "larder-server"] {
            self.stand_in(name, "echo \"$(basename \"$0\")\" \"$@\"; umask; pwd");
        }
    }

    /// A folder that is the working directory, as /data is in the image.
    fn data(&self) -> PathBuf {
        self.0.join("data")
    }

    fn path(&self) -> String {
        let system = std::env::var("PATH").unwrap();
        format!("{}:{system}", self.bin().display())
    }

    /// Runs the entry point as a user other than root, or the one that a stand-in says.
    fn run(&self, umask: &str, variables: &[(&str, &str)], words: &[&str]) -> Output {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("umask {umask}; exec docker-entrypoint.sh \"$@\""), "sh"]).args(words);
        command.current_dir(self.data()).env("PATH", self.path()).env_remove("VALKEY_EXTRA_FLAGS");
        command.envs(variables.iter().copied()).output().unwrap()
    }

    /// What the entry point prints, line by line; it must succeed.
    fn lines(&self, umask: &str, variables: &[(&str, &str)], words: &[&str]) -> Vec<String> {
        let output = self.run(umask, variables, words);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && errors.is_empty(), "{words:?}: {errors}");
        String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
    }

    /// Starts a program of the image as a container does: with its variables, found by its name.
    fn start(&self, words: &[&str], args: &[&str]) -> Server {
        let path = format!("PATH={}", self.path());
        let start = ["env", &path, "LARDER_PROTECTED_MODE=no"];
        Server::start(&[&start, words].concat(), args)
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

#[test]
fn arguments_are_those_of_the_server() {
    let image = Image::new();
    image.record_servers();
    image.stand_in("id", "echo 999");
    for (words, started) in [
        (&["--port", "7000", "--save", ""][..], "valkey-server --port 7000 --save "),
        (&["../test.conf", "--appendonly", "yes"], "valkey-server ../test.conf --appendonly yes"),
        (&["-"], "valkey-server -"),
        (&["valkey-server", "/data/conf/valkey.conf"], "valkey-server /data/conf/valkey.conf"),
        (&["redis-server", "--requirepass", "a b"], "redis-server --requirepass a b"),
        (&["larder-server"], "larder-server"),
    ] {
        let lines = image.lines("022", &[], words);
        let data = fs::canonicalize(image.data()).unwrap().display().to_string();
        assert_eq!(lines, [started, "0077", &data], "{words:?}");
    }
    assert_eq!(image.lines("022", &[], &["sh", "-c", "echo $0 x", "y"]), ["y x"]);
}

#[test]
fn a_umask_is_kept_unless_it_is_the_usual_one() {
    let image = Image::new();
    image.record_servers();
    image.stand_in("id", "echo 999");
    for (before, after) in [("022", "0077"), ("027", "0027"), ("0", "0000")] {
        assert_eq!(image.lines(before, &[], &["valkey-server"])[1], after);
    }
}

#[test]
fn extra_flags_are_appended_and_are_no_patterns() {
    let image = Image::new();
    image.record_servers();
    image.stand_in("id", "echo 999");
    fs::write(image.data().join("file"), "").unwrap();
    let flags = [("VALKEY_EXTRA_FLAGS", "--bind *  -::* --maxmemory 1gb")];
    let started = &image.lines("022", &flags, &["a.conf"])[0];
    assert_eq!(started, "valkey-server a.conf --bind * -::* --maxmemory 1gb");
    // They are the server's: another program is executed as it is.
    assert_eq!(image.lines("022", &flags, &["echo", "a"]), ["a"]);
}

/// As root, the folder is given to the user, and the script starts again as that user without further groups.
#[test]
fn root_steps_down() {
    let image = Image::new();
    image.record_servers();
    image.stand_in("id", "echo ${USER_ID:-0}");
    image.stand_in("find", "echo find \"$@\"");
    image.stand_in(
        "setpriv",
        "echo setpriv \"$@\"; while [ \"$1\" != -- ]; do shift; done; shift; USER_ID=999 exec \"$@\"",
    );
    for server in ["valkey-server", "redis-server", "larder-server"] {
        let lines = image.lines("022", &[], &[server, "--port", "1"]);
        let script = image.bin().join("docker-entrypoint.sh");
        assert_eq!(lines[0], "find . ! -user valkey -exec chown -h valkey {} +");
        let down = "setpriv --reuid=valkey --regid=valkey --clear-groups --";
        assert_eq!(lines[1], format!("{down} {} {server} --port 1", script.display()));
        assert_eq!(lines[2..4], [format!("{server} --port 1"), "0077".to_owned()]);
    }
    assert_eq!(image.lines("022", &[], &["echo", "x"]), ["x"]);
    // A folder that cannot be given away does not end the start: the server says what it cannot write.
    image.stand_in("find", "exit 1");
    let output = image.run("022", &[], &["valkey-server"]);
    assert!(output.status.success() && text(&output.stderr).contains("stay with their owners"), "{output:?}");
}

/// The names that commands, probes and init containers use, and what they lead to.
#[test]
fn programs_have_the_names_of_both_images() {
    let image = Image::new();
    for product in ["valkey", "redis"] {
        for (tool, leads_to) in [
            ("server", "larder-server"),
            ("cli", "/usr/bin/valkey-cli"),
            ("benchmark", "/usr/bin/valkey-benchmark"),
            ("check-rdb", "/usr/bin/valkey-check-rdb"),
            ("check-aof", "/usr/bin/valkey-check-aof"),
            ("sentinel", "/usr/bin/valkey-check-rdb"),
        ] {
            let link = fs::read_link(image.bin().join(format!("{product}-{tool}"))).unwrap();
            assert_eq!(link, Path::new(leads_to), "{product}-{tool}");
        }
    }
    let output = Command::new(image.bin().join("redis-server")).arg("--version").output().unwrap();
    let version = text(&output.stdout);
    assert!(version.starts_with("Larder ") && version.contains(" v=9.1.2 sha="), "{output:?}");
}

#[test]
fn the_server_is_the_process_of_the_container() {
    let image = Image::new();
    let image_user = ["docker-entrypoint.sh"];
    image.stand_in("id", "echo 999");
    let mut server = image.start(&image_user, &["--appendonly", "yes"]);
    let info = server.client().ask("INFO server").text();
    assert!(info.contains(&format!("process_id:{}\r\n", server.pid())), "{info}");
    assert_eq!(server.client().ask("SET k v").text(), "OK");
    assert_eq!(server.client().ask("SAVE").text(), "OK");
    let mode = fs::metadata(server.dir().join("dump.rdb")).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "data files are for the user only: {mode:o}");
    server.wait_for_log("Ready to accept connections");
    assert_eq!(server.stop().code(), Some(0));
}

#[test]
fn the_default_of_protected_mode_comes_from_the_image() {
    let image = Image::new();
    let mode = |server: &Server| server.client().ask("CONFIG GET protected-mode").items()[1].text();
    let server = image.start(&["valkey-server"], &[]);
    assert_eq!(mode(&server), "no");
    let file = image.0.join("valkey.conf");
    fs::write(&file, "timeout 7\n").unwrap();
    let path = file.display().to_string();
    let server = image.start(&["redis-server", &path], &[]);
    assert_eq!(server.client().ask("CONFIG REWRITE").text(), "OK");
    assert!(!fs::read_to_string(&file).unwrap().contains("protected-mode"), "it is the default");
    drop(server);
    fs::write(&file, "protected-mode yes\n").unwrap();
    let server = image.start(&["redis-server", &path], &[]);
    assert_eq!(mode(&server), "yes");
    assert_eq!(server.client().ask("CONFIG REWRITE").text(), "OK");
    assert!(fs::read_to_string(&file).unwrap().contains("protected-mode yes"));
    let mut command = Command::new(Kind::Larder.program());
    let output = command.env("LARDER_PROTECTED_MODE", "off").args(["--port", "0"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("LARDER_PROTECTED_MODE is 'off'"), "{output:?}");
}

/// A process that is ended with the test.
struct Started(std::process::Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn connected(port: u16) -> Client {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        if let Ok(client) = Client::connect(port) {
            return client;
        }
        assert!(Instant::now() < deadline, "no server on port {port}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Charts start Sentinel from the same image: by its name, or by the server with `--sentinel`.
#[test]
fn sentinel_starts_from_the_servers_program() {
    let image = Image::new();
    let _ = fs::remove_file(image.bin().join("redis-sentinel"));
    fs::remove_file(image.bin().join("valkey-sentinel")).unwrap();
    symlink(fs::canonicalize(peer_path("valkey-sentinel")).unwrap(), image.bin().join("valkey-sentinel"))
        .unwrap();
    let primary = Server::larder(&[]);
    for program in ["valkey-server", "redis-server"] {
        let (port, file) = (Port::reserve(), image.0.join("sentinel.conf"));
        let lines = format!("port {}\nsentinel monitor main 127.0.0.1 {} 1\n", port.number(), primary.port());
        fs::write(&file, lines).unwrap();
        let mut command = Command::new(image.bin().join(program));
        command.arg(&file).arg("--sentinel").current_dir(image.data()).env("PATH", image.path());
        let log = fs::File::create(image.0.join("log")).unwrap();
        let _sentinel = Started(command.stdout(log).spawn().unwrap());
        let mut client = connected(port.number());
        let address = client.ask("SENTINEL get-master-addr-by-name main");
        assert_eq!(address.items()[1].text(), primary.port().to_string(), "{program}");
        assert_eq!(client.ask("ROLE").items()[0].text(), "sentinel");
    }
}

#[test]
fn a_missing_sentinel_is_named() {
    let image = Image::new();
    let own = image.bin().join("valkey-sentinel");
    fs::remove_file(&own).unwrap();
    symlink(fs::canonicalize(Kind::Larder.program()).unwrap(), &own).unwrap();
    let run = |program: &Path, path: &Path| {
        Command::new(program).args(["s.conf", "--sentinel"]).env("PATH", path).output().unwrap()
    };
    // A link of that name to the server itself is no Sentinel, nor is a script that starts the server again.
    let again = image.0.join("again");
    fs::create_dir(&again).unwrap();
    let script = again.join("redis-sentinel");
    let server = image.bin().join("redis-server");
    fs::write(&script, format!("#!/bin/sh\nexec {} --sentinel\n", server.display())).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    for output in [run(&own, &image.bin()), run(&image.bin().join("valkey-server"), &again)] {
        assert_eq!(output.status.code(), Some(1));
        assert!(text(&output.stderr).contains("Larder has no Sentinel of its own"), "{output:?}");
    }
}

/// Configuration files in the form that charts and operators write them, and options as their commands add them. A pod that
/// does not accept one restarts for ever.
#[test]
fn configurations_of_charts_and_operators_start() {
    const FILES: [&str; 6] = [
        // A chart's script for a replica.
        "protected-mode no\nbind * -::*\ndir DIR\nreplica-announce-ip pod-1.valkey.svc\nreplica-announce-port 6379\n\
         repl-diskless-sync yes\nrepl-diskless-sync-delay 5\nmasterauth secret\nmasteruser default\nmin-replicas-to-write 0\n\
         min-replicas-max-lag 10\nmaxmemory 64mb\nmaxmemory-policy allkeys-lru\nappendonly yes\n",
        // An operator's file of a node of a cluster: of two lines for an option the last counts.
        "maxmemory 32mb\nport 1\ncluster-allow-replica-migration no\ncluster-config-file DIR/nodes.conf\ncluster-enabled yes\n\
         cluster-node-timeout 2000\ncluster-replica-validity-factor 0\ndir DIR\nprotected-mode no\n\
         shutdown-on-sigterm failover\nport PORT\n",
        // A whole default file, deprecated names among the options.
        "bind 0.0.0.0 -::*\nprotected-mode no\ntcp-backlog 511\ntimeout 0\ntcp-keepalive 300\ndaemonize no\nsupervised no\n\
         pidfile DIR/valkey.pid\nloglevel notice\nlogfile \"\"\ndatabases 16\nalways-show-logo no\nset-proc-title yes\n\
         proc-title-template \"{title} {listen-addr} {server-mode}\"\nstop-writes-on-bgsave-error yes\nrdbcompression yes\n\
         rdbchecksum yes\ndbfilename dump.rdb\nrdb-del-sync-files no\nlua-time-limit 5000\nslowlog-log-slower-than 10000\n\
         slowlog-max-len 128\nlatency-monitor-threshold 0\nhash-max-ziplist-entries 512\nlist-max-ziplist-size -2\n\
         set-max-intset-entries 512\nzset-max-ziplist-value 64\nactiverehashing yes\nhz 10\ndynamic-hz yes\n\
         aof-rewrite-incremental-fsync yes\nrdb-save-incremental-fsync yes\njemalloc-bg-thread yes\noom-score-adj no\n\
         oom-score-adj-values 0 200 800\ndisable-thp yes\nsave 3600 1\nsave 300 100\nsave 60 10000\n\
         io-threads 2\nio-threads-do-reads no\nrename-command FLUSHDB \"\"\nrename-command FLUSHALL \"\"\n\
         client-output-buffer-limit replica 256mb 64mb 60\nlatency-tracking yes\n",
        // Names in upper case.
        "Appendonly yes\nAppendfilename \"Appendonly.aof\"\nsupervised no\npidfile DIR/redis.pid\ncluster-enabled yes\n\
         cluster-announce-hostname pod-0.redis.svc\ncluster-preferred-endpoint-type hostname\ncluster-migration-barrier 1\n\
         cluster-require-full-coverage no\ndir DIR\n",
        // A replica of itself until an operator names its primary; no newline at the end.
        "slaveof 127.0.0.1 PORT\nport PORT\ntcp-keepalive 60\nsave 900 1\nsave 300 10\n\
         user pinger -@all +ping on >pingpass\nrename-command \"DEBUG\" \"X\"",
        "dir \"DIR\"\nport PORT\nrename-command FLUSHALL \"\"\nmaxmemory 0\nmaxmemory-policy volatile-lru\nmin-replicas-max-lag 5\n\
         min-replicas-to-write 0\nrdbchecksum yes\nrdbcompression yes\nrepl-diskless-sync yes\nsave 900 1\n\
         slave-announce-ip 10.0.0.1\nslave-announce-port 6379\n",
    ];
    let image = Image::new();
    let file = image.0.join("conf");
    for lines in FILES {
        let lines = lines.replace("DIR", &image.data().display().to_string()).replace("PORT", "0");
        fs::write(&file, lines).unwrap();
        let server = image.start(&["redis-server", &file.display().to_string()], &[]);
        let reply = server.client().ask("PING").text();
        assert!(reply == "PONG" || reply.starts_with("MASTERDOWN"), "{reply}");
        drop(server);
        fs::remove_dir_all(image.data()).unwrap();
        fs::create_dir(image.data()).unwrap();
    }
    fs::write(&file, "daemonize yes\ntimeout 7\n").unwrap();
    let path = file.display().to_string();
    let flags =
        ["--daemonize", "no", "--include", &path, "--daemonize", "no", "--maxmemory-policy volatile-ttl"];
    let server = image
        .start(&["valkey-server"], &[&flags[..], &["--primaryauth", "x", "--protected-mode", "no"]].concat());
    let mut client = server.client();
    assert_eq!(client.ask("CONFIG GET maxmemory-policy").items()[1].text(), "volatile-ttl");
    assert_eq!(client.ask("CONFIG GET timeout").items()[1].text(), "7");
}
