//! The commands of a cluster. What is about the keys of this node is answered here; what is about the nodes is asked of the thread of the
//! bus, and the client waits for its reply.

mod ask;
mod handlers;
mod help;
mod keys;
mod migrations;
mod scan;
mod slot_stats;
mod syncslots;

pub(crate) use handlers::HANDLERS;

use crate::clients::session::client_flags;
use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::text::word::error_with;
use larder_cluster::{SLOTS, SlotMap};
use larder_resp::Args;
use std::sync::Arc;

const DISABLED: CommandError = CommandError::Fixed("ERR This instance has cluster support disabled");
const BAD_SLOT: CommandError = CommandError::Fixed("ERR Invalid or out of range slot");

/// An error unless the server is a node of a cluster.
fn needs_cluster(context: &Context<'_>) -> CommandResult {
    if context.engine.cluster.is_on() { Ok(()) } else { Err(DISABLED) }
}

/// The slot map.
fn map(context: &mut Context<'_>) -> CommandResult<Arc<SlotMap>> {
    needs_cluster(context)?;
    let map = context.engine.cluster.newest(&mut context.worker.slot_map).cloned();
    map.ok_or(CommandError::Fixed("CLUSTERDOWN The cluster is down"))
}

/// A slot among the arguments.
fn slot(arg: &[u8]) -> CommandResult<u16> {
    let number = crate::text::number::parse_i64(arg).and_then(|number| u16::try_from(number).ok());
    number.filter(|&slot| slot < SLOTS).ok_or(BAD_SLOT)
}

/// A subcommand of another form than its own.
fn misused(args: Args<'_>) -> CommandError {
    error_with(
        &["ERR unknown subcommand or wrong number of arguments for '", "'. Try CLUSTER HELP."],
        &[args.at(1)],
    )
}

/// READONLY: reads of slots of this replica's primary are served. Accepted everywhere, without effect elsewhere.
fn readonly(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    context.session.shared.set_flag(client_flags::READS_REPLICA, true);
    context.reply.ok();
    Ok(())
}

/// READWRITE: ends what READONLY began.
fn readwrite(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    context.session.shared.set_flag(client_flags::READS_REPLICA, false);
    context.reply.ok();
    Ok(())
}

/// ASKING: the next command may use a slot that is on its way to this node.
fn asking(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    needs_cluster(context)?;
    context.session.asking = true;
    context.reply.ok();
    Ok(())
}

fn myid(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    let map = map(context)?;
    context.reply.bulk(map.me().id.as_bytes());
    Ok(())
}

fn myshardid(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    let map = map(context)?;
    context.reply.bulk(map.me().shard.as_bytes());
    Ok(())
}
