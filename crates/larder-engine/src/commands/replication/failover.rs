//! FAILOVER.

use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::replication::failover::{Failover, FailoverPhase};
use crate::text::number;
use crate::text::word::is_word;
use larder_resp::Args;

/// What FAILOVER asks for.
#[derive(Default)]
struct Request {
    target: Option<(String, u16)>,
    is_forced: bool,
    timeout_ms: Option<u64>,
}

/// FAILOVER: begins or ends the handing over to a replica; the reply comes at once. All shards are held: the role may change.
pub(super) fn failover(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let engine = context.engine;
    if engine.cluster.is_on() {
        return Err(CommandError::Fixed(
            "ERR FAILOVER not allowed in cluster mode. Use CLUSTER FAILOVER command instead.",
        ));
    }
    let request = parse(args)?;
    let Some(request) = request else {
        if !engine.abort_failover("FAILOVER ABORT", context.held.all_shards()) {
            return Err(CommandError::Fixed("ERR No failover in progress."));
        }
        context.reply.ok();
        return Ok(());
    };
    if engine.replication.failover_phase().is_some() {
        return Err(CommandError::Fixed("ERR FAILOVER already in progress."));
    }
    if engine.replication.is_replica() {
        return Err(CommandError::Fixed("ERR FAILOVER is not valid when server is a replica."));
    }
    if !engine.replication.replicas.any() {
        return Err(CommandError::Fixed("ERR FAILOVER requires connected replicas."));
    }
    if request.is_forced && (request.timeout_ms.is_none() || request.target.is_none()) {
        return Err(CommandError::Fixed(
            "ERR FAILOVER with force option requires both a timeout and target HOST and IP.",
        ));
    }
    if let Some((host, port)) = &request.target {
        let replica = engine
            .replication
            .replicas
            .list()
            .into_iter()
            .find(|replica| replica.address().eq_ignore_ascii_case(host) && replica.info.port == *port);
        match replica {
            None => return Err(CommandError::Fixed("ERR FAILOVER target HOST and PORT is not a replica.")),
            Some(replica) if !replica.is_shown_online() => {
                return Err(CommandError::Fixed("ERR FAILOVER target replica is not online."));
            }
            Some(_) => {}
        }
    }
    let now_ms = context.now_ms();
    engine.begin_failover(Failover {
        target: request.target,
        is_forced: request.is_forced,
        deadline_ms: request.timeout_ms.map(|timeout| now_ms.saturating_add(timeout)),
        phase: FailoverPhase::WaitingForSync,
    });
    context.reply.ok();
    Ok(())
}

/// `None` for ABORT.
fn parse(args: Args<'_>) -> CommandResult<Option<Request>> {
    if args.len() == 2 && args.get(1).is_some_and(|word| is_word(word, "abort")) {
        return Ok(None);
    }
    let mut request = Request::default();
    let mut at = 1;
    while let Some(word) = args.get(at) {
        at += match args.len() - at - 1 {
            1.. if is_word(word, "timeout") && request.timeout_ms.is_none() => {
                let timeout = number::parse_i64(args.at(at + 1)).ok_or(CommandError::NOT_INTEGER)?;
                if timeout <= 0 {
                    return Err(CommandError::Fixed("ERR FAILOVER timeout must be greater than 0"));
                }
                request.timeout_ms = Some(timeout as u64);
                2
            }
            2.. if is_word(word, "to") && request.target.is_none() => {
                let port = number::parse_i64(args.at(at + 2)).ok_or(CommandError::NOT_INTEGER)?;
                let host = String::from_utf8_lossy(args.at(at + 1)).into_owned();
                // No replica has a port that is none.
                request.target = Some((host, u16::try_from(port).unwrap_or(0)));
                3
            }
            _ if is_word(word, "force") && !request.is_forced => {
                request.is_forced = true;
                1
            }
            _ => return Err(CommandError::SYNTAX),
        };
    }
    Ok(Some(request))
}
