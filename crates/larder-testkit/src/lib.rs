//! Test support: starts servers on free ports, speaks RESP to them, and reads what the kernel knows of them.

#![forbid(unsafe_code)]

mod client;
mod clock;
mod disk;
pub mod fuzz;
pub mod imports;
mod kind;
pub mod mutate;
mod parse;
mod patience;
mod port;
pub mod preload;
mod process;
mod raw_client;
mod seeds;
mod server;
pub mod syntax;
pub mod tls;
mod value;
mod watcher;
mod words;

pub use client::{Client, ClientStream, encode};
pub use clock::Clock;
pub use disk::FaultyDisk;
pub use kind::{Kind, peer_path, version};
pub use parse::parse;
pub use patience::{wait_until, wait_until_rewritten};
pub use port::Port;
pub use process::{cpu_seconds, rss_bytes, thread_cpu_seconds};
pub use raw_client::RawClient;
pub use seeds::{given as given_seed, seed, seeds};
pub use server::{Server, failed_start, temp_dir};
pub use value::Value;
pub use words::{quote, words};

/// Whether the full, long run of a test is asked for.
pub fn full_run() -> bool {
    std::env::var_os("LARDER_TEST_FULL").is_some()
}
