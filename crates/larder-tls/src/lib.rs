//! TLS for everything but the event loops: a connection on bytes ([`session`]), which the server's
//! event loops use as well, connections to other servers ([`PeerLink`]), which certificates to
//! trust ([`verify`]), and the files that hold certificates and keys ([`pem`], [`key`]).
//!
//! rustls does the protocol and aws-lc the cryptography ([`mod@provider`]); docs/design/tls.md says
//! why. The server makes its own configurations of rustls; [`client_config`] makes one for programs
//! that connect as clients.

#![forbid(unsafe_code)]

mod certificate;
pub mod key;
mod link;
pub mod pem;
mod provider;
pub mod session;
mod trust;
pub mod verify;
mod wait;

pub use certificate::{Certificate, NotACertificate};
pub use link::PeerLink;
pub use provider::{gather_entropy, provider};
pub use trust::{Identity, TrustError, client_config, is_key_of};
pub use wait::wait_for_socket;
