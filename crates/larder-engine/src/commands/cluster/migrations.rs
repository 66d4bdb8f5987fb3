//! CLUSTER MIGRATESLOTS, GETSLOTMIGRATIONS, CANCELSLOTMIGRATIONS: what operators say and ask of atomic migrations of slots.
//!
//! Tested by `tests/cluster/migration.rs` of the server.

use super::{map, needs_cluster, slot};
use crate::cluster::ForBus;
use crate::cluster::migration::{Migration, Operation};
use crate::context::Context;
use crate::engine::random_id;
use crate::error::{CommandError, CommandResult};
use crate::text::number::{c_string, parse_i64};
use crate::text::word::is_word;
use larder_cluster::{NodeId, SlotMap, SlotSet};
use larder_resp::Args;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

pub(super) const PRIMARIES_ONLY: CommandError =
    CommandError::Fixed("ERR Slot migration can only be used on primary nodes.");

/// CLUSTER MIGRATESLOTS: all of its migrations begin, or none.
pub(super) fn migrateslots(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let map = map(context)?;
    if map.me().primary.is_some() {
        return Err(PRIMARIES_ONLY);
    }
    check_closed(&map)?;
    let mut new: Vec<Arc<Migration>> = Vec::new();
    let mut at = 2;
    while at < args.len() {
        let slots = parse_slots(&map, args, &mut at)?;
        if new.iter().any(|other| slots.iter().any(|slot| other.slots.contains(slot))) {
            return Err(CommandError::Fixed("ERR Slot ranges in migrations overlap"));
        }
        let target = parse_target(&map, args, &mut at)?;
        let ends = (map.me().id, target);
        new.push(Arc::new(Migration::new(random_id(), Operation::Export, slots, ends, None)));
    }
    begin(context, new.clone()).map_err(|(slot, job)| {
        let does = if job.operation == Operation::Export { "migrating" } else { "importing" };
        CommandError::text(format!("ERR I am already {does} slot {slot}."))
    })?;
    for job in new {
        context.engine.cluster.send(ForBus::Export(job));
    }
    context.reply.ok();
    Ok(())
}

/// Registers migrations, as the option for their log wants it.
pub(super) fn begin(context: &Context<'_>, new: Vec<Arc<Migration>>) -> Result<(), (u16, Arc<Migration>)> {
    context.engine.begin_migrations(new)
}

/// `SLOTSRANGE start end ..`, from the argument at `at` on: slots of this node.
fn parse_slots(map: &SlotMap, args: Args<'_>, at: &mut usize) -> CommandResult<SlotSet> {
    // valkey-cli sends the word with the zero byte that ends it in its memory.
    if !is_word(c_string(args.at(*at)), "slotsrange") {
        return Err(CommandError::SYNTAX);
    }
    *at += 1;
    let slots = parse_ranges(Some(map), args, at)?;
    if slots.iter().any(|slot| !map.is_mine(slot)) {
        return Err(CommandError::Fixed("ERR Slots are not served by this node."));
    }
    Ok(slots)
}

/// `NODE id`, from the argument at `at` on: another primary.
fn parse_target(map: &SlotMap, args: Args<'_>, at: &mut usize) -> CommandResult<NodeId> {
    let is_node = args.get(*at).is_some_and(|word| is_word(word, "node"));
    let Some(name) = args.get(*at + 1).filter(|_| is_node) else { return Err(CommandError::SYNTAX) };
    *at += 2;
    let shown = String::from_utf8_lossy(name);
    if name.len() != larder_cluster::ID_BYTES {
        return Err(CommandError::text(format!("ERR Invalid node name: {shown}")));
    }
    let node = NodeId::parse(name).and_then(|id| map.nodes.iter().find(|node| node.id == id));
    let node = node.ok_or_else(|| CommandError::text(format!("ERR Unknown node name: {shown}")))?;
    if node.id == map.me().id {
        return Err(CommandError::Fixed("ERR Target node can not be this node."));
    }
    if node.primary.is_some() {
        return Err(CommandError::Fixed("ERR Target node is not a primary"));
    }
    Ok(node.id)
}

/// Pairs of slots from the argument at `at` on, which goes to where they end: at the first word that is no integer. If there is a map, one
/// node has all of them.
pub(super) fn parse_ranges(map: Option<&SlotMap>, args: Args<'_>, at: &mut usize) -> CommandResult<SlotSet> {
    let mut slots = SlotSet::new();
    let mut ranges: Vec<(u16, u16)> = Vec::new();
    while let Some(first) = args.get(*at).filter(|word| parse_i64(word).is_some()) {
        let first = slot(first)?;
        let last = args.get(*at + 1).ok_or(CommandError::Fixed("ERR No end slot for final slot range"))?;
        let last = slot(last)?;
        if first > last {
            return Err(CommandError::text(format!(
                "ERR Start slot number {first} is greater than end slot number {last}."
            )));
        }
        if let Some(map) = map {
            check_owner(map, ranges.first().map_or(first, |range| range.0), first..=last)?;
        }
        if let Some((from, to)) = ranges.iter().find(|(from, to)| first <= *to && *from <= last) {
            return Err(CommandError::text(format!(
                "ERR Slot range {first}-{last} overlaps with previous range {from}-{to}."
            )));
        }
        ranges.push((first, last));
        for slot in first..=last {
            slots.insert(slot);
        }
        *at += 2;
    }
    if slots.is_empty() {
        return Err(CommandError::Fixed("ERR No slot ranges specified"));
    }
    Ok(slots)
}

/// The node that has the slot `one` has these, too.
fn check_owner(map: &SlotMap, one: u16, slots: RangeInclusive<u16>) -> CommandResult {
    for slot in slots {
        let owner = map.owner_at(slot);
        if owner.is_none() {
            return Err(CommandError::text(format!("ERR Slot {slot} has no node served.")));
        }
        if owner != map.owner_at(one) {
            return Err(CommandError::Fixed("ERR Requested slots span multiple shards"));
        }
    }
    Ok(())
}

/// No slot is moved key by key.
pub(super) fn check_closed(map: &SlotMap) -> CommandResult {
    if !map.migrating.is_empty() {
        return Err(CommandError::Fixed("ERR Slots are being manually migrated"));
    }
    if !map.importing.is_empty() {
        return Err(CommandError::Fixed("ERR Slots are being manually imported"));
    }
    Ok(())
}

/// CLUSTER CANCELSLOTMIGRATIONS: of those from this node.
pub(super) fn cancelslotmigrations(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    needs_cluster(context)?;
    let active = context.engine.cluster.migrations.active();
    if active.iter().filter(|job| job.cancel()).count() == 0 {
        return Err(CommandError::Fixed("ERR No migrations ongoing"));
    }
    context.reply.ok();
    Ok(())
}

/// CLUSTER GETSLOTMIGRATIONS.
pub(super) fn getslotmigrations(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    needs_cluster(context)?;
    let jobs = context.engine.cluster.migrations.list(context.engine.migration_log_len());
    let reply = &mut context.reply;
    reply.array(jobs.len());
    for job in jobs {
        let progress = job.progress();
        let operation = if job.operation == Operation::Export { "EXPORT" } else { "IMPORT" };
        reply.map(12);
        let texts = [
            ("name", job.name.as_str()),
            ("operation", operation),
            ("slot_ranges", &job.ranges_text()),
            ("target_node", job.target.as_str()),
            ("source_node", job.source.as_str()),
        ];
        for (name, text) in texts {
            reply.bulk(name.as_bytes());
            reply.bulk(text.as_bytes());
        }
        let times = [
            ("create_time", job.created_s),
            ("last_update_time", progress.updated_s),
            ("last_ack_time", job.acked_ms.load(Relaxed) / 1000),
        ];
        for (name, time) in times {
            reply.bulk(name.as_bytes());
            reply.int(time as i64);
        }
        for (name, text) in [("state", progress.state.name()), ("message", &progress.message)] {
            reply.bulk(name.as_bytes());
            reply.bulk(text.as_bytes());
        }
        // There is no fork whose memory could be copied.
        for (name, number) in [("cow_size", 0), ("remaining_repl_size", job.unsent_bytes.load(Relaxed))] {
            reply.bulk(name.as_bytes());
            reply.int(number as i64);
        }
    }
    Ok(())
}
