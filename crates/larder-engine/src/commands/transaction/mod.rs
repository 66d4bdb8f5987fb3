//! The transaction commands.

mod handlers;
mod watch;

pub(crate) use handlers::HANDLERS;

use crate::acl::Origin;
use crate::clients::queue::{self, Queue};
use crate::clients::session::ReplyMode;
use crate::command::keys;
use crate::command::spec::flags;
use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::execution::checks::confirms;
use crate::execution::command_log::Executed;
use crate::execution::{authorization, dispatch, transaction};
use larder_resp::Args;
use std::time::Duration;

/// A command of a transaction takes about as long as this many elements of a collection.
const COMMAND_ELEMENTS: u64 = 10;

fn multi(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    transaction::start(context.session);
    context.reply.ok();
    Ok(())
}

fn discard(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    if context.session.multi.is_none() {
        return Err(CommandError::Fixed("ERR DISCARD without MULTI"));
    }
    transaction::forget(context.engine, context.session);
    context.reply.ok();
    Ok(())
}

fn exec(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    let elements = estimate(context);
    context.takes(elements)?;
    let Some(queue) = transaction::end(context.session) else {
        return Err(CommandError::Fixed("ERR EXEC without MULTI"));
    };
    let (engine, due_ms) = (context.engine, context.due_ms());
    let touched = queue::is_touched(&mut context.held, &context.session.watched, due_ms);
    transaction::unwatch_held(engine, &mut context.held, context.session);
    if queue.poisoned {
        return Err(CommandError::EXEC_ABORT);
    }
    if touched {
        context.reply.null_array();
        return Ok(());
    }
    let start = context.reply.mark();
    context.reply.array(queue.commands.len());
    let begun_ns = context.worker.clock.mono_ns();
    let confirmations = run_all(context, &queue, start);
    if !confirmations.is_empty() {
        context.reply.truncate(start);
        context.reply.raw(&confirmations);
        context.session.only_confirms = true;
    }
    let took_ns = context.worker.clock.mono_ns() - begun_ns;
    context.session.transactions.note(Duration::from_nanos(took_ns));
    Ok(())
}

/// About how many elements the queued commands take as long as. Of a client's first transaction it is judged by what its slower commands could go
/// through: all that their keys have.
fn estimate(context: &mut Context<'_>) -> u64 {
    let usual = &context.session.transactions;
    if usual.is_long() {
        return u64::MAX;
    }
    let is_first = !usual.has_run();
    let Some(queue) = context.session.multi.take() else { return 0 };
    let mut elements = queue.commands.len() as u64 * COMMAND_ELEMENTS;
    let slower = queue.commands.iter().filter(|(found, _)| is_first && !found.command.has(flags::FAST));
    for (found, args) in slower {
        keys::each(found.command, args.as_args(), |name| {
            elements = elements.saturating_add(context.elements(&context.key(name)));
        });
    }
    context.session.multi = Some(queue);
    elements
}

/// Executes the commands of a transaction, whose reply begins at `start`. As a reply, each of them counts with all that has been replied until then.
/// Returns the confirmations of subscriptions if CLIENT REPLY silences everything else.
fn run_all(context: &mut Context<'_>, queue: &Queue, start: usize) -> Vec<u8> {
    let exec = context.found;
    let is_silenced = matches!(context.session.reply_mode, ReplyMode::Off | ReplyMode::Skip);
    let mut confirmations = Vec::new();
    context.begin_lending_of(queue);
    context.in_exec = true;
    authorization::keep_rights(context.engine, context.session);
    let frozen = context.worker.clock.set_frozen(true);
    for (found, args) in &queue.commands {
        context.found = *found;
        let allowed =
            authorization::check(context.engine, context.session, *found, args.as_args(), Origin::Multi);
        match allowed {
            Ok(()) => {
                context.lock_for_queued(*found, args.as_args());
                let mark = context.reply.mark();
                if dispatch::call(context, &args.as_args()) && is_silenced && confirms(found.command) {
                    confirmations.extend_from_slice(context.reply.written_since(mark));
                }
                Executed::of(context, args.as_args()).consider_sent(context.reply.mark() - start);
                context.end_call();
            }
            Err(denial) => dispatch::refuse_queued(context, &denial.late_refusal()),
        }
    }
    context.take_back();
    context.worker.clock.set_frozen(frozen);
    context.session.keeps_rights = false;
    context.in_exec = false;
    context.found = exec;
    confirmations
}
