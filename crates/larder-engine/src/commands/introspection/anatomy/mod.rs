//! MEMORY ANATOMY: where the memory of a database is, by the patterns of its keys' names.
//!
//! A thread of its own walks through the database (`walk`), cuts names into parts (`pattern`), and counts keys in groups (`tree`, `tally`);
//! the client waits for its reply as one of a blocking command does, and nobody else waits. One walk goes on at a time. It ends when its
//! client has gone, or is unblocked.
//!
//! Tested here, and by `larder-server/tests/anatomy.rs` and `tests/console.rs` there.

mod heavy;
mod largest;
mod pattern;
mod report;
mod tally;
mod tree;
mod walk;

use crate::aof::log::Ends;
use crate::context::Context;
use crate::delivery::unblock::deliver;
use crate::error::{CommandError, CommandResult};
use crate::execution::blocking;
use crate::keyspace::locks::spawn_background;
use crate::keyspace::waiting::{BlockedOp, Waiter};
use crate::text::number;
use crate::text::word::is_word;
use larder_resp::{Args, Reply};
use std::sync::{Arc, mpsc};
use walk::Request;

/// Parts of a name that are kept when the caller does not say how many, and at most.
const DEPTH: usize = 4;
const DEPTH_MAX: usize = 16;

const UNDER_WAY: CommandError = CommandError::Fixed("ERR Another MEMORY ANATOMY is in progress");
const BAD_DEPTH: CommandError = CommandError::Fixed("ERR DEPTH must be between 1 and 16");
const BAD_SAMPLE: CommandError = CommandError::Fixed("ERR SAMPLE must be at least 1");

pub(super) fn anatomy(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let request = parse(context.db, args)?;
    let engine = context.engine;
    let walking = engine.anatomy.start().ok_or(UNDER_WAY)?;
    let weak = engine.weak();
    let (found, finds) = mpsc::channel::<Arc<Waiter>>();
    spawn_background("larder-anatomy", move |may_wait| {
        let Ok(waiter) = finds.recv() else { return };
        let report = walk::walk(&weak, &request, &walking, may_wait, || !waiter.is_taken());
        drop(walking);
        if let (Some(report), Some(engine)) = (report, weak.upgrade())
            && waiter.take()
        {
            let mut reply = Vec::new();
            report.write(&mut Reply::new(&mut reply, waiter.protocol));
            deliver(&engine.mailboxes, &waiter, reply, Ends::NO_EFFECT);
        }
    })
    .map_err(|error| {
        CommandError::text(format!("ERR Failed to start a thread for MEMORY ANATOMY: {error}"))
    })?;
    blocking::wait(context, &[], BlockedOp::Anatomy, 0);
    let waiter = context.session.waiter.clone().expect("it waits");
    let _: Result<(), mpsc::SendError<_>> = found.send(waiter);
    Ok(())
}

fn parse(db: usize, args: Args<'_>) -> CommandResult<Request> {
    let mut request = Request { db, pattern: None, depth: DEPTH, sample: None };
    for at in (2..args.len()).step_by(2) {
        let value = args.get(at + 1).ok_or(CommandError::SYNTAX)?;
        let name = &args[at];
        if is_word(name, "pattern") {
            request.pattern = Some(value.to_vec());
        } else if is_word(name, "depth") {
            let depth = usize::try_from(number::integer(value)?).ok();
            request.depth = depth.filter(|depth| (1..=DEPTH_MAX).contains(depth)).ok_or(BAD_DEPTH)?;
        } else if is_word(name, "sample") {
            let sample = u64::try_from(number::integer(value)?).ok();
            request.sample = Some(sample.filter(|sample| *sample > 0).ok_or(BAD_SAMPLE)?);
        } else {
            return Err(CommandError::SYNTAX);
        }
    }
    Ok(request)
}
