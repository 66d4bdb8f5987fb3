//! The servers that tests start: Larder and those that it is compared with.

use crate::Client;
use std::path::{Path, PathBuf};

/// Which server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The server under test.
    Larder,
    /// The system's Redis 7.0.
    Redis,
    /// Redis 8, from `tests/peers.sh`.
    Redis8,
    /// Valkey, from `tests/peers.sh`.
    Valkey,
}

impl Kind {
    /// The name for messages.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Larder => "larder",
            Kind::Redis => "redis 7.0",
            Kind::Redis8 => "redis 8",
            Kind::Valkey => "valkey",
        }
    }

    /// The program of the server. `LARDER_SERVER` names Larder's, else the one built beside the test is taken;
    /// `LARDER_PEERS` names the folder of the peers, else it is `target/peers`.
    pub fn program(self) -> PathBuf {
        match self {
            Kind::Larder => larder_path(),
            Kind::Redis => "redis-server".into(),
            Kind::Redis8 => peer_path("redis8-server"),
            Kind::Valkey => peer_path("valkey-server"),
        }
    }

    /// The version that the tests were written for; `None` for Larder, which is always its own.
    pub fn tested_version(self) -> Option<&'static str> {
        match self {
            Kind::Larder => None,
            Kind::Redis => Some("7.0.15"),
            Kind::Redis8 => Some("8.0.6"),
            Kind::Valkey => Some("9.1.2"),
        }
    }

    /// Fails the test if there are differences. Differences from a peer of another version than the tests were written for
    /// are printed instead: they say what has changed there, and not that Larder is wrong.
    pub fn judge(self, client: &mut Client, differences: &str) {
        if differences.is_empty() {
            return;
        }
        let version = version(client);
        match self.tested_version() {
            Some(tested) if tested != version => {
                eprintln!("{} is {version} and not {tested}; it differs in:\n{differences}", self.name());
            }
            _ => panic!("{differences}"),
        }
    }
}

/// The version of a running server: that of Valkey where there is one, else that of Redis.
pub fn version(client: &mut Client) -> String {
    let info = client.cmd(&["INFO", "server"]).text();
    let field = |name: &str| info.lines().find_map(|line| line.strip_prefix(name).map(str::to_owned));
    field("valkey_version:").or_else(|| field("redis_version:")).unwrap_or_default()
}

/// A program of the folder that `tests/peers.sh` fills.
pub fn peer_path(program: &str) -> PathBuf {
    let path =
        std::env::var_os("LARDER_PEERS").map_or_else(default_peers, PathBuf::from).join("bin").join(program);
    assert!(path.exists(), "{} is missing: run `make deps`", path.display());
    path
}

fn default_peers() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers")
}

/// The Larder binary to test.
fn larder_path() -> PathBuf {
    if let Some(path) = std::env::var_os("LARDER_SERVER") {
        return path.into();
    }
    let test = std::env::current_exe().expect("a program knows its path");
    let beside = test.ancestors().skip(1).take(2).map(|dir| dir.join("larder-server"));
    beside.into_iter().find(|path| path.exists()).expect("larder-server is built, or LARDER_SERVER names it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Server, Value};

    #[test]
    fn peers_answer_and_say_their_version() {
        for kind in [Kind::Redis, Kind::Redis8, Kind::Valkey] {
            let server = Server::of(kind, &[]);
            let mut client = server.client();
            assert_eq!(client.ask("PING"), Value::Simple("PONG".to_owned()), "{}", kind.name());
            let version = version(&mut client);
            let major = kind.tested_version().and_then(|tested| tested.split('.').next());
            assert_eq!(version.split('.').next(), major, "{} is {version}", kind.name());
        }
    }

    #[test]
    #[should_panic(expected = "something differs")]
    fn a_difference_from_the_tested_version_fails() {
        let server = Server::redis(&[]);
        Kind::Larder.judge(&mut server.client(), "something differs");
    }
}
