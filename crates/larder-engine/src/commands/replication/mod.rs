//! The commands of replication. This server does not replicate: it answers as a primary without replicas, and refuses by
//! name what it cannot do, so that nobody takes it for a replica.

mod handlers;

pub(crate) use handlers::HANDLERS;

use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::text::number;
use crate::text::word::is_word;
use larder_resp::Args;

/// ROLE: a primary whose stream of changes is at offset 0, without replicas.
fn role(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    context.reply.array(3);
    context.reply.bulk(b"master");
    context.reply.int(0);
    context.reply.array(0);
    Ok(())
}

/// REPLICAOF and SLAVEOF: NO ONE is what the server always is.
fn replicaof(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    if is_word(args.at(1), "no") && is_word(args.at(2), "one") {
        context.reply.ok();
        return Ok(());
    }
    match number::parse_i64(args.at(2)) {
        Some(0..=65_535) => Err(unsupported(context)),
        _ => Err(CommandError::Fixed("ERR Invalid master port")),
    }
}

/// SYNC and PSYNC.
fn no_stream(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    Err(unsupported(context))
}

/// REPLCONF: what a replica says before it asks for the stream.
fn replconf(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    match args.len() {
        1 => {
            context.reply.ok();
            Ok(())
        }
        count if count % 2 == 0 => Err(CommandError::SYNTAX),
        _ => Err(unsupported(context)),
    }
}

fn unsupported(context: &Context<'_>) -> CommandError {
    let name = context.found.command.name.to_ascii_uppercase();
    CommandError::text(format!("ERR {name} is not supported: this server does not replicate"))
}

/// FAILOVER, which there is nobody for.
fn failover(_context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let abort = args.get(1).is_some_and(|word| is_word(word, "abort"));
    if abort && args.len() == 2 {
        return Err(CommandError::Fixed("ERR No failover in progress."));
    }
    let mut at = 1;
    while let Some(word) = args.get(at) {
        at += match args.len() - at - 1 {
            1.. if is_word(word, "timeout") => {
                let timeout = number::parse_i64(args.at(at + 1)).ok_or(CommandError::NOT_INTEGER)?;
                if timeout <= 0 {
                    return Err(CommandError::Fixed("ERR FAILOVER timeout must be greater than 0"));
                }
                2
            }
            2.. if is_word(word, "to") => {
                number::parse_i64(args.at(at + 2)).ok_or(CommandError::NOT_INTEGER)?;
                3
            }
            _ if is_word(word, "force") => 1,
            _ => return Err(CommandError::SYNTAX),
        };
    }
    Err(CommandError::Fixed("ERR FAILOVER requires connected replicas."))
}
