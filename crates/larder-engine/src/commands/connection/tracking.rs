//! The part of client-side caching that answers while tracking is off.
//!
//! Invalidation messages are not sent, so turning tracking on is refused: a client that believed in it would serve
//! stale data.

use crate::commands::is_word;
use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use larder_resp::Args;

pub(super) fn tracking(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    match args.at(2) {
        word if is_word(word, "off") => {
            context.reply.ok();
            Ok(())
        }
        word if is_word(word, "on") => {
            Err(CommandError::Fixed("ERR This server does not send invalidation messages"))
        }
        _ => Err(CommandError::SYNTAX),
    }
}

pub(super) fn caching(_context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    match args.at(2) {
        word if is_word(word, "yes") || is_word(word, "no") => Err(CommandError::Fixed(
            "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled",
        )),
        _ => Err(CommandError::SYNTAX),
    }
}

pub(super) fn getredir(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    context.reply.int(-1);
    Ok(())
}

pub(super) fn trackinginfo(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    let reply = &mut context.reply;
    reply.map(3);
    reply.bulk(b"flags");
    reply.set(1);
    reply.bulk(b"off");
    reply.bulk(b"redirect");
    reply.int(-1);
    reply.bulk(b"prefixes");
    reply.array(0);
    Ok(())
}
