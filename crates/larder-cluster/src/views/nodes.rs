//! CLUSTER NODES, CLUSTER REPLICAS.

use crate::cluster::Cluster;
use crate::commands::CommandError;
use crate::describe::write_after_address;
use crate::moment::Moment;
use crate::node::{Address, Names, Node};
use std::fmt::Write;

/// The client that asks: which of the announced addresses and ports it is shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Viewer {
    /// Whether it came by IPv6.
    pub is_ipv6: bool,
    /// Whether it uses TLS.
    pub is_tls: bool,
}

impl Viewer {
    /// The address of a node that it is shown.
    pub fn ip<'n>(self, address: &'n Address, names: &'n Names) -> &'n str {
        let announced = if self.is_ipv6 { &names.client_ipv6 } else { &names.client_ipv4 };
        if announced.is_empty() { &address.ip } else { announced }
    }

    /// The port of a node that it is shown.
    pub fn port(self, address: &Address, names: &Names) -> u16 {
        let (tls_port, port) = self.both_ports(address, names);
        if self.is_tls { tls_port } else { port }
    }

    /// The ports of a node with TLS and without.
    pub fn both_ports(self, address: &Address, names: &Names) -> (u16, u16) {
        let or = |announced: u16, own: u16| if announced > 0 { announced } else { own };
        (or(names.client_tls_port, address.tls_port), or(names.client_port, address.port))
    }
}

impl Cluster {
    /// The text of CLUSTER NODES: a line for each node, each with its end.
    pub fn nodes_text(&self, viewer: Viewer, now: Moment) -> String {
        let mut out = String::with_capacity(self.table.len() * 160);
        for (_, node) in self.table.iter() {
            self.write_line(node, viewer, now, &mut out);
            out.push('\n');
        }
        out
    }

    /// The lines of CLUSTER REPLICAS, without their ends.
    pub fn replicas_lines(
        &self,
        id: &[u8],
        viewer: Viewer,
        now: Moment,
    ) -> Result<Vec<String>, CommandError> {
        let unknown = || CommandError::UnknownNode(String::from_utf8_lossy(id).into_owned());
        let key = self.node_of(id).ok_or_else(unknown)?;
        if self.table[key].is_replica() {
            return Err(CommandError::NotMaster);
        }
        let line = |&replica| {
            let mut line = String::new();
            self.write_line(&self.table[replica], viewer, now, &mut line);
            line
        };
        Ok(self.table[key].replicas.iter().map(line).collect())
    }

    /// The number that CLUSTER COUNT-FAILURE-REPORTS shows.
    pub fn failure_reports(&mut self, id: &[u8], now: Moment) -> Result<usize, CommandError> {
        let unknown = || CommandError::UnknownNode(String::from_utf8_lossy(id).into_owned());
        let key = self.node_of(id).ok_or_else(unknown)?;
        Ok(self.count_reports(key, now.mono_ms))
    }

    fn write_line(&self, node: &Node, viewer: Viewer, now: Moment, out: &mut String) {
        let (address, names) = (&node.address, &node.names);
        let (ip, port) = (viewer.ip(address, names), viewer.port(address, names));
        write!(out, "{} {ip}:{port}@{}", node.id, node.address.bus_port).expect("a string takes all");
        if !node.names.hostname.is_empty() {
            write!(out, ",{}", node.names.hostname).expect("a string takes all");
        }
        let is_linked =
            node.outbound.is_some_and(|link| self.links.get(link).is_some_and(|link| link.is_open));
        write_after_address(out, &self.table, node, &self.open, is_linked, now);
    }
}
