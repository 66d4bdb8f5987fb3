//! TLS of whoever is not an event loop: a connection on bytes ([`session`]), which the server's event loops use as well, connections to other servers
//! ([`PeerLink`]), and keys as files have them ([`key`]).
//!
//! rustls does the protocol and aws-lc the cryptography; docs/design/tls.md says why. Whom to trust is the caller's business: it is in
//! the configuration of rustls that a connection is made with.

#![forbid(unsafe_code)]

pub mod key;
mod link;
pub mod session;
mod wait;

pub use link::PeerLink;
pub use wait::wait_for_socket;
