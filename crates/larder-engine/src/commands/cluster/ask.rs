//! Subcommands that the thread of the bus answers.
//!
//! A client waits for the reply as for a key, and its thread serves others. A transaction cannot be interrupted, and the commands of clients
//! without a socket have answers at once: the thread waits itself, which it may only while it holds no shard, since the bus may need any. So these subcommands are refused in transactions that touch
//! keys, and in scripts.

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
const PATIENCE_OF_REPLICA: Duration = Duration::from_millis(100);
/// How long a thread waits for the bus, which syncs a file and changes the role at most.
const PATIENCE: Duration = Duration::from_secs(5);

/// Hands a subcommand to the bus.
pub(super) fn ask(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    needs_cluster(context)?;
    if context.session.replays {
        return pass_on(context, args);
    }
    if context.in_exec || context.session.has_own_thread {
        return ask_and_wait(context, args);
    }
    blocking::wait(context, &[], BlockedOp::Cluster, 0);
    let waiter = context.session.waiter.clone().expect("it waits");
    send(context, args, Origin::Client, Asker::Client(waiter));
    Ok(())
}

fn send(context: &Context<'_>, args: Args<'_>, origin: Origin, asker: Asker) {
    let (viewer, protocol) = (context.session.shared.viewer, context.reply.protocol());
    let request = Request { args: args.to_owned(), origin, viewer, protocol, asker };
    context.engine.cluster.send(ForBus::Ask(request));
}

/// For a command of a transaction, or of a client without a socket.
fn ask_and_wait(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    if context.in_script || !context.held.is_none() {
        let name = context.found.full_name().to_ascii_uppercase().replace('|', " ");
        let place = if context.in_script { "a script" } else { "a transaction with keys" };
        return Err(CommandError::text(format!("ERR {name} is not allowed inside of {place}")));
    }
    let (sender, receiver) = sync_channel(1);
    send(context, args, Origin::Client, Asker::Thread(sender));
    let reply = receiver
        .recv_timeout(PATIENCE)
        .map_err(|_| CommandError::Fixed("ERR No reply from the cluster bus"))?;
    if let Some(line) = reply.strip_prefix(b"-") {
        return Err(CommandError::Text(line.trim_ascii_end().to_vec()));
    }
    context.reply.raw(&reply);
    Ok(())
}

/// What a primary has done with a slot, its replicas do.
fn pass_on(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    context.propagate_nothing();
    context.reply.ok();
    // A file says how slots were when it was written.
    if context.session.is_of_primary {
        let (sender, receiver) = sync_channel(1);
        send(context, args, Origin::Primary, Asker::Thread(sender));
        let _ = receiver.recv_timeout(PATIENCE_OF_REPLICA);
    }
    Ok(())
}
