//! What subcommands of CLUSTER show of the nodes.

use super::links::Links;
use larder_cluster::{Cluster, CommandError, Direction, Env, NodeView, Viewer};
use larder_engine::config::Config;
use larder_resp::{Args, Protocol, Reply};

/// What clients are told to connect to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Endpoint {
    Hostname,
    Ip,
    Unknown,
}

impl Endpoint {
    fn of(config: &Config) -> Endpoint {
        match &*config.value("cluster-preferred-endpoint-type") {
            "hostname" => Endpoint::Hostname,
            "unknown-endpoint" => Endpoint::Unknown,
            _ => Endpoint::Ip,
        }
    }

    /// `None` where a client keeps the address that it has.
    fn text(self, node: &NodeView) -> Option<&str> {
        match self {
            Endpoint::Hostname if node.hostname.is_empty() => Some("?"),
            Endpoint::Hostname => Some(&node.hostname),
            Endpoint::Ip => Some(&node.ip),
            Endpoint::Unknown => None,
        }
    }
}

/// A question about the nodes.
pub struct Question<'q> {
    /// The whole command.
    pub args: Args<'q>,
    /// Who asks.
    pub viewer: Viewer,
    /// The options.
    pub config: &'q Config,
    /// The sockets.
    pub links: &'q Links,
}

impl Question<'_> {
    /// The reply, if it is a question; a command that changes something is none.
    pub fn answer(&self, cluster: &mut Cluster, env: &Env<'_>, protocol: Protocol) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        self.write(cluster, env, &mut Reply::new(&mut bytes, protocol)).then_some(bytes)
    }

    fn write(&self, cluster: &mut Cluster, env: &Env<'_>, reply: &mut Reply<'_>) -> bool {
        let name = self.args.get(1).unwrap_or_default().to_ascii_lowercase();
        match name.as_slice() {
            b"count-failure-reports" => {
                let reports = cluster.failure_reports(self.args.at(2), env.now);
                or_error(reports, reply, |reply, count| reply.count(count));
            }
            b"info" => reply.verbatim("txt", cluster.info_text(self.links.overflows).as_bytes()),
            b"links" => self.write_links(cluster, reply),
            b"nodes" => reply.verbatim("txt", cluster.nodes_text(self.viewer, env.now).as_bytes()),
            b"replicas" | b"slaves" => {
                let lines = cluster.replicas_lines(self.args.at(2), self.viewer, env.now);
                or_error(lines, reply, |reply, lines| {
                    reply.array(lines.len());
                    lines.iter().for_each(|line| reply.bulk(line.as_bytes()));
                });
            }
            b"shards" => self.write_shards(cluster, env, reply),
            b"slots" => self.write_slots(cluster, env, reply),
            _ => return false,
        }
        true
    }

    fn write_slots(&self, cluster: &Cluster, env: &Env<'_>, reply: &mut Reply<'_>) {
        let ranges = cluster.slots_view(self.viewer, env);
        let endpoint = Endpoint::of(self.config);
        reply.array(ranges.len());
        for range in ranges {
            reply.array(2 + range.nodes.len());
            reply.int(i64::from(range.start));
            reply.int(i64::from(range.end));
            range.nodes.iter().for_each(|node| self.write_node_of_slots(node, endpoint, reply));
        }
    }

    fn write_node_of_slots(&self, node: &NodeView, endpoint: Endpoint, reply: &mut Reply<'_>) {
        reply.array(4);
        reply.bulk_or_null(endpoint.text(node).map(str::as_bytes));
        reply.int(i64::from(if self.viewer.is_tls { node.tls_port } else { node.port }));
        reply.bulk(node.id.as_bytes());
        let more = [
            ("ip", &node.ip, endpoint != Endpoint::Ip),
            ("hostname", &node.hostname, endpoint != Endpoint::Hostname && !node.hostname.is_empty()),
            ("availability-zone", &node.zone, !node.zone.is_empty()),
        ];
        let more: Vec<_> = more.iter().filter(|(.., is_shown)| *is_shown).collect();
        reply.map(more.len());
        for (name, value, _) in more {
            reply.bulk(name.as_bytes());
            reply.bulk(value.as_bytes());
        }
    }

    fn write_shards(&self, cluster: &Cluster, env: &Env<'_>, reply: &mut Reply<'_>) {
        let shards = cluster.shards_view(self.viewer, env);
        reply.array(shards.len());
        for shard in shards {
            reply.map(3);
            reply.bulk(b"slots");
            reply.array(2 * shard.ranges.len());
            for (start, end) in &shard.ranges {
                reply.int(i64::from(*start));
                reply.int(i64::from(*end));
            }
            reply.bulk(b"nodes");
            reply.array(shard.nodes.len());
            shard.nodes.iter().for_each(|node| self.write_node_of_shard(node, reply));
            reply.bulk(b"id");
            reply.bulk(shard.id.as_bytes());
        }
    }

    fn write_node_of_shard(&self, node: &NodeView, reply: &mut Reply<'_>) {
        let (has_port, has_tls_port) = node.has_ports;
        let ports = [("port", node.port, has_port), ("tls-port", node.tls_port, has_tls_port)];
        let ports: Vec<_> = ports.into_iter().filter(|&(.., is_there)| is_there).collect();
        let texts = |name: &'static str, text: &str| (!text.is_empty()).then(|| (name, text.to_owned()));
        let role = if node.is_replica { "replica" } else { "master" };
        let before = [
            Some(("ip", node.ip.to_string())),
            Some(("endpoint", Endpoint::of(self.config).text(node).unwrap_or_default().to_owned())),
            texts("hostname", &node.hostname),
            texts("role", role),
        ];
        let before: Vec<_> = before.into_iter().flatten().collect();
        let after = [texts("health", node.health.name()), texts("availability-zone", &node.zone)];
        let after: Vec<_> = after.into_iter().flatten().collect();
        reply.map(2 + ports.len() + before.len() + after.len());
        reply.bulk(b"id");
        reply.bulk(node.id.as_bytes());
        for (name, port, _) in ports {
            reply.bulk(name.as_bytes());
            reply.int(i64::from(port));
        }
        let write = |reply: &mut Reply<'_>, (name, text): &(&str, String)| {
            reply.bulk(name.as_bytes());
            reply.bulk(text.as_bytes());
        };
        before.iter().for_each(|field| write(reply, field));
        reply.bulk(b"replication-offset");
        reply.int(node.offset as i64);
        after.iter().for_each(|field| write(reply, field));
    }

    fn write_links(&self, cluster: &Cluster, reply: &mut Reply<'_>) {
        let links = cluster.links_view();
        reply.array(links.len());
        for link in links {
            let queued = self.links.queued_bytes(link.link) as i64;
            let direction = if link.direction == Direction::From { "from" } else { "to" };
            reply.map(6);
            for (name, value) in [
                ("direction", direction),
                ("node", link.node.as_str()),
                ("events", if queued > 0 { "rw" } else { "r" }),
            ] {
                if name == "events" {
                    reply.bulk(b"create-time");
                    reply.int(link.create_time as i64);
                }
                reply.bulk(name.as_bytes());
                reply.bulk(value.as_bytes());
            }
            for name in ["send-buffer-allocated", "send-buffer-used"] {
                reply.bulk(name.as_bytes());
                reply.int(queued);
            }
        }
    }
}

/// Writes what was asked for, or why it cannot be told.
fn or_error<T>(
    outcome: Result<T, CommandError>,
    reply: &mut Reply<'_>,
    write: impl FnOnce(&mut Reply<'_>, T),
) {
    match outcome {
        Ok(value) => write(reply, value),
        Err(error) => reply.error(error.to_string().as_bytes()),
    }
}
