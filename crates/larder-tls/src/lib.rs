//! TLS of whoever is not an event loop: a connection on bytes ([`session`]), which the server's event loops use as well, connections to other servers
//! ([`PeerLink`]), and keys as files have them ([`key`]).
//!
//! rustls does the protocol and aws-lc the cryptography; docs/design/tls.md says why. Whom to trust is in the configuration of
//! rustls that a connection is made with: the server makes its own, and [`client_config`] one for programs that are clients.

#![forbid(unsafe_code)]

pub mod key;
mod link;
pub mod session;
mod trust;
mod wait;

pub use link::PeerLink;
pub use trust::{Identity, TrustError, client_config};
pub use wait::wait_for_socket;
