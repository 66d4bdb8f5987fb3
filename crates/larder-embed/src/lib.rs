//! Larder as a library: the engine inside of a program, without sockets ([`Store`]); and a replica of a server inside of a program
//! ([`Replica`]), whose reads are calls.
//!
//! ```
//! use larder_embed::Store;
//!
//! let store = Store::in_memory()?;
//! store.hset("user:1", &[("name", "Ada"), ("visits", "3")])?;
//! assert_eq!(store.hget("user:1", "name")?.as_deref(), Some(&b"Ada"[..]));
//! store.command(&["EXPIRE", "user:1", "60"])?;
//! # Ok::<(), larder_embed::Error>(())
//! ```
//!
//! With [`Options::directory`] a store has files, those of the server.
//!
//! A handle may be cloned and used by any number of threads. Replies are owned: nothing that is returned borrows from the store. What
//! there is and what it costs: `docs/embed.md`.

#![forbid(unsafe_code)]

mod error;
mod host;
mod replica;
mod reply;
mod store;

pub use error::{Error, Result};
pub use larder_engine::LogLevel;
pub use replica::events::{Event, Events};
pub use replica::options::ReplicaOptions;
pub use replica::url::UrlError;
pub use replica::{LinkStatus, Replica, Status, Wait};
pub use reply::Reply;
pub use reply::fields::Fields;
pub use reply::raw::{Raw, Token};
pub use store::keys::{Scan, Ttl};
pub use store::options::Options;
pub use store::{Connection, Store};

/// The page for users: its code is compiled, and run where it needs no server.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/embed.md")]
struct Page;
