//! REPLCONF: what replicas say of themselves, and how far they have come.

use crate::cluster::ClusterState;
use crate::context::Context;
use crate::context::flow::Flow;
use crate::error::{CommandError, CommandResult};
use crate::replication::replica::{Filter, Phase};
use crate::text::number;
use crate::text::word::is_word;
use larder_cluster::NodeId;
use larder_resp::Args;

/// Bytes that an address may have.
const IP_BYTES_MAX: usize = 255;

/// REPLCONF option value..: options are applied one by one until an error.
pub(super) fn replconf(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    if args.len().is_multiple_of(2) {
        return Err(CommandError::SYNTAX);
    }
    let mut at = 1;
    while let (Some(option), Some(value)) = (args.get(at), args.get(at + 1)) {
        if is_word(option, "ack") {
            // It and what follows it are not answered.
            acknowledge(context, value, args.get(at + 2).zip(args.get(at + 3)));
            return Ok(());
        }
        if is_word(option, "getack") {
            return Ok(());
        }
        set(context, option, value)?;
        at += 2;
    }
    context.reply.ok();
    Ok(())
}

fn set(context: &mut Context<'_>, option: &[u8], value: &[u8]) -> CommandResult {
    let info = context.session.replica_info.get_or_insert_default();
    if is_word(option, "listening-port") {
        info.port = number::integer(value)? as u16;
    } else if is_word(option, "ip-address") {
        if value.len() > IP_BYTES_MAX {
            return Err(CommandError::text(format!(
                "ERR REPLCONF ip-address provided by replica instance is too long: {} bytes",
                value.len()
            )));
        }
        info.ip = Some(String::from_utf8_lossy(value).into_owned()).filter(|ip| !ip.is_empty());
    } else if is_word(option, "capa") {
        info.note_capability(value);
    } else if is_word(option, "rdb-only") {
        let number = number::integer(value)?;
        info.is_rdb_only = match number {
            0 | 1 => number == 1,
            _ => return Err(CommandError::Fixed("ERR value is out of range, value must between 0 and 1")),
        };
    } else if is_word(option, "rdb-filter-only") {
        info.filter = filter_of(value)?;
    } else if is_word(option, "version") {
        let text = String::from_utf8_lossy(value);
        info.version = Some(
            version_of(&text)
                .ok_or_else(|| CommandError::text(format!("ERR Unrecognized version format: {text}")))?,
        );
    } else if is_word(option, "set-cluster-node-id") {
        info.node = Some(node_of(&context.engine.cluster, value)?);
    } else {
        return Err(CommandError::text(format!(
            "ERR Unrecognized REPLCONF option: {}",
            String::from_utf8_lossy(option)
        )));
    }
    Ok(())
}

/// A node that this one knows, by its name.
fn node_of(cluster: &ClusterState, name: &[u8]) -> CommandResult<NodeId> {
    if !cluster.is_on() {
        return Err(CommandError::Fixed("ERR This instance has cluster support disabled"));
    }
    let map = cluster.map();
    let is_known = |id: &NodeId| map.is_some_and(|map| map.nodes.iter().any(|node| node.id == *id));
    NodeId::parse(name)
        .filter(is_known)
        .ok_or_else(|| CommandError::text(format!("ERR Unknown node {}", String::from_utf8_lossy(name))))
}

fn filter_of(value: &[u8]) -> CommandResult<Filter> {
    match value {
        b"" => Ok(Filter::Nothing),
        word if is_word(word, "functions") => Ok(Filter::Functions),
        word => Err(CommandError::text(format!(
            "ERR Unsupported rdb-filter-only option: {}",
            String::from_utf8_lossy(word)
        ))),
    }
}

/// `major.minor.patch` as three bytes.
fn version_of(text: &str) -> Option<u32> {
    let mut parts = text.split('.').map(|part| part.parse::<u8>().ok());
    let mut next = || parts.next().flatten();
    let version = u32::from_be_bytes([0, next()?, next()?, next()?]);
    parts.next().is_none().then_some(version)
}

/// `ACK applied [FACK synced]`.
fn acknowledge(context: &mut Context<'_>, applied: &[u8], synced: Option<(&[u8], &[u8])>) {
    let Some(replica) = context.session.replica.clone() else { return };
    let number = |text: &[u8]| number::parse_i64(text).and_then(|number| u64::try_from(number).ok());
    let Some(applied) = number(applied) else { return };
    let synced = synced.filter(|(option, _)| is_word(option, "fack")).and_then(|(_, value)| number(value));
    replica.acknowledge(applied, synced, context.now_ms());
    if replica.phase() == Phase::Loaded && replica.go_online(context.now_ms()) {
        context.flow = Flow::Replica;
    }
    context.engine.check_replicas();
    context.engine.serve_ack_waiters();
    context.engine.cluster.note_ack();
    context.engine.look_at_failover();
}
