//! SETBIT and GETBIT.

use super::bit_offset;
use crate::context::Context;
use crate::engine::notify::class;
use crate::error::{CommandError, CommandResult};
use crate::text::number;
use larder_packed::bits;
use larder_resp::Args;

pub(super) fn setbit(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let offset = bit_offset(context, &args[2], None)?;
    let on = match number::parse_i64(&args[3]) {
        Some(bit @ (0 | 1)) => bit == 1,
        _ => return Err(CommandError::Fixed("ERR bit is not an integer or out of range")),
    };
    let key = context.key(args.at(1));
    let len_min = (offset >> 3) as usize + 1;
    let (old, grown) =
        context.edit_string(&key, len_min, |bytes, grown| (bits::set_bit(bytes, offset, on), grown))?;
    if grown || old != on {
        context.modified(&key);
        context.notify(class::STRING, "setbit", &key);
    }
    context.reply.int(i64::from(old));
    Ok(())
}

pub(super) fn getbit(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let offset = bit_offset(context, &args[2], None)?;
    let key = context.key(args.at(1));
    context.read_string(&key, |bytes, reply| {
        reply.int(i64::from(bytes.is_some_and(|bytes| bits::bit(bytes, offset))));
        Ok(())
    })
}
