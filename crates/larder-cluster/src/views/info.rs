//! CLUSTER INFO.

use crate::cluster::Cluster;
use crate::packet::{Kind, NodeFlags};
use crate::stats::Traffic;
use std::fmt::Write;

impl Cluster {
    /// The text of CLUSTER INFO. `links_closed`: how many links were closed because their buffers were full.
    pub fn info_text(&self, links_closed: u64) -> String {
        let mut out = format!("cluster_state:{}\r\n", if self.health.is_down { "fail" } else { "ok" });
        let mut line = |name: &str, value: u64| {
            write!(out, "{name}:{value}\r\n").expect("a string takes all");
        };
        let slots_with = |flag: NodeFlags| {
            let with = self.table.iter().filter(|(_, node)| node.flags.has(flag));
            with.map(|(_, node)| u64::from(node.slots.len())).sum::<u64>()
        };
        let nodes_with = |flag: NodeFlags, must_vote: bool| {
            let with = |node: &crate::node::Node| node.flags.has(flag) && (!must_vote || node.votes());
            self.table.iter().filter(|(_, node)| with(node)).count() as u64
        };
        let assigned = u64::from(self.table.assigned());
        let (pfail, fail) = (slots_with(NodeFlags::PFAIL), slots_with(NodeFlags::FAIL));
        line("cluster_slots_assigned", assigned);
        line("cluster_slots_ok", assigned - pfail - fail);
        line("cluster_slots_pfail", pfail);
        line("cluster_slots_fail", fail);
        line("cluster_nodes_pfail", nodes_with(NodeFlags::PFAIL, false));
        line("cluster_nodes_fail", nodes_with(NodeFlags::FAIL, false));
        line("cluster_voting_nodes_pfail", nodes_with(NodeFlags::PFAIL, true));
        line("cluster_voting_nodes_fail", nodes_with(NodeFlags::FAIL, true));
        line("cluster_known_nodes", self.table.len() as u64);
        line("cluster_size", self.table.voters() as u64);
        line("cluster_current_epoch", self.current_epoch);
        let claims = self.me().primary.map_or(self.me(), |primary| &self.table[primary]);
        line("cluster_my_epoch", claims.config_epoch);
        write_packets(&self.stats.sent, "sent", &mut line);
        write_packets(&self.stats.received, "received", &mut line);
        let (sent, received) = (&self.stats.sent, &self.stats.received);
        line("cluster_stats_bytes_sent", sent.bytes);
        line("cluster_stats_bytes_received", received.bytes);
        line("cluster_stats_pubsub_bytes_sent", sent.pubsub_bytes);
        line("cluster_stats_pubsub_bytes_received", received.pubsub_bytes);
        line("cluster_stats_module_bytes_sent", sent.module_bytes);
        line("cluster_stats_module_bytes_received", received.module_bytes);
        line("total_cluster_links_buffer_limit_exceeded", links_closed);
        out
    }
}

fn write_packets(traffic: &Traffic, way: &str, line: &mut impl FnMut(&str, u64)) {
    for kind in Kind::ALL {
        let count = traffic.packets[kind as usize];
        if count > 0 {
            line(&format!("cluster_stats_messages_{}_{way}", kind.name()), count);
        }
    }
    line(&format!("cluster_stats_messages_{way}"), traffic.packets.iter().sum());
}
