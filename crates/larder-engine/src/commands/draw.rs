//! Elements drawn with repetition, for HRANDFIELD, SRANDMEMBER and ZRANDMEMBER with a negative count: the one kind of read
//! whose reply can be longer than the data that it comes from. A short request must not make an endless reply, so the
//! number of draws and the bytes are bounded; and nobody else waits for the key meanwhile: the elements come from a clone
//! of the value, which takes O(1), after the shard has been let go.

use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use larder_resp::Reply;

/// Draws in one command.
const DRAWS_MAX: u64 = 1 << 24;
/// Bytes of one reply.
const REPLY_BYTES_MAX: usize = 1 << 30;

const TOO_LONG: CommandError =
    CommandError::Fixed("ERR value is out of range, the reply would be longer than 1 GB");

/// Writes what `write` draws, `count` times. `open` opens the array.
pub(crate) fn draw_repeatedly<'a>(
    context: &mut Context<'a>,
    count: u64,
    open: impl FnOnce(&mut Reply<'a>),
    mut write: impl FnMut(&mut Reply<'a>),
) -> CommandResult {
    if count > DRAWS_MAX {
        return Err(CommandError::OUT_OF_RANGE);
    }
    context.takes(count)?;
    context.let_go();
    let reply = &mut context.reply;
    let mark = reply.mark();
    open(reply);
    for _ in 0..count {
        write(reply);
        if reply.mark() - mark > REPLY_BYTES_MAX {
            reply.truncate(mark);
            return Err(TOO_LONG);
        }
    }
    Ok(())
}
