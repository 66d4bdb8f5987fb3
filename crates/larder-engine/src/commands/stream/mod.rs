//! The stream commands.

mod add;
mod claim;
mod group;
mod handlers;
mod info;
mod pending;
mod range;
mod read;

use crate::context::stream_reads::{changed_quietly, no_group};
use crate::context::stream_replies::{with_scratch, write_counted, write_entry, write_id, write_range};
use crate::text::word::error_with;
pub(crate) use handlers::HANDLERS;

use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::keyspace::key::Key;
use crate::keyspace::kind::Kind;
use larder_collections::stream::Stream;
use larder_resp::Reply;

/// Works on the stream of a key, which counts as reading it; `None` if there is no such key.
fn with_looked_up<'a, R>(
    context: &mut Context<'a>,
    key: &Key<'_>,
    f: impl FnOnce(&mut Stream, &mut Reply<'a>) -> CommandResult<R>,
) -> CommandResult<Option<R>> {
    let result = context.with_value(key, f);
    count_lookup(context, key, !matches!(result, Ok(None)));
    result
}

/// Counts that a key has been looked up to be read.
fn count_lookup(context: &mut Context<'_>, key: &Key<'_>, is_there: bool) {
    if is_there {
        context.worker.stats.hits.add(1);
    } else {
        context.worker.stats.misses.add(1);
        context.notify_miss(key);
    }
}

/// Whether a key holds a stream; an error if it holds something else.
fn is_stream(context: &mut Context<'_>, key: &Key<'_>) -> CommandResult<bool> {
    match context.kind(key) {
        None => Ok(false),
        Some(Kind::Stream) => Ok(true),
        Some(_) => Err(CommandError::WRONG_TYPE),
    }
}

/// The key exists, but not the group.
fn no_such_group(key: &[u8], group: &[u8]) -> CommandError {
    error_with(&["NOGROUP No such consumer group '", "' for key name '", "'"], &[group, key])
}

/// A subcommand got arguments that it does not take.
fn bad_subcommand(container: &str, name: &[u8]) -> CommandError {
    let name = &name[..name.len().min(128)];
    let tail = format!("'. Try {container} HELP.");
    error_with(&["ERR unknown subcommand or wrong number of arguments for '", &tail], &[name])
}
