//! RESP2 and RESP3: parsing requests and writing replies, with no I/O; and for clients, writing requests and reading replies.
//!
//! The parser finds the arguments of a command inside the connection's read buffer and yields their positions;
//! nothing is copied. The writer appends to the connection's output buffer. Neither knows where bytes come from
//! or go to.

#![forbid(unsafe_code)]

mod args;
mod command;
mod parse;
mod reply;
mod value;

pub use args::{Args, OwnedArgs, Span};
pub use command::{encode_command, encode_command_head, encode_word, encode_word_with, encoded_bytes};
pub use parse::{Ahead, LINE_BYTES_MAX, Limits, Parsed, Parser, ProtocolError, begins_command, split_args};
pub use reply::{Protocol, Reply};
pub use value::{Value, ValueLimits};
