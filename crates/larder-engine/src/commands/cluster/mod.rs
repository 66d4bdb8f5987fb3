//! The commands of a cluster. This server is never part of one, so all but a few say so.

mod handlers;

pub(crate) use handlers::HANDLERS;

use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use larder_resp::Args;

/// Number of hash slots of a cluster.
const SLOTS: u16 = 16_384;

/// The commands that only a node of a cluster runs.
fn needs_cluster(_context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    Err(CommandError::Fixed("ERR This instance has cluster support disabled"))
}

/// READONLY and READWRITE are about replicas of a cluster: accepted everywhere, without effect on other servers.
fn read_mode(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    context.reply.ok();
    Ok(())
}

/// CLUSTER KEYSLOT needs no cluster.
fn keyslot(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    context.reply.int(i64::from(slot(args.at(2))));
    Ok(())
}

/// The hash slot of a key: that of its hash tag, the part in the first braces, if this is not empty.
fn slot(key: &[u8]) -> u16 {
    let tag = memchr::memchr(b'{', key).and_then(|open| {
        let inner = &key[open + 1..];
        memchr::memchr(b'}', inner).filter(|&end| end > 0).map(|end| &inner[..end])
    });
    crc16(tag.unwrap_or(key)) % SLOTS
}

/// CRC-16 with the polynomial 0x1021 and no reflection, as XMODEM has it.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, &byte| {
        (0..8)
            .fold(crc ^ u16::from(byte) << 8, |crc, _| crc << 1 ^ if crc & 0x8000 == 0 { 0 } else { 0x1021 })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots() {
        assert_eq!(crc16(b"123456789"), 0x31c3);
        assert_eq!(slot(b"a"), 15_495);
        assert_eq!(slot(b"x{a}y{b}"), slot(b"a"));
        assert_eq!(slot(b"{}a"), crc16(b"{}a") % SLOTS);
        assert_eq!(slot(b"{a"), crc16(b"{a") % SLOTS);
    }
}
