//! CLUSTER SYNCSLOTS: what nodes say to each other during an atomic migration, on the side of the target.
//!
//! ESTABLISH makes the connection that of the source: what it sends is executed as the commands of a primary are, and not answered. The words of
//! the protocol are, but not all: a reply here is a command for the source.

use super::migrations::{PRIMARIES_ONLY, begin, check_closed, parse_ranges};
use super::{map, needs_cluster};
use crate::clients::session::{ReplyMode, client_flags};
use crate::cluster::ForBus;
use crate::cluster::migration::{Migration, MigrationState, Operation};
use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::keyspace::locks::Busy;
use crate::text::word::is_word;
use larder_cluster::{NodeId, SlotMap, SlotSet};
use larder_resp::Args;
use larder_resp::encode_command;
use std::sync::Arc;

const NAME_BYTES: usize = 40;

/// CLUSTER SYNCSLOTS.
pub(super) fn syncslots(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    needs_cluster(context)?;
    let word = args.at(2);
    match word {
        _ if is_word(word, "establish") => establish(context, args),
        _ if is_word(word, "finish") => finish(context, args),
        // Nothing is agreed on yet.
        _ if is_word(word, "capa") => Ok(()),
        _ => match Step::of(word) {
            Some(step) => follow(context, step, args.len() == 3),
            None => Err(CommandError::SYNTAX),
        },
    }
}

/// What one side tells the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Ack,
    SnapshotEof,
    Paused,
    FailoverGranted,
    RequestPause,
    RequestFailover,
}

impl Step {
    const ALL: [(&'static str, Step); 6] = [
        ("ACK", Step::Ack),
        ("SNAPSHOT-EOF", Step::SnapshotEof),
        ("PAUSED", Step::Paused),
        ("FAILOVER-GRANTED", Step::FailoverGranted),
        ("REQUEST-PAUSE", Step::RequestPause),
        ("REQUEST-FAILOVER", Step::RequestFailover),
    ];

    fn of(word: &[u8]) -> Option<Step> {
        Self::ALL.iter().find(|(name, _)| is_word(word, name)).map(|&(_, step)| step)
    }

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|&&(_, step)| step == self).map_or("", |(name, _)| name)
    }
}

/// What the source says of the migration.
fn follow(context: &mut Context<'_>, step: Step, is_alone: bool) -> CommandResult {
    use MigrationState::{
        FailoverGranted, FailoverRequested, ReceivingSnapshot, WaitingForAck, WaitingForPaused,
    };
    let Some(job) = context.session.import.clone() else {
        return Err(CommandError::text(format!(
            "ERR CLUSTER SYNCSLOTS {} should only be used by slot migration clients",
            step.name()
        )));
    };
    if !is_alone {
        return Err(CommandError::SYNTAX);
    }
    let is_expected = match step {
        Step::Ack => {
            job.note_ack();
            job.advance(WaitingForAck, ReceivingSnapshot);
            true
        }
        Step::SnapshotEof => {
            let is_expected = job.advance(ReceivingSnapshot, WaitingForPaused);
            if is_expected {
                context.engine.cluster.send(ForBus::PrepareToTake(job));
            }
            is_expected
        }
        Step::Paused => {
            let is_expected = job.advance(WaitingForPaused, FailoverRequested);
            if is_expected {
                say(context, "REQUEST-FAILOVER");
            }
            is_expected
        }
        Step::FailoverGranted => {
            let is_expected = job.advance(FailoverRequested, FailoverGranted);
            if is_expected {
                context.engine.cluster.send(ForBus::TakeSlots(job));
            }
            is_expected
        }
        Step::RequestPause | Step::RequestFailover => false,
    };
    // An error ends the migration.
    if is_expected { Ok(()) } else { Err(CommandError::text(format!("ERR Unexpected {}", step.name()))) }
}

/// Tells the source something.
fn say(context: &mut Context<'_>, word: &str) {
    let mut bytes = Vec::new();
    encode_command(&mut bytes, [b"CLUSTER", &b"SYNCSLOTS"[..], word.as_bytes()].into_iter());
    context.reply.raw(&bytes);
    context.session.speaks_to_source = true;
}

/// What ESTABLISH says.
struct Wanted {
    source: NodeId,
    name: String,
    slots: SlotSet,
}

impl Wanted {
    /// What is said of nodes and slots must agree with the map, if there is one.
    fn parse(map: Option<&SlotMap>, args: Args<'_>) -> CommandResult<Wanted> {
        let (mut source, mut name, mut slots) = (None, None, None);
        let mut at = 3;
        while let Some(word) = args.get(at) {
            let value = args.get(at + 1);
            at += 2;
            match value {
                Some(value) if is_word(word, "source") && source.is_none() => {
                    let node = NodeId::parse(value).ok_or(CommandError::SYNTAX)?;
                    if let Some(map) = map {
                        check_source(map, node)?;
                    }
                    source = Some(node);
                }
                Some(value) if is_word(word, "name") && name.is_none() => {
                    let text = std::str::from_utf8(value).ok();
                    let text = text.filter(|text| text.len() == NAME_BYTES && text.is_ascii());
                    name = Some(text.ok_or(CommandError::SYNTAX)?.to_owned());
                }
                _ if is_word(word, "slotsrange") && slots.is_none() => {
                    at -= 1;
                    slots = Some(parse_ranges(map, args, &mut at)?);
                }
                _ => return Err(CommandError::SYNTAX),
            }
        }
        match (source, name, slots) {
            (Some(source), Some(name), Some(slots)) => Ok(Wanted { source, name, slots }),
            _ => Err(CommandError::SYNTAX),
        }
    }
}

/// The source is another node that is known.
fn check_source(map: &SlotMap, source: NodeId) -> CommandResult {
    if !map.nodes.iter().any(|node| node.id == source) {
        return Err(CommandError::Fixed("ERR Target node does not know the source node"));
    }
    if source == map.me().id {
        return Err(CommandError::Fixed("ERR Source node is target node itself"));
    }
    Ok(())
}

/// A source wants to send slots; or, on a replica, the primary says that slots come.
fn establish(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    if context.session.replays && context.session.import.is_none() {
        // The map may not be that of the primary yet.
        return follow_primary(context, Wanted::parse(None, args)?);
    }
    if context.in_exec {
        return Err(CommandError::Fixed("ERR CLUSTER SYNCSLOTS is not allowed inside of a transaction"));
    }
    let map = map(context)?;
    if map.me().primary.is_some() {
        return Err(PRIMARIES_ONLY);
    }
    if context.session.import.is_some() {
        return Err(CommandError::Fixed("ERR This connection already has a migration"));
    }
    let wanted = Wanted::parse(Some(&map), args)?;
    let owns = |slot| map.owner(slot).is_some_and(|owner| owner.id == wanted.source);
    if !wanted.slots.iter().all(owns) {
        return Err(CommandError::Fixed("ERR Target node does not agree about current slot ownership"));
    }
    check_closed(&map)?;
    let client = Some((context.worker.index, context.session.id()));
    let ends = (wanted.source, map.me().id);
    let job = Arc::new(Migration::new(wanted.name, Operation::Import, wanted.slots, ends, client));
    begin(context, vec![Arc::clone(&job)]).map_err(|_| {
        CommandError::Fixed("ERR Slot is already being imported on the target by a different migration")
    })?;
    check_empty(context, &job)?;
    context.propagate_to_replicas(args);
    let session = &mut context.session;
    (session.import, session.replays, session.reply_mode) = (Some(job), true, ReplyMode::Import);
    session.speaks_to_source = true;
    session.shared.set_flag(client_flags::SLOT_IMPORT, true);
    context.reply.ok();
    Ok(())
}

/// Keys that are left of a time when this node had the slot are about to be deleted: the source may try again.
fn check_empty(context: &Context<'_>, job: &Migration) -> CommandResult {
    let error = match context.engine.slot_with_keys(&job.slots) {
        Ok(None) => return Ok(()),
        Ok(Some(slot)) => CommandError::text(format!("ERR Slot {slot} is not empty on the target yet")),
        Err(Busy) => context.engine.busy_error(),
    };
    context.engine.cluster.migrations.reveal(job);
    job.go_on(MigrationState::Failed);
    Err(error)
}

/// The primary of this replica imports slots.
fn follow_primary(context: &mut Context<'_>, wanted: Wanted) -> CommandResult {
    context.reply.ok();
    if !context.session.is_of_primary {
        return Ok(());
    }
    let map = map(context)?;
    let target = map.me().primary.map_or(map.me().id, |primary| map.nodes[usize::from(primary)].id);
    let ends = (wanted.source, target);
    context.engine.follow_import(Migration::new(wanted.name, Operation::Import, wanted.slots, ends, None));
    Ok(())
}

/// `FINISH STATE state NAME name [MESSAGE text]`: the primary of this replica has finished.
fn finish(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    const WORDS: [&str; 3] = ["state", "name", "message"];
    let mut values = [None; WORDS.len()];
    for at in (3..args.len()).step_by(2) {
        let word = WORDS.iter().position(|word| is_word(args.at(at), word));
        let value = word.map(|word| &mut values[word]).filter(|value| value.is_none());
        *value.ok_or(CommandError::SYNTAX)? = Some(args.get(at + 1).ok_or(CommandError::SYNTAX)?);
    }
    let [Some(state), Some(name), message] = values else { return Err(CommandError::SYNTAX) };
    if name.len() != NAME_BYTES {
        return Err(CommandError::SYNTAX);
    }
    if !context.session.replays || context.session.import.is_some() {
        return Err(CommandError::Fixed("ERR No such slot migration job"));
    }
    let migrations = &context.engine.cluster.migrations;
    let job = migrations.active().into_iter().find(|job| job.name.as_bytes() == name);
    if let Some(job) = job.filter(|job| job.state() == MigrationState::OnPrimary) {
        migrations.reveal(&job);
        let is_success = is_word(state, "success");
        if is_success {
            job.go_on(MigrationState::Success);
        } else {
            job.fail(&String::from_utf8_lossy(message.unwrap_or_default()));
            job.finish_cleanup();
        }
    }
    context.reply.ok();
    Ok(())
}
