//! The role: ROLE, REPLICAOF.

use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::host::LogLevel;
use crate::text::number;
use crate::text::word::is_word;
use larder_resp::Args;

/// ROLE: what the server is, how far the stream has come, and who follows or is followed.
pub(super) fn role(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    let (engine, reply) = (context.engine, &mut context.reply);
    let end = engine.append_log.stream_end() as i64;
    let upstream = engine.replication.state().upstream.clone();
    if let Some(upstream) = upstream {
        reply.array(5);
        reply.bulk(b"slave");
        reply.bulk(upstream.host.as_bytes());
        reply.int(i64::from(upstream.port));
        reply.bulk(upstream.link.name().as_bytes());
        reply.int(if upstream.link == crate::replication::state::LinkState::Connected { end } else { -1 });
        return Ok(());
    }
    let online: Vec<_> =
        engine.replication.replicas.list().into_iter().filter(|replica| replica.is_online()).collect();
    reply.array(3);
    reply.bulk(b"master");
    reply.int(end);
    reply.array(online.len());
    for replica in online {
        reply.array(3);
        reply.bulk(replica.address().as_bytes());
        reply.bulk(replica.info.port.to_string().as_bytes());
        reply.bulk(replica.acked().to_string().as_bytes());
    }
    Ok(())
}

/// REPLICAOF and SLAVEOF: `host port`, or `NO ONE`. All shards are held.
pub(super) fn replicaof(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let engine = context.engine;
    let (host, port) = (args.at(1), args.at(2));
    if engine.cluster.is_on() {
        return Err(CommandError::Fixed("ERR REPLICAOF not allowed in cluster mode."));
    }
    if engine.replication.failover_phase().is_some() {
        return Err(CommandError::Fixed("ERR REPLICAOF not allowed while failing over."));
    }
    if is_word(host, "no") && is_word(port, "one") {
        if engine.replication.is_replica() {
            engine.lead(context.held.all_shards());
            engine.host.log(LogLevel::Notice, "PRIMARY MODE enabled (user request)");
        }
        context.reply.ok();
        return Ok(());
    }
    if context.session.replica.is_some() {
        return Err(CommandError::Fixed("ERR Command is not valid when client is a replica."));
    }
    let port = match number::parse_i64(port) {
        Some(port @ 0..=65_535) => port as u16,
        _ => return Err(CommandError::Fixed("ERR Invalid master port")),
    };
    let host = String::from_utf8_lossy(host).into_owned();
    let is_same = engine
        .replication
        .state()
        .upstream
        .as_ref()
        .is_some_and(|upstream| upstream.host.eq_ignore_ascii_case(&host) && upstream.port == port);
    if is_same {
        context.reply.simple("OK Already connected to specified master");
        return Ok(());
    }
    engine.host.log(LogLevel::Notice, &format!("REPLICAOF {host}:{port} enabled (user request)"));
    engine.follow(host, port, context.held.all_shards());
    context.reply.ok();
    Ok(())
}
