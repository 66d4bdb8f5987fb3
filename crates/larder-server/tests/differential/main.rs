//! The same commands to Larder and to a peer: every reply must be the same, in both protocols.

mod acl;
mod acl_random;
mod bitmaps;
mod changes;
mod client_filters;
mod client_list;
mod debugger;
mod details;
mod error_stats;
mod eviction;
mod geo;
mod hashes;
mod hyperloglogs;
mod inspection;
mod introspection;
mod latency;
mod lone_server;
mod monitor;
mod notifications;
mod patterns;
mod product;
mod pubsub;
mod random;
mod refusals;
mod renaming;
mod scripting;
mod scripts;
mod sets;
mod sort;
mod sorted_sets;
mod stage;
mod streams;
mod tracking;
mod transactions;
mod uses;

pub use larder_testkit::words;
use larder_testkit::{Client, Kind, Server, Value};
use std::fmt::Write;

/// The server that is the specification.
pub const ORACLE: Kind = Kind::Valkey;

/// The two servers, each with a connection.
pub struct Pair {
    /// To ours.
    pub larder: Client,
    /// To the one it is compared with.
    pub peer: Client,
    kind: Kind,
    servers: (Server, Server),
}

impl Pair {
    /// Starts Larder and the server that is the specification, with the same extra options.
    pub fn start(threads: usize, args: &[&str]) -> Self {
        Self::with(ORACLE, threads, args)
    }

    /// Starts Larder and a peer with the same extra options.
    pub fn with(kind: Kind, threads: usize, args: &[&str]) -> Self {
        // What a busy machine slows down does not belong in the logs that are compared.
        let args = [&["--slowlog-log-slower-than", "60000000"], args].concat();
        let larder = Server::larder(&[&["--threads", &threads.to_string()], &*args].concat());
        let peer = Server::of(kind, &args);
        Pair { larder: larder.client(), peer: peer.client(), kind, servers: (larder, peer) }
    }

    /// Both servers, Larder first.
    pub fn servers(&self) -> [&Server; 2] {
        [&self.servers.0, &self.servers.1]
    }

    /// Fails the test if there are differences that the peer does not explain by its version.
    pub fn judge(&mut self, differences: &str) {
        self.kind.judge(&mut self.peer, differences);
    }

    /// Sends a command to both and returns both replies.
    pub fn both(&mut self, args: &[Vec<u8>]) -> (Value, Value) {
        self.larder.send(args);
        self.peer.send(args);
        (self.larder.read().expect("Larder replies"), self.peer.read().expect("the peer replies"))
    }

    /// Puts both into the same first state, speaking the protocol of this version.
    pub fn reset(&mut self, version: &str) {
        for client in [&mut self.larder, &mut self.peer] {
            client.ask("RESET");
            client.ask("FLUSHALL");
            client.cmd(&["HELLO", version]);
        }
    }
}

/// What differs, or nothing. Valkey lists options in the order of a randomly seeded table, and the fields of large
/// hashes and the members of sets too, so these and the pairs of CONFIG GET are compared whatever their order.
pub fn compare(line: &str, (ours, theirs): &(Value, Value)) -> Option<String> {
    let same = match pair_size(line) {
        _ if same_number(ours, theirs) => true,
        Some(size) => pairs(ours, size) == pairs(theirs, size),
        None if line.starts_with("EXEC") || line.contains("SCAN ") => same_replies(ours, theirs),
        None => ours == theirs,
    };
    (!same).then(|| format!("> {line}\n  larder: {ours}\n  peer:   {theirs}\n"))
}

/// Whether two replies differ at most in the digits of the same numbers: Valkey's are not always the fewest.
fn same_number(ours: &Value, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Value::Double(_), Value::Double(_)) | (Value::Bulk(_), Value::Bulk(_)) => {
            let parse = |value: &Value| value.text().parse::<f64>().ok();
            ours == theirs || ours.text().len() > 15 && parse(ours).is_some_and(|n| parse(theirs) == Some(n))
        }
        (Value::Array(ours), Value::Array(theirs)) => {
            ours.len() == theirs.len()
                && ours.iter().zip(theirs).all(|(ours, theirs)| same_number(ours, theirs))
        }
        _ => ours == theirs,
    }
}

/// Whether the replies of a transaction, or the parts of a scan's, are the same, but for the order in each.
fn same_replies(ours: &Value, theirs: &Value) -> bool {
    let same = |(ours, theirs): (&Value, &Value)| {
        ours == theirs || !ours.items().is_empty() && pairs(ours, 1) == pairs(theirs, 1)
    };
    ours == theirs
        || !ours.items().is_empty()
            && ours.items().len() == theirs.items().len()
            && ours.items().iter().zip(theirs.items()).all(same)
}

/// How many items belong together in a reply whose order is not compared.
fn pair_size(line: &str) -> Option<usize> {
    match line.split_once(' ')? {
        ("CONFIG", rest) if rest.starts_with("GET") => Some(2),
        ("ACL", rest) if rest.starts_with("CAT") => Some(1),
        ("FUNCTION", rest) if rest.starts_with("LIST") => Some(1),
        ("HGETALL", key) if !key.starts_with("ord") => Some(2),
        ("HKEYS" | "HVALS", key) if !key.starts_with("ord") => Some(1),
        ("SMEMBERS" | "SINTER" | "SUNION" | "SDIFF" | "SPOP" | "SRANDMEMBER", _) => Some(1),
        _ => None,
    }
}

/// A reply with its pairs in order: its kind, and name and value of each.
fn pairs(value: &Value, size: usize) -> (std::mem::Discriminant<Value>, Vec<String>, String) {
    let mut pairs: Vec<String> = value.items().chunks(size).map(|pair| format!("{pair:?}")).collect();
    pairs.sort();
    (std::mem::discriminant(value), pairs, value.text())
}

/// Runs a script on both servers in both protocols and collects all differences.
fn run_script(script: &str, args: &[&str]) {
    run_script_with(ORACLE, script, args);
}

/// The same with a peer of this kind.
fn run_script_with(kind: Kind, script: &str, args: &[&str]) {
    let mut pair = Pair::with(kind, 1, args);
    let mut differences = String::new();
    for version in ["2", "3"] {
        pair.reset(version);
        for line in script.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some(difference) = compare(line, &pair.both(&words(line))) {
                let _ = write!(differences, "RESP{version} {difference}");
            }
        }
    }
    pair.judge(&differences);
}
