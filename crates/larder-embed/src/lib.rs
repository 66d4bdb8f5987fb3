//! # Larder as a library
//!
//! An in-process data store with the data types and the commands of Redis: strings, hashes, lists, sets, sorted sets, streams, expiry, transactions, scripts,
//! publish and subscribe. It is the engine of the Larder server without sockets, so a read is a function call of less than a microsecond. A store lives
//! in memory, or keeps its data in the server's files. A [`Replica`] follows a Larder, Valkey or Redis server, so that a program reads its data locally.
//!
//! The types:
//!
//! - [`Store`]: a handle on the data. Clones share it, and any number of threads can use them.
//! - [`Options`]: what a store is opened with, above all [`Options::directory`].
//! - [`Connection`]: a client whose state lasts, for `MULTI`, `WATCH`, `SUBSCRIBE`, and commands that wait.
//! - [`Replica`]: a copy of a server's data that stays up to date.
//! - [`Events`]: which keys change.
//!
//! # Quick start
//!
//! ```
//! use larder_embed::{Options, Store};
//! # let path = std::env::temp_dir().join(format!("larder-quick-{}", std::process::id()));
//!
//! let store = Store::open(&Options::new().directory(&path))?;
//! store.set("greeting", "hello")?;
//! store.hset("user:1", &[("name", "Ada"), ("visits", "3")])?;
//! assert_eq!(store.hget("user:1", "name")?.as_deref(), Some(&b"Ada"[..]));
//! // Any command about data, by its words.
//! store.command(&["EXPIRE", "user:1", "60"])?;
//! store.close()?;
//!
//! let store = Store::open(&Options::new().directory(&path))?;
//! assert_eq!(store.get("greeting")?.as_deref(), Some(&b"hello"[..]));
//! # store.close()?;
//! # std::fs::remove_dir_all(&path).ok();
//! # Ok::<(), larder_embed::Error>(())
//! ```
//!
//! Without files: [`Store::in_memory`].
//!
//! # Guarantees
//!
//! - **Atomicity.** Each command is executed as a whole. [`Store::transaction`], scripts and `MULTI` execute several commands of which no other caller sees
//!   a part.
//! - **Durability.** With a directory every write is in the append-only file before its call returns, so a crash of the program loses nothing. What a crash
//!   of the machine can lose depends on the option `appendfsync`: nothing with `always`, about a second with `everysec`, which is the default.
//!   [`Store::sync`] waits for the disk.
//! - **Isolation.** Replies are owned: what was read does not change. [`Fields`] share the memory of a hash until a writer changes it.
//! - **One owner.** A directory is open in one store, or in servers; the others are refused.
//! - **Expiry.** An expired key is never returned. A thread of the store removes expired keys that are not read.
//! - **No panics from data.** Damaged files, replies and arguments are errors.
//!
//! The memory of a store is not limited: `maxmemory` is refused, because the allocator belongs to the program.
//!
//! # Errors
//!
//! All methods return [`Error`]. [`Error::Command`] is the error reply of a command, whose text begins with a code such as `WRONGTYPE`. The other variants
//! concern the store: [`Error::InUse`], [`Error::Load`], [`Error::Write`] and [`Error::NotKept`] its files, [`Error::Closed`] its end,
//! [`Error::Connection`], [`Error::Timeout`] and [`Error::Executed`] the primary of a replica. After an error a call has changed nothing, except where
//! the variant says otherwise.
//!
//! # Features
//!
//! - `tls` (default): `rediss://` addresses of primaries, with rustls. Without it neither rustls nor aws-lc is compiled.
//!
//! The guide `docs/embed.md` has more examples, and `docs/design/embed.md` the design.

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
pub use store::Store;
pub use store::connection::Connection;
pub use store::keys::{Scan, Ttl};
pub use store::options::Options;

/// The page for users: its code is compiled, and run where it needs no server.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/embed.md")]
struct Page;
