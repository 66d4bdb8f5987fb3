//! The publish and subscribe commands.

mod handlers;
mod introspection;
mod subscribe;

pub(crate) use handlers::HANDLERS;
pub(crate) use subscribe::forget;

use crate::context::Context;
use crate::delivery;
use crate::error::CommandResult;
use larder_resp::Args;

fn publish(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let heard = delivery::publish::publish(
        &context.engine.pubsub,
        &context.engine.mailboxes,
        Some(context.worker.index),
        &args[1],
        &args[2],
    );
    context.reply.count(heard);
    send_to_replicas(context, args);
    Ok(())
}

/// Subscribers of replicas hear it as well.
fn send_to_replicas(context: &mut Context<'_>, args: Args<'_>) {
    if context.engine.append_log.streams() {
        context.propagate_to_replicas(args);
    }
}

fn spublish(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let heard = delivery::publish::publish_to_shard(
        &context.engine.pubsub,
        &context.engine.mailboxes,
        Some(context.worker.index),
        &args[1],
        &args[2],
    );
    context.reply.count(heard);
    send_to_replicas(context, args);
    Ok(())
}
