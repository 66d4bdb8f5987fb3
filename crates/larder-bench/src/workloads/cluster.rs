//! What it costs to be a node of a cluster, and how long nobody can write when a primary is lost.

use super::operations::{CONNECTIONS, timed};
use crate::context::Context;
use crate::data::SEED;
use crate::figure::{Target, median, median_cost};
use crate::pool::ConnectionPool;
use crate::resp;
use crate::session::Session;
use fastrand::Rng;
use larder_testkit::{Client, Port, Server, Value};
use std::io;
use std::thread;
use std::time::{Duration, Instant};

/// Keys that SET and GET draw from.
const KEYS: usize = 100_000;
/// Both servers are measured in turn this many times, so that what disturbs one disturbs the other.
const TURNS: usize = 9;
/// Most that a node may cost, of what a server alone does.
const NODE_MOST: f64 = 1.03;
/// The timeout of the nodes that fail, in ms.
const NODE_TIMEOUT_MS: &str = "2000";
/// Primaries, and replicas.
pub(super) const PRIMARIES: usize = 3;
/// Slots of each primary at the beginning; the last one has fewer.
pub(super) const SLOTS_EACH: usize = 16_384_usize.div_ceil(PRIMARIES);
/// What keys are set to.
pub(super) const VALUE: &str = "a value of 20 bytes.";
/// How long a cluster may take for anything.
const AT_MOST: Duration = Duration::from_secs(120);

/// SET and GET of a node that has all slots, against a server that is none.
pub fn run(context: &mut Context, pipeline: usize) -> io::Result<()> {
    let bus = Port::reserve();
    let port = bus.number().to_string();
    let mut sides = [
        Side::of(Session::start_pinned(context.peer, &[])?)?,
        Side::of(Session::start_pinned(
            context.peer,
            &["--cluster-enabled", "yes", "--cluster-port", &port],
        )?)?,
    ];
    sides[1].session.ask("CLUSTER ADDSLOTSRANGE 0 16383")?;
    wait("the cluster is well", || {
        Ok(sides[1].session.ask("CLUSTER INFO")?.text().contains("cluster_state:ok"))
    })?;
    let operations = context.scaled(if pipeline == 1 { 40_000 } else { 300_000 }, 1000);
    for side in &mut sides {
        side.pool.run(KEYS.div_ceil(CONNECTIONS * 16), 16, sets())?;
    }
    for verb in ["SET", "GET"] {
        let mut costs = [Vec::new(), Vec::new()];
        for turn in 0..context.rounds(TURNS) {
            context.stage(&format!("{verb}, turn {turn}"));
            for at in if turn % 2 == 0 { [0, 1] } else { [1, 0] } {
                let Side { session, pool } = &mut sides[at];
                let rounds = pool.rounds(operations, pipeline);
                pool.run(rounds.div_ceil(20), pipeline, commands(verb))?;
                let (cost, nulls) = timed(session, pool, rounds, pipeline, commands(verb))?;
                if nulls > 0 {
                    return Err(io::Error::other(format!("{verb}: {nulls} null replies")));
                }
                costs[at].push(cost);
            }
        }
        let alone = format!("{verb}, no cluster, pipeline {pipeline}");
        context.cost(alone.clone(), median_cost(&costs[0]), Target::None);
        let row = format!("{verb}, node with all slots, pipeline {pipeline}");
        context.cost(row, median_cost(&costs[1]), Target::OfRow(NODE_MOST, alone));
    }
    Ok(())
}

/// A server and its connections.
struct Side {
    session: Session,
    pool: ConnectionPool,
}

impl Side {
    fn of(session: Session) -> io::Result<Side> {
        let pool = session.pool(CONNECTIONS)?;
        Ok(Side { session, pool })
    }
}

pub(super) fn key(number: usize) -> String {
    format!("key:{number:012}")
}

/// All keys in turn.
fn sets() -> impl FnMut(&mut Vec<u8>) {
    let mut next = 0;
    move |out| {
        resp::command(out, &[b"SET", key(next % KEYS).as_bytes(), VALUE.as_bytes()]);
        next += 1;
    }
}

fn commands(verb: &str) -> impl FnMut(&mut Vec<u8>) {
    let (mut rng, is_set) = (Rng::with_seed(SEED), verb == "SET");
    move |out| {
        let key = key(rng.usize(..KEYS));
        match is_set {
            true => resp::command(out, &[b"SET", key.as_bytes(), VALUE.as_bytes()]),
            false => resp::command(out, &[b"GET", key.as_bytes()]),
        }
    }
}

/// A primary is killed: how long until a write to its slots is answered by the node that takes its place.
pub fn failover(context: &mut Context) -> io::Result<()> {
    let mut group = Group::start(context, NODE_TIMEOUT_MS)?;
    let mut gaps = Vec::new();
    let rounds = context.rounds(50);
    for round in 0..rounds {
        context.progress("kills", round, rounds);
        gaps.push(group.kill_and_wait(round % PRIMARIES)?);
    }
    gaps.sort_by(f64::total_cmp);
    // The least that 95 % of the rounds do not exceed.
    let at_95 = gaps[(gaps.len() * 95).div_ceil(100) - 1];
    context.figure("no writes after kill -9, 95 % of rounds", "ms", at_95, Target::Most(3500.0));
    context.figure("the slowest round", "ms", gaps[gaps.len() - 1], Target::None);
    context.figure("the median", "ms", median(gaps), Target::None);
    Ok(())
}

/// Six nodes: the first three are primaries at the beginning, each with the replica three places after it.
pub(super) struct Group {
    nodes: Vec<Member>,
    /// Those that lead now, by their places.
    leaders: [usize; PRIMARIES],
}

pub(super) struct Member {
    server: Server,
    args: Vec<String>,
    bus: Port,
}

impl Member {
    fn start(context: &Context, node_timeout_ms: &str) -> io::Result<Member> {
        let bus = Port::reserve();
        let port = bus.number().to_string();
        let own = [
            ["--cluster-enabled", "yes"],
            ["--cluster-port", &port],
            ["--cluster-node-timeout", node_timeout_ms],
            ["--repl-diskless-sync-delay", "0"],
        ];
        let server = context.peer.start_free(own.as_flattened())?;
        let (_, extra) = context.peer.command();
        let args = extra.iter().cloned().chain(own.as_flattened().iter().map(|&arg| arg.to_owned()));
        Ok(Member { server, args: args.collect(), bus })
    }

    pub(super) fn port(&self) -> u16 {
        self.server.port()
    }

    pub(super) fn client(&self) -> Client {
        self.server.client()
    }

    pub(super) fn ask(&self, line: &str) -> io::Result<String> {
        match self.server.client().ask(line) {
            Value::Error(text) => Err(io::Error::other(format!("{line}: {text}"))),
            reply => Ok(reply.text()),
        }
    }

    /// It finds the cluster well, and follows its primary if it has one.
    fn is_well(&self) -> io::Result<bool> {
        let replication = self.ask("INFO replication")?;
        let follows = replication.contains("role:master") || replication.contains("master_link_status:up");
        let nodes = self.ask("CLUSTER NODES")?;
        let has_failed =
            nodes.lines().any(|line| line.split(' ').nth(2).is_some_and(|flags| flags.contains("fail")));
        Ok(follows && !has_failed && self.ask("CLUSTER INFO")?.contains("cluster_state:ok"))
    }
}

impl Group {
    /// A node by its place.
    pub(super) fn node(&self, at: usize) -> &Member {
        &self.nodes[at]
    }

    pub(super) fn start(context: &Context, node_timeout_ms: &str) -> io::Result<Group> {
        let nodes = (0..2 * PRIMARIES)
            .map(|_| Member::start(context, node_timeout_ms))
            .collect::<io::Result<Vec<_>>>()?;
        for (at, node) in nodes.iter().enumerate() {
            if at < PRIMARIES {
                let (from, to) = (at * SLOTS_EACH, ((at + 1) * SLOTS_EACH).min(16_384) - 1);
                node.ask(&format!("CLUSTER ADDSLOTSRANGE {from} {to}"))?;
                node.ask(&format!("CLUSTER SET-CONFIG-EPOCH {}", at + 1))?;
            }
            if at > 0 {
                let meet = format!("CLUSTER MEET 127.0.0.1 {} {}", node.server.port(), node.bus.number());
                nodes[0].ask(&meet)?;
            }
        }
        for at in 0..PRIMARIES {
            let id = nodes[at].ask("CLUSTER MYID")?;
            let line = format!("CLUSTER REPLICATE {id}");
            wait("the replica knows its primary", || Ok(nodes[at + PRIMARIES].ask(&line).is_ok()))?;
        }
        let group = Group { nodes, leaders: [0, 1, 2] };
        group.settle()?;
        Ok(group)
    }

    /// Waits until all is well, and the three that follow do so.
    fn settle(&self) -> io::Result<()> {
        wait("all is well", || {
            let mut followers = 0;
            for node in &self.nodes {
                followers += usize::from(node.ask("INFO replication")?.contains("role:slave"));
                if !node.is_well()? {
                    return Ok(false);
                }
            }
            Ok(followers == PRIMARIES)
        })
    }

    /// The leader of a shard is killed. In ms; it is back, as a replica, when this returns.
    fn kill_and_wait(&mut self, shard: usize) -> io::Result<f64> {
        let old = self.leaders[shard];
        let new = (old + PRIMARIES) % (2 * PRIMARIES);
        let key = KEYS_OF_SHARDS[shard];
        let mut client = self.nodes[new].server.client();
        self.nodes[old].server.kill();
        let begun = Instant::now();
        wait("a write is answered", || Ok(is_written(&mut client, key)))?;
        let gap = begun.elapsed().as_secs_f64() * 1e3;
        self.leaders[shard] = new;
        let Member { server, args, .. } = &mut self.nodes[old];
        if !server.start_again(&args.iter().map(String::as_str).collect::<Vec<_>>()) {
            return Err(io::Error::other("the node does not come back"));
        }
        self.settle()?;
        Ok(gap)
    }
}

/// A name in the slots of each of the three.
const KEYS_OF_SHARDS: [&str; PRIMARIES] = ["key-0", "key-3", "key-2"];

fn is_written(client: &mut Client, key: &str) -> bool {
    matches!(client.ask(&format!("SET {key} 1")), Value::Simple(_))
}

/// Asks every millisecond until something holds.
pub(super) fn wait(what: &str, mut holds: impl FnMut() -> io::Result<bool>) -> io::Result<()> {
    let deadline = Instant::now() + AT_MOST;
    while !holds()? {
        if Instant::now() > deadline {
            return Err(io::Error::other(format!("not in time: {what}")));
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}
