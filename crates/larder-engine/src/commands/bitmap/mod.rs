//! The bitmap commands: strings as runs of bits. The work on the bits is done by `larder_packed::bits`.

mod combine;
mod field;
mod handlers;
mod overflow;
mod range;
mod single;

pub(crate) use handlers::HANDLERS;

use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::text::number;

/// The offset of a bit. With `width`, `#n` is the offset of the n-th integer of that width.
fn bit_offset(context: &Context<'_>, arg: &[u8], width: Option<u32>) -> CommandResult<u64> {
    let parsed = match (arg, width) {
        ([b'#', digits @ ..], Some(width)) => {
            number::parse_i64(digits).and_then(|n| n.checked_mul(i64::from(width)))
        }
        _ => number::parse_i64(arg),
    };
    let bytes_max = context.engine.config.hot.string_bytes_max();
    parsed
        .and_then(|offset| u64::try_from(offset).ok())
        .filter(|offset| offset >> 3 < bytes_max)
        .ok_or(CommandError::Fixed("ERR bit offset is not an integer or out of range"))
}
