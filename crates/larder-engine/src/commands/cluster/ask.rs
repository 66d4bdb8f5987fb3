//! Subcommands that the thread of the bus answers: their clients wait for it, as for a key.

use super::needs_cluster;
use crate::cluster::{Asker, ForBus, Request};
use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::execution::blocking;
use crate::keyspace::waiting::BlockedOp;
use larder_cluster::Origin;
use larder_resp::Args;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

/// How long the thread that executes a primary's commands waits for the bus. The bus may wait for that thread.
const PATIENCE: Duration = Duration::from_millis(100);

/// Hands a subcommand to the bus.
pub(super) fn ask(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    needs_cluster(context)?;
    if context.session.replays {
        return pass_on(context, args);
    }
    if context.in_exec {
        let name = context.found.full_name().to_ascii_uppercase().replace('|', " ");
        let text = format!("ERR {name} is not allowed inside a transaction or a script");
        return Err(CommandError::text(text));
    }
    blocking::wait(context, &[], BlockedOp::Cluster, 0);
    let waiter = context.session.waiter.clone().expect("it waits");
    let viewer = context.session.shared.viewer;
    let (args, origin, asker) = (args.to_owned(), Origin::Client, Asker::Client(waiter));
    context.engine.cluster.send(ForBus::Ask(Request { args, origin, viewer, asker }));
    Ok(())
}

/// What a primary has done with a slot, its replicas do.
fn pass_on(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    context.propagate_nothing();
    context.reply.ok();
    // A file says how slots were when it was written.
    if context.session.is_of_primary {
        let (done, wait) = sync_channel(1);
        let viewer = context.session.shared.viewer;
        let (args, origin, asker) = (args.to_owned(), Origin::Primary, Asker::Thread(done));
        context.engine.cluster.send(ForBus::Ask(Request { args, origin, viewer, asker }));
        let _ = wait.recv_timeout(PATIENCE);
    }
    Ok(())
}
