//! TLS for tests and measurements: certificates, and a client.

mod authority;
mod client;

pub use authority::{Authority, COMMON, Identity, openssl, server_options};
pub use client::{TlsClientStream, config, connect, stream};
