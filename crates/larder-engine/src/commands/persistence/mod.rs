//! Saving and the append-only file. The server's threads do the work; here is what clients may ask for, and when.

mod handlers;

pub(crate) use handlers::HANDLERS;

use crate::clock::wall_s;
use crate::context::Context;
use crate::engine::acks::LOG_IS_OFF;
use crate::error::{CommandError, CommandResult};
use crate::execution::blocking;
use crate::host::Logged;
use crate::keyspace::waiting::BlockedOp;
use crate::text::number;
use crate::text::word::is_word;
use larder_resp::Args;

const SAVING: CommandError = CommandError::Fixed("ERR Background save already in progress");

fn save(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    // A script that may call it all the same has the turn that a snapshot takes.
    let no_shards = context.no_shards()?;
    {
        let mut state = context.engine.persistence.save.lock();
        if state.running_since_s.is_some() {
            return Err(SAVING);
        }
        state.running_since_s = Some(wall_s());
        state.scheduled = false;
    }
    context.engine.host.save(no_shards).map_err(|Logged| CommandError::Fixed("ERR"))?;
    context.reply.ok();
    Ok(())
}

fn bgsave(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let schedule = match args.len() {
        1 => false,
        2 if is_word(&args[1], "schedule") => true,
        2 if is_word(&args[1], "cancel") => return cancel(context),
        _ => return Err(CommandError::SYNTAX),
    };
    let persistence = &context.engine.persistence;
    let mut state = persistence.save.lock();
    if state.running_since_s.is_some() {
        return Err(SAVING);
    }
    if persistence.log.lock().rewriting_since_s.is_some() {
        if !schedule {
            return Err(CommandError::Fixed(
                "ERR Another child process is active (AOF?): can't BGSAVE right now. Use BGSAVE SCHEDULE in order to \
                 schedule a BGSAVE whenever possible.",
            ));
        }
        state.scheduled = true;
        drop(state);
        context.reply.simple("Background saving scheduled");
        return Ok(());
    }
    state.running_since_s = Some(wall_s());
    state.scheduled = false;
    drop(state);
    context.engine.host.save_in_background(context.no_shards().ok());
    context.reply.simple("Background saving started");
    Ok(())
}

/// Calls off a snapshot that is being written, or else one that is scheduled.
fn cancel(context: &mut Context<'_>) -> CommandResult {
    if context.engine.persistence.cancel_save() {
        context.reply.simple("Background saving cancelled");
        return Ok(());
    }
    let mut state = context.engine.persistence.save.lock();
    if !std::mem::take(&mut state.scheduled) {
        return Err(CommandError::Fixed("ERR Background saving is currently not in progress or scheduled"));
    }
    drop(state);
    context.reply.simple("Scheduled background saving cancelled");
    Ok(())
}

fn lastsave(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    let at = context.engine.persistence.save.lock().last_success_s;
    context.reply.int(at as i64);
    Ok(())
}

fn bgrewriteaof(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    let persistence = &context.engine.persistence;
    // Held until this is claimed: a snapshot that is being written and one of a rewrite exclude each other.
    let save = persistence.save.lock();
    let mut state = persistence.log.lock();
    if state.rewriting_since_s.is_some() {
        return Err(CommandError::Fixed("ERR Background append only file rewriting already in progress"));
    }
    if save.running_since_s.is_some() {
        state.rewrite_scheduled = true;
        drop((state, save));
        context.reply.simple("Background append only file rewriting scheduled");
        return Ok(());
    }
    state.rewriting_since_s = Some(wall_s());
    state.rewrite_scheduled = false;
    drop((state, save));
    context.engine.host.rewrite_log_in_background();
    context.reply.simple("Background append only file rewriting started");
    Ok(())
}

/// WAIT: until replicas have what this connection has written.
fn wait(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    if context.engine.replication.is_replica() {
        return Err(CommandError::Fixed(
            "ERR WAIT cannot be used with replica instances. Please also note that if a replica is configured to be \
              writable (which is not the default) writes to replicas are just local and are not propagated.",
        ));
    }
    let wanted = number::integer(&args[1])?;
    let timeout = number::timeout_ms(&args[2], context.now_ms())?;
    let wanted = usize::try_from(wanted).unwrap_or(0);
    wait_for(context, BlockedOp::Replicas { position: context.session.written.stream(), wanted }, timeout);
    Ok(())
}

/// WAITAOF: until this server, or replicas, have it on their disks.
fn waitaof(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let here = number::integer(&args[1])?;
    if !(0..=1).contains(&here) {
        return Err(CommandError::Fixed("ERR value is out of range, value must between 0 and 1"));
    }
    let replicas = number::positive(&args[2])?;
    let timeout = number::timeout_ms(&args[3], context.now_ms())?;
    if context.engine.replication.is_replica() {
        return Err(CommandError::Fixed(
            "ERR WAITAOF cannot be used with replica instances. Please also note that writes to replicas are just local and \
             are not propagated.",
        ));
    }
    if here > 0 && !context.engine.persistence.log.lock().enabled {
        return Err(LOG_IS_OFF);
    }
    let (file, stream) = (context.session.written.file(), context.session.written.stream());
    let wanted = usize::try_from(replicas).unwrap_or(0);
    wait_for(context, BlockedOp::OnDisk { file, stream, here: here > 0, wanted }, timeout);
    Ok(())
}

/// Answers at once if it is so, or where nothing may wait.
fn wait_for(context: &mut Context<'_>, op: BlockedOp, timeout: u64) {
    if context.in_exec || context.engine.is_acknowledged(&op) {
        context.engine.write_acknowledged(&op, &mut context.reply);
    } else {
        blocking::wait_for_acks(context, op, timeout);
    }
}
