//! A line about a node, as CLUSTER NODES and `nodes.conf` have it.

use crate::moment::Moment;
use crate::node::Node;
use crate::open_slots::OpenSlots;
use crate::packet::NodeFlags;
use crate::table::Table;
use std::fmt::Write;

/// The names of flags, in the order in which they stand.
pub(crate) const FLAG_NAMES: [(NodeFlags, &str); 8] = [
    (NodeFlags::MYSELF, "myself"),
    (NodeFlags::PRIMARY, "master"),
    (NodeFlags::REPLICA, "slave"),
    (NodeFlags::PFAIL, "fail?"),
    (NodeFlags::FAIL, "fail"),
    (NodeFlags::HANDSHAKE, "handshake"),
    (NodeFlags::NOADDR, "noaddr"),
    (NodeFlags::NOFAILOVER, "nofailover"),
];

/// What stands for no flags.
pub(crate) const NO_FLAGS: &str = "noflags";

/// Appends what follows the second field: flags, primary, times, epoch, state of the link, slots. No end of line.
pub(crate) fn write_after_address(
    out: &mut String,
    table: &Table,
    node: &Node,
    open: &OpenSlots,
    is_linked: bool,
    now: Moment,
) {
    out.push(' ');
    write_flags(out, node.flags);
    let primary = node.primary.map(|primary| &table[primary]);
    match primary {
        Some(primary) => write!(out, " {}", primary.id),
        None => write!(out, " -"),
    }
    .expect("a string takes all");
    let [ping, pong] =
        [node.ping_sent, node.pong_received].map(|time| time.map_or(0, |time| now.wall_of(time)));
    let epoch = primary.unwrap_or(node).config_epoch;
    let link = if is_linked || node.is_myself() { "connected" } else { "disconnected" };
    write!(out, " {ping} {pong} {epoch} {link}").expect("a string takes all");
    node.slots.write_ranges(out);
    if node.is_myself() {
        write_open(out, table, open);
    }
}

fn write_flags(out: &mut String, flags: NodeFlags) {
    let names = FLAG_NAMES.iter().filter(|&&(flag, _)| flags.has(flag)).map(|(_, name)| *name);
    let text = names.collect::<Vec<_>>().join(",");
    out.push_str(if text.is_empty() { NO_FLAGS } else { &text });
}

fn write_open(out: &mut String, table: &Table, open: &OpenSlots) {
    let migrating = open.migrating.iter().map(|(&slot, &to)| (slot, ">", to));
    let importing = open.importing.iter().map(|(&slot, &from)| (slot, "<", from));
    let mut all: Vec<_> = migrating.chain(importing).collect();
    all.sort_by_key(|&(slot, ..)| slot);
    for (slot, way, other) in all {
        write!(out, " [{slot}-{way}-{}]", table[other].id).expect("a string takes all");
    }
}
