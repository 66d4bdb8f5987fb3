//! Following a primary: the link of a replica, for whatever process the replica lives in.
//!
//! A [`Link`] connects, introduces itself, takes the snapshot if it needs one, and follows the stream. What depends on the
//! process around it (TLS, where a snapshot is put, the log) it asks of a [`Process`] and of a
//! [`TakeSnapshot`]. The other end of compressed links is here as well ([`compression`]), and so is reading
//! RDB files into an engine ([`load`]).
//!
//! Tested by `larder-server/tests/replication`.

#![forbid(unsafe_code)]

pub mod attempt;
pub mod compression;
pub mod dial;
pub mod follow;
mod handshake;
pub mod load;
mod peer;
pub mod transfer;

pub use attempt::{Link, LinkError, Process, Synchronized, Wire};
pub use follow::run;
pub use transfer::{TakeSnapshot, Transfer};
