//! CLIENT PAUSE and UNPAUSE.

use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::text::number;
use crate::text::word::is_word;
use larder_resp::Args;

pub(super) fn pause(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let all = match args.get(3) {
        None => true,
        Some(word) if is_word(word, "all") => true,
        Some(word) if is_word(word, "write") => false,
        Some(_) => return Err(CommandError::Fixed("ERR CLIENT PAUSE mode must be WRITE or ALL")),
    };
    if args.len() > 4 {
        return Err(CommandError::SYNTAX);
    }
    let now = context.now_ms();
    let ms = number::timeout_ms(&args[2], now)?;
    context.engine.pause.start(now + ms, all, now);
    context.reply.ok();
    Ok(())
}

pub(super) fn unpause(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    context.engine.pause.end();
    context.engine.retry_put_off();
    context.reply.ok();
    Ok(())
}
