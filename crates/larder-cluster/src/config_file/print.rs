//! Writing `nodes.conf`.

use super::{FORMER, HISTORY};
use crate::describe::write_after_address;
use crate::moment::Moment;
use crate::node::Node;
use crate::open_slots::OpenSlots;
use crate::standing::Lineage;
use crate::table::Table;
use std::fmt::Write;

/// What the last line says.
pub(crate) struct Variables<'v> {
    pub current_epoch: u64,
    pub last_vote_epoch: u64,
    /// That of a replica.
    pub lineage: Option<&'v Lineage>,
}

/// The text of the file. O(nodes + slots).
pub(crate) fn print(
    table: &Table,
    open: &OpenSlots,
    variables: &Variables<'_>,
    tls_cluster: bool,
    now: Moment,
) -> String {
    let mut out = String::with_capacity(table.len() * 256 + 64);
    for (_, node) in table.iter().filter(|(_, node)| !node.is_handshake()) {
        write_address(&mut out, node, tls_cluster);
        write_after_address(&mut out, table, node, open, node.outbound.is_some(), now);
        out.push('\n');
    }
    let Variables { current_epoch, last_vote_epoch, lineage } = *variables;
    write!(out, "vars currentEpoch {current_epoch} lastVoteEpoch {last_vote_epoch}")
        .expect("a string takes all");
    if let Some(lineage) = lineage {
        write_lineage(&mut out, lineage);
    }
    out.push('\n');
    out
}

fn write_lineage(out: &mut String, lineage: &Lineage) {
    let Lineage::Known { current, former } = lineage else { return };
    match current {
        Some((current, epoch)) => write!(out, " {HISTORY} {current}:{epoch}"),
        None => write!(out, " {HISTORY} -"),
    }
    .expect("a string takes all");
    if let Some((id, offset)) = former {
        write!(out, " {FORMER} {id}:{offset}").expect("a string takes all");
    }
}

fn write_address(out: &mut String, node: &Node, tls_cluster: bool) {
    let (address, names) = (&node.address, &node.names);
    let (port, other_port) = address.ports(tls_cluster);
    let bus_port = address.bus_port;
    write!(out, "{} {}:{port}@{bus_port},{}", node.id, address.ip, names.hostname)
        .expect("a string takes all");
    let mut field = |name: &str, value: &dyn std::fmt::Display| {
        write!(out, ",{name}={value}").expect("a string takes all");
    };
    let texts = [
        ("availability-zone", &names.zone),
        ("client-ipv6", &names.client_ipv6),
        ("client-ipv4", &names.client_ipv4),
        ("nodename", &names.node_name),
    ];
    for (name, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
        field(name, text);
    }
    let ports = [("client-tls-port", names.client_tls_port), ("client-tcp-port", names.client_port)];
    for (name, port) in ports.into_iter().filter(|&(_, port)| port > 0) {
        field(name, &port);
    }
    field(if tls_cluster { "tcp-port" } else { "tls-port" }, &other_port);
    field("shard-id", &node.shard);
}
