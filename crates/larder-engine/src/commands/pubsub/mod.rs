//! The publish and subscribe commands.

mod handlers;
mod introspection;
mod subscribe;

pub(crate) use handlers::HANDLERS;
pub(crate) use subscribe::{forget, leave_shard_channel};

use crate::cluster::ForBus;
use crate::context::Context;
use crate::delivery;
use crate::error::CommandResult;
use crate::execution::slot_stats;
use larder_resp::Args;

fn publish(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let heard = delivery::publish::publish(
        &context.engine.pubsub,
        &context.engine.mailboxes,
        Some(context.speaker()),
        &args[1],
        &args[2],
    );
    context.reply.count(heard);
    pass_on(context, args, false);
    Ok(())
}

/// Subscribers of replicas, and of the other nodes of a cluster, hear it as well.
fn pass_on(context: &mut Context<'_>, args: Args<'_>, is_sharded: bool) {
    if context.engine.cluster.is_on() {
        if !context.session.replays {
            let (channel, payload) = (args.at(1).into(), args.at(2).into());
            context.engine.cluster.send(ForBus::Publish { channel, payload, is_sharded });
        }
        return;
    }
    if context.engine.append_log.streams() {
        context.propagate_to_replicas(args);
    }
}

fn spublish(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let heard = delivery::publish::publish_to_shard(
        &context.engine.pubsub,
        &context.engine.mailboxes,
        Some(context.speaker()),
        &args[1],
        &args[2],
    );
    context.reply.count(heard);
    slot_stats::note_heard(context.engine, context.worker, (&args[1], &args[2]), heard);
    pass_on(context, args, true);
    Ok(())
}
