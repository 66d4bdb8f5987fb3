//! PSYNC and SYNC: a client becomes a replica.

use crate::clients::session::client_flags;
use crate::context::Context;
use crate::context::flow::Flow;
use crate::engine::replication::Resumption;
use crate::error::{CommandError, CommandResult};
use crate::host::LogLevel;
use crate::replication::replica::{Filter, Replica, ReplicaInfo};
use crate::replication::state::LinkState;
use crate::text::number;
use crate::text::word::is_word;
use larder_resp::Args;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// PSYNC id offset: the stream from there on if the backlog has it, or else a snapshot.
pub(super) fn psync(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    if context.session.replica.is_some() || context.session.is_monitor {
        return Ok(());
    }
    if args.get(3).is_some_and(|word| is_word(word, "failover")) {
        if !context.engine.replication.is_replica() {
            return Err(CommandError::Fixed("ERR PSYNC FAILOVER can't be sent to a master."));
        }
        if !context.engine.take_over(&args[1], context.no_shards()?) {
            return Err(CommandError::Fixed("ERR PSYNC FAILOVER replid must match my replid."));
        }
    }
    check_can_serve(context)?;
    let offset = number::integer(&args[2])?;
    let replica = new_replica(context, false)?;
    match context.engine.resume(&replica, &args[1], offset) {
        Resumption::Granted(id) => {
            let word = replica.info.compression_word();
            let reply = match replica.info.knows_psync2 {
                true => format!("CONTINUE {id}{word}"),
                false => format!("CONTINUE{word}"),
            };
            context.reply.simple(&reply);
            context.engine.replication.partial_syncs.fetch_add(1, Relaxed);
            say(context, &replica, "Partial resynchronization request accepted.");
        }
        Resumption::Refused => {
            if args.at(1) != b"?" {
                context.engine.replication.refused_partial_syncs.fetch_add(1, Relaxed);
            }
            ask_for_snapshot(context, &replica);
        }
    }
    become_replica(context, replica);
    Ok(())
}

/// SYNC: a snapshot, and then the stream.
pub(super) fn sync(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    if context.session.replica.is_some() || context.session.is_monitor {
        return Ok(());
    }
    check_can_serve(context)?;
    let replica = new_replica(context, true)?;
    ask_for_snapshot(context, &replica);
    become_replica(context, replica);
    Ok(())
}

/// A replica without its primary has no stream to hand on.
fn check_can_serve(context: &Context<'_>) -> CommandResult {
    if context.engine.replication.failover_phase().is_some() {
        return Err(CommandError::Fixed("NOMASTERLINK Can't SYNC while failing over"));
    }
    let state = context.engine.replication.state();
    match &state.upstream {
        Some(upstream) if upstream.link != LinkState::Connected => {
            Err(CommandError::Fixed("NOMASTERLINK Can't SYNC while not connected with my master"))
        }
        _ => Ok(()),
    }
}

fn new_replica(context: &mut Context<'_>, is_old: bool) -> CommandResult<Arc<Replica>> {
    let info: ReplicaInfo = context.session.replica_info.as_deref().cloned().unwrap_or_default();
    if info.filter != Filter::Everything && !info.knows_end_mark {
        return Err(CommandError::Fixed("ERR Filtered replica requires EOF capability"));
    }
    let shared = &context.session.shared;
    let peer_ip = shared.addr.rsplit_once(':').map_or("", |(ip, _)| ip).trim_matches(['[', ']']).to_owned();
    Ok(Arc::new(Replica::new(shared.id, shared.worker, peer_ip, info, is_old)))
}

fn ask_for_snapshot(context: &Context<'_>, replica: &Replica) {
    context.engine.replication.full_syncs.fetch_add(1, Relaxed);
    if !replica.info.is_rdb_only {
        context.engine.begin_stream();
    }
    say(context, replica, "Full resync requested.");
}

fn become_replica(context: &mut Context<'_>, replica: Arc<Replica>) {
    context.session.shared.set_flag(client_flags::REPLICA, true);
    context.session.replica_info = None;
    context.engine.add_replica(&replica);
    context.session.replica = Some(replica);
    context.engine.check_replicas();
    context.flow = Flow::Replica;
}

fn say(context: &Context<'_>, replica: &Replica, what: &str) {
    let (ip, port) = (replica.address(), replica.info.port);
    context.engine.host.log(LogLevel::Notice, &format!("Replica {ip}:{port}: {what}"));
}
