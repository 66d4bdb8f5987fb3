//! The servers to compare.

use crate::cli::Options;
use crate::machine::Pinning;
use larder_testkit::Server;
use std::io;
use std::path::{Path, PathBuf};

/// The name that Larder goes by.
pub const LARDER: &str = "larder";
/// The peer that ratios in targets refer to.
pub const REDIS: &str = "redis-server";
/// The name of the server that answers constants.
pub const FLOOR: &str = "floor";
/// The peers that are looked for: name and program. The first is the system's, the others are those of `tests/peers.sh`.
const FOUND: [(&str, &str); 3] = [(REDIS, REDIS), ("redis8", "redis8-server"), ("valkey", "valkey-server")];

/// A server that can be started.
pub struct Peer {
    /// What the report calls it.
    pub name: String,
    /// Its executable.
    pub binary: PathBuf,
    /// What its INFO says of its version.
    pub version: String,
    command: Vec<String>,
    extra: Vec<String>,
}

impl Peer {
    fn new(name: &str, command: &str, extra: &[&str], pinning: &Pinning) -> io::Result<Self> {
        let mut words = command.split_whitespace().map(str::to_owned);
        let missing = || io::Error::other(format!("no {command} to be found"));
        let binary = words.next().and_then(|word| resolve(&word)).ok_or_else(missing)?;
        let mut full = pinning.prefix();
        full.push(binary.to_string_lossy().into_owned());
        full.extend(words);
        let extra = extra.iter().map(|&arg| arg.to_owned()).collect();
        Ok(Peer { name: name.to_owned(), binary, version: String::new(), command: full, extra })
    }

    /// This program as the server that answers constants.
    pub fn floor(pinning: &Pinning) -> io::Result<Self> {
        let binary = std::env::current_exe()?;
        let mut command = pinning.prefix();
        command.extend([binary.to_string_lossy().into_owned(), FLOOR.to_owned()]);
        Ok(Peer { name: FLOOR.to_owned(), binary, version: String::new(), command, extra: Vec::new() })
    }

    /// Starts it afresh. The test kit panics when a server will not start; a long run must not end with that.
    pub fn start(&self) -> io::Result<Server> {
        self.start_with(&[])
    }

    /// Starts it afresh with further arguments.
    pub fn start_with(&self, args: &[&str]) -> io::Result<Server> {
        self.start_as(&self.command, args)
    }

    /// The same without pinning.
    pub fn start_free(&self, args: &[&str]) -> io::Result<Server> {
        let binary = self.binary.to_string_lossy().into_owned();
        let at = self.command.iter().position(|word| *word == binary).unwrap_or(0);
        self.start_as(&self.command[at..], args)
    }

    fn start_as(&self, command: &[String], args: &[&str]) -> io::Result<Server> {
        let all = [&refs(&self.extra)[..], args].concat();
        let start = || Server::start(&refs(command), &all);
        std::panic::catch_unwind(start).map_err(|_| io::Error::other(format!("{} does not start", self.name)))
    }

    /// Its command with pinning, and the arguments that go after the port.
    pub fn command(&self) -> (&[String], &[String]) {
        (&self.command, &self.extra)
    }

    /// Its command as reports show it: the program by its name, wherever it lies.
    pub fn shown_command(&self) -> String {
        let binary = self.binary.to_string_lossy();
        let name = self.binary.file_name().map_or_else(|| binary.clone(), |name| name.to_string_lossy());
        let words = self.command.iter().map(|word| if *word == binary { &*name } else { word.as_str() });
        words.collect::<Vec<_>>().join(" ")
    }

    fn ask_version(&self) -> io::Result<String> {
        let info = self.start()?.client().ask("INFO server").text();
        let field = |name: &str| info.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
        let own = ["larder_version:", "valkey_version:", "dragonfly_version:", "redis_version:"];
        Ok(own.iter().find_map(|name| field(name)).unwrap_or_else(|| "unknown".to_owned()))
    }
}

fn refs(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}

/// Larder and its peers, as far as they exist: those that are found (`tests/peers.sh`), unless some are named or none is wanted.
/// What is missing is said on stderr.
pub fn find(options: &Options, pinning: &Pinning) -> Vec<Peer> {
    let threads = options.threads.to_string();
    let mut wanted = vec![(LARDER, larder(options.larder.as_deref()), vec!["--threads", threads.as_str()])];
    wanted.extend(found(options).into_iter().map(|(name, program)| (name, program, vec![])));
    wanted.extend(options.peers.iter().map(|(name, command)| (name.as_str(), command.clone(), vec![])));
    let mut peers = Vec::new();
    for (name, command, extra) in wanted {
        let start = || {
            let peer = Peer::new(name, &command, &extra, pinning)?;
            Ok::<_, io::Error>(Peer { version: peer.ask_version()?, ..peer })
        };
        match start() {
            Ok(peer) => peers.push(peer),
            Err(error) => {
                let is_fetched = FOUND[1..].iter().any(|(_, program)| command == *program);
                let hint = if is_fetched { " (tests/peers.sh fetches it)" } else { "" };
                eprintln!("larder-bench: {name} is left out: {error}{hint}");
            }
        }
    }
    peers
}

/// A peer that is looked for, by its name, as `--peer` would name it.
pub fn by_name(name: &str) -> Option<(String, String)> {
    let (name, program) = FOUND.iter().find(|(other, _)| *other == name)?;
    Some(((*name).to_owned(), path_of(program)))
}

/// The peers to look for: the system's redis-server, and where none is named all that `tests/peers.sh` fetches.
fn found(options: &Options) -> Vec<(&'static str, String)> {
    if options.without_peers {
        return Vec::new();
    }
    let count = if options.peers.is_empty() { FOUND.len() } else { 1 };
    let is_named = |name: &str| options.peers.iter().any(|(other, _)| other == name);
    let wanted = FOUND.iter().take(count).filter(|(name, _)| !is_named(name));
    wanted.map(|&(name, program)| (name, path_of(program))).collect()
}

/// A program in the folder of the peers, or else in the PATH.
fn path_of(program: &str) -> String {
    let named = std::env::var_os("LARDER_PEERS").map(PathBuf::from);
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers");
    let path = named.unwrap_or_else(default).join("bin").join(program);
    if path.is_file() { path.to_string_lossy().into_owned() } else { program.to_owned() }
}

/// Larder's binary: named, in the environment, or beside this program.
fn larder(named: Option<&Path>) -> String {
    let environment = || std::env::var_os("LARDER_SERVER").map(PathBuf::from);
    let path = named.map(Path::to_owned).or_else(environment).or_else(beside);
    path.map_or_else(|| "larder-server".to_owned(), |path| path.to_string_lossy().into_owned())
}

fn beside() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    program.ancestors().skip(1).take(2).map(|dir| dir.join("larder-server")).find(|path| path.is_file())
}

/// The file that a command's first word names, as a shell would find it.
fn resolve(word: &str) -> Option<PathBuf> {
    if word.contains('/') {
        // Servers run in directories of their own, so the path must not depend on this one.
        return std::path::absolute(word).ok().filter(|path| path.is_file());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(word)).find(|path| path.is_file())
}
