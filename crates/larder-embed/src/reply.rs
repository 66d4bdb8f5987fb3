//! Replies: what a command has answered, read from the protocol and owned.

pub mod fields;
pub mod raw;

pub use larder_resp::Value as Reply;
use larder_resp::ValueLimits;
use std::io::{self, BufRead};

/// The engine, and a primary, are trusted with lengths: memory is taken as bytes come.
const LIMITS: ValueLimits = ValueLimits { depth: 128, len_max: u64::MAX };

/// Reads one reply.
///
/// # Errors
/// The source fails, ends, or holds what is no reply (`InvalidData`).
pub(crate) fn read(source: &mut impl BufRead) -> io::Result<Reply> {
    Reply::read(source, LIMITS)
}
