//! Nodes of clusters, and clusters of them.

use larder_cluster::key_slot;
use larder_testkit::tls::{Authority, Identity};
use larder_testkit::{Client, Kind, Port, Server, Value, tls};
use rustls::ClientConfig;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Of all nodes here, in ms.
pub const NODE_TIMEOUT_MS: u64 = 2000;
/// For nodes of which none is to be found failed: far longer than any test.
pub const PATIENT: [&str; 2] = ["--cluster-node-timeout", "60000"];

/// How long a cluster may take for anything.
const PATIENCE: Duration = Duration::from_secs(90);

/// A server that is a node.
pub struct Node {
    pub server: Server,
    bus: Port,
    args: Vec<String>,
    tls: Option<(Port, Arc<ClientConfig>)>,
}

impl Node {
    /// Starts a node that knows nobody, with more arguments.
    pub fn start(kind: Kind, more: &[&str]) -> Node {
        let bus = Port::reserve();
        let (port, timeout) = (bus.number().to_string(), NODE_TIMEOUT_MS.to_string());
        let own = [
            ["--cluster-enabled", "yes"],
            ["--cluster-port", &port],
            ["--cluster-node-timeout", &timeout],
            ["--repl-diskless-sync-delay", "0"],
        ];
        let args: Vec<String> = own.as_flattened().iter().chain(more).map(|&arg| arg.to_owned()).collect();
        let borrowed: Vec<&str> = args.iter().map(String::as_str).collect();
        Node { server: Server::of(kind, &borrowed), bus, args, tls: None }
    }

    /// Starts a node whose bus, and whose replication, are TLS. It has a plain port as well; clients here use that for TLS.
    pub fn over_tls(kind: Kind, authority: &Authority, identity: &Identity, more: &[&str]) -> Node {
        let (tls_port, ca) = (Port::reserve(), authority.certificate());
        let port = tls_port.number().to_string();
        let own = [
            ["--tls-cluster", "yes"],
            ["--tls-replication", "yes"],
            ["--tls-port", &port],
            ["--tls-cert-file", &identity.certificate],
            ["--tls-key-file", &identity.key],
            ["--tls-ca-cert-file", &ca],
        ];
        let mut node = Node::start(kind, &[own.as_flattened(), more].concat());
        let config = tls::config(authority, Some(identity), rustls::ALL_VERSIONS);
        node.tls = Some((tls_port, config));
        node
    }

    /// Larder.
    pub fn larder() -> Node {
        Node::start(Kind::Larder, &[])
    }

    /// Starts it again after its end. False if it ends at once.
    pub fn start_again(&mut self) -> bool {
        let args: Vec<&str> = self.args.iter().map(String::as_str).collect();
        self.server.start_again(&[&["--enable-debug-command", "yes"][..], &args].concat())
    }

    /// A new connection.
    pub fn client(&self) -> Client {
        self.connect_to(self.port())
    }

    /// A new connection to a port of another node, as one to this node.
    fn connect_to(&self, port: u16) -> Client {
        let client = match &self.tls {
            None => Client::connect(port),
            Some((_, config)) => tls::connect(port, config),
        };
        client.expect("the node is there")
    }

    /// The port that clients here use.
    pub fn port(&self) -> u16 {
        self.tls.as_ref().map_or_else(|| self.server.port(), |(port, _)| port.number())
    }

    /// The reply to a command on a new connection, as text.
    pub fn ask(&self, line: &str) -> String {
        text(&self.client().ask(line))
    }

    /// A command that must succeed.
    pub fn must(&self, line: &str) {
        assert_eq!(self.ask(line), "OK", "{line}");
    }

    pub fn id(&self) -> String {
        self.ask("CLUSTER MYID")
    }

    /// `127.0.0.1:port`
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port())
    }

    pub fn bus_port(&self) -> u16 {
        self.bus.number()
    }

    /// The subcommand that makes another node meet this one.
    pub fn meet_command(&self) -> String {
        format!("CLUSTER MEET 127.0.0.1 {} {}", self.port(), self.bus_port())
    }

    /// A field of CLUSTER INFO.
    pub fn info(&self, field: &str) -> String {
        field_of(&self.ask("CLUSTER INFO"), field)
    }

    /// A field of INFO replication.
    pub fn replication(&self, field: &str) -> String {
        field_of(&self.ask("INFO replication"), field)
    }

    /// Whether it is a primary, or has the data of its own.
    pub fn is_settled(&self) -> bool {
        self.replication("role") == "master" || self.replication("master_link_status") == "up"
    }

    /// The words of what this node says of another.
    pub fn line_about(&self, id: &str) -> Vec<String> {
        let text = self.ask("CLUSTER NODES");
        let line = text.lines().find(|line| line.starts_with(id)).unwrap_or_default();
        line.split(' ').map(str::to_owned).collect()
    }

    /// Whether this node knows another as a primary or a replica that is well.
    pub fn knows(&self, id: &str, role: &str) -> bool {
        let line = self.line_about(id);
        let flags: Vec<&str> = line.get(2).map_or_else(Vec::new, |flags| flags.split(',').collect());
        flags.contains(&role) && !flags.iter().any(|flag| flag.starts_with("fail"))
    }
}

/// The text of a reply.
pub fn text(value: &Value) -> String {
    match value {
        Value::Int(number) => number.to_string(),
        Value::Null => "(nil)".to_owned(),
        other => other.text(),
    }
}

/// A line `name:value` of a text.
pub fn field_of(text: &str, name: &str) -> String {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_default().trim_end().to_owned()
}

/// Waits until something holds.
pub fn until(what: &str, holds: impl FnMut() -> bool) {
    assert!(holds_in_time(holds), "not in time: {what}");
}

fn holds_in_time(mut holds: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}

/// Waits until something is what it should be; else says what it was.
pub fn until_equal<T: PartialEq + Debug>(what: &str, wanted: &T, mut found: impl FnMut() -> T) {
    let mut last = None;
    let holds = || last.insert(found()) == wanted;
    if !holds_in_time(holds) {
        panic!("not in time: {what}\n  wanted {wanted:?}\n  found  {last:?}");
    }
}

/// Makes a cluster in which the nodes have equal shares of the slots.
pub fn join(nodes: &[&Node]) {
    let share = 16_384 / nodes.len();
    for (at, node) in nodes.iter().enumerate() {
        let end = if at + 1 == nodes.len() { 16_384 } else { (at + 1) * share };
        node.must(&format!("CLUSTER ADDSLOTSRANGE {} {}", at * share, end - 1));
        node.must(&format!("CLUSTER SET-CONFIG-EPOCH {}", at + 1));
    }
    meet(nodes);
}

/// Makes the first node know the others, and all of them find the cluster well. Nodes give up a handshake that takes longer than the node
/// timeout, as it does where the disk is busy: then they are told again.
pub fn meet(nodes: &[&Node]) {
    let ids: Vec<String> = nodes.iter().map(|node| node.id()).collect();
    let mut told = None;
    until("the first node knows the others", || {
        let known = nodes[0].ask("CLUSTER NODES");
        let strangers: Vec<_> =
            nodes.iter().zip(&ids).filter(|(_, id)| !known.contains(id.as_str())).collect();
        if told.is_none_or(|told: Instant| told.elapsed() > 2 * Duration::from_millis(NODE_TIMEOUT_MS)) {
            strangers.iter().for_each(|(node, _)| nodes[0].must(&node.meet_command()));
            told = Some(Instant::now());
        }
        strangers.is_empty()
    });
    settle(nodes);
}

/// Waits until all nodes know each other, have links to each other, and find the cluster well.
pub fn settle(nodes: &[&Node]) {
    let ids: Vec<String> = nodes.iter().map(|node| node.id()).collect();
    let is_settled = holds_in_time(|| {
        nodes.iter().all(|node| {
            let known = node.ask("CLUSTER NODES");
            let is_linked = |id: &String| {
                known.lines().any(|line| line.starts_with(id.as_str()) && line.contains(" connected"))
            };
            node.info("cluster_state") == "ok" && ids.iter().all(is_linked)
        })
    });
    let told = |node: &&Node| format!("{}\n{}", node.ask("CLUSTER INFO"), node.ask("CLUSTER NODES"));
    assert!(is_settled, "not in time: all know each other:\n{}", nodes.iter().map(told).collect::<String>());
}

/// Makes a node that others know, and has no slots, a replica of another.
pub fn replicate(replica: &Node, primary: &Node, all: &[&Node]) {
    let (id, primary_id) = (replica.id(), primary.id());
    until("the replica knows its primary", || replica.knows(&primary_id, "master"));
    replica.must(&format!("CLUSTER REPLICATE {primary_id}"));
    until("the replica has the data", || replica.replication("master_link_status") == "up");
    // The plain port, or that of TLS.
    let ports = [replica.server.port(), replica.port()].map(|port| format!("port={port},"));
    until("its primary knows that", || {
        let info = primary.ask("INFO replication");
        let is_online =
            |line: &str| line.contains("state=online") && ports.iter().any(|port| line.contains(port));
        info.lines().any(is_online)
    });
    until("all know it as a replica", || all.iter().all(|node| node.knows(&id, "slave")));
}

/// A name of which all keys with this tag are in a slot that satisfies a test.
pub fn tag(seed: &str, is_wanted: impl Fn(u16) -> bool) -> String {
    (0..)
        .map(|number| format!("{seed}{number}"))
        .find(|tag| is_wanted(key_slot(tag.as_bytes())))
        .expect("some")
}

/// Executes a command wherever it is for, following redirections as clients do. A node that gets no processor for a while finds the cluster down,
/// and executes nothing: then it is tried again.
pub fn routed(from: &Node, args: &[&str]) -> Value {
    let mut reply = redirected(from, args);
    let is_up = holds_in_time(|| {
        if reply.text().starts_with("CLUSTERDOWN") {
            reply = redirected(from, args);
        }
        !reply.text().starts_with("CLUSTERDOWN")
    });
    assert!(is_up, "the cluster stays down for {args:?}");
    reply
}

fn redirected(from: &Node, args: &[&str]) -> Value {
    let mut client = from.client();
    let mut reply = client.cmd(args);
    for _ in 0..16 {
        let said = reply.text();
        let words: Vec<&str> = said.split(' ').collect();
        let [code @ ("MOVED" | "ASK"), _, address] = words[..] else { return reply };
        let port = address.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
        client = from.connect_to(port);
        if code == "ASK" {
            client.ask("ASKING");
        }
        reply = client.cmd(args);
    }
    reply
}
