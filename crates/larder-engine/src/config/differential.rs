//! Names, defaults, accepted values and error texts against a running Valkey.

use super::Config;
use std::collections::HashMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Options whose defaults differ on purpose.
const OWN_DEFAULTS: [&str; 3] = ["io-threads", "syslog-ident", "crash-memcheck-enabled"];

/// Options that the test's own command line sets.
const SET_BY_TEST: [&str; 3] = ["port", "unixsocket", "dir"];

/// Options whose change would reach out of the process, or that Valkey refuses for reasons of its build.
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

/// A Valkey on a unix socket, killed with its directory when dropped.
struct Peer {
    child: Child,
    dir: PathBuf,
    stream: Option<UnixStream>,
}

impl Peer {
    fn start(name: &str) -> Peer {
        let dir = std::env::temp_dir().join(format!("larder-config-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let default = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/peers"));
        let program =
            std::env::var_os("LARDER_PEERS").map_or(default, PathBuf::from).join("bin/valkey-server");
        let child = Command::new(program)
            .args(["--port", "0", "--unixsocket", "s"])
            .current_dir(&dir)
            .stdout(Stdio::null())
            .spawn()
            .expect("valkey-server is there: `make deps`");
        let mut peer = Peer { child, dir, stream: None };
        let deadline = crate::clock::instant() + Duration::from_secs(10);
        while peer.stream.is_none() {
            assert!(crate::clock::instant() < deadline, "valkey-server does not come up");
            peer.stream = UnixStream::connect(peer.dir.join("s")).ok();
            std::thread::sleep(Duration::from_millis(1));
        }
        peer
    }

    /// Sends a command and reads until a PING after it is answered.
    fn ask(&mut self, args: &[&str]) -> String {
        let stream = self.stream.as_mut().unwrap();
        let mut request = format!("*{}\r\n", args.len());
        for arg in args {
            request += &format!("${}\r\n{arg}\r\n", arg.len());
        }
        stream.write_all(format!("{request}PING\r\n").as_bytes()).unwrap();
        let (mut reply, mut part) = (Vec::new(), [0; 65536]);
        while !reply.ends_with(b"+PONG\r\n") {
            let n = stream.read(&mut part).unwrap();
            assert!(n > 0, "valkey-server closed the connection after {args:?}");
            reply.extend_from_slice(&part[..n]);
        }
        reply.truncate(reply.len() - 7);
        String::from_utf8_lossy(&reply).into_owned()
    }

    fn get(&mut self, pattern: &str) -> HashMap<String, String> {
        let reply = self.ask(&["CONFIG", "GET", pattern]);
        let lines: Vec<&str> = reply.split("\r\n").skip(1).collect();
        let bulks: Vec<&str> = lines.chunks(2).filter(|c| c.len() == 2).map(|c| c[1]).collect();
        bulks.chunks(2).map(|pair| (pair[0].to_string(), pair[1].to_string())).collect()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

#[test]
fn every_option_with_its_default() {
    let mut peer = Peer::start("defaults");
    let config = Config::new(1);
    for (name, theirs) in peer.get("*") {
        let ours = config.get(&name).unwrap_or_else(|| panic!("no option {name}"));
        if !OWN_DEFAULTS.contains(&name.as_str()) && !SET_BY_TEST.contains(&name.as_str()) {
            assert_eq!(ours, theirs, "{name}");
        }
    }
}

#[test]
fn values_and_errors_of_config_set() {
    const VALUES: [&str; 27] = [
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
        "99.9",
        "KEA",
        "a/b",
        "100 0",
        "x y z w",
    ];
    let mut peer = Peer::start("set");
    let config = Config::new(1);
    let mut names: Vec<String> = peer.get("*").into_keys().collect();
    names.sort_unstable();
    names.retain(|name| !NOT_TRIED.contains(&name.as_str()) && !name.starts_with("tls-"));
    let mut differences = Vec::new();
    for name in &names {
        for value in VALUES {
            let theirs = peer.ask(&["CONFIG", "SET", name, value]);
            let ours = match config.set(&[(name.as_bytes(), value.as_bytes())], |_, _| Ok(())) {
                Ok(()) => "+OK\r\n".to_string(),
                Err(e) => format!("-ERR {}\r\n", e),
            };
            if ours != theirs {
                differences
                    .push(format!("CONFIG SET {name} '{value}'\n  ours  {ours:?}\n  valkey {theirs:?}"));
            }
            let (ours, theirs) = (config.get(name), peer.get(name).remove(name.as_str()));
            if ours != theirs && !["syslog-ident", "unixsocket"].contains(&name.as_str()) {
                differences
                    .push(format!("CONFIG GET {name} after '{value}': ours {ours:?}, valkey {theirs:?}"));
            }
        }
    }
    config.check_invariants();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
