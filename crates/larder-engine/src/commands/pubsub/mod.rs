//! The publish and subscribe commands.

mod introspection;
mod subscribe;
mod table;

pub(crate) use subscribe::forget;
pub(crate) use table::TABLE;

use crate::context::Context;
use crate::error::CommandResult;
use larder_resp::Args;

fn publish(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let heard = context.engine.publish(Some(context.worker.index), &args[1], &args[2]);
    context.reply.count(heard);
    Ok(())
}

fn spublish(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let heard = context.engine.publish_to_shard(Some(context.worker.index), &args[1], &args[2]);
    context.reply.count(heard);
    Ok(())
}
