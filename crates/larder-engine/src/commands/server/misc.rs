//! MONITOR, SHUTDOWN, TIME, LOLWUT.

use crate::context::Context;
use crate::context::flow::Flow;
use crate::error::{CommandError, CommandResult};
use crate::execution::blocking;
use crate::host::{Logged, ShutdownFlags};
use crate::keyspace::waiting::BlockedOp;
use crate::text::number;
use crate::text::word::is_word;
use larder_resp::Args;

pub(super) fn time(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    // Inside a transaction and a script it stands still, unless the script has kept others waiting: it may wait for a time.
    let stands_still = context.in_exec && !context.engine.gate.is_busy();
    let now_us = if stands_still { context.worker.clock.wall_us() } else { crate::clock::wall_us() };
    context.reply.array(2);
    context.reply.bulk_int((now_us / 1_000_000) as i64);
    context.reply.bulk_int((now_us % 1_000_000) as i64);
    Ok(())
}

pub(super) fn monitor(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    if context.in_exec {
        return Err(CommandError::Fixed("ERR MONITOR isn't allowed for DENY BLOCKING client"));
    }
    if context.session.is_monitor || context.session.replica.is_some() {
        return Ok(());
    }
    context.session.is_monitor = true;
    context.engine.clients.set_monitor(&context.session.shared, true);
    context.reply.ok();
    Ok(())
}

pub(super) fn shutdown(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let mut flags = ShutdownFlags::default();
    let mut abort = false;
    for word in args.from(1).iter() {
        if is_word(word, "save") {
            flags.save = true;
        } else if is_word(word, "nosave") {
            flags.nosave = true;
        } else if is_word(word, "now") {
            flags.now = true;
        } else if is_word(word, "force") {
            flags.force = true;
        } else if is_word(word, "abort") {
            abort = true;
        } else if is_word(word, "safe") {
            flags.safe = true;
        } else if is_word(word, "failover") {
            flags.failover = true;
        } else {
            return Err(CommandError::SYNTAX);
        }
    }
    if (abort && flags != ShutdownFlags::default()) || (flags.save && flags.nosave) {
        return Err(CommandError::SYNTAX);
    }
    if flags.failover && !context.engine.cluster.is_on() {
        return Err(CommandError::Fixed("ERR SHUTDOWN FAILOVER is only supported in cluster mode."));
    }
    if abort {
        if !context.engine.replication.abort_shutdown() {
            return Err(CommandError::Fixed("ERR No shutdown in progress."));
        }
        context.reply.ok();
        return Ok(());
    }
    if context.engine.gate.is_busy() {
        if !flags.nosave {
            return Err(context.engine.busy_error());
        }
        context.engine.scripts.running.abandon();
    }
    if context.in_exec {
        return Err(CommandError::Fixed(
            "ERR SHUTDOWN without NOW or ABORT isn't allowed for DENY BLOCKING client",
        ));
    }
    if !flags.now && context.engine.replicas_lag() || flags.failover {
        // This thread may be the one that sends them what they lack. The client waits before it may be told that the server does not end.
        blocking::wait(context, &[], BlockedOp::Shutdown, 0);
        context.engine.host.shutdown_in_background(flags);
        return Ok(());
    }
    context
        .engine
        .host
        .shutdown(flags, context.no_shards()?)
        .map_err(|Logged| CommandError::Fixed("ERR Errors trying to SHUTDOWN. Check logs."))?;
    context.flow = Flow::CloseNow;
    Ok(())
}

/// Shelves of jars, each a collection packed to its rim.
pub(super) fn lolwut(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let (mut columns, mut rows) = (8, 3);
    let from = if args.get(1).is_some_and(|word| is_word(word, "version")) {
        number::integer(args.get(2).ok_or(CommandError::SYNTAX)?)?;
        3
    } else {
        1
    };
    for (at, value) in args.from(from).iter().take(2).enumerate() {
        let value = number::integer(value)?.clamp(1, 40);
        *[&mut columns, &mut rows][at] = value;
    }
    let text = draw_larder(context, columns as usize, rows as usize);
    context.reply.verbatim("txt", text.as_bytes());
    Ok(())
}

fn draw_larder(context: &mut Context<'_>, columns: usize, rows: usize) -> String {
    const FILLINGS: [&str; 4] = ["....", "oooo", "####", "%%%%"];
    let mut text = String::new();
    for _ in 0..rows {
        let jars: Vec<&str> =
            (0..columns).map(|_| FILLINGS[context.worker.rng.usize(..FILLINGS.len())]).collect();
        let line = |f: &dyn Fn(&str) -> String| jars.iter().map(|jar| f(jar)).collect::<String>() + "\n";
        text += &line(&|_| "  .--. ".to_owned());
        text += &line(&|jar| format!(" |{jar}| "));
        text += &line(&|jar| format!(" |{jar}| "));
        text += &"=".repeat(7 * columns);
        text.push('\n');
    }
    let product = context.engine.config.product();
    let (name, version) = (product.name(), product.version());
    text + &format!("\nLarder {}, as {name} ver. {version}\n", env!("CARGO_PKG_VERSION"))
}
