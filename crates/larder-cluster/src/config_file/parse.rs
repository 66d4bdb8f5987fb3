//! Reading `nodes.conf`.

use super::{FORMER, HISTORY};
use crate::describe::{FLAG_NAMES, NO_FLAGS};
use crate::history::HistoryId;
use crate::id::NodeId;
use crate::node::Names;
use crate::packet::{NodeFlags, is_address, is_value};
use crate::slot_set::{SLOTS, SlotSet};
use crate::standing::Lineage;
use std::collections::HashSet;
use std::fmt;

/// How far the port for the bus is from that for clients, where a file does not say it.
const BUS_PORT_DISTANCE: u16 = 10_000;

/// What a file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SavedConfig {
    /// The nodes; one of them is this one.
    pub nodes: Vec<SavedNode>,
    /// The highest epoch that was known.
    pub current_epoch: u64,
    /// The epoch of the last vote.
    pub last_vote_epoch: u64,
    /// Of a replica: which data is that of its primary.
    pub lineage: Lineage,
    /// Slots that several nodes claim. The first of them has such a slot.
    pub contested: SlotSet,
}

/// What a file says of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedNode {
    /// Its name.
    pub id: NodeId,
    /// The name of its shard; files of Redis have none.
    pub shard: Option<NodeId>,
    /// Its address; may be empty.
    pub ip: Box<str>,
    /// The port that stands first, for clients.
    pub port: u16,
    /// The other port for clients.
    pub other_port: u16,
    /// The port for the bus.
    pub bus_port: u16,
    /// What it announces.
    pub names: Names,
    /// What it is.
    pub flags: NodeFlags,
    /// Whose replica it is.
    pub primary: Option<NodeId>,
    /// Whether an answer was due.
    pub is_pinged: bool,
    /// Whether it had answered.
    pub has_answered: bool,
    /// The version of its slots.
    pub config_epoch: u64,
    /// Its slots.
    pub slots: SlotSet,
    /// Slots on the way out, and where to.
    pub migrating: Vec<(u16, NodeId)>,
    /// Slots on the way in, and where from.
    pub importing: Vec<(u16, NodeId)>,
}

/// Whether two texts of `nodes.conf` say the same of what a node promises, and of all else but the times at which others were heard of. A text
/// that is none says nothing. O(length).
pub fn promises_as_much(one: &str, other: &str) -> bool {
    let timeless = |text: &str| {
        let mut config = parse(text.as_bytes()).ok()?;
        for node in &mut config.nodes {
            (node.is_pinged, node.has_answered) = (false, false);
        }
        Some(config)
    };
    timeless(one).is_some_and(|one| Some(one) == timeless(other))
}

/// Why a file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The line, from 1 on; 0: the file as a whole.
    pub line: usize,
    /// What is wrong there.
    pub wrong: Wrong,
}

/// What is wrong with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the texts below say it")]
pub enum Wrong {
    Address,
    Epoch,
    Fields,
    Flag,
    History,
    Id,
    NoMyself,
    OpenSlot,
    Primary,
    Slot,
    SlotTwice,
    Time,
    Twice,
    TwoMyselves,
    Utf8,
    Value,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.wrong {
            Wrong::Address => "an address that is not ip:port@port",
            Wrong::Epoch => "an epoch that is not a number",
            Wrong::Fields => "too few fields",
            Wrong::Flag => "an unknown flag or a missing role",
            Wrong::History => "a history that is not an ID and a number",
            Wrong::Id => "an invalid node ID",
            Wrong::NoMyself => "no line has the flag 'myself'",
            Wrong::OpenSlot => "an invalid open slot",
            Wrong::Primary => "an invalid ID of a primary",
            Wrong::Slot => "an invalid slot",
            Wrong::SlotTwice => "a duplicate slot",
            Wrong::Time => "a time that is not a number",
            Wrong::Twice => "a duplicate node",
            Wrong::TwoMyselves => "a second line with the flag 'myself'",
            Wrong::Utf8 => "bytes that are not UTF-8",
            Wrong::Value => "an unknown name or an invalid value",
        };
        match self.line {
            0 => f.write_str(what),
            line => write!(f, "line {line}: {what}"),
        }
    }
}

impl std::error::Error for ConfigError {}

/// Reads a file. An empty one has no nodes; every other one has this node among them. O(bytes).
pub fn parse(bytes: &[u8]) -> Result<SavedConfig, ConfigError> {
    let text = std::str::from_utf8(bytes).map_err(|_| ConfigError { line: 0, wrong: Wrong::Utf8 })?;
    let mut config = SavedConfig::default();
    let mut seen = Seen::default();
    for (at, line) in text.lines().enumerate() {
        read_line(line, &mut config, &mut seen).map_err(|wrong| ConfigError { line: at + 1, wrong })?;
    }
    if !config.nodes.is_empty() && !seen.myself {
        return Err(ConfigError { line: 0, wrong: Wrong::NoMyself });
    }
    Ok(config)
}

/// What may be said only once.
#[derive(Default)]
struct Seen {
    ids: HashSet<NodeId>,
    slots: SlotSet,
    myself: bool,
}

fn read_line(line: &str, config: &mut SavedConfig, seen: &mut Seen) -> Result<(), Wrong> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    match fields.as_slice() {
        [] => Ok(()),
        ["vars", variables @ ..] => read_variables(variables, config),
        [id, address, flags, primary, ping, pong, epoch, _link, slots @ ..] => {
            let mut node = read_address(id, address)?;
            node.flags = read_flags(flags)?;
            node.primary = read_primary(primary, node.flags)?;
            [node.is_pinged, node.has_answered] = [read_time(ping)?, read_time(pong)?];
            node.config_epoch = epoch.parse().map_err(|_| Wrong::Epoch)?;
            slots.iter().try_for_each(|slot| read_slots(slot, &mut node))?;
            add(node, config, seen)
        }
        _ => Err(Wrong::Fields),
    }
}

fn add(mut node: SavedNode, config: &mut SavedConfig, seen: &mut Seen) -> Result<(), Wrong> {
    if !seen.ids.insert(node.id) {
        return Err(Wrong::Twice);
    }
    if node.flags.has(NodeFlags::MYSELF) && std::mem::replace(&mut seen.myself, true) {
        return Err(Wrong::TwoMyselves);
    }
    for slot in node.slots.clone().iter().filter(|&slot| !seen.slots.insert(slot)) {
        node.slots.remove(slot);
        config.contested.insert(slot);
    }
    config.nodes.push(node);
    Ok(())
}

fn read_variables(variables: &[&str], config: &mut SavedConfig) -> Result<(), Wrong> {
    let epoch = |value: &str| value.parse().map_err(|_| Wrong::Epoch);
    let mut histories = None;
    for pair in variables.chunks(2) {
        let &[name, value] = pair else { return Err(Wrong::Fields) };
        match name {
            "currentEpoch" => config.current_epoch = epoch(value)?,
            "lastVoteEpoch" => config.last_vote_epoch = epoch(value)?,
            HISTORY if value == "-" => histories = Some((None, None)),
            HISTORY => histories = Some((Some(read_history(value)?), None)),
            FORMER => histories.get_or_insert_default().1 = Some(read_history(value)?),
            _ => {}
        }
    }
    if let Some((current, former)) = histories {
        config.lineage = Lineage::Known { current, former };
    }
    Ok(())
}

/// Reads `id:number`.
fn read_history(text: &str) -> Result<(HistoryId, u64), Wrong> {
    let (id, number) = text.split_once(':').ok_or(Wrong::History)?;
    let id = HistoryId::parse(id.as_bytes()).ok_or(Wrong::History)?;
    Ok((id, number.parse().map_err(|_| Wrong::History)?))
}

/// Reads the first two fields.
fn read_address(id: &str, field: &str) -> Result<SavedNode, Wrong> {
    let mut parts = field.split(',');
    let (ip, ports) = parts.next().and_then(|address| address.rsplit_once(':')).ok_or(Wrong::Address)?;
    if !is_address(ip.as_bytes()) {
        return Err(Wrong::Address);
    }
    let number = |text: &str| text.parse::<u16>().map_err(|_| Wrong::Address);
    let (port, bus_port) = match ports.split_once('@') {
        Some((port, bus_port)) => (number(port)?, number(bus_port)?),
        None => (number(ports)?, number(ports)?.checked_add(BUS_PORT_DISTANCE).ok_or(Wrong::Address)?),
    };
    let mut node = SavedNode {
        id: NodeId::parse(id.as_bytes()).ok_or(Wrong::Id)?,
        shard: None,
        ip: ip.into(),
        port,
        other_port: 0,
        bus_port,
        names: Names::default(),
        flags: NodeFlags::default(),
        primary: None,
        is_pinged: false,
        has_answered: false,
        config_epoch: 0,
        slots: SlotSet::new(),
        migrating: Vec::new(),
        importing: Vec::new(),
    };
    node.names.hostname = read_value(parts.next().unwrap_or_default())?;
    parts.try_for_each(|part| read_named(part, &mut node))?;
    Ok(node)
}

fn read_named(part: &str, node: &mut SavedNode) -> Result<(), Wrong> {
    let (name, value) = part.split_once('=').ok_or(Wrong::Value)?;
    let port = || value.parse::<u16>().map_err(|_| Wrong::Value);
    let names = &mut node.names;
    match name {
        "shard-id" => node.shard = Some(NodeId::parse(value.as_bytes()).ok_or(Wrong::Value)?),
        "nodename" => names.node_name = read_value(value)?,
        "tcp-port" | "tls-port" => node.other_port = port()?,
        "client-ipv4" => names.client_ipv4 = read_value(value)?,
        "client-ipv6" => names.client_ipv6 = read_value(value)?,
        "client-tcp-port" => names.client_port = port()?,
        "client-tls-port" => names.client_tls_port = port()?,
        "availability-zone" => names.zone = read_value(value)?,
        _ => return Err(Wrong::Value),
    }
    Ok(())
}

fn read_value(text: &str) -> Result<Box<str>, Wrong> {
    if is_value(text.as_bytes()) { Ok(text.into()) } else { Err(Wrong::Value) }
}

fn read_flags(field: &str) -> Result<NodeFlags, Wrong> {
    let mut flags = NodeFlags::default();
    for name in field.split(',').filter(|&name| name != NO_FLAGS) {
        flags |= FLAG_NAMES.iter().find(|(_, known)| *known == name).ok_or(Wrong::Flag)?.0;
    }
    if (flags & NodeFlags::ROLE) == NodeFlags::ROLE { Err(Wrong::Flag) } else { Ok(flags) }
}

fn read_primary(field: &str, flags: NodeFlags) -> Result<Option<NodeId>, Wrong> {
    match field {
        "-" => Ok(None),
        _ if !flags.has(NodeFlags::REPLICA) => Err(Wrong::Primary),
        id => NodeId::parse(id.as_bytes()).map(Some).ok_or(Wrong::Primary),
    }
}

/// Whether there is a time: what it was, another clock says.
fn read_time(field: &str) -> Result<bool, Wrong> {
    field.parse::<u64>().map(|time| time != 0).map_err(|_| Wrong::Time)
}

/// Reads `5`, `5-7`, `[5->-id]` or `[5-<-id]`.
fn read_slots(field: &str, node: &mut SavedNode) -> Result<(), Wrong> {
    if let Some(open) = field.strip_prefix('[') {
        return read_open(open.strip_suffix(']').ok_or(Wrong::OpenSlot)?, node);
    }
    let (start, end) = field.split_once('-').unwrap_or((field, field));
    let [start, end] = [read_slot(start)?, read_slot(end)?];
    if start > end {
        return Err(Wrong::Slot);
    }
    if (start..=end).all(|slot| node.slots.insert(slot)) { Ok(()) } else { Err(Wrong::SlotTwice) }
}

fn read_open(text: &str, node: &mut SavedNode) -> Result<(), Wrong> {
    let list = if text.contains("->-") { &mut node.migrating } else { &mut node.importing };
    let (slot, other) = text.split_once("->-").or_else(|| text.split_once("-<-")).ok_or(Wrong::OpenSlot)?;
    list.push((read_slot(slot)?, NodeId::parse(other.as_bytes()).ok_or(Wrong::OpenSlot)?));
    Ok(())
}

fn read_slot(text: &str) -> Result<u16, Wrong> {
    text.parse().ok().filter(|&slot| slot < SLOTS).ok_or(Wrong::Slot)
}
